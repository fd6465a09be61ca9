"""What goes on behind a hook: a process of its own that learns from sessions that have ended."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from memcli.app import App, Options
from memcli.errors import MemError
from memcli.project.write_blocker import write_blocker
from memcli.storage.files import digest
from memcli.storage.folders import state_dir
from memcli.storage.session_log import SessionLog, Spool, Spooled
from memcli.storage.state import alone
from memcli.text.controls import for_display

TRIES = 5
"""So often a session that cannot be learned from is tried; then it is given up, which the log says.
"""
PATIENCE = 600.0
"""Seconds that one worker waits for another of the same project."""
COMMAND = 15.0
"""Seconds that a worker waits for a running git command."""


def start(app: App, *, wait: bool) -> None:
    """Start a worker for the project of `app` and return at once: it shares nothing with this
    process.

    Without `wait` it ends when another one is at work.
    """
    import subprocess

    environ = {
        key: value for key, value in app.project.environ.items() if not key.startswith("GIT_")
    }
    environ["MEM_HOOK"] = "off"
    if environ.get("MEM_DB"):
        environ["MEM_DB"] = os.path.abspath(app.project.cwd / environ["MEM_DB"])
    detached = (
        {"creationflags": 0x00000208} if sys.platform == "win32" else {"start_new_session": True}
    )
    subprocess.Popen(
        [
            sys.executable,
            "-m",
            "memcli",
            "hook",
            "worker",
            str(app.project.root),
            "wait" if wait else "go",
        ],
        cwd=os.path.abspath(os.sep),
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **detached,
    )


def work(root: str, environ: Mapping[str, str], *, wait: bool) -> str:
    """Learn from what is spooled, then from finished sessions that nobody told of; one line for the
    log.
    """
    if hasattr(os, "nice"):
        os.nice(10)
    with App(Options(root=root, quiet=True), environ, Path(root)) as app:
        folder = state_dir()
        name = f"worker-{digest(app.project.key.encode('utf-8', 'surrogateescape'))}"
        with alone(folder, name, wait=PATIENCE if wait else 0.0) as mine:
            return _serve(app) if mine else "another worker is at it"


def _serve(app: App) -> str:
    from memcli.hooks.hook_app import has_memory, learns_here

    if has_memory(app):
        app.refresh()
    return _sweep(app) if learns_here(app) else "nothing to learn here"


def _sweep(app: App) -> str:
    with app.state() as history:
        done = [_told(app, Spool(history), item) for item in Spool(history).waiting()]
        done.append(_learn(app, ()))
    return "; ".join(filter(None, done)) or "nothing to learn"


def _hindered(app: App) -> str:
    """The same, once a git command that is running has ended."""
    until = time.monotonic() + COMMAND
    while (why := write_blocker(app.project)).endswith(" command") and time.monotonic() < until:
        time.sleep(0.2)
    return why


def _told(app: App, spool: Spool, item: Spooled) -> str:
    """Learn from one spooled session. It stays spooled until that has been done."""
    path = item.path or _path_of(app, item.session)
    if not path or not os.path.isfile(path):
        spool.remove(item)
        return f"{item.session}: the transcript is gone"
    if not item.ended and _is_running(path):
        return ""
    why = _hindered(app)
    if why:
        return f"{item.session}: waits, {why}"
    fault = _learn(app, (path,))
    if not fault or item.tries + 1 >= TRIES:
        spool.remove(item)
        return f"{item.session}: given up, {fault}" if fault else f"{item.session}: learned from"
    spool.count_try(item)
    return f"{item.session}: {fault}"


def _is_running(path: str) -> bool:
    from memcli.extraction.transcripts import QUIET

    return time.time() - os.stat(path).st_mtime < QUIET


def _path_of(app: App, session: str) -> str:
    """The transcript of a session whose agent did not name it."""
    from memcli.sessions.discover import discover

    assert app.project.root is not None
    found = discover(app.project.environ, [app.project.root]).found
    return next(
        (str(each.path) for each in found if each.session == session and not each.parent), ""
    )


def _learn(app: App, paths: tuple[str, ...]) -> str:
    """Learn from these transcripts, or from finished sessions not read yet; what went wrong, if
    anything.
    """
    from memcli.commands.history import note_sessions
    from memcli.extraction.extract import ExtractRequest
    from memcli.hooks import pipeline

    why = _hindered(app)
    if why:
        return why
    app.project.relist()
    try:
        done = pipeline.run(app, ExtractRequest(transcripts=paths, finished=not paths))
        report = done.extract
        note_sessions(app, paths)
        _announce(
            app, [e.title for each in report.sessions for e in each.events if e.what == "learned"]
        )
    except (MemError, OSError) as error:
        return f"{type(error).__name__}: {getattr(error, 'what', error)}"
    failed = {scope for session in report.sessions for scope, _ in session.failed}
    return f"scopes failed: {', '.join(sorted(failed))}" if failed else ""


def _announce(app: App, titles: list[str]) -> None:
    """Have the person told at the next start what was learned."""
    if not titles:
        return
    count = f"{len(titles)} note{'s' * (len(titles) != 1)}"
    more = f"; {len(titles) - 3} more" if len(titles) > 3 else ""
    named = for_display("; ".join(titles[:3]))
    with app.state() as history, history.transaction():
        SessionLog(history).announce(f"{count} learned ({named}{more}): mem list --recent 5")
