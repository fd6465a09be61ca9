"""How cost grows with the number of entries: index, recall, edit, memory and size, without and with
vectors.

    python -m tests.bench.scale [--sizes 1000 10000 100000 300000 1000000] [--runs 5]
                                [--vectors-up-to 100000] [--plot docs/scale.svg]

The entries are those of `tests.bench.speed`, 200 in a file. Every figure is that of a cold command.
In turns with them, the same texts are built into a plain FTS5 table and asked by a fresh Python:
the ratios are to these. The growth between two sizes is the exponent of the power that joins them:
1 is linear, 0 is constant. What grows faster than linear first is what bends first.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.bench.speed import FLOOR, PER_FILE, QUERY, plain_index, size_of, timed, write_tree

MEM = (sys.executable, "-m", "memcli")
MODES = {"none": "words alone", "local": "with vectors"}
BENT = 1.1
"""An exponent above it is more than linear, and more than noise."""
RATIO = " / "
"""In the name of a figure: a ratio, whose growth says nothing."""
MEASURED = """
import json, resource, subprocess, sys, time
started = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
seconds = time.perf_counter() - started
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([seconds, used.ru_utime + used.ru_stime, used.ru_maxrss]))
sys.exit(code)
"""


class Cost(NamedTuple):
    """What a command took: seconds by the clock, of the processor, and its peak memory in MB."""

    seconds: float
    worked: float
    memory: float


class Plain(NamedTuple):
    """A plain FTS5 table of the same texts: its file, and the seconds it took to build."""

    path: Path
    built: float

    @property
    def query(self) -> list[str]:
        """The command that asks it."""
        terms = " OR ".join(f'"{word}"' for word in QUERY.split() if len(word) > 3)
        return [sys.executable, "-c", FLOOR, str(self.path), terms]


class Row(NamedTuple):
    """The figures of one size in one mode, by name."""

    entries: int
    mode: str
    figures: dict[str, float]


def cost(command: Sequence[str], environ: Mapping[str, str], cwd: Path) -> Cost:
    """Run a command below a small process of its own: the memory of a child counts what its parent
    had.
    """
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command],
        env=environ,
        cwd=cwd,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{command}: exit {done.returncode}\n{done.stderr.decode()}")
    seconds, worked, memory = json.loads(done.stdout)
    return Cost(seconds, worked, memory / (1024 if sys.platform != "darwin" else 1024 * 1024))


def middle(costs: Sequence[Cost]) -> Cost:
    """The median of each figure."""
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


def measure(count: int, modes: Sequence[str], runs: int, cache: Path) -> Iterator[Row]:
    """All figures of one size: the tree is made once, the index anew for each mode."""
    with tempfile.TemporaryDirectory(prefix="mem-scale-") as folder:
        root, path = Path(folder) / "root", Path(folder) / "plain.db"
        write_tree(root, count, PER_FILE)
        plain = Plain(path, plain_index(path, count))
        for mode in modes:
            environ = {
                "PATH": os.environ["PATH"], "HOME": folder, "MEM_HOME": folder, "MEM_NOW": "2026-11-01",
                "MEM_EMBEDDER": mode, "XDG_CACHE_HOME": str(cache),
            }  # fmt: skip
            yield Row(count, mode, _figures(root, environ, runs, plain))
            for left in root.glob(".memory.db*"):
                left.unlink()


def _figures(root: Path, environ: Mapping[str, str], runs: int, plain: Plain) -> dict[str, float]:
    number = iter(range(runs))

    def run(*command: str) -> Cost:
        return cost(command, environ, root)

    def edited() -> Cost:
        _edit(root, next(number))
        return run(*MEM, "recall", QUERY)

    index = run(*MEM, "index", "-q")
    unchanged, floor, recall = _in_turns(
        runs,
        lambda: run(*MEM, "index", "-q"),
        lambda: run(*plain.query),
        lambda: run(*MEM, "recall", QUERY),
    )
    beside, edit = _in_turns(runs, lambda: run(*MEM, "recall", QUERY), edited)
    size = size_of(root)
    return {
        "index, s": index.seconds,
        "of it processor, s": index.worked,
        "plain build, s": plain.built,
        "index / plain build": index.seconds / plain.built,
        "index, no change, ms": unchanged.seconds * 1000,
        "recall, ms": recall.seconds * 1000,
        "plain query, ms": floor.seconds * 1000,
        "recall / plain query": recall.seconds / floor.seconds,
        "edit and recall, ms": edit.seconds * 1000,
        "edit and recall / recall": edit.seconds / beside.seconds,
        "memory of an index, MB": index.memory,
        "memory of a recall, MB": recall.memory,
        "memory of an edit and recall, MB": edit.memory,
        "size of the index, MB": size,
        "index / plain table, size": size * 1e6 / _bytes(plain.path),
    }


def _in_turns(runs: int, *jobs: Callable[[], Cost]) -> list[Cost]:
    """The median costs of jobs that are run in turns, so that a noisy machine is noisy for all."""
    return [
        middle(costs) for costs in zip(*([job() for job in jobs] for _ in range(runs)), strict=True)
    ]


def _edit(root: Path, number: int) -> None:
    path = root / "tasks" / "t000000.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("**Context:** ", f"**Context:** n{number} ", 1), encoding="utf-8")


def _bytes(path: Path) -> int:
    return sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*"))


def warm(cache: Path) -> None:
    """Make the table of word vectors, which is made once for all repositories of a user."""
    with tempfile.TemporaryDirectory(prefix="mem-scale-") as folder:
        Path(folder, "MEMORY.md").write_text("# Memory\n\nA first word.\n", encoding="utf-8")
        environ = {"PATH": os.environ["PATH"], "HOME": folder, "XDG_CACHE_HOME": str(cache)}
        timed(
            [*MEM, "index", "-q", "--root", folder],
            environ | {"MEM_EMBEDDER": "local"},
            Path(folder),
        )


# --- what it says


def growth(rows: Sequence[Row], name: str) -> list[float]:
    """The exponents between neighbouring sizes of one mode."""
    return [
        math.log(b.figures[name] / a.figures[name]) / math.log(b.entries / a.entries)
        for a, b in pairwise(rows)
    ]


def table(rows: Sequence[Row]) -> str:
    """Sizes as columns, figures as lines, the exponents of the steps behind."""
    head = "".join(f" {row.entries:,} |" for row in rows)
    lines = [f"| {MODES[rows[0].mode]} |{head} growth |", "| --- |" + " --: |" * (len(rows) + 1)]
    for name in rows[0].figures:
        cells = "".join(f" {_rounded(row.figures[name])} |" for row in rows)
        steps = "" if RATIO in name else ", ".join(f"{step:.2f}" for step in growth(rows, name))
        lines.append(f"| {name} |{cells} {steps} |")
    return "\n".join(lines)


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def bends(rows: Sequence[Row]) -> list[str]:
    """What grows faster than linear, the smallest size first."""
    found = [
        (
            rows[i + 1].entries,
            f"{name}: n^{step:.2f} from {rows[i].entries:,} to {rows[i + 1].entries:,}",
        )
        for name in rows[0].figures
        if RATIO not in name and not name.startswith("plain")
        for i, step in enumerate(growth(rows, name))
        if step > BENT
    ]
    return [text for _, text in sorted(found)]


# --- the plot

LINES = {
    "index": ("index, s", 1000.0, "a"),
    "plain build": ("plain build, s", 1000.0, "d"),
    "edit and recall": ("edit and recall, ms", 1.0, "b"),
    "recall": ("recall, ms", 1.0, "c"),
    "plain query": ("plain query, ms", 1.0, "d"),
}
"""What the plot shows: a figure, how many milliseconds its unit has, and a colour."""
STYLE = """<style>
text { font: 12px sans-serif; fill: #24292f } .grid { stroke: #d0d7de; stroke-width: 1 }
path { fill: none; stroke-width: 2 } .local { stroke-dasharray: 6 4 }
path.a, circle.a { stroke: #0969da } path.b, circle.b { stroke: #bc4c00 } path.c, circle.c { stroke: #1a7f37 }
path.d, circle.d { stroke: #818b98 } circle { fill: none; stroke-width: 2 }
text.a { fill: #0969da } text.b { fill: #bc4c00 } text.c { fill: #1a7f37 } text.d { fill: #6e7781 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .grid { stroke: #3d444d }
  path.a, circle.a { stroke: #4493f8 } path.b, circle.b { stroke: #f0883e }
  path.c, circle.c { stroke: #3fb950 } path.d, circle.d { stroke: #9198a1 }
  text.a { fill: #4493f8 } text.b { fill: #f0883e } text.c { fill: #3fb950 } text.d { fill: #9198a1 }
}
</style>"""
"""No background: that of the page shows, be it light or dark."""
LEFT, RIGHT, TOP, BOTTOM, LABEL = 60, 480, 44, 360, 15
"""The place of the axes, and the least distance of two labels."""

Point = tuple[float, float]


class Line(NamedTuple):
    """A line of the plot: its name, colour and mode, and its points (entries, milliseconds)."""

    name: str
    colour: str
    mode: str
    points: list[Point]


def lines_of(rows: Sequence[Row]) -> list[Line]:
    """The lines of one mode; those of the plain table belong to words alone."""
    mode = rows[0].mode
    chosen = {name: line for name, line in LINES.items() if mode == "none" or line[2] != "d"}
    return [
        Line(name, colour, mode, [(row.entries, row.figures[figure] * unit) for row in rows])
        for name, (figure, unit, colour) in chosen.items()
    ]


class Axes(NamedTuple):
    """Both logarithmic: the powers of ten at which they begin and end."""

    left: float
    right: float
    low: int
    high: int

    def place(self, point: Point) -> Point:
        """Where a point stands in the picture."""
        across = (math.log10(point[0]) - self.left) / (self.right - self.left or 1)
        up = (math.log10(point[1]) - self.low) / (self.high - self.low or 1)
        return LEFT + (RIGHT - LEFT) * across, BOTTOM - (BOTTOM - TOP) * up


def plot(lines: Sequence[Line], title: str) -> str:
    """All lines over one pair of axes, as SVG."""
    across, up = zip(*(point for line in lines for point in line.points), strict=True)
    axes = Axes(
        math.log10(min(across)), math.log10(max(across)),
        math.floor(math.log10(min(up))), math.ceil(math.log10(max(up))),
    )  # fmt: skip
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 410" role="img" aria-label="{title}">',
        STYLE,
        f'<text x="{LEFT}" y="24" style="font-size: 15px">{title}</text>',
        *_grid(axes, sorted(set(across))),
        *(part for line in lines for part in _drawn(axes, line)),
        *_labels(axes, lines),
        f'<text x="{(LEFT + RIGHT) / 2}" y="400" text-anchor="middle">entries</text>',
        f'<text x="{RIGHT + 8}" y="24">dashed: {MODES["local"]}</text>',
    ]
    return "\n".join([*parts, "</svg>", ""])


def _grid(axes: Axes, sizes: Sequence[float]) -> Iterator[str]:
    for power in range(axes.low, axes.high + 1):
        _, y = axes.place((10**axes.left, 10.0**power))
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{RIGHT}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_time(power)}</text>'
    for size in sizes:
        x, _ = axes.place((size, 10.0**axes.low))
        yield f'<path class="grid" d="M{x:.1f} {TOP}V{BOTTOM}"/>'
        yield f'<text x="{x:.1f}" y="{BOTTOM + 18}" text-anchor="middle">{_short(size)}</text>'


def _drawn(axes: Axes, line: Line) -> Iterator[str]:
    places = [axes.place(point) for point in line.points]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    yield f'<path class="{line.colour} {line.mode}" d="M{path}"/>'
    for x, y in places:
        yield f'<circle class="{line.colour}" cx="{x:.1f}" cy="{y:.1f}" r="2"/>'


def _labels(axes: Axes, lines: Sequence[Line]) -> Iterator[str]:
    """The names of the lines of words alone at their ends, the lowest first; who has no room moves
    up.
    """
    last = math.inf
    ends = [(axes.place(line.points[-1])[1], line) for line in lines if line.mode == "none"]
    for y, line in sorted(ends, reverse=True):
        last = min(y + 4, last - LABEL)
        yield f'<text class="{line.colour}" x="{RIGHT + 8}" y="{last:.1f}">{line.name}</text>'


def _time(power: int) -> str:
    return f"{10**power} ms" if power < 3 else f"{10 ** (power - 3):,} s"


def _short(size: float) -> str:
    return f"{size / 1e6:g}M" if size >= 1e6 else f"{size / 1000:g}k"


# --- the command


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    sizes = ["1000", "10000", "100000", "300000", "1000000"]
    parser.add_argument(
        "--sizes", nargs="+", default=sizes, help="of trees, with spaces or commas between"
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--vectors-up-to", type=int, default=100_000)
    parser.add_argument("--plot", default="", help="a file to draw into")
    return parser.parse_args(given)


def _measured(sizes: Sequence[int], runs: int, vectors_up_to: int) -> list[Row]:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="mem-scale-cache-") as cache:
        warm(Path(cache))
        for size in sizes:
            modes = ["none", *(["local"] if size <= vectors_up_to else [])]
            for row in measure(size, modes, runs, Path(cache)):
                rows.append(row)
                told = ", ".join(f"{name} {_rounded(value)}" for name, value in row.figures.items())
                print(f"{row.entries:,} {MODES[row.mode]}: {told}", file=sys.stderr, flush=True)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    given = _arguments(arguments)
    sizes = sorted({int(size) for some in given.sizes for size in some.split(",")})
    rows = _measured(sizes, given.runs, given.vectors_up_to)
    lines: list[Line] = []
    for mode in MODES:
        some = [row for row in rows if row.mode == mode]
        if some:
            print(table(some), end="\n\n")
            print("\n".join(bends(some)) or "nothing grows faster than linear", end="\n\n")
            lines += lines_of(some)
    if given.plot:
        Path(given.plot).write_text(
            plot(lines, "Cold commands by the number of entries"), encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
