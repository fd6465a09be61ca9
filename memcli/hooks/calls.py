"""What an agent says when it calls a hook, and what it is answered. Nothing but the standard library."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

MOST_BYTES = 10_000_000
MOST_CHARACTERS = 9_500
LINE = 160
"""Characters of the line that a person is shown."""
EVENTS = {
    "session-start": ("SessionStart",),
    "subagent-start": ("SubagentStart",),
    "prompt": ("UserPromptSubmit", "BeforeAgent"),
    "pre-tool": ("PreToolUse", "AfterTool"),
}
"""The events that are answered, and what agents call them, the usual name first."""
_ODD = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")


class HookCall(NamedTuple):
    """One call of a hook; "" where the agent says nothing or nonsense.

    `agent` is set inside of a sub-agent; `size` is that of the transcript in bytes; `event` is what
    the agent calls it.
    """

    session: str
    cwd: str
    transcript: str = ""
    size: int = 0
    source: str = ""
    prompt: str = ""
    tool: str = ""
    input: Mapping[str, Any] = {}
    agent: str = ""
    event: str = ""

    @property
    def context(self) -> str:
        """The name of the context that is spoken into: a sub-agent has its own."""
        return f"{self.session}/{self.agent}".rstrip("/")


class Told(NamedTuple):
    """What a hook says to the agent, and the titles of it that the person may see."""

    text: str = ""
    titles: tuple[str, ...] = ()
    news: tuple[str, ...] = ()


def parse_payload(data: bytes) -> HookCall | None:
    """What an agent says in a JSON object; None when it says nothing that can be used."""
    try:
        values = json.loads(data) if len(data) < MOST_BYTES else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    cwd = _text(values, "cwd") or _first(values.get("workspace_roots"))
    session = _text(values, "session_id") or _text(values, "conversation_id")
    if not session or not _is_path(cwd):
        return None
    path = os.path.expanduser(_text(values, "transcript_path"))
    path = path if _is_path(path) else ""
    given = values.get("tool_input")
    return HookCall(
        session[:200], cwd, path, transcript_size(path), _text(values, "source")[:50],
        _text(values, "prompt") or _text(values, "user_prompt"), _text(values, "tool_name"),
        given if isinstance(given, dict) else {}, _text(values, "agent_id")[:200],
        _text(values, "hook_event_name"),
    )  # fmt: skip


def _is_path(name: str) -> bool:
    """Whether a file could have this name, and from everywhere the same one."""
    try:
        return os.path.isabs(name) and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:  # half a character
        return False


def _text(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _first(values: object) -> str:
    return values[0] if isinstance(values, list) and values and isinstance(values[0], str) else ""


def transcript_size(path: str) -> int:
    """The size of a transcript; 0 when there is none."""
    try:
        return os.stat(path).st_size if path else 0
    except (OSError, ValueError):
        return 0


def answer(verb: str, told: Told, event: str = "", *, show: bool = False) -> str:
    """The JSON object that agents take: plain ASCII, no half characters, not too long; "" for none.

    With `show` it has a line for the person, which no model sees.
    """
    names = EVENTS.get(verb, ())
    said: dict[str, Any] = {}
    if told.text and names:
        name = event if event in names else names[0]
        text = _ODD.sub("\ufffd", told.text)[:MOST_CHARACTERS]
        said["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": text}
    line = person_line(told) if show else ""
    if line:
        said["systemMessage"] = _ODD.sub("\ufffd", line)
    return json.dumps(said) if said else ""


def person_line(told: Told) -> str:
    """One line that says what was told: "mem: 2 notes told (cart clock; never retry)"."""
    number = len(told.titles)
    count = f"{number} note{'s' * (number != 1)} told"
    parts = [*told.news, *([f"{count} ({_named(told.titles)})"] if number else [])]
    return f"mem: {'; '.join(parts)}" if parts else ""


def _named(titles: tuple[str, ...]) -> str:
    """As many titles as a line has room for."""
    short = [title if len(title) <= 50 else title[:49].rstrip() + "…" for title in titles]
    kept: list[str] = []
    for title in short:
        if kept and len("; ".join([*kept, title])) > LINE:
            return "; ".join(kept) + f"; {len(titles) - len(kept)} more"
        kept.append(title)
    return "; ".join(kept)
