"""Where the folders of a user lie."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

_LINUX_FOLDERS = {
    "state": "~/.local/state",
    "cache": "~/.cache",
    "data": "~/.local/share",
}
VARIABLES = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")


def moved_to(variable: str, environ: Mapping[str, str] = os.environ) -> str:
    """The folder that a variable of the XDG specification names; "" for none. A relative
    path is to be ignored: it would lead into whatever repository is at hand."""
    folder = environ.get(variable, "").strip()
    return folder if os.path.isabs(folder) else ""


def folder_of(kind: str) -> Path:
    """The user's cache, data or state folder, as in platformdirs."""
    if sys.platform == "linux" and "ANDROID_DATA" not in os.environ:  # at no cost
        base = moved_to(f"XDG_{kind.upper()}_HOME")
        return Path(base or os.path.expanduser(_LINUX_FOLDERS[kind])) / "mem"
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_path")("mem"))


def advice(path: str) -> str:
    """What helps where one of these folders, or one above it, cannot be written; "" for
    another path."""
    for kind in _LINUX_FOLDERS:
        folder = folder_of(kind)
        if folder.is_relative_to(path) or Path(path).is_relative_to(folder):
            return f"set XDG_{kind.upper()}_HOME to another folder for {kind}"
    return ""
