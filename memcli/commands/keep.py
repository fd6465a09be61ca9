"""mem keep: a proposal becomes an entry, with where it comes from."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from memcli.app import App
from memcli.errors import RefusedError, UsageError, one_of
from memcli.extraction import placement, proposals
from memcli.extraction.patches import keep_private, patch_of
from memcli.extraction.placement import PlacedFinding
from memcli.extraction.proposals import Proposal
from memcli.extraction.scopes import Home, place_of, targets_of
from memcli.memory.parser import KnownFile, parse
from memcli.memory.values import KINDS, LEVELS, Patch
from memcli.project import context
from memcli.project.context import current_stage, job_folder, need_root, task_folder
from memcli.sessions.model import Session
from memcli.storage.inbox import Inbox

VERB = "keep"
"""The name of the write in its undo record, whose note has the proposals."""


class KeepRequest(NamedTuple):
    """Beginnings of ids, and how a person wants the entry: "" leaves it as proposed."""

    ids: tuple[str, ...]
    title: str = ""
    kind: str = ""
    level: str = ""


class KeepReport(NamedTuple):
    """What became of each proposal; `patches` hold the new texts."""

    events: tuple[PlacedFinding, ...]
    patches: tuple[Patch, ...]


def keep(app: App, request: KeepRequest) -> KeepReport:
    """Write the proposals as entries that a person has confirmed: all or none."""
    if request.kind:
        one_of("--kind", request.kind, KINDS)
    if request.level:
        one_of("--level", request.level, LEVELS)
    if request.title and len(request.ids) > 1:
        raise UsageError(
            "--title works for only one proposal",
            "run mem keep ID --title TEXT for each",
        )
    root = need_root(app.project)
    chosen = proposals.chosen(app, request.ids)

    def plan() -> KeepReport:
        report = _plan(app, chosen, request)
        if not app.dry_run:
            keep_private(root, (event.path for event in report.events))
        return report

    ids = [one.id for one in chosen]
    report = app.write(plan, VERB, note=lambda _: ids)
    if not app.dry_run:
        lost = "what was kept still waits"
        with app.state(best_effort=lost) as state, state.transaction():
            Inbox(state).settle(ids, "kept")
    return report


def wait_again(app: App, ids: Sequence[str]) -> tuple[str, ...]:
    """Let proposals wait again that were kept or dropped, which is taken back; which
    do."""
    again: tuple[str, ...] = ()
    with (
        app.state(best_effort="what was taken back does not wait again") as state,
        state.transaction(),
    ):
        again = tuple(row.id for row in Inbox(state).every() if row.id in ids)
        if not app.dry_run:
            Inbox(state).settle(again, "")
    return again


def _plan(app: App, chosen: Sequence[Proposal], request: KeepRequest) -> KeepReport:
    project = app.project
    files = context.known_files(project)
    by_path = {file.path: file for file in files}
    events: list[PlacedFinding] = []
    texts: dict[str, str] = {}
    for proposal in chosen:
        home = _home(app, proposal)
        outcome = _placed(app, proposal, request, home, list(by_path.values()))
        for why in outcome.dropped:
            if why == placement.LEARNED:  # by a keep that was killed, or the session
                app.notes.append(f"{proposal.id[:8]}: is already known")
                continue
            what = f"{proposal.id[:8]}: was not written: {why}"
            hint = f"mem add --again {shlex.quote(proposal.text or proposal.title)}"
            raise RefusedError(what, hint)
        events += outcome.events
        texts |= outcome.texts
        for name, text in outcome.texts.items():
            place = by_path[name].place if name in by_path else place_of(name, home)
            by_path[name] = KnownFile(parse(text, name), place)
    patches = [
        patch_of(project, name, text, files) for name, text in sorted(texts.items())
    ]
    return KeepReport(events=tuple(events), patches=tuple(patches))


def _placed(
    app: App,
    proposal: Proposal,
    request: KeepRequest,
    home: Home,
    known: Sequence[KnownFile],
) -> placement.Outcome:
    name = proposal.source.rpartition("#")[0]
    session = Session(id=proposal.session_id, format="", name=name, turns=())
    targets = targets_of(session.id, home)
    if request.level and request.level not in targets:
        what = f"--level {request.level}: the session was in no {request.level}"
        hint = f"mem keep {proposal.id[:8]} --level project"
        raise UsageError(what, hint)
    about = placement.Context(
        session=session,
        task=proposal.session_task,
        phase=proposal.phase or current_stage(app.project, home.job),
        today=app.today,
        targets=targets,
        forgotten=app.forgotten(),
    )
    draft = proposals.draft_of(
        proposal, title=request.title, kind=request.kind, level=request.level
    )
    return placement.plan([draft], about, known)


def _home(app: App, proposal: Proposal) -> Home:
    """The job and task of the session, as far as they are still there."""
    project = app.project
    if not proposal.job:
        return Home()
    try:
        folder = job_folder(project, proposal.job)
        inner = task_folder(project, folder, proposal.task) if proposal.task else ""
    except UsageError:
        return Home()
    return Home(
        job=proposal.job, task=proposal.task, job_folder=folder, task_folder=inner
    )
