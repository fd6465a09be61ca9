"""Sessions of coding agents, read from the files their agents keep; here, the folders
of these."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from memcli.project.config import home_of

_STORES: Final = {
    "claude": ("CLAUDE_CONFIG_DIR", "", ".claude", "projects"),
    "codex": ("CODEX_HOME", "", ".codex", ""),
    "gemini": ("GEMINI_CLI_HOME", ".gemini", ".gemini", "tmp"),
    "qwen": ("", "", ".qwen", "projects"),
    "copilot": ("", "", ".copilot", "session-state"),
    "cursor": ("CURSOR_CONFIG_DIR", "", ".cursor", "projects"),
    "opencode": ("XDG_DATA_HOME", "opencode", ".local/share/opencode", ""),
}
"""The variable that moves an agent's folder, what is below that; its folder in the
home; and below either the folder of its sessions."""


def stores(environ: Mapping[str, str]) -> dict[str, Path]:
    """Agent -> the folder below which it keeps its sessions, there or not."""
    return {
        agent: (
            Path(moved, below)
            if (moved := environ.get(name))
            else home_of(environ) / home
        )
        / at
        for agent, (name, below, home, at) in _STORES.items()
    }


def inside(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of the folders or below one."""
    return any(Path(path).is_relative_to(folder) for folder in folders)
