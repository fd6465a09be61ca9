"""Lines of a file of any size, and the turns in them: bounded, and put together to
sessions."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from sys import getsizeof, intern
from typing import Any, BinaryIO, NamedTuple, Self

from jiter import from_json

from memcli.sessions import speakers
from memcli.sessions.model import Session, Turn
from memcli.sessions.tools import ARGUMENTS
from memcli.text.digests import digest

MAX_LINE = 16 << 20
"""Bytes of the longest line that is looked at; a longer one is counted as skipped."""
MAX_RECORD = 8 << 20
"""Bytes of the longest JSON record that is parsed, once images are out of it."""
HEAD = 256 << 10  # bytes (in whole lines) from which the format is told
BUDGET = 64 << 20
"""Bytes that the turns of one file may take. Beyond it the oldest of what matters least
go."""
_TURN = 500
_LONG = 64 << 10
_BASE64 = re.compile(rb'"[A-Za-z0-9+/_-]{2048,}+={0,2}"')

_FLAT = r"""
    \{ (?> (?: (?!"type") "\w{1,40}" :
        (?: "[^"\\]{0,4000}" | true | false | null | -?\d{1,20} ) , ){0,20} )
"""
"""A record up to its type: only plain values stand before it."""
_WELL = r"""
    (?! (?: [ ] | \\[nrt] )*
        (?: [Ee]rror | [Cc]ommand | [Ee]xit | EXIT | <tool_use_error | \\u003c ) )
"""
"""An output that does not begin as that of a failure."""


@cache
def _dull() -> re.Pattern[bytes]:
    """A line that needs no parsing where only what went wrong counts: a note of the
    harness, or what a call of Claude Code or Codex gave back."""
    source = rf"""
        {_FLAT} "type":"
        (?: (?: progress | file-history-snapshot )"
          | user","message":\{{"role":"user","content":\[\{{
            (?: "type":"tool_result", )? "tool_use_id":"(?P<call> [\w-]{{1,120}} )",
            (?: "type":"tool_result", )? "content":" {_WELL}
          | event_msg","payload":\{{"type":"(?: token_count | agent_reasoning )"
          | response_item","payload":\{{"type":"
            (?: reasoning"
              | function_call_output","call_id":"[^"]{{1,120}}","output":"
                (?P<output> \{{ ) ) )
    """
    return re.compile(source.encode(), re.VERBOSE)


Record = Mapping[str, Any]
"""A JSON object."""


class Line(NamedTuple):
    """`number` from 1; `data` without its line end; not `whole`: the last one, without
    one."""

    number: int
    offset: int
    end: int
    data: bytes
    whole: bool

    def place(self, time: str = "") -> "TurnPlace":
        """The place of a turn that its record does not name."""
        key = f"@{self.offset}"
        return TurnPlace(line=self.number, offset=self.offset, time=time, key=key)


class Lines:
    """The lines of an open file: its head can be looked at before, what is known
    skipped."""

    def __init__(self, file: BinaryIO) -> None:
        self.skipped = self._number = self._end = 0
        self._file = file
        self._lines = self._read()
        self._head: list[Line] = []

    def head(self) -> list[Line]:
        """The first lines, at least one where there is one; they are still iterated
        over."""
        while (not self._head or self._end < HEAD) and (
            line := next(self._lines, None)
        ):
            self._head.append(line)
        return self._head

    def __iter__(self) -> Iterator[Line]:
        yield from self._head
        yield from self._lines

    def _read(self) -> Iterator[Line]:
        while data := self._file.readline(MAX_LINE):
            start = self._end
            long = False
            self._end += len(data)
            while data[-1:] != b"\n" and (more := self._file.readline(MAX_LINE)):
                self._end += len(more)
                data = more
                long = True
            self._number += 1
            self.skipped += long
            if not long:
                whole = data[-1:] == b"\n"
                yield Line(
                    number=self._number,
                    offset=start,
                    end=self._end,
                    data=data.rstrip(b"\r\n"),
                    whole=whole,
                )


def parse(data: bytes, limit: int = MAX_RECORD) -> Any:
    """The JSON value in `data`, images out of it. Raises ValueError for whatever cannot
    be read."""
    if len(data) > _LONG:
        data = _BASE64.sub(b'""', data)
        if len(data) > limit:
            raise ValueError("too long")
    # Half a character and more than 200 levels only json may read.
    with suppress(ValueError):
        return from_json(data)
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def decoded(value: Any) -> Any:
    """The JSON value within a string or bytes; anything else stays as it is."""
    try:
        data = value.encode("utf-8", "replace") if isinstance(value, str) else value
        return parse(data) if isinstance(data, bytes) else value
    except ValueError:
        return value


def mapping(value: Any) -> Record:
    """A JSON object, or an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def value_at(record: Any, *keys: str) -> Any:
    """The value to which the keys lead through nested objects; None without one."""
    for key in keys:
        record = mapping(record).get(key)
    return record


def mappings(values: Any) -> list[dict[str, Any]]:
    """The JSON objects in a list; none where it is no list."""
    if not isinstance(values, list):
        return []
    return [value for value in values if isinstance(value, dict)]


class TurnPlace(NamedTuple):
    """Where a record stands: line (0 where there are none), offset, time; and its
    turn's key."""

    line: int
    offset: int
    time: str = ""
    key: str = ""

    def nth(self, name: int | str) -> Self:
        """The place of another turn of the same record; its first one, 0, has the
        record's key."""
        return self._replace(key=f"{self.key}/{name}") if name else self


class Gather:
    """One file being read. Records before `since` only say what the session is; `seen`
    has uuids. When `brief`, calls keep the arguments that are looked at, results of
    those that went well no text; with 2 these are no turns and mostly not decoded."""

    def __init__(self, *, seen: set[str] | None = None, brief: int = 0) -> None:
        self.done: list[Session] = []
        self.since = self.end = self.skipped = 0
        self.brief = brief
        self.seen = set() if seen is None else seen
        self._begin()

    def _begin(self) -> None:
        self.turns: list[Turn] = []
        self._tools: dict[str, str] = {}
        self.names: Counter[str] = Counter()
        self.cwd = self.id = self.title = self._read = ""
        self.cut = self._held = 0
        self.by_agent = False
        """Whether an agent began the session: what stands under a person's name there
        is the agent's."""
        self._session = self._cwd = ""
        self._named: tuple[Any, Any] = "", ""

    def where(self, *, session: Any = "", cwd: Any = "") -> None:
        """Set the session and folder from here on; unknown ones stay as they were."""
        if (session, cwd) != self._named:
            self._named = session, cwd
            self._session = intern(speakers.name(session)) or self._session
            self._cwd = intern(speakers.folder(cwd)) or self._cwd
            self.cwd = self.cwd or self._cwd
        if self._session:
            self.names[self._session] += 1

    def called_session(self, title: Any) -> None:
        """Set what the agent calls the session."""
        if isinstance(title, str):
            self.title = title.strip()[: speakers.TASK_LENGTH] or self.title

    def new(self, event: Any) -> bool:
        """Whether an event is read for the first time, here or elsewhere; from now
        on it counts as read."""
        if not isinstance(event, str) or not event:
            return True
        known = len(self.seen)
        self.seen.add(event)
        return len(self.seen) > known

    def event(self, line: Line, record: Record, name: str = "uuid") -> TurnPlace | None:
        """The place of a record that names itself; None when it was read before."""
        if not self.new(record.get(name)):
            return None
        place = line.place(speakers.when(record.get("timestamp")))
        key = speakers.name(record.get(name))
        return place._replace(key=key) if key else place

    def said(
        self, role: str, text: str, place: TurnPlace, *, in_reply: bool = False
    ) -> None:
        """Words of a role; of the user's only what was typed is human, and not another
        agent's. What is said in reply to a tool is a person's in any session."""
        if role == "assistant":
            if remaining := speakers.clean(text):
                self._add(place, role="assistant", text=remaining, origin="assistant")
            return
        if self.by_agent and not in_reply:
            self.put_in(text, place)
            return
        text, by_agent = speakers.of_agents(text)
        if typed := speakers.human(text):
            self._add(place, role="user", text=typed, origin="user")
        else:
            self.put_in(text, place)
        if remaining := speakers.clean(by_agent):
            where = place.nth("agent") if text else place
            self._add(where, role="user", text=remaining, origin="agent")

    def put_in(self, text: str, place: TurnPlace, *, error: bool = False) -> None:
        """Words of the harness."""
        if text.strip():
            remaining = speakers.clean(text, (200, 0))
            self._add(
                place, role="user", text=remaining, origin="injected", error=error
            )

    def called(self, tool: Any, given: Any, place: TurnPlace, call: Any = "") -> None:
        """The agent calls a tool; `call` is the call's id, where the format has one."""
        name = intern(speakers.name(tool)) or "unknown"
        call = speakers.name(call)
        self._tools[call] = name
        if self.brief and isinstance(given, dict):
            given = {key: given[key] for key in ARGUMENTS & given.keys()}
        self._add(
            place,
            role="assistant",
            text="",
            origin="assistant",
            tool=name,
            input=speakers.call(given),
            call=call,
        )

    def is_dull(self, data: bytes) -> bool:
        """Whether it is a note of the harness or what a call that went well gave back:
        quick."""
        line = _dull().match(data)
        if line is None:
            return False
        if not line["call"]:
            return not line["output"] or rb'"exit_code\":0' in data
        tool = self._tools.get(line["call"].decode())
        if tool in (None, "AskUserQuestion"):
            return False
        texts = data.count(b'"type":"text"') - data.count(b'"type":"text","file":')
        failed = b'"is_error":true' in data or b"the user said:" in data
        alone = data.count(b'"type":"tool_result"') == 1
        return alone and texts <= 0 and not failed

    def result(
        self,
        tool: Any,
        text: str,
        place: TurnPlace,
        *,
        error: bool = False,
        call: Any = "",
    ) -> str:
        """What a tool gave back to the call with the id `call`; the tool's name."""
        known = self._tools.pop(speakers.name(call), "") if call else ""
        name = intern(speakers.name(tool)) or known
        failed = error or speakers.failed(text)
        if failed or self.brief < 2:
            remaining = failed or not self.brief
            self._add(
                place,
                role="tool",
                text=speakers.clean(text, speakers.RESULT) if remaining else "",
                origin=intern(speakers.origin(name)),
                tool=name,
                error=failed,
                call=speakers.name(call),
            )
        return name

    def more(self, text: str) -> None:
        """More words of the turn before, as far as there is room."""
        last = self.turns[-1]
        if len(last.text) < sum(speakers.SAID):
            whole = speakers.cut(f"{last.text}\n\n{speakers.clean(text)}".strip())
            self.turns[-1] = last._replace(text=whole)
            self._held += len(text)

    def _add(self, place: TurnPlace, **about: Any) -> None:
        key = place.key
        # A place alone would be the same in another conversation.
        if key.startswith("@"):
            if "tool" not in about:
                said = self._read + about["text"]
                self._read = digest(said.encode(errors="replace"), 4)
            key = f"{key}-{self._read}"
        if place.offset < self.since:
            return
        turn = Turn(
            key=key,
            time=place.time,
            line=place.line,
            offset=place.offset,
            cwd=self._cwd,
            **about,
        )
        self.turns.append(turn)
        self._held += _size(turn)
        if self._held > BUDGET:
            self._shrink()

    def _shrink(self) -> None:
        """Calls and results of tools go first, a person's words last."""
        for worth, goal in enumerate((BUDGET // 2, BUDGET // 2, BUDGET // 4 * 3)):
            remaining = []
            for turn in self.turns:
                if self._held > goal and _worth(turn) <= worth:
                    self._held -= _size(turn)
                    self.cut += 1
                else:
                    remaining.append(turn)
            self.turns = remaining

    def back(self, count: int) -> None:
        """Take back what was said since the `count`-th last human turn, that turn
        included."""
        human = [index for index, turn in enumerate(self.turns) if turn.human]
        if human and count > 0:
            del self.turns[human[-count:][0] :]
            self._held = sum(map(_size, self.turns))

    def close(self) -> None:
        """One session ends and another begins, in a file that holds several."""
        if self.turns or self.names:
            self.done.append(self._made())
        self._begin()

    def sessions(self) -> list[Session]:
        """All sessions of the file, at least one; where it came from is still to be
        filled in."""
        self.close()
        sessions = self.done or [self._made()]
        return [
            session._replace(skipped=self.skipped, end=self.end) for session in sessions
        ]

    def voted(self) -> str:
        """The session that most records name: one carried over from before does not
        count."""
        return self.names.most_common(1)[0][0] if self.names else ""

    def _made(self) -> Session:
        times = [turn.time for turn in self.turns if turn.time] or [""]
        return Session(
            id=self.id or self.voted(),
            format="",
            name="",
            turns=tuple(self.turns),
            cwd=self.cwd,
            started=times[0],
            ended=times[-1],
            cut=self.cut,
            title=self.title,
        )


def _worth(turn: Turn) -> int:
    if turn.human:
        return 2
    return 1 if turn.error or not turn.tool else 0


def _size(turn: Turn) -> int:
    given = _TURN + getsizeof(str(turn.input)) if turn.input else 0
    return _TURN + getsizeof(turn.text) + given


def records(lines: Lines, into: Gather) -> Iterator[tuple[Line, Record]]:
    """The JSON objects of JSON lines. A torn last line is left for later, others are
    counted."""
    for line in lines:
        dull = not line.data or (into.brief > 1 and into.is_dull(line.data))
        try:
            record = None if dull else parse(line.data)
        except ValueError:
            record = None
            if not line.whole:
                return
            into.skipped += 1
        into.end = line.end
        if isinstance(record, dict):
            yield line, record
