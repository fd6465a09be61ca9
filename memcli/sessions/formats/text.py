"""Markdown or plain text: what a person said is what stands under their name, all else is nobody's
order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memcli.sessions import speakers
from memcli.sessions.gather import Gather, Place
from memcli.sessions.lines import Line

_USER = "user|human|you|you said|me"
_AGENT = (
    "assistant|agent|ai|bot|claude|claude code|chatgpt|chatgpt said|gpt|codex|copilot|gemini|cursor"
)
_NAMES = f"{_USER}|{_AGENT}|tool|tool result|tool output|system"
_ASIDE = r"(?:\s?\([^()\n]{1,60}\)|\s?\[[^\[\]\n]{1,60}\])?"
_SPEAKER = re.compile(
    rf"\s{{0,3}}(?:\[[^\[\]\n]{{1,40}}\]\s?)?(?:"
    rf"#{{1,6}}\s{{1,4}}(?:[^\w\s]{{1,4}}\s)?(?:\*\*)?(?P<name>{_NAMES}){_ASIDE}(?:\*\*)?\s?:?(?:\*\*)?\s*$"
    rf"|(?:\*\*|__)(?P<bold>{_NAMES}){_ASIDE}(?::(?:\*\*|__)|(?:\*\*|__)\s?:|(?:\*\*|__)\s*$)\s?(?P<after>.*)"
    rf"|(?P<plain>{_NAMES}){_ASIDE}\s?[:：](?:\s(?P<rest>.*)|\s*$))",
    re.IGNORECASE | re.DOTALL,
)
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


def read(lines: Iterable[Line], into: Gather) -> None:
    """Turns by speaker. Without any named speaker the whole is one turn of the agent."""
    page = _Page(into)
    for line in lines:
        page.line(line, line.data.decode("utf-8-sig", "replace"))
        into.end = line.end
    page.flush()


class _Page:
    def __init__(self, into: Gather) -> None:
        self.into = into
        self.speaker = "assistant"
        self.kept: list[str] = []
        self.size = 0
        self.fence = ""
        self.at: Place | None = None

    def line(self, line: Line, text: str) -> None:
        found = None if self.fence else _SPEAKER.match(text[:400])
        if found:
            self.flush()
            self.speaker = _role((found["name"] or found["bold"] or found["plain"]).lower())
            self.at = Place(line.number, line.offset)
            said = found["after"] or found["rest"] or ""
            text = said + text[400:] if said else ""
        elif mark := _FENCE.match(text):
            self._fenced(mark[1], text)
        self.at = self.at or Place(line.number, line.offset)
        if self.size < 4 * sum(speakers.SAID):
            self.kept.append(text)
            self.size += len(text)

    def _fenced(self, mark: str, text: str) -> None:
        if not self.fence:
            self.fence = mark
        elif mark.startswith(self.fence) and not text.strip().strip(mark[0]):
            self.fence = ""

    def flush(self) -> None:
        text, at = "\n".join(self.kept).strip(), self.at
        if text and at is not None:
            self._turn(text, at, f"@{at.offset}")
        self.kept, self.size, self.at = [], 0, None

    def _turn(self, text: str, at: Place, key: str) -> None:
        if self.speaker == "tool":
            self.into.result("", text, at, key)
        elif self.speaker == "system":
            self.into.put_in(text, at, key)
        else:
            self.into.said(self.speaker, text, at, key)


def _role(name: str) -> str:
    if name in _USER.split("|"):
        return "user"
    return "tool" if name.startswith("tool") else "system" if name == "system" else "assistant"
