"""The files of folders that a call changes as a whole, as seen from the root."""

import os
import posixpath
from itertools import product
from pathlib import Path

from memcli.project import git, globs

MOST_INSIDE = 2_000
"""So many files of a folder are looked at that goes with all it holds."""


def files_inside(root: Path, path: str) -> tuple[list[str], bool]:
    """The files that a folder holds, as seen from the root, and whether it has too many
    to look at all of them. What a link leads to stays."""
    if os.path.islink(path):
        return [], False
    walk = globs.Walk(str(root) if _holds(path, root) else path, MOST_INSIDE)
    inside = walk.find("**")
    folders = folder_names(root, path) if inside else []
    return [posixpath.join(*pair) for pair in product(folders, inside)], walk.cut


def folder_names(root: Path, path: str) -> list[str]:
    """The names of a folder as seen from the root, "" of one that holds it."""
    if _holds(path, root):
        return [""]
    outside = os.path.realpath(path).lstrip(os.sep)
    return [name for name in git.names_of(root, path) if name != outside]


def _holds(path: str, root: Path) -> bool:
    return lies_in(Path(os.path.realpath(path)), str(root))


def lies_in(root: Path, *parts: str) -> bool:
    """Whether a path, in parts, leads into the root."""
    path = os.path.realpath(os.path.join(*parts))
    return f"{path}{os.sep}".startswith(f"{root}{os.sep}")
