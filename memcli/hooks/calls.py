"""What an agent says when it calls a hook, what it is answered, and what a hook works
through."""

import json
import math
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeVar

from memcli.app import App
from memcli.hooks.instructions import InstructionReader, Instructions
from memcli.memory.words import count
from memcli.named import NamedTuple
from memcli.project.config import Config
from memcli.project.context import Project
from memcli.project.listing import (
    CLAUDE_BYTES,
    CLAUDE_LINES,
    GUARDED,
    PRIVATE,
    Folder,
    FoundFile,
)
from memcli.storage.files import Unreadable, open_file, snapshot, state_dir
from memcli.storage.state import SessionLog, State, settled

MOST_BYTES = 10_000_000
MOST_DIGITS = 4_000
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
NEEDED: dict[str, tuple[str, type]] = {
    "prompt": ("prompt", str),
    "pre-tool": ("tool_input", dict),
    "tool-failed": ("error", str),
    "instructions-loaded": ("file_path", str),
}
"""What an agent says with an event, without which there is nothing to answer."""
# compiled by the first text that may have one
_ODD = "[\ud800-\udfff]"
UNJUDGED = (
    "mem: this call could not be checked against the guards here: no time left, or not "
    "readable"
)


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


def parse_payload(data: bytes, verb: str = "") -> HookCall | None:
    """What an agent says of an event in a JSON object; None when it says nothing that
    can be used."""
    try:
        whole = data if len(data) < MOST_BYTES else b""
        values = json.loads(whole, parse_int=_shortened_int)
        if not isinstance(values, dict):
            return None
        key, kind = NEEDED.get(verb, ("session_id", str))
        return call_of(values) if isinstance(values.get(key), kind) else None
    except (ValueError, RecursionError):
        return None


def _shortened_int(digits: str) -> int:
    """A number, of one with more digits than Python reads the first."""
    return int(digits[:MOST_DIGITS])


def call_of(values: Mapping[str, Any]) -> HookCall | None:
    """The call that these values of a client make, with their halves of characters
    replaced; None when they make none."""
    values = json.loads(_plain(json.dumps(values, ensure_ascii=False)))
    texts = {name: text for name, text in values.items() if isinstance(text, str)}

    def text(name: str, most: int | None = None) -> str:
        return texts.get(name, "")[:most]

    session = text("session_id", 200)
    if not session or not _is_path(text("cwd")):
        return None
    tool_input = values.get("tool_input")
    return HookCall(
        session=session,
        cwd=text("cwd"),
        transcript=_path(os.path.expanduser(text("transcript_path"))),
        source=text("source", 50),
        prompt=text("prompt"),
        input=tool_input if isinstance(tool_input, dict) else {},
        agent=text("agent_id", 200),
        event=text("hook_event_name"),
        tool=text("tool_name", 200),
        file=_path(text("file_path")),
        error=text("error"),
    )


def _path(name: str) -> str:
    """The name of a file if it is absolute, else ""."""
    return name if _is_path(name) else ""


def _is_path(name: str) -> bool:
    return os.path.isabs(name) and "\0" not in name


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
    verb: str, answer: Told, event: str = "", *, agent: str = "", show: bool = False
) -> str:
    """The JSON object that an agent takes, "" for none; with a line for the person, to
    `show`."""
    names = EVENTS.get(verb, ())
    reply: dict[str, Any] = {}
    if answer.decision and answer.decision in DECISIONS.get(agent, ()):
        reason = _plain(answer.text)[:MOST_CHARACTERS]
        reply |= _decision(answer.decision, reason, event)
    elif answer.text and names:
        name = event if event in names else names[0]
        text = _plain(answer.text)[:MOST_CHARACTERS]
        reply["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": text}
    if show and (line := person_line(answer)):
        reply["systemMessage"] = _plain(line)
    return json.dumps(reply) if reply else ""


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
    """The text with its halves of characters replaced."""
    is_plain = max({*text}, default="") < "\ud800"
    return text if is_plain else re.sub(_ODD, "\ufffd", text)


def person_line(answer: Told) -> str:
    """One line that says what was told: "mem: 2 notes told (cart clock; never
    retry)"."""
    # An episode may be called as what was learned in it.
    titles = list(dict.fromkeys(answer.titles))
    parts = list(answer.news)
    if titles:
        parts.append(f"{count(len(titles), 'note')} told ({_named(titles)})")
    return f"mem: {'; '.join(parts)}" if parts else ""


def _named(titles: Sequence[str]) -> str:
    """As many of the titles as a line has room for, and how many more there are."""
    short = [_shortened(title) for title in titles]
    while len(short) > 1 and len("; ".join(short)) > LINE:
        short.pop()
    left_out = len(titles) - len(short)
    return "; ".join([*short, f"{left_out} more"] if left_out else short)


def _shortened(title: str) -> str:
    """A title in 50 characters; of a section what it is called itself, not where it
    stands."""
    title = title.rpartition(" > ")[2]
    return title if len(title) <= 50 else f"{title[:49].rstrip()}…"


class HookProject(Project):
    """A project that takes what it can of a faulty configuration."""

    @cached_property
    def config(self) -> Config:
        """What is configured, but nothing that reaches the network."""
        own = self.settings.config
        embedder = own.embedder if own.embedder in ("auto", "local") else "none"
        return own._replace(embedder=embedder, llm="none", query="plain", max_tokens=0)


LOADED = "loaded"
"""The event under which it is noted which files an agent said it loaded."""


class Halfway(BaseException):
    """Half of the time that a hook has is over."""


T = TypeVar("T")


def in_time(half: float, work: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """What `work` gives by `half` (of time.monotonic), else what `otherwise` does, which
    takes less."""
    import signal  # most calls have nothing that may take so long

    if half == math.inf or not hasattr(signal, "setitimer"):
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
    indexed; `half`, `almost`: when half, and three quarters, of the time are over;
    `say` prints an answer; `owe` keeps the one for when the time is over before."""

    late = False
    unindexed: tuple[FoundFile, ...] = ()
    """Files that changed, where too much of the memory is not indexed."""
    news: tuple[str, ...] = ()
    half = math.inf
    almost = math.inf
    say: Callable[[Told], Told] = staticmethod(lambda told: told)
    owe: Callable[[Told], None] = staticmethod(lambda told: None)
    embeds_here = False
    """Vectors are made by mem index, recall and the worker; a hook only uses them."""

    def is_ready(self) -> bool:
        """Bring the index up to the files where that takes no time; False when it is
        empty."""
        changed, gone = self.guarded(
            lambda: self.index.stale(self.project.listing.files)
        )
        self.late = sum(file.size for file in changed) > LARGE
        if not self.late and (changed or gone):
            in_time(self.half, self.refresh, self._left)
        self.unindexed = tuple(changed) if self.late else ()
        return not (self.late and self.index.empty())

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
        """The entries that Claude Code has read by itself: those at the beginning of its
        own memory."""
        path, text = self._own_memory(call)
        rows = self.index.db.execute(
            "SELECT entry FROM chunks JOIN file_meta ON file_meta.id = source"
            " WHERE path = ? GROUP BY entry HAVING max(offset + length(text)) <= ?",
            (self.project.name_of(path), len(text)),
        )
        return {entry for (entry,) in rows}

    def _own_memory(self, call: HookCall) -> tuple[str, str]:
        """The path of what Claude Code, when it is who calls, keeps as its own memory,
        and what it reads of it."""
        transcript = os.path.realpath(call.transcript)
        for part in self.project.listing.files.parts:
            if part.tree != PRIVATE or part.path != f"{part.base}/MEMORY.md":
                continue
            kept = os.path.realpath(os.path.dirname(os.path.dirname(part.base)))
            if transcript.startswith(kept + os.sep):
                return part.path, _read_by_claude(part)
        return "", ""

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
            own=self._own_memory(call),
        )
        return Instructions(reader)


def _read_by_claude(memory: Folder | FoundFile) -> str:
    """What Claude Code reads of its own memory at a start."""
    with suppress(OSError, Unreadable), open_file(memory.path, memory.base) as file:
        begin = file.read(CLAUDE_BYTES).decode("utf-8", "ignore")
        return "".join(begin.splitlines(keepends=True)[:CLAUDE_LINES])
    return ""


def is_something_bound() -> bool:
    """Whether guards are known on this machine, of whatever project: until it is known
    which one a call is about, they ask."""
    with suppress(OSError):
        return bool(os.listdir(state_dir() / GUARDED))
    return False


def has_memory(app: App) -> bool:
    """Whether there is a project here with something to remember in view."""
    return app.project.root is not None and bool(app.project.listing.files)


def learns_here(app: App) -> bool:
    """Whether the project keeps memory of its own: hooks never begin one."""
    if app.project.root is None:
        return False
    parts = app.project.listing.files.parts
    return any(not part.name.startswith("~/") for part in parts)
