"""mem retire-stage: when a stage ends, what was true only for it leaves recall."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.compaction.plan import StageEnd
from memcli.errors import DataError, MemError, UsageError
from memcli.extraction import stage
from memcli.memory.conflicts import conflict_lines
from memcli.memory.editor import EntryChange, edited
from memcli.memory.values import PHASES, Patch, Problem
from memcli.project.context import job_folder, need_root, text_to_write
from memcli.project.levels_on_disk import FoundFile
from memcli.storage.files import SMALL_BYTES, Unreadable
from memcli.text.controls import strip_private
from memcli.text.secrets import redact_secrets


class RetireStageRequest(NamedTuple):
    """`stage` "" detects it from INTENT.md; `job` "" is the job one is in, else the root."""

    stage: str = ""
    job: str = ""
    detect_only: bool = False


class RetireStageReport(NamedTuple):
    """`current` and `by` tell what was detected ("" when a stage was named); `ended` is the one
    retired.
    """

    current: str
    by: str
    before: str
    ended: str
    retired: tuple[tuple[str, str, str], ...]
    skipped: tuple[Problem, ...]
    notes: tuple[str, ...]
    patches: tuple[Patch, ...]


def run(app: App, request: RetireStageRequest, *, dry_run: bool = False) -> RetireStageReport:
    """Retire the task entries of a stage: the one named, or the one that INTENT.md has left behind."""
    if request.stage and request.stage not in PHASES:
        raise UsageError(f"{request.stage}: unknown stage", "one of " + ", ".join(PHASES))
    folder = _folder(app, request.job or app.project.view.job)
    if request.stage:
        return app.write(
            lambda: _named(app, request, folder), f"retire-stage {request.stage}", dry_run=dry_run
        )
    found, by, notes = _detect(app, folder)  # may ask a model: before the lock is taken
    return app.write(
        lambda: _detected(app, request, folder, found, by, notes),
        "retire-stage",
        dry_run=dry_run or request.detect_only,
    )


def _folder(app: App, job: str) -> Path:
    root = need_root(app.project)
    return root / job_folder(app.project, job) if job else root


def _read(app: App, path: Path) -> str:
    try:
        return text_to_write(app.project, path, most=SMALL_BYTES) or ""
    except Unreadable as error:
        raise DataError(
            f"{path.name}:{error.line}: {error}; nothing is written", "mend the file"
        ) from None


def _detect(app: App, folder: Path) -> tuple[str, str, tuple[str, ...]]:
    """The stage of INTENT.md, what told it, and notes: front matter, then rules, then a model."""
    text = _read(app, folder / "INTENT.md")
    if not text.strip():
        where = os.path.relpath(folder / "INTENT.md", app.project.root)
        raise UsageError(
            f"there is no {where} to tell the stage from", "name the stage: mem retire-stage design"
        )
    for by, found in (
        ("front matter", stage.from_front_matter(text)),
        ("rules", stage.from_rules(text)),
    ):
        if found:
            return found, by, ()
    model = app.providers.model
    if model is None:
        return "unknown", "rules", ()
    try:
        safe = redact_secrets(strip_private(text[: stage.INTENT_LENGTH]))
        return stage.from_reply(model.ask(stage.ask(safe)).text), "model", ()
    except MemError as error:
        return "unknown", "model", (f"the model could not be asked: {error.what}",)


def stage_ends(app: App) -> tuple[StageEnd, ...]:
    """What INTENT.md says has ended, at the root and in the jobs in view; no model is asked."""
    project = app.project
    if project.root is None:
        return ()
    own = {file.place.job for file in project.listing.files if project.may_write(file)} | {""}
    jobs = [project.view.job] if project.view.inside else sorted(own)
    ends = []
    for job in jobs:
        folder = _folder(app, job)
        text = _read(app, folder / "INTENT.md")
        found = stage.from_front_matter(text) or stage.from_rules(text)
        path = folder / ".current-stage"
        known = _read(app, path)
        before = known.strip() if known.strip() in stage.STAGES else ""
        if found and found not in ("unknown", before):
            patch = Patch(str(path), known if os.path.lexists(path) else None, f"{found}\n")
            ends.append(StageEnd(job, before, found, patch))
    return tuple(ends)


def _named(app: App, request: RetireStageRequest, folder: Path) -> RetireStageReport:
    retired, skipped, patches = _retire(app, folder, request.stage)
    return RetireStageReport("", "", "", request.stage, retired, skipped, (), patches)


def _detected(
    app: App, request: RetireStageRequest, folder: Path, found: str, by: str, notes: tuple[str, ...]
) -> RetireStageReport:
    path = folder / ".current-stage"
    known = _read(app, path)
    before = known.strip() if known.strip() in PHASES else ""
    if found == "unknown" or found == before or request.detect_only:
        return RetireStageReport(found, by, before, "", (), (), notes, ())
    ended = before if before not in ("", "unknown") else ""
    retired, skipped, patches = _retire(app, folder, ended) if ended else ((), (), ())
    text = known if os.path.lexists(path) else None
    return RetireStageReport(
        found,
        by,
        before,
        ended,
        retired,
        skipped,
        notes,
        (*patches, Patch(str(path), text, f"{found}\n")),
    )


def _retire(
    app: App, folder: Path, ended: str
) -> tuple[tuple[tuple[str, str, str], ...], tuple[Problem, ...], tuple[Patch, ...]]:
    """Retire live task entries of a phase: the project's at the root, a job's and its tasks' in a
    job.
    """
    if ended == "unknown":
        return (), (), ()
    retired: list[tuple[str, str, str]] = []
    skipped: list[Problem] = []
    patches: list[Patch] = []
    for file in _files(app, folder):
        try:
            memory = app.project.read(file)
        except Unreadable as error:
            skipped.append(Problem(file.name, error.line, str(error), "unreadable"))
            continue
        if lines := conflict_lines(memory.text):
            skipped.append(Problem(file.name, lines[0], "has conflict markers", "unreadable"))
            continue
        changes = []
        for at, entry in enumerate(memory.entries):
            if entry.status == "retired" or entry.domain != "task" or entry.phase != ended:
                continue
            if entry.touched:
                why = f"{entry.id[:8]} was edited by hand: left in place (mem retire takes it)"
                skipped.append(Problem(file.name, entry.line, why))
            else:
                changes.append(
                    EntryChange(at, {"status": "retired", "retired_because": f"stage {ended}"})
                )
                retired.append((entry.id, file.name, entry.title))
        if changes:
            patches.append(Patch(file.path, memory.text, edited(memory, changes).text))
    return tuple(retired), tuple(skipped), tuple(patches)


def _files(app: App, folder: Path) -> list[FoundFile]:
    job = folder.name if folder != app.project.root else ""
    levels = ("job", "task") if job else ("project",)
    return [
        file
        for file in app.project.listing.files
        if file.place.level in levels
        and file.place.job == job
        and file.place.store in ("memory", "institutional")
        and app.project.may_write(file)
    ]
