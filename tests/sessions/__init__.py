"""Sessions of agents, as they are read."""

from pathlib import Path

from memcli.sessions.reader import Position, read_all

FIXTURES = Path(__file__).parent / "fixtures"


def read(source, **given):
    """The session in a file; of several the last one."""
    return max(reversed(read_all(source, **given)), key=lambda session: session.ended)


def position_of(session):
    """Where a session stopped."""
    return Position(
        size=session.size, mtime=session.mtime, offset=session.end, head=session.head
    )


def said(session):
    """What a person typed, in order."""
    return [turn.text for turn in session.turns if turn.human]
