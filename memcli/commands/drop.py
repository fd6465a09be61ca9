"""mem drop: proposals that are not to be kept, and do not come back."""

from collections.abc import Sequence
from typing import NamedTuple

from memcli.app import App
from memcli.extraction import proposals
from memcli.extraction.proposals import Proposal
from memcli.memory.values import Patch
from memcli.storage.inbox import Inbox

VERB = "drop"
"""The name of the act in its undo record, whose note has the proposals."""


class DropReport(NamedTuple):
    """What waits no longer. No file changes."""

    dropped: tuple[Proposal, ...]
    patches: tuple[Patch, ...] = ()


def drop(app: App, ids: Sequence[str]) -> DropReport:
    """Drop the proposals that beginnings of ids name, all or none."""
    chosen = proposals.chosen(app, ids)
    if not app.dry_run:
        ids = [one.id for one in chosen]
        app.notes += app.workspace.write((), VERB, note=ids, is_act=True)
        with app.state() as state, state.transaction():
            Inbox(state).settle(ids, "dropped")
    return DropReport(tuple(chosen))
