"""mem compact, retire-stage and told: what is due, what a stage takes along, what hooks
told."""

import os
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.compaction.compact import CompactReport, compact, renamed_files
from memcli.compaction.plan import Compaction, CompactRequest, StageEnd, read_files
from memcli.compaction.questions import due
from memcli.compaction.steps import end_stage, has_stage
from memcli.errors import MemError, ProviderError, RefusedError, UsageError, one_of
from memcli.extraction import job_files
from memcli.memory.changes import Event
from memcli.memory.values import PHASES, Patch, Problem
from memcli.project import context
from memcli.project.context import Project, text_to_write
from memcli.storage.files import SMALL_BYTES
from memcli.storage.state import SessionLog, Telling

__all__ = ["CompactReport", "CompactRequest", "compact_due", "run"]


def run(app: App, request: CompactRequest, *, dry_run: bool = False) -> CompactReport:
    """Compact the files asked for; with `--adopt`, FILE#HEADING names one section of
    prose."""
    pairs = [name.partition("#") for name in request.files if request.adopt]
    if units := tuple(heading.strip() for _, mark, heading in pairs if mark):
        request = request._replace(
            files=tuple(name for name, _, _ in pairs), units=units
        )
    return compact(app, request, dry_run=dry_run)


def compact_due(
    app: App, *, check: bool = False, dry_run: bool = False, uses: bool = False
) -> CompactReport:
    """Do all that is due in view, in one write. Raises RefusedError while git is at
    work."""
    if why := context.write_blocker(app.project):
        raise RefusedError(f"{why}: nothing is written", "run again when that is done")
    request = CompactRequest(
        stale=True, promote=True, check=check or dry_run, uses=uses,
        ended=stage_ends(app), renamed=renamed_files(app),
    )  # fmt: skip
    if app.project.config.llm != "none":
        files = read_files(app.project, request)
        request = request._replace(consolidate=bool(due(files.sources)))
    try:
        return _bounded(app, request, dry_run=dry_run)
    except (ProviderError, RefusedError) as error:
        if not request.consolidate:
            raise
        app.notes.append(f"episodes wait to be consolidated: {error.what}")
        return _bounded(app, request._replace(consolidate=False), dry_run=dry_run)


def _bounded(app: App, request: CompactRequest, *, dry_run: bool) -> CompactReport:
    """Never over the loss guard: what is stale stays when too much of a file would
    leave."""
    looked = compact(app, request._replace(check=True), dry_run=True)
    losses = [event for event in looked.found if event.what == "loss"]
    if request.check and not losses:
        return looked
    report = compact(app, request._replace(stale=not losses), dry_run=dry_run)
    hint = "mem compact --stale --allow-loss archives them"
    left = [
        Event(
            what="left", path=e.path, ids=e.ids, detail=f"{e.detail} are stale: {hint}"
        )
        for e in losses
    ]
    return report._replace(found=(*report.found, *left))


class StageReport(NamedTuple):
    """`current` and `by` tell what was detected, where none was named; `ended` was
    retired."""

    current: str = ""
    by: str = ""
    before: str = ""
    ended: str = ""
    retired: tuple[tuple[str, str, str], ...] = ()
    skipped: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    patches: tuple[Patch, ...] = ()


def retire_stage(
    app: App,
    stage: str,
    job: str = "",
    *,
    detect_only: bool = False,
    dry_run: bool = False,
) -> StageReport:
    """Retire the task entries of a stage, of "" the one that INTENT.md has left, in a
    job (without, the one that one is in, else the root)."""
    one_of("stage", stage, ("", *PHASES))
    job = job or app.project.view.job
    folder = context.folder_of(app.project, job)
    if stage:
        named = StageReport(ended=stage)
        verb = f"retire-stage {stage}"
        return app.write(
            lambda: _retired(app.project, job, named), verb, dry_run=dry_run
        )
    found = _detect(app, folder)  # may ask a model: before the lock is taken

    def plan() -> StageReport:
        before, patch = _current(app.project, folder, found.current)
        report = found._replace(before=before)
        if found.current in ("unknown", before) or detect_only:
            return report
        if before not in ("", "unknown"):
            report = _retired(app.project, job, report._replace(ended=before))
        return report._replace(patches=(*report.patches, patch))

    return app.write(plan, "retire-stage", dry_run=dry_run or detect_only)


def _by_text(project: Project, folder: Path) -> tuple[str, str, str]:
    """INTENT.md, the stage that it names ("" when it does not say), and what told
    it."""
    text = text_to_write(project, folder / "INTENT.md", most=SMALL_BYTES) or ""
    return text, *job_files.stage_of(text)


def _detect(app: App, folder: Path) -> StageReport:
    text, found, by = _by_text(app.project, folder)
    if not text.strip():
        where = os.path.relpath(folder / "INTENT.md", app.project.root)
        hint = "name the stage: mem retire-stage design"
        raise UsageError(f"there is no {where} to tell the stage from", hint)
    notes: tuple[str, ...] = ()
    model = None if found else app.providers.model
    if model is not None:
        by = "model"
        try:
            found = job_files.ask_stage(model, text)
        except MemError as error:
            notes = (f"the model could not be asked: {error.what}",)
    return StageReport(found or "unknown", by, notes=notes)


def stage_ends(app: App) -> tuple[StageEnd, ...]:
    """What INTENT.md says has ended, at the root and in the jobs in view; no model is
    asked."""
    project = app.project
    if project.root is None:
        return ()
    own = {
        file.place.job for file in project.listing.files if project.may_write(file)
    } | {""}
    ends = []
    for job in [project.view.job] if project.view.inside else sorted(own):
        folder = context.folder_of(project, job)
        _, found, _ = _by_text(project, folder)
        before, patch = _current(project, folder, found)
        before = before if before in job_files.STAGES else ""
        if found not in ("", "unknown", before):
            ends.append(StageEnd(job=job, ended=before, current=found, patch=patch))
    return tuple(ends)


def _current(project: Project, folder: Path, found: str) -> tuple[str, Patch]:
    path = folder / ".current-stage"
    text = text_to_write(project, path, most=SMALL_BYTES) or ""
    before = text if os.path.lexists(path) else None
    return text.strip() if text.strip() in PHASES else "", Patch(
        str(path), before, f"{found}\n"
    )


def _retired(project: Project, job: str, report: StageReport) -> StageReport:
    own = (
        f
        for f in project.listing.files
        if has_stage(f.place, job) and project.may_write(f)
    )
    wanted = own if report.ended != "unknown" else ()
    skipped = list[Problem]()
    sources = [*context.read_known(project, wanted, skipped, to_write=True)]
    work = Compaction(sources, {}, project.now)
    ended = end_stage(work, job, report.ended)
    for held in (held for held in ended if held.original.touched):
        why = f"{held.entry.id[:8]} was edited by hand: left in place (mem retire takes it)"
        skipped.append(Problem(held.source.path, held.entry.line, why))
    rows = (
        (h.entry.id, h.source.path, h.entry.title)
        for h in ended
        if not h.original.touched
    )
    patches = context.patches_of(project, work.changes)
    return report._replace(retired=tuple(rows), skipped=tuple(skipped), patches=patches)


class ToldReport(NamedTuple):
    """What was told, in order, and how many uses no memory file counts yet."""

    tellings: tuple[Telling, ...]
    waiting: int


def told(app: App, session: str = "") -> ToldReport:
    """What one session was told, named by a beginning of its id, or all sessions."""
    with app.state() as state:
        log = SessionLog(state)
        return ToldReport(tuple(log.told(session)), sum(map(len, log.uses().values())))
