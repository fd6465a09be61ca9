"""Lessons that wait for a yes: what becomes of them, and how one becomes an entry.

They lie in the user's state file, not in the tree: they are in no answer, they run out,
and a state file that is lost loses them and nothing else."""

import datetime
import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memcli.app import App
from memcli.errors import UsageError
from memcli.extraction.drafts import FindingDraft, is_persons
from memcli.extraction.placement import Context
from memcli.extraction.scopes import Home
from memcli.memory.entry_values import TYPE_OF_KIND
from memcli.sessions.model import Finding, Session
from memcli.similarity.claims import Claim, claim
from memcli.similarity.duplicates import near_duplicate
from memcli.storage.inbox import DAYS, Inbox, Proposed, likeliest
from memcli.storage.state import State

MOST_OF_SESSION = 3  # proposals that one session may add
MOST_WAITING = 50  # proposals of a repository; beyond that the oldest expire
VERB = "extract"  # the write whose undo record notes what it proposed
AROUND = 400  # characters of the turn that are kept beside a proposal
REMEMBERED = 1000  # closed proposals kept, so that none is proposed again


class Proposal(NamedTuple):
    """A lesson that waits: what it says, with the words around, and where it is from.
    `by` is "person" or "agent"; `became` is "" while it waits."""

    id: str
    title: str
    text: str
    around: str
    kind: str
    type: str
    scope: str
    by: str
    session_id: str
    session_task: str
    source: str
    since: str
    day: str
    phase: str = ""
    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    about_person: bool = False
    job: str = ""
    task: str = ""
    became: str = ""
    named: str = ""
    retires: str = ""
    """The entry that a yes retires."""
    points: int = 1
    """The signs that speak for it, 0 where no rules count them; one that was kept
    before they were counted has the fewest."""

    @property
    def waits(self) -> bool:
        """Whether nobody has said yes or no."""
        return not self.became


def proposal_of(draft: FindingDraft, context: Context, home: Home) -> Proposal:
    """A draft as a proposal."""
    finding = draft.finding
    session = context.session
    return Proposal(
        id=draft.id,
        title=finding.title,
        text=finding.body,
        around=around(session, finding),
        kind=finding.kind,
        type=finding.type,
        scope=finding.scope,
        by="person" if is_persons(session, finding) else "agent",
        session_id=session.id,
        session_task=context.task,
        source=f"{session.name}#{draft.key}",
        since=context.today,
        day=draft.day,
        phase=context.phase,
        paths=finding.paths,
        commands=finding.commands,
        rests_on=finding.rests_on,
        about_person=finding.about_person,
        retires=finding.retires_id,
        points=finding.points,
        job=home.job,
        task=home.task,
    )


def around(session: Session, finding: Finding) -> str:
    """The words of the turn in which a finding stands, as they are kept beside it."""
    is_there = 0 <= finding.turn < len(session.turns)
    text = session.turns[finding.turn].text if is_there else ""
    return " ".join(text.split())[:AROUND]


def draft_of(
    proposal: Proposal, *, title: str = "", kind: str = "", level: str = ""
) -> FindingDraft:
    """A proposal as the draft of an entry, as a person wants it worded and placed."""
    finding = Finding(
        scope=proposal.scope,
        title=title or proposal.title,
        body=proposal.text,
        turn=-1,
        kind=kind or proposal.kind,
        type=TYPE_OF_KIND.get(kind, "declarative") if kind else proposal.type,
        paths=proposal.paths,
        commands=proposal.commands,
        rests_on=proposal.rests_on,
        about_person=proposal.about_person,
        retires_id=proposal.retires,
    )
    key = proposal.source.rpartition("#")[2]
    return FindingDraft(
        id=proposal.id, finding=finding, key=key, day=proposal.day, level=level
    )


def read(state: State, today: datetime.date) -> list[Proposal]:
    """All proposals that are remembered, the newest first. Those whose time has run
    out count as over."""
    first = (today - datetime.timedelta(days=DAYS)).isoformat()
    proposals = []
    waiting = 0
    for row in Inbox(state).every():
        proposal = _parsed(row)
        if proposal is None:
            continue
        waiting += proposal.waits
        if proposal.waits and (row.since < first or waiting > MOST_WAITING):
            proposal = proposal._replace(became="over")
        proposals.append(proposal)
    return proposals


def _parsed(row: Proposed) -> Proposal | None:
    try:
        values = json.loads(row.text)
        names = "paths", "commands", "rests_on"
        lists = {key: tuple(values.get(key, ())) for key in names}
        return Proposal(**{**values, **lists, "became": row.became, "named": row.named})
    except (ValueError, TypeError, AttributeError):
        return None  # of another version: it is lost, as a torn file would be


def add(state: State, proposals: Iterable[Proposal]) -> None:
    """Let proposals wait."""
    rows = [
        Proposed(
            id=proposal.id,
            session=proposal.session_id,
            became="",
            since=proposal.since,
            named="",
            text=json.dumps(proposal._asdict(), ensure_ascii=False),
        )
        for proposal in proposals
    ]
    Inbox(state).add(rows)


def tidy(state: State, known: Sequence[Proposal]) -> None:
    """Mark the proposals whose time has run out, and delete those that ended long
    ago."""
    inbox = Inbox(state)
    over = [one for one in known if not one.waits]
    inbox.settle((one.id for one in over if one.became == "over"), "over")
    inbox.forget(one.id for one in over[REMEMBERED:])


class Proposals:
    """What was proposed before, to be held against what a session says."""

    def __init__(self, proposals: Sequence[Proposal]) -> None:
        self.all = proposals
        self._claims: dict[str, Claim] = {}

    def alike(self, draft: FindingDraft) -> Proposal | None:
        """What says the same as a draft: one that is over decides before one that
        waits."""
        if not self.all:
            return None
        mine = claim(f"{draft.finding.title}\n{draft.finding.body}")
        same = [one for one in self.all if one.id == draft.id or self._is(one, mine)]
        return min(same, key=lambda one: one.waits, default=None)

    def _is(self, proposal: Proposal, mine: Claim) -> bool:
        theirs = self._claims.get(proposal.id)
        if theirs is None:
            theirs = self._claims[proposal.id] = claim(
                f"{proposal.title}\n{proposal.text}"
            )
        return near_duplicate(mine, theirs)


def known(app: App, *, why: str) -> Proposals:
    """What was proposed before; nothing, and a note that begins with `why`, where the
    state file cannot be used."""
    found = app.from_state(
        lambda state: read(state, app.project.now), list[Proposal](), why, make=False
    )
    return Proposals(found)


def waiting(app: App) -> list[Proposal]:
    """The proposals that wait, the likeliest first, of equals the newest. Raises
    RefusedError when the state file cannot be used."""
    proposals = [one for one in _remembered(app) if one.waits]
    return sorted(proposals, key=lambda one: likeliest(one.points))


def _remembered(app: App) -> list[Proposal]:
    """All proposals, also those that are over."""
    with app.state() as state:
        proposals = read(state, app.project.now)
        tidy(state, proposals)
    return proposals


def take_back(app: App, ids: Sequence[str]) -> list[Proposal]:
    """The proposals of these that wait; they do no more, and may be proposed again."""
    gone = [one for one in waiting(app) if one.id in ids]
    if not app.dry_run:
        with app.state() as state, state.transaction():
            Inbox(state).forget(one.id for one in gone)
    return gone


def chosen(app: App, ids: Sequence[str]) -> list[Proposal]:
    """The waiting proposals that beginnings of ids name. Raises UsageError for none or
    several."""
    every = _remembered(app)
    proposals = {}
    for name in ids:
        named = [one for one in every if one.id.startswith(name)]
        meant = [one for one in named if one.waits]
        if not meant and named:
            raise UsageError(
                f"{name}: {named[0].became} already", "mem inbox lists them"
            )
        if len(meant) != 1:
            what = "no proposal" if not meant else f"{len(meant)} proposals"
            raise UsageError(f"{name}: {what} of that name", "mem inbox lists them")
        proposals[meant[0].id] = meant[0]
    return list(proposals.values())
