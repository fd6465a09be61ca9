"""What an agent says when it calls a hook, what it is answered, and what a hook works
through."""

import json
import math
import os
import re
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeVar

from memcli.app import App
from memcli.hooks.instructions import InstructionReader, Instructions
from memcli.memory.words import count
from memcli.named import NamedTuple
from memcli.project.config import Config
from memcli.project.context import Project
from memcli.project.levels_on_disk import CLAUDE_BYTES, CLAUDE_LINES
from memcli.project.listing import PRIVATE
from memcli.storage.files import ONE_OF, Unreadable, open_file, snapshot
from memcli.storage.state import SessionLog, State, Telling, settled

MOST_BYTES = 10_000_000
MOST_CHARACTERS = 9_500
LINE = 160  # characters of the line that a person is shown
# bytes of changed memory files above which indexing is left to the worker
LARGE = 1_000_000
EVENTS = {
    "session-start": ("SessionStart",),
    "subagent-start": ("SubagentStart",),
    "prompt": ("UserPromptSubmit", "BeforeAgent"),
    "pre-tool": ("PreToolUse", "AfterTool", "BeforeTool"),
    "tool-failed": ("PostToolUseFailure",),
}
"""The events that are answered, and what agents call them, the usual name first."""
_SAID = (
    "session_id",
    "cwd",
    "source",
    "prompt",
    "agent_id",
    "hook_event_name",
    "tool_name",
)
# compiled by the first text that may have one
_ODD = "[\ud800-\udfff]"


class HookCall(NamedTuple):
    """One call of a hook; "" where the agent says nothing. `agent` is set inside of a
    sub-agent."""

    session: str
    cwd: str
    transcript: str = ""
    size: int = 0
    source: str = ""
    prompt: str = ""
    input: Mapping[str, Any] = {}
    agent: str = ""
    event: str = ""
    tool: str = ""
    file: str = ""
    harness: str = ""
    error: str = ""
    """What a tool that failed said."""

    @property
    def context(self) -> str:
        """The name of the context that is spoken into: a sub-agent has its own."""
        return f"{self.session}/{self.agent}".rstrip("/")


class Told(NamedTuple):
    """What a hook says to the agent, and the titles of it that the person may see."""

    text: str = ""
    titles: tuple[str, ...] = ()
    news: tuple[str, ...] = ()
    decision: str = ""
    """What a guard says of a tool's call: deny, ask or nothing; `text` has the reason."""


def parse_payload(data: bytes) -> HookCall | None:
    """What an agent says in a JSON object; None when it says nothing that can be
    used."""
    try:
        values = json.loads(data) if len(data) < MOST_BYTES else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    given = values.get("tool_input")
    said = {k: v for k, v in values.items() if isinstance(v, str)}
    session, cwd, source, prompt, agent, event, tool = (
        said.get(name, "") for name in _SAID
    )
    if not session or not _is_path(cwd):
        return None
    given = given if isinstance(given, dict) else {}
    return HookCall(
        error=said.get("error", ""),
        session=session[:200],
        cwd=cwd,
        transcript=_path(os.path.expanduser(said.get("transcript_path", ""))),
        size=0,
        source=source[:50],
        prompt=prompt,
        input=given,
        agent=agent[:200],
        event=event,
        tool=tool[:200],
        file=_path(said.get("file_path", "")),
    )


def _path(name: str) -> str:
    """The name of a file if it is absolute, else ""."""
    return name if _is_path(name) else ""


def _is_path(name: str) -> bool:
    try:
        return os.path.isabs(name) and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:  # half a character
        return False


DECISIONS = {
    "": ("deny", "ask"),
    "claude": ("deny", "ask"),
    "codex": ("deny",),
    "gemini": ("deny",),
    "opencode": ("deny",),
}
"""What each agent takes from a hook of a call that a guard stops; the rest is told as a
hint."""


def answer(
    verb: str, told: Told, event: str = "", *, agent: str = "", show: bool = False
) -> str:
    """The JSON object that an agent takes, "" for none; with a line for the person, to
    `show`."""
    names = EVENTS.get(verb, ())
    said: dict[str, Any] = {}
    if told.decision and told.decision in DECISIONS.get(agent, ()):
        reason = _plain(told.text)[:MOST_CHARACTERS]
        said |= _decision(told.decision, reason, event)
    elif told.text and names:
        name = event if event in names else names[0]
        text = _plain(told.text)[:MOST_CHARACTERS]
        said["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": text}
    if show and (line := person_line(told)):
        said["systemMessage"] = _plain(line)
    return json.dumps(said) if said else ""


def _decision(decision: str, reason: str, event: str) -> dict[str, Any]:
    if event == "BeforeTool":  # Gemini CLI
        return {"decision": decision, "reason": reason}
    given = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    }
    return {"hookSpecificOutput": given}


def _plain(text: str) -> str:
    return text if max({*text}, default="") < "\ud800" else re.sub(_ODD, "\ufffd", text)


def person_line(told: Told) -> str:
    """One line that says what was told: "mem: 2 notes told (cart clock; never
    retry)"."""
    titles = list(
        dict.fromkeys(told.titles)
    )  # an episode may be called as what was learned in it
    kept = [
        title if len(title) <= 50 else title[:49].rstrip() + "…" for title in titles
    ]
    while len(kept) > 1 and len("; ".join(kept)) > LINE:
        kept.pop()
    more = [f"{len(titles) - len(kept)} more"] if len(kept) < len(titles) else []
    line = f"{count(len(titles), 'note')} told ({'; '.join([*kept, *more])})"
    parts = [*told.news, *([line] if kept else [])]
    return f"mem: {'; '.join(parts)}" if parts else ""


class HookProject(Project):
    """A project that takes what it can of a faulty configuration."""

    @cached_property
    def config(self) -> Config:
        """What is configured, but nothing that reaches the network."""
        own = self.settings.config
        embedder = own.embedder if own.embedder in ("auto", "local") else "none"
        return own._replace(embedder=embedder, llm="none", query="plain", max_tokens=0)


class InContext(NamedTuple):
    """What a context holds: entries `told` in the words of today, and those that have
    `changed` since they were told."""

    told: set[str]
    changed: set[str]


LOADED = "loaded"
"""The event under which it is noted which files an agent said it loaded."""
WORDS = "words"
"""The event under which it is noted in which words entries were told."""
CHANGED = ", changed since it was told"


def pointer_key(entry: str) -> str:
    """The name under which it is noted that an entry was pointed at: its text may
    still be told."""
    return f"pointed {entry}"


class Halfway(BaseException):
    """Half of the time that a hook has is over."""


T = TypeVar("T")


def in_time(half: float, work: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """What `work` gives by `half` (of time.monotonic), else what `otherwise` does, which
    takes less."""
    import signal  # most calls have nothing that may take so long

    if not hasattr(signal, "setitimer"):
        return work()
    left = half - time.monotonic()
    if left <= 0:
        return otherwise()

    def stop(*_: object) -> None:
        raise Halfway

    try:
        before = signal.signal(signal.SIGALRM, stop)
    except ValueError:  # not in the main thread
        return work()
    try:
        signal.setitimer(signal.ITIMER_REAL, left)
        try:
            return work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Halfway:
        return otherwise()
    finally:
        signal.signal(signal.SIGALRM, before)


class HookApp(App):
    """What a hook reaches the outside through. `late`: too much of the memory is not
    indexed; `half`: when half of the time is over; `say` prints an answer."""

    late = False
    news: tuple[str, ...] = ()
    half = math.inf
    say: Callable[[Told], Told] = staticmethod(lambda told: told)
    embeds_here = False
    """Vectors are made by mem index, recall and the worker; a hook only uses them."""

    def is_ready(self) -> bool:
        """Bring the index up to the files where that takes no time; False when it is
        empty."""
        changed, gone = self.guarded(
            lambda: self.index.stale(self.project.listing.files)
        )
        self.late = sum(file.size for file in changed) > LARGE
        if self.late:
            return not self.index.empty()
        if changed or gone:
            in_time(self.half, self._refreshed, self._left)
        return not (self.late and self.index.empty())

    def _refreshed(self) -> None:
        self.refresh()

    def _left(self) -> None:
        self.late = True

    def of_one_moment(self, work: Callable[[], T]) -> T:
        """What `work` finds in the index as it is now. SQLite locks the file and looks
        at its size once, and not in every query."""
        database = self.index.db
        # `in_time` may have stopped at any line, and left it open
        if database.in_transaction:
            return work()
        with snapshot(database):
            return work()

    def settled(self, state: State, work: Callable[[State], Told]) -> Told:
        """Say what `work` decides, and then remember it."""
        return settled(state, lambda state: self.say(work(state)))

    def loaded(self, call: HookCall) -> set[str]:
        """The entries that Claude Code, when it is who calls, has read by itself."""
        parts = self.project.listing.files.parts
        for own in (
            p for p in parts if p.tree == PRIVATE and p.path == f"{p.base}/MEMORY.md"
        ):
            kept = os.path.realpath(os.path.dirname(os.path.dirname(own.base)))
            if os.path.realpath(call.transcript).startswith(kept + os.sep):
                with (
                    suppress(OSError, Unreadable),
                    open_file(own.path, own.base) as file,
                ):
                    begin = file.read(CLAUDE_BYTES).decode("utf-8", "ignore")
                    end = sum(map(len, begin.splitlines(keepends=True)[:CLAUDE_LINES]))
                    ends = "WHERE path = ? GROUP BY entry HAVING max(offset + length(text)) <= ?"
                    select = f"SELECT entry FROM chunks JOIN file_meta f ON f.id = source {ends}"
                    return {
                        row[0] for row in self.index.db.execute(select, (own.name, end))
                    }
        return set()

    def room(self, tokens: int, times: int = 1) -> int:
        """So many tokens, or as many as the configured size of an answer allows."""
        return min(tokens, self.project.settings.config.max_tokens * times or tokens)

    def instructions(
        self, log: SessionLog, call: HookCall, files: Sequence[str] = ()
    ) -> Instructions:
        """What the agent has read by itself; `files` are at hand."""
        reader = InstructionReader(
            agent=call.harness,
            folder=call.cwd,
            home=self.project.home,
            environ=self.project.environ,
            named=log.shown(call.session, LOADED),
            files=files,
        )
        return Instructions(reader)

    def words_of(self, entries: Iterable[str]) -> dict[str, set[str]]:
        """A checksum of the words of every copy of these entries, as indexed."""
        select = "SELECT entry, source, title, text FROM chunks WHERE entry"
        rows = self.index.db.execute(
            f"{select} {ONE_OF} ORDER BY part", (json.dumps(sorted(entries)),)
        )
        sums: dict[tuple[str, int], int] = {}
        for entry, source, title, text in rows:
            own = f"{title}\n{text}".encode("utf-8", "surrogatepass")
            sums[entry, source] = zlib.crc32(own, sums.get((entry, source), 0))
        found: dict[str, set[str]] = {}
        for (entry, _), checksum in sums.items():
            found.setdefault(entry, set()).add(f"{checksum:08x}")
        return found

    def in_context(self, log: SessionLog, context: str) -> InContext:
        """What stands in a context: the entries that were told there, and those of them
        that have other words since."""
        told: dict[str, set[str]] = {}
        for key in log.shown(context, WORDS):
            entry, _, checksum = key.rpartition(" ")
            told.setdefault(entry, set()).add(checksum)
        now = self.guarded(lambda: self.words_of(told)) if told else {}
        changed = {key for key, words in now.items() if words.isdisjoint(told[key])}
        return InContext(log.shown(context) - changed, changed)

    def remember(
        self,
        log: SessionLog,
        told: tuple[str, str, str],
        titles: Mapping[str, str],
        also: Iterable[str] = (),
        pointed: Collection[str] = (),
    ) -> None:
        """Remember, in the running transaction, what is told: (context, event, why),
        and entry -> title; what else it stands for; and which are `pointed` at."""
        (context, event, why), day = told, self.project.now.isoformat()
        known = [entry for entry in (*titles, *also) if entry not in pointed]
        keys = [*known, *map(pointer_key, pointed)]
        log.note("shown", ((context, event, key, day) for key in keys), "OR IGNORE")
        words = self.words_of(known)
        rows_of_words = (
            (context, WORDS, f"{key} {checksum}", day)
            for key, checksums in words.items()
            for checksum in checksums
        )
        log.note("shown", rows_of_words, "OR IGNORE")
        at = f"{day}{time.strftime('T%H:%M:%S')}"
        rows = (
            Telling(
                session=context, event=event, entry=key, title=title, why=why, at=at
            )
            for key, title in titles.items()
        )
        log.note("told", rows)


def has_memory(app: App) -> bool:
    """Whether there is a project here with something to remember in view."""
    return app.project.root is not None and bool(app.project.listing.files)


def learns_here(app: App) -> bool:
    """Whether the project keeps memory of its own: hooks never begin one."""
    names = (part.name for part in app.project.listing.files.parts)
    return app.project.root is not None and any(
        not name.startswith("~/") for name in names
    )
