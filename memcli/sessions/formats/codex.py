"""Codex: rollouts of JSON lines that say words twice, as an event and as an item."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from memcli.sessions import speakers
from memcli.sessions.formats.protocol import Format, Store
from memcli.sessions.gather import (
    Gather,
    Lines,
    Record,
    TurnPlace,
    decoded,
    mapping,
    records,
)
from memcli.text.matching import verbose

AGENTS = ("mcp", "subagent")
BY_PERSON = (None, "", "user")
"""What begins a session, and what a thread comes from."""
ROLES = {"user_message": "user", "agent_message": "assistant"}
"""Events that say words, and whose."""
CALLS = {
    "function_call": "",
    "custom_tool_call": "",
    "local_shell_call": "shell",
    "web_search_call": "web_search",
}
"""Items that call a tool, and the tool's name where they do not give it."""
KEPT_OF_KEY = 1000
"""Characters of a call or result without an id that its key is made of."""


@verbose(lines=True)
def _status() -> str:
    """The line in which a command's output says that it failed."""
    return r"^ (?: Exit[ ]code: | Process[ ]exited[ ]with[ ]code ) [ ] -?[1-9]"


def recognises(record: Record) -> bool:
    """Whether a record is a line of a rollout."""
    known = record.get("type") in (*RECORDS, "compacted")
    return known and isinstance(record.get("payload"), dict)


def read(lines: Lines, into: Gather) -> None:
    """Turns in order: words from events where there are any for that role, else from
    items."""
    rollout = _Rollout(into)
    for line, record in records(lines, into):
        if take := RECORDS.get(str(record.get("type"))):
            time = speakers.when(record.get("timestamp"))
            take(rollout, mapping(record.get("payload")), line.place(time))


def _is_by_agent(about: Record) -> bool:
    """Whether an agent began a session, itself or over MCP. A client that a person
    types in has a name, or one of its own choice."""
    source = about.get("source")
    begun_by = mapping(source).keys() - {"custom"}
    is_told = source in AGENTS or about.get("thread_source") not in BY_PERSON
    return bool(begun_by) or is_told


class _Rollout:
    def __init__(self, into: Gather) -> None:
        self.into = into
        self.root = ""
        self.spoken: Counter[str] = Counter()
        self.from_items: dict[str, set[str]] = {}
        """Role -> keys of turns that items said; none once an event says them."""

    def begin(self, about: Record, place: TurnPlace) -> None:
        """The first record is the file's own; others came along when a session was
        forked."""
        name = speakers.name(about.get("id") or about.get("session_id"))
        if not self.into.turns:
            self.root = speakers.name(about.get("forked_from_id")) or name
        if not self.into.id:
            self.into.where(session=name, cwd=about.get("cwd"))
            self.into.id = name
            self.into.by_agent = self.into.by_agent or _is_by_agent(about)

    def move(self, about: Record, place: TurnPlace) -> None:
        self.into.where(cwd=about.get("cwd"))

    def event(self, event: Record, place: TurnPlace) -> None:
        kind = str(event.get("type"))
        text = event.get("message")
        if kind in ROLES and isinstance(text, str):
            role = ROLES[kind]
            self._forget(self.from_items.pop(role, set()))
            self._speak(role, role, text, place)
        elif kind == "turn_aborted":
            key = self._key("note", str(event.get("reason")))
            self.into.put_in("[turn aborted]", place._replace(key=key))
        elif kind == "thread_rolled_back":
            count = event.get("num_turns")
            self.into.back(count if isinstance(count, int) else 0)

    def item(self, item: Record, place: TurnPlace) -> None:
        kind = str(item.get("type"))
        if kind == "message":
            self._message(item, place)
        elif kind in CALLS:
            self._call(kind, item, place)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._output(item, place)

    def _message(self, item: Record, place: TurnPlace) -> None:
        role = item.get("role")
        if role in ("user", "assistant") and not self.spoken[role]:
            text = speakers.texts(item.get("content"))
            key = self._speak(f"item {role}", role, text, place)
            self.from_items.setdefault(role, set()).add(key)

    def _call(self, kind: str, item: Record, place: TurnPlace) -> None:
        call = _call_id(item)
        arguments = str(item.get("arguments"))
        key = call or self._key(kind, arguments[:KEPT_OF_KEY])
        arguments_given = (
            item.get("arguments") or item.get("input") or item.get("action")
        )
        if kind == "function_call":
            arguments_given = decoded(arguments_given)
        if self.into.new(key):
            tool = item.get("name") or CALLS[kind]
            self.into.called(tool, arguments_given, place._replace(key=key), call)

    def _output(self, item: Record, place: TurnPlace) -> None:
        call = _call_id(item)
        text, failed = _result(item.get("output"))
        key = f"{call}/1" if call else self._key("output", text[:KEPT_OF_KEY])
        if self.into.new(key):
            where = place._replace(key=key)
            self.into.result("", text, where, error=failed, call=call)

    def _forget(self, keys: set[str]) -> None:
        if keys:
            turns = self.into.turns
            self.into.turns = [
                turn for turn in turns if turn.key.split("/")[0] not in keys
            ]

    def _speak(self, kind: str, role: str, text: str, place: TurnPlace) -> str:
        key = self._key(kind, text)
        if role == "user" and self.into.by_agent:
            # A copy of the person's words here is not to hide those they typed.
            key = f"{key}-agent"
        if self.into.new(key):
            self.into.said(role, text, place._replace(key=key))
        return key

    def _key(self, kind: str, text: str) -> str:
        """The same for a copy of this turn in a session that was forked from this
        one."""
        self.spoken[kind] += 1
        ordinal = str(self.spoken[kind])
        basis = "\0".join((self.root, kind, ordinal, text))
        return hashlib.sha256(basis.encode("utf-8", "replace")).hexdigest()[:32]


RECORDS: dict[str, Callable[[_Rollout, Record, TurnPlace], None]] = {
    "session_meta": _Rollout.begin,
    "turn_context": _Rollout.move,
    "event_msg": _Rollout.event,
    "response_item": _Rollout.item,
}


def _call_id(item: Record) -> str:
    return speakers.name(item.get("call_id") or item.get("id"))


def _result(output: Any) -> tuple[str, bool]:
    """The text of a tool's output, and whether the tool failed."""
    if isinstance(output, str) and output.startswith("{"):
        output = decoded(output)
    about = mapping(output)
    if not about:
        text = speakers.texts(output)
        return text, _status().search(text, 0, 400) is not None
    shown = about.get("output") or about.get("content") or about.get("error")
    code = mapping(about.get("metadata") or about).get("exit_code")
    failed = isinstance(code, int) and code != 0
    text = speakers.texts(shown) or json.dumps(about)
    return text, failed or about.get("success") is False


FORMAT = Format(
    name="codex",
    title="Codex",
    recognises=recognises,
    read=read,
    store=Store(
        files=("*sessions/**/rollout-*.jsonl", "*sessions/**/rollout-*.jsonl.zst"),
        session=("payload", "id"),
        folder=("payload", "cwd"),
    ),
)
