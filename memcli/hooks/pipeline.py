"""What follows a finished session: learn from it, strengthen what it used, compact.
What was learned stays when a later step fails: that is told, not undone."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from memcli.app import App
from memcli.commands import compact
from memcli.commands.extract import AfterSession
from memcli.commands.history import note_sessions
from memcli.compaction.compact import count_uses, renamed_files
from memcli.compaction.plan import CompactRequest
from memcli.compaction.reinforce import ReinforceRequest, reinforce
from memcli.compaction.stages import move, stage_ends, stages_now
from memcli.errors import MemError
from memcli.extraction.extract import ExtractReport, ExtractRequest, Learned, extract
from memcli.extraction.rehearsal import Rehearsal
from memcli.hooks.uses import note_uses
from memcli.memory.changes import Event
from memcli.project.context import write_blocker

T = TypeVar("T")


def run(app: App, request: ExtractRequest) -> AfterSession:
    """Move stages on, extract, reinforce what the sessions recalled, do all that is
    due.

    A dry run is a rehearsal of the same steps."""
    if request.show_prompt:
        with Rehearsal(app) as rehearsal:
            report = extract(rehearsal, request)
        return AfterSession(
            extract=report, reinforced=(), compacted=(), patches=report.patches
        )
    if app.dry_run:
        with Rehearsal(app) as rehearsal:
            done = _Run(rehearsal, request).done()
            return done._replace(patches=rehearsal.project.patches)
    # What a killed run wrote is not learned again, so not finished.
    _tried(app, app.workspace.recover)
    done = _Run(app, request).done()
    note_sessions(app, request.transcripts, done.extract.read)
    return done


class _Run:
    """One run over the sessions asked for; each step writes by itself."""

    def __init__(self, app: App, request: ExtractRequest) -> None:
        self.app = app
        self.request = request
        self.compacts = app.project.config.compact_after_extract
        self.due: CompactRequest | None = None

    def done(self) -> AfterSession:
        report = extract(self.app, self.request, begin=self._move_stages)
        used = self._reinforced(report)
        return AfterSession(
            extract=report,
            reinforced=tuple(used),
            compacted=self._compacted(),
            patches=report.patches,
        )

    def _move_stages(self) -> Mapping[str, str]:
        """Before the first session is learned: end the stages that are over, so that
        none takes along what this run writes. The stages of before, by job."""
        app = self.app
        stages = stages_now(app.project)
        if self.compacts:
            for end in () if write_blocker(app.project) else stage_ends(app):
                _tried(app, partial(move, app, end))
            renamed = _tried(app, partial(renamed_files, app))
            # What is renamed is known from before the run: a rehearsal does not index.
            self.due = CompactRequest(stale=True, promote=True, renamed=renamed or {})
        return stages

    def _reinforced(self, report: ExtractReport) -> list[str]:
        app = self.app
        if app.project.config.reinforce_mode == "off":
            return []
        used: list[str] = []
        for learned in report.sessions:
            used += _tried(app, partial(_reinforce, app, report, learned)) or ()
        # What waited for these files to be written is written, too.
        paths = [patch.path for patch in report.patches]
        if paths:
            used += _tried(app, partial(count_uses, app, paths)) or ()
        return used

    def _compacted(self) -> tuple[Event, ...]:
        """Do what is due: it is a matter of days, too, but no session is no end of
        one."""
        app = self.app
        if self.due is None:
            return ()
        due = self.due._replace(check=app.is_rehearsal)
        report = _tried(app, partial(compact.compact_due, app, due))
        if report is None:
            return ()
        if isinstance(app, Rehearsal):
            app.project.take(report.patches)
        return report.done


def _tried(app: App, work: Callable[[], T]) -> T | None:
    """What a step gives; its failure is told and undoes none of the others."""
    try:
        return work()
    except MemError as error:
        app.notes.append(f"{error.what}{error.advice}")
        return None


def _reinforce(app: App, report: ExtractReport, learned: Learned) -> tuple[str, ...]:
    turns = report.turns.get(learned.session)
    session = learned.session
    if learned.known or turns is None:
        return ()
    spoken = "\n".join(turn.text for turn in turns if turn.role != "tool")
    note_uses(app, session, turns)
    with app.state() as history:
        recalled = history.recalled(session)
    if not recalled:
        return ()
    mode = app.project.config.reinforce_mode
    worked = learned.outcome == "success"
    app.refresh()
    copies = app.index.entries.copies(recalled) if worked else ()
    flows = tuple(sorted({copy.entry for copy in copies if copy.kind == "workflow"}))
    said = spoken if mode != "retrieved" else None
    judged = dict.fromkeys(flows, "worked")
    done = reinforce(
        app, ReinforceRequest(session=session, mode=mode, spoken=said, judged=judged)
    )
    return (*done.reinforced, *done.rated)
