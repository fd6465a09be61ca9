"""A change is seen by any one sign of it: the time of the file, or its size."""

import os
from pathlib import Path

from tests.conftest import Project

LONG_AGO = 1_700_000_000_123_456_789


def put(project: Project, text: str, when: int = LONG_AGO) -> Path:
    path = project.write("MEMORY.md", text)
    os.utime(path, ns=(when, when))
    return path


def recalled(project: Project, word: str) -> int:
    return len(project.mem("recall", "--json", word).hits)


def test_another_size_is_seen_though_the_time_is_the_same(project):
    """Some tools that write files put the time back afterwards."""
    put(project, project.entry("Zebra", "Zebras have stripes.", id="a"))
    assert (recalled(project, "zebra"), recalled(project, "walrus")) == (1, 0)
    put(project, project.entry("Walrus", "Walruses have long tusks.", id="a"))
    assert (recalled(project, "zebra"), recalled(project, "walrus")) == (0, 1)


def test_another_time_is_seen_though_the_size_is_the_same(project):
    """One word for another of the same length."""
    put(project, project.entry("Zebra", "Zebras have stripes.", id="a"))
    assert recalled(project, "stripes") == 1
    put(project, project.entry("Zebra", "Zebras have manners.", id="a"), LONG_AGO - 1)
    assert (recalled(project, "stripes"), recalled(project, "manners")) == (0, 1)
