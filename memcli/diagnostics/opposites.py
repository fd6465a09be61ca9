"""What `mem doctor` reports about contradictions, and about retired entries that came
back."""

from collections.abc import Iterator, Sequence

from memcli.diagnostics.scene import Check, Scene, passed, warning
from memcli.memory.values import Entry
from memcli.project.unlisted import with_lost
from memcli.similarity.opposites import PlacedEntry, opposites, standing_in
from memcli.similarity.taken_back import TakenBackDoor, tombstones_of


def check_opposites(scene: Scene) -> Iterator[Check]:
    """A row for each pair that contradicts each other, and for each entry that a merge
    brought back."""
    live = list(standing_in(scene.documents))
    project = scene.app.project
    known = with_lost(project.root or project.home, scene.documents)
    rows = [*_opposed(live), *_came_back(live, tombstones_of(known))]
    yield from rows
    if live and not rows:
        yield passed("opposites", "nothing found")


def _opposed(live: Sequence[PlacedEntry]) -> Iterator[Check]:
    for first, second, differs in opposites(live):
        titles = f"{first.entry.title!r} contradicts {second.entry.title!r}"
        if differs == "marked" and first.entry.title == second.entry.title:
            titles = f"{first.entry.title!r} has two versions from a merge: keep one"
        ids = (first.entry.id[:8], second.entry.id[:8])
        yield warning(
            "opposites",
            f"{titles} ({second.path}:{second.entry.line})",
            hint=f"mem retire {ids[0]}, or the other: mem retire {ids[1]}",
            path=first.path,
            line=first.entry.line,
        )


def _came_back(live: Sequence[PlacedEntry], stones: Sequence[Entry]) -> Iterator[Check]:
    """Live entries that a merge brought back: their archive has them as retired, or
    they are older than the day when the same words were retired elsewhere."""
    ids = {stone.id for stone in stones}
    for path, entry in live if stones else ():
        why = _retired_later(entry, stones)
        hint = (
            f"mem retire {entry.id[:8]}; if it holds: mem edit {entry.id[:8]} --confirm"
        )
        if entry.id in ids:
            hint = f"mem compact; if it holds: mem restore {entry.id[:8]}"
            why = why or "its archive has it as retired"
        if why:
            message = f"{entry.title!r} is live, but {why}"
            yield warning("taken-back", message, hint=hint, path=path, line=entry.line)


def _retired_later(entry: Entry, stones: Sequence[Entry]) -> str:
    """Why the words of an entry do not hold, if they were retired after it was last
    confirmed; else ""."""
    last_confirmed = max(entry.created_at, entry.last_reinforced)
    later = [
        stone
        for stone in stones
        if str(stone.extra.get("archived_at") or "") > last_confirmed
    ]
    return str(TakenBackDoor(later).of(entry.body) or "")
