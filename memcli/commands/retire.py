"""mem retire and mem restore: take entries out of recall, and bring them back."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memcli.app import App
from memcli.commands.add import refuse_secrets, retire_echoes
from memcli.commands.edit import refresh_found, writable
from memcli.compaction.reinforce import adopt_hint
from memcli.errors import RefusedError, UsageError
from memcli.index.upkeep import Located
from memcli.memory.changes import ChangeSet, Spot, came_back
from memcli.memory.grammar import are_versions, words_of
from memcli.memory.tombstones import fold, is_tombstone
from memcli.memory.values import (
    ARCHIVE,
    Entry,
    Patch,
    plain_id,
    source_of,
)
from memcli.project.context import hold, nothing_written, patches_of, read_known
from memcli.similarity.claims import claim
from memcli.similarity.duplicates import near_duplicate
from memcli.similarity.opposites import PlacedEntry
from memcli.similarity.taken_back import TakenBackDoor

LIVE = {"status": "active", "retired_because": None, "superseded_by": None}


class RetireReport(NamedTuple):
    """The entries changed, as (id, path, title), those that were so already, the
    patches, and the episodes that said the same and are retired with them."""

    verb: str
    changed: tuple[tuple[str, str, str], ...]
    already: tuple[str, ...]
    patches: tuple[Patch, ...]
    episodes: tuple[tuple[str, str, str], ...] = ()


def retire(app: App, ids: Sequence[str], because: str = "") -> RetireReport:
    """Set the status of entries to retired; `mem compact` moves them to the archive."""
    reason = " ".join(because.split()) or "by hand"
    refuse_secrets(reason)
    return app.write(lambda: _plan_retire(app, ids, reason), "retire")


def restore(app: App, ids: Sequence[str], *, again: bool = False) -> RetireReport:
    """Make retired entries active again, and bring archived ones back into their file.
    Raises RefusedError for one whose words were taken back in another entry, too, or
    stand in a live one, unless `again`."""
    return app.write(lambda: _plan_restore(app, ids, again=again), "restore")


def _plan_retire(app: App, ids: Sequence[str], reason: str) -> RetireReport:
    refresh_found(app)
    changes = ChangeSet(today=app.today)
    changed = []
    already = []
    episodes = []
    for prefix in dict.fromkeys(ids):
        key, spot = spot_of(app, changes, prefix)
        entry = changes.original(spot)
        if not entry.is_live:
            already.append(key)
        else:
            changes.set(spot, status="retired", retired_because=reason)
            episodes += retire_echoes(app, changes, entry)
            changed.append((key, spot[0], entry.title + _extent(entry)))
    return RetireReport(
        verb="retired",
        changed=tuple(changed),
        already=tuple(already),
        patches=patches_of(app.project, changes),
        episodes=tuple(dict.fromkeys(episodes)),
    )


def _extent(entry: Entry) -> str:
    """Of an entry whose end only headings tell: which lines are meant."""
    if not entry.touched:
        return ""
    last = entry.line + len(entry.body.splitlines()) - 1
    return f" (edited by hand: lines {entry.line} to {last})"


def _plan_restore(app: App, ids: Sequence[str], *, again: bool) -> RetireReport:
    refresh_found(app)
    taken_back = TakenBackDoor(()) if again else app.taken_back()
    standing = [] if again else list(_standing(app))
    changes = ChangeSet(today=app.today)
    changed = []
    already = []
    for prefix in dict.fromkeys(ids):
        key, spot = spot_of(app, changes, prefix, archived=None)
        entry = changes.original(spot)
        if refusal := taken_back.of(entry.body, but=entry.id):
            what = f"{prefix}: {refusal}; nothing was written"
            raise RefusedError(what, f"mem restore {prefix} --again")
        _refuse_twin(prefix, PlacedEntry(spot[0], entry), standing)
        _hold_copies(app, changes, key, spot[0])
        _refuse_another(prefix, changes, spot)
        if path := _brought_back(changes, spot):
            changed.append((key, path, entry.title))
        else:
            already.append(key)
    return RetireReport(
        verb="restored",
        changed=tuple(changed),
        already=tuple(already),
        patches=patches_of(app.project, changes),
    )


def _hold_copies(app: App, changes: ChangeSet, key: str, path: str) -> None:
    """Read every file in which an entry stands, and the one it comes back into."""
    for name in dict.fromkeys((*_copies(app, key, path), path, _home_of(path))):
        with nothing_written(name):
            hold(app.project, changes, name)


def _home_of(path: str) -> str:
    """The memory file to which what stands in a file comes back."""
    return source_of(path) if path.endswith(ARCHIVE) else path


def _brought_back(changes: ChangeSet, spot: Spot) -> str:
    """Make an entry live; the file in which it is then, "" where it was so already."""
    entry = changes.original(spot)
    path = spot[0]
    if path.endswith(ARCHIVE):
        return changes.restore(spot, **({} if entry.is_live else LIVE))
    return path if came_back(changes, entry.id, LIVE) else ""


def _standing(app: App) -> Iterator[PlacedEntry]:
    """The live entries of all files."""
    for file in read_known(app.project, app.project.listing.files, []):
        for entry in file.memory.entries:
            if entry.is_live and file.place.store != "archive":
                yield PlacedEntry(file.path, entry)


def _refuse_twin(
    prefix: str, placed: PlacedEntry, standing: Iterable[PlacedEntry]
) -> None:
    """Raises RefusedError where a live entry of the file says what one that comes back
    into it says."""
    entry = placed.entry
    home = _home_of(placed.path)
    if entry.is_live and home == placed.path:
        return
    restored_claim = claim(fold(entry.body))
    for other in standing:
        if other.path != home or other.entry.id == entry.id:
            continue
        if near_duplicate(restored_claim, claim(fold(other.entry.body))):
            where = f"{home}:{other.entry.line}, id {other.entry.id[:8]}"
            what = f"{prefix}: {other.entry.title} says the same ({where})"
            hint = f"that is enough; mem restore {prefix} --again keeps both"
            raise RefusedError(f"{what}; nothing was written", hint)


def _refuse_another(prefix: str, changes: ChangeSet, spot: Spot) -> None:
    """Raises RefusedError where an archive that is held has something else under the id
    of an entry: whose words are meant is the person's to say."""
    path = spot[0]
    entry = changes.original(spot)
    if path.endswith(ARCHIVE):
        return
    words = words_of(entry.body)
    for name, file in changes.files.items():
        for other in file.entries if name.endswith(ARCHIVE) else ():
            is_gone = other.id == entry.id and is_tombstone(other, archived=True)
            if is_gone and not are_versions(words, words_of(other.body)):
                here = f"{path}:{entry.line}"
                what = (
                    f"{prefix}: {other.title} ({name}:{other.line}) is archived, and"
                    f" {entry.title} has its id by now ({here})"
                )
                hint = f"delete the line of the id in {here}; then: mem doctor --fix"
                raise RefusedError(f"{what}; nothing was written", hint)


def _copies(app: App, key: str, path: str) -> list[str]:
    """The files of the work tree of one in which an entry stands."""
    known = {file.name: file for file in app.project.listing.files}
    names = {row.id: name for name, row in app.index.files().items()}
    places = [names[source] for _, source in app.index.entries.places([key])]
    return [name for name in places if known[name].tree == known[path].tree]


def spot_of(
    app: App,
    changes: ChangeSet,
    prefix: str,
    *,
    archived: bool | None = False,
    adopts: bool = False,
) -> tuple[str, Spot]:
    """The id of the one entry meant, and where it stands in `changes`. Raises
    UsageError for what is no entry; `adopts`: the hint makes it one wherever it is."""
    place = writable(app, prefix, archived=archived)
    with nothing_written(place.path):
        memory = hold(app.project, changes, place.path)
    name = plain_id(place.entry)
    spots = [number for number, each in enumerate(memory.entries) if each.id == name]
    if not spots:
        adopted = adopt_hint(place.path, place.entry)
        raise UsageError(
            f"{prefix}: is a section of prose, not an entry",
            adopted if adopts else _prose_hint(app, prefix, place),
        )
    # what stands twice in an archive came there twice: the later one is meant
    number = spots[-1] if place.path.endswith(ARCHIVE) else spots[0]
    return place.entry, (place.path, number)


def _prose_hint(app: App, prefix: str, place: Located) -> str:
    file = app.project.found(place.path)
    if file and file.found:
        # another tool's file: an entry would be a copy
        return f"mem edit {prefix} opens it in an editor; empty the text to delete it"
    return adopt_hint(place.path, place.entry)
