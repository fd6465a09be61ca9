"""Qwen Code: one JSON record a line, with messages as Gemini's API has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memcli.sessions import speakers
from memcli.sessions.gather import Gather, Place
from memcli.sessions.lines import Line, records


def recognises(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of Qwen Code's."""
    if not isinstance(record.get("sessionId"), str) or "uuid" not in record:
        return False
    message = record.get("message")
    return "systemPayload" in record or (
        isinstance(message, dict) and isinstance(message.get("parts"), list)
    )


def read(lines: Iterable[Line], into: Gather) -> None:
    """Turns in order; an event whose uuid was seen is passed over."""
    for line, record in records(lines, into):
        into.where(
            session=record.get("sessionId"), cwd=record.get("cwd"), branch=record.get("gitBranch")
        )
        message = record.get("message")
        if isinstance(message, dict) and into.new(record.get("uuid")):
            place = Place(line.number, line.offset, speakers.when(record.get("timestamp")))
            key = speakers.name(record.get("uuid")) or f"@{line.offset}"
            _message(record, message, place, key, into)


def _message(
    record: Mapping[str, Any], message: Mapping[str, Any], place: Place, key: str, into: Gather
) -> None:
    kind, found = record.get("type"), message.get("parts")
    parts = [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []
    spoken = "\n".join(
        part["text"]
        for part in parts
        if isinstance(part.get("text"), str) and not part.get("thought")
    )
    if kind == "user":
        into.said("user", spoken, place, key)
    elif kind == "assistant" and spoken:
        into.said("assistant", spoken, place, key)
    for number, part in enumerate(parts, 1):
        name = f"{key}/{number}"
        if isinstance(call := part.get("functionCall"), dict):
            into.called(call.get("name"), call.get("args"), place, name, call.get("id"))
        elif isinstance(answer := part.get("functionResponse"), dict):
            _result(record, answer, place, name, into)


def _result(
    record: Mapping[str, Any], answer: Mapping[str, Any], place: Place, key: str, into: Gather
) -> None:
    response, about = answer.get("response"), record.get("toolCallResult")
    given: Mapping[str, Any] = response if isinstance(response, dict) else {}
    failed = "error" in given or (isinstance(about, dict) and about.get("status") == "error")
    text = speakers.texts(given.get("output") or given.get("error") or "")
    into.result(answer.get("name"), text, place, key, error=failed, call=answer.get("id"))
