"""Chats of any tool in JSON: messages with a role and a content."""

from typing import Any

from memcli.sessions import speakers
from memcli.sessions.formats.blocks import Blocks
from memcli.sessions.formats.protocol import Document, Format
from memcli.sessions.gather import (
    Gather,
    Lines,
    Record,
    TurnPlace,
    decoded,
    mapping,
    mappings,
    records,
)

ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "bot"), "assistant"),
    **dict.fromkeys(("tool", "function"), "tool"),
    **dict.fromkeys(("system", "developer"), "system"),
}
LISTS = ("messages", "conversation", "turns", "chat_messages")
WORDS = ("content", "text", "tool_calls")
TIMES = ("time", "timestamp", "created_at", "create_time")
SESSIONS = "session_id sessionId conversation_id uuid id thread_id".split()


def messages_of(document: Any) -> list[Any] | None:
    """The messages of a whole JSON document, a list or an object that has one; None for
    others."""
    lists = [document, *map(mapping(document).get, LISTS)]
    messages = next((each for each in lists if isinstance(each, list)), None)
    return None if messages and not any(map(message_of, messages[:50])) else messages


def message_of(record: Any) -> Record | None:
    """The message that a record is, with its role by one of our names; None for
    others."""
    outer = mapping(record)
    inner = mapping(outer.get("message"))
    if inner and "role" not in outer:
        return message_of({**inner, "time": _time(outer) or _time(inner)})
    speaker = str(outer.get("role", outer.get("sender")))
    role = ROLES.get(speaker.lower())
    if role and outer.get("tool_call_id"):  # whoever's role a relay gives it
        role = "tool"
    has_words = any(name in outer for name in WORDS)
    return {**outer, "role": role} if role and has_words else None


def _time(message: Record) -> Any:
    return next(filter(None, map(message.get, TIMES)), None)


def read(lines: Lines, into: Gather) -> None:
    """JSON lines, each a message."""
    blocks = Blocks(into)
    for line, record in records(lines, into):
        into.where(session=record.get("session_id"), cwd=record.get("cwd"))
        _message(record, line.place(), blocks)


def read_document(document: Any, into: Gather) -> None:
    """A whole JSON document: a chat, or its messages."""
    blocks = Blocks(into)
    about = mapping(document)
    names = (about[key] for key in SESSIONS if isinstance(about.get(key), str))
    into.where(session=next(names, ""), cwd=about.get("cwd"))
    for message in messages_of(document) or []:
        place = TurnPlace(line=0, offset=into.end, key=f"@{into.end}")
        _message(message, place, blocks)
        into.end += 1


def _message(record: Any, place: TurnPlace, blocks: Blocks) -> None:
    message = message_of(record)
    if message is None:
        return
    place = place._replace(time=speakers.when(_time(message)))
    content = message.get("content")
    text = message.get("text")
    if isinstance(text, str) and (text or not content):
        content = text
    if message["role"] == "user":
        blocks.user(content, place)
    elif message["role"] == "tool":
        call = message.get("tool_call_id")
        failed = message.get("is_error") is True
        result = speakers.texts(content)
        blocks.into.result(message.get("name"), result, place, error=failed, call=call)
    elif message["role"] == "system":
        blocks.into.put_in(speakers.texts(content), place)
    else:
        blocks.assistant(content, place)
        _calls(message, place, blocks.into)


def _calls(message: Record, place: TurnPlace, into: Gather) -> None:
    """Calls as the chat completions API writes them."""
    for number, call in enumerate(mappings(message.get("tool_calls"))):
        if function := mapping(call.get("function")):
            given = decoded(function.get("arguments"))
            where = place.nth(f"call{number}")
            into.called(function.get("name"), given, where, call.get("id"))


FORMAT = Format(
    name="chat",
    title="chat JSON (role, content)",
    recognises=message_of,
    read=read,
    document=Document(
        recognises=lambda document: messages_of(document) is not None,
        read=read_document,
    ),
)
