"""Claude Code: one JSON record a line; what a person typed is a small part of what has the user's
role.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memcli.sessions import speakers
from memcli.sessions.formats.blocks import Blocks
from memcli.sessions.gather import Gather, Place
from memcli.sessions.lines import Line, parse, records

_CONTROL = (
    "summary",
    "file-history-snapshot",
    "queue-operation",
    "permission-mode",
    "ai-title",
    "custom-title",
)
_COPY = b',"toolUseResult":'
_NEEDED = {"type", "message", "uuid", "timestamp", "sessionId"}
_NOT_TYPED = (
    "toolUseResult",
    "isMeta",
    "isSidechain",
    "isCompactSummary",
    "isVisibleInTranscriptOnly",
)


def recognises(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of Claude Code's."""
    kind = record.get("type")
    return isinstance(kind, str) and (isinstance(record.get("sessionId"), str) or kind in _CONTROL)


def wanted(data: bytes) -> bool:
    """Whether a line may hold words: the others, of many and ever new types, are not even parsed."""
    return b'"user"' in data or b'"assistant"' in data


def read(lines: Iterable[Line], into: Gather) -> None:
    """Turns in the order of the file. An event whose uuid was seen is passed over."""
    blocks = Blocks(into)
    agent = ""
    for line, record in records(lines, into, wanted, _parsed):
        if record.get("type") not in ("user", "assistant"):
            continue
        into.where(
            session=record.get("sessionId"), cwd=record.get("cwd"), branch=record.get("gitBranch")
        )
        into.parent = into.parent or _forked(record)
        if record.get("isSidechain") is True:
            agent = agent or speakers.name(record.get("agentId"))
        else:
            agent = "-"
        if into.new(record.get("uuid")):
            _record(line, record, blocks)
    if agent not in ("", "-"):
        into.parent, into.id = into.parent or into.voted(), agent


def _parsed(data: bytes) -> Any:
    """The record without the second copy of a tool's result, which is often most of it and stands
    last.

    An unescaped quote before the name means that it is a key; should the rest not be a whole record
    (the key is a nested one, or does not stand last), all of it is parsed.
    """
    at = data.find(_COPY) if data[-1:] == b"}" else -1
    if at > 0:
        try:
            record = parse(data[:at] + b"}")
        except ValueError:
            record = None
        if isinstance(record, dict) and record.keys() >= _NEEDED:
            record["toolUseResult"] = True
            return record
    return parse(data)


def _forked(record: Mapping[str, Any]) -> str:
    source = record.get("forkedFrom")
    return speakers.name(source.get("sessionId")) if isinstance(source, dict) else ""


def _record(line: Line, record: Mapping[str, Any], blocks: Blocks) -> None:
    message = record.get("message")
    if not isinstance(message, dict):
        return
    content = message.get("content")
    place = Place(line.number, line.offset, speakers.when(record.get("timestamp")))
    key = speakers.name(record.get("uuid")) or f"@{line.offset}"
    if record["type"] == "user":
        blocks.user(content, place, key, typed=_typed(record))
    elif record.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
        blocks.into.put_in(
            speakers.texts(content), place, key, error=bool(record.get("isApiErrorMessage"))
        )
    else:
        blocks.assistant(content, place, key, message.get("id"))


def _typed(record: Mapping[str, Any]) -> bool:
    """Whether the record can hold words that a person typed."""
    source = record.get("origin")
    if isinstance(source, dict) and source.get("kind") not in (None, "human"):
        return False
    return not any(record.get(name) for name in _NOT_TYPED)
