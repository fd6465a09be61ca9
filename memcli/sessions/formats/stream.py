"""Output of an agent as JSON lines (stream-json): `.exec-stream.jsonl`, `.intent-stream.jsonl`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memcli.sessions import speakers
from memcli.sessions.formats.blocks import Blocks
from memcli.sessions.gather import Gather, Place
from memcli.sessions.lines import Line, records

_TYPES = ("system", "user", "assistant", "result", "stream_event")


def recognises(record: Mapping[str, Any]) -> bool:
    """Whether a record is an event of such a stream."""
    if record.get("type") not in _TYPES or "sessionId" in record:
        return False
    return isinstance(record.get("session_id"), str) or isinstance(record.get("message"), dict)


def wanted(data: bytes) -> bool:
    """Whether a line may hold words or say where the session is."""
    return b'"user"' in data or b'"assistant"' in data or b'"system"' in data or b'"result"' in data


def read(lines: Iterable[Line], into: Gather) -> None:
    """Turns in order. A result that repeats the last answer is not a turn; a failed one is."""
    blocks = Blocks(into)
    for line, record in records(lines, into, wanted):
        kind = record.get("type")
        if kind not in _TYPES:
            continue
        into.where(session=record.get("session_id"), cwd=record.get("cwd"))
        if kind != "system" and into.new(record.get("uuid")):
            _event(line, record, blocks)


def _event(line: Line, record: Mapping[str, Any], blocks: Blocks) -> None:
    place = Place(line.number, line.offset, speakers.when(record.get("timestamp")))
    key = speakers.name(record.get("uuid")) or f"@{line.offset}"
    message = record.get("message")
    if record["type"] == "result":
        if record.get("is_error") is True:
            text = speakers.texts(record.get("result")) or str(record.get("subtype"))[:100]
            blocks.into.put_in(text, place, key, error=True)
    elif isinstance(message, dict) and record["type"] == "user":
        meant = ("parent_tool_use_id", "isSynthetic", "isMeta", "tool_use_result", "toolUseResult")
        blocks.user(
            message.get("content"), place, key, typed=not any(record.get(name) for name in meant)
        )
    elif isinstance(message, dict) and record["type"] == "assistant":
        blocks.assistant(message.get("content"), place, key, message.get("id"))
