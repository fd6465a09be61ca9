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
        if record.get("type") in ("user", "assistant"):
            into.said(record["type"], speakers.texts(texts), place)
        failed = value_at(record, "toolCallResult", "status") == "error"
        for number, part in enumerate(parts, 1):
            _tool(part, place.nth(number), into, failed=failed)


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
