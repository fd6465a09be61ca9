"""aider's chat history: markdown in which marks at the beginning of a line say who speaks."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memcli.sessions import speakers
from memcli.sessions.gather import Gather, Place
from memcli.sessions.lines import Line

_BEGIN = "# aider chat started at "
_ASKED = re.compile(r"/(?:ask|architect|code|context)\s+(?=\S)")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


def recognises(text: str) -> bool:
    """Whether a text begins like such a history."""
    return text.lstrip().startswith(_BEGIN)


def read(lines: Iterable[Line], into: Gather) -> None:
    """`#### ` is the person, `> ` a tool, all else the agent; in a code fence nothing is a mark."""
    history = _History(into)
    for line in lines:
        history.line(line, line.data.decode("utf-8", "replace"))
        into.end = line.end
    history.flush()


class _History:
    def __init__(self, into: Gather) -> None:
        self.into = into
        self.speaker = ""
        self.kept: list[str] = []
        self.size = 0
        self.fence = ""
        self.begun = ""
        self.at = Place(0, 0)

    def line(self, line: Line, text: str) -> None:
        speaker, said = ("assistant", text) if self.fence else _speaker(text)
        if speaker == "session":
            self._begin(said)
            return
        if speaker != self.speaker and (said.strip() or speaker != "assistant"):
            self.flush()
            self.speaker, self.at = speaker, Place(line.number, line.offset, self.begun)
        self._fenced(text)
        if self.size < 4 * sum(speakers.SAID):
            self.kept.append(said)
            self.size += len(said)

    def _fenced(self, text: str) -> None:
        mark = _FENCE.match(text)
        if mark and not self.fence:
            self.fence = mark[1]
        elif mark and mark[1].startswith(self.fence) and not text.strip().strip(mark[1][0]):
            self.fence = ""

    def _begin(self, said: str) -> None:
        """The time has no zone; it is taken for UTC."""
        self.flush()
        self.into.close()
        self.begun = speakers.when(said.strip())
        self.into.where(session="aider-" + re.sub(r"\W+", "", said)[:40])

    def flush(self) -> None:
        text, key = "\n".join(self.kept).strip(), f"@{self.at.offset}"
        if text and self.speaker == "tool":
            self.into.result("aider", text, self.at, key)
        elif (
            text
            and self.speaker == "user"
            and not (asked := _ASKED.match(text))
            and text[0] in "/!"
        ):
            self.into.put_in(text, self.at, key)
        elif text and self.speaker == "user":
            self.into.said("user", text[asked.end() :] if asked else text, self.at, key)
        elif text and self.speaker:
            self.into.said(self.speaker, text, self.at, key)
        self.kept, self.size, self.speaker = [], 0, ""


def _speaker(text: str) -> tuple[str, str]:
    if text.startswith(_BEGIN):
        return "session", text.removeprefix(_BEGIN)
    if text.startswith("#### "):
        return "user", text[5:]
    if text.startswith("> ") or text == ">":
        return "tool", text[2:]
    return "assistant", text
