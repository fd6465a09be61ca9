"""Where agents and git keep the hooks that call mem, and how they are to call it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from memcli.install import agent_settings
from memcli.project import git

LEFTHOOK = tuple(
    f"{folder}{name}.{ending}"
    for folder, name in (("", "lefthook"), ("", ".lefthook"), (".config/", "lefthook"))
    for ending in ("yml", "yaml", "toml", "json", "jsonc")
)
NAMES = ("mem", "mem.exe")


# --- how to call mem


def program() -> str:
    """How a hook is to call this very program: a shell word, or an interpreter with its module.

    An absolute path that outlives an upgrade: of two names of one file the one on PATH.
    """
    path = _script()
    if path:
        return agent_settings.quoted(path)
    return f"{agent_settings.quoted(sys.executable)} -m memcli"


def _script() -> str:
    own = os.path.abspath(sys.argv[0])
    if os.path.basename(own) not in NAMES or not os.access(own, os.X_OK):
        folder = os.path.dirname(sys.executable)
        own = next(
            (path for path in (os.path.join(folder, n) for n in NAMES) if os.access(path, os.X_OK)),
            "",
        )
    known = shutil.which("mem")
    if own and known and os.path.isabs(known) and os.path.realpath(known) == os.path.realpath(own):
        return known
    return own


def is_passing(command: str) -> bool:
    """Whether a program lies in a cache that its runner (uvx, pipx run) clears now and then."""
    return bool(
        re.search(r"/(archive-v\d+|\.cache/(uv|pipx)|pipx/\.cache)/", command.replace("\\", "/"))
    )


def is_runnable(name: str) -> bool:
    """Whether a hook that names this program, by path or by name, will find it."""
    return shutil.which(os.path.expanduser(name)) is not None


# --- agents


class Settings(NamedTuple):
    """A settings file of an agent: `scope` is "local", "shared" or "user", `folder` what it must
    stay in.
    """

    harness: str
    scope: str
    path: Path
    folder: Path


def settings_of(harness: str, scope: str, root: Path, environ: Mapping[str, str]) -> Settings:
    """Where an agent reads its hooks. Codex has one file in a repository, be it shared or not."""
    if scope == "user":
        name, variable = ("settings.json", "CLAUDE_CONFIG_DIR") if harness == "claude" else (
            "hooks.json", "CODEX_HOME",
        )  # fmt: skip
        given = environ.get(variable, "")
        folder = Path(os.path.expanduser(given or f"~/.{harness}")).absolute()
        return Settings(harness, scope, folder / name, folder)
    name = (
        "hooks.json"
        if harness == "codex"
        else f"settings{'.local' if scope == 'local' else ''}.json"
    )
    return Settings(harness, scope, root / f".{harness}" / name, root)


def all_settings(root: Path | None, environ: Mapping[str, str]) -> list[Settings]:
    """Every settings file that hooks of mem may stand in, there or not."""
    scopes = ("local", "shared", "user") if root is not None else ("user",)
    found = [
        settings_of(harness, scope, root or Path(), environ)
        for harness in agent_settings.HOOKS
        for scope in scopes
    ]
    return list({item.path: item for item in found}.values())


# --- git


class Hooks(NamedTuple):
    """The folder of a repository's hooks. `shared`: other people run them; `foreign`: other
    repositories.
    """

    folder: Path
    shared: bool = False
    foreign: bool = False


def hooks_of(top: Path) -> Hooks:
    """Where git looks for hooks, by its own word; for husky the folder that people write to."""
    named = git.run(["rev-parse", "--git-path", "hooks"], top).stdout.rstrip("\n")
    folder = Path(os.path.normpath(top / named))
    if folder.name == "_" and (folder.parent.name == ".husky" or (folder / "husky.sh").exists()):
        folder = folder.parent
    common = git.common_dir(top)
    if common is not None and _inside(folder, common):
        return Hooks(folder)
    if _inside(folder, top):
        return Hooks(folder, shared=True)
    scope = git.run(["config", "--show-scope", "--get", "core.hooksPath"], top).stdout.split("\t")[
        0
    ]
    return Hooks(folder, foreign=scope in ("global", "system"))


def default_hooks(top: Path) -> Path | None:
    """The folder that git uses while core.hooksPath names no other."""
    common = git.common_dir(top)
    return common / "hooks" if common is not None else None


def has_lefthook(top: Path) -> bool:
    return any((top / name).is_file() for name in LEFTHOOK)


def is_tracked(path: Path, top: Path) -> bool:
    return git.run(["ls-files", "--error-unmatch", "--", str(path)], top).returncode == 0


def is_ignored(path: Path, top: Path) -> bool:
    return git.run(["check-ignore", "-q", "--no-index", "--", str(path)], top).returncode == 0


def _inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
