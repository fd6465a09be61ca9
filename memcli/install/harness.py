"""Where agents and git keep the hooks that call mem, and what mem init changes there
for agents."""

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
from memcli.project import git
from memcli.project.context import Project
from memcli.storage.files import BARE_PATH, SMALL_BYTES, Unreadable, read_text
from memcli.text.matching import table

NAMES = {
    "claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "opencode": "opencode",
}  # fmt: skip
OPENCODE_MARK = "// mem: written by mem init --opencode"
LEFTHOOK = tuple(
    f"{folder}{name}.{ending}"
    for folder, name in (("", "lefthook"), ("", ".lefthook"), (".config/", "lefthook"))
    for ending in ("yml", "yaml", "toml", "json", "jsonc")
)


def is_runnable(name: str) -> bool:
    """Whether a hook that names this program, by path or by name, will find it."""
    return shutil.which(os.path.expanduser(name)) is not None


def path_fault() -> str:
    """Why `mem hook`, as it is wired, would not reach this program, "" when it does."""
    known = shutil.which("mem")
    own = os.path.join(os.path.dirname(sys.executable), "mem")
    where = f": it lies in {os.path.dirname(own)}" if os.access(own, os.X_OK) else ""
    return (
        ""
        if known
        else f"mem is not on your PATH, and hooks are silent until it is{where}"
    )


def desktop_fault() -> str:
    """Why a client that is started from the desktop would not find mem, "" when it
    does."""
    known = shutil.which("mem")
    first = BARE_PATH.split(":")[0]
    if known is None or shutil.which("mem", path=BARE_PATH) is not None:
        return ""
    how = "start it from a shell"
    if first == "/usr/local/bin":
        how += f", or: sudo ln -s {shlex.quote(known)} {first}/mem"
    return f"an agent that is started from the desktop does not find {known}: {how}"


class AgentSettings(NamedTuple):
    """A file by which an agent calls mem, of `scope` local, shared or user, to stay in
    `folder`."""

    harness: str
    scope: str
    path: Path
    folder: Path


LAYOUTS = {
    "claude": ("CLAUDE_CONFIG_DIR", "~/.claude", ".claude", "settings.json"),
    "codex": ("CODEX_HOME", "~/.codex", ".codex", "hooks.json"),
    "gemini": ("", "~/.gemini", ".gemini", "settings.json"),
    "opencode": (
        "OPENCODE_CONFIG_DIR",
        "~/.config/opencode",
        ".opencode",
        "plugin/mem.js",
    ),
}
"""Of an agent: what moves its home, its home, its folder in a repository, the file in
either."""


def agent_home(harness: str, environ: Mapping[str, str]) -> Path:
    """The folder of a user in which an agent keeps its settings."""
    variable, home, _, _ = LAYOUTS[harness]
    return Path(os.path.expanduser(environ.get(variable) or home)).absolute()


def settings_of(
    harness: str, scope: str, root: Path, environ: Mapping[str, str]
) -> AgentSettings:
    """Where an agent reads its hooks. All but Claude Code have one file in a
    repository."""
    _, _, inner, name = LAYOUTS[harness]
    if scope == "user":
        folder = agent_home(harness, environ)
        return AgentSettings(
            harness=harness, scope=scope, path=folder / name, folder=folder
        )
    if (harness, scope) == ("claude", "local"):
        name = "settings.local.json"
    return AgentSettings(
        harness=harness, scope=scope, path=root / inner / name, folder=root
    )


def all_settings(root: Path | None, environ: Mapping[str, str]) -> list[AgentSettings]:
    """Every file that calls of mem may stand in, there or not."""
    pairs = product(
        LAYOUTS, ("local", "shared", "user") if root is not None else ("user",)
    )
    found = (settings_of(*pair, root or Path(), environ) for pair in pairs)
    return list({item.path: item for item in found}.values())


def plugin(harness: str, root: Path | None, environ: Mapping[str, str]) -> str:
    """The name under which the plug-in of mem is switched on in an agent, "" when it is
    not."""
    key = "plugins"
    paths = [agent_home("codex", environ) / "config.toml"]
    if harness != "codex":
        key = "enabledPlugins"
        files = all_settings(root, environ)
        paths = [item.path for item in files if item.harness == harness == "claude"]
    for each in (values_of(path).get(key) for path in paths):
        for name, value in each.items() if isinstance(each, dict) else ():
            on = value.get("enabled", True) if isinstance(value, dict) else value
            if name.startswith("mem@") and on is True:
                return str(name)
    return ""


def values_of(path: Path) -> dict[str, Any]:
    """The values of a JSON or TOML file of somebody else, {} when it cannot be read."""
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
    """The files of agents at scopes; none where the plug-in is on: it runs already."""
    found = []
    root = project.root
    top = git.work_tree(root) if root is not None else None
    for name, scope in pairs:
        if on := "" if remove else plugin(name, root, project.environ):
            notes.append(
                f"{NAMES[name]} has the plug-in {on}, which calls mem: left alone"
            )
        else:
            each = settings_of(name, scope, root or Path(), project.environ)
            found.append(_target(each, top, project.home))
    return found


def _target(each: AgentSettings, top: Path | None, home: Path) -> Target:
    tracked = top is not None and each.path.exists() and is_tracked(each.path, top)
    shared = each.scope == "shared" or tracked
    name = NAMES[each.harness]
    next = f"start a new session of {name}: its hooks are read then"
    if each.harness == "codex":
        next = "approve the hooks in Codex, once: /hooks"
    next += f"; commit {each.path.name}" if shared else ""
    within = (each.folder, home) if each.scope == "user" else (each.folder,)
    private = not shared and each.scope != "user"
    what = f"hooks of {name}"
    if each.harness == "opencode":
        return Target(
            path=each.path,
            put=_with_plugin,
            drop=_no_plugin,
            within=within,
            what=what,
            next=next,
            private=private,
        )
    put = partial(agent_settings.with_hooks, harness=each.harness)
    drop = without_hooks
    return Target(
        path=each.path,
        put=put,
        drop=drop,
        within=within,
        what=what,
        next=next,
        private=private,
        copied=True,
    )


def _with_plugin(text: str | None) -> str:
    if text is not None and not text.startswith(OPENCODE_MARK):
        raise Left("not written by mem: left as it is")
    return table("install/templates/opencode.js")


def _no_plugin(text: str) -> str | None:
    return None if text.startswith(OPENCODE_MARK) else text


def calls_mem(each: AgentSettings) -> bool:
    """Whether a settings file has a call of mem; False when it cannot be read."""
    with suppress(UsageError, Unreadable, OSError):
        text = read_text(each.path) if each.path.exists() else ""
        if each.harness == "opencode":
            return text.startswith(OPENCODE_MARK)
        return bool(agent_settings.handlers(text))
    return False


class Hooks(NamedTuple):
    """A folder of hooks: other people (`shared`) or repositories (`foreign`) run
    them."""

    folder: Path
    shared: bool = False
    foreign: bool = False


def hooks_of(top: Path) -> Hooks:
    """Where git looks for hooks, by its own word; for husky the folder that people
    write to."""
    named = git.run(
        ["rev-parse", "--git-path", "hooks"], top, hooks=True
    ).stdout.rstrip("\n")
    folder = Path(os.path.normpath(top / named))
    if folder.name == "_" and (
        folder.parent.name == ".husky" or (folder / "husky.sh").exists()
    ):
        folder = folder.parent
    common = git.common_dir(top)
    if common is not None and _inside(folder, common):
        return Hooks(folder)
    if _inside(folder, top):
        return Hooks(folder, shared=True)
    asked = ["config", "--show-scope", "--get", "core.hooksPath"]
    scope = git.run(asked, top, hooks=True).stdout.split("\t")[0]
    return Hooks(folder, foreign=scope in ("global", "system"))


def is_tracked(path: Path, top: Path) -> bool:
    return (
        git.run(
            ["ls-files", "--error-unmatch", "--", f":(literal){path}"], top
        ).returncode
        == 0
    )


def _inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
