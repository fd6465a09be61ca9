"""Where the record lies of what was said and committed in a repository."""

import os
from pathlib import Path

from memcli.named import NamedTuple
from memcli.project import git
from memcli.project.context import Project
from memcli.storage.files import state_dir
from memcli.text.digests import digest

FOLDER = "history"  # of the state folder, where the records lie


def path_of(root: Path | None) -> Path | None:
    """Where the record of a root's repository is, or would be; None outside a
    repository, and where a `.git` names one that does not name it back: it may be any
    of this machine."""
    top = git.work_tree(root)
    is_own = top is not None and git.points_back(top)
    common = git.common_dir(top) if top is not None and is_own else None
    if common is None:
        return None
    name = digest(os.fsencode(os.path.realpath(common)), 12)
    return state_dir() / FOLDER / f"{name}.db"


def record_path(project: Project) -> Path | None:
    """The same of a project; None where nothing of history is to be kept."""
    return path_of(project.root) if project.config.history else None


def record_of(project: Project) -> Path | None:
    """The record of a project, None where there is none yet."""
    path = record_path(project)
    return path if path is not None and path.exists() else None


class KeptRecord(NamedTuple):
    """A record that there is, and the commit that it should have come to; "" where new
    commits are not looked for."""

    path: Path
    head: str = ""


def kept_record(project: Project) -> KeptRecord | None:
    """The record of a project, None where there is none yet."""
    top = git.work_tree(project.root)
    head = git.head_of(top) if top is not None and project.config.refresh else ""
    path = record_of(project)
    return KeptRecord(path, head) if path is not None else None
