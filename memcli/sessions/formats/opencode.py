"""OpenCode: a database of all sessions, or the export of one of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memcli.sessions import inside, resolves_inside, speakers
from memcli.sessions.formats.protocol import Document, Format, Store
from memcli.sessions.gather import (
    Gather,
    Record,
    TurnPlace,
    decoded,
    mapping,
    mappings,
    value_at,
)
from memcli.storage import sqlite
from memcli.storage.sqlite import Owner
from memcli.text.matching import regex

TABLES = ("session", "message", "part")
SESSIONS = "SELECT id, directory, parent_id FROM session ORDER BY time_created, id"
PARTS = """
SELECT p.id, m.time_created, m.data, substr(p.data, 1, 8000000)
FROM message AS m JOIN part AS p ON p.message_id = m.id
WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id"""


class _Message(NamedTuple):
    """What all parts of a message share."""

    role: object
    created: object


def read_database(path: Path, into: Gather, folders: Sequence[str]) -> None:
    """Every session of `folders` (at or below; of all without any); offsets count
    parts."""
    hint = "name the database of OpenCode"
    with sqlite.opened(path, TABLES, kind="OpenCode", hint=hint) as database:
        for session, folder, parent in sqlite.all_rows(database, SESSIONS, path):
            if folders and not inside(str(folder), folders):
                continue
            into.close()
            into.where(session=session, cwd=folder)
            into.by_agent = bool(parent)
            for name, created, data, part_data in database.execute(PARTS, (session,)):
                about = decoded(data)
                part = decoded(part_data)
                if isinstance(about, dict) and isinstance(part, dict):
                    message = _Message(role=about.get("role"), created=created)
                    _part(name, part, message, into)
                else:
                    into.skipped += 1


def is_export(document: Any) -> bool:
    """Whether a document is what `opencode export` prints."""
    about = mapping(document)
    has_messages = isinstance(about.get("messages"), list)
    return has_messages and isinstance(about.get("info"), dict)


def read_export(document: Record, into: Gather) -> None:
    """One session, as `opencode export` prints it."""
    session = document["info"]
    into.where(session=session.get("id"), cwd=session.get("directory"))
    into.by_agent = into.by_agent or bool(session.get("parentID"))
    title = session.get("title")
    if not str(title).startswith("New session - "):
        into.called_session(title)
    for record in mappings(document["messages"]):
        about = mapping(record.get("info"))
        created = value_at(about, "time", "created")
        message = _Message(role=about.get("role"), created=created)
        for part in mappings(record.get("parts")):
            _part(part.get("id") or f"@{into.end}", part, message, into)


def _part(name: object, part: Record, message: _Message, into: Gather) -> None:
    kind = part.get("type")
    if kind not in ("text", "tool"):
        return
    key = speakers.name(name)
    time = speakers.when(message.created)
    place = TurnPlace(line=0, offset=into.end, time=time, key=key)
    into.end += 1
    if not into.new(key):
        return
    if kind == "tool":
        _tool(part, place, into)
    else:
        _text(part, message.role, place, into)


def _text(part: Record, role: object, place: TurnPlace, into: Gather) -> None:
    text = part.get("text")
    if part.get("synthetic") or part.get("ignored"):
        into.put_in(str(text or ""), place)
    elif role == "assistant" and isinstance(text, str):
        into.said("assistant", text, place)
    elif role == "user" and isinstance(text, str):
        # `opencode run` stores what it was given in quotes.
        quoted = regex(r'\s*"([^"]*)"\s*').fullmatch(text)
        into.said("user", quoted[1] if quoted else text, place)


def _tool(part: Record, place: TurnPlace, into: Gather) -> None:
    tool = part.get("tool")
    state = mapping(part.get("state"))
    status = state.get("status")
    into.called(tool, decoded(state.get("input")), place, place.key)
    if status in ("completed", "error"):
        text = str(state.get("output") or state.get("error") or "")
        failed = status == "error"
        into.result(tool, text, place.nth(1), error=failed, call=place.key)


def _owner(path: Path, store: Path, wanted: Sequence[str]) -> Owner:
    """The first folder of the database that is one of those looked for."""
    query = "SELECT DISTINCT directory FROM session"
    with sqlite.opened(
        path, TABLES, kind="OpenCode", hint="close opencode"
    ) as database:
        rows = sqlite.all_rows(database, query, path)
    folders = (str(row[0]) for row in rows)
    return Owner(
        "", next((name for name in folders if resolves_inside(name, wanted)), "")
    )


FORMAT = Format(
    name="opencode",
    title="OpenCode",
    document=Document(recognises=is_export, read=read_export),
    store=Store(files=("opencode.db",), owner=_owner),
)
