"""Qwen Code: one JSON record a line, with messages as Gemini's API has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memcli.sessions import speakers
from memcli.sessions.gather import Gather, Place, records
from memcli.sessions.lines import Line, mappings


def recognises(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of Qwen Code's."""
    if not isinstance(record.get("sessionId"), str) or "uuid" not in record:
        return False
    message = record.get("message")
    has_parts = isinstance(message, dict) and isinstance(message.get("parts"), list)
    return has_parts or "systemPayload" in record


def read(lines: Iterable[Line], into: Gather) -> None:
    """Turns in order; an event whose uuid was seen is passed over."""
    for line, record in records(lines, into):
        cwd, branch = record.get("cwd"), record.get("gitBranch")
        into.where(session=record.get("sessionId"), cwd=cwd, branch=branch)
        message = record.get("message")
        if isinstance(message, dict) and (place := into.event(line, record)):
            found = message.get("parts")
            _parts(record, mappings(found), place, into)


def _parts(
    record: Mapping[str, Any], parts: list[dict[str, Any]], place: Place, into: Gather
) -> None:
    texts = [part.get("text") for part in parts if not part.get("thought")]
    spoken = "\n".join(text for text in texts if isinstance(text, str))
    if record.get("type") in ("user", "assistant"):
        into.said(record["type"], spoken, place)
    for number, part in enumerate(parts, 1):
        if isinstance(call := part.get("functionCall"), dict):
            into.called(call.get("name"), call.get("args"), place.nth(number), call.get("id"))
        elif isinstance(answer := part.get("functionResponse"), dict):
            _result(record, answer, place.nth(number), into)


def _result(
    record: Mapping[str, Any], answer: Mapping[str, Any], place: Place, into: Gather
) -> None:
    response, about = answer.get("response"), record.get("toolCallResult")
    given: Mapping[str, Any] = response if isinstance(response, dict) else {}
    failed = "error" in given or (isinstance(about, dict) and about.get("status") == "error")
    text = speakers.texts(given.get("output") or given.get("error") or "")
    into.result(answer.get("name"), text, place, error=failed, call=answer.get("id"))
