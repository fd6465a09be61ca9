"""Sections of prose become entries in place."""

from memcli.memory.changes import adopted
from memcli.memory.parser import parse, sections


def test_a_text_without_sections_stays_as_it_is() -> None:
    """Blank files, entries alone and headings alone give nothing to adopt."""
    for text in ("", "\n\n", "# Only a heading\n", "---\nid: a\ntype: procedural\n---\n## T\nB.\n"):
        memory = parse(text, "MEMORY.md")
        assert adopted(memory) == (memory, [])


def test_a_section_keeps_its_id_and_its_words() -> None:
    """What recall showed under an id is found under it afterwards, a rule within it included."""
    memory = parse(
        "# Notes\n\n## Clocks\nFreeze them.\n\n## Rules\nAbove.\n\n---\nBelow.\n", "MEMORY.md"
    )
    before = {section.title: section.id for section in sections(memory)}
    after, ids = adopted(memory)
    assert ids == [before["Notes > Clocks"], before["Notes > Rules"]]
    clocks, rules = after.entries
    assert (clocks.id, clocks.title) == (ids[0], "Notes > Clocks") and "Freeze them." in clocks.body
    assert rules.id == ids[1] and "Above." in rules.body and "Below." in rules.body
