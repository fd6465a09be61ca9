"""mem told: what hooks told a session."""

from typing import NamedTuple

from memcli.app import App
from memcli.guard.stops import Stop, stops
from memcli.storage.state import HookTelling, SessionLog


class ToldReport(NamedTuple):
    """What was told, in order, what guards stopped, and how many uses no memory file
    counts yet."""

    tellings: tuple[HookTelling, ...]
    stopped: tuple[Stop, ...]
    waiting: int


def told(app: App, session: str = "") -> ToldReport:
    """What one session was told, named by a beginning of its id, or all sessions."""
    if app.project.listing.files:
        app.refresh(embed=False)
    with app.state() as state:
        log = SessionLog(state)
        waiting = sum(map(len, log.uses().values()))
        tellings = tuple(log.told(session))
    return ToldReport(
        tellings=tellings, stopped=tuple(stops(app, session)), waiting=waiting
    )
