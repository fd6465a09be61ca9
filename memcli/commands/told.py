"""mem told: what hooks told a session."""

from typing import NamedTuple

from memcli.app import App
from memcli.storage.state import SessionLog, Telling


class ToldReport(NamedTuple):
    """What was told, in order, and how many uses no memory file counts yet."""

    tellings: tuple[Telling, ...]
    waiting: int


def told(app: App, session: str = "") -> ToldReport:
    """What one session was told, named by a beginning of its id, or all sessions."""
    with app.state() as state:
        log = SessionLog(state)
        waiting = sum(map(len, log.uses().values()))
        return ToldReport(tellings=tuple(log.told(session)), waiting=waiting)
