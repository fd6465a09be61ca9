"""mem retire and mem restore: take entries out of recall by hand, and bring them back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from memcli.app import App
from memcli.errors import DataError, UsageError
from memcli.memory.editor import EntryChange, edited
from memcli.memory.levels import source_of
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.values import Patch
from memcli.storage.files import Unreadable

ARCHIVED = ("archived_at", "archived_from", "archived_because")


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
    return app.write(lambda: _plan(app, ids, "retired", reason), "retire", dry_run=dry_run)


def restore(app: App, ids: Sequence[str], *, dry_run: bool = False) -> RetireReport:
    """Make retired entries active again, and bring archived ones back into their file."""
    return app.write(lambda: _plan(app, ids, "active", ""), "restore", dry_run=dry_run)


def _plan(app: App, ids: Sequence[str], status: str, because: str) -> RetireReport:
    if not app.listing.files:
        raise UsageError("there is no memory here", 'begin with mem add "what you learned"')
    app.refresh()
    plan = _Plan(app)
    for prefix in dict.fromkeys(ids):
        if status == "retired":
            plan.retire(prefix, because)
        else:
            plan.restore(prefix)
    return plan.report("retired" if status == "retired" else "restored")


class _Plan:
    def __init__(self, app: App) -> None:
        self.app = app
        self.memories: dict[str, MemoryFile] = {}
        self.changes: dict[str, list[EntryChange]] = {}
        self.changed: list[tuple[str, str, str]] = []
        self.already: list[str] = []

    def report(self, verb: str) -> RetireReport:
        patches = []
        for name, changes in self.changes.items():
            memory = self.memories[name]
            path = self.app.path_of(name)
            before = memory.text if os.path.lexists(path) else None
            patches.append(Patch(path, before, edited(memory, changes).text))
        return RetireReport(verb, tuple(self.changed), tuple(self.already), tuple(patches))

    def retire(self, prefix: str, because: str) -> None:
        name, at = self._find(prefix, archived=False)
        entry = self.memories[name].entries[at]
        if entry.status == "retired":
            self.already.append(entry.id)
            return
        self._set(name, at, {"status": "retired", "retired_because": because})

    def restore(self, prefix: str) -> None:
        name, at = self._find(prefix, archived=None)
        memory = self.memories[name]
        entry = memory.entries[at]
        if not name.endswith(".archive.md"):
            if entry.status != "retired":
                self.already.append(entry.id)
            else:
                self._set(
                    name, at, {"status": "active", "retired_because": None, "superseded_by": None}
                )
            return
        self._bring_back(name, at)

    def _bring_back(self, name: str, at: int) -> None:
        archive = self.memories[name]
        entry = archive.entries[at]
        raw = archive.text[entry.start : entry.end].strip("\r\n") + "\n"
        alone = parse(raw, name)
        values: dict[str, str | None] = dict.fromkeys(ARCHIVED)
        if entry.status == "retired":
            values |= {"status": "active", "retired_because": None, "superseded_by": None}
        text = edited(alone, [EntryChange(0, values)]).text
        home = source_of(name)
        self._read(home)
        self.changes.setdefault(home, []).append(EntryChange(text=text))
        self.changed.append((entry.id, home, entry.title))

    def _set(self, name: str, at: int, values: dict[str, str | None]) -> None:
        entry = self.memories[name].entries[at]
        self.changes.setdefault(name, []).append(EntryChange(at, values))
        self.changed.append((entry.id, name, entry.title))

    def _find(self, prefix: str, *, archived: bool | None) -> tuple[str, int]:
        """File and position of the one entry meant; of an archive's versions, the latest."""
        place = self.app.one(prefix, archived=archived)
        if not place.writable:
            raise UsageError(
                f"{prefix}: stands in another work tree ({place.path})",
                "run it there, or name it with --task",
            )
        memory = self._read(place.path)
        found = [i for i, e in enumerate(memory.entries) if e.id == place.entry]
        if not found:
            raise UsageError(
                f"{prefix}: is a section of prose, not an entry", "mem compact --adopt makes it one"
            )
        return place.path, found[-1] if place.path.endswith(".archive.md") else found[0]

    def _read(self, name: str) -> MemoryFile:
        if name not in self.memories:
            try:
                file = self.app.found(name)
                self.memories[name] = self.app.read_to_write(file) if file else parse("", name)
            except Unreadable as error:
                raise DataError(
                    f"{error}; nothing is written ({name}:{error.line})", "mend the file"
                ) from None
        return self.memories[name]
