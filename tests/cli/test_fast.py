"""A plain recall does without Typer, and answers the same."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from memcli.cli.fast import plain
from tests.conftest import Project

LINES = [
    ("zebra",),
    ("zebra", "stripes"),
    ("--ranked", "zebra"),
    ("zebra", "--json"),
    ("--json", "--explain", "zebra"),
    ("zebra", "--limit", "1", "--max-tokens", "200"),
    ("zebra", "--format", "text", "-q"),
    ("zebra", "--set", "decay=none", "--set", "limit=1"),
    ("--", "--zebra"),
    ("nothing of the kind",),
    ("zebra", "--format", "bogus"),
    ("zebra", "--shared"),
    ("zebra", "--set", "nonsense=1"),
]


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_both_ways_give_the_same_answer(project: Project, line: tuple[str, ...]) -> None:
    """Output, talk and exit code are those of the line through Typer."""
    project.write(
        "MEMORY.md", project.entry("Zebra", "zebra stripes") + project.entry("Lion", "zebra lion")
    )
    assert plain(line) is not None
    with_typer = project.mem("recall", *line)
    without = project.shell("recall", *line)
    assert without == with_typer


@pytest.mark.parametrize(
    "line",
    [
        (),
        ("--help",),
        ("zebra", "--tag", "x"),
        ("zebra", "--limit", "many"),
        ("zebra", "--limit", "0"),
        ("zebra", "--limit"),
        ("--li=3",),
    ],
)
def test_other_lines_need_typer(line: tuple[str, ...]) -> None:
    """Filters, help and whatever is wrong are left to the one parser."""
    assert plain(line) is None


def test_a_plain_recall_loads_no_typer(project: Project) -> None:
    """Neither Typer nor the parser of memory files, once the index is fresh."""
    path = project.write("MEMORY.md", project.entry("Zebra", "zebra stripes"))
    os.utime(path, (1e9, 1e9))  # one written this moment is read again
    project.mem("index")
    code = (
        "import sys\n"
        "from memcli.__main__ import _run\n"
        "_run(['recall', 'zebra'])\n"
        "print([m for m in sys.modules if m in ('typer', 'memcli.memory.parser', 'memcli.similarity.duplicates', 'yaml')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.root, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[]\n")
