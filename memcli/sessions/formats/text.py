"""Markdown or plain text in which each turn stands under a speaker; aider's history.
The first mark of a file decides which count: a chat about chats is not cut at what it
quotes."""

import re
from collections.abc import Iterable
from typing import Final

from memcli.errors import DataError
from memcli.sessions import speakers
from memcli.sessions.gather import Gather, Line, TurnPlace
from memcli.text import controls
from memcli.text.matching import pattern, stanzas

_TABLE = "sessions/formats/text"
_USER = stanzas(f"{_TABLE}.patterns")["<user>"].split("|")
_STYLES = ("specstory", "numbered", "screen", "named")
_ROLES: Final = {
    **dict.fromkeys((*_USER, "prompt", "typed", "entire"), "user"),
    **dict.fromkeys(("tool", "tool result", "tool output", "output"), "tool"),
    "system": "system",
}
_EMPTY = "_No text content captured for this message._"
_ECHO = "<command-message>"
_HINT = "mark who speaks, with User: and Assistant: for example"
AIDER = "# aider chat started at "
_MARKS = {AIDER: "session", "#### ": "user", "> ": "tool"}
_ASKED = re.compile(r"/(?:ask|architect|code|context)\s+(?=\S)")


def read(lines: Iterable[Line], into: Gather) -> None:
    """Turns by speaker. Raises DataError where there are none."""
    page = _Export(into)
    page.read(lines)
    if not page.style:
        raise DataError("no speaker can be told", _HINT)


def read_aider(lines: Iterable[Line], into: Gather) -> None:
    """`#### ` is the person, `> ` a tool, all else the agent; in a code fence nothing
    is a mark."""
    _History(into).read(lines)


class _Export:
    """The turn that is being read, of bounded size."""

    def __init__(self, into: Gather) -> None:
        self.into = into
        self.speaker = "assistant"
        self.fence = ""
        self.kept: list[str] = []
        self.size = 0
        self.at: TurnPlace | None = None
        self.style = self.block = self.before = self.begun = ""
        self.echo: str | None = (
            None  # the time of a command's echo, when nothing was said after it
        )

    def read(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self.line(
                line, controls.strip_controls(line.data.decode("utf-8-sig", "replace"))
            )
            self.into.end = line.end
        self.flush()

    def keep(self, text: str) -> None:
        if self.size < 4 * sum(speakers.SAID):
            self.kept.append(text)
            self.size += len(text)

    def flush(self) -> None:
        text = "\n".join(self.kept).strip()
        if text and self.at is not None:
            self.turn(text, self.at)
        self.kept = []
        self.size = 0
        self.at = None

    def line(self, line: Line, text: str) -> None:
        if not self._in_block(text):
            if found := self._mark(text):
                text = self._begin(found, line, text)
            else:
                self.fence = speakers.fenced(self.fence, text)
        if text.strip():
            self.before = text
        self.at = self.at or TurnPlace(line.number, line.offset, key=f"@{line.offset}")
        self.keep(text)

    def _in_block(self, text: str) -> bool:
        if self.style == "specstory" and not self.block:
            begun = [
                name for name in ("tool-use", "think") if text.startswith(f"<{name}")
            ]
            self.block = "".join(begun)
        inside = self.block != ""
        self.block = "" if f"</{self.block}>" in text else self.block
        return inside

    def _mark(self, text: str) -> re.Match[str] | None:
        """The mark of a speaker: outside of fences, but one that no fence can hold is
        believed."""
        if self.fence and not (
            self.style == "specstory" and self.before.strip() == "---"
        ):
            return None
        if self.style:
            return pattern(_TABLE, self.style).match(text[:400])
        if not text.strip():
            return None
        for style in _STYLES:
            found = pattern(_TABLE, style).match(text[:400])
            if found and (
                style != "screen" or found["answer"] or found["typed"] == "❯"
            ):
                self.style = style
                self.kept = self.kept if style == "named" else []
                return found
        if about := pattern(_TABLE, "about").match(text):
            folder = (about["key"] or "").lower() in (
                "project directory",
                "directory",
                "cwd",
            )
            name = about["id"] or about["value"]
            self.into.where(cwd=name) if folder else self.into.where(session=name)
        return None

    def _begin(self, found: re.Match[str], line: Line, text: str) -> str:
        self.flush()
        self.fence, groups = "", found.groupdict()
        aside = groups.get("aside") or ""
        time = pattern(_TABLE, "time").search(aside)
        when = speakers.when(re.sub("[ _]", "T", time[0])) if time else ""
        self.at = TurnPlace(
            line=line.number, offset=line.offset, time=when, key=f"@{line.offset}"
        )
        name = next(
            filter(None, map(groups.get, ("name", "bold", "plain"))), "assistant"
        ).lower()
        name = next(
            (each for each in ("typed", "entire", "output") if groups.get(each)), name
        )
        self.speaker = _ROLES.get(name, "assistant")
        if "sidechain" in aside and self.speaker == "user":
            self.speaker = "assistant"
        said = groups.get("after") or groups.get("rest") or ""
        return said + text[400:] if said else ""

    def turn(self, text: str, at: TurnPlace) -> None:
        text = text.removesuffix("---").strip() if self.style == "specstory" else text
        if text in ("", _EMPTY):
            return
        if self.speaker == "tool":
            self.into.result("", text, at)
        elif self.speaker == "system" or (
            self.speaker == "user" and self._is_template(text, at)
        ):
            self.into.put_in(text, at)
        elif self.style == "specstory" and self.speaker == "assistant":
            self._answer(text, at)
        else:
            if self.style == "numbered" and self.speaker == "user":
                text = pattern(_TABLE, "read along").split(text, maxsplit=1)[0]
            self.into.said(self.speaker, text, at)

    def _is_template(self, text: str, at: TurnPlace) -> bool:
        """Whether a person's turn is the text of the slash command that was echoed
        before it."""
        echo, self.echo = self.echo, at.time if _ECHO in text else None
        if echo is None or self.echo is not None:
            return False
        return (echo != "" and echo == at.time) or text.startswith(("#", "<"))

    def _answer(self, text: str, at: TurnPlace) -> None:
        self.echo = None
        parts = re.split(
            r"(?s)(<tool-use .*?(?:</tool-use>|\Z)|<think>.*?(?:</think>|\Z))", text
        )
        for number, part in enumerate(parts):
            place = at.nth(number)
            if part.startswith("<tool-use"):
                self._tool(part, place)
            elif not part.startswith("<think>") and part.strip():
                if call := pattern(_TABLE, "tool").match(part.strip()):
                    self.into.called(
                        call[1], {"file_path": call[2]} if call[2] else {}, place
                    )
                else:
                    self.into.said("assistant", part, place)

    def _tool(self, text: str, at: TurnPlace) -> None:
        called = pattern(_TABLE, "call").match(text)
        summary = pattern(_TABLE, "tool").search(text)
        tool = called[2] if called else summary[1] if summary else "unknown"
        subject = pattern(_TABLE, "subject").search(text)
        key = "command" if called and called[1] == "shell" else "file_path"
        given = {key: subject[1] or subject[2]} if subject else {}
        self.into.called(tool, given, at, at.key)
        body = re.search(r"(?s)\n(?:```|~~~)\w*\n(.*?)\n(?:```|~~~)", text)
        self.into.result(tool, body[1] if body else "", at.nth(1), call=at.key)


class _History(_Export):
    def line(self, line: Line, text: str) -> None:
        text = "> " if text == ">" else text
        mark = next(
            (each for each in _MARKS if text.startswith(each) and not self.fence), ""
        )
        speaker = _MARKS.get(mark, "assistant")
        said = text[len(mark) :]
        if speaker == "session":  # its time has no zone; it is taken for UTC
            self.flush()
            self.into.close()
            self.begun = speakers.when(said.strip())
            self.into.where(session="aider-" + re.sub(r"\W+", "", said)[:40])
            return
        if (self.at is None or speaker != self.speaker) and (said.strip() or mark):
            self.flush()
            self.speaker = speaker
            self.at = TurnPlace(
                line=line.number,
                offset=line.offset,
                time=self.begun,
                key=f"@{line.offset}",
            )
        self.fence = speakers.fenced(self.fence, text)
        self.keep(said)

    def turn(self, text: str, at: TurnPlace) -> None:
        asked = _ASKED.match(text) if self.speaker == "user" else None
        if self.speaker == "tool":
            self.into.result("aider", text, at)
        elif self.speaker == "user" and not asked and text[0] in "/!":
            self.into.put_in(text, at)
        else:
            self.into.said(self.speaker, text[asked.end() :] if asked else text, at)
