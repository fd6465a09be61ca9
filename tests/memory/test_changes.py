"""Changes to several memory files: one text for each, and nothing that leaves is
lost."""

import pytest

from memcli.errors import DataError
from memcli.memory import changes as guarded
from memcli.memory.changes import FOLLOWING, ChangeSet, EntryChange, edited, essence
from memcli.memory.parser import parse
from memcli.memory.values import Entry

SURVIVING = (
    ("id", "b"),
    ("type", "directive"),
    ("domain", "task"),
    ("importance", 0.75),
    ("phase", "planning"),
    ("status", "retired"),
    ("reinforcement_count", 7),
    ("last_reinforced", "2026-02-02"),
    ("created_at", "2026-01-01"),
    ("kind", "pitfall"),
    ("priority", "critical"),
    ("body", "## a\nOther words."),
    ("extra", {"tags": ["x"]}),
)
"""Each field of an entry that no write may change unasked, and another value of it."""


def memory(*names, path="MEMORY.md", eol="\n"):
    blocks = [
        f"---\nid: {name}\ntype: declarative  # kept\n---\n## {name}\nBody of {name}.\n"
        for name in names
    ]
    return parse("\n".join(["# Prose\n", *blocks]).replace("\n", eol), path)


def test_later_steps_see_what_earlier_ones_changed():
    changes = ChangeSet([memory("a")], "2026-03-01")
    spot = ("MEMORY.md", 0)
    changes.set(spot, reinforcement_count=2, supports=["x"])
    changes.set(spot, supports=None)
    changes.replace(spot, "## a\nOther words.", "updated")
    assert (changes.entry(spot).reinforcement_count, changes.entry(spot).body) == (
        2, "## a\nOther words.",
    )  # fmt: skip
    assert "supports" not in changes.entry(spot).extra
    assert changes.original(spot).reinforcement_count == 0
    texts = changes.texts()
    after = parse(texts["MEMORY.md"], "MEMORY.md").entries[0]
    assert after == changes.entry(spot)._replace(
        start=after.start, end=after.end, line=after.line, extra=after.extra
    )
    assert "Body of a." in texts["MEMORY.archive.md"]
    assert "# kept" in texts["MEMORY.md"]


def test_new_entries_stand_at_the_end_in_the_order_they_came():
    changes = ChangeSet([memory("a")], "2026-03-01")
    changes.add(
        "MEMORY.md", {"id": "n1", "type": "declarative", "kind": None}, "## One\nx"
    )
    changes.add("tasks/new.md", {"id": "n2", "type": "declarative"}, "## Two\ny")
    changes.append("MEMORY.md", "---\nid: n3\ntype: directive\n---\n## Three\nz\n")
    texts = changes.texts()
    assert [entry.id for entry in parse(texts["MEMORY.md"], "").entries] == [
        "a",
        "n1",
        "n3",
    ]
    assert texts["tasks/new.md"].startswith("---\nid: n2\n")


def test_every_field_of_an_entry_is_guarded_or_found_anew():
    """A field that is added to `Entry` belongs to one of the two lists by name."""
    surviving = {name for name, _ in SURVIVING}
    assert surviving | FOLLOWING == set(Entry._fields)
    assert not surviving & FOLLOWING


@pytest.mark.parametrize(("name", "other"), SURVIVING)
def test_a_write_that_loses_a_field_is_refused(name, other, monkeypatch):
    """Whichever field reads back otherwise than planned, nothing is written."""
    before = memory("a", "z")
    asked = [EntryChange(at=1, values={"supports": ["a"]})]
    assert len(edited(before, asked).entries) == 2

    def damaged(text, path):
        after = parse(text, path)
        lost = after.entries[0]._replace(**{name: other})
        return after._replace(entries=(lost, *after.entries[1:]))

    assert essence(before.entries[0]) != essence(
        before.entries[0]._replace(**{name: other})
    )
    monkeypatch.setattr(guarded, "parse", damaged)
    with pytest.raises(DataError, match="does not read back as planned"):
        edited(before, asked)
