"""The measurement of scale: what it says of its figures. It is run by hand (docs/benchmarks.md)."""

from __future__ import annotations

import os
import re
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from tests.bench import scale, speed


def row(entries: int, mode: str = "none") -> scale.Row:
    """Recall grows like the square root, an index linearly, an edit faster than that."""
    recall, edit = 100 * (entries / 1000) ** 0.5, 110 * (entries / 1000) ** 1.3
    return scale.Row(entries, mode, {
        "index, s": entries / 5000, "plain build, s": entries / 20000, "index / plain build": entries / 9,
        "recall, ms": recall, "plain query, ms": entries**2, "edit and recall, ms": edit,
    })  # fmt: skip


ROWS = [row(entries) for entries in (1000, 10_000, 100_000)]


def test_what_grows_faster_than_linear_is_named_and_no_ratio() -> None:
    """Each step has an exponent; the table has the sizes as columns."""
    assert [round(step, 6) for step in scale.growth(ROWS, "recall, ms")] == [0.5, 0.5]
    assert scale.bends(ROWS) == [
        "edit and recall, ms: n^1.30 from 1,000 to 10,000",
        "edit and recall, ms: n^1.30 from 10,000 to 100,000",
    ]
    assert "| words alone | 1,000 | 10,000 | 100,000 | growth |" in scale.table(ROWS)
    assert "| recall, ms | 100 | 316 | 1,000 | 0.50, 0.50 |" in scale.table(ROWS)


def test_the_plot_has_every_line_and_labels_that_do_not_meet() -> None:
    """It is XML without a background, with colours for light and dark pages."""
    lines = [*scale.lines_of(ROWS), *scale.lines_of([row(1000, "local"), row(10_000, "local")])]
    text = scale.plot(lines, "Title")
    tree = ElementTree.fromstring(text)
    paths = [path.get("class", "") for path in tree.iter("{http://www.w3.org/2000/svg}path")]
    assert sorted(path for path in paths if path != "grid") == [
        "a local", "a none", "b local", "b none", "c local", "c none", "d none", "d none",
    ]  # fmt: skip
    heights = sorted(float(y) for y in re.findall(r'class="[abcd]" x="\d+" y="([\d.]+)"', text))
    assert len(heights) == len(scale.LINES)
    assert all(b - a >= scale.LABEL for a, b in pairwise(heights))
    assert "prefers-color-scheme: dark" in text and "<rect" not in text


def test_memory_is_that_of_the_command_not_of_who_measures() -> None:
    """A child of a large process counts as large; the measured one is a grandchild."""
    held = bytearray(os.urandom(1) * 200_000_000)
    small = speed.cost([sys.executable, "-S", "-c", "pass"], dict(os.environ), Path.cwd())
    large = speed.cost([sys.executable, "-S", "-c", "bytearray(b'x' * 90_000_000)"], {}, Path.cwd())
    assert len(held) == 200_000_000
    assert small.memory < 60 and large.memory > 90 and small.seconds > 0
