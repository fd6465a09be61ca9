"""What follows a finished session, start to end: learn from it, strengthen what it used, compact.

Three commands in turn. What was learned stays when a later step fails: that is told, not undone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from memcli.app import App
from memcli.commands import compact, told
from memcli.compaction.reinforce import ReinforceRequest, reinforce
from memcli.errors import MemError
from memcli.extraction.extract import ExtractReport, ExtractRequest, Learned, extract
from memcli.memory.changes import Event
from memcli.memory.values import Patch


class Ended(NamedTuple):
    """What mem extract did: what was learned, the ids that were reinforced, what compaction did."""

    extract: ExtractReport
    reinforced: tuple[str, ...]
    compacted: tuple[Event, ...]
    patches: tuple[Patch, ...]


def run(
    app: App, request: ExtractRequest, *, dry_run: bool = False, strengthen: bool = True
) -> Ended:
    """Extract, then reinforce what the sessions recalled, then compact the files that were written."""
    if not (dry_run or request.show_prompt):
        _tried(
            app, app.workspace.recover
        )  # what a killed run wrote is not learned again, so not finished
    report = extract(app, request, dry_run=dry_run)
    if dry_run or request.show_prompt:
        return Ended(report, (), (), report.patches)
    reinforced: list[str] = []
    for learned in report.sessions if strengthen else ():
        _tried(app, partial(_strengthen, app, report, learned, reinforced))
    if report.patches and strengthen:  # the files are written anyway: what waited is written, too
        paths = [patch.path for patch in report.patches]
        _tried(app, lambda: reinforced.extend(told.count_uses(app, paths)))
    compacted: list[Event] = []
    # A run that was killed before this step has its lessons in the files: they are known now.
    again = any(learned.known for learned in report.sessions)
    if app.project.config.compact_after_extract and (report.patches or again):
        _tried(app, lambda: compacted.extend(compact.compact_due(app).done))
    return Ended(report, tuple(reinforced), tuple(compacted), report.patches)


def _tried(app: App, work: Callable[[], object]) -> None:
    try:
        work()
    except MemError as error:
        app.notes.append(f"{error.what} ({error.hint})" if error.hint else error.what)


def _strengthen(app: App, report: ExtractReport, learned: Learned, reinforced: list[str]) -> None:
    reinforced.extend(_reinforced(app, report, learned))


def _reinforced(app: App, report: ExtractReport, learned: Learned) -> Sequence[str]:
    """Reinforce what a session was shown; its workflows gain a success when it went well."""
    if learned.known or learned.session not in report.spoken:
        return ()
    said = report.spoken[learned.session]
    told.note_uses(app, learned.session, said, report.heard.get(learned.session, ""))
    with app.state() as history:
        recalled = history.recalled(learned.session)
    if not recalled:
        return ()
    workflows = _workflows(app, recalled) if learned.outcome == "success" else ()
    mode = app.project.config.reinforce_mode
    spoken = report.spoken[learned.session] if mode != "retrieved" else None
    request = ReinforceRequest(
        session=learned.session, mode=mode, spoken=spoken, succeeded=tuple(workflows)
    )
    done = reinforce(app, request)
    return (*done.reinforced, *done.rated)


def _workflows(app: App, ids: Sequence[str]) -> list[str]:
    """Which of these ids are live workflows."""
    app.project.relist()
    app.refresh()
    copies = app.index.entries.copies(list(ids))
    return sorted({copy.entry for copy in copies if copy.kind == "workflow" and copy.entry in ids})
