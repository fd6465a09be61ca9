"""Copilot's command line: events, one a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memcli.sessions import speakers
from memcli.sessions.gather import Gather, Place
from memcli.sessions.lines import Line, records

_KINDS = ("session.", "user.", "assistant.", "tool.")


def recognises(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of Copilot's events."""
    return str(record.get("type")).startswith(_KINDS) and isinstance(record.get("data"), dict)


def read(lines: Iterable[Line], into: Gather) -> None:
    """Turns in order; an event whose id was seen is passed over."""
    tools: dict[str, Any] = {}
    for line, record in records(lines, into):
        if not recognises(record):
            continue
        data: Mapping[str, Any] = record["data"]
        if record["type"] == "session.start":
            context = data.get("context")
            at = context if isinstance(context, dict) else {}
            into.where(session=data.get("sessionId"), cwd=at.get("cwd"), branch=at.get("branch"))
        elif into.new(record.get("id")):
            place = Place(line.number, line.offset, speakers.when(record.get("timestamp")))
            key = speakers.name(record.get("id")) or f"@{line.offset}"
            _event(record["type"], data, place, key, into, tools)


def _event(
    kind: str, data: Mapping[str, Any], place: Place, key: str, into: Gather, tools: dict[str, Any]
) -> None:
    call = str(data.get("toolCallId"))
    if kind == "user.message":
        typed = data.get("source") in (None, "", "user") and not data.get("parentToolCallId")
        text = speakers.texts(data.get("content"))
        into.said("user", text, place, key) if typed else into.put_in(text, place, key)
    elif kind == "assistant.message":
        into.said("assistant", speakers.texts(data.get("content")), place, key)
    elif kind == "tool.execution_start":
        tools[call] = data.get("toolName")
        into.called(data.get("toolName"), data.get("arguments"), place, key, data.get("toolCallId"))
    elif kind == "tool.execution_complete":
        bad = data.get("success") is False
        into.result(
            tools.pop(call, ""), _text(data), place, key, error=bad, call=data.get("toolCallId")
        )


def _text(data: Mapping[str, Any]) -> str:
    """The result's content, else its error's message."""
    for name, inner in (("result", "content"), ("error", "message")):
        found = data.get(name)
        text = speakers.texts(found.get(inner) if isinstance(found, dict) else found)
        if text:
            return text
    return ""
