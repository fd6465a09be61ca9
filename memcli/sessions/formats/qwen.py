"""Qwen Code: JSON lines, each a record whose message has parts."""

from memcli.sessions import speakers
from memcli.sessions.formats.protocol import Format, Store
from memcli.sessions.gather import (
    Gather,
    Lines,
    Record,
    TurnPlace,
    mapping,
    mappings,
    records,
    value_at,
)


def recognises(record: Record) -> bool:
    """Whether a record is one of Qwen Code's."""
    has_parts = isinstance(value_at(record, "message", "parts"), list)
    known = isinstance(record.get("sessionId"), str) and "uuid" in record
    return known and (has_parts or "systemPayload" in record)


def read(lines: Lines, into: Gather) -> None:
    """Turns in order; an event whose uuid was seen is passed over."""
    for line, record in records(lines, into):
        into.where(session=record.get("sessionId"), cwd=record.get("cwd"))
        parts = mappings(value_at(record, "message", "parts"))
        place = into.event(line, record) if parts else None
        if place is None:
            continue
        texts = [part.get("text") for part in parts if not part.get("thought")]
        text = speakers.texts(texts)
        if record.get("type") == "assistant":
            into.said("assistant", text, place)
        elif record.get("type") == "user":
            _user(record, text, place, into)
        failed = value_at(record, "toolCallResult", "status") == "error"
        for number, part in enumerate(parts, 1):
            _tool(part, place.nth(number), into, failed=failed)


def _user(record: Record, text: str, place: TurnPlace, into: Gather) -> None:
    """A message to the agent: a person's where nothing says that it is another's. What
    they typed stands beside it, where files or a note were put in."""
    by_others = record.get("provenance") not in (None, "real_user")
    by_harness = record.get("subtype") not in (None, "mid_turn_user_message")
    if by_others or by_harness or record.get("agentId") or record.get("isSidechain"):
        into.put_in(text, place)
        return
    typed = value_at(record, "systemPayload", "displayText")
    into.said("user", typed if isinstance(typed, str) else text, place)


def _tool(part: Record, place: TurnPlace, into: Gather, *, failed: bool) -> None:
    call = mapping(part.get("functionCall"))
    answer = mapping(part.get("functionResponse"))
    if call:
        arguments = call.get("args")
        into.called(call.get("name"), arguments, place, call.get("id"))
    elif answer:
        given = mapping(answer.get("response"))
        text = speakers.texts(given.get("output") or given.get("error") or "")
        error = failed or "error" in given
        call_id = answer.get("id")
        into.result(answer.get("name"), text, place, error=error, call=call_id)


FORMAT = Format(
    name="qwen",
    title="Qwen Code",
    recognises=recognises,
    read=read,
    store=Store(files=("*/chats/*.jsonl",)),
)
