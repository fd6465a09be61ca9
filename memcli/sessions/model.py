"""What a session is once it has been read, and what is learned from one. Values
only."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Turn(NamedTuple):
    """One thing said or done: by whom (user, assistant, tool), and whose words it is:
    of "user", "assistant", "tool:<name>" (a result), "web", "file", "agent" (another
    one) or "injected"."""

    role: str
    text: str
    origin: str
    key: str  # names the turn for good: the event's uuid, else its position
    time: str = ""  # ISO 8601 in UTC
    tool: str = ""  # of a call (with `input`) or a result (with `error`)
    input: Mapping[str, Any] = {}
    error: bool = False
    line: int = 0  # from 1
    offset: int = 0  # of the record's first byte; without lines a running number
    cwd: str = ""
    call: str = ""  # the id that a call and its result share, "" where there is none

    @property
    def human(self) -> bool:
        """Whether a person typed it."""
        return self.origin == "user"


class Session(NamedTuple):
    """A session as one file tells it, its turns in order."""

    id: str
    format: str
    name: str
    turns: tuple[Turn, ...]
    cwd: str = ""
    started: str = ""
    ended: str = ""
    skipped: int = 0  # lines that were not understood
    end: int = 0  # where reading stopped
    cut: int = 0  # turns left out of one that is too large
    size: int = 0  # of the file, when reading began
    mtime: int = 0  # (ns)
    head: str = ""  # SHA-256 of the first line
    title: str = ""  # what its agent calls it


class Finding(NamedTuple):
    """One thing worth remembering, as an engine found it; "" takes the scope's
    default."""

    scope: str
    title: str
    body: str
    turn: int  # the index of the first one that it comes from
    kind: str = ""
    type: str = ""
    importance: float | None = None
    priority: str = ""
    about_person: bool = False  # about the person's manner, not the work
    institutional: bool = False  # a norm
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()  # places in files, with sketches of their lines
    tainted: bool = False  # its advice comes from tool output, a file or the web
    is_unsaid: bool = False  # its turn does not speak of it
    reinforces: str = ""  # the entry that it confirms instead of saying something new
    retires: str = ""  # what is taken back with it, in the person's words
    retires_all: bool = False  # all that is about it
    retires_id: str = ""  # the entry that a person has agreed to retire
    points: int = 0  # signs that speak for it, where rules count them


class Stretch(NamedTuple):
    """What an episode tells of: `turns[start:end]` of a session, about one thing."""

    start: int
    end: int
    surprise: float  # 0 to 1: how far its turns lie from what was said before
    key_turns: tuple[int, ...]  # those that matter most, in order
