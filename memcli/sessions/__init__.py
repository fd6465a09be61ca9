"""Sessions of coding agents, read from the files their agents keep; here, the folders
of these. A hook asks for them, so this imports no format."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from memcli.named import NamedTuple
from memcli.project.config import home_of
from memcli.user_folders import VARIABLES, moved_to


class _Place(NamedTuple):
    """The folder of an agent below the home; the folder of its sessions below that.
    A `variable` moves the folder to where it says, or `below` there."""

    home: str
    sessions: str = ""
    variable: str = ""
    below: str = ""


_STORES = {
    "claude": _Place(".claude", "projects", variable="CLAUDE_CONFIG_DIR"),
    "codex": _Place(".codex", variable="CODEX_HOME"),
    "gemini": _Place(".gemini", "tmp", variable="GEMINI_CLI_HOME", below=".gemini"),
    "qwen": _Place(".qwen", "projects"),
    "copilot": _Place(".copilot", "session-state"),
    "cursor": _Place(".cursor", "projects", variable="CURSOR_CONFIG_DIR"),
    "opencode": _Place(
        ".local/share/opencode", variable="XDG_DATA_HOME", below="opencode"
    ),
}


def stores(environ: Mapping[str, str]) -> dict[str, Path]:
    """Agent -> the folder below which it keeps its sessions, there or not."""
    return {agent: _folder(place, environ) for agent, place in _STORES.items()}


def _folder(place: _Place, environ: Mapping[str, str]) -> Path:
    moved = environ.get(place.variable)
    if place.variable in VARIABLES:
        moved = moved_to(place.variable, environ)
    if moved:
        return Path(moved, place.below, place.sessions)
    return home_of(environ) / place.home / place.sessions


def inside(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of the folders or below one."""
    return any(Path(path).is_relative_to(folder) for folder in folders)


def resolves_inside(path: str, folders: Iterable[str]) -> bool:
    """The same of an absolute path, as it stands or with its links resolved."""
    if not os.path.isabs(path):
        return False
    known = tuple(folders)
    return inside(os.path.normpath(path), known) or inside(
        os.path.realpath(path), known
    )
