"""Turns as they are read: counted, kept within a budget, and put together to sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from sys import getsizeof
from typing import Any, Final, NamedTuple

from memcli.sessions import speakers
from memcli.sessions.lines import Tally
from memcli.sessions.model import Session, Turn

BUDGET: Final = 64 << 20
"""Bytes that the turns of one file may take. Beyond it tool results shrink, then the oldest turns
go.
"""
_TURN: Final = 500
_SHORT: Final = (300, 100)


class Place(NamedTuple):
    """Where a record stands: line (0 where there are none), offset, and time."""

    line: int
    offset: int
    time: str = ""


class Gather(Tally):
    """One file being read. Records before `since` only say what the session is; `seen` has uuids.

    With `arguments`, calls keep those alone, and a result whose call went well keeps no text.
    """

    def __init__(
        self,
        *,
        since: int = 0,
        seen: set[str] | None = None,
        arguments: frozenset[str] | None = None,
    ) -> None:
        super().__init__()
        self.turns: list[Turn] = []
        self.names: Counter[str] = Counter()
        self.cwd = self.branch = self.parent = self.id = ""
        self.cut = 0
        self.done: list[Session] = []
        self.since = since
        self.arguments = arguments
        self.seen = set() if seen is None else seen
        self._held = 0
        self._session = self._cwd = self._branch = ""
        self._told: Any = None
        self._known: dict[Any, str] = {}

    # what the session is

    def where(self, *, session: Any = "", cwd: Any = "", branch: Any = "") -> None:
        """The session, folder and branch from here on; what is not known stays as it was."""
        told = session, cwd, branch
        if told != self._told:
            self._told = told
            self._session = self._same(session, speakers.name) or self._session
            self._cwd = self._same(cwd, speakers.line) or self._cwd
            self._branch = self._same(branch, speakers.line) or self._branch
            self.cwd = self.cwd or self._cwd
            self.branch = self.branch or self._branch
        if self._session:
            self.names[self._session] += 1

    def _same(self, value: Any, made: Any) -> str:
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

    # turns

    def said(self, role: str, text: str, place: Place, key: str) -> None:
        """Words under the user's or the assistant's role; of the user's only what was typed is
        human, and what other agents wrote has the origin "agent".
        """
        if role == "user":
            text, others = speakers.of_agents(text)
            if typed := speakers.human(text):
                self._add("user", typed, "user", place, key)
            else:
                self.put_in(text, place, key)
            if kept := speakers.clean(others):
                self._add("user", kept, "agent", place, f"{key}/agent" if text else key)
        elif kept := speakers.clean(text):
            self._add("assistant", kept, "assistant", place, key)

    def put_in(self, text: str, place: Place, key: str, *, error: bool = False) -> None:
        """Words of the harness."""
        if text.strip():
            self._add("user", speakers.injected(text), "injected", place, key, error=error)

    def called(self, tool: Any, given: Any, place: Place, key: str, call: Any = "") -> None:
        """The agent calls a tool; `call` is the call's id, where the format has one."""
        name = self._same(tool, speakers.name) or "unknown"
        if self.arguments is not None and isinstance(given, dict):
            given = {each: given[each] for each in self.arguments & given.keys()}
        self._add(
            "assistant",
            "",
            "assistant",
            place,
            key,
            tool=name,
            given=speakers.call(given),
            call=speakers.name(call),
        )

    def result(
        self, tool: Any, text: str, place: Place, key: str, *, error: bool = False, call: Any = ""
    ) -> None:
        """What a tool gave back to the call with the id `call`."""
        name = self._same(tool, speakers.name)
        origin = self._same(name, speakers.origin) if name else "tool:unknown"
        bad = error or speakers.failed(text)
        kept = speakers.clean(text, speakers.RESULT) if bad or self.arguments is None else ""
        self._add("tool", kept, origin, place, key, tool=name, error=bad, call=speakers.name(call))

    def more(self, text: str) -> None:
        """More words of the turn before, as far as there is room."""
        last = self.turns[-1]
        if len(last.text) < sum(speakers.SAID):
            self.turns[-1] = last._replace(
                text=speakers.cut(f"{last.text}\n\n{speakers.clean(text)}".strip())
            )
            self._held += len(text)

    def _add(
        self,
        role: str,
        text: str,
        origin: str,
        place: Place,
        key: str,
        tool: str = "",
        given: Mapping[str, Any] = {},
        error: bool = False,
        call: str = "",
    ) -> None:
        if place.offset < self.since:
            return
        at = self._session, self._cwd, self._branch
        turn = Turn(
            role,
            text,
            origin,
            key,
            place.time,
            tool,
            given,
            error,
            place.line,
            place.offset,
            *at,
            call,
        )
        self.turns.append(turn)
        self._held += _size(turn)
        if self._held > BUDGET:
            self._shrink()

    def _shrink(self) -> None:
        """Make room: shorter tool results, then the oldest of what matters least, a person's words
        last.
        """
        self.turns = [_shorter(turn) for turn in self.turns]
        self._held = sum(map(_size, self.turns))
        self._drop(_is_tool, BUDGET // 2)
        self._drop(_is_machine, BUDGET // 2)
        self._drop(_is_any, BUDGET // 4 * 3)

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
        at = (
            [index for index, turn in enumerate(self.turns) if turn.human][-count:]
            if count > 0
            else []
        )
        if at:
            del self.turns[at[0] :]
            self._held = sum(map(_size, self.turns))

    # sessions

    def close(self) -> None:
        """One session ends and another begins, in a file that holds several."""
        if self.turns or self.names:
            self.done.append(self._made())
        self.turns, self.names = [], Counter()
        self.cwd = self.branch = self.parent = self.id = self._session = self._cwd = (
            self._branch
        ) = ""
        self._held = self.cut = 0
        self._told = None

    def sessions(self) -> list[Session]:
        """All sessions of the file, at least one; where it came from is still to be filled in."""
        if self.turns or self.names or not self.done:
            self.done.append(self._made())
        return [each._replace(skipped=self.skipped, end=self.end) for each in self.done]

    def voted(self) -> str:
        """The session that most records name: one carried over from before does not count."""
        return self.names.most_common(1)[0][0] if self.names else ""

    def _made(self) -> Session:
        times = [turn.time for turn in self.turns if turn.time]
        name = self.id or self.voted()
        return Session(
            id=name,
            format="",
            name="",
            turns=tuple(self.turns),
            cwd=self.cwd,
            branch=self.branch,
            started=times[0] if times else "",
            ended=times[-1] if times else "",
            parent="" if self.parent == name else self.parent,
            cut=self.cut,
        )


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


def _shorter(turn: Turn) -> Turn:
    if turn.role == "tool":
        return turn._replace(text=speakers.cut(turn.text, _SHORT))
    if turn.input and _weight(turn.input) > 1000:
        brief = {
            key: speakers.cut(item, _SHORT)
            for key, item in turn.input.items()
            if isinstance(item, str)
        }
        return turn._replace(input=brief)
    return turn


def _is_tool(turn: Turn) -> bool:
    return bool(turn.tool) and not turn.error


def _is_machine(turn: Turn) -> bool:
    return not turn.human


def _is_any(turn: Turn) -> bool:
    return True
