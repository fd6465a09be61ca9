"""mem retire-stage: what was true for a stage leaves with it."""

import os
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.compaction.plan import lost
from memcli.compaction.stages import leavers_of, read_intent, stage_patch
from memcli.errors import MemError, UsageError, one_of
from memcli.extraction import job_files
from memcli.memory.values import PHASES, Patch, Problem
from memcli.project import context


class StageReport(NamedTuple):
    """What was detected (`current`, `by`) where no stage was named, and what ended.

    `retired` holds (id, path, title) of each entry that the stage took along."""

    current: str = ""
    by: str = ""
    before: str = ""
    ended: str = ""
    retired: tuple[tuple[str, str, str], ...] = ()
    skipped: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    patches: tuple[Patch, ...] = ()


class StageRequest(NamedTuple):
    """The stage that ended ("": INTENT.md tells it), of a job or the one one is in."""

    stage: str = ""
    job: str = ""
    detect_only: bool = False
    allow_loss: bool = False


def retire_stage(app: App, request: StageRequest) -> StageReport:
    """Retire the task entries of a stage that ended. Raises RefusedError before a
    loss."""
    one_of("stage", request.stage, ("", *PHASES))
    request = request._replace(job=request.job or app.project.view.job)
    folder = context.folder_of(app.project, request.job)
    if request.stage:
        return app.write(
            lambda: _ended(app, request, StageReport(), request.stage),
            f"retire-stage {request.stage}",
        )
    detected = _detect(app, folder)  # may ask a model: before the lock is taken

    def plan() -> StageReport:
        before, patch = stage_patch(app.project, folder, detected.current)
        report = detected._replace(before=before)
        if request.detect_only or report.current in ("unknown", before):
            return report
        if before not in ("", "unknown"):
            report = _ended(app, request, report, before)
        return report._replace(patches=(*report.patches, patch))

    return plan() if request.detect_only else app.write(plan, "retire-stage")


def _detect(app: App, folder: Path) -> StageReport:
    intent = read_intent(app.project, folder)
    if not (intent.text.strip() or intent.problems):
        where = os.path.relpath(folder / "INTENT.md", app.project.root)
        hint = "give the stage: mem retire-stage design"
        raise UsageError(f"there is no {where} to read the stage from", hint)
    report = StageReport(
        current=intent.stage or "unknown", by=intent.by, skipped=intent.problems
    )
    model = None if intent.stage or intent.problems else app.providers.model
    if model is None:
        return report
    try:
        return report._replace(
            current=job_files.ask_stage(model, intent.text), by="model"
        )
    except MemError as error:
        note = f"the model could not be asked: {error.what}"
        return report._replace(by="model", notes=(note,))


def _ended(
    app: App, request: StageRequest, report: StageReport, stage: str
) -> StageReport:
    report = report._replace(ended=stage)
    if stage == "unknown":
        return report
    leaving = leavers_of(app.project, request.job, stage)
    for loss in () if request.allow_loss else leaving.losses:
        if not app.dry_run:
            raise lost(loss)
        app.notes.append(
            f"{loss.detail} would leave {loss.path}: it needs --allow-loss"
        )
    return report._replace(
        retired=leaving.retired,
        skipped=(*report.skipped, *leaving.skipped),
        patches=leaving.patches,
    )
