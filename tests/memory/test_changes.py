"""Changes to several memory files: one text for each, and nothing that leaves is
lost."""

from memcli.memory.changes import ChangeSet
from memcli.memory.parser import MemoryFile, parse


def memory(*names: str, path: str = "MEMORY.md", eol: str = "\n") -> MemoryFile:
    blocks = [
        f"---\nid: {n}\ntype: declarative  # kept\n---\n## {n}\nBody of {n}.\n"
        for n in names
    ]
    return parse("\n".join(["# Prose\n", *blocks]).replace("\n", eol), path)


def test_later_steps_see_what_earlier_ones_changed() -> None:
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


def test_new_entries_stand_at_the_end_in_the_order_they_came() -> None:
    changes = ChangeSet([memory("a")], "2026-03-01")
    changes.add(
        "MEMORY.md", {"id": "n1", "type": "declarative", "kind": None}, "## One\nx"
    )
    changes.add("tasks/new.md", {"id": "n2", "type": "declarative"}, "## Two\ny")
    changes.append("MEMORY.md", "---\nid: n3\ntype: directive\n---\n## Three\nz\n")
    texts = changes.texts()
    assert [e.id for e in parse(texts["MEMORY.md"], "").entries] == ["a", "n1", "n3"]
    assert texts["tasks/new.md"].startswith("---\nid: n2\n")
