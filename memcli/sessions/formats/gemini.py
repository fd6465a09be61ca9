"""Gemini's command line: a session as JSON lines that are patched, or as one
document."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from memcli.sessions import speakers
from memcli.sessions.formats.protocol import Document, Format, Store
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
from memcli.storage.files import SMALL_BYTES, read_text
from memcli.storage.sqlite import Owner

SPEAKERS = {"user": "user", "gemini": "assistant", "model": "assistant"}
NOTES = ("info", "error")


def recognises(record: Record) -> bool:
    """Whether a record is the header of a session, or a whole session."""
    known = "projectHash" in record or "startTime" in record
    return known and isinstance(record.get("sessionId"), str)


def read(lines: Lines, into: Gather) -> None:
    """JSON lines: the last copy of a message counts, and what was rewound is gone."""
    messages: dict[str, tuple[TurnPlace, Record]] = {}
    for line, record in records(lines, into):
        place = line.place()
        if recognises(record):
            _about(record, into)
            carried = enumerate(mappings(record.get("messages")))
            messages |= {str(number): (place, message) for number, message in carried}
        elif "$rewindTo" in record:
            _rewind(messages, str(record["$rewindTo"]))
        elif patch := mapping(record.get("$set")):
            _about(patch, into)
        elif record.get("type") in (*SPEAKERS, *NOTES):
            key = str(record.get("id") or f"@{line.offset}")
            first_place, _ = messages.get(key, (place, record))
            messages[key] = (first_place, record)
    for place, message in messages.values():
        _message(message, place, into)


def _rewind(messages: dict[str, Any], first: str) -> None:
    if first in messages:
        keys = list(messages)
        for key in keys[keys.index(first) :]:
            del messages[key]


def read_document(document: Record, into: Gather) -> None:
    """One JSON object: the session and its messages."""
    _about(document, into)
    for message in mappings(document.get("messages")):
        _message(message, TurnPlace(line=0, offset=into.end), into)
        into.end += 1


def _about(record: Record, into: Gather) -> None:
    folders = record.get("directories")
    if not isinstance(folders, list) or not folders:
        folders = [record.get("cwd")]
    into.where(session=record.get("sessionId"), cwd=folders[0])
    into.by_agent = into.by_agent or record.get("kind") == "subagent"


def _message(message: Record, place: TurnPlace, into: Gather) -> None:
    name = speakers.name(message.get("id"))
    key = f"{into.voted()}.{name}" if name else f"@{place.offset}"
    if not into.new(key if name else None):
        return
    place = place._replace(time=speakers.when(message.get("timestamp")), key=key)
    kind = message.get("type")
    # What was typed, where a template or files were put in its place.
    shown = message.get("displayContent") if kind == "user" else None
    text = speakers.texts(shown or message.get("content"))
    if kind in NOTES:
        into.put_in(text, place, error=kind == "error")
    elif kind in tuple(SPEAKERS):
        into.said(SPEAKERS[kind], text, place)
        for number, call in enumerate(mappings(message.get("toolCalls"))):
            _call(call, place._replace(key=f"{key}/{number}"), into)


def _call(call: Record, place: TurnPlace, into: Gather) -> None:
    tool = call.get("name")
    status = call.get("status")
    into.called(tool, call.get("args"), place, place.key)
    if status in ("success", "error", "cancelled"):
        failed = status == "error"
        where = place.nth("result")
        into.result(tool, _output(call), where, error=failed, call=place.key)


def _output(call: Record) -> str:
    shown = call.get("resultDisplay")
    if isinstance(shown, str) and shown:
        return shown
    result = call.get("result")
    for part in mappings(result if isinstance(result, list) else [result]):
        if answer := mapping(value_at(part, "functionResponse", "response")):
            return speakers.texts(answer.get("error") or answer.get("output"))
    return speakers.texts(result)


def _owner(path: Path, store: Path, wanted: Sequence[str]) -> Owner:
    """The folder stands in a file beside; before there was one, only its hash."""
    project = path.parent.parent
    with suppress(OSError):
        return Owner("", read_text(project / ".project_root", most=SMALL_BYTES).strip())
    folders = {hashlib.sha256(path.encode()).hexdigest(): path for path in wanted}
    return Owner("", folders.get(project.name, ""))


FORMAT = Format(
    name="gemini",
    title="Gemini CLI",
    recognises=recognises,
    read=read,
    document=Document(
        recognises=lambda document: recognises(mapping(document)),
        read=read_document,
        in_one_line="messages",
    ),
    store=Store(
        files=("*/chats/session-*.json", "*/chats/session-*.jsonl"), owner=_owner
    ),
)
