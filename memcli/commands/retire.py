"""mem retire and mem restore: take entries out of recall by hand, and bring them back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from memcli.app import App
from memcli.compaction.reinforce import adopt_hint
from memcli.errors import DataError, UsageError
from memcli.index.located import locate_one
from memcli.memory.changes import ChangeSet, Spot
from memcli.memory.levels import ARCHIVE, source_of
from memcli.memory.parser import parse
from memcli.memory.values import Entry, Patch
from memcli.storage.files import Unreadable

LIVE = {"status": "active", "retired_because": None, "superseded_by": None}


class RetireReport(NamedTuple):
    """The entries changed, as (id, path, title), those that were so already, and the patches."""

    verb: str
    changed: tuple[tuple[str, str, str], ...]
    already: tuple[str, ...]
    patches: tuple[Patch, ...]


def retire(
    app: App, ids: Sequence[str], because: str = "", *, dry_run: bool = False
) -> RetireReport:
    """Set the status of entries to retired; `mem compact` moves them to the archive."""
    reason = " ".join(because.split()) or "by hand"
    return app.write(lambda: _plan(app, ids, reason), "retire", dry_run=dry_run)


def restore(app: App, ids: Sequence[str], *, dry_run: bool = False) -> RetireReport:
    """Make retired entries active again, and bring archived ones back into their file."""
    return app.write(lambda: _plan(app, ids, ""), "restore", dry_run=dry_run)


def _plan(app: App, ids: Sequence[str], because: str) -> RetireReport:
    """Retire for a reason; restore without one."""
    if not app.project.listing.files:
        raise UsageError("there is no memory here", 'begin with mem add "what you learned"')
    app.refresh()
    changes = ChangeSet(today=app.project.now.isoformat())
    changed: list[tuple[str, str, str]] = []
    already: list[str] = []
    for prefix in dict.fromkeys(ids):
        spot = _find(app, changes, prefix, archived=False if because else None)
        entry = changes.original(spot)
        archived = spot[0].endswith(ARCHIVE)
        home = spot[0]
        if not archived and (entry.status == "retired") == bool(because):
            already.append(entry.id)
            continue
        if because:
            changes.set(spot, status="retired", retired_because=because)
        elif archived:
            _hold(app, changes, source_of(spot[0]))
            home = changes.restore(spot, **(LIVE if entry.status == "retired" else {}))
        else:
            changes.set(spot, **LIVE)
        changed.append((entry.id, home, entry.title + (_extent(entry) if because else "")))
    verb = "retired" if because else "restored"
    return RetireReport(verb, tuple(changed), tuple(already), _patches(app, changes))


def _extent(entry: Entry) -> str:
    """What belongs to an entry whose end only headings tell: a person edited its body."""
    last = entry.line + len(entry.body.splitlines()) - 1
    return f" (edited by hand: lines {entry.line} to {last})" if entry.touched else ""


def _patches(app: App, changes: ChangeSet) -> tuple[Patch, ...]:
    patches = []
    for name, text in changes.texts().items():
        path = app.project.path_of(name)
        before = changes.files[name].text if os.path.lexists(path) else None
        patches.append(Patch(path, before, text))
    return tuple(patches)


def _find(app: App, changes: ChangeSet, prefix: str, *, archived: bool | None) -> Spot:
    """File and position of the one entry meant; of an archive's versions, the latest."""
    place = locate_one(app.index, app.project, prefix, archived=archived)
    if not place.writable:
        raise UsageError(
            f"{prefix}: stands in another work tree ({place.path})",
            "run it there, or name it with --task",
        )
    _hold(app, changes, place.path)
    entries = changes.files[place.path].entries
    found = [at for at, entry in enumerate(entries) if entry.id == place.entry]
    if not found:
        raise UsageError(
            f"{prefix}: is a section of prose, not an entry",
            adopt_hint(changes.files[place.path], place),
        )
    return place.path, found[-1] if place.path.endswith(ARCHIVE) else found[0]


def _hold(app: App, changes: ChangeSet, name: str) -> None:
    """Read a file that is to be changed, once; one that does not exist is empty."""
    if name in changes.files:
        return
    try:
        file = app.project.found(name)
        changes.hold(app.project.read_to_write(file) if file else parse("", name))
    except Unreadable as error:
        raise DataError(
            f"{error}; nothing is written ({name}:{error.line})", "mend the file"
        ) from None
