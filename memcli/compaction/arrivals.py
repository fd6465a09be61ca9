"""What a merge brings: nothing of it says what was taken back on this side. Pure."""

from collections.abc import Mapping

from memcli.memory.changes import EntryChange, edited
from memcli.memory.parser import parse
from memcli.memory.tombstones import is_tombstone
from memcli.similarity.taken_back import TakenBackDoor

Doors = Mapping[str, TakenBackDoor]
"""By the id of an entry that one side wrote anew, what the other side took back."""


def doors_of(base: str, ours: str, theirs: str) -> Doors:
    """The doors of three versions: only what the writing side does not know counts."""
    files = [parse(text, "").entries for text in (base, ours, theirs)]
    old, mine, other = ({entry.id for entry in entries} for entries in files)
    doors: dict[str, TakenBackDoor] = {}
    for entries, known in ((files[1], other), (files[2], mine)):
        stones = [
            entry
            for entry in entries
            if entry.id not in known and is_tombstone(entry, archived=False)
        ]
        if stones:
            doors |= dict.fromkeys(known - old, TakenBackDoor(stones))
    return doors


def let_in(text: str, path: str, doors: Doors) -> str:
    """A merged file, in which what was taken back is retired, and what was forgotten is
    gone."""
    if not doors:
        return text
    memory = parse(text, path)
    changes = []
    for at, entry in enumerate(memory.entries):
        door = doors.get(entry.id) if entry.status != "retired" else None
        refusal = door.of(entry.body, id=entry.id) if door is not None else None
        if refusal is not None and refusal.is_forgotten:
            changes.append(EntryChange(at=at, remove=True))
        elif refusal is not None:
            because = f"taken back elsewhere: {refusal.reason}"
            values = {"status": "retired", "retired_because": because}
            changes.append(EntryChange(at=at, values=values))
    return edited(memory, changes).text if changes else text
