"""mem told: what hooks told to agents, when, and why."""

from __future__ import annotations

from typing import NamedTuple

from memcli.app import App
from memcli.storage.session_log import SessionLog, Telling


class ToldReport(NamedTuple):
    """What was told, in order, and how many uses no memory file counts yet."""

    tellings: tuple[Telling, ...]
    waiting: int


def told(app: App, session: str = "") -> ToldReport:
    """What one session was told, named by a beginning of its id, or all sessions."""
    with app.state() as history:
        log = SessionLog(history)
        return ToldReport(tuple(log.told(session)), sum(log.waiting().values()))
