"""End a stage: which entries leave with it, and the update of `.current-stage`. Only
entries that belong to one piece of work leave with its stage."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.compaction.plan import (
    Compaction,
    Member,
    StageEnd,
    lost,
    outcome_of,
)
from memcli.errors import DataError
from memcli.memory.changes import Event
from memcli.memory.values import PHASES, Entry, Patch, Place, Problem
from memcli.project import context, stages
from memcli.project.context import Project, text_to_write
from memcli.project.stages import STAGES
from memcli.storage.files import SMALL_BYTES, Unreadable

LASTING_LEVELS = ("global", "project")
PASSING_KINDS = ("", "episode")


def outlasts(entry: Entry, place: Place) -> bool:
    """Whether an entry never leaves with a stage, whatever its domain. Earlier versions
    wrote `domain: task` on every entry; those with a kind at the project level or above
    are permanent."""
    return place.level in LASTING_LEVELS and entry.kind not in PASSING_KINDS


def has_stage(place: Place, job: str) -> bool:
    """Whether the entries of a file belong to the stage of a job ("": the project)."""
    levels = ("job", "task") if job else ("project",)
    ranked = place.store in ("memory", "institutional")
    return ranked and place.job == job and place.level in levels


def end_stage(work: Compaction, job: str, stage: str) -> list[Member]:
    """Retire the live task entries of a stage, and return all entries of it. An entry
    that a person edited is reported and stays."""
    passing = [member for member in work.members if _passes(member, job, stage)]
    for member in passing:
        if not work.edited([member]):
            member.set(status="retired", retired_because=f"stage {stage}")
    return passing


def _passes(member: Member, job: str, stage: str) -> bool:
    entry = member.entry
    place = member.place
    of_stage = entry.domain == "task" and entry.phase == stage
    if not of_stage or outlasts(entry, place):
        return False
    return member.live and member.writable and has_stage(place, job)


class StageLeavers(NamedTuple):
    """The entries that leave with a stage, as (id, path, title), and the patches.
    `losses` names the files that lose too many live entries."""

    retired: tuple[tuple[str, str, str], ...] = ()
    skipped: tuple[Problem, ...] = ()
    losses: tuple[Event, ...] = ()
    patches: tuple[Patch, ...] = ()


def leavers_of(project: Project, job: str, stage: str) -> StageLeavers:
    """Plan which entries retire with a stage of a job."""
    files = [
        file
        for file in project.listing.files
        if has_stage(file.place, job) and project.may_write(file)
    ]
    skipped: list[Problem] = []
    sources = list(context.read_known(project, files, skipped, to_write=True))
    work = Compaction(sources, {}, project.now)
    retired = []
    for member in end_stage(work, job, stage):
        entry = member.entry
        if member.original.touched:
            reason = f"{entry.id[:8]} was edited by hand: left in place (mem retire takes it)"
            skipped.append(Problem(member.source.path, entry.line, reason))
        else:
            retired.append((entry.id, member.source.path, entry.title))
    return StageLeavers(
        retired=tuple(retired),
        skipped=tuple(skipped),
        losses=outcome_of(work.changes).losses,
        patches=context.patches_of(project, work.changes),
    )


class Intent(NamedTuple):
    """The content of an INTENT.md: its text, the stage ("" if it names none), and where
    it says so. An unusable file is a problem and names no stage."""

    text: str
    stage: str
    by: str
    problems: tuple[Problem, ...] = ()


def read_intent(project: Project, folder: Path) -> Intent:
    """Read the INTENT.md of a job's folder or the root; the text is empty if there is
    none."""
    path = folder / "INTENT.md"
    try:
        text = context.text_of(project, path, limit=SMALL_BYTES) or ""
        if "\0" in text:
            raise Unreadable("is no text", text[: text.index("\0")].count("\n") + 1)
    except Unreadable as error:
        problem = Problem(
            path=os.path.relpath(path, project.root or folder),
            line=error.line,
            message=f"{error}: the stage is unknown",
            severity="unreadable",
        )
        return Intent(text="", stage="", by="", problems=(problem,))
    stage, by = stages.stage_of(text)
    return Intent(text=text, stage=stage, by=by)


def stage_patch(project: Project, folder: Path, stage: str) -> tuple[str, Patch]:
    """The stage in `.current-stage` ("" if unknown), and the patch that writes a new
    one."""
    path = folder / ".current-stage"
    text = text_to_write(project, path, most=SMALL_BYTES)
    word = (text or "").strip()
    before = word if word in PHASES else ""
    return before, Patch(path=str(path), before=text, after=f"{stage}\n")


def stage_ends(app: App) -> tuple[StageEnd, ...]:
    """The stages that ended according to INTENT.md, at the root and in the jobs in
    view. Asks no model; unreadable files are noted and ignored."""
    if app.project.root is None:
        return ()
    ends = []
    for job in jobs_of(app.project):
        folder = context.folder_of(app.project, job)
        intent = read_intent(app.project, folder)
        app.notes += map(str, intent.problems)
        try:
            before, patch = stage_patch(app.project, folder, intent.stage)
        except DataError as error:
            app.notes.append(error.what)
            continue
        ended = before if before in STAGES else ""
        if intent.stage and intent.stage != ended:
            ends.append(
                StageEnd(job=job, ended=ended, current=intent.stage, patch=patch)
            )
    return tuple(ends)


def jobs_of(project: Project) -> Sequence[str]:
    """The jobs whose stage may be changed from here, and "" for the root."""
    if project.view.inside:
        return [project.view.job]
    files = (file for file in project.listing.files if project.may_write(file))
    return sorted({"", *(file.place.job for file in files)})


def stages_now(project: Project) -> dict[str, str]:
    """The current stage of the root ("") and of each job."""
    jobs = {"", *(file.place.job for file in project.listing.files)}
    return {job: context.current_stage(project, job) for job in jobs}


def move(app: App, end: StageEnd) -> StageLeavers:
    """End a stage: retire its entries and update `.current-stage`. Raises RefusedError
    if a file would lose too much."""

    def plan() -> StageLeavers:
        leaving = StageLeavers()
        if end.ended:
            leaving = leavers_of(app.project, end.job, end.ended)
        for loss in leaving.losses:
            raise lost(loss)
        return leaving._replace(patches=(*leaving.patches, end.patch))

    return app.write(plan, f"retire-stage {end.ended}".strip())
