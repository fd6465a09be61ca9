"""mem import: take over what other memories know."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memcli.app import App
from memcli.commands.add import (
    IMPORTANCE_OF_KIND,
    in_line,
    in_lines,
    is_around,
    read_target,
    target,
)
from memcli.errors import UsageError, one_of
from memcli.exchange import importers
from memcli.exchange.importers import ImportDraft
from memcli.exchange.rule_units import headline, shortened
from memcli.memory import changes, grammar, parser
from memcli.memory.tombstones import is_tombstone
from memcli.memory.values import (
    LEVEL_WORDS,
    LEVELS,
    Patch,
    Problem,
    domain_of,
    listed,
)
from memcli.project.context import Project, read_all
from memcli.similarity.claims import claim
from memcli.similarity.duplicates import clusters
from memcli.similarity.taken_back import TakenBackDoor
from memcli.text import controls, secrets
from memcli.text.injections import find_injections

UNCONDITIONAL = ("policy", "architecture")
"""Kinds whose own priority shows them in every recall."""


class ImportReport(NamedTuple):
    """What became of each draft: (id, path, title), (title, id of what is there), a
    source."""

    added: tuple[tuple[str, str, str], ...]
    known: tuple[tuple[str, str], ...]
    similar: tuple[tuple[str, str], ...]
    refused: tuple[str, ...]
    injected: tuple[str, ...]
    private: tuple[str, ...]
    skipped: tuple[Problem, ...]
    patches: tuple[Patch, ...]
    taken_back: tuple[str, ...] = ()
    """What was taken back before, each with when and why."""
    retired: tuple[tuple[str, str], ...] = ()
    """(title, id) of what was imported before and is retired: restore brings it
    back."""


class ImportRequest(NamedTuple):
    """What to take over: files and folders, their format ("" is found out), to which
    level; `again`: what was taken back before, too."""

    paths: tuple[str, ...]
    form: str = ""
    level: str = "project"
    again: bool = False


def run(app: App, request: ImportRequest) -> ImportReport:
    """Append what is not known yet. Ids are derived from the sources, so running it
    twice adds nothing."""
    level = LEVEL_WORDS.get(request.level, request.level)
    one_of("--level", level, LEVELS)
    one_of("format", request.form, ("", *importers.FORMS))
    target(app.project, level)  # raises where there is none
    sources, unknown = _sources_of(app.project, request)
    drafts = [draft for source in sources for draft in source.drafts]
    report = app.write(
        lambda: _plan(app, level, drafts, again=request.again),
        "import",
    )
    skipped = [problem for one in sources for problem in one.problems]
    return report._replace(skipped=(*unknown, *skipped, *report.skipped))


def _sources_of(
    project: Project, request: ImportRequest
) -> tuple[list[importers.ImportSource], list[Problem]]:
    """What the paths hold, and those that hold nothing known; raises UsageError where
    that is all of them."""
    sources = []
    unknown: list[Problem] = []
    for path in request.paths:
        try:
            sources.append(_read(project, path, request.form))
        except UsageError as error:
            if len(unknown) + 1 == len(request.paths):
                raise
            reason = error.what.rpartition(": ")[2]
            unknown.append(
                Problem(path=path, line=1, message=reason, severity="unreadable")
            )
    return sources, unknown


def _read(project: Project, path: str, form: str) -> importers.ImportSource:
    full = Path(os.path.abspath(project.cwd / os.path.expanduser(path)))
    if os.path.realpath(full) in {
        os.path.realpath(file.path) for file in project.listing.files
    }:
        raise UsageError(
            f"{path}: is already a memory file of mem", "mem list shows its entries"
        )
    root = project.root
    is_brought = root is not None and full.is_relative_to(root)
    return importers.read(full, form, root if is_brought else None)


class _Known(NamedTuple):
    """What memory holds: every id, with the id of the entry it was merged into,
    (body, id) of the live entries around the level written to, and the ids of those
    that were taken back."""

    ids: dict[str, str]
    live: list[tuple[str, str]]
    retired: set[str]


def _known(project: Project, level: str) -> _Known:
    ids: dict[str, str] = {}
    live = []
    retired = set()
    for file in read_all(project):
        memory = file.memory
        for entry in memory.entries:
            ids |= dict.fromkeys((entry.id, *listed(entry, "merged_from")), entry.id)
            if is_tombstone(entry, archived=file.place.store == "archive"):
                retired.add(entry.id)
        own = file.place.store in ("memory", "institutional")
        if own and is_around(project, file.place, level):
            entries = (*memory.entries, *parser.sections(memory))
            live += [
                (entry.body, entry.id) for entry in entries if entry.status != "retired"
            ]
    return _Known(ids, live, retired)


def _judged(
    drafts: Sequence[ImportDraft], level: str, known: Iterable[str]
) -> Mapping[str, list[ImportDraft]]:
    """The drafts that say something, cleaned, by what becomes of them."""
    judged = defaultdict[str, list[ImportDraft]](list)
    seen = set(known)
    for draft in map(_cleaned, drafts):
        if draft.title or draft.text:
            judged[_fate(draft, level, seen)].append(draft)
    return judged


def _fate(draft: ImportDraft, level: str, seen: set[str]) -> str:
    parts = (draft.title, draft.text, *draft.tags, *draft.paths)
    if draft.private and level != "global":
        return "private"
    if any(map(secrets.find_secrets, parts)):
        return "refused"
    if any(map(find_injections, parts)):
        return "injected"
    known = draft.id in seen
    seen.add(draft.id)
    return "known" if known else "fresh"


def _cleaned(draft: ImportDraft) -> ImportDraft:
    title = shortened(_clean(draft.title))
    text = _clean(draft.text).strip("\r\n")
    return draft._replace(
        title=title or (headline(text)[0] if text else ""),
        text=text,
        source=in_line(draft.source),
        session=in_line(draft.session),
        tags=in_lines(draft.tags),
        paths=in_lines(draft.paths),
    )


def _clean(text: str) -> str:
    """A text without half characters, control characters and private parts."""
    whole = re.sub("[\ud800-\udfff]", "\ufffd", text)
    return controls.strip_private(controls.strip_controls(whole))


def _unlike(
    fresh: Sequence[ImportDraft], live: Sequence[tuple[str, str]], today: str
) -> tuple[list[ImportDraft], list[tuple[str, str]]]:
    """The drafts that say something new, and (title, id of what says the same) of the
    others."""
    if not fresh:
        return [], []
    bodies_and_ids = [*live, *((_body(draft, today), draft.id) for draft in fresh)]
    same = _same([body for body, _ in bodies_and_ids])
    unlike = []
    similar = []
    for place, draft in enumerate(fresh, len(live)):
        if place in same:
            similar.append((draft.title, bodies_and_ids[same[place]][1]))
        else:
            unlike.append(draft)
    return unlike, similar


def _same(bodies: Sequence[str]) -> dict[int, int]:
    """For each body that repeats an earlier one, the place of that earlier one."""
    claims = list(enumerate(map(claim, bodies)))
    worded = [(place, one) for place, one in claims if one.words]
    same: dict[int, int] = {}
    for cluster in clusters([one for _, one in worded]):
        if not cluster.guarded:
            first, *others = (worded[member][0] for member in cluster.members)
            same |= dict.fromkeys(others, first)
    return same


def _plan(
    app: App, level: str, drafts: Sequence[ImportDraft], *, again: bool
) -> ImportReport:
    project = app.project
    today = project.now.isoformat()
    known_entries = _known(project, level)
    judged = _judged(drafts, level, known_entries.ids)
    unlike, similar = _unlike(judged["fresh"], known_entries.live, today)
    taken = app.taken_back() if unlike and not again else TakenBackDoor(())
    new_drafts = []
    refusals = []
    for draft in unlike:
        refusal = taken.of(_body(draft, today), id=draft.id)
        if refusal is None:
            new_drafts.append(draft)
        else:
            refusals.append(str(refusal))
    name, path = target(project, level)
    memory = read_target(project, path, name)
    return ImportReport(
        added=tuple((draft.id, name, draft.title) for draft in new_drafts),
        known=tuple(
            (draft.title, known_entries.ids.get(draft.id, draft.id))
            for draft in judged["known"]
        ),
        similar=tuple(similar),
        refused=_sources(judged["refused"]),
        injected=_sources(judged["injected"]),
        private=_sources(judged["private"]),
        skipped=tuple(map(_as_command, judged["injected"])),
        patches=(_patch(memory, path, new_drafts, level, today),) if new_drafts else (),
        taken_back=tuple(refusals),
        retired=tuple(
            (draft.title, draft.id)
            for draft in judged["known"]
            if draft.id in known_entries.retired
        ),
    )


def _as_command(draft: ImportDraft) -> Problem:
    words = draft.text or draft.title
    return Problem(
        path=draft.source.partition(":")[2],
        line=draft.line,
        message=f"reads like commands to an agent, not imported: {shortened(words)!r}",
        severity="unreadable",
    )


def _sources(drafts: Iterable[ImportDraft]) -> tuple[str, ...]:
    return tuple(draft.source for draft in drafts)


def _patch(
    memory: parser.MemoryFile,
    path: str,
    kept: Iterable[ImportDraft],
    level: str,
    today: str,
) -> Patch:
    """The file with the drafts at its end."""
    eol = grammar.eol_of(memory.text)
    added = [
        changes.EntryChange(
            text=changes.render_entry(
                _values(draft, level, today), _body(draft, today), eol
            )
        )
        for draft in kept
    ]
    before = memory.text if os.path.lexists(path) else None
    return Patch(path, before, changes.edited(memory, added).text)


def _body(draft: ImportDraft, today: str) -> str:
    return f"## [{draft.created or today}] {draft.title}\n{draft.text}".rstrip("\n")


def _values(draft: ImportDraft, level: str, today: str) -> dict[str, Any]:
    """Front matter. What a person wrote for agents ranks as what they add; what an
    agent kept, or holds for some files alone, is never shown unconditionally."""
    is_person = draft.source.startswith(importers.RULES)
    is_waiting = draft.kind in UNCONDITIONAL and (bool(draft.paths) or not is_person)
    return changes.new_values(
        draft.id,
        today,
        kind=draft.kind,
        importance=IMPORTANCE_OF_KIND.get(draft.kind, 0.5) if is_person else 0.5,
        created_at=draft.created or today,
        priority="medium" if is_waiting else "",
        domain=domain_of(level),
        tags=list(draft.tags),
        paths=list(draft.paths),
        session_id=draft.session,
        source=draft.source,
    )
