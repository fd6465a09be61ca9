"""The location of a repository's history file (chats and commits)."""

import os
from pathlib import Path

from memcli.named import NamedTuple
from memcli.project import git
from memcli.project.context import Project
from memcli.storage.files import state_dir
from memcli.text.digests import digest

FOLDER = "history"  # the subfolder of the state folder with the history files


def path_of(root: Path | None) -> Path | None:
    """The path of the history file of a root's repository, existing or not. None
    outside a repository, and if `.git` points to one that does not point back: it could
    be any repository of this machine."""
    top = git.work_tree(root)
    is_own = top is not None and git.points_back(top)
    common = git.common_dir(top) if top and is_own else None
    if common is None:
        return None
    name = digest(os.fsencode(os.path.realpath(common)), 12)
    return state_dir() / FOLDER / f"{name}.db"


def record_path(project: Project) -> Path | None:
    """The same for a project; None if no history should be kept."""
    return path_of(project.root) if project.config.history else None


def record_of(project: Project) -> Path | None:
    """The record of a project, None where there is none yet."""
    path = record_path(project)
    return path if path is not None and path.exists() else None


class KeptRecord(NamedTuple):
    """An existing history file, and the commit it should be up to; "" if new commits
    are not searched."""

    path: Path
    head: str = ""


def kept_record(project: Project) -> KeptRecord | None:
    """The record of a project, None where there is none yet."""
    top = git.work_tree(project.root)
    head = git.head_of(top) if top and project.config.refresh else ""
    path = record_of(project)
    return KeptRecord(path, head) if path is not None else None
