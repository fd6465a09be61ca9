"""Messages in parts: Gemini's command line, Qwen Code, OpenCode's database and its
export."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memcli.sessions import inside, speakers
from memcli.sessions.gather import (
    Gather,
    Line,
    TurnPlace,
    decoded,
    mapping,
    mappings,
    records,
)
from memcli.storage import sqlite

_TYPES = ("user", "gemini", "model", "info", "error")
TABLES = ("session", "message", "part")
_QUOTED = re.compile(r'\s*"([^"]*)"\s*')
_SESSIONS = "SELECT id, directory FROM session ORDER BY time_created, id"
_PARTS = """
SELECT p.id, m.time_created, m.data, substr(p.data, 1, 8000000)
FROM message AS m JOIN part AS p ON p.message_id = m.id
WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id"""


def recognises(record: Mapping[str, Any]) -> bool:
    """Whether a record is the header of a session, or a whole session."""
    known = "projectHash" in record or "startTime" in record
    return known and isinstance(record.get("sessionId"), str)


def read(lines: Iterable[Line], into: Gather) -> None:
    """JSON lines: the last copy of a message counts, and what was rewound is gone."""
    found: dict[str, tuple[TurnPlace, Mapping[str, Any]]] = {}
    for line, record in records(lines, into):
        place = TurnPlace(line.number, line.offset)
        if recognises(record):
            _about(record, into)
            found |= {
                str(n): (place, m)
                for n, m in enumerate(mappings(record.get("messages")))
            }
        elif "$rewindTo" in record:
            names = list(found)
            to = str(record["$rewindTo"])
            for name in names[names.index(to) :] if to in found else ():
                del found[name]
        elif patch := mapping(record.get("$set")):
            _about(patch, into)
        elif record.get("type") in _TYPES:
            key = str(record.get("id") or f"@{line.offset}")
            found[key] = found.get(key, (place,))[0], record
    for place, message in found.values():
        _message(message, place, into)


def read_document(document: Mapping[str, Any], into: Gather) -> None:
    """One JSON object: the session and its messages."""
    _about(document, into)
    for message in mappings(document.get("messages")):
        _message(message, TurnPlace(0, into.end), into)
        into.end += 1


def _about(record: Mapping[str, Any], into: Gather) -> None:
    directories = record.get("directories")
    at = (
        directories[0]
        if isinstance(directories, list) and directories
        else record.get("cwd")
    )
    into.where(session=record.get("sessionId"), cwd=at)


def _message(message: Mapping[str, Any], place: TurnPlace, into: Gather) -> None:
    name = speakers.name(message.get("id"))
    key = f"{into.voted()}.{name}" if name else f"@{place.offset}"
    place = place._replace(time=speakers.when(message.get("timestamp")), key=key)
    kind = message.get("type")
    text = speakers.texts(message.get("content"))
    if not into.new(key if name else None):
        return
    if kind in ("user", "gemini", "model"):
        into.said("user" if kind == "user" else "assistant", text, place)
        for number, call in enumerate(mappings(message.get("toolCalls"))):
            at = place._replace(key=f"{key}/{number}")
            into.called(call.get("name"), call.get("args"), at, at.key)
            if (status := call.get("status")) in ("success", "error", "cancelled"):
                about = at.nth("result")
                bad = status == "error"
                into.result(
                    call.get("name"), _output(call), about, error=bad, call=at.key
                )
    elif kind in ("info", "error"):
        into.put_in(text, place, error=kind == "error")


def _output(call: Mapping[str, Any]) -> str:
    shown = call.get("resultDisplay")
    given = call.get("result")
    if isinstance(shown, str) and shown:
        return shown
    for part in mappings(given if isinstance(given, list) else [given]):
        if answer := mapping(mapping(part.get("functionResponse")).get("response")):
            return speakers.texts(answer.get("error") or answer.get("output"))
    return speakers.texts(given)


def recognises_qwen(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of Qwen Code's."""
    has_parts = isinstance(mapping(record.get("message")).get("parts"), list)
    known = isinstance(record.get("sessionId"), str) and "uuid" in record
    return known and (has_parts or "systemPayload" in record)


def read_qwen(lines: Iterable[Line], into: Gather) -> None:
    """Turns in order; an event whose uuid was seen is passed over."""
    for line, record in records(lines, into):
        into.where(session=record.get("sessionId"), cwd=record.get("cwd"))
        parts = mappings(mapping(record.get("message")).get("parts"))
        if not parts or not (place := into.event(line, record)):
            continue
        texts = [part.get("text") for part in parts if not part.get("thought")]
        if record.get("type") in ("user", "assistant"):
            into.said(record["type"], speakers.texts(texts), place)
        status = mapping(record.get("toolCallResult")).get("status")
        for number, part in enumerate(parts, 1):
            _qwen_tool(part, place.nth(number), into, failed=status == "error")


def _qwen_tool(
    part: Mapping[str, Any], at: TurnPlace, into: Gather, *, failed: bool
) -> None:
    asked = mapping(part.get("functionCall"))
    answer = mapping(part.get("functionResponse"))
    if asked:
        into.called(asked.get("name"), asked.get("args"), at, asked.get("id"))
    elif answer:
        given = mapping(answer.get("response"))
        text = speakers.texts(given.get("output") or given.get("error") or "")
        bad = failed or "error" in given
        into.result(answer.get("name"), text, at, error=bad, call=answer.get("id"))


def read_database(path: Path, into: Gather, folders: Sequence[str]) -> None:
    """Every session of `folders` (at or below; of all without any); offsets count
    parts."""
    hint = "name the database of OpenCode"
    with sqlite.opened(path, TABLES, kind="OpenCode", hint=hint) as db:
        for name, directory in sqlite.all_rows(db, _SESSIONS, path):
            if folders and not inside(str(directory), folders):
                continue
            into.close()
            into.where(session=name, cwd=directory)
            for key, created, message, data in db.execute(_PARTS, (name,)):
                info = decoded(message)
                part = decoded(data)
                if isinstance(info, dict) and isinstance(part, dict):
                    _part(key, created, info.get("role"), part, into)
                else:
                    into.skipped += 1


def read_export(document: Mapping[str, Any], into: Gather) -> None:
    """One session, as `opencode export` prints it."""
    about = document["info"]
    into.where(session=about.get("id"), cwd=about.get("directory"))
    for message in mappings(document["messages"]):
        info = mapping(message.get("info"))
        created = mapping(info.get("time")).get("created")
        for part in mappings(message.get("parts")):
            _part(
                part.get("id") or f"@{into.end}", created, info.get("role"), part, into
            )


def _part(
    name: object, created: object, role: object, part: Mapping[str, Any], into: Gather
) -> None:
    kind = part.get("type")
    text = part.get("text")
    key = speakers.name(name)
    if kind not in ("text", "tool"):
        return
    place = TurnPlace(line=0, offset=into.end, time=speakers.when(created), key=key)
    into.end += 1
    if not into.new(key):
        return
    if kind == "tool":
        _tool(part, place, into)
    elif part.get("synthetic") or part.get("ignored"):
        into.put_in(str(text or ""), place)
    elif role in ("user", "assistant") and isinstance(text, str):
        quoted = role == "user" and _QUOTED.fullmatch(
            text
        )  # so `opencode run` stores it
        into.said(str(role), quoted[1] if quoted else text, place)


def _tool(part: Mapping[str, Any], place: TurnPlace, into: Gather) -> None:
    state = mapping(part.get("state"))
    into.called(part.get("tool"), decoded(state.get("input")), place, place.key)
    if (status := state.get("status")) in ("completed", "error"):
        said = str(state.get("output") or state.get("error") or "")
        bad = status == "error"
        into.result(part.get("tool"), said, place.nth(1), error=bad, call=place.key)
