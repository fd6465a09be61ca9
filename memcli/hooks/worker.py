"""What goes on behind a hook, in a process of its own that learns; and what git's hooks
do."""

import os
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.app import App, Options
from memcli.errors import MemError
from memcli.hooks.calls import HookApp, HookProject, learns_here
from memcli.memory.values import ARCHIVE
from memcli.memory.words import count
from memcli.project import git
from memcli.storage.files import DETACHED, state_dir
from memcli.storage.state import SessionLog, Spool, Spooled, alone
from memcli.text.controls import for_display
from memcli.text.digests import digest

if TYPE_CHECKING:
    from memcli.extraction.extract import Learned

TRIES = 5
"""So often a session that cannot be learned from is tried; then it is given up."""
PATIENCE = 600.0  # seconds that one worker waits for another of the same project
# bytes of memory files above which git does not wait for a look at mem compact
LARGE = 2_000_000
COMMAND = 15.0  # seconds that a worker waits for a running git command


def start(app: App, *, wait: bool) -> None:
    """Start a worker on its own; without `wait` it ends when another one is at work."""
    environ = _without_git(app.project.environ)
    environ["MEM_HOOK"] = "off"
    if environ.get("MEM_DB"):
        environ["MEM_DB"] = os.path.abspath(app.project.cwd / environ["MEM_DB"])
    words = [str(app.project.root), "wait" if wait else "go"]
    command = [sys.executable, "-P", "-m", "memcli", "hook", "worker", *words]
    if sys.platform == "linux":
        # A hook that imports subprocess takes a twentieth longer.
        null = [
            (os.POSIX_SPAWN_OPEN, file, os.devnull, os.O_RDWR, 0) for file in range(3)
        ]
        os.posix_spawn(command[0], command, environ, file_actions=null, setsid=True)
        return
    import subprocess

    no = subprocess.DEVNULL
    subprocess.Popen(command, env=environ, stdin=no, stdout=no, stderr=no, **DETACHED)


def work(root: str, environ: Mapping[str, str], *, wait: bool) -> str:
    """Learn from what is spooled, then from finished sessions; a line for the log."""
    if hasattr(os, "nice"):
        os.nice(10)
    with App(Options(root=root, quiet=True), environ, Path(root)) as app:
        name = f"worker-{digest(app.project.key.encode('utf-8', 'surrogateescape'))}"
        with alone(state_dir(), name, wait=PATIENCE if wait else 0.0) as mine:
            if not mine:
                return "another worker is running"
            app.refresh()
            synced = _synced(app)
            if not learns_here(app):
                return synced or "nothing to learn here"
            with app.state() as history:
                spool = Spool(history)
                done = [
                    *(_told(app, spool, item) for item in spool.waiting()),
                    _learn(app, ()),
                ]
            # What entries name is held against the new commits.
            app.check_names(seconds=60)
            return "; ".join(filter(None, [*done, synced])) or "nothing to learn"


def _synced(app: App) -> str:
    if app.project.config.sync != "session":
        return ""
    from memcli.commands.sync import HomeRepository

    try:
        repository = HomeRepository(app.project, app.workspace)
        report = repository.sync(taken_back=app.taken_back())
    except (MemError, OSError) as error:
        return f"mem sync: {_named(error)}"
    lost = len(report.gone) + len(report.changed)
    losses = f", {lost} of yours gone or changed: mem undo" if lost else ""
    return f"mem sync: {report.sent} sent, {report.taken} taken in{losses}"


def _told(app: App, spool: Spool, item: Spooled) -> str:
    from memcli.extraction.transcripts import QUIET

    path = item.path or _transcript_of(app, item.session)
    if not os.path.isfile(path):
        spool.remove(item)
        return f"{item.session}: the transcript is gone"
    age = time.time() - os.stat(path).st_mtime
    if not item.ended and age < QUIET:
        return ""
    if why := _hindered(app):
        return f"{item.session}: waits, {why}"
    fault = _learn(app, (path,))
    if fault and item.tries + 1 < TRIES:
        spool.try_again(item)
        return f"{item.session}: {fault}"
    spool.remove(item)
    outcome = f"given up, {fault}" if fault else "learned from"
    return f"{item.session}: {outcome}"


def _transcript_of(app: App, session: str) -> str:
    """The path of a session whose agent did not name it; "" when there is none."""
    from memcli.sessions.discover import discover

    root = app.project.root
    for each in discover(app.project.environ, [root] if root else []).found:
        if each.session == session and each.parent == "":
            return str(each.path)
    return ""


def _hindered(app: App) -> str:
    from memcli.project.context import write_blocker

    until = time.monotonic() + COMMAND
    while True:
        why = write_blocker(app.project)
        is_brief = why.endswith(" command")
        if not is_brief or time.monotonic() >= until:
            return why
        time.sleep(0.2)


def _learn(app: App, paths: tuple[str, ...]) -> str:
    from memcli.extraction.extract import ExtractRequest
    from memcli.hooks import pipeline

    if why := _hindered(app):
        return why
    app.project.relist()
    try:
        request = ExtractRequest(transcripts=paths, finished=not paths)
        sessions = pipeline.run(app, request).extract.sessions
        _announce(app, _learned(sessions))
    except (MemError, OSError) as error:
        return _named(error)
    failed = {scope for session in sessions for scope, _ in session.failed}
    return f"scopes failed: {', '.join(sorted(failed))}" if failed else ""


def _learned(sessions: Iterable["Learned"]) -> dict[str, str]:
    """The titles of what is new, by id."""
    events = (event for session in sessions for event in session.events)
    return {event.id: event.title for event in events if event.what == "learned"}


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {getattr(error, 'what', error)}"


def _announce(app: App, titles: Mapping[str, str]) -> None:
    """Have the next start say what was learned."""
    if not titles:
        return
    named = [f"{title} (mem show {name[:8]})" for name, title in titles.items()]
    said = for_display("; ".join(named[:3]))
    said += f"; {len(named) - 3} more" if len(named) > 3 else ""
    line = f"{count(len(named), 'note')} learned: {said}"
    with app.state() as history, history.transaction():
        SessionLog(history).note("news", [(line,)])


def after_git(event: str, environ: Mapping[str, str], cwd: Path) -> tuple[str, str]:
    """Do what an event of git asks for; a line for the person, and one for the log."""
    with HookApp(
        Options(quiet=True), _without_git(environ), cwd.resolve(), HookProject
    ) as app:
        root = app.project.root
        if not learns_here(app) or root is None:
            return "", ""
        app.from_state(lambda state: Spool(state).beat(event, int(time.time())), None)
        if event == "post-commit":
            if _is_settled(root):  # else git goes on after it
                start(app, wait=False)
            return "", ""
        done = app.refresh(wait=1)
        busy = " (busy)" if done.busy else ""
        return _work(app), f"{done.changed} changed, {done.removed} removed{busy}"


def _without_git(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without the repository that git tells its hooks."""
    return {name: value for name, value in environ.items() if name[:4] != "GIT_"}


def _is_settled(root: Path) -> bool:
    """Whether git is in the middle of nothing but the command that called."""
    top = git.work_tree(root)
    return top is None or git.under_way(top) in ("", "command")


def _work(app: App) -> str:
    from memcli.commands import compact
    from memcli.project.context import write_blocker

    size = sum(file.size for file in app.project.listing.files)
    if size > LARGE or write_blocker(app.project):
        return ""
    try:
        report = compact.run(app, compact.CompactRequest(check=True))
    except (MemError, OSError):
        return ""
    number = sum(not patch.path.endswith(ARCHIVE) for patch in report.patches)
    if not number:
        return ""
    return f"mem: {count(number, 'memory file')} can be compacted: mem compact"
