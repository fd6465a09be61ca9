"""Sessions of agents, as they are read."""

from pathlib import Path
from typing import Any

from memcli.sessions.model import Session
from memcli.sessions.reader import Position, read_all

FIXTURES = Path(__file__).parent / "fixtures"


def read(source: Any, **given: Any) -> Session:
    """The session in a file; of several the last one."""
    return max(reversed(read_all(source, **given)), key=lambda session: session.ended)


def position_of(session: Session) -> Position:
    """Where a session stopped."""
    return Position(
        size=session.size, mtime=session.mtime, offset=session.end, head=session.head
    )


def said(session: Session) -> list[str]:
    """What a person typed, in order."""
    return [turn.text for turn in session.turns if turn.human]
