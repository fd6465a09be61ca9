"""mem inbox: what sessions proposed and waits for a yes."""

from typing import NamedTuple

from memcli.app import App
from memcli.extraction import proposals
from memcli.extraction.proposals import Proposal
from memcli.storage.files import state_dir


class InboxReport(NamedTuple):
    """The proposals that wait, the likeliest first."""

    proposals: tuple[Proposal, ...]


def inbox(app: App) -> InboxReport:
    """What waits. Raises RefusedError when the state file cannot be used; one that is
    gone is said."""
    path = state_dir() / "state.db"
    if path.parent.exists() and not path.exists():
        app.notes.append(f"the state file does not exist: {path}")
    return InboxReport(tuple(proposals.waiting(app)))
