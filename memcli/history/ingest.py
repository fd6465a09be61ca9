"""Sessions into the record: each exchange, the person's words and the agent's answer to them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from memcli.history.docs import Doc
from memcli.sessions.model import Session, Turn
from memcli.sessions.speakers import clean_text, key_of, line
from memcli.sessions.tools import changed_by, shell_line
from memcli.text.controls import neutralise

ERROR: Final = 200  # characters of an error line that are kept
SAID: Final = (6000, 10_000)
"""Characters of an answer that are kept, of its beginning and of its end."""
_FACETS: Final = 30
_ERRORS: Final = "error,exception,failed,failure,fatal,cannot,not found,denied".split(",")


def exchanges(session: Session) -> Iterator[Doc]:
    """The exchanges of a session, redacted, without what nobody said and what tools gave back."""
    kept: list[Turn] = []
    for turn in session.turns:
        if turn.human and any(each.human for each in kept):
            yield from _exchange(session, kept)
            kept = []
        kept.append(turn)
    yield from _exchange(session, kept)


def _exchange(session: Session, turns: Sequence[Turn]) -> Iterator[Doc]:
    said = list(_said(turns))
    if not any(speaker == "person" for speaker, _ in said) and sum(len(t) for _, t in said) < ERROR:
        return
    first = next((turn for turn in turns if turn.human), turns[0])
    words = next((text for speaker, text in said if speaker == "person"), said[0][1])
    unit, title = key_of(session.id), line(neutralise(words[:1000]), 100)
    # The event's own name, so that a fork is not counted twice; a position is one of its session.
    key = f"s:{unit}{first.key}" if first.key.startswith("@") else f"s:{key_of(first.key)}"
    date, who = first.time or session.started, session.format
    yield Doc("session", unit, 0, key, who, date, title, tuple(said), _about(turns))


def _said(turns: Iterable[Turn]) -> Iterator[tuple[str, str]]:
    """(speaker, text), with what one speaker says in a row as one text."""
    spoken = ((speaker, text) for speaker, text in map(_words, turns) if text)
    runs = groupby(enumerate(spoken), lambda each: (each[1][0], each[1][0] == "error" and each[0]))
    texts = [(speaker, "\n".join(text for _, (_, text) in run)) for (speaker, _), run in runs]
    every = "\n\n".join(text for _, text in texts)
    clean = clean_text(every) == every  # one look at many texts
    for speaker, raw in texts:
        text = (raw if clean else clean_text(raw)).strip()
        if text:
            whole = len(text) <= sum(SAID)
            yield speaker, text if whole else f"{text[: SAID[0]]}\n[…]\n{text[-SAID[1] :]}"


def _words(turn: Turn) -> tuple[str, str]:
    if turn.human:
        return "person", turn.text
    if turn.origin in ("assistant", "agent") and not turn.tool:
        return "agent", turn.text
    if turn.error and turn.role == "tool":
        lines = [each.strip() for each in turn.text[:4000].splitlines() if each.strip()]
        told = (each for each in lines if any(word in each.lower() for word in _ERRORS))
        return "error", next(told, lines[0] if lines else "")[:ERROR]
    return "", ""


def _about(turns: Iterable[Turn]) -> dict[str, list[str]]:
    paths: dict[str, None] = {}
    commands: dict[str, None] = {}
    for turn in turns:
        if turn.role != "assistant" or not turn.tool:
            continue
        files = changed_by(turn)
        paths |= dict.fromkeys(line(name, ERROR) for name in files)
        if not files and (text := shell_line(turn.input).strip()):
            commands[line(text, ERROR)] = None
    found = {"paths": list(paths)[:_FACETS], "commands": list(commands)[:_FACETS]}
    return {name: values for name, values in found.items() if values}
