"""The hooks of agents and of git: whether they are whole, find mem and are called."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence

from memcli.app import App
from memcli.diagnostics import agent_wiring
from memcli.diagnostics.document import INFO, PASS, WARN, Check
from memcli.diagnostics.scene import Scene, text_of
from memcli.install import git_hooks, harness
from memcli.storage import folders, state
from memcli.storage.session_log import Spool, Spooled

SILENCE = 24 * 3600
"""Seconds that a session may have gone on without a call before hooks count as silent."""
SPOOLED = 3
"""From so many waiting sessions on it is worth a word."""


def check_hooks(scene: Scene) -> Iterator[Check]:
    """Hooks of agents and of git, when they were last called, and their last failure."""
    root, environ = scene.app.project.root, scene.app.project.environ
    installed = agent_wiring.installed(root, environ)
    yield from agent_wiring.check_agents(installed, root, environ)
    plugged = [name for name in ("claude", "codex") if harness.plugin(name, root, environ)]
    if plugged:
        yield Check("hooks", PASS, f"the plug-in of mem is on in {' and '.join(plugged)}")
    elif not installed:
        worked = _session_since(scene.app, 0)
        what = "no agent calls mem by itself"
        what = "agents work here, and none calls mem by itself" if worked else what
        status = WARN if worked else INFO
        yield Check("hooks", status, what, "mem init --claude, or --codex", worked)
    yield from _git_hooks(scene)
    path = folders.state_dir() / "state.db"
    if not state.is_sound(path):
        what = "the state file is damaged: a hook, or --fix, moves it aside and makes a new one"
        yield Check("state", WARN, what, "mem doctor --fix", str(path))
        return
    yield from _signs_of_life(scene, installed)
    yield from _hook_log()


def _git_hooks(scene: Scene) -> Iterator[Check]:
    """Whether the hooks of git that name mem find it. Git without hooks of ours is no fault."""
    top = scene.repository.top
    if top is None or scene.repository.fault:
        return
    folder = harness.hooks_of(top).folder
    files = [f"{name}{ending}" for name in git_hooks.HOOKS for ending in ("", git_hooks.LEGACY)]
    programs = {name: git_hooks.program_of(text_of(str(folder / name)) or "") for name in files}
    found = {name: program for name, program in programs.items() if program is not None}
    for name, program in found.items():
        if not harness.is_runnable(program):
            what = f"git's {name} calls a program that is not there: {program}"
            hint = "mem init --git; or mem init --remove --all"
            yield Check("hooks", WARN, what, hint, str(folder / name))
    if found and all(map(harness.is_runnable, found.values())):
        yield Check("hooks", PASS, f"git calls mem: {', '.join(found)}", path=str(folder))


def _signs_of_life(scene: Scene, installed: Sequence[harness.Settings]) -> Iterator[Check]:
    """Whether hooks are called when sessions go on, and whether sessions wait to be learned from."""
    app = scene.app
    if app.project.root is None:
        return
    beats, waiting = _remembered(app)
    agents = [at for event, at in beats.items() if not event.startswith("post-")]
    since = max(
        [*agents, *(int(settings.path.stat().st_mtime) for settings in installed)], default=0
    )
    silent = _session_since(app, since + SILENCE) if installed else ""
    if silent:
        what = "hooks are silent: a session went on and none was called"
        hint = "start the agent anew; Codex wants them approved once: /hooks"
        yield Check("hooks", WARN, what, hint, silent)
    elif agents:
        yield Check("hooks", INFO, f"last called {_moment(max(agents))}")
    if len(waiting) >= SPOOLED:
        yield Check(
            "hooks", WARN, f"{len(waiting)} ended sessions wait to be learned from", "mem extract"
        )


def _remembered(app: App) -> tuple[Mapping[str, int], Sequence[Spooled]]:
    """When hooks were called, and what waits; nothing where there is no history yet."""
    if not (folders.state_dir() / "state.db").exists():
        return {}, ()
    with app.state() as known:
        spool = Spool(known)
        return spool.beats(), spool.waiting()


def _session_since(app: App, at: int) -> str:
    """A session of this repository that was written to after a moment, "" for none."""
    from memcli.sessions.discover import discover

    if app.project.root is None:
        return ""
    found = discover(app.project.environ, [app.project.root], newer=at * 10**9).found
    return str(found[0].path) if found else ""


def _moment(seconds: int) -> str:
    return datetime.datetime.fromtimestamp(seconds).isoformat(" ", "minutes")


def _hook_log() -> Iterator[Check]:
    """The log of the hooks, with the last failure that stands in it."""
    path = folders.state_dir() / state.LOG
    lines = (text_of(str(path)) or "").splitlines() if path.is_file() else []
    failed = [line for line in lines if "Error" in line]
    if failed:
        yield Check(
            "hooks", INFO, f"the last failure of a hook: {failed[-1][:200]}", path=str(path)
        )
