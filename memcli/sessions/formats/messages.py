"""Messages with content blocks: Claude Code, its stream, Cursor's command line, plain
chats."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from memcli.sessions import speakers
from memcli.sessions.gather import (
    Gather,
    Line,
    TurnPlace,
    decoded,
    mapping,
    mappings,
    records,
)

_SPOKEN = ("text", "input_text", "output_text")
_CONTROL = frozenset(
    "summary file-history-snapshot queue-operation permission-mode ai-title custom-title".split()
)
_STREAMED = ("system", "user", "assistant", "result", "stream_event")
_NOT_TYPED = (
    "toolUseResult tool_use_result isMeta isSidechain isCompactSummary isVisibleInTranscriptOnly"
    " isSynthetic parent_tool_use_id"
).split()
_QUERY = re.compile(r"<user_query>(.*?)(?:</user_query>|\Z)", re.DOTALL)
_NAMED = "user human", "assistant ai model bot", "tool function", "system developer"
_ROLES = {name: names.split()[0] for names in _NAMED for name in names.split()}
_LISTS = ("messages", "conversation", "turns", "chat_messages")
_WORDS = ("content", "text", "tool_calls")
_TIMES = ("time", "timestamp", "created_at", "create_time")
_SESSIONS = ("session_id", "sessionId", "conversation_id", "uuid", "id", "thread_id")


class Blocks:
    """Turns of messages."""

    def __init__(self, into: Gather) -> None:
        self.into = into
        self._answer: Any = ""

    def user(self, content: Any, place: TurnPlace, *, typed: bool = True) -> None:
        """A message under the user's role: tool results, and words, human only if
        `typed`."""
        self._answer = ""
        results = [each for each in mappings(content) if _kind(each) == "tool_result"]
        for number, block in enumerate(results):
            at = place.nth(number)
            call = block.get("tool_use_id")
            text = speakers.texts(block.get("content"))
            bad = block.get("is_error") is True
            tool = self.into.result("", text, at, error=bad, call=call)
            if said := speakers.answered(tool, text):
                self.into.said("user", said, at.nth("said"))
        if isinstance(content, list):
            content = [
                each
                for each in content
                if isinstance(each, str) or _kind(each) in _SPOKEN
            ]
        if text := speakers.texts(content):
            place = place.nth(len(results))
            self.into.said("user", text, place) if typed else self.into.put_in(
                text, place
            )

    def assistant(self, content: Any, place: TurnPlace, answer: Any = "") -> None:
        """A message of the agent. Text after text of the same `answer` is more of that
        turn."""
        number = 0
        for given in content if isinstance(content, list) else [content]:
            block = given if isinstance(given, dict) else {"text": given}
            if _kind(block) in _SPOKEN and isinstance(block.get("text"), str):
                number += self._text(block["text"], place.nth(number), answer)
            elif _kind(block) in ("tool_use", "server_tool_use", "mcp_tool_use"):
                self._answer = ""
                called = (
                    block.get("name"),
                    block.get("input"),
                    place.nth(number),
                    block.get("id"),
                )
                self.into.called(*called)
                number += 1

    def _text(self, text: str, place: TurnPlace, answer: Any) -> bool:
        """Whether a turn was begun."""
        before = len(self.into.turns)
        if answer and answer == self._answer and before:
            self.into.more(text)
            return False
        self.into.said("assistant", text, place)
        begun = len(self.into.turns) > before
        self._answer = answer if begun else ""
        return begun


def _kind(block: Any) -> Any:
    return block.get("type", "text") if isinstance(block, dict) else None


def recognises(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of a session."""
    kind = record.get("type")
    return isinstance(kind, str) and (
        isinstance(record.get("sessionId"), str) or kind in _CONTROL
    )


def recognises_event(record: Mapping[str, Any]) -> bool:
    """Whether a record is an event of a stream."""
    if record.get("type") not in _STREAMED or "sessionId" in record:
        return False
    return isinstance(record.get("session_id"), str) or isinstance(
        record.get("message"), dict
    )


def read(lines: Iterable[Line], into: Gather) -> None:
    """Turns in the order of the file. An event whose uuid was seen is passed over."""
    blocks = Blocks(into)
    agents = set()
    for line, record in records(lines, into):
        kind = record.get("type")
        session = record.get("sessionId") or record.get("session_id")
        into.where(session=session, cwd=record.get("cwd"))
        place = (
            into.event(line, record)
            if kind in ("user", "assistant", "result")
            else None
        )
        if kind in ("user", "assistant"):
            own = record.get("isSidechain") is True
            agents.add(speakers.name(record.get("agentId")) if own else "")
        if place and kind != "result":
            _said(record, place, blocks)
        elif (
            place and record.get("is_error") is True
        ):  # another one repeats the last answer
            text = (
                speakers.texts(record.get("result")) or str(record.get("subtype"))[:100]
            )
            into.put_in(text, place, error=True)
    if len(agents) == 1:
        into.id = agents.pop()


def _said(record: Mapping[str, Any], place: TurnPlace, blocks: Blocks) -> None:
    message = mapping(record.get("message"))
    content = message.get("content")
    if record["type"] == "user":
        of_others = mapping(record.get("origin")).get("kind") not in (None, "human")
        typed = not of_others and not any(record.get(name) for name in _NOT_TYPED)
        blocks.user(content, place, typed=typed)
    elif record.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
        failed = bool(record.get("isApiErrorMessage"))
        blocks.into.put_in(speakers.texts(content), place, error=failed)
    else:
        blocks.assistant(content, place, message.get("id"))


def recognises_cursor(record: Mapping[str, Any]) -> bool:
    """Whether a record is a message of Cursor."""
    known = record.get("role") in ("user", "assistant") and "uuid" not in record
    return known and isinstance(mapping(record.get("message")).get("content"), list)


def read_cursor(lines: Iterable[Line], into: Gather) -> None:
    """Turns in order. Of a person's message only the query is theirs, where one is
    marked."""
    blocks = Blocks(into)
    for line, record in records(lines, into):
        if not recognises_cursor(record):
            continue
        place = TurnPlace(line.number, line.offset, key=f"@{line.offset}")
        found = record["message"]["content"]
        content = [each for each in found if mapping(each).get("text") != "[REDACTED]"]
        if record["role"] == "assistant":
            blocks.assistant(content, place)
        else:
            text = speakers.texts(content)
            asked = "\n".join(_QUERY.findall(text)) if "<user_query>" in text else text
            blocks.user(asked, place)


def messages_of(document: Any) -> list[Any] | None:
    """The messages of a whole JSON document, a list or an object that has one; None for
    others."""
    lists = [document, *(mapping(document).get(name) for name in _LISTS)]
    found = next((each for each in lists if isinstance(each, list)), None)
    return found if not found or any(message_of(item) for item in found[:50]) else None


def message_of(record: Any) -> Mapping[str, Any] | None:
    """The message that a record is, with its role by one of our names; None for
    others."""
    inner = mapping(mapping(record).get("message"))
    record = mapping(record)
    if inner and "role" not in record:
        return message_of({**inner, "time": _time(record) or _time(inner)})
    role = _ROLES.get(str(record.get("role", record.get("sender"))).lower())
    return (
        {**record, "role": role}
        if role and any(name in record for name in _WORDS)
        else None
    )


def _time(message: Mapping[str, Any]) -> Any:
    return next((message[name] for name in _TIMES if message.get(name)), None)


def read_chat(lines: Iterable[Line], into: Gather) -> None:
    """JSON lines, each a message."""
    blocks = Blocks(into)
    for line, record in records(lines, into):
        into.where(session=record.get("session_id"), cwd=record.get("cwd"))
        _turns(
            record, TurnPlace(line.number, line.offset, key=f"@{line.offset}"), blocks
        )


def read_document(document: Any, into: Gather) -> None:
    """A whole JSON document: a chat, or its messages."""
    blocks = Blocks(into)
    about = mapping(document)
    session = next(
        (about[name] for name in _SESSIONS if isinstance(about.get(name), str)), ""
    )
    into.where(session=session, cwd=about.get("cwd"))
    for message in messages_of(document) or []:
        _turns(message, TurnPlace(0, into.end, key=f"@{into.end}"), blocks)
        into.end += 1


def _turns(item: Any, place: TurnPlace, blocks: Blocks) -> None:
    message = message_of(item)
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
        bad = message.get("is_error") is True
        said = speakers.texts(content)
        blocks.into.result(message.get("name"), said, place, error=bad, call=call)
    elif message["role"] == "system":
        blocks.into.put_in(speakers.texts(content), place)
    else:
        blocks.assistant(content, place)
        # Calls as the chat completions API writes them.
        for number, call in enumerate(mappings(message.get("tool_calls"))):
            if function := mapping(call.get("function")):
                given = decoded(function.get("arguments"))
                at = place.nth(f"call{number}")
                blocks.into.called(function.get("name"), given, at, call.get("id"))
