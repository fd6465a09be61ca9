"""mem edit: change an entry by hand, in an editor or by options."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from memcli.app import App
from memcli.commands.add import (
    IMPORTANCE_OF_KIND,
    cited,
    cited_anew,
    globs_below,
    in_lines,
    refuse_long,
    refuse_secrets,
)
from memcli.compaction.reinforce import adopt_hint
from memcli.errors import DataError, MemError, RefusedError, UsageError, one_of
from memcli.extraction.drafts import confirmed
from memcli.index.upkeep import Located, locate_one, twins
from memcli.memory.changes import EntryChange, edited
from memcli.memory.entry_values import TYPE_OF_KIND
from memcli.memory.parser import MemoryFile, parse, sections
from memcli.memory.values import DOMAINS, KINDS, Entry, Patch, plain_id
from memcli.memory.words import body_of
from memcli.project.context import need_root, nothing_written
from memcli.storage.durable import write_output
from memcli.storage.files import Unreadable, read_text, why

NOTHING = "nothing was written"
_HEADING = re.compile(r"\A(#{1,6}[ \t]+(?:\[\d{4}-\d\d-\d\d\][ \t]*)?)[^\r\n]*")
_WRITTEN = re.compile(r"^written:[^\n]*\n", re.MULTILINE)
_FIELDS = (
    "type domain importance phase status kind priority title body last_reinforced"
).split()


class EditRequest(NamedTuple):
    """What to change of the entry `id`. If nothing is given, a person changes it in
    an editor. Of tags, paths and commands one more each; "!GLOB" is one no longer."""

    id: str
    title: str = ""
    body: str | None = None
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    kind: str = ""
    importance: float | None = None
    domain: str = ""
    confirm: bool = False
    rests_on: tuple[str, ...] = ()


class EditReport(NamedTuple):
    """The entry, what of it changed (nothing: it is as it was), and the patch."""

    id: str
    path: str
    title: str
    changed: tuple[str, ...]
    patches: tuple[Patch, ...]


class _Standing(NamedTuple):
    """An entry or a section of prose as it stands; `number` is its place among the
    file's entries, None for prose."""

    memory: MemoryFile
    path: str
    entry: Entry
    number: int | None

    @property
    def raw(self) -> str:
        return self.memory.text[self.entry.start : self.entry.end]


def refresh_found(app: App) -> None:
    """Bring the index up to date. Raises UsageError where there is no memory."""
    if not app.project.listing.files:
        for problem in app.project.listing.problems:
            raise DataError(str(problem), "mem doctor")
        need_root(app.project)
        raise UsageError(
            "there is no memory here", 'begin with mem add "what you learned"'
        )
    app.refresh()


def writable(app: App, prefix: str, *, archived: bool | None = False) -> Located:
    """Where the one entry meant stands. Raises UsageError when it may not be changed
    from here."""
    place = locate_one(app.index, app.project, prefix, archived=archived)
    for note in twins(app.index, place.entry):
        if note not in app.notes:
            app.notes.append(note)
    if not place.writable:
        what = f"{prefix}: is in another work tree ({place.path})"
        raise UsageError(what, "run it there, or add --task")
    return place


def edit(app: App, request: EditRequest) -> EditReport:
    """Change one entry. Raises RefusedError, with the copy kept, when it changed
    meanwhile."""
    one_of("--kind", request.kind, ("", *KINDS))
    one_of("--domain", request.domain, ("", *DOMAINS))
    refresh_found(app)
    if request != EditRequest(request.id):
        return app.write(lambda: _by_options(app, request), "edit")
    standing = _find(app, request.id)
    copy = _edited_copy(app, standing)
    try:
        text = read_text(copy)
        report = _report(standing, standing.memory, standing.entry)
        if text != standing.raw:
            report = app.write(lambda: _spliced(app, standing, text), "edit")
    except (MemError, Unreadable) as error:
        kind = RefusedError if isinstance(error, RefusedError) else DataError
        what = str(error).removesuffix(f"; {NOTHING}")
        raise kind(f"{what}; {NOTHING}", f"your text is kept in {copy}") from None
    # and what the editor left there
    shutil.rmtree(os.path.dirname(copy), ignore_errors=True)
    return report


def _find(app: App, prefix: str) -> _Standing:
    place = writable(app, prefix)
    if file := app.project.found(place.path):
        with nothing_written(place.path):
            memory = app.project.read_to_write(file)
        name = plain_id(place.entry)
        numbered: list[tuple[int | None, Entry]] = list(enumerate(memory.entries))
        numbered += [(None, section) for section in sections(memory)]
        for number, entry in numbered:
            if entry.id == name:
                return _Standing(
                    memory=memory,
                    path=file.path,
                    entry=entry._replace(id=place.entry),
                    number=number,
                )
    raise UsageError(f"{prefix}: the file changed just now ({place.path})", "run again")


def _by_options(app: App, request: EditRequest) -> EditReport:
    standing = _find(app, request.id)
    entry = standing.entry
    number = standing.number
    if number is None:
        raise UsageError(
            f"{request.id}: is a section of prose, which has no values",
            f"mem edit {request.id} opens it in an editor; "
            + adopt_hint(standing.path, entry.id),
        )
    body = _new_body(entry.body, request)
    values = _new_values(app, entry, request)
    has_own_title = "title" in entry.extra or not _HEADING.match(body)
    if request.title and has_own_title:
        values["title"] = request.title
    refuse_secrets(f"{body}\n{values}")
    change = EntryChange(number, values, body if body != entry.body else None)
    after = edited(standing.memory, [change])
    return _report(standing, after, after.entries[number])


def _new_body(body: str, request: EditRequest) -> str:
    """The text below its heading, and the title in the heading."""
    if request.body is not None:
        refuse_long(request.body)
        head = _HEADING.match(body)
        text = request.body.strip()
        body = f"{head[0]}\n{text}" if head else text
    if request.title:
        body = _HEADING.sub(lambda head: head[1] + request.title, body, count=1)
    return body


def _new_values(app: App, entry: Entry, request: EditRequest) -> dict[str, Any]:
    """The keys of the front matter that change; a value of None takes one out."""
    values: dict[str, Any] = {}
    if request.kind:
        values |= _of_kind(entry, request.kind)
    if request.importance is not None:
        values["importance"] = request.importance
    if request.domain:
        values["domain"] = request.domain
    if request.confirm:
        values |= _confirmed(app, entry)
    if request.rests_on:
        values["rests_on"] = list(cited(app.project, request.rests_on))
    for key in ("tags", "paths", "commands"):
        if given := in_lines(getattr(request, key)):
            values[key] = _listed(app, entry, key, given) or None
    return values


def _of_kind(entry: Entry, kind: str) -> dict[str, Any]:
    """A kind with the type and the importance that it sets, where those of the entry
    are what its kind of before sets."""
    values: dict[str, Any] = {"kind": kind}
    if entry.type == TYPE_OF_KIND.get(entry.kind, "declarative"):
        values["type"] = TYPE_OF_KIND.get(kind, "declarative")
    if entry.importance == IMPORTANCE_OF_KIND.get(entry.kind, 0.5):
        values["importance"] = IMPORTANCE_OF_KIND.get(kind, 0.5)
    return values


def _confirmed(app: App, entry: Entry) -> dict[str, Any]:
    """What changes in an entry when a person confirms that it still holds."""
    values = confirmed(entry)
    values["last_reinforced"] = app.today
    if rows := entry.extra.get("rests_on"):
        values["rests_on"] = cited_anew(app.project, rows)
    return {key: value for key, value in values.items() if value is not None}


def _listed(app: App, entry: Entry, key: str, given: Iterable[str]) -> list[str]:
    """The tags, paths or commands of an entry, with those `given`, and without those
    behind a `!`."""
    added = [text for text in given if text[:1] != "!"]
    if key == "paths":
        added = list(globs_below(app.project, added))
    known = [*entry.extra.get(key, ()), *added]
    gone = [text[1:] for text in given if text[:1] == "!"]
    for text in gone:
        if text not in known:
            none = f"it has none: mem show {entry.id[:8]}"
            hint = f"it has {', '.join(known)}" if known else none
            what = f"--{key[:-1]} !{text}: {entry.id[:8]} has no such {key[:-1]}"
            raise UsageError(what, hint)
    return list(dict.fromkeys(text for text in known if text not in gone))


def _edited_copy(app: App, standing: _Standing) -> str:
    """Open a copy of the entry in an editor; the path of that copy, as the person
    left it."""
    environ = app.project.environ
    command = environ.get("VISUAL") or environ.get("EDITOR") or ""
    if not command.strip():
        what = "there is no editor: neither VISUAL nor EDITOR is set"
        raise UsageError(what, "set one, or name what to change: mem edit --help")
    folder = tempfile.mkdtemp(prefix="mem-edit-")
    copy = os.path.join(folder, f"{standing.entry.id[:8]}.md")
    write_output(Path(copy), standing.raw, mode=0o600)
    try:
        code = subprocess.run([*shlex.split(command), copy], check=False).returncode
    except (OSError, ValueError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        reason = why(error) if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"the editor {command!r} cannot be run: {reason}",
            "set VISUAL or EDITOR, or name what to change: mem edit --help",
        ) from None
    if code:
        what = f"the editor exited with {code}; nothing was written"
        raise RefusedError(what, f"your text is kept in {copy}")
    return copy


def _spliced(app: App, before: _Standing, text: str) -> EditReport:
    """The file with the entry replaced by the person's text."""
    standing = _find(app, before.entry.id)
    if standing.raw != before.raw:
        raise RefusedError(f"{before.entry.id[:8]}: changed while you edited it")
    refuse_secrets(text)
    entry = standing.entry
    after = _with_text(standing, _as_whole(standing, text))
    number = standing.number
    if number is None:
        units = (unit for unit in sections(after) if unit.start == entry.start)
        section = next(units, entry)
        return EditReport(
            id=section.id,
            path=after.path,
            title=section.title,
            changed=("text",),
            patches=(Patch(standing.path, standing.memory.text, after.text),),
        )
    if after.entries[number].body != entry.body:
        # the words are mem's again
        change = EntryChange(number, body=after.entries[number].body)
        after = edited(after, [change])
    return _report(standing, after, after.entries[number])


def _as_whole(standing: _Standing, text: str) -> str:
    """The text as all of the entry: what a person added below it is part of it."""
    if "written" not in standing.entry.extra:
        return text
    alone = parse(_WRITTEN.sub("", text, count=1), standing.path)
    if len(alone.entries) != 1 or alone.entries[0].body == standing.entry.body:
        return text
    return edited(alone, [EntryChange(0, body=alone.entries[0].body)]).text


def _with_text(standing: _Standing, text: str) -> MemoryFile:
    """The file with `text` for the entry. Raises DataError where it would be another
    entry, or several, or has a value that cannot be used."""
    entry = standing.entry
    memory = standing.memory
    raw = standing.raw
    tail = raw[len(raw.rstrip()) :] or "\n"
    begin = memory.text[: entry.start]
    end = memory.text[entry.end :]
    after = parse(f"{begin}{text.rstrip()}{tail}{end}", memory.path)
    if _identified(after) != _identified(memory):
        raise DataError("the text would no longer be exactly this entry")
    new = Counter(problem.message for problem in after.problems)
    new -= Counter(problem.message for problem in memory.problems)
    for problem in after.problems:
        if problem.severity == "unreadable" or problem.message in new:
            reason = problem.message.partition(";")[0]  # no value takes its place
            raise DataError(f"the text cannot be read back: {reason}")
    return after


def _identified(memory: MemoryFile) -> list[str]:
    return [entry.id for entry in memory.entries if entry.identified]


def _report(standing: _Standing, after: MemoryFile, entry: Entry) -> EditReport:
    before = standing.memory.text
    patch = Patch(standing.path, before, after.text)
    is_changed = after.text != before
    changed = _changed(standing.entry, entry) or ["front matter"] * is_changed
    return EditReport(
        id=standing.entry.id,
        path=after.path,
        title=entry.title,
        changed=tuple(changed),
        patches=(patch,) if is_changed else (),
    )


def _changed(before: Entry, after: Entry) -> list[str]:
    """The names of what differs between two states of an entry."""
    names = [name for name in _FIELDS if getattr(before, name) != getattr(after, name)]
    is_same_text = body_of(before.body, before.title) == body_of(
        after.body, after.title
    )
    if "title" in names and "body" in names and is_same_text:
        names.remove("body")  # its heading alone
    for key in {**before.extra, **after.extra}:
        is_told = key == "written" or key in names
        if not is_told and before.extra.get(key) != after.extra.get(key):
            names.append(key)
    return names
