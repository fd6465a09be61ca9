"""Who said what in a session, as it was read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memcli.sessions.model import Session, Turn
from memcli.text.controls import strip_controls
from memcli.text.secrets import redact_secrets
from memcli.views import json

_SHOWN = 400
_WHO = {"user": "person", "assistant": "agent", "agent": "another agent", "injected": "harness"}


def turns_text(sessions: Iterable[Session]) -> str:
    """Each turn with its line, its speaker and how it begins."""
    return "\n".join(line for session in sessions for line in _session(session))


def _session(session: Session) -> Iterator[str]:
    people = sum(turn.human for turn in session.turns)
    about = f"{session.format}, {len(session.turns)} turns, {people} of a person"
    yield f"# {session.id}: {about}" + (f", {session.cut} left out" if session.cut else "")
    for turn in session.turns:
        yield f"{turn.line or turn.offset:>6} {_speaker(turn):<13} {_words(turn)}"


def turns_json(sessions: Iterable[Session]) -> str:
    """The same for programs."""
    found = [
        {
            "id": session.id,
            "format": session.format,
            "turns": [
                {
                    "line": turn.line,
                    "speaker": _speaker(turn),
                    "time": turn.time,
                    "text": _words(turn, 0),
                }
                for turn in session.turns
            ],
        }
        for session in sessions
    ]
    return json.document({"sessions": found})


def _speaker(turn: Turn) -> str:
    return _WHO.get(turn.origin, turn.origin) if not turn.tool else turn.tool


def _words(turn: Turn, most: int = _SHOWN) -> str:
    text = turn.text or ", ".join(f"{key}: {value}" for key, value in turn.input.items())
    if turn.error:
        text = f"(failed) {text}"
    text = redact_secrets(strip_controls(text))
    text = " ".join(text.split()) if most else text
    return text if not most or len(text) <= most else text[: most - 1] + "…"
