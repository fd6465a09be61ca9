"""The doors of learning: what of a session is kept, what waits for a yes, and what
does not come back."""

from collections import Counter
from collections.abc import Sequence

from memcli.app import App
from memcli.extraction import proposals
from memcli.extraction.drafts import FindingDraft, is_persons
from memcli.extraction.placement import Context
from memcli.extraction.proposals import Proposal, Proposals
from memcli.extraction.scopes import Home
from memcli.sessions.model import Session
from memcli.storage.inbox import Inbox

PROMPT = 200  # characters of a turn that nobody types twice in the same words
DROPPED = "was proposed before, and dropped or run out"
WAITS = "is proposed already"


class SessionDoors:
    """The drafts of one session held against what was proposed before (`known`): what a
    person says again is kept, what was dropped or ran out does not come back."""

    def __init__(self, app: App, known: Proposals, session: Session) -> None:
        self.app = app
        self.known = known
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
        if self._is_said_again(draft, same):
            self.again.append(same)
            finding = draft.finding._replace(importance=None, priority="")
            return draft._replace(proposed=False, finding=finding, heard=(same.source,))
        if draft.proposed:
            self.dropped[WAITS] += 1
            return None
        return draft

    def _is_said_again(self, draft: FindingDraft, same: Proposal) -> bool:
        """Whether a person says it in a second session. A long turn that is sent once
        more, word for word, is no second time."""
        around = proposals.around(self.session, draft.finding)
        is_prompt_again = len(around) >= PROMPT and around == same.around
        is_another = same.session_id != self.session.id and not is_prompt_again
        is_both = same.by == "person" and is_persons(self.session, draft.finding)
        return is_another and is_both

    def close(
        self, likely: Sequence[FindingDraft], context: Context, home: Home
    ) -> list[Proposal]:
        """Let likely findings wait for a yes, a limited number per session. What was
        said again is written and waits no longer."""
        mine = (
            proposal.session_id == self.session.id
            and proposal.session_task == context.task
            for proposal in self.known.all
        )
        room = max(0, proposals.MOST_OF_SESSION - sum(mine))
        waiting = [
            proposals.proposal_of(draft, context, home) for draft in likely[:room]
        ]
        self.known.all = [*waiting, *self.known.all]
        if waiting or self.again:
            lost = "what was proposed could not be kept"
            with self.app.state(best_effort=lost) as state, state.transaction():
                proposals.add(state, waiting)
                Inbox(state).settle((proposal.id for proposal in self.again), "kept")
        return waiting
