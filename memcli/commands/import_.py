"""mem import: take over what other memories know."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memcli.app import App
from memcli.commands.add import in_line, in_lines, is_around, read_target, target
from memcli.errors import UsageError, one_of
from memcli.exchange import importers
from memcli.exchange.importers import claude_mem
from memcli.exchange.importers.markdown import ImportDraft, headline, shortened
from memcli.memory import changes, entry_values, grammar, parser
from memcli.memory.values import LEVEL_WORDS, LEVELS, Patch, Problem
from memcli.project.context import Project
from memcli.similarity.claims import claim
from memcli.similarity.duplicates import clusters
from memcli.storage.files import Unreadable
from memcli.text import controls, injections, secrets

UNCONDITIONAL = ("policy", "architecture")
"""Kinds whose own priority would show them in every recall: imported ones get medium."""


class ImportRequest(NamedTuple):
    """What to import. `form` "" is found out; `project` picks from a database of several."""

    paths: tuple[str, ...]
    form: str = ""
    level: str = "project"
    project: str = ""


class ImportReport(NamedTuple):
    """What became of each draft: (id, path, title), (title, id of what is there), a source."""

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
    """Append what is not known yet; ids follow from the sources, so that twice is once."""
    level = LEVEL_WORDS.get(request.level, request.level)
    one_of("--level", level, LEVELS)
    if request.form not in ("", *importers.FORMS):
        hint = f"one of {', '.join(importers.FORMS)}"
        raise UsageError(f"--from {request.form}: unknown format", hint)
    target(app.project, level)  # raises where there is none
    sources = [_read(app.project, each, request.form) for each in request.paths]
    drafts = [(source.form, draft) for source in sources for draft in source.drafts]
    project = request.project or (app.project.root.name if app.project.root is not None else "")
    ours = [  # only a database knows of several projects
        draft
        for form, draft in drafts
        if form != claude_mem.FORM or not project or claude_mem.of_project(draft, project)
    ]
    report = app.write(lambda: _plan(app.project, level, ours), "import", dry_run=dry_run)
    problems = tuple(problem for source in sources for problem in source.problems)
    return report._replace(elsewhere=len(drafts) - len(ours), skipped=problems)


def _read(project: Project, path: str, form: str) -> importers.ImportSource:
    full = Path(os.path.abspath(project.cwd / os.path.expanduser(path)))
    if os.path.realpath(full) in {os.path.realpath(file.path) for file in project.listing.files}:
        raise UsageError(f"{path}: is a memory file of mem already", "mem list shows what it holds")
    return importers.read(full, form, str(project.root or ""))


# --- what is there already, and what is new


def _known(project: Project, level: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The entry that each id ever written leads to; bodies and ids of the live ones in view too."""
    ids: dict[str, str] = {}
    live: list[tuple[str, str]] = []
    for file in project.listing.files:
        try:
            memory = project.read(file)
        except Unreadable:
            continue
        for entry in memory.entries:
            merged = entry.extra.get("merged_from", ())
            names = (entry.id, *(merged if isinstance(merged, list) else ()))
            ids.update(dict.fromkeys(names, entry.id))
        own = file.place.store in ("memory", "institutional")
        if own and is_around(project, file.place, level):
            entries = (*memory.entries, *parser.sections(memory))
            live += [(entry.body, entry.id) for entry in entries if entry.status != "retired"]
    return ids, live


def _judged(
    drafts: Iterable[ImportDraft], level: str, ids: Iterable[str]
) -> dict[str, list[ImportDraft]]:
    """The drafts by what becomes of them: private, refused, injected, known or fresh."""
    judged: dict[str, list[ImportDraft]] = {
        fate: [] for fate in ("private", "refused", "injected", "known", "fresh")
    }
    seen = set(ids)
    for draft in map(_cleaned, drafts):
        parts = (draft.title, draft.text, *draft.tags, *draft.paths)
        if not draft.title and not draft.text:
            continue
        if draft.private and level != "global":
            fate = "private"
        elif any(map(secrets.find_secrets, parts)):
            fate = "refused"
        elif any(map(injections.find_injections, parts)):
            fate = "injected"
        else:
            fate = "known" if draft.id in seen else "fresh"
            seen.add(draft.id)
        judged[fate].append(draft)
    return judged


def _cleaned(draft: ImportDraft) -> ImportDraft:
    """The draft without control characters, private parts and halves of characters."""
    title, text = (
        controls.strip_private(controls.strip_controls(re.sub("[\ud800-\udfff]", "\ufffd", each)))
        for each in (draft.title, draft.text)
    )
    title, text = shortened(title), text.strip("\r\n")
    return draft._replace(
        title=title or (headline(text)[0] if text else ""), text=text,
        source=in_line(draft.source), session=in_line(draft.session),
        tags=in_lines(draft.tags), paths=in_lines(draft.paths),
    )  # fmt: skip


def _unlike(
    fresh: Sequence[ImportDraft], live: Sequence[tuple[str, str]], today: str
) -> tuple[list[ImportDraft], list[tuple[str, str]]]:
    """The drafts that say something new, and (title, id of what says the same) of the others."""
    ids = [*(name for _, name in live), *(draft.id for draft in fresh)]
    bodies = [*(body for body, _ in live), *(_body(draft, today) for draft in fresh)]
    said = [(at, one) for at, one in enumerate(map(claim, bodies if fresh else ())) if one.words]
    same: dict[int, int] = {}
    for cluster in clusters([one for _, one in said]):
        first, *others = (said[member][0] for member in cluster.members)
        same.update({} if cluster.guarded else dict.fromkeys(others, first))
    mine = list(enumerate(fresh, len(live)))
    kept = [draft for at, draft in mine if at not in same]
    return kept, [(draft.title, ids[same[at]]) for at, draft in mine if at in same]


# --- writing


def _plan(project: Project, level: str, drafts: Sequence[ImportDraft]) -> ImportReport:
    today = project.now.isoformat()
    known, live = _known(project, level)
    judged = _judged(drafts, level, known)
    kept, same = _unlike(judged["fresh"], live, today)
    name, path = target(project, level)
    memory = read_target(project, path, name)
    eol = grammar.eol_of(memory.text)
    texts = [changes.render_entry(_values(one, today), _body(one, today), eol) for one in kept]
    after = changes.edited(memory, [changes.EntryChange(text=text) for text in texts])
    before = memory.text if os.path.lexists(path) else None
    refused, injected, private = (
        tuple(draft.source for draft in judged[fate]) for fate in ("refused", "injected", "private")
    )
    return ImportReport(
        tuple((draft.id, name, draft.title) for draft in kept),
        tuple((draft.title, known.get(draft.id, draft.id)) for draft in judged["known"]),
        tuple(same), refused, injected, private, elsewhere=0, skipped=(),
        patches=(Patch(path, before, after.text),) if kept else (),
    )  # fmt: skip


def _body(draft: ImportDraft, today: str) -> str:
    heading = f"## [{draft.created or today}] {draft.title}"
    return f"{heading}\n{draft.text}" if draft.text.strip() else heading


def _values(draft: ImportDraft, today: str) -> dict[str, Any]:
    """Front matter. What comes from elsewhere is never shown unconditionally."""
    values = {
        "id": draft.id,
        "type": entry_values.TYPE_OF_KIND.get(draft.kind, "declarative"),
        "domain": "team" if draft.kind in ("policy", "preference") else "task",
        "importance": 0.5 if draft.importance is None else draft.importance,
        "phase": "unknown",
        "status": "active",
        "reinforcement_count": 0,
        **dict.fromkeys(("last_reinforced", "created_at"), draft.created or today),
        "kind": draft.kind,
        "priority": "medium" if draft.kind in UNCONDITIONAL else None,
        "tags": list(draft.tags),
        "paths": list(draft.paths),
        "session_id": draft.session,
        "source": draft.source,
    }
    return {key: value for key, value in values.items() if value not in ("", None, [])}
