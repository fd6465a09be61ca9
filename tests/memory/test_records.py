"""The record of a decision is one unit, with its title, its day and its kind."""

import pytest

from memcli.memory.parser import parse, sections

RECORD = """# 1. Record decisions

Date: 2016-02-12

## Status

Accepted

## Context

We talk much, and nobody remembers it.

## Decision

As in http://example.org/blog/2011/11/15/decisions we write it down.
"""
IN_FRONT = """---
status: "accepted"
date: 2024-05-06
---
# Use one queue

## Context and Problem Statement

Two queues drift.
"""


def units(text, path="docs/adr/0001-record.md"):
    return sections(parse(text, path))


@pytest.mark.unit
@pytest.mark.parametrize(
    ("text", "title", "day", "line"),
    [
        (RECORD, "1. Record decisions", "2016-02-12", 1),
        (RECORD.replace("\n", "\r\n"), "1. Record decisions", "2016-02-12", 1),
        (IN_FRONT, "Use one queue", "2024-05-06", 5),
        (
            "# Use B\n\n* Status: accepted\n* Date: 2020-01-02\n\n## Context\n\nA.\n",
            "Use B",
            "2020-01-02",
            1,
        ),
        (
            "# Use C\n\n## Context\n\nSince 2011-01-01.\n\n## Status\n\n2019-03-04 accepted\n",
            "Use C",
            "2019-03-04",
            1,
        ),
    ],
)
def test_a_record_is_one_decision(text, title, day, line):
    """Its day stands above its sections or beside its status, and nowhere else."""
    (unit,) = units(text)
    assert (unit.title, unit.kind, unit.date, unit.line) == (
        title,
        "decision",
        day,
        line,
    )
    last = text.rstrip().splitlines()[-1]
    assert last in unit.body
    assert unit.end == len(text)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("text", "path"),
    [
        (RECORD, "docs/notes/0001-record.md"),
        (RECORD.replace("## Status\n\nAccepted\n\n", ""), "docs/adr/1.md"),
        (RECORD + "\n## Status\n\nSuperseded\n", "docs/decisions/log.md"),
        (RECORD + "\n# 2. Another\n\nText.\n", "docs/adr/1.md"),
        ("A word before.\n\n" + RECORD, "docs/adr/1.md"),
    ],
)
def test_a_log_or_a_page_is_no_record(text, path):
    """Not named so, without a status, with two of them, with a second title."""
    found = units(text, path)
    assert len(found) > 1
    assert {unit.kind for unit in found} == {""}


def test_a_folder_of_records_is_listed_row_by_row(project):
    """One row each; the decision is found by what stands in any of its sections."""
    project.write("docs/adr/0001-record.md", RECORD)
    project.write("docs/adr/0002-queue.md", IN_FRONT)
    rows = project.listed()
    assert [(row["title"], row["kind"]) for row in rows] == [
        ("Use one queue", "decision"),
        ("1. Record decisions", "decision"),
    ]
    hits = project.mem("recall", "two queues drift", "--json").json["hits"]
    assert hits[0]["title"] == "Use one queue"


@pytest.mark.unit
def test_a_date_in_an_address_is_that_of_something_else():
    """A section has no date from the page that it names."""
    text = "## Notes\nSee https://example.org/2011/11/15/page for more.\n"
    assert [unit.date for unit in units(text, "MEMORY.md")] == [""]
