"""How cost grows with the number of entries: index, recall, memory and size, without and with vectors.

    python -m tests.bench.scale [--sizes 1000,10000,100000,300000] [--runs 5] [--vectors-up-to 300000]
                                [--plot docs/scale.svg]

The entries are those of `tests.bench.speed`, 200 in a file. Every figure is that of a cold command.
The growth between two sizes is the exponent of the power that joins them: 1 is linear, 0 is constant.
What grows faster than linear first is what bends first.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.bench.speed import PER_FILE, QUERY, peak_memory, timed, write_tree

MEM = (sys.executable, "-m", "memcli")
MODES = {"none": "words alone", "local": "with vectors"}
BENT = 1.1
"""An exponent above it is more than linear, and more than noise."""
COLOURS = ("#1f6f8b", "#c0392b", "#6c3483", "#d68910")
PLOTTED = {"recall, ms": 1.0, "index, s": 1000.0}
"""What the plot shows, and how much of a unit is a millisecond."""


class Row(NamedTuple):
    """The figures of one size in one mode, by name."""

    entries: int
    mode: str
    figures: dict[str, float]


def measure(count: int, modes: Sequence[str], runs: int, cache: Path) -> Iterator[Row]:
    """All figures of one size: the tree is made once, the index anew for each mode."""
    with tempfile.TemporaryDirectory(prefix="mem-scale-") as folder:
        root = Path(folder) / "root"
        write_tree(root, count, PER_FILE)
        for mode in modes:
            environ = {
                "PATH": os.environ["PATH"], "HOME": folder, "MEM_HOME": folder, "MEM_NOW": "2026-11-01",
                "MEM_EMBEDDER": mode, "XDG_CACHE_HOME": str(cache),
            }  # fmt: skip
            yield Row(count, mode, _figures(root, environ, runs))
            for path in root.glob(".memory.db*"):
                path.unlink()


def _figures(root: Path, environ: dict[str, str], runs: int) -> dict[str, float]:
    index, recall = [*MEM, "index", "-q"], [*MEM, "recall", QUERY]
    number = iter(range(runs))

    def edited() -> float:
        _edit(root, next(number))
        return timed(recall, environ, root)

    seconds, worked = _costs(lambda: timed(index, environ, root))
    figures = {
        "index, s": seconds,
        "of it processor, s": worked,
        "index, no change, ms": timed(index, environ, root) * 1000,
        "recall, ms": _median(runs, lambda: timed(recall, environ, root)) * 1000,
        "edit and recall, ms": _median(runs, edited) * 1000,
        "memory of a recall, MB": peak_memory(recall, environ, root),
        "size of the index, MB": sum(path.stat().st_size for path in root.glob(".memory.db*")) / 1e6,
    }
    figures["memory of a rebuild, MB"] = peak_memory([*index, "--rebuild"], environ, root)
    return figures


def _edit(root: Path, number: int) -> None:
    path = root / "tasks" / "t000000.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("**Context:** ", f"**Context:** n{number} ", 1), encoding="utf-8")


def _costs(job: Callable[[], float]) -> tuple[float, float]:
    """Seconds by the clock and of the processor; the latter hardly depend on what else the machine does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = job()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _median(runs: int, job: Callable[[], float]) -> float:
    return statistics.median(job() for _ in range(runs))


def warm(cache: Path) -> None:
    """Make the table of word vectors, which is made once for all repositories of a user."""
    with tempfile.TemporaryDirectory(prefix="mem-scale-") as folder:
        Path(folder, "MEMORY.md").write_text("# Memory\n\nA first word.\n", encoding="utf-8")
        environ = {"PATH": os.environ["PATH"], "HOME": folder, "XDG_CACHE_HOME": str(cache)}
        timed([*MEM, "index", "-q", "--root", folder], environ | {"MEM_EMBEDDER": "local"}, Path(folder))


# --- what it says


def growth(rows: Sequence[Row], name: str) -> list[float]:
    """The exponents between neighbouring sizes of one mode."""
    return [
        math.log(b.figures[name] / a.figures[name]) / math.log(b.entries / a.entries)
        for a, b in pairwise(rows)
    ]


def table(rows: Sequence[Row]) -> str:
    """Sizes as columns, figures as lines, the exponents of the last step behind."""
    head = "".join(f" {row.entries:,} |" for row in rows)
    lines = [f"| {MODES[rows[0].mode]} |{head} growth |", "| --- |" + " --: |" * (len(rows) + 1)]
    for name in rows[0].figures:
        cells = "".join(f" {_rounded(row.figures[name])} |" for row in rows)
        steps = ", ".join(f"{step:.2f}" for step in growth(rows, name))
        lines.append(f"| {name} |{cells} {steps} |")
    return "\n".join(lines)


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def bends(rows: Sequence[Row]) -> list[str]:
    """What grows faster than linear, the smallest size first."""
    found = [
        (rows[i + 1].entries, f"{name}: n^{step:.2f} from {rows[i].entries:,} to {rows[i + 1].entries:,}")
        for name in rows[0].figures
        for i, step in enumerate(growth(rows, name))
        if step > BENT
    ]
    return [text for _, text in sorted(found)]


def plot(series: Mapping[str, Sequence[tuple[float, float]]], title: str) -> str:
    """Both axes logarithmic, one line for each series, as SVG; x are entries, y milliseconds."""
    points = [point for line in series.values() for point in line]
    left, right = (round(math.log10(f(x for x, _ in points)), 6) for f in (min, max))
    low = math.floor(math.log10(min(y for _, y in points)))
    high = math.ceil(math.log10(max(y for _, y in points)))

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - left) / (right - left or 1)
        return 80 + 460 * across, 340 - 290 * (math.log10(y) - low) / (high - low or 1)

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400" font-family="sans-serif"'
        ' font-size="12">',
        '<rect width="720" height="400" fill="white"/>',
        f'<text x="80" y="28" font-size="15">{title}</text>',
    ]
    for power in range(low, high + 1):
        _, y = place(10**left, 10.0**power)
        parts.append(f'<path d="M80 {y:.1f}H540" stroke="#ddd"/>')
        parts.append(f'<text x="72" y="{y + 4:.1f}" text-anchor="end">{_milliseconds(power)}</text>')
    for size in sorted({x for x, _ in points}):
        x, _ = place(size, 10.0**low)
        parts.append(f'<path d="M{x:.1f} 50V340" stroke="#eee"/>')
        parts.append(f'<text x="{x:.1f}" y="360" text-anchor="middle">{_short(size)}</text>')
    for colour, (name, line) in zip(COLOURS, series.items(), strict=False):
        places = [place(x, y) for x, y in line]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        parts.append(
            f'<text x="{places[-1][0] + 8:.1f}" y="{places[-1][1] + 4:.1f}" fill="{colour}">{name}</text>'
        )
    return "\n".join([*parts, '<text x="310" y="385" text-anchor="middle">entries</text>', "</svg>", ""])


def _milliseconds(power: int) -> str:
    return f"{10**power} ms" if power < 3 else f"{10 ** (power - 3)} s"


def _short(size: float) -> str:
    return f"{size / 1e6:g}M" if size >= 1e6 else f"{size / 1000:g}k"


def lines_of(rows: Sequence[Row]) -> dict[str, list[tuple[float, float]]]:
    """The plotted series of one mode."""
    return {
        f"{name.split(',')[0]}, {MODES[rows[0].mode]}": [(r.entries, r.figures[name] * unit) for r in rows]
        for name, unit in PLOTTED.items()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="1000,10000,100000,300000")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--vectors-up-to", type=int, default=300_000)
    parser.add_argument("--plot", default="")
    given = parser.parse_args(arguments)
    cache = Path(tempfile.mkdtemp(prefix="mem-scale-cache-"))
    rows: list[Row] = []
    try:
        warm(cache)
        for size in map(int, given.sizes.split(",")):
            modes = ["none", *(["local"] if size <= given.vectors_up_to else [])]
            for row in measure(size, modes, given.runs, cache):
                rows.append(row)
                told = ", ".join(f"{name} {_rounded(value)}" for name, value in row.figures.items())
                print(f"{row.entries:,} {MODES[row.mode]}: {told}", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    series: dict[str, list[tuple[float, float]]] = {}
    for mode in MODES:
        some = [row for row in rows if row.mode == mode]
        if some:
            print(table(some), end="\n\n")
            print("\n".join(bends(some)) or "nothing grows faster than linear", end="\n\n")
            series |= lines_of(some)
    if given.plot:
        Path(given.plot).write_text(plot(series, "Cold commands, milliseconds, by size"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
