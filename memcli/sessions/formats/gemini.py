"""Gemini's command line: one JSON object, or JSON lines with a header, messages and corrections to
both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memcli.sessions import speakers
from memcli.sessions.gather import Gather, Place
from memcli.sessions.lines import Line, records

_TYPES = ("user", "gemini", "model", "info", "error")


def recognises(record: Mapping[str, Any]) -> bool:
    """Whether a record is the header of a session, or a whole session."""
    return isinstance(record.get("sessionId"), str) and (
        "projectHash" in record or "startTime" in record
    )


def read(lines: Iterable[Line], into: Gather) -> None:
    """JSON lines: the last copy of a message counts, and what was rewound is gone."""
    found: dict[str, tuple[Place, Mapping[str, Any]]] = {}
    for line, record in records(lines, into):
        if recognises(record):
            _about(record, into)
            messages = record.get("messages")
            for number, message in enumerate(messages if isinstance(messages, list) else ()):
                found[f"{number}"] = (Place(line.number, line.offset), message)
        elif "$rewindTo" in record:
            _rewind(found, str(record["$rewindTo"]))
        elif isinstance(patch := record.get("$set"), dict):
            _about(patch, into)
        elif record.get("type") in _TYPES:
            key = str(record.get("id") or f"@{line.offset}")
            place = found[key][0] if key in found else Place(line.number, line.offset)
            found[key] = (place, _brief(record))
    for place, message in found.values():
        _message(message, place, into)


def read_document(document: Mapping[str, Any], into: Gather) -> None:
    """One JSON object: the session and its messages."""
    _about(document, into)
    messages = document.get("messages")
    known = messages if isinstance(messages, list) else []
    for number, message in enumerate(known):
        _message(message, Place(0, number), into)
    into.end = len(known)


def _rewind(found: dict[str, Any], to: str) -> None:
    """Drop a message and what came after it."""
    names = list(found)
    for name in names[names.index(to) :] if to in found else ():
        del found[name]


def _brief(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message of bounded size: it is held until the end of the file."""
    calls = record.get("toolCalls")
    kept = {name: record.get(name) for name in ("id", "timestamp", "type")}
    kept["content"] = speakers.cut(speakers.texts(record.get("content")), speakers.SAID)
    kept["toolCalls"] = (
        [_brief_call(call) for call in calls if isinstance(call, dict)] if calls else []
    )
    return kept


def _brief_call(call: Mapping[str, Any]) -> Mapping[str, Any]:
    kept = {name: call.get(name) for name in ("id", "name", "status")}
    return {
        **kept,
        "args": speakers.arguments(call.get("args")),
        "text": speakers.clean(_output(call), speakers.RESULT),
    }


def _about(record: Mapping[str, Any], into: Gather) -> None:
    directories = record.get("directories")
    at = directories[0] if isinstance(directories, list) and directories else record.get("cwd")
    into.where(session=record.get("sessionId"), cwd=at)
    if record.get("kind") == "subagent":
        into.parent = speakers.name(record.get("parentSessionId")) or into.parent


def _message(message: Any, place: Place, into: Gather) -> None:
    if not isinstance(message, dict):
        into.skipped += 1
        return
    place = place._replace(time=speakers.when(message.get("timestamp")))
    name = speakers.name(message.get("id"))
    key = f"{into.voted()}.{name}" if name else f"@{place.offset}"
    kind, text = message.get("type"), speakers.texts(message.get("content"))
    if not into.new(key if name else None):
        return
    if kind == "user":
        into.said("user", text, place, key)
    elif kind in ("gemini", "model"):
        into.said("assistant", text, place, key)
        calls = message.get("toolCalls")
        for number, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, dict):
                _call(call, place, f"{key}/{number}", into)
    elif kind in ("info", "error"):
        into.put_in(text, place, key, error=kind == "error")


def _call(call: Mapping[str, Any], place: Place, key: str, into: Gather) -> None:
    """A call and, once it is over, its result."""
    into.called(call.get("name"), call.get("args"), place, key, key)
    status = call.get("status")
    if status in ("success", "error", "cancelled"):
        text = call["text"] if isinstance(call.get("text"), str) else _output(call)
        into.result(
            call.get("name"), text, place, f"{key}/result", error=status == "error", call=key
        )


def _output(call: Mapping[str, Any]) -> str:
    """What the person was shown, else what the model was given."""
    shown = call.get("resultDisplay")
    if isinstance(shown, str) and shown:
        return shown
    parts = call.get("result")
    for part in parts if isinstance(parts, list) else [parts]:
        function = part.get("functionResponse") if isinstance(part, dict) else None
        answer = function.get("response") if isinstance(function, dict) else None
        if isinstance(answer, dict):
            return speakers.texts(answer.get("error") or answer.get("output"))
    return speakers.texts(parts)
