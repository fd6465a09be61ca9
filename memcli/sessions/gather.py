"""Turns as they are read: counted, kept within a budget, and put together to sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from sys import getsizeof
from typing import Any, Final, NamedTuple

from memcli.sessions import speakers
from memcli.sessions.lines import Line, parse
from memcli.sessions.model import Session, Turn

BUDGET: Final = 64 << 20
"""Bytes that the turns of one file may take. Beyond it the oldest of what matters least go."""
_TURN: Final = 500


class TurnPlace(NamedTuple):
    """Where a record stands: line (0 where there are none), offset, time; and its turn's key."""

    line: int
    offset: int
    time: str = ""
    key: str = ""

    def nth(self, name: int | str) -> TurnPlace:
        """The place of another turn of the same record; its first one, 0, has the record's key."""
        return self._replace(key=f"{self.key}/{name}") if name else self


class Gather:
    """One file being read. Records before `since` only say what the session is; `seen` has uuids.

    With `arguments`, calls keep those alone, and a result whose call went well keeps no text.
    `end` is how far reading got, `skipped` counts lines that were not understood.
    """

    def __init__(
        self, *, seen: set[str] | None = None, arguments: frozenset[str] | None = None
    ) -> None:
        self.done: list[Session] = []
        self.since = self.end = self.skipped = 0
        self.arguments = arguments
        self.seen = set() if seen is None else seen
        self._known: dict[Any, str] = {}
        self._begin()

    def _begin(self) -> None:
        self.turns: list[Turn] = []
        self.names: Counter[str] = Counter()
        self.cwd = self.id = ""
        self.cut = self._held = 0
        self._session = self._cwd = ""
        self._told: Any = None

    # what the session is

    def where(self, *, session: Any = "", cwd: Any = "") -> None:
        """The session and folder from here on; what is not known stays as it was."""
        told = session, cwd
        if told != self._told:
            self._told = told
            self._session = self._same(session, speakers.name) or self._session
            self._cwd = self._same(cwd, speakers.line) or self._cwd
            self.cwd = self.cwd or self._cwd
        if self._session:
            self.names[self._session] += 1

    def _same(self, value: Any, made: Callable[[str], str]) -> str:
        """`made(value)`, one object for equal values: it stands in many turns."""
        if not isinstance(value, str) or not value:
            return ""
        key = made, value
        if key not in self._known:
            if len(self._known) > 500:
                self._known.clear()
            self._known[key] = made(value)
        return self._known[key]

    def new(self, event: Any) -> bool:
        """Whether an event was not read yet, here or elsewhere; from now on it was."""
        if not isinstance(event, str) or not event:
            return True
        if event in self.seen:
            return False
        self.seen.add(event)
        return True

    def event(self, line: Line, record: Mapping[str, Any], name: str = "uuid") -> TurnPlace | None:
        """The place of a record that calls itself so; None when it was read before."""
        own = record.get(name)
        key = speakers.name(own) or f"@{line.offset}"
        time = speakers.when(record.get("timestamp"))
        return TurnPlace(line.number, line.offset, time, key) if self.new(own) else None

    # turns

    def said(self, role: str, text: str, place: TurnPlace) -> None:
        """Words under the user's or the assistant's role; of the user's only what was typed is
        human, and what other agents wrote has the origin "agent".
        """
        if role == "user":
            text, others = speakers.of_agents(text)
            if typed := speakers.human(text):
                self._add(Turn("user", typed, "user", place.key), place)
            else:
                self.put_in(text, place)
            if kept := speakers.clean(others):
                self._add(Turn("user", kept, "agent", place.nth("agent" if text else 0).key), place)
        elif kept := speakers.clean(text):
            self._add(Turn("assistant", kept, "assistant", place.key), place)

    def put_in(self, text: str, place: TurnPlace, *, error: bool = False) -> None:
        """Words of the harness."""
        if text.strip():
            glimpse = speakers.clean(text, (200, 0))
            self._add(Turn("user", glimpse, "injected", place.key, error=error), place)

    def called(self, tool: Any, given: Any, place: TurnPlace, call: Any = "") -> None:
        """The agent calls a tool; `call` is the call's id, where the format has one."""
        name = self._same(tool, speakers.name) or "unknown"
        if self.arguments is not None and isinstance(given, dict):
            given = {each: given[each] for each in self.arguments & given.keys()}
        turn = Turn("assistant", "", "assistant", place.key, tool=name, input=speakers.call(given))
        self._add(turn._replace(call=speakers.name(call)), place)

    def result(
        self, tool: Any, text: str, place: TurnPlace, *, error: bool = False, call: Any = ""
    ) -> None:
        """What a tool gave back to the call with the id `call`."""
        name = self._same(tool, speakers.name)
        origin = self._same(name, speakers.origin) if name else "tool:unknown"
        bad = error or speakers.failed(text)
        kept = speakers.clean(text, speakers.RESULT) if bad or self.arguments is None else ""
        turn = Turn("tool", kept, origin, place.key, tool=name, error=bad)
        self._add(turn._replace(call=speakers.name(call)), place)

    def more(self, text: str) -> None:
        """More words of the turn before, as far as there is room."""
        last = self.turns[-1]
        if len(last.text) < sum(speakers.SAID):
            whole = speakers.cut(f"{last.text}\n\n{speakers.clean(text)}".strip())
            self.turns[-1] = last._replace(text=whole)
            self._held += len(text)

    def _add(self, turn: Turn, place: TurnPlace) -> None:
        if place.offset < self.since:
            return
        line, offset = place.line, place.offset
        turn = turn._replace(time=place.time, line=line, offset=offset, cwd=self._cwd)
        self.turns.append(turn)
        self._held += _size(turn)
        if self._held > BUDGET:
            self._shrink()

    def _shrink(self) -> None:
        """Make room: calls and results of tools go first, a person's words last."""
        self._drop(lambda turn: bool(turn.tool) and not turn.error, BUDGET // 2)
        self._drop(lambda turn: not turn.human, BUDGET // 2)
        self._drop(lambda turn: True, BUDGET // 4 * 3)

    def _drop(self, least: Callable[[Turn], bool], goal: int) -> None:
        kept = []
        for turn in self.turns:
            if self._held > goal and least(turn):
                self._held -= _size(turn)
                self.cut += 1
            else:
                kept.append(turn)
        self.turns = kept

    def back(self, count: int) -> None:
        """Take back what was said since the `count`-th last human turn, that turn included."""
        human = [index for index, turn in enumerate(self.turns) if turn.human]
        if human and count > 0:
            del self.turns[human[-count:][0] :]
            self._held = sum(map(_size, self.turns))

    # sessions

    def close(self) -> None:
        """One session ends and another begins, in a file that holds several."""
        if self.turns or self.names:
            self.done.append(self._made())
        self._begin()

    def sessions(self) -> list[Session]:
        """All sessions of the file, at least one; where it came from is still to be filled in."""
        if self.turns or self.names or not self.done:
            self.done.append(self._made())
        return [each._replace(skipped=self.skipped, end=self.end) for each in self.done]

    def voted(self) -> str:
        """The session that most records name: one carried over from before does not count."""
        return self.names.most_common(1)[0][0] if self.names else ""

    def _made(self) -> Session:
        times = [turn.time for turn in self.turns if turn.time] or [""]
        name, turns = self.id or self.voted(), tuple(self.turns)
        return Session(name, "", "", turns, self.cwd, times[0], times[-1], cut=self.cut)


def records(
    lines: Iterable[Line],
    into: Gather,
    wanted: Callable[[bytes], bool] = lambda data: True,
    parse: Callable[[bytes], Any] = parse,
) -> Iterator[tuple[Line, Mapping[str, Any]]]:
    """The JSON objects of JSON lines. A torn last line is left for later, others are counted.

    Lines that are not `wanted` are passed over without being parsed, as long as they look whole.
    """
    for line in lines:
        data, record = line.data, None
        skip = line.whole and data[:1] == b"{" and data[-1:] == b"}" and not wanted(data)
        try:
            record = parse(data) if data and not skip else None
        except ValueError:
            if not line.whole:
                return
            into.skipped += 1
        into.end = line.end
        if isinstance(record, dict):
            yield line, record


def _size(turn: Turn) -> int:
    """About how many bytes a turn takes."""
    return _TURN + getsizeof(turn.text) + (_weight(turn.input) if turn.input else 0)


def _weight(value: Any) -> int:
    size = getsizeof(value)
    if isinstance(value, dict):
        for item in value.values():
            size += 60 + (getsizeof(item) if isinstance(item, str) else _weight(item))
    elif isinstance(value, list):
        size += sum(map(_weight, value))
    return size
