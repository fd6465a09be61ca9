"""The patches of a session's entries: what cannot be read is not written, what is
private is kept out of git first."""

import os
from collections.abc import Iterable
from pathlib import Path

from memcli.errors import DataError, RefusedError
from memcli.memory.grammar import conflict_lines
from memcli.memory.parser import KnownFile
from memcli.memory.values import Patch
from memcli.project import git
from memcli.project.context import Project

PRIVATE = ("proxy.md", "proxy.archive.md", "proxy-tasks/")


def keep_private(root: Path, names: Iterable[str]) -> None:
    """Keep the private files among `names` out of git, before they are made."""
    if any(name.startswith(PRIVATE) for name in names):
        inner = os.path.relpath(root, git.work_tree(root) or root)
        base = f"/{inner}/".replace("/./", "/")
        git.exclude(root, [base + name for name in PRIVATE])


def patch_of(
    project: Project, name: str, text: str, known: Iterable[KnownFile]
) -> Patch:
    """The patch of one file. What cannot be read, or has conflict markers, is not
    written."""
    path = project.path_of(name)
    nothing = "nothing of this session is written"
    before = next((file.memory.text for file in known if file.path == name), None)
    if before is None and os.path.lexists(path):
        raise DataError(f"{name}: cannot be read; {nothing}", "mem doctor")
    for line in conflict_lines(before or ""):
        raise RefusedError(
            f"{name}:{line}: has conflict markers; {nothing}", "resolve them first"
        )
    return Patch(path, before, text)
