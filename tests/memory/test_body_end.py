"""Where an entry ends: at a heading of its rank, and no further than `mem` wrote."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.memory.adoption import adopted
from memcli.memory.bodies import safe_body
from memcli.memory.changes import EntryChange, edited, render_entry
from memcli.memory.grammar import body_digest
from memcli.memory.parser import parse, sections

pytestmark = pytest.mark.unit


def written(body, below="", eol="\n"):
    """A file with one entry that `mem` wrote, and what a person put below it."""
    return parse(
        render_entry({"id": "a"}, body, eol) + below.replace("\n", eol), "MEMORY.md"
    )


def parts(file):
    return [
        (segment.kind, file.text[segment.start : segment.end])
        for segment in file.segments
    ]


def test_the_key_is_the_digest_of_the_lines():
    """Trailing blanks, line ends and blank lines at both ends do not count."""
    wanted = hashlib.sha256(b"## T\n\n- a").hexdigest()[:8]
    assert body_digest("\n\n## T  \r\n \r\n- a\t\r\n\n") == wanted
    assert (
        parse(render_entry({"id": "a"}, "## T\n\n- a"), "x").entries[0].extra["written"]
        == wanted
    )


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "body", ["Text.", "## T\nText.\n\n- a\n- b", "### T\n```\n# code\n```"]
)
@pytest.mark.parametrize(
    "below", ["\nA paragraph.\n", "- a bullet\n", "\n#### Deeper\nx\n", "1. one\n"]
)
def test_what_stands_below_is_prose(eol, body, below):
    """A heading of any rank, a paragraph or a bullet is a unit of its own; blank lines
    go with it."""
    file = written(body, below, eol)
    assert [kind for kind, _ in parts(file)] == ["entry", "prose"]
    assert file.entries[0].body == body.replace("\n", eol)
    assert not file.entries[0].touched
    assert parts(file)[1][1] == below.replace("\n", eol)
    gone = edited(file, [EntryChange(0, remove=True)])
    assert gone.text == below.replace("\n", eol)


@pytest.mark.parametrize(
    "below", ["and more.\n", "  indented\n", "| table |\n", "#tag\n"]
)
def test_a_line_that_goes_on_is_an_edit(below):
    """Without a blank line, heading or list mark the last paragraph goes on: a person's
    edit."""
    file = written("Text.", below)
    assert file.entries[0].touched
    assert file.entries[0].body == f"Text.\n{below}".strip()


def test_an_edited_body_is_all_the_entrys():
    """It reaches to the next heading of its rank, and its values can still be
    changed."""
    file = written("## T\nOne.\n", "\nTwo.\n\n## Mine\nx\n")
    text = file.text.replace("One.", "Uno.")
    edited_by_hand = parse(text, "MEMORY.md")
    assert edited_by_hand.entries[0].touched
    assert edited_by_hand.entries[0].body == "## T\nUno.\n\nTwo."
    after = edited(edited_by_hand, [EntryChange(0, {"reinforcement_count": 1})])
    assert after.entries[0].extra["written"] == file.entries[0].extra["written"]
    again = edited(after, [EntryChange(0, body="## T\nDue.")])
    assert not again.entries[0].touched
    assert again.text.endswith("## T\nDue.\n\n## Mine\nx\n")


@pytest.mark.parametrize(
    ("body", "prose_below"),
    [
        ("## T\nx", "## Other\ny\n"),
        ("## T\nx", "# Above\ny\n"),
        ("x", "## Other\ny\n"),
        ("# T\nx\n## Own", "# Other\n"),
    ],
)
def test_without_the_key_headings_decide(body, prose_below):
    """Files of older versions and other tools: the rank of the first heading, else the
    second."""
    file = parse(f"---\nid: a\n---\n{body}\n\n{prose_below}", "x")
    assert file.entries[0].body == body
    assert parts(file)[1:] == [("prose", prose_below)]


def test_bodies_are_written_with_deeper_headings():
    """What would end the body is put below its own rank; twice is once; code stays."""
    assert (
        safe_body("## T\n## A\n### B\n```\n# c\n```")
        == "## T\n### A\n#### B\n```\n# c\n```"
    )
    assert safe_body("Lead\n# A\n## B") == "Lead\n### A\n#### B"
    assert safe_body("# T\n## A") == "# T\n## A"
    for text in ("###### T\n###### A", "## T\n# A\n###### B"):
        body = safe_body(text)
        assert safe_body(body) == body
        assert parse(f"---\nid: a\n---\n{body}\n", "x").entries[0].body == body


def test_adopting_one_unit_adopts_one_unit():
    """Its neighbours in the list stay prose, and the text stays as it is but for the
    block."""
    file = parse("# Notes\n\n- one\n- two\n  more\n- three\n", "MEMORY.md")
    unit = next(unit for unit in sections(file) if "two" in unit.body)
    after, ids = adopted(file, "2026-11-21", {unit.id})
    assert ids == [unit.id] and [entry.body for entry in after.entries] == [
        "- two\n  more"
    ]
    assert [unit.body for unit in sections(after)] == ["# Notes\n\n- one", "- three"]


def test_a_text_without_sections_stays_as_it_is():
    """Blank files, entries alone and headings alone give nothing to adopt."""
    for text in (
        "",
        "\n\n",
        "# Only a heading\n",
        "---\nid: a\ntype: procedural\n---\n## T\nB.\n",
    ):
        memory = parse(text, "MEMORY.md")
        assert adopted(memory, "2026-11-21") == (memory, [])


def test_a_section_keeps_its_id_and_its_words():
    """What recall showed under an id is found under it afterwards, a rule within it
    included."""
    memory = parse(
        "# Notes\n\n## Clocks\nFreeze them.\n\n## Rules\nAbove.\n\n---\nBelow.\n",
        "MEMORY.md",
    )
    before = {section.title: section.id for section in sections(memory)}
    after, ids = adopted(memory, "2026-11-21")
    assert ids == [before["Notes > Clocks"], before["Notes > Rules"]]
    clocks, rules = after.entries
    assert (clocks.id, clocks.title) == (
        ids[0],
        "Notes > Clocks",
    ) and "Freeze them." in clocks.body
    assert rules.id == ids[1] and "Above." in rules.body and "Below." in rules.body


LINES = st.sampled_from(
    "|text|  more|# H|## H|### H|- a|  - b|1. c|---|```|~~~|id: x|type: corrective| |\ufeff|***".split(
        "|"
    )
)


@given(st.lists(LINES, max_size=12), st.lists(LINES, max_size=6))
@settings(max_examples=100, deadline=None)
def test_what_is_written_reads_back(body, below):
    """A body that is composed comes back whole, and what follows never joins it
    unmarked."""
    text = render_entry({"id": "a"}, "\n".join(body))
    alone = parse(text, "x").entries
    assert len(alone) == 1 and not alone[0].touched
    assert alone[0].body == safe_body("\n".join(body)).strip("\r\n \t")
    after = parse(text + "\n" + "\n".join(below), "x").entries
    assert after[0].body == alone[0].body and not after[0].touched
