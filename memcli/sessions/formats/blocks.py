"""Content blocks of the Messages API, as Claude Code, its stream and many chat files keep them."""

from __future__ import annotations

from typing import Any

from memcli.sessions import speakers
from memcli.sessions.gather import Gather, Place

_SPOKEN = ("text", "input_text", "output_text")


class Blocks:
    """Turns of messages, with the names of the tools that are being waited for."""

    def __init__(self, into: Gather) -> None:
        self.into = into
        self._tools: dict[str, Any] = {}
        self._answer = ""

    def user(self, content: Any, place: Place, key: str, *, typed: bool = True) -> None:
        """A message under the user's role: tool results, and words that are human only if `typed`."""
        self._answer = ""
        number = 0
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_result":
                self._result(block, place, _nth(key, number))
                number += 1
        text = speakers.texts(_words(content)) if number == 0 or number < len(content) else ""
        if not text:
            return
        if typed:
            self.into.said("user", text, place, _nth(key, number))
        else:
            self.into.put_in(text, place, _nth(key, number))

    def _result(self, block: dict[str, Any], place: Place, key: str) -> None:
        """A tool's result, and what the person said where it asked for words of theirs."""
        call = block.get("tool_use_id")
        tool = self._tools.pop(str(call), "")
        text = speakers.texts(block.get("content"))
        bad = block.get("is_error") is True
        self.into.result(tool, text, place, key, error=bad, call=call)
        if said := speakers.answered(tool, text):
            self.into.said("user", said, place, f"{key}/said")

    def assistant(self, content: Any, place: Place, key: str, answer: Any = "") -> None:
        """A message of the agent. Text that follows text of the same `answer` is more of that turn."""
        number = 0
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if not isinstance(block, dict):
                block = {"type": "text", "text": block}
            kind = block.get("type")
            if kind in _SPOKEN and isinstance(block.get("text"), str):
                number += self._text(block["text"], place, _nth(key, number), answer)
            elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
                self._call(block, place, _nth(key, number))
                number += 1

    def _text(self, text: str, place: Place, key: str, answer: Any) -> bool:
        """Whether a turn was begun."""
        before = len(self.into.turns)
        if isinstance(answer, str) and answer and answer == self._answer and before:
            self.into.more(text)
            return False
        self.into.said("assistant", text, place, key)
        begun = len(self.into.turns) > before
        self._answer = answer if begun and isinstance(answer, str) else ""
        return begun

    def _call(self, block: dict[str, Any], place: Place, key: str) -> None:
        self._answer = ""
        if len(self._tools) > 10_000:
            self._tools.clear()
        self._tools[str(block.get("id"))] = block.get("name")
        self.into.called(block.get("name"), block.get("input"), place, key, block.get("id"))


def _words(content: Any) -> Any:
    """The content without blocks that are no text."""
    if not isinstance(content, list):
        return content
    return [item for item in content if isinstance(item, str) or _is_text(item)]


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type", "text") in _SPOKEN


def _nth(key: str, number: int) -> str:
    """The key of a record's first turn is the record's."""
    return f"{key}/{number}" if number else key
