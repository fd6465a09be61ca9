"""The hooks of agents and of git: whether they are whole, trusted, find mem and are
called."""

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from memcli.app import App
from memcli.diagnostics.content import Check, Scene, text_of
from memcli.install import agent_settings, git_hooks, harness, repository
from memcli.sessions.gather import mapping
from memcli.storage import durable, files
from memcli.storage.state import Spool, Spooled

SILENCE = 24 * 3600
"""Seconds that a session may have gone on without a call before hooks count as
silent."""
SPOOLED = 3  # from so many waiting sessions on it is worth a word


def check_hooks(scene: Scene) -> Iterator[Check]:
    """Hooks of agents and of git, when they were last called, and their last
    failure."""
    root = scene.app.project.root
    environ = scene.app.project.environ
    installed = [
        each for each in harness.all_settings(root, environ) if harness.calls_mem(each)
    ]
    yield from _agents(scene, installed)
    yield from _git_hooks(scene)
    state = files.state_dir() / "state.db"
    log = files.state_dir() / files.LOG
    if not durable.is_sound(state):
        what = "the state file is damaged: a hook, or --fix, moves it aside and makes a new one"
        yield Check(
            name="state",
            status="WARN",
            detail=what,
            hint="mem doctor --fix",
            path=str(state),
        )
        return
    yield from _signs_of_life(scene, installed)
    for line in [line for line in (text_of(log) or "").splitlines() if "Error" in line][
        -1:
    ]:
        what = f"the last failure of a hook: {line[:200]}"
        yield Check("hooks", "INFO", what, path=str(log))


def _agents(
    scene: Scene, installed: Sequence[harness.AgentSettings]
) -> Iterator[Check]:
    root = scene.app.project.root
    environ = scene.app.project.environ
    for each in installed:
        yield from list(_wiring(scene, each, installed)) or [
            Check(
                "hooks",
                "PASS",
                f"{harness.NAMES[each.harness]} calls mem",
                path=str(each.path),
            )
        ]
    fault = harness.path_fault()
    bare = harness.desktop_fault()
    if installed and (fault or bare):
        back = "mem init --remove --all takes the wiring back"
        yield Check(
            name="hooks",
            status="WARN" if fault else "INFO",
            detail=fault or bare,
            hint=back,
        )
    plugged = [
        name for name in ("claude", "codex") if harness.plugin(name, root, environ)
    ]
    if plugged:
        yield Check(
            "hooks", "PASS", f"the plug-in of mem is on in {' and '.join(plugged)}"
        )
    elif not installed:
        worked = _session_since(scene.app, 0)
        what = (
            f"{'agents work here, and ' if worked else ''}no agent calls mem by itself"
        )
        hint = "mem init --claude, or --codex"
        yield Check(
            name="hooks",
            status="WARN" if worked else "INFO",
            detail=what,
            hint=hint,
            path=worked,
        )


def _wiring(
    scene: Scene,
    each: harness.AgentSettings,
    installed: Sequence[harness.AgentSettings],
) -> Iterator[Check]:
    root = scene.app.project.root
    environ = scene.app.project.environ
    name = harness.NAMES[each.harness]
    path = str(each.path)
    again = f"mem init --{each.harness}" + f" --{each.scope}" * (each.scope != "local")
    for what in _faults(each, name):
        yield Check(
            name="hooks",
            status="WARN",
            detail=what,
            hint=f"{again}; or mem init --remove --all",
            path=path,
        )
    plugin = harness.plugin(each.harness, root, environ)
    if plugin or [one.harness for one in installed].count(each.harness) > 1:
        where = "by its plug-in, too," if plugin else "in two files"
        what = f"{name} has hooks of mem {where} and may run both"
        yield Check(
            name="hooks",
            status="WARN",
            detail=what,
            hint=f"{again} --remove",
            path=path,
        )
    for what in _untrusted(each, root, environ) if each.harness == "codex" else ():
        hint = "start codex in this folder; approve them: /hooks"
        yield Check(name="hooks", status="WARN", detail=what, hint=hint, path=path)


def _faults(each: harness.AgentSettings, name: str) -> Iterator[str]:
    if each.harness == "opencode":
        return
    found = agent_settings.handlers(text_of(each.path) or "")
    for program in sorted(
        {one.program for one in found if not harness.is_runnable(one.program)}
    ):
        yield f"{name} calls a program that is not there: {program}"
    events = [one.event for one in found]
    missing = set(agent_settings.groups(each.harness)) - set(events)
    if missing:
        yield f"{name} does not call mem on {', '.join(sorted(missing))}"
    doubled = sorted({event for event in events if events.count(event) > 1})
    if doubled:
        yield f"{name} calls mem twice on {', '.join(doubled)}"


def _untrusted(
    each: harness.AgentSettings, root: Path | None, environ: Mapping[str, str]
) -> Iterator[str]:
    """What Codex skips without a word: a project or hooks that the person has not
    approved."""
    values = harness.values_of(harness.agent_home("codex", environ) / "config.toml")
    projects = mapping(values.get("projects"))
    hooks = mapping(values.get("hooks"))
    folders = {str(folder) for folder in (root, *(root.parents if root else ()))}
    trusted = {
        n for n, row in projects.items() if mapping(row).get("trust_level") == "trusted"
    }
    if each.scope != "user" and not folders & trusted:
        yield "Codex does not trust this project yet, and skips its hooks without a word"
    states = mapping(hooks.get("state"))  # by file, event, group and place
    names = [name for name, row in states.items() if mapping(row).get("trusted_hash")]
    approved = {name.removeprefix(f"{each.path}:").split(":")[0] for name in names}
    own = agent_settings.handlers(text_of(each.path) or "")
    snake = {
        one.event: re.sub(r"(?<!^)(?=[A-Z])", "_", one.event).lower() for one in own
    }
    if waiting := [event for event, name in snake.items() if name not in approved]:
        yield f"Codex does not trust these hooks yet, and skips them: {', '.join(waiting)}"


def _git_hooks(scene: Scene) -> Iterator[Check]:
    top = scene.repository.top
    if top is None or scene.repository.fault:
        return
    folder = harness.hooks_of(top).folder
    files = [repository.hook_file(folder, name) for name in git_hooks.HOOKS]
    programs = {file.name: git_hooks.program_of(text_of(file) or "") for file in files}
    found = {name: program for name, program in programs.items() if program is not None}
    for name, program in found.items():
        if not harness.is_runnable(program):
            what = f"git's {name} calls a program that is not there: {program}"
            hint = "mem init --git; or mem init --remove --all"
            yield Check(
                name="hooks",
                status="WARN",
                detail=what,
                hint=hint,
                path=str(folder / name),
            )
    if found and all(map(harness.is_runnable, found.values())):
        yield Check(
            "hooks", "PASS", f"git calls mem: {', '.join(found)}", path=str(folder)
        )


def _signs_of_life(
    scene: Scene, installed: Sequence[harness.AgentSettings]
) -> Iterator[Check]:
    nothing: tuple[Mapping[str, int], Sequence[Spooled]] = ({}, ())
    beats, waiting = scene.app.from_state(
        lambda state: (Spool(state).beats(), Spool(state).waiting()),
        nothing,
        make=False,
    )
    agents = [at for event, at in beats.items() if not event.startswith("post-")]
    changed = [int(settings.path.stat().st_mtime) for settings in installed]
    since = max([*agents, *changed], default=0) + SILENCE
    if silent := _session_since(scene.app, since) if installed else "":
        what = "hooks are silent: a session went on and none was called"
        hint = "start the agent anew; Codex wants them approved once: /hooks"
        yield Check(name="hooks", status="WARN", detail=what, hint=hint, path=silent)
    elif agents:
        last = datetime.datetime.fromtimestamp(max(agents)).isoformat(" ", "minutes")
        yield Check("hooks", "INFO", f"last called {last}")
    if len(waiting) >= SPOOLED:
        what = f"{len(waiting)} ended sessions wait to be learned from"
        yield Check(name="hooks", status="WARN", detail=what, hint="mem extract")


def _session_since(app: App, at: int) -> str:
    from memcli.sessions.discover import discover

    if app.project.root is None:
        return ""
    found = discover(app.project.environ, [app.project.root], newer=at * 10**9).found
    return str(found[0].path) if found else ""
