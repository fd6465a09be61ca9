"""mem import: take over what other memories know."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from memcli.app import App
from memcli.errors import DataError, UsageError
from memcli.exchange import importers
from memcli.exchange.importers import claude_mem
from memcli.exchange.importers.draft import Draft, headline, shortened
from memcli.memory.editor import EntryChange, edited, render_entry
from memcli.memory.entry_values import TYPE_OF_KIND
from memcli.memory.grammar import eol_of
from memcli.memory.levels import LEVEL_WORDS, OUTERMOST, Place
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.prose import sections
from memcli.memory.values import LEVELS, Patch, Problem
from memcli.project.context import text_to_write
from memcli.similarity.claims import Claim, claim
from memcli.similarity.differences import guard
from memcli.similarity.duplicates import similar_pairs
from memcli.storage.files import Unreadable
from memcli.text.controls import strip_controls, strip_private
from memcli.text.injections import find_injections
from memcli.text.secrets import find_secrets

NEIGHBOURS = 16
"""So many entries with nearly the same words are asked whether one says the same; the rest is a
template.
"""
UNCONDITIONAL = ("policy", "architecture")
"""Kinds whose own priority would show them in every recall."""


class ImportRequest(NamedTuple):
    """What to import. `form` "" is found out; `project` picks from a database that holds several."""

    paths: tuple[str, ...]
    form: str = ""
    level: str = "project"
    project: str = ""


class ImportReport(NamedTuple):
    """What became of every draft.

    `added` are (id, path, title); `known` and `similar` (title, id of the entry that is there
    already); `refused` names the sources with secrets, `injected` those with commands to an agent,
    `private` the ones about one person. `elsewhere` counts those of other projects.
    """

    added: tuple[tuple[str, str, str], ...]
    known: tuple[tuple[str, str], ...]
    similar: tuple[tuple[str, str], ...]
    refused: tuple[str, ...]
    injected: tuple[str, ...]
    private: tuple[str, ...]
    elsewhere: int
    skipped: tuple[Problem, ...]
    patches: tuple[Patch, ...]

    @property
    def incomplete(self) -> bool:
        """Whether something was left out that its owner might miss."""
        return bool(self.refused or self.injected or self.skipped)


def run(app: App, request: ImportRequest, *, dry_run: bool = False) -> ImportReport:
    """Append what is not known yet to the level's MEMORY.md; the sources are only read.

    Whoever runs it twice adds nothing the second time: ids follow from the sources, and an id that
    stands in a memory file, in an archive or in `merged_from` is not written again.
    """
    level = LEVEL_WORDS.get(request.level, request.level)
    if level not in LEVELS:
        raise UsageError(f"--level {request.level}: unknown level", f"one of {', '.join(LEVELS)}")
    if request.form not in ("", *importers.FORMS):
        raise UsageError(
            f"--from {request.form}: unknown format", f"one of {', '.join(importers.FORMS)}"
        )
    target = _target(app, level)
    sources = [_read(app, path, request.form) for path in request.paths]
    drafts, elsewhere = _chosen(app, request, sources)
    problems = [problem for source in sources for problem in source.problems]

    def plan() -> ImportReport:
        return _plan(app, level, target, drafts)._replace(
            elsewhere=elsewhere, skipped=tuple(problems)
        )

    return app.write(plan, "import", dry_run=dry_run)


def _target(app: App, level: str) -> tuple[str, str]:
    """Name and path of the MEMORY.md to write: of the job or task one is in, for those levels."""
    if level == "global":
        return "~/MEMORY.md", str(app.project.home / "MEMORY.md")
    if app.project.root is None:
        raise UsageError(
            "there is no project here", "run it inside a repository, or use --level global"
        )
    if level == "project":
        return "MEMORY.md", str(app.project.root / "MEMORY.md")
    inside, task = app.project.view.inside, app.project.view.task
    if not inside or bool(task) != (level == "task"):
        raise UsageError(f"--level {level} needs a {level}", "run it inside its folder")
    tree_folder = f"{inside}/worktree"
    folder = tree_folder if task and (app.project.root / tree_folder).is_dir() else inside
    return f"{folder}/MEMORY.md", str(app.project.root / folder / "MEMORY.md")


def _read(app: App, path: str, form: str) -> importers.Source:
    full = Path(os.path.abspath(app.project.cwd / os.path.expanduser(path)))
    if any(
        os.path.realpath(full) == os.path.realpath(file.path) for file in app.project.listing.files
    ):
        raise UsageError(f"{path}: is a memory file of mem already", "mem list shows what it holds")
    return importers.read(full, form, str(app.project.root or ""))


def _chosen(
    app: App, request: ImportRequest, sources: Sequence[importers.Source]
) -> tuple[list[Draft], int]:
    """The drafts of this project, and how many belong to others. Only a database knows of several."""
    name = request.project or (app.project.root.name if app.project.root is not None else "")
    chosen: list[Draft] = []
    elsewhere = 0
    for source in sources:
        ours = [
            draft
            for draft in source.drafts
            if source.form != claude_mem.FORM or not name or claude_mem.of_project(draft, name)
        ]
        chosen += ours
        elsewhere += len(source.drafts) - len(ours)
    return chosen, elsewhere


# --- what is there already


class _Known(NamedTuple):
    """The entry that each id ever written leads to; bodies and ids of the live entries readers see
    too.
    """

    ids: dict[str, str]
    live: list[tuple[str, str]]


def _known(app: App, level: str) -> _Known:
    known = _Known({}, [])
    for file in app.project.listing.files:
        try:
            memory = app.project.read(file)
        except Unreadable:
            continue
        for entry in memory.entries:
            known.ids[entry.id] = entry.id
            known.ids.update(dict.fromkeys(_absorbed(entry.extra), entry.id))
        if file.place.store in ("memory", "institutional") and _around(app, file.place, level):
            entries = (*memory.entries, *sections(memory))
            known.live.extend(
                (entry.body, entry.id) for entry in entries if entry.status != "retired"
            )
    return known


def _absorbed(extra: Any) -> Sequence[str]:
    merged = extra.get("merged_from", ())
    return merged if isinstance(merged, list) else ()


def _around(app: App, place: Place, level: str) -> bool:
    """Whether a file is at the level written to or around it."""
    if OUTERMOST[place.level] > OUTERMOST[level]:
        return False
    return place.job in ("", app.project.view.job) and place.task in ("", app.project.view.task)


# --- judging


class _Judged(NamedTuple):
    """Drafts on their way, each in the list of what becomes of it."""

    fresh: list[Draft]
    known: list[tuple[str, str]]
    refused: list[str]
    injected: list[str]
    private: list[str]


def _judge(drafts: Iterable[Draft], level: str, ids: dict[str, str]) -> _Judged:
    judged = _Judged([], [], [], [], [])
    seen = dict(ids)
    for draft in map(_cleaned, drafts):
        parts = (draft.title, draft.text, *draft.tags, *draft.paths)
        if not draft.title and not draft.text:
            continue
        if draft.private and level != "global":
            judged.private.append(draft.source)
        elif any(find_secrets(part) for part in parts):
            judged.refused.append(draft.source)
        elif any(find_injections(part) for part in parts):
            judged.injected.append(draft.source)
        elif draft.id in seen:
            judged.known.append((draft.title, seen[draft.id]))
        else:
            judged.fresh.append(draft)
            seen[draft.id] = draft.id
    return judged


def _cleaned(draft: Draft) -> Draft:
    """The draft without control characters and private parts."""

    def clean(text: str) -> str:
        text = re.sub("[\ud800-\udfff]", "\ufffd", text)
        return strip_private(strip_controls(text))

    def lines(items: Sequence[str]) -> tuple[str, ...]:
        return tuple(filter(None, (" ".join(clean(item).split()) for item in items)))

    title, text = shortened(clean(draft.title)), clean(draft.text).strip("\r\n")
    return draft._replace(
        source=" ".join(clean(draft.source).split()),
        title=title or (headline(text)[0] if text else ""),
        text=text,
        session=" ".join(clean(draft.session).split()),
        tags=lines(draft.tags),
        paths=lines(draft.paths),
    )


def _unlike(
    fresh: Sequence[Draft], live: Sequence[tuple[str, str]], today: str
) -> tuple[list[Draft], list[tuple[str, str]]]:
    """The drafts that say something new, and (title, id of what says the same) of the others."""
    if not fresh:
        return [], []
    mine = [claim(_body(draft, today)) for draft in fresh]
    said: dict[Claim, str] = {}
    for body, name in live:
        said.setdefault(claim(body), name)
    near = _near((*said, *mine))
    kept: list[Draft] = []
    same: list[tuple[str, str]] = []
    for draft, one in zip(fresh, mine, strict=True):
        alike = islice(
            (other for other in (one, *near(one)) if other.words and other in said), NEIGHBOURS
        )
        like = next((other for other in alike if guard(one, other) is None), None)
        if like is None:
            kept.append(draft)
            said[one] = draft.id
        else:
            same.append((draft.title, said[like]))
    return kept, same


def _near(claims: Iterable[Claim]) -> Callable[[Claim], list[Claim]]:
    """What shares most words with a claim, most of all first.

    Those with other numbers, paths, flags or names say other things and are not looked at.
    """
    shelves: dict[tuple[frozenset[str], ...], list[Claim]] = {}
    for one in dict.fromkeys(claims):
        shelves.setdefault((one.numbers, one.paths, one.flags, one.names), []).append(one)
    near: dict[Claim, list[tuple[float, Claim]]] = {}
    for shelf in shelves.values():
        for i, j, score in similar_pairs(shelf, 0.8):
            near.setdefault(shelf[i], []).append((score, shelf[j]))
            near.setdefault(shelf[j], []).append((score, shelf[i]))
    return lambda one: [other for _, other in sorted(near.get(one, ()), key=lambda pair: -pair[0])]


# --- writing


def _plan(app: App, level: str, target: tuple[str, str], drafts: Sequence[Draft]) -> ImportReport:
    name, path = target
    known = _known(app, level)
    judged = _judge(drafts, level, known.ids)
    kept, same = _unlike(judged.fresh, known.live, app.project.now.isoformat())
    memory = _file(app, path, name)
    eol, written = eol_of(memory.text), {*known.ids, *(draft.id for draft in kept)}
    ids = {draft.key: draft.id for draft in drafts if draft.id in written}
    texts = [_entry(draft, ids, app.project.now.isoformat(), eol) for draft in kept]
    after = edited(memory, [EntryChange(text=text) for text in texts])
    before = memory.text if os.path.lexists(path) else None
    return ImportReport(
        added=tuple((draft.id, name, draft.title) for draft in kept),
        known=tuple(judged.known),
        similar=tuple(same),
        refused=tuple(judged.refused),
        injected=tuple(judged.injected),
        private=tuple(judged.private),
        elsewhere=0,
        skipped=(),
        patches=(Patch(path, before, after.text),) if kept else (),
    )


def _file(app: App, path: str, name: str) -> MemoryFile:
    from memcli.memory.conflicts import conflict_lines

    try:
        text = text_to_write(app.project, path) or ""
        for line in conflict_lines(text):
            raise Unreadable("has conflict markers: resolve them", line)
    except Unreadable as error:
        raise DataError(
            f"{name}:{error.line}: {error}; nothing is written", "mend the file first"
        ) from None
    return parse(text, name)


def _entry(draft: Draft, ids: dict[str, str], today: str, eol: str) -> str:
    return render_entry(dict(_values(draft, ids, today)), _body(draft, today), eol)


def _body(draft: Draft, today: str) -> str:
    heading = f"## [{draft.created or today}] {draft.title}"
    return f"{heading}\n{draft.text}" if draft.text.strip() else heading


def _values(draft: Draft, ids: dict[str, str], today: str) -> Iterator[tuple[str, Any]]:
    """Front matter. What comes from elsewhere is never shown unconditionally: its priority is
    medium.
    """
    day = draft.created or today
    values = {
        "id": draft.id,
        "type": TYPE_OF_KIND.get(draft.kind, "declarative"),
        "domain": "team" if draft.kind in ("policy", "preference") else "task",
        "importance": 0.5 if draft.importance is None else draft.importance,
        "phase": "unknown",
        "status": "active",
        "reinforcement_count": 0,
        "last_reinforced": day,
        "created_at": day,
        "kind": draft.kind,
        "priority": "medium" if draft.kind in UNCONDITIONAL else None,
        "tags": list(draft.tags),
        "paths": list(draft.paths),
        "session_id": draft.session,
        "source": draft.source,
        "supports": [ids[key] for key in draft.supports if key in ids],
        "contradicts": [ids[key] for key in draft.contradicts if key in ids],
    }
    return ((key, value) for key, value in values.items() if value not in ("", None, []))
