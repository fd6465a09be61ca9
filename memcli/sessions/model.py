"""What a session is once it has been read, and what is learned from one. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Turn(NamedTuple):
    """One thing said or done in a session.

    `role` is user, assistant or tool. `origin` says whose words they are: "user" (a person typed
    them), "assistant", "tool:<name>" (a result), "web", "file", "agent" (another agent wrote them: a message, a
    plan), or "injected" (the harness or `mem` put them there). Human turns are those with the origin "user". A tool call is an assistant turn
    with `tool` and `input`; its result is a tool turn with `tool` and `error`.
    `key` names the turn for good: the event's uuid where the format has one, else its position.
    """

    role: str
    text: str
    origin: str
    key: str
    time: str = ""
    """ISO 8601 in UTC, "" when not known."""
    tool: str = ""
    input: Mapping[str, Any] = {}
    error: bool = False
    line: int = 0
    """From 1; 0 where a format has no lines."""
    offset: int = 0
    """Of the first byte of the record; where a format is no text, a running number."""
    session: str = ""
    cwd: str = ""
    branch: str = ""
    call: str = ""
    """Id that a tool call and its result share, "" where the format has none."""

    @property
    def human(self) -> bool:
        """Whether a person typed it."""
        return self.origin == "user"


class Session(NamedTuple):
    """A session as one file tells it. `turns` are in order; `skipped` counts lines that were not
    understood.

    `end` is where reading stopped (offset after the last whole record), so a grown file is read on
    there.
    """

    id: str
    format: str
    name: str
    """The file's name without its folder; "-" for standard input."""
    turns: tuple[Turn, ...]
    cwd: str = ""
    branch: str = ""
    started: str = ""
    ended: str = ""
    parent: str = ""
    """Session that this one was forked from or is a sub-agent of, "" for none."""
    skipped: int = 0
    end: int = 0
    cut: int = 0
    """Turns left out because the session is too large to be held whole: the oldest tool results
    first.
    """
    size: int = 0
    """Of the file in bytes when reading began; with `mtime` (ns) it tells whether the file has
    changed.
    """
    mtime: int = 0
    head: str = ""
    """SHA-256 of the first line: another one is another session under the same name."""


class Finding(NamedTuple):
    """One thing worth remembering, as an engine (rules or llm) found it: still to be judged and
    placed.

    `turn` is the index in `Session.turns` of the first turn it comes from; `tainted` says that its
    advice comes from tool output, a file or the web. Empty strings take the scope's defaults.
    `reinforces` names an existing entry that it confirms instead of saying something new.
    """

    scope: str
    title: str
    body: str
    turn: int
    kind: str = ""
    type: str = ""
    importance: float | None = None
    priority: str = ""
    about_person: bool = False
    """Whether it is about the person's manner (proxy) and not about the work."""
    institutional: bool = False
    """Whether it is a norm for `institutional.md`."""
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    surprise: float | None = None
    tainted: bool = False
    reinforces: str = ""


class Segment(NamedTuple):
    """A stretch `turns[start:end]` of a session that is about one thing: what an episode tells of."""

    start: int
    end: int
    surprise: float
    """0 to 1: how far its turns lie from what was said before them, on a fixed scale."""
    key_turns: tuple[int, ...]
    """Indexes of the turns that matter most, in order."""
