"""mem edit, retire, restore, undo: change an entry by hand, take it out of recall, and
back."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memcli.app import App
from memcli.commands.add import globs_below
from memcli.compaction.reinforce import adopt_hint
from memcli.errors import DataError, MemError, RefusedError, UsageError, one_of
from memcli.extraction.placement import confirmed
from memcli.index.upkeep import Located, locate_one, twins
from memcli.memory.changes import ChangeSet, EntryChange, Spot, edited
from memcli.memory.parser import MemoryFile, parse, sections
from memcli.memory.values import (
    ARCHIVE,
    DOMAINS,
    KINDS,
    Entry,
    Patch,
    plain_id,
    source_of,
)
from memcli.memory.words import body_of
from memcli.project.context import hold, nothing_written, patches_of
from memcli.storage.durable import write_output
from memcli.storage.files import Unreadable, read_text
from memcli.text.secrets import find_secrets

LIVE = {"status": "active", "retired_because": None, "superseded_by": None}


class RetireReport(NamedTuple):
    """The entries changed, as (id, path, title), those that were so already, and the
    patches."""

    verb: str
    changed: tuple[tuple[str, str, str], ...]
    already: tuple[str, ...]
    patches: tuple[Patch, ...]


def retire(
    app: App, ids: Sequence[str], because: str = "", *, dry_run: bool = False
) -> RetireReport:
    """Set the status of entries to retired; `mem compact` moves them to the archive."""
    reason = " ".join(because.split()) or "by hand"
    _check_secrets(reason)
    return app.write(lambda: _plan(app, ids, reason), "retire", dry_run=dry_run)


def restore(app: App, ids: Sequence[str], *, dry_run: bool = False) -> RetireReport:
    """Make retired entries active again, and bring archived ones back into their
    file."""
    return app.write(lambda: _plan(app, ids, ""), "restore", dry_run=dry_run)


def refresh_found(app: App) -> None:
    """Bring the index up to date. Raises UsageError where there is no memory."""
    if not app.project.listing.files:
        for problem in app.project.listing.problems:
            raise DataError(str(problem), "mem doctor")
        raise UsageError(
            "there is no memory here", 'begin with mem add "what you learned"'
        )
    app.refresh()


def writable(app: App, prefix: str, *, archived: bool | None = False) -> Located:
    """Where the one entry meant stands. Raises UsageError when it may not be changed
    from here."""
    place = locate_one(app.index, app.project, prefix, archived=archived)
    app.notes += [
        note for note in twins(app.index, place.entry) if note not in app.notes
    ]
    if not place.writable:
        what = f"{prefix}: stands in another work tree ({place.path})"
        raise UsageError(what, "run it there, or name it with --task")
    return place


def _plan(app: App, ids: Sequence[str], because: str) -> RetireReport:
    """Retire for a reason; restore without one."""
    refresh_found(app)
    changes = ChangeSet(today=app.project.now.isoformat())
    changed = list[tuple[str, str, str]]()
    already = list[str]()
    for prefix in dict.fromkeys(ids):
        key, spot = _spot_of(app, changes, prefix, archived=False if because else None)
        entry = changes.original(spot)
        home = spot[0]
        extent = ""
        if home.endswith(ARCHIVE):
            with nothing_written(source_of(home)):
                hold(app.project, changes, source_of(home))
            home = changes.restore(spot, **(LIVE if entry.status == "retired" else {}))
        elif (entry.status == "retired") == bool(because):
            already.append(key)
            continue
        else:
            values = (
                {"status": "retired", "retired_because": because} if because else LIVE
            )
            changes.set(spot, **values)
        if (
            because and entry.touched
        ):  # only headings tell where it ends: it is said how far
            last = entry.line + len(entry.body.splitlines()) - 1
            extent = f" (edited by hand: lines {entry.line} to {last})"
        changed.append((key, home, entry.title + extent))
    verb = "retired" if because else "restored"
    patches = patches_of(app.project, changes)
    return RetireReport(
        verb=verb, changed=tuple(changed), already=tuple(already), patches=patches
    )


def _spot_of(
    app: App, changes: ChangeSet, prefix: str, *, archived: bool | None
) -> tuple[str, Spot]:
    place = writable(app, prefix, archived=archived)
    with nothing_written(place.path):
        memory = hold(app.project, changes, place.path)
    found = [
        at
        for at, entry in enumerate(memory.entries)
        if entry.id == plain_id(place.entry)
    ]
    if not found:
        what = f"{prefix}: is a section of prose, not an entry"
        hint = adopt_hint(place)
        if (
            file := app.project.found(place.path)
        ) and file.found:  # an entry would be a copy
            hint = (
                f"mem edit {prefix} opens it in an editor: what you empty there is gone"
            )
        raise UsageError(what, hint)
    return place.entry, (
        place.path,
        found[-1] if place.path.endswith(ARCHIVE) else found[0],
    )


class UndoReport(NamedTuple):
    """The write taken back (`verb` "" for none), its files, and the verb that is
    `earlier`."""

    verb: str
    time: str
    files: tuple[str, ...]
    patches: tuple[Patch, ...]
    earlier: str = ""


def undo(app: App, *, dry_run: bool = False) -> UndoReport:
    """Undo the last write. Raises RefusedError, with nothing changed, when a file
    changed since."""
    last = app.workspace.last_write(certain=dry_run)
    if last is None:
        return UndoReport(verb="", time="", files=(), patches=())
    files = (
        tuple(patch.path for patch in last.patches) if dry_run else app.workspace.undo()
    )
    before = None if dry_run else app.workspace.last_write()
    earlier = before.verb if before else ""
    return UndoReport(
        verb=last.verb,
        time=last.time,
        files=tuple(files),
        patches=last.patches,
        earlier=earlier,
    )


_HEADING = re.compile(r"\A(#{1,6}[ \t]+(?:\[\d{4}-\d\d-\d\d\][ \t]*)?)[^\r\n]*")
_FIELDS = (
    "type",
    "domain",
    "importance",
    "phase",
    "status",
    "kind",
    "priority",
    "title",
    "body",
)


class EditRequest(NamedTuple):
    """What to change of the entry `id`; nothing given: what a person changes in an
    editor."""

    id: str
    title: str = ""
    body: str | None = None
    paths: tuple[str, ...] = ()
    kind: str = ""
    importance: float | None = None
    without: tuple[str, ...] = ()
    domain: str = ""
    confirm: bool = False


class EditReport(NamedTuple):
    """The entry, what of it changed (nothing: it is as it was), and the patch."""

    id: str
    path: str
    title: str
    changed: tuple[str, ...]
    patches: tuple[Patch, ...]


class _Standing(NamedTuple):
    """An entry or a section of prose as it stands; `at` is None for prose."""

    memory: MemoryFile
    path: str
    entry: Entry
    at: int | None

    @property
    def raw(self) -> str:
        return self.memory.text[self.entry.start : self.entry.end]


def edit(app: App, request: EditRequest, *, dry_run: bool = False) -> EditReport:
    """Change one entry. Raises RefusedError, with the copy kept, when it changed
    meanwhile."""
    one_of("--kind", request.kind, ("", *KINDS))
    one_of("--domain", request.domain, ("", *DOMAINS))
    refresh_found(app)
    if request != EditRequest(request.id):
        return app.write(lambda: _by_options(app, request), "edit", dry_run=dry_run)
    found = _find(app, request.id)
    copy = _edited_copy(app, found)
    try:
        new = read_text(copy)
        if new == found.raw:
            report = EditReport(
                id=found.entry.id,
                path=found.memory.path,
                title=found.entry.title,
                changed=(),
                patches=(),
            )
        else:
            report = app.write(
                lambda: _spliced(app, found, new), "edit", dry_run=dry_run
            )
    except (MemError, Unreadable) as error:
        kind = RefusedError if isinstance(error, RefusedError) else DataError
        raise kind(
            f"{error}; nothing is written", f"your text is kept in {copy}"
        ) from None
    shutil.rmtree(
        os.path.dirname(copy), ignore_errors=True
    )  # and what the editor left there
    return report


def _find(app: App, prefix: str) -> _Standing:
    place = writable(app, prefix)
    if file := app.project.found(place.path):
        with nothing_written(place.path):
            memory = app.project.read_to_write(file)
        for at, entry in (
            *enumerate(memory.entries),
            *((None, one) for one in sections(memory)),
        ):
            if entry.id == plain_id(place.entry):
                return _Standing(
                    memory=memory,
                    path=file.path,
                    entry=entry._replace(id=place.entry),
                    at=at,
                )
    raise UsageError(f"{prefix}: the file changed just now ({place.path})", "run again")


def _by_options(app: App, request: EditRequest) -> EditReport:
    found = _find(app, request.id)
    entry = found.entry
    at = found.at
    if at is None:
        raise UsageError(
            f"{request.id}: is a section of prose, which has no values",
            f"mem edit {request.id} opens it in an editor; mem compact --adopt makes it an entry",
        )
    values: dict[str, Any] = {
        "importance": request.importance,
        "kind": request.kind or None,
        "domain": request.domain or None,
    }
    body = entry.body
    if request.body is not None:
        head = _HEADING.match(body)
        body = f"{head[0]}\n{request.body.strip()}" if head else request.body.strip()
    if request.title:
        if "title" in entry.extra or not _HEADING.match(body):
            values["title"] = request.title
        body = _HEADING.sub(lambda head: head[1] + request.title, body, count=1)
    if request.confirm:
        values |= confirmed(entry) | {"last_reinforced": app.project.now.isoformat()}
    values = {key: value for key, value in values.items() if value is not None}
    paths = [*entry.extra.get("paths", ()), *globs_below(app.project, request.paths)]
    for gone in set(request.without).difference(paths):
        hint = (
            f"it has {', '.join(paths)}"
            if paths
            else f"it has none: mem show {request.id}"
        )
        raise UsageError(f"--remove-path {gone}: {request.id} has no such path", hint)
    if request.paths or request.without:
        left = dict.fromkeys(path for path in paths if path not in request.without)
        values["paths"] = list(left) or None
    _check_secrets(f"{body}\n{values}")
    after = edited(
        found.memory, [EntryChange(at, values, body if body != entry.body else None)]
    )
    return _report(found, after, after.entries[at])


def _edited_copy(app: App, found: _Standing) -> str:
    command = next(filter(None, map(app.project.environ.get, ("VISUAL", "EDITOR"))), "")
    if not command.strip():
        what = "there is no editor: neither VISUAL nor EDITOR is set"
        raise UsageError(what, "set one, or name what to change: mem edit --help")
    folder = tempfile.mkdtemp(prefix="mem-edit-")
    copy = os.path.join(folder, f"{found.entry.id[:8]}.md")
    write_output(Path(copy), found.raw, mode=0o600)
    try:
        code = subprocess.run([*shlex.split(command), copy], check=False).returncode
    except (OSError, ValueError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(
            f"the editor cannot be run: {error}", f"look at {command!r}"
        ) from None
    if code:
        what = f"the editor ended with {code}; nothing is written"
        raise RefusedError(what, f"your text is kept in {copy}")
    return copy


def _spliced(app: App, before: _Standing, new: str) -> EditReport:
    """The file with a person's text in the place of what it was made from."""
    found = _find(app, before.entry.id)
    if found.raw != before.raw:
        raise RefusedError(f"{before.entry.id[:8]}: changed while you edited it")
    _check_secrets(new)
    text = found.memory.text
    entry = found.entry
    tail = found.raw[len(found.raw.rstrip()) :] or "\n"
    joined = f"{text[: entry.start]}{new.rstrip()}{tail}{text[entry.end :]}"
    after = parse(joined, found.memory.path)
    names = [
        [each.id for each in m.entries if each.identified]
        for m in (found.memory, after)
    ]
    if names[0] != names[1]:
        raise DataError("the text would not be this one entry again")
    for problem in after.problems:
        if problem.severity == "unreadable":
            raise DataError(f"the text cannot be read back: {problem.message}")
    if found.at is None:
        patch = Patch(found.path, text, after.text)
        now = next(
            (unit for unit in sections(after) if unit.start == entry.start), entry
        )
        return EditReport(
            id=now.id,
            path=after.path,
            title=now.title,
            changed=("text",),
            patches=(patch,),
        )
    now = after.entries[found.at]
    if now.body != entry.body:  # the words are mem's again
        after = edited(after, [EntryChange(found.at, body=now.body)])
    return _report(found, after, after.entries[found.at])


def _check_secrets(text: str) -> None:
    for secret in find_secrets(text):
        raise RefusedError(f"the text holds a secret ({secret.kind})", "take it out")


def _report(found: _Standing, after: MemoryFile, now: Entry) -> EditReport:
    was = found.entry
    before = found.memory.text
    changed = [name for name in _FIELDS if getattr(was, name) != getattr(now, name)]
    if "title" in changed and body_of(was.body, was.title) == body_of(
        now.body, now.title
    ):
        changed = [name for name in changed if name != "body"]  # its heading alone
    for key in {**was.extra, **now.extra}:
        if key not in ("written", *changed) and was.extra.get(key) != now.extra.get(
            key
        ):
            changed.append(key)
    patches = (Patch(found.path, before, after.text),) if after.text != before else ()
    return EditReport(
        id=was.id,
        path=after.path,
        title=now.title,
        changed=tuple(changed),
        patches=patches,
    )
