"""Where agents and git keep the hooks that call mem, and what mem init changes for
agents."""

import importlib.util
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from memcli.errors import UsageError
from memcli.install import agent_settings
from memcli.install.agent_settings import without_hooks
from memcli.install.targets import Left, Target
from memcli.project import distribution, git
from memcli.project.context import Project
from memcli.storage.files import BARE_PATH, SMALL_BYTES, Unreadable, read_text
from memcli.text.matching import table

OF_AGENTS = "how agents ask, and are told"
NAMES = {
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "opencode",
}
EVERYWHERE = "the plug-in, or mem init --claude --user, reaches every folder"
SERVER = "mem mcp answers them, once Claude Code has it: claude mcp add mem -- mem mcp"
OPENCODE_MARK = "// mem: written by mem init --opencode"


def is_runnable(name: str) -> bool:
    """Whether a hook that names this program, by path or by name, will find it."""
    return shutil.which(os.path.expanduser(name)) is not None


def path_fault() -> str:
    """Why the configured `mem hook` would not reach this program; "" if it would."""
    if shutil.which("mem"):
        return ""
    fault = "mem is not on your PATH, and hooks are silent until it is"
    folder = os.path.dirname(sys.executable)
    is_there = os.access(os.path.join(folder, "mem"), os.X_OK)
    return f"{fault}: it lies in {folder}" if is_there else fault


def desktop_fault() -> str:
    """Why a client started from the desktop would not find mem; "" if it would."""
    program = shutil.which("mem")
    first = BARE_PATH.split(":")[0]
    if program is None or shutil.which("mem", path=BARE_PATH) is not None:
        return ""
    how = "start it from a shell"
    # A program in a virtual environment disappears with it, so do not link it for the
    # whole machine.
    is_lasting = not (Path(program).parent.parent / "pyvenv.cfg").exists()
    if first == "/usr/local/bin" and is_lasting:
        how += f", or: sudo ln -s {shlex.quote(program)} {first}/mem"
    return f"an agent started from the desktop does not find mem: {how}"


class AgentSettings(NamedTuple):
    """A file through which an agent calls mem, of `scope` local, shared or user; it
    must stay in `folder`."""

    harness: str
    scope: str
    path: Path
    folder: Path


class _Layout(NamedTuple):
    """An agent's home folder and the variable that moves it, its folder in a
    repository, and the file name in both."""

    home: str
    inner: str
    name: str
    variable: str = ""


LAYOUTS = {
    "claude": _Layout("~/.claude", ".claude", "settings.json", "CLAUDE_CONFIG_DIR"),
    "codex": _Layout("~/.codex", ".codex", "hooks.json", "CODEX_HOME"),
    "gemini": _Layout("~/.gemini", ".gemini", "settings.json"),
    "opencode": _Layout(
        "~/.config/opencode", ".opencode", "plugin/mem.js", "OPENCODE_CONFIG_DIR"
    ),
}


def agent_home(harness: str, environ: Mapping[str, str]) -> Path:
    """The user's settings folder of an agent."""
    layout = LAYOUTS[harness]
    home = environ.get(layout.variable) or layout.home
    return Path(os.path.expanduser(home)).absolute()


def settings_of(
    harness: str, scope: str, root: Path, environ: Mapping[str, str]
) -> AgentSettings:
    """Where an agent reads its hooks. All but Claude Code have one file in a
    repository."""
    layout = LAYOUTS[harness]
    if scope == "user":
        folder = agent_home(harness, environ)
        path = folder / layout.name
    else:
        folder = root
        is_local = harness == "claude" and scope == "local"
        name = "settings.local.json" if is_local else layout.name
        path = root / layout.inner / name
    return AgentSettings(harness=harness, scope=scope, path=path, folder=folder)


def all_settings(root: Path | None, environ: Mapping[str, str]) -> list[AgentSettings]:
    """Every file that may contain calls of mem, existing or not."""
    scopes = ("user",) if root is None else ("local", "shared", "user")
    files = {}
    for harness, scope in product(LAYOUTS, scopes):
        file = settings_of(harness, scope, root or Path(), environ)
        files[file.path] = file
    return list(files.values())


def plugin(harness: str, root: Path | None, environ: Mapping[str, str]) -> str:
    """The name under which mem's plug-in is enabled in an agent; "" if it is not."""
    if harness == "codex":
        listed = [
            values_of(agent_home("codex", environ) / "config.toml").get("plugins")
        ]
    elif harness == "claude":
        files = [
            file.path
            for file in all_settings(root, environ)
            if file.harness == "claude"
        ]
        listed = [values_of(path).get("enabledPlugins") for path in files]
    else:
        return ""
    for plugins in listed:
        for name, value in plugins.items() if isinstance(plugins, dict) else ():
            if name.startswith("mem@") and _is_on(value):
                return str(name)
    return ""


def reach_fault(harness: str, scope: str, project: Project) -> str:
    """Why an agent started in the current folder might not read these settings, or "":
    some versions of Claude Code do not read the root's settings in a subfolder."""
    root = project.root
    if harness != "claude" or scope == "user" or root is None:
        return ""
    folder = Path(os.path.realpath(project.cwd))
    top = Path(os.path.realpath(root))
    if folder == top or not folder.is_relative_to(top):
        return ""
    return (
        f"Claude Code (2.1.197, not 2.1.332) reads these hooks only where it is started"
        f" in {root}, not in {folder.relative_to(top)}"
    )


def _is_on(value: object) -> bool:
    """Whether a plug-in is enabled: Codex has a table for it, Claude Code a boolean."""
    if isinstance(value, dict):
        value = value.get("enabled", True)
    return value is True


def values_of(path: Path) -> dict[str, Any]:
    """The values of another program's JSON or TOML file, {} if it cannot be read."""
    import tomllib

    loads = tomllib.loads if path.suffix == ".toml" else json.loads
    with suppress(OSError, ValueError, RecursionError):
        values = loads(read_text(path, most=SMALL_BYTES).removeprefix("\ufeff"))
        return values if isinstance(values, dict) else {}
    return {}


def targets(
    project: Project,
    pairs: Iterable[tuple[str, str]],
    notes: list[str],
    *,
    remove: bool,
) -> list[Target]:
    """The files of agents at scopes; none if the plug-in is enabled, which already
    calls mem."""
    targets_found = []
    root = project.root
    top = git.work_tree(project.root)
    for name, scope in pairs:
        if on := "" if remove else plugin(name, root, project.environ):
            notes.append(
                f"{NAMES[name]} has the plug-in {on}, which calls mem: left alone"
            )
        else:
            if fault := "" if remove else reach_fault(name, scope, project):
                notes.append(f"{fault}: {EVERYWHERE}")
            settings = settings_of(name, scope, root or Path(), project.environ)
            by_server = name == "claude" and project.config.hook_by == "mcp"
            if by_server and not remove:
                _check_server()
            targets_found.append(
                _target(settings, top, project.home, by_server=by_server)
            )
    return targets_found


def _check_server() -> None:
    """Raise UsageError if `mem mcp` could not run."""
    if importlib.util.find_spec("mcp") is None:
        raise UsageError(
            "hook_by = mcp: the MCP server needs the package mcp",
            distribution.hint("mcp"),
        )


def approvals(environ: Mapping[str, str]) -> list[str]:
    """The hooks that a person approved in Codex, each as FILE:EVENT:GROUP:PLACE, or
    PLUGIN: for FILE."""
    from memcli.sessions.gather import mapping  # hooks need no transcripts

    values = values_of(agent_home("codex", environ) / "config.toml")
    states = mapping(mapping(values.get("hooks")).get("state"))
    return [name for name, row in states.items() if mapping(row).get("trusted_hash")]


def _target(
    settings: AgentSettings, top: Path | None, home: Path, *, by_server: bool
) -> Target:
    path = settings.path
    tracked = top is not None and path.exists() and is_tracked(path, top)
    of_user = settings.scope == "user"
    shared = settings.scope == "shared" or tracked
    next = "start a new session of your agent, which reads its hooks then"
    if by_server:
        next = f"{SERVER}; {next}"
    if settings.harness == "codex":
        next = "approve the hooks in Codex, once: /hooks"
    if shared:
        next += f"; commit {path.relative_to(settings.folder)}"
    target = Target(
        path=path,
        put=partial(
            agent_settings.with_hooks, harness=settings.harness, by_server=by_server
        ),
        drop=without_hooks,
        within=(settings.folder, home) if of_user else (settings.folder,),
        what=OF_AGENTS,
        next=next,
        private=not shared and not of_user,
        copied=True,
    )
    if settings.harness == "opencode":
        return target._replace(put=_with_plugin, drop=_no_plugin, copied=False)
    return target


def _with_plugin(text: str | None) -> str:
    if text is not None and not text.startswith(OPENCODE_MARK):
        raise Left("not written by mem: left as it is")
    return table("install/templates/opencode.js")


def _no_plugin(text: str) -> str | None:
    return None if text.startswith(OPENCODE_MARK) else text


def calls_mem(settings: AgentSettings) -> bool:
    """Whether a settings file has a call of mem; False when it cannot be read."""
    with suppress(UsageError, Unreadable, OSError):
        text = read_text(settings.path) if settings.path.exists() else ""
        if settings.harness == "opencode":
            return text.startswith(OPENCODE_MARK)
        return bool(agent_settings.handlers(text))
    return False


class Hooks(NamedTuple):
    """A folder of hooks that other people (`shared`) or other repositories (`foreign`)
    also run, or to which a file of the repository's own settings leads out of it
    (`outward`)."""

    folder: Path
    shared: bool = False
    foreign: bool = False
    outward: str = ""


def hooks_of(top: Path) -> Hooks:
    """Where git looks for hooks, according to git."""
    question = ["rev-parse", "--git-path", "hooks"]
    named = git.run(question, top, hooks=True).stdout.rstrip("\n")
    folder = Path(os.path.normpath(top / named))
    common = git.common_dir(top)
    if common and _inside(folder, common):
        return Hooks(folder)
    if _inside(folder, top):
        return Hooks(folder, shared=True)
    options = ("-z", "--show-scope", "--show-origin", "--get")
    said = git.run(["config", *options, "core.hooksPath"], top, hooks=True).stdout
    scope, origin = [*said.split("\0"), ""][:2]
    outward = origin.partition(":")[2] if scope in ("local", "worktree") else ""
    return Hooks(folder, foreign=scope in ("global", "system"), outward=outward)


def is_tracked(path: Path, top: Path) -> bool:
    """Whether git tracks the file."""
    asked = ["ls-files", "--error-unmatch", "--", f":(literal){path}"]
    return git.run(asked, top).returncode == 0


def _inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
