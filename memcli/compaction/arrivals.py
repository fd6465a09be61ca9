"""Filter what a merge brings in: drop what was retired on this side or forgotten on
this machine. Pure."""

from collections.abc import Sequence

from memcli.memory.changes import EntryChange, edited
from memcli.memory.parser import parse
from memcli.memory.tombstones import Forgotten, is_tombstone
from memcli.memory.values import Entry
from memcli.similarity.taken_back import TakenBackDoor

Doors = dict[str, TakenBackDoor]
"""By the id of an entry that one side wrote anew, what the other side took back."""


def doors_of(base: str, ours: str, theirs: str) -> Doors:
    """The doors of three versions. Only what the writing side does not know counts, and
    an entry that both sides have is known to the one that took its words back."""
    base_entries, our_entries, their_entries = (
        parse(text, "").entries for text in (base, ours, theirs)
    )
    return _doors_for(our_entries, their_entries, base_entries) | _doors_for(
        their_entries, our_entries, base_entries
    )


def _doors_for(
    taking: Sequence[Entry], writing: Sequence[Entry], parted: Sequence[Entry]
) -> Doors:
    """The door of what one side has taken back, for each entry that only the other
    side wrote."""
    known = {entry.id for entry in taking}
    written = {entry.id for entry in writing}
    arrivals = written - known - {entry.id for entry in parted}
    tombstones = [
        entry
        for entry in taking
        if entry.id not in written and is_tombstone(entry, archived=False)
    ]
    return dict.fromkeys(arrivals, TakenBackDoor(tombstones)) if tombstones else {}


def let_in(text: str, path: str, doors: Doors) -> str:
    """The merged file, with what was retired elsewhere retired, and what was forgotten
    removed."""
    if not doors:
        return text
    memory = parse(text, path)
    changes = []
    for place, entry in enumerate(memory.entries):
        door = doors.get(entry.id) if entry.is_live else None
        refusal = door.of(entry.body, id=entry.id) if door is not None else None
        if refusal is not None and refusal.is_forgotten:
            changes.append(EntryChange(at=place, remove=True))
        elif refusal is not None:
            because = f"taken back elsewhere: {refusal.reason}"
            values = {"status": "retired", "retired_because": because}
            changes.append(EntryChange(at=place, values=values))
    return edited(memory, changes).text if changes else text


def without_forgotten(
    text: str, path: str, sides: Sequence[str], gone: Forgotten
) -> str:
    """A file merged of two sides, without the entries that one of them alone has and
    that were forgotten: what the other has changed comes back by no merge, and what
    both have was written again."""
    our_ids, their_ids = (
        {entry.id for entry in parse(side, "").entries} for side in sides
    )
    door = TakenBackDoor((), gone)
    memory = parse(text, path)
    changes = [
        EntryChange(at=place, remove=True)
        for place, entry in enumerate(memory.entries)
        if entry.id in our_ids ^ their_ids and door.of(entry.body, id=entry.id)
    ]
    return edited(memory, changes).text if changes else text
