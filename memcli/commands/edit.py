"""mem edit: change an entry, or a section of prose, in an editor or by an option."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memcli.app import App
from memcli.errors import DataError, MemError, RefusedError, UsageError
from memcli.index.located import locate_one
from memcli.memory.editor import EntryChange, edited
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.prose import sections
from memcli.memory.values import KINDS, Entry, Patch
from memcli.storage.durable import write_output
from memcli.storage.files import Unreadable, read_text
from memcli.text.secrets import find_secrets

_HEADING = re.compile(r"\A(#{1,6}[ \t]+(?:\[\d{4}-\d\d-\d\d\][ \t]*)?)[^\r\n]*")


class EditRequest(NamedTuple):
    """What to change of the entry `id`; nothing given: what a person changes in an editor."""

    id: str
    title: str = ""
    body: str | None = None
    paths: tuple[str, ...] = ()
    kind: str = ""
    importance: float | None = None

    @property
    def given(self) -> bool:
        return self != EditRequest(self.id)


class EditReport(NamedTuple):
    """The entry, what of it changed (nothing: it is as it was), and the patch."""

    id: str
    path: str
    title: str
    changed: tuple[str, ...]
    patches: tuple[Patch, ...]


class _Unit(NamedTuple):
    """An entry or a section of prose as it stands; `at` is None for prose."""

    memory: MemoryFile
    path: str
    entry: Entry
    at: int | None

    @property
    def raw(self) -> str:
        return self.memory.text[self.entry.start : self.entry.end]


def edit(app: App, request: EditRequest, *, dry_run: bool = False) -> EditReport:
    """Change one entry. Raises RefusedError, with the copy kept, when it changed meanwhile."""
    if request.kind and request.kind not in KINDS:
        raise UsageError(f"--kind {request.kind}: unknown kind", f"one of {', '.join(KINDS)}")
    if not app.project.listing.files:
        raise UsageError("there is no memory here", 'begin with mem add "what you learned"')
    app.refresh()
    if request.given:
        return app.write(lambda: _by_options(app, request), "edit", dry_run=dry_run)
    unit = _find(app, request.id)
    copy = _edited_copy(app, unit)
    try:
        new = read_text(copy)
        if new == unit.raw:
            report = EditReport(unit.entry.id, unit.memory.path, unit.entry.title, (), ())
        else:
            report = app.write(
                lambda: _spliced(app, request.id, unit, new), "edit", dry_run=dry_run
            )
    except (MemError, Unreadable) as error:
        what = error.what if isinstance(error, MemError) else str(error)
        kind = RefusedError if isinstance(error, RefusedError) else DataError
        raise kind(f"{what}; nothing is written", f"your text is kept in {copy}") from None
    os.remove(copy)
    os.rmdir(os.path.dirname(copy))
    return report


def _find(app: App, prefix: str) -> _Unit:
    """The entry or section meant, as its file has it now."""
    place = locate_one(app.index, app.project, prefix)
    file = app.project.found(place.path)
    if file is None or not place.writable:
        raise UsageError(
            f"{prefix}: stands in another work tree ({place.path})",
            "run it there, or name it with --task",
        )
    try:
        memory = app.project.read_to_write(file)
    except Unreadable as error:
        raise DataError(
            f"{place.path}:{error.line}: {error}; nothing is written", "mend the file first"
        ) from None
    for at, entry in enumerate(memory.entries):
        if entry.id == place.entry:
            return _Unit(memory, file.path, entry, at)
    for section in sections(memory):
        if section.id == place.entry:
            return _Unit(memory, file.path, section, None)
    raise UsageError(f"{prefix}: the file changed just now ({place.path})", "run again")


# --- by options


def _by_options(app: App, request: EditRequest) -> EditReport:
    unit = _find(app, request.id)
    entry, at = unit.entry, unit.at
    if at is None:
        raise UsageError(
            f"{request.id}: is a section of prose, which has no values",
            "mem edit without an option opens it; mem compact --adopt makes it an entry",
        )
    values: dict[str, Any] = {}
    body = entry.body
    if request.body is not None:
        head = _HEADING.match(body)
        body = f"{head[0]}\n{request.body.strip()}" if head else request.body.strip()
    if request.title:
        if "title" in entry.extra or not _HEADING.match(body):
            values["title"] = request.title
        if _HEADING.match(body):
            body = _HEADING.sub(lambda found: found[1] + request.title, body, count=1)
    if request.paths:
        values["paths"] = list(dict.fromkeys((*entry.extra.get("paths", ()), *request.paths)))
    if request.kind and request.kind != entry.kind:
        values["kind"] = request.kind
    if request.importance is not None:
        values["importance"] = request.importance
    _check_secrets(f"{body}\n{values}")
    change = EntryChange(at, values, body if body != entry.body else None)
    after = edited(unit.memory, [change])
    return _report(unit, after, after.entries[at])


# --- in an editor


def _edited_copy(app: App, unit: _Unit) -> str:
    """The path of a copy that a person has had in an editor."""
    environ = app.project.environ
    command = environ.get("VISUAL") or environ.get("EDITOR") or ""
    if not command.strip():
        raise UsageError(
            "there is no editor: neither VISUAL nor EDITOR is set",
            "set one, or name what to change: mem edit --help",
        )
    copy = os.path.join(tempfile.mkdtemp(prefix="mem-edit-"), f"{unit.entry.id[:8]}.md")
    write_output(Path(copy), unit.raw, mode=0o600)
    try:
        code = subprocess.run([*shlex.split(command), copy], check=False).returncode
    except (OSError, ValueError) as error:
        raise UsageError(f"the editor cannot be run: {error}", f"look at {command!r}") from None
    if code:
        raise RefusedError(
            f"the editor ended with {code}; nothing is written", f"your text is kept in {copy}"
        )
    return copy


def _spliced(app: App, prefix: str, before: _Unit, new: str) -> EditReport:
    unit = _find(app, before.entry.id)
    if unit.raw != before.raw:
        raise RefusedError(f"{prefix}: changed while you edited it", "")
    _check_secrets(new)
    text, entry = unit.memory.text, unit.entry
    joined = f"{text[: entry.start]}{new.rstrip()}{_tail(unit.raw)}{text[entry.end :]}"
    after = parse(joined, unit.memory.path)
    ids = [each.id for each in unit.memory.entries if each.identified]
    if [each.id for each in after.entries if each.identified] != ids:
        raise DataError("the text would not be this one entry again", "")
    if any(problem.severity == "unreadable" for problem in after.problems):
        raise DataError(f"the text cannot be read back: {after.problems[0].message}", "")
    if unit.at is None:
        patch = Patch(unit.path, text, after.text)
        return EditReport(entry.id, after.path, entry.title, ("text",), (patch,))
    now = after.entries[unit.at]
    if now.body != entry.body:  # the words are mem's again
        after = edited(after, [EntryChange(unit.at, body=now.body)])
    return _report(unit, after, after.entries[unit.at])


def _tail(raw: str) -> str:
    return raw[len(raw.rstrip()) :] or "\n"


def _check_secrets(text: str) -> None:
    for secret in find_secrets(text):
        raise RefusedError(f"the text holds a secret ({secret.kind})", "take it out")


def _report(unit: _Unit, after: MemoryFile, now: Entry) -> EditReport:
    """What changed, in words."""
    fields = (
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
    was, extra = unit.entry, {**unit.entry.extra, **now.extra}
    changed = [name for name in fields if getattr(was, name) != getattr(now, name)]
    changed += [key for key in extra if _other(was.extra, now.extra, key) and key not in changed]
    patches = (
        () if after.text == unit.memory.text else (Patch(unit.path, unit.memory.text, after.text),)
    )
    changed = [name for name in changed if name != "written"]
    return EditReport(was.id, after.path, now.title, tuple(changed), patches)


def _other(before: Mapping[str, Any], after: Mapping[str, Any], key: str) -> bool:
    return bool(before.get(key) != after.get(key))
