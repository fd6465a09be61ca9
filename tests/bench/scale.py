"""How cost grows with the number of entries: index, recall, edit and memory, without and with vectors.

    python -m tests.bench.scale [--sizes 1000 10000 100000 300000 1000000] [--runs 5]
                                [--vectors-up-to 100000] [--plot docs/scale.svg]

Trees and commands are those of `tests.bench.speed`. The growth between two sizes is the exponent of
the power that joins them: 1 is linear, 0 is constant. What grows faster than linear is named.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.bench.speed import Arm, measure

MODES = {"none": "words alone", "local": "with vectors"}
BENT = 1.1
"""An exponent above it is more than linear, and more than noise."""
RATIO = " / "
"""In the name of a figure: a ratio, whose growth says nothing."""


class Row(NamedTuple):
    """The figures of one size in one mode, by name."""

    entries: int
    mode: str
    figures: dict[str, float]


def rows_of(size: int, modes: Sequence[str], runs: int) -> list[Row]:
    """All figures of one size."""
    floors, arms = measure(size, "many", [Arm("", mode) for mode in modes], runs)
    query, build = floors["plain query"].seconds, floors["plain build"].seconds
    found = []
    for arm, own in arms.items():
        index, recall, edit = own["index"], own["recall"], own["edit and recall"]
        found.append(Row(size, arm.embedder, {
            "index, s": index.seconds,
            "plain build, s": build,
            "index / plain build": index.seconds / build,
            "index, no change, ms": own["no change"].seconds * 1000,
            "recall, ms": recall.seconds * 1000,
            "plain query, ms": query * 1000,
            "recall / plain query": recall.seconds / query,
            "edit and recall, ms": edit.seconds * 1000,
            "edit and recall / recall": edit.seconds / recall.seconds,
            "memory of an index, MB": index.memory,
            "memory of a recall, MB": recall.memory,
            "memory of an edit and recall, MB": edit.memory,
        }))  # fmt: skip
    return found


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
        (b.entries, f"{name}: n^{step:.2f} from {a.entries:,} to {b.entries:,}")
        for name in rows[0].figures
        if RATIO not in name and not name.startswith("plain")
        for (a, b), step in zip(pairwise(rows), growth(rows, name), strict=True)
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


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    sizes = [1000, 10_000, 100_000, 300_000, 1_000_000]
    parser.add_argument("--sizes", nargs="+", type=int, default=sizes, help="of trees")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--vectors-up-to", type=int, default=100_000)
    parser.add_argument("--plot", default="", help="a file to draw into")
    given = parser.parse_args(arguments)
    rows: list[Row] = []
    for size in sorted(given.sizes):
        rows += rows_of(size, list(MODES) if size <= given.vectors_up_to else ["none"], given.runs)
        print(f"{size:,} done", file=sys.stderr, flush=True)
    lines: list[Line] = []
    for mode in MODES:
        if some := [row for row in rows if row.mode == mode]:
            print(table(some), end="\n\n")
            print("\n".join(bends(some)) or "nothing grows faster than linear", end="\n\n")
            lines += lines_of(some)
    if given.plot:
        Path(given.plot).write_text(plot(lines, "Cold commands by the number of entries"), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
