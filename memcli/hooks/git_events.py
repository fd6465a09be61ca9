"""What git's own hooks do: keep the index fresh, say when there is work, learn from ended sessions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from memcli.app import App
from memcli.errors import MemError
from memcli.hooks import worker
from memcli.hooks.hook_app import HookApp, learns_here
from memcli.memory.levels import ARCHIVE
from memcli.project import git
from memcli.project.write_blocker import write_blocker
from memcli.storage.session_log import Spool

LARGE = 2_000_000
"""Bytes of memory files up to which it is looked whether there is work for mem compact."""


def run(event: str, environ: Mapping[str, str], cwd: Path) -> tuple[str, str]:
    """Do what an event of git asks for; a line for the person, and one for the log."""
    from memcli.app import Options

    with HookApp(Options(quiet=True), environ, cwd.resolve()) as app:
        if not learns_here(app):
            return "", ""
        _beat(app, event)
        if event == "post-commit":
            return "", _learn(app)
        done = app.refresh(wait=1)
        line = _work(app)
        return (
            line,
            f"{done.changed} changed, {done.removed} removed{' (busy)' if done.busy else ''}",
        )


def _beat(app: App, event: str) -> None:
    app.from_state(lambda state: Spool(state).beat(event, int(time.time())), None)


def _learn(app: App) -> str:
    """Learn in the background, unless git goes on after this commit."""
    top = git.work_tree(app.project.root) if app.project.root is not None else None
    word = git.under_way(top) if top is not None else ""
    if word and word != "command":
        return f"waits: {word}"
    worker.start(app, wait=False)
    return ""


def _work(app: App) -> str:
    """A line when memory could be compacted; "" for none, or where it would take long to find out."""
    from memcli.commands import compact

    if sum(file.size for file in app.project.listing.files) > LARGE or write_blocker(app.project):
        return ""
    try:
        report = compact.run(app, compact.CompactRequest(check=True), dry_run=True)
    except (MemError, OSError):
        return ""
    files = sum(not patch.path.endswith(ARCHIVE) for patch in report.patches)
    return (
        f"mem: {files} memory file{'s' * (files != 1)} can be compacted: mem compact"
        if files
        else ""
    )
