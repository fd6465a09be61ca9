"""`mem hook EVENT`: what agents and git call. It never fails, never waits for long, says little or
nothing.

Every way out is exit status 0: whatever else a hook returned would stop or clutter somebody's work.
What went wrong stands in the log, `hooks.log` in the state folder.
"""

from __future__ import annotations

import _thread
import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memcli.hooks.events import HookApp, Said
    from memcli.storage.state import History

OFF = "MEM_HOOK"
"""Set to `off` in the environment of agents that mem itself starts: their hooks do nothing."""
READ_SECONDS = 2.0
SECONDS = 2.3
"""After so long a hook for an agent gives up, without a word."""
GIT_SECONDS = 15.0
BEAT_SECONDS = 60
MOST_BYTES = 10_000_000
MOST_CHARACTERS = 9_500
EVENTS = {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "pre-tool": "PreToolUse"}
"""The events that are answered, as agents call them."""
SILENT = ("pre-compact", "session-end")
_ODD = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")


def main(arguments: Sequence[str]) -> int:
    """Serve one call; always 0."""
    verb, *rest = arguments or ("",)
    if verb == "worker":
        return _worked(rest)
    if os.environ.get(OFF) == "off":
        return 0
    started = time.monotonic()
    done = _expire_after(GIT_SECONDS if verb.startswith("git") else SECONDS)
    try:
        outcome = _served(verb, rest)
    except (
        BaseException
    ) as error:  # an interrupt, too: nothing that happens here is the agent's business
        outcome = f"{type(error).__name__}: {getattr(error, 'what', error)}"
    try:
        if outcome is not None:
            _log(f"{' '.join(arguments)} {(time.monotonic() - started) * 1000:.0f} ms: {outcome}")
    finally:
        done.release()
    return 0


def _served(verb: str, rest: Sequence[str]) -> str | None:
    """Do what the event asks for; what became of it, None for what is not worth a line."""
    if verb.startswith("git"):
        event = verb.removeprefix("git").lstrip("-") or next(iter(rest), "")
        return _git(event)
    if verb not in EVENTS and verb not in SILENT:
        return "unknown event"
    data = read_stdin(READ_SECONDS)
    said = parse_payload(data)
    return _event(verb, said) if said is not None else f"{len(data)} bytes that are no call"


# --- the clock, the input, the answer


def _expire_after(seconds: float) -> _thread.LockType:
    """End this process, with success, unless the lock is released before."""
    running = _thread.allocate_lock()
    running.acquire()

    def expire() -> None:
        if not running.acquire(timeout=seconds):
            os._exit(0)

    _thread.start_new_thread(expire, ())
    return running


def read_stdin(seconds: float) -> bytes:
    """Standard input up to its end, up to a whole JSON object, or what came within so many seconds."""
    if sys.stdin is None:
        return b""
    parts: list[bytes] = []
    ended = _thread.allocate_lock()
    ended.acquire()
    _thread.start_new_thread(_read, (sys.stdin.buffer, parts, ended))
    ended.acquire(timeout=seconds)
    return b"".join(parts)


def _read(stream: Any, parts: list[bytes], ended: _thread.LockType) -> None:
    """Collect what is there; agents that do not close their end are not waited for once they said
    all.
    """
    size = 0
    try:
        read = partial(
            os.read, stream.fileno()
        )  # a buffer that is being read could not be closed at the end
    except OSError:
        read = stream.read1
    try:
        while size < MOST_BYTES and (part := read(1 << 20)):
            parts.append(part)
            size += len(part)
            if part.rstrip()[-1:] == b"}" and _is_whole(b"".join(parts)):
                return
    except (OSError, ValueError):
        return
    finally:
        ended.release()


def _is_whole(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def parse_payload(data: bytes) -> Said | None:
    """What an agent says in a JSON object; None when it says nothing that can be used."""
    try:
        values = json.loads(data) if len(data) < MOST_BYTES else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    from memcli.hooks.events import Said, transcript_size

    cwd = _text(values, "cwd") or _first(values.get("workspace_roots"))
    session = _text(values, "session_id") or _text(values, "conversation_id")
    if not session or not _is_path(cwd):
        return None
    path = os.path.expanduser(_text(values, "transcript_path"))
    path = path if _is_path(path) else ""
    given = values.get("tool_input")
    return Said(
        session[:200], cwd, path, transcript_size(path), _text(values, "source")[:50],
        _text(values, "prompt") or _text(values, "user_prompt"), _text(values, "tool_name"),
        given if isinstance(given, dict) else {}, _text(values, "agent_id")[:200],
    )  # fmt: skip


def _is_path(name: str) -> bool:
    """Whether a file could have this name, and from everywhere the same one."""
    try:
        return os.path.isabs(name) and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:  # half a character
        return False


def _text(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _first(values: object) -> str:
    return values[0] if isinstance(values, list) and values and isinstance(values[0], str) else ""


def answer(verb: str, text: str) -> str:
    """The JSON object that agents take: plain ASCII, no half characters, not too long; "" for no
    text.
    """
    if not text:
        return ""
    text = _ODD.sub("\ufffd", text)
    said = {"hookEventName": EVENTS[verb], "additionalContext": text[:MOST_CHARACTERS]}
    return json.dumps({"hookSpecificOutput": said})


def _put(text: str) -> None:
    """Write the answer at once: whoever reads it gets all or nothing."""
    if text and sys.stdout is not None:
        try:
            sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
            sys.stdout.buffer.flush()
        except (OSError, ValueError):
            return


def _log(line: str) -> None:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        from memcli.storage.state import log_hook, state_dir

        log_hook(state_dir(), f"{stamp} {line}")
    except Exception:  # nothing is left to say it with
        return


# --- agents


def _event(verb: str, said: Said) -> str | None:
    from memcli.app import Options
    from memcli.errors import MemError
    from memcli.hooks.events import HookApp, has_memory
    from memcli.storage.state import LOG_WAIT, History, state_dir

    cwd = Path(os.path.realpath(said.cwd))
    with HookApp(Options(quiet=True), os.environ, cwd) as app:
        if not has_memory(app):
            return None
        history = History(state_dir(), app.project, wait=LOG_WAIT)
        try:
            text = _answered(app, history, verb, said)
            _put(answer(verb, text) if verb in EVENTS else "")
            outcome = f"{len(text)} characters" if text else None
        except MemError as error:
            outcome = f"{error.what}"
        finally:
            history.close()
        if app.late and verb != "session-start":
            _start_worker(app, wait=False)
        return "; ".join(filter(None, (outcome, *app.notes))) or None


def _answered(app: HookApp, history: History, verb: str, said: Said) -> str:
    """Do it, and leave a sign of life."""
    from memcli.hooks import events

    if (
        verb == "pre-tool"
    ):  # called before every edit and command: it leaves a sign only when it speaks
        text = events.pre_tool(app, history, said)
        if text:
            _beat(history, verb)
        return text
    _beat(history, verb)
    if verb == "prompt":
        return events.prompt(app, history, said)
    if verb == "session-start":
        text = events.session_start(app, history, said)
        if not said.agent:
            _start_worker(app, wait=bool(history.spooled()))
        return text
    _spool(app, history, said, ended=verb == "session-end")
    return ""


def _beat(history: History, verb: str) -> None:
    """Note that a hook was called, at most once a minute: a commit costs more than all the rest."""
    now = int(time.time())
    if abs(now - history.beats().get(verb, 0)) >= BEAT_SECONDS:
        history.beat(verb, now)


def _spool(app: HookApp, history: History, said: Said, *, ended: bool) -> None:
    """Note that a session has ended, or was about to be shortened; learn from one that has ended."""
    from memcli.hooks.events import learns_here
    from memcli.storage.state import Spooled

    if said.agent or not learns_here(app):
        return
    history.spool(Spooled(said.session, said.transcript, ended, said.size))
    if ended:
        _start_worker(app, wait=True)


def _start_worker(app: HookApp, *, wait: bool) -> None:
    from memcli.hooks import worker

    worker.start(app, wait=wait)


def _worked(rest: Sequence[str]) -> int:
    """What runs in the background."""
    if not rest or not os.path.isabs(rest[0]):
        return 0
    try:
        from memcli.hooks import worker

        outcome = worker.work(rest[0], os.environ, wait=rest[1:] == ["wait"])
    except Exception as error:
        outcome = f"{type(error).__name__}: {getattr(error, 'what', error)}"
    _log(f"worker: {outcome}")
    return 0


# --- git


def _git(event: str) -> str | None:
    """Refresh the index after a merge or a rebase, learn from ended sessions after a commit."""
    if event not in ("post-merge", "post-rewrite", "post-commit"):
        return "unknown event of git"
    from memcli.hooks import git_events

    for name in [name for name in os.environ if name.startswith("GIT_")]:
        del os.environ[name]
    line, outcome = git_events.run(event, os.environ, Path.cwd())
    _put(line)
    return outcome or None
