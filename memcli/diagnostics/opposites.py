"""What `mem doctor` says of entries that cannot both hold, and of such as came back."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from memcli.diagnostics.scene import Check, Scene, passed, warning
from memcli.memory.parser import KnownFile
from memcli.memory.values import Entry
from memcli.similarity.claims import claim
from memcli.similarity.duplicates import contradictions
from memcli.similarity.taken_back import TakenBackDoor, tombstones_of

Found = tuple[KnownFile, Entry]


def check_opposites(scene: Scene) -> Iterator[Check]:
    """A row for each pair that says the opposite, and for each entry that a merge
    brought back."""
    documents, _ = scene.read
    live: list[Found] = []
    for document in documents:
        if document.place.store == "memory":
            holding = filter(_holds, document.memory.entries)
            live += [(document, entry) for entry in holding]
    rows = [*_opposed(live), *_came_back(live, tombstones_of(documents))]
    yield from rows
    if live and not rows:
        yield passed("contradictions", "nothing found")


def _holds(entry: Entry) -> bool:
    return entry.status != "retired" and entry.kind != "episode"


def _opposed(live: Sequence[Found]) -> Iterator[Check]:
    by_type = defaultdict[str, list[Found]](list)
    for document, entry in live:
        by_type[entry.type].append((document, entry))
    for entries in by_type.values():
        claims = [claim(entry.body) for _, entry in entries]
        for place, other_place in contradictions(claims):
            first, first_entry = entries[place]
            second, second_entry = entries[other_place]
            second_place = f"{second.path}:{second_entry.line}"
            if first_entry.id == second_entry.id:
                continue
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
