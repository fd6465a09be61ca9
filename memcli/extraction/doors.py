"""The doors of learning: what of a session is kept, what waits for a yes, and what
does not come back."""

from collections import Counter
from collections.abc import Sequence

from memcli.app import App
from memcli.extraction import proposals, rules
from memcli.extraction.drafts import FindingDraft
from memcli.extraction.placement import Context
from memcli.extraction.proposals import Proposal
from memcli.extraction.scopes import Home
from memcli.sessions.model import Session
from memcli.storage.inbox import Inbox

PROMPT = 200  # characters of a turn that nobody types twice in the same words
DROPPED = "was proposed before, and dropped or run out"
WAITS = "is proposed already"


class Doors:
    """What was proposed before, for all sessions of a run."""

    def __init__(self, app: App, *, dry_run: bool) -> None:
        self.app = app
        self.dry_run = dry_run
        why = "what was proposed before is not known"
        self.known = proposals.known(app, why=why)

    def of(self, session: Session) -> "SessionDoors":
        """The doors of one session."""
        return SessionDoors(self, session)


class SessionDoors:
    """The drafts of one session held against what was proposed before: what a person
    says again is kept, what was dropped or ran out does not come back."""

    def __init__(self, doors: Doors, session: Session) -> None:
        self.doors = doors
        self.known = doors.known
        self.session = session
        self.again: list[Proposal] = []
        self.dropped: Counter[str] = Counter()

    def judged(self, draft: FindingDraft) -> FindingDraft | None:
        """The draft as it is to be placed, None for one that is not to come back."""
        is_episode = draft.finding.scope == "episode"
        same = None if is_episode else self.known.alike(draft)
        if same is None:
            return draft
        if not same.waits:
            if same.became == "kept":
                return draft
            self.dropped[DROPPED] += 1
            return None
        if same.session_id == self.session.id or self._is_prompt_again(draft, same):
            if not draft.proposed:
                return draft
            self.dropped[WAITS] += 1
            return None
        if same.by == "person" and self._is_persons(draft):
            self.again.append(same)
            finding = draft.finding._replace(importance=None, priority="")
            return draft._replace(proposed=False, finding=finding, heard=(same.source,))
        return draft

    def _is_prompt_again(self, draft: FindingDraft, same: Proposal) -> bool:
        """Whether a long turn is sent once more, word for word: that is no second
        time that a person says it."""
        around = proposals.around(self.session, draft.finding)
        return len(around) >= PROMPT and around == same.around

    def _is_persons(self, draft: FindingDraft) -> bool:
        """Whether a person said it in this session."""
        turn = draft.finding.turn
        return turn >= 0 and self.session.turns[turn].human

    def close(
        self, likely: Sequence[FindingDraft], context: Context, home: Home
    ) -> list[Proposal]:
        """Let likely findings wait for a yes, a limited number per session. What was
        said again is written and waits no longer."""
        room = max(0, rules.PROPOSED - self.known.of_session(self.session.id))
        about = proposals.Origin(
            session=self.session,
            task=context.task,
            phase=context.phase,
            home=home,
            today=context.today,
        )
        waiting = [proposals.proposal_of(draft, about) for draft in likely[:room]]
        self.known.all = [*waiting, *self.known.all]
        if (waiting or self.again) and not self.doors.dry_run:
            lost = "what was proposed could not be kept"
            with self.doors.app.state(best_effort=lost) as state, state.transaction():
                proposals.add(state, waiting)
                Inbox(state).settle((one.id for one in self.again), "kept")
        return waiting
