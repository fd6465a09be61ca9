"""Which folders around a working directory may be the root of a project, and the work
trees of its repository."""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import NamedTuple

from memcli.errors import UsageError
from memcli.memory.values import JOBS_DIRS
from memcli.project import config
from memcli.project.git import common_dir, may_be_root, work_tree

_MARKS = (".mem.toml", ".git", "MEMORY.md")


def find_root(cwd: Path, home: Path, jobs_dirs: Sequence[str] = ()) -> Path | None:
    """The root for a working directory, None if only the global level is in view."""
    chain = [folder for folder in (cwd, *cwd.parents) if folder != home]
    # The outermost folder that contains the current job or session.
    every_dir = (*JOBS_DIRS, *jobs_dirs)
    for folder in reversed(chain):
        if _holds_job(folder, cwd, every_dir) and may_be_root(folder):
            return folder
    # Else the nearest folder with a mark; earlier marks take precedence.
    for mark, folder in product(_MARKS, chain):
        if os.path.lexists(folder / mark) and may_be_root(folder, mark):
            return folder
    return None


class PassedOver(NamedTuple):
    """Why the repository around a working directory is no root, and what to do."""

    reason: str
    advice: str


def passed_over(cwd: Path) -> PassedOver | None:
    """The nearest repository that is no root: of another user, or without a work
    tree."""
    for folder in (cwd, *cwd.parents):
        if os.path.lexists(folder / ".git"):
            if may_be_root(folder, ".git"):
                return None
            name = shlex.quote(str(folder))
            return PassedOver(
                reason=f"{folder} or its .git belongs to another user",
                advice=f"git config --global --add safe.directory {name}, or --root {name}",
            )
        if all(os.path.lexists(folder / name) for name in ("HEAD", "objects", "refs")):
            return PassedOver(
                reason=f"{folder} is a bare repository",
                advice="git worktree add ../work, and run it there",
            )
    return None


def refuse_passed_over(cwd: Path) -> None:
    """Raises UsageError where a repository lies around a working directory that is no
    root."""
    if repository := passed_over(cwd):
        what = f"there is no project here: {repository.reason}"
        raise UsageError(what, repository.advice)


def need_repository(root: Path | None, cwd: Path, hint: str) -> Path:
    """The root, in git. Raises UsageError."""
    if root is None:
        refuse_passed_over(cwd)
    if root is None or work_tree(root) is None:
        raise UsageError("there is no git repository here", hint)
    return root


def roots_around(cwd: Path, home: Path) -> Iterator[Path]:
    """Every folder around a working directory that may be a root, nearest first, so
    that a new mark in between cannot hide another root."""
    for folder in (cwd, *cwd.parents):
        is_marked = any(os.path.lexists(folder / mark) for mark in _MARKS)
        is_root = is_marked or _holds_job(folder, cwd, JOBS_DIRS)
        if is_root and folder != home and may_be_root(folder):
            yield folder


def stands(parts: tuple[str, ...], jobs_dirs: Sequence[str]) -> tuple[str, int]:
    """Whether a path leads into a job or a legacy session (a task), and with how many
    parts."""
    if len(parts) >= 2 and parts[0] == ".sessions":
        return "task", 2
    if len(parts) >= 4 and parts[0] == "projects" and parts[2] == ".sessions":
        return "task", 4
    for names in (Path(jobs).parts for jobs in jobs_dirs):
        if parts[: len(names)] == names and len(parts) > len(names):
            return "job", len(names) + 1
    return "", 0


def _holds_job(folder: Path, cwd: Path, jobs_dirs: Sequence[str]) -> bool:
    parts = cwd.parts[len(folder.parts) :]
    configured = tuple[str, ...]()
    if os.path.exists(folder / ".mem.toml") and may_be_root(folder, ".mem.toml"):
        configured = config.jobs_dirs(
            config.read_settings(folder / ".mem.toml", folder).values
        )
    kind, depth = stands(parts, (*jobs_dirs, *configured))
    if (kind, depth) == ("task", 4):
        return any(os.path.lexists(folder / mark) for mark in _MARKS)
    return bool(kind)


def work_trees(tree_top: Path) -> Iterator[tuple[Path, Path]]:
    """The work trees of a repository, existing or not, each with its git directory."""
    common = common_dir(tree_top)
    if not common:
        return
    if common.name == ".git":
        yield common.parent, common
    for file in sorted((common / "worktrees").glob("*/gitdir")):
        with suppress(OSError):
            yield Path(os.fsdecode(file.read_bytes()).strip()).parent, file.parent
