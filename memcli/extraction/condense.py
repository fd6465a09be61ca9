"""A transcript as a model is shown it: what people said whole, of the agent what concludes or was
found out, of tools a line. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memcli.extraction.rules.commands import command_of, edited_by, essence
from memcli.extraction.rules.sentences import sentences
from memcli.extraction.rules.words import kinds_of
from memcli.extraction.segmentation import spoken
from memcli.sessions.model import Turn
from memcli.text.controls import fence_safe
from memcli.text.secrets import redact_secrets

TOKENS = 40_000
CHARACTERS = 4
"""A token is counted as so many characters, as everywhere here."""
PERSON = (3000, 1500)
CLOSING = (1400, 900)
OTHER_AGENT = (2000, 600)
FAILED = (240, 240)
"""Characters kept of the head and the tail: of a person's turn, the agent's closing words, another
agent's message, a failed tool's output.
"""
FOUND = 3
"""Sentences kept of what an agent says on the way, those that find something out."""
CALL = 140
_FINDS = {"finding", "reason", "settle"}


class Shown(NamedTuple):
    """A part of a transcript as it is sent: its text, the numbers of its turns, what was left out."""

    text: str
    numbers: frozenset[int]
    cut: tuple[str, ...]


def transcript(turns: Sequence[Turn], first: int = 0, *, tokens: int = TOKENS) -> list[Shown]:
    """The turns from index `first` on, numbered from 1 within the whole session, in parts of at most
    `tokens`, each of them to be asked in turn.
    """
    parts: list[list[tuple[int, str]]] = [[]]
    size = 0
    for number, line in _lines(turns, first):
        if size + len(line) > tokens * CHARACTERS and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append((number, line))
        size += len(line) + 1
    return [_shown(part, i, len(parts)) for i, part in enumerate(parts) if part]


def _shown(part: Sequence[tuple[int, str]], at: int, count: int) -> Shown:
    cut = (f"part {at + 1} of {count}: the session is too long for one call",) if count > 1 else ()
    body = redact_secrets("\n".join(line for _, line in part))
    notes = f"({cut[0]})\n" if cut else ""
    numbers = frozenset(range(part[0][0], part[-1][0] + 1))
    return Shown(f"<transcript>\n{notes}{body}\n</transcript>\n", numbers, cut)


def _lines(turns: Sequence[Turn], first: int) -> Iterator[tuple[int, str]]:
    """(number, line) of what is shown; calls of one kind in a row share a line."""
    closing = _closings(turns)
    calls: list[tuple[int, str]] = []
    for i, turn in enumerate(turns[first:], first):
        if turn.role == "assistant" and turn.tool:
            calls.append((i, _call(turn)))
            continue
        text = _words(turn, i in closing)
        if text:
            yield from _called(calls)
            calls = []
            yield i + 1, f"[{i + 1}] {_who(turn)}: {fence_safe(text, 'transcript')}"
    yield from _called(calls)


def _called(calls: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    named = list(dict.fromkeys(text for _, text in calls if text))
    if named:
        more = f"; {len(named) - 8} more" if len(named) > 8 else ""
        text = fence_safe("; ".join(named[:8]) + more, "transcript")
        yield calls[0][0] + 1, f"[{calls[0][0] + 1}] calls: {text}"


def _call(turn: Turn) -> str:
    command, path = command_of(turn), edited_by(turn)
    if command:
        return f"{turn.tool} `{_flat(essence(command), CALL)}`"
    return f"{turn.tool} {path}".strip() if path else ""


def _closings(turns: Sequence[Turn]) -> frozenset[int]:
    """The agent's last words of each exchange."""
    found, last = set(), -1
    for i, turn in enumerate(turns):
        if turn.human and last >= 0:
            found.add(last)
            last = -1
        elif spoken(turn):
            last = i
    return frozenset({*found, last} - {-1})


def _who(turn: Turn) -> str:
    if turn.role == "tool":
        return f"{turn.tool or 'tool'} failed"
    return "user" if turn.human else "agent" if turn.role == "assistant" else "another agent"


def _words(turn: Turn, closing: bool) -> str:
    """What is shown of a turn; "" for nothing."""
    if turn.human:
        return _ends(turn.text.strip(), PERSON)
    if turn.role == "tool":
        return _ends(" ".join(turn.text.split()), FAILED) if turn.error else ""
    if turn.origin == "agent":
        return _ends(turn.text.strip(), OTHER_AGENT)
    if not spoken(turn):
        return ""
    return _ends(turn.text.strip(), CLOSING) if closing else _findings(turn.text)


def _findings(text: str) -> str:
    found = [
        one.text for one in sentences(text) if _FINDS & kinds_of(one.low) and len(one.text) > 40
    ]
    return " … ".join(found[-FOUND:])


def _flat(text: str, longest: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _ends(text: str, limits: tuple[int, int]) -> str:
    head, tail = limits
    if len(text) <= head + tail + 40:
        return text
    return f"{text[:head]}\n[… {len(text) - head - tail} characters left out …]\n{text[-tail:]}"
