"""A plain recall does without Typer, and answers the same."""

import pytest

from memcli.cli.fast import plain

LINES = """zebra|zebra stripes|--ranked zebra|zebra --json|--json --explain zebra|nothing of the kind
zebra --limit 1 --max-tokens 200|zebra --format text -q|zebra --set decay=none --set limit=1|-- --zebra
zebra --format bogus|zebra --shared|zebra --set nonsense=1""".replace("\n", "|").split(
    "|"
)


@pytest.mark.parametrize("line", LINES)
def test_both_ways_give_the_same_answer(project, line):
    """Output, talk and exit code are those of the line through Typer."""
    project.memory(
        project.entry("Zebra", "zebra stripes"), project.entry("Lion", "zebra lion")
    )
    assert plain(line.split()) is not None
    with_typer = project.mem("recall", *line.split())
    assert project.shell("recall", *line.split()) == with_typer


@pytest.mark.parametrize(
    "line",
    "|--help|zebra --tag x|zebra --limit many|zebra --limit 0|zebra --limit|--li=3".split(
        "|"
    ),
)
def test_other_lines_need_typer(line):
    """Filters, help and whatever is wrong are left to the one parser."""
    assert plain(line.split()) is None


def test_an_empty_value_of_an_option_is_refused(project):
    """Of every command that takes one, and in the fast way of recall, too."""
    for line in (
        ["add", "Zebra", "--command", ""],
        ["add", "Zebra", "--tag= "],
        ["list", "--since", ""],
        ["forget", "--session", ""],
    ):
        done = project.mem(*line)
        assert (done.code, done.out) == (2, "")
        assert "is empty\nhint: give it a value" in done.err
    assert plain(["zebra", "--session", ""]) is None
    assert not project.has("MEMORY.md")
