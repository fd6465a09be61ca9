"""Copilot's command line: JSON lines, each an event with its data."""

from collections.abc import Callable

from memcli.sessions import speakers
from memcli.sessions.formats.protocol import Format, Store
from memcli.sessions.gather import (
    Gather,
    Lines,
    Record,
    TurnPlace,
    mapping,
    records,
    value_at,
)

PUT_IN = ("parentToolCallId", "agentId", "isAutopilotContinuation")
"""Marks of what no person typed: of a sub-agent, and of autopilot's loop."""
KINDS = ("session.", "user.", "assistant.", "tool.")


def recognises(record: Record) -> bool:
    """Whether a record is one of Copilot's events."""
    known = str(record.get("type")).startswith(KINDS)
    return known and isinstance(record.get("data"), dict)


def read(lines: Lines, into: Gather) -> None:
    """Turns in order; an event whose id was seen is passed over. What bears the id of
    an agent was said to a sub-agent, or by it."""
    for line, record in records(lines, into):
        kind = str(record.get("type"))
        data = mapping(record.get("data"))
        if kind == "session.start":
            folder = value_at(data, "context", "cwd")
            into.where(session=data.get("sessionId"), cwd=folder)
            continue
        place = into.event(line, record, "id")
        if place and kind in EVENTS:
            by_agent = {"agentId": record.get("agentId")}
            EVENTS[kind]({**data, **by_agent}, place, into)


def _user(data: Record, place: TurnPlace, into: Gather) -> None:
    text = speakers.texts(data.get("content"))
    by_person = data.get("source") in (None, "", "user")
    if by_person and not any(map(data.get, PUT_IN)):
        into.said("user", text, place)
    else:
        into.put_in(text, place)


def _assistant(data: Record, place: TurnPlace, into: Gather) -> None:
    into.said("assistant", speakers.texts(data.get("content")), place)


def _call(data: Record, place: TurnPlace, into: Gather) -> None:
    call = data.get("toolCallId")
    into.called(data.get("toolName"), data.get("arguments"), place, call)


def _result(data: Record, place: TurnPlace, into: Gather) -> None:
    ends = [data.get("result"), data.get("error")]
    words = [value_at(end, key) for end in ends for key in ("content", "message")]
    texts = map(speakers.texts, [*words, *ends])
    text = next(filter(None, texts), "")
    failed = data.get("success") is False
    into.result("", text, place, error=failed, call=data.get("toolCallId"))


EVENTS: dict[str, Callable[[Record, TurnPlace, Gather], None]] = {
    "user.message": _user,
    "assistant.message": _assistant,
    "tool.execution_start": _call,
    "tool.execution_complete": _result,
}

FORMAT = Format(
    name="copilot",
    title="Copilot CLI",
    recognises=recognises,
    read=read,
    store=Store(
        files=("*/events.jsonl",),
        session=("data", "sessionId"),
        folder=("data", "context", "cwd"),
    ),
)
