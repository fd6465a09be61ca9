"""`mem hook EVENT`: what agents and git call. Every way out is exit status 0, whatever
else would clutter somebody's work; what went wrong stands in `hooks.log` in the state
folder."""

from __future__ import annotations

import _thread
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.named import NamedTuple

if TYPE_CHECKING:
    from memcli.hooks.calls import HookApp, HookCall, Told
    from memcli.storage.state import Spool, State

OFF = "MEM_HOOK"  # "off" in the environment of agents that mem itself starts
SECONDS = 2.0  # after so long a hook for an agent gives up, without a word
START_SECONDS = 4.0  # nobody types yet
GIT_SECONDS = 15.0
LONG_BYTES = 1_000_000  # what agents say may take long to read above that
LAST_WORDS = 0.3  # seconds for that line: a disk that hangs is not waited for
BEAT_SECONDS = 60
SPOOLED = ("pre-compact", "session-end")  # events that are noted and not answered
LISTED = "instructions-loaded"  # an agent names a file of instructions that it loaded


class Pending(NamedTuple):
    """A call that is answered later when its hook gives up: `text` is the prompt, or the
    source of a start. Before a tool it is what is answered then, at once."""

    verb: str
    session: str
    text: str


def main(arguments: Sequence[str]) -> int:
    """Serve one call; always 0."""
    verb, *rest = arguments or ("",)
    started = time.monotonic()
    if os.environ.get(OFF) == "off" and verb != "worker":
        return 0
    seconds = _patience(verb)
    clock = started + seconds / 2, started + seconds * 3 / 4
    pending: list[Pending] = []
    with nullcontext() if verb == "worker" else _expiring(seconds, arguments, pending):
        name = " ".join(arguments)
        hint = _timed(name, started, lambda: _served(verb, rest, clock, pending))
        if hint and os.isatty(2):  # a person's: no client has a terminal there
            sys.stderr.write(f"mem: hook {verb}: {hint}\n")
        _put_owed(pending)
    return 0


def _put_owed(pending: Sequence[Pending]) -> None:
    """Say what is owed where a call was not judged."""
    for call in pending:
        _put(call.text if call.verb == "pre-tool" else "")


def _patience(verb: str) -> float:
    """After so many seconds a hook gives up."""
    with suppress(KeyError, ValueError):
        if 0 <= (seconds := float(os.environ["MEM_HOOK_SECONDS"])) < 86_400:
            return seconds  # neither `nan` nor `inf` is a time
    if verb.startswith("git"):
        return GIT_SECONDS
    return START_SECONDS if verb == "session-start" else SECONDS


def _tried(work: Callable[[], str]) -> str:
    try:
        return work()
    # An interrupt, too: nothing of this is the agent's business.
    except BaseException as error:
        return f"{type(error).__name__}: {getattr(error, 'what', error)}"


def _timed(name: str, started: float, work: Callable[[], str]) -> str:
    """Do it; a line in the log says what came of it, and how long that took. What a
    person would be told: that line and a hint, "" without one."""
    outcome = _tried(work)
    what, _, hint = outcome.partition("\n")
    if what:
        took = (time.monotonic() - started) * 1000
        _log(f"{name} {took:.0f} ms: {what}")
    return f"{what}\nhint: {hint}" if hint else ""


def _unknown(verb: str, agent: str) -> str:
    """What of a call is not known, and on a second line what is; "" where all is."""
    from memcli.hooks.calls import DECISIONS, EVENTS

    if verb not in (events := (*EVENTS, *SPOOLED, LISTED)):
        return f"unknown event\nmem hook {', '.join(events)}"
    if agent not in DECISIONS:
        known = ", ".join(filter(None, DECISIONS))
        return f"unknown agent {agent[:50]!a}\n--harness {known}"
    return ""


def _served(
    verb: str,
    rest: Sequence[str],
    clock: tuple[float, float],
    pending: list[Pending],
) -> str:
    """Answer a call; what came of it, for the log, and a hint on a second line."""
    if verb == "worker" or verb.startswith("git"):
        return _behind(verb, rest)
    agent = _agent_of(rest)
    if fault := _unknown(verb, agent):
        return fault
    from memcli.hooks.calls import (
        NEEDED,
        UNJUDGED,
        HookCall,
        Told,
        answer,
        is_something_bound,
    )

    if verb == "pre-tool" and is_something_bound():
        asked = Told(text=UNJUDGED, decision="ask")
        _owe(pending, answer(verb, asked, agent=agent))
    data = b"" if os.isatty(0) else read_stdin()
    # Guards are asked about what nobody can read, or not in time.
    owe = partial(_owe, pending)
    unread = HookCall(session="", cwd=os.getcwd(), harness=agent)
    call = _parsed(data, verb, lambda: _event(verb, unread, clock, [], owe))
    if call is None:
        if verb == "pre-tool":
            _event(verb, unread, clock, pending)
        needed = f"session_id, cwd, {NEEDED.get(verb, ('source',))[0]}"
        return f"{len(data)} bytes that are not a call\ngive it JSON with {needed}"
    call = call._replace(harness=agent)
    pending += _begun(verb, call)
    if verb != "session-end" or not hasattr(os, "fork"):
        return _event(verb, call, clock, pending)
    if not os.fork():  # agents end at once, and do not wait
        _detached(lambda: _event(verb, call, clock, []))
    return ""


def _parsed(data: bytes, verb: str, ask: Callable[[], object]) -> HookCall | None:
    """The call, after a question about one that it may take too long to read."""
    from memcli.hooks.calls import parse_payload

    if verb == "pre-tool" and len(data) > LONG_BYTES:
        ask()
    return parse_payload(data, verb)


def _owe(pending: list[Pending], text: str) -> None:
    """Keep what is answered before a tool when the time is over."""
    pending[:] = [Pending(verb="pre-tool", session="", text=text)]


def _begun(verb: str, call: HookCall) -> list[Pending]:
    """What the next prompt is to make up for, should this call get no answer."""
    source = "" if call.agent else call.source or "startup"
    text = {"prompt": call.prompt, "session-start": source}.get(verb)
    return [Pending(verb=verb, session=call.session, text=text)] if text else []


class _TooLate(BaseException):
    """The client does not wait for this answer any more."""


def answered(values: Mapping[str, object]) -> str:
    """What a call of a hook that came over MCP is answered: as `mem hook` does it, but
    in this process. An answer that is late counts as not given."""
    from memcli.hooks import late
    from memcli.hooks.calls import EVENTS, call_of

    call = call_of(values)
    verbs = [verb for verb, names in EVENTS.items() if call and call.event in names]
    if call is None or not verbs or os.environ.get(OFF) == "off":
        return ""
    (verb,) = verbs
    call = call._replace(harness="claude")
    started = time.monotonic()
    seconds = _patience(verb)
    answers = []

    def put(text: str) -> None:
        if time.monotonic() - started > seconds:
            if verb == "prompt":
                late.keep(verb, call.session, call.prompt)
            raise _TooLate
        answers.append(text)

    clock = started + seconds / 2, started + seconds * 3 / 4
    pending: list[Pending] = []
    _timed(f"mcp {verb}", started, lambda: _event(verb, call, clock, pending, put))
    return "".join(answers or (each.text for each in pending))


def _agent_of(arguments: Sequence[str]) -> str:
    """The agent that a wired command names: `--harness codex`."""
    if "--harness" in arguments[:-1]:
        return arguments[arguments.index("--harness") + 1]
    return ""


def _behind(verb: str, rest: Sequence[str]) -> str:
    from memcli.hooks import worker

    if verb == "worker":
        os.closerange(3, 256)  # what the agent has open is not held open
        os.chdir(os.sep)
        return worker.work(rest[0], os.environ, wait=rest[1:] == ["wait"])
    event = verb.removeprefix("git").lstrip("-") or next(iter(rest), "")
    line, outcome = worker.after_git(event, os.environ, Path.cwd())
    _put(line)
    return outcome


def _detached(work: Callable[[], str]) -> None:
    """Do it in this child, which shares nothing with the agent, and which nothing
    hurries."""
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        _log(f"session-end: {_tried(work) or 'spooled'}")
    finally:
        os._exit(0)


def _expire(
    running: _thread.LockType,
    seconds: float,
    arguments: Sequence[str],
    pending: Sequence[Pending],
) -> None:
    if running.acquire(timeout=seconds):
        return
    more = min(_out_of_turn(), seconds)
    if not running.acquire(timeout=more):
        _put_owed(pending)
        line = f"gave up after {round(seconds + more, 1):g} s: {' '.join(arguments)}"
        spoken = _thread.allocate_lock()
        spoken.acquire()
        _thread.start_new_thread(_last_words, (line, pending, spoken))
        spoken.acquire(timeout=LAST_WORDS)
        os._exit(0)


def _out_of_turn() -> float:
    """For how many seconds other programs had the processor while this one could have
    run, as far as the system tells (Linux): they are no fault of the hook."""
    with (
        suppress(OSError, ValueError, IndexError),
        open("/proc/self/schedstat", "rb") as times,
    ):
        return int(times.read().split()[1]) / 1e9
    return 0.0


def _last_words(
    line: str, pending: Sequence[Pending], spoken: _thread.LockType
) -> None:
    _log(line)
    with suppress(Exception):  # nothing is left to say it with
        from memcli.hooks import late

        for call in pending:
            if call.verb != "pre-tool":
                late.keep(call.verb, call.session, call.text)
    spoken.release()


@contextmanager
def _expiring(
    seconds: float, arguments: Sequence[str], pending: Sequence[Pending] = ()
) -> Iterator[None]:
    """After so many seconds, at most twice as many on a busy machine, the process ends
    with a line in the log; a prompt or start that is `pending` is answered with the
    next prompt."""
    running = _thread.allocate_lock()
    running.acquire()
    _thread.start_new_thread(_expire, (running, seconds, arguments, pending))
    try:
        yield
    finally:
        running.release()


def read_stdin() -> bytes:
    """Standard input up to its end or a whole JSON object: not every agent closes its
    end."""
    from memcli.hooks.calls import MOST_BYTES

    data = b""
    with suppress(OSError, ValueError, AttributeError):  # there may be no input at all
        read = sys.stdin.buffer.read
        # A buffer that is being read could not be closed at the end.
        with suppress(OSError):
            read = partial(os.read, sys.stdin.fileno())
        while len(data) < MOST_BYTES and (part := read(1 << 20)):
            data += part
            if part.rstrip()[-1:] == b"}":
                with suppress(ValueError, RecursionError):
                    json.loads(data)
                    break
    return data


def _put(text: str) -> None:
    if text and sys.stdout is not None:
        with suppress(OSError, ValueError):
            sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
            sys.stdout.buffer.flush()


def _log(line: str) -> None:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with suppress(Exception):  # nothing is left to say it with
        from memcli.storage.files import log_hook, state_dir

        log_hook(state_dir(), f"{stamp} {line}")


def _event(
    verb: str,
    call: HookCall,
    clock: tuple[float, float],
    pending: list[Pending],
    put: Callable[[str], None] = _put,
) -> str:
    from memcli.app import Options
    from memcli.hooks.calls import HookApp, HookProject, Told, answer

    named = Path(os.path.realpath(call.cwd))
    # Of a folder that is gone the one around it counts, or the one that we are in:
    # guards bind there.
    there = filter(os.path.isdir, (named, *named.parents[:-1]))
    cwd = next(there, None) or Path.cwd()
    answers: list[Told] = []

    def say(outcome: Told) -> Told:
        if not answers:  # the state may fail after that
            show = app.project.config.hook_show
            moved = (note for note in app.notes if ": moved to " in note)
            whole = outcome._replace(news=(*moved, *outcome.news))
            owe(Told())
            put(answer(verb, whole, call.event, agent=call.harness, show=show))
            answers.append(whole)
        return outcome

    def owe(outcome: Told) -> None:
        if verb == "pre-tool":
            _owe(pending, answer(verb, outcome, call.event, agent=call.harness))

    with HookApp(Options(quiet=True), os.environ, cwd, HookProject) as app:
        app.half, app.almost = clock
        app.say = say
        app.owe = owe
        try:
            outcome = say(_told(app, verb, call))
        except Exception:
            if verb == "pre-tool" and not answers:
                from memcli.hooks.before_tool import unjudged

                say(unjudged(app))
            raise
        size = f"{len(outcome.text)} characters" if outcome.text else ""
        return "; ".join(filter(None, (size, *app.notes)))


def _told(app: HookApp, verb: str, call: HookCall) -> Told:
    from memcli.hooks.calls import Told, has_memory

    if verb == "pre-tool":
        from memcli.hooks.before_tool import elsewhere, unjudged

        if not call.session:
            return unjudged(app)
        if not has_memory(app):
            return elsewhere(app, call)
    return _with_state(app, verb, call) if has_memory(app) else Told()


def _with_state(app: HookApp, verb: str, call: HookCall) -> Told:
    """Do it with the state file; one that is damaged is moved aside, and a new one is
    used."""
    from memcli.storage.files import state_dir
    from memcli.storage.state import LOG_WAIT, Failed, State

    # The end of a session has left its agent, and may wait for another writer.
    wait = 10.0 if verb == "session-end" and hasattr(os, "fork") else LOG_WAIT
    # What was told may be told again; a session that is not learned from is lost.
    lasting = verb in SPOOLED
    while True:
        state = State(state_dir(), app.project.key, wait=wait, lasting=lasting)
        try:
            # It is left open: who closes it last empties its log, and waits for the
            # disk twice.
            return _answered(app, state, verb, call)
        except Failed:
            from memcli.storage.durable import set_aside

            state.close()
            kept = None if app.news else set_aside(state_dir())
            if kept is None:
                raise
        app.news = (f"the state file was damaged: moved to {kept}",)
        app.notes += app.news


def _answered(app: HookApp, state: State, verb: str, call: HookCall) -> Told:
    from memcli.storage.state import Spool

    spool = Spool(state)
    if verb == LISTED:
        return _listed(app, state, call)
    if verb in SPOOLED:
        return _spooled(app, spool, verb, _located(call))
    starts = verb == "session-start"
    answer = _telling(verb)(app, state, _located(call) if starts else call)
    if verb != "pre-tool" or answer.text:
        _beat(spool, verb)
    if app.late or (starts and not call.agent):
        from memcli.hooks import worker

        worker.start(app, wait=starts and bool(spool.waiting()))
    return answer


def _telling(verb: str) -> Callable[[HookApp, State, HookCall], Told]:
    """What answers an event; the others are not imported."""
    if verb == "pre-tool":
        from memcli.hooks import before_tool

        return before_tool.pre_tool
    if verb in ("session-start", "subagent-start"):
        from memcli.hooks import starts

        return (
            starts.session_start if verb == "session-start" else starts.subagent_start
        )
    from memcli.hooks import prompts

    return prompts.prompt if verb == "prompt" else prompts.tool_failed


def _listed(app: HookApp, state: State, call: HookCall) -> Told:
    from memcli.hooks.calls import LOADED, Told
    from memcli.storage.state import SessionLog

    row = (call.session, LOADED, call.file, app.project.now.isoformat())
    SessionLog(state).note("shown", [row] if call.file else [], "OR IGNORE")
    return Told()


def _spooled(app: HookApp, spool: Spool, verb: str, call: HookCall) -> Told:
    from memcli.hooks import calls, worker
    from memcli.storage.state import Spooled

    _beat(spool, verb)
    if call.agent or not calls.learns_here(app):
        return calls.Told()
    ended = verb == "session-end"
    spool.add(
        Spooled(session=call.session, path=call.transcript, ended=ended, size=call.size)
    )
    if ended:
        worker.start(app, wait=True)
    return calls.Told()


def _located(call: HookCall) -> HookCall:
    """With its size; without a transcript that lies elsewhere than those of an
    agent."""
    from memcli.sessions import inside, stores

    folders = map(os.path.realpath, stores(os.environ).values())
    transcript = os.path.realpath(call.transcript)
    if not call.transcript or not inside(transcript, folders):
        return call._replace(transcript="")
    with suppress(OSError):
        return call._replace(size=os.stat(call.transcript).st_size)
    return call


def _beat(spool: Spool, verb: str) -> None:
    """Note that a hook was called, at most once a minute: a commit costs more than all
    the rest."""
    now = int(time.time())
    if abs(now - spool.beats().get(verb, 0)) >= BEAT_SECONDS:
        spool.beat(verb, now)
