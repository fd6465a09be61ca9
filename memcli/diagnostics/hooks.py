"""The hooks of agents and git: whether they are complete and trusted, find mem, and are
called."""

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from memcli.app import App
from memcli.diagnostics.scene import Check, Scene, passed, remark, text_of, warning
from memcli.install import agent_settings, git_hooks, harness, repository
from memcli.sessions.gather import mapping
from memcli.storage import durable, files
from memcli.storage.state import Spool, Spooled

SILENCE = 24 * 3600
"""Seconds a session may go on without a call before hooks count as silent."""
SPOOLED = 3  # from this many waiting sessions on, report them


def check_hooks(scene: Scene) -> Iterator[Check]:
    """Hooks of agents and git, their last call and their last failure."""
    project = scene.app.project
    settings = harness.all_settings(project.root, project.environ)
    installed = [setting for setting in settings if harness.calls_mem(setting)]
    yield from _agents(scene, installed)
    yield from _git_hooks(scene)
    state = files.state_dir() / "state.db"
    if not durable.is_sound(state):
        moved = "a hook, or --fix, moves it aside and makes a new one"
        detail = f"the state file is damaged: {moved}"
        yield warning("state", detail, hint="mem doctor --fix", path=str(state))
        return
    yield from _signs_of_life(scene, installed)
    yield from _failures(files.state_dir() / files.LOG)


def _failures(log: Path) -> Iterator[Check]:
    """The last failure of a hook: a warning if its event has failed ever since."""
    last = {}
    failure = ""
    for line in (text_of(log) or "").splitlines():
        event = "".join(line.split()[1:2])
        last[event] = line
        failure = line if "Error" in line else failure
    if not failure:
        return
    detail = f"the last failure of a hook: {failure[:200]}"
    if failure in last.values():
        hint = (
            "a failing hook tells agents nothing: start a session, then run mem doctor"
        )
        yield warning("hooks", detail, hint=hint, path=str(log))
    else:
        yield remark("hooks", detail, path=str(log))


def _agents(
    scene: Scene, installed: Sequence[harness.AgentSettings]
) -> Iterator[Check]:
    project = scene.app.project
    for settings in installed:
        faults = list(_wiring(scene, settings, installed))
        detail = f"{harness.NAMES[settings.harness]} calls mem"
        yield from faults or [passed("hooks", detail, path=str(settings.path))]
    if installed:
        yield from _unreachable()
    plugged = [
        name
        for name in ("claude", "codex")
        if harness.plugin(name, project.root, project.environ)
    ]
    waiting = _untrusted_plugin(project.environ) if "codex" in plugged else []
    if waiting:
        message = f"Codex does not trust the plug-in's hooks yet: {', '.join(waiting)}"
        yield warning("hooks", message, hint="start codex; approve them: /hooks")
    if plugged:
        yield passed(
            "hooks", f"the plug-in of mem is enabled in {' and '.join(plugged)}"
        )
    elif not installed:
        is_linked = project.root is not None and (project.root / ".git").is_file()
        yield _uncalled(_session_since(scene.app, 0), is_linked=is_linked)


def _unreachable() -> Iterator[Check]:
    """A row if agents, or clients started from the desktop, cannot find mem."""
    if fault := harness.path_fault():
        back = "mem init --remove --all removes the hooks"
        yield warning("hooks", fault, hint=back)
    elif fault := harness.desktop_fault():
        yield remark("hooks", fault)


def _uncalled(session: str, *, is_linked: bool) -> Check:
    """A row if no agent calls mem. `session` is the file of a session here;
    `is_linked`: this is a linked work tree, which has its own settings."""
    detail = "no agent calls mem by itself"
    hint = "mem init --claude, or --codex"
    if is_linked:
        hint = f"{hint}; {harness.EVERYWHERE}"
    if session:
        detail = f"agents work here, and {detail}"
        return warning("hooks", detail, hint=hint, path=session)
    return remark("hooks", detail, hint=hint)


def _wiring(
    scene: Scene,
    settings: harness.AgentSettings,
    installed: Sequence[harness.AgentSettings],
) -> Iterator[Check]:
    """What is wrong with the hooks in one settings file of an agent."""
    root = scene.app.project.root
    environ = scene.app.project.environ
    agent = settings.harness
    name = harness.NAMES[agent]
    path = str(settings.path)
    again = f"mem init --{agent}"
    if settings.scope != "local":
        again += f" --{settings.scope}"
    if message := harness.reach_fault(agent, settings.scope, scene.app.project):
        yield warning("hooks", message, hint=harness.EVERYWHERE, path=path)
    for message in _faults(settings, name):
        hint = f"{again}; or mem init --remove --all"
        yield warning("hooks", message, hint=hint, path=path)
    plugin = harness.plugin(agent, root, environ)
    if plugin or [each.harness for each in installed].count(agent) > 1:
        where = "in its plug-in, too," if plugin else "in two files"
        message = f"{name} has hooks of mem {where} and may run both"
        yield warning("hooks", message, hint=f"{again} --remove", path=path)
    if agent == "codex":
        for message in _untrusted(settings, root, environ):
            hint = "start codex in this folder; approve them: /hooks"
            yield warning("hooks", message, hint=hint, path=path)


def _faults(settings: harness.AgentSettings, name: str) -> Iterator[str]:
    if settings.harness == "opencode":
        return
    handlers = agent_settings.handlers(text_of(settings.path) or "")
    programs = {handler.program for handler in handlers}
    for program in sorted(programs):
        if not harness.is_runnable(program):
            yield f"{name} calls a program that does not exist: {program}"
    events = [handler.event for handler in handlers]
    missing = set(agent_settings.groups(settings.harness)) - set(events)
    if missing:
        yield f"{name} does not call mem on {', '.join(sorted(missing))}"
    doubled = {event for event in events if events.count(event) > 1}
    if doubled:
        yield f"{name} calls mem twice on {', '.join(sorted(doubled))}"


def _untrusted(
    settings: harness.AgentSettings, root: Path | None, environ: Mapping[str, str]
) -> Iterator[str]:
    """What Codex silently skips: a project or hooks that the person has not
    approved."""
    values = harness.values_of(harness.agent_home("codex", environ) / "config.toml")
    if settings.scope != "user" and not _trusts(values, root):
        yield "Codex does not trust this project yet and silently skips its hooks"
        return  # what is started there asks for the hooks, too
    names = harness.approvals(environ)
    own = [name for name in names if name.startswith(f"{settings.path}:")]
    handlers = agent_settings.handlers(text_of(settings.path) or "")
    if waiting := _unapproved((handler.event for handler in handlers), own):
        yield f"Codex does not trust these hooks yet, and skips them: {', '.join(waiting)}"


def _trusts(values: Mapping[str, object], root: Path | None) -> bool:
    """Whether Codex trusts the project or a folder above it."""
    folders = (root, *root.parents) if root else ()
    projects = mapping(values.get("projects"))
    rows = [mapping(projects.get(str(folder))) for folder in folders]
    return any(row.get("trust_level") == "trusted" for row in rows)


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _untrusted_plugin(environ: Mapping[str, str]) -> list[str]:
    """The events of the plug-in's hooks that nobody has approved in Codex."""
    trusted = harness.approvals(environ)
    plugin_hooks = [
        name for name in trusted if "mem@" in name or "codex-hooks.json" in name
    ]
    return _unapproved(agent_settings.groups("codex"), plugin_hooks)


def _unapproved(events: Iterable[str], names: Sequence[str]) -> list[str]:
    """The events without an approved hook (named FILE:EVENT:GROUP:PLACE)."""
    return [
        event
        for event in dict.fromkeys(events)
        if not any(f":{_snake_case(event)}:" in name for name in names)
    ]


def _git_hooks(scene: Scene) -> Iterator[Check]:
    top = scene.repository.top
    if top is None or scene.repository.fault:
        return
    folder = harness.hooks_of(top).folder
    calling = []
    lost = False
    for name in git_hooks.HOOKS:
        file = repository.hook_file(folder, name)
        program = git_hooks.program_of(text_of(file) or "")
        if program is None:
            continue
        calling.append(file.name)
        if not harness.is_runnable(program):
            lost = True
            yield warning(
                "hooks",
                f"git's {file.name} calls a program that does not exist: {program}",
                hint="mem init --git; or mem init --remove --all",
                path=str(folder / file.name),
            )
    if calling and not lost:
        detail = f"git calls mem: {', '.join(calling)}"
        yield passed("hooks", detail, path=str(folder))


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
        detail = "hooks are silent: a session went on, but none was called"
        hint = "restart the agent; Codex asks to approve them once: /hooks"
        yield warning("hooks", detail, hint=hint, path=silent)
    elif agents:
        last = datetime.datetime.fromtimestamp(max(agents)).isoformat(" ", "minutes")
        yield remark("hooks", f"last called {last}")
    if len(waiting) >= SPOOLED:
        detail = f"{len(waiting)} ended sessions have not been learned from"
        yield warning("hooks", detail, hint="mem extract")


def _session_since(app: App, at: int) -> str:
    from memcli.sessions.discover import discover

    if app.project.root is None:
        return ""
    found = discover(app.project.environ, [app.project.root], newer=at * 10**9).found
    return str(found[0].path) if found else ""
