"""mem add: write down one thing that was learned."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from memcli.app import App
from memcli.errors import DataError, RefusedError, UsageError
from memcli.index import view
from memcli.index.source import Candidate
from memcli.memory.conflicts import conflict_lines
from memcli.memory.editor import EntryChange, edited, render_entry
from memcli.memory.entry_values import TYPE_OF_KIND
from memcli.memory.levels import LEVEL_WORDS, OUTERMOST, Place
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.values import KINDS, LEVELS, PRIORITIES, TYPES, Patch
from memcli.memory.words import clean
from memcli.project.context import current_stage, job_folder, need_root, task_folder, text_to_write
from memcli.similarity.claims import claim
from memcli.similarity.duplicates import near_duplicate
from memcli.storage.files import Unreadable
from memcli.text.controls import strip_controls, strip_private
from memcli.text.secrets import find_secrets

TITLE_LENGTH = 100
_MARKUP = re.compile(r"\s*(```|~~~|([-*_=])\2{2,}\s*$)")
"""A line that opens a code fence or is a rule: no title."""


class AddRequest(NamedTuple):
    """One thing to remember. Empty values take the defaults of `mem add --help`."""

    text: str
    level: str = "project"
    job: str = ""
    task: str = ""
    type: str = ""
    kind: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    importance: float | None = None
    priority: str = ""
    steps: tuple[str, ...] = ()
    outcome: str = ""


class AddReport(NamedTuple):
    """Where the entry went, or which one (`reinforced`) says the same already."""

    id: str
    path: str
    title: str
    reinforced: bool
    patches: tuple[Patch, ...]


def add(app: App, request: AddRequest, *, dry_run: bool = False) -> AddReport:
    """Append an entry, or reinforce the one that says the same. Refuses secrets (exit 5)."""
    request = _checked(request)
    return app.write(lambda: _plan(app, request), "add", dry_run=dry_run)


def _checked(request: AddRequest) -> AddRequest:
    """The request, cleaned, with the level's own name. Raises for what cannot or must not be
    written.
    """
    level = LEVEL_WORDS.get(request.level, request.level)
    for what, value, allowed in (
        ("level", level, LEVELS),
        ("type", request.type, ("", *TYPES)),
        ("kind", request.kind, ("", *KINDS)),
        ("priority", request.priority, ("", *PRIORITIES)),
    ):
        if value not in allowed:
            known = ", ".join(filter(None, allowed))
            raise UsageError(f"--{what} {value}: unknown {what}", f"one of {known}")
    if request.importance is not None and not 0 <= request.importance <= 1:
        raise UsageError(f"--importance {request.importance}: out of range", "a number from 0 to 1")
    request = _cleaned(request)._replace(level=level)
    if not request.text and not request.title:
        raise UsageError(
            "there is nothing to remember", 'mem add "what you learned", or - to read it from stdin'
        )
    for part in _parts(request):
        for secret in find_secrets(part):
            raise RefusedError(
                f"the text holds a secret ({secret.kind}); nothing is written",
                "take it out and add again",
            )
    return request


def _cleaned(request: AddRequest) -> AddRequest:
    """The request without control characters and private parts; all but the text in one line each."""

    def line(text: str) -> str:
        return " ".join(strip_private(strip_controls(text)).split())

    def lines(items: Sequence[str]) -> tuple[str, ...]:
        return tuple(filter(None, map(line, items)))

    return request._replace(
        text=strip_private(strip_controls(request.text)).strip(),
        title=line(request.title),
        outcome=line(request.outcome),
        tags=lines(request.tags),
        paths=lines(request.paths),
        commands=lines(request.commands),
        steps=lines(request.steps),
    )


def _parts(request: AddRequest) -> tuple[str, ...]:
    """Everything of a request that would be written."""
    lists = (*request.tags, *request.paths, *request.commands, *request.steps)
    return (request.text, request.title, request.outcome, *lists)


def _plan(app: App, request: AddRequest) -> AddReport:
    title, body = _words(request, app.project.now.isoformat())
    same = _same(app, request, body)
    known = _reinforce(app, same) if same is not None else None
    if known is not None:
        return known
    name, path = _target(app, request)
    memory = _read(app, path, name)
    values = _values(app, request)
    text = render_entry(values, body, _eol(memory))
    after = edited(memory, [EntryChange(text=text)])
    before = memory.text if os.path.lexists(path) else None
    return AddReport(values["id"], name, title, False, (Patch(path, before, after.text),))


def _words(request: AddRequest, today: str) -> tuple[str, str]:
    """Title and body: the first line is the title unless one is given."""
    title, text = request.title, request.text
    if not title:
        title, text = _title(text)
    steps = "\n".join(f"{i}. {step}" for i, step in enumerate(request.steps, 1))
    parts = [f"## [{today}] {title}", text.strip("\n"), steps]
    return title, "\n".join(part for part in parts if part.strip())


def _title(text: str) -> tuple[str, str]:
    """The first line as the title, and the rest; all of the text when its first line cannot be one."""
    first, _, rest = text.partition("\n")
    title = first.strip().lstrip("# ").strip()
    if _MARKUP.match(first) or not title:
        named = (line.strip("#>*- \t") for line in text.split("\n") if not _MARKUP.match(line))
        title, rest = next(filter(None, named), title or "Note"), text
    if len(title) > TITLE_LENGTH:
        cut = title.rfind(" ", 0, TITLE_LENGTH)
        title, rest = title[: cut if cut > 0 else TITLE_LENGTH].rstrip(",;:") + " …", text
    return title, rest


def _values(app: App, request: AddRequest) -> dict[str, Any]:
    today = app.project.now.isoformat()
    values: dict[str, Any] = {
        "id": str(uuid.uuid4()),
        "type": request.type or TYPE_OF_KIND.get(request.kind, "declarative"),
        "domain": "task",
        "importance": 0.5 if request.importance is None else float(request.importance),
        "phase": current_stage(
            app.project,
            request.job or (app.project.view.job if request.level in ("job", "task") else ""),
        ),
        "status": "active",
        "reinforcement_count": 0,
        "last_reinforced": today,
        "created_at": today,
        "kind": request.kind or None,
        "priority": request.priority or None,
        "tags": list(request.tags) or None,
        "paths": list(request.paths) or None,
        "commands": list(request.commands) or None,
        "outcome": request.outcome or None,
    }
    return {key: value for key, value in values.items() if value is not None}


# --- where it goes


def _target(app: App, request: AddRequest) -> tuple[str, str]:
    """Name and path of the `MEMORY.md` of the level asked for."""
    if request.level == "global":
        return "~/MEMORY.md", str(app.project.home / "MEMORY.md")
    project = app.project
    root = need_root(project, ", or use --level global")
    if request.level == "project":
        return "MEMORY.md", str(root / "MEMORY.md")
    job, task = request.job or project.view.job, request.task or project.view.task
    if not job:
        raise UsageError(
            f"--level {request.level} needs a job", "name it with --job, or run inside its folder"
        )
    folder = job_folder(project, job)
    if request.level == "task":
        if not task:
            raise UsageError(
                "--level task needs a task", "name it with --task, or run inside its folder"
            )
        folder = task_folder(project, folder, task)
    return f"{folder}/MEMORY.md", str(root / folder / "MEMORY.md")


def _read(app: App, path: str, name: str) -> MemoryFile:
    try:
        text = text_to_write(app.project, path) or ""
        for line in conflict_lines(text):
            raise Unreadable("has conflict markers: resolve them", line)
        return parse(text, name)
    except Unreadable as error:
        raise DataError(
            f"{name}:{error.line}: {error}; nothing is written", "mend the file first"
        ) from None


def _eol(memory: MemoryFile) -> str:
    from memcli.memory.grammar import eol_of

    return eol_of(memory.text)


# --- what is known already


def _same(app: App, request: AddRequest, body: str) -> Candidate | None:
    """The live entry that says the same, when one stands where readers of the new one would see it."""
    if not app.project.listing.files:
        return None
    app.refresh()
    return app.guarded(lambda: _nearest(app, request, body))


def _nearest(app: App, request: AddRequest, body: str) -> Candidate | None:
    from memcli.index import terms as query

    mine = claim(body)
    own = {file.name for file in app.project.listing.files if app.project.may_write(file)}
    rows = view.visible(app.index.files().values(), app.project.view, view.Filters())
    near = [row for row in rows if row.path in own and _around(row.place, app, request)]
    where = view.select(near, view.Filters())
    terms = query.build(body, app.index.words.counts).terms
    found = app.index.words.best(terms, None, app.index.words.denied(where.files.keys()), pool=50)
    ranked = sorted(
        app.index.entries.candidates(found), key=lambda c: (-found[c.rowid], c.source, c.offset)
    )
    alike = (c for c in ranked if c.part == 0 and c.values.get("written"))
    return next((c for c in alike if near_duplicate(mine, claim(app.index.entries.text(c)))), None)


def _around(place: Place, app: App, request: AddRequest) -> bool:
    """Whether a file is at the level written to or around it: the project, and the same job and
    task.
    """
    job, task = request.job or app.project.view.job, request.task or app.project.view.task
    if OUTERMOST[place.level] > OUTERMOST[request.level]:
        return False
    return place.job in ("", job) and place.task in ("", task)


def _reinforce(app: App, same: Candidate) -> AddReport | None:
    """One count more for an entry; None when it is not there any more (the index was busy)."""
    row = next((row for row in app.index.files().values() if row.id == same.source), None)
    file = app.project.found(row.path) if row else None
    if file is None:
        return None
    memory = _read(app, file.path, file.name)
    at = next((i for i, e in enumerate(memory.entries) if clean(e.id) == same.entry), None)
    if at is None:
        return None
    entry = memory.entries[at]
    values = {
        "reinforcement_count": entry.reinforcement_count + 1,
        "last_reinforced": app.project.now.isoformat(),
    }
    after = edited(memory, [EntryChange(at, values)])
    return AddReport(
        entry.id, file.name, entry.title, True, (Patch(file.path, memory.text, after.text),)
    )


def parse_lists(items: Sequence[str]) -> tuple[str, ...]:
    """`--tag a --tag b,c` as (a, b, c)."""
    return tuple(part.strip() for item in items for part in item.split(",") if part.strip())
