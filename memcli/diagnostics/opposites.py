"""What `mem doctor` says of entries that cannot both hold, and of such as came back."""

from collections.abc import Iterator, Sequence

from memcli.diagnostics.scene import Check, Scene, passed, warning
from memcli.memory.parser import KnownFile
from memcli.memory.values import Entry
from memcli.similarity.duplicates import opposed
from memcli.similarity.taken_back import TakenBackDoor, tombstones_of

Found = tuple[KnownFile, Entry]


def check_opposites(scene: Scene) -> Iterator[Check]:
    """A row for each pair that says the opposite, and for each entry that a merge
    brought back."""
    documents, _ = scene.read
    live = []
    for document in documents:
        if document.place.store == "memory":
            holding = filter(_holds, document.memory.entries)
            live += [(document, entry) for entry in holding]
    rows = [*_opposed(live), *_came_back(live, tombstones_of(documents))]
    yield from rows
    if live and not rows:
        yield passed("contradictions", "nothing found")


def _holds(entry: Entry) -> bool:
    return entry.is_live and not entry.is_episode


def _opposed(live: Sequence[Found]) -> Iterator[Check]:
    pairs = opposed(live, lambda found: found[1].type, lambda found: found[1].body)
    for (first, first_entry), (second, second_entry) in pairs:
        if first_entry.id == second_entry.id:
            continue
        second_place = f"{second.path}:{second_entry.line}"
        yield warning(
            "contradictions",
            f"{first_entry.title!r} says the opposite of {second_entry.title!r} ({second_place})",
            hint=f"mem retire {first_entry.id[:8]}, or the other: mem retire {second_entry.id[:8]}",
            path=first.path,
            line=first_entry.line,
        )


def _came_back(live: Sequence[Found], stones: Sequence[Entry]) -> Iterator[Check]:
    """Live entries that are older than the day on which the same words were taken
    back elsewhere: a merge brought them back."""
    for document, entry in live if stones else ():
        last_confirmed = max(entry.created_at, entry.last_reinforced)
        later = [
            stone
            for stone in stones
            if str(stone.extra.get("archived_at") or "") > last_confirmed
        ]
        refusal = TakenBackDoor(later).of(entry.body) if later else None
        if refusal is not None:
            yield warning(
                "taken-back",
                f"{entry.title!r} is live, but {refusal}",
                hint=f"mem retire {entry.id[:8]}; where it holds:"
                f" mem edit {entry.id[:8]} --confirm",
                path=document.path,
                line=entry.line,
            )
