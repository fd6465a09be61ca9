"""Codex, whose rollouts say words twice, as event and as item; and Copilot's command
line."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from memcli.sessions import speakers
from memcli.sessions.gather import Gather, Line, TurnPlace, decoded, mapping, records

_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_EVENTS = {"user_message": "user", "agent_message": "assistant"}
_CALLS = {
    "function_call": "",
    "custom_tool_call": "",
    "local_shell_call": "shell",
    "web_search_call": "web_search",
}
"""Items that call a tool, and the tool's name where they do not give it."""
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_KINDS = ("session.", "user.", "assistant.", "tool.")
_STATUS = re.compile(r"^(?:Exit code:|Process exited with code) -?[1-9]", re.MULTILINE)


def recognises(record: Mapping[str, Any]) -> bool:
    """Whether a record is a line of a rollout."""
    return record.get("type") in _TYPES and isinstance(record.get("payload"), dict)


def read(lines: Iterable[Line], into: Gather) -> None:
    """Turns in order: words from events where there are any for that role, else from
    items."""
    rollout = _Rollout(into)
    for line, record in records(lines, into):
        place = TurnPlace(
            line.number, line.offset, speakers.when(record.get("timestamp"))
        )
        rollout.record(record.get("type"), mapping(record.get("payload")), place)


class _Rollout:
    def __init__(self, into: Gather) -> None:
        self.into = into
        self.root = ""
        self.said: Counter[str] = Counter()
        self.items: dict[
            str, set[str]
        ] = {}  # role -> turns of items; none where events say them

    def record(self, kind: Any, item: Mapping[str, Any], place: TurnPlace) -> None:
        if kind == "session_meta":
            # The first one is the file's own; others came along when a session was
            # forked.
            name = speakers.name(item.get("id") or item.get("session_id"))
            if not self.into.turns:
                self.root = speakers.name(item.get("forked_from_id")) or name
            if not self.into.id:
                self.into.where(session=name, cwd=item.get("cwd"))
                self.into.id = name
        elif kind == "turn_context":
            self.into.where(cwd=item.get("cwd"))
        elif kind == "event_msg":
            self._event(item, place)
        elif kind == "response_item":
            self._item(item, place)

    def _event(self, item: Mapping[str, Any], place: TurnPlace) -> None:
        kind = item.get("type")
        role = _EVENTS.get(str(item.get("type")))
        if kind == "thread_rolled_back" and isinstance(
            count := item.get("num_turns"), int
        ):
            self.into.back(count)
        elif kind == "turn_aborted":
            key = self._key("note", str(item.get("reason")))
            self.into.put_in("[turn aborted]", place._replace(key=key))
        elif role and isinstance(text := item.get("message"), str):
            if gone := self.items.pop(role, None):
                kept = [
                    each
                    for each in self.into.turns
                    if each.key.split("/")[0] not in gone
                ]
                self.into.turns = kept
            self._words(role, role, text, place)

    def _words(self, kind: str, role: str, text: str, place: TurnPlace) -> str:
        key = self._key(kind, text)
        if self.into.new(key):
            self.into.said(role, text, place._replace(key=key))
        return key

    def _key(self, kind: str, text: str) -> str:
        """The same for a copy of this turn in a session that was forked from this
        one."""
        self.said[kind] += 1
        basis = f"{self.root}\0{kind}\0{self.said[kind]}\0{text}"
        return hashlib.sha256(basis.encode("utf-8", "replace")).hexdigest()[:32]

    def _item(self, item: Mapping[str, Any], place: TurnPlace) -> None:
        kind = str(item.get("type"))
        call = speakers.name(item.get("call_id") or item.get("id"))
        if kind == "message":
            role = item.get("role")
            if (
                role in ("user", "assistant") and not self.said[role]
            ):  # no event says such words
                key = self._words(
                    f"item {role}", role, speakers.texts(item.get("content")), place
                )
                self.items.setdefault(role, set()).add(key)
        elif kind in _CALLS:
            key = call or self._key(kind, str(item.get("arguments"))[:1000])
            given = item.get("arguments") or item.get("input") or item.get("action")
            given = decoded(given) if kind == "function_call" else given
            if self.into.new(key):
                tool = item.get("name") or _CALLS[kind]
                self.into.called(tool, given, place._replace(key=key), call)
        elif kind in _OUTPUTS:
            text, bad = _result(item.get("output"))
            key = f"{call}/1" if call else self._key("output", text[:1000])
            if self.into.new(key):
                self.into.result(
                    "", text, place._replace(key=key), error=bad, call=call
                )


def _result(output: Any) -> tuple[str, bool]:
    about = mapping(
        decoded(output) if isinstance(output, str) and output[:1] == "{" else output
    )
    if not about:
        text = speakers.texts(output)
        return text, _STATUS.search(text, 0, 400) is not None
    code = mapping(about.get("metadata") or about).get("exit_code")
    text = speakers.texts(
        about.get("output") or about.get("content") or about.get("error")
    )
    bad = about.get("success") is False or (isinstance(code, int) and code != 0)
    return text or json.dumps(about), bad


def recognises_copilot(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of Copilot's events."""
    return str(record.get("type")).startswith(_KINDS) and isinstance(
        record.get("data"), dict
    )


def read_copilot(lines: Iterable[Line], into: Gather) -> None:
    """Turns in order; an event whose id was seen is passed over."""
    for line, record in records(lines, into):
        kind = record.get("type")
        data = mapping(record.get("data"))
        call = data.get("toolCallId")
        text = speakers.texts(data.get("content"))
        if kind == "session.start":
            cwd = mapping(data.get("context")).get("cwd")
            into.where(session=data.get("sessionId"), cwd=cwd)
        elif (place := into.event(line, record, "id")) is None:
            continue
        elif kind == "user.message":
            typed = data.get("source") in (None, "", "user") and not data.get(
                "parentToolCallId"
            )
            into.said("user", text, place) if typed else into.put_in(text, place)
        elif kind == "assistant.message":
            into.said("assistant", text, place)
        elif kind == "tool.execution_start":
            into.called(data.get("toolName"), data.get("arguments"), place, call)
        elif kind == "tool.execution_complete":
            bad = data.get("success") is False
            into.result("", _copilot_result(data), place, error=bad, call=call)


def _copilot_result(data: Mapping[str, Any]) -> str:
    ended = [data.get("result"), data.get("error")]
    words = [mapping(each).get(key) for each in ended for key in ("content", "message")]
    return next(filter(None, map(speakers.texts, [*words, *ended])), "")
