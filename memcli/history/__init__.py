"""What was said in sessions and committed in a repository: the tier below the memory files."""

import os
from pathlib import Path

from memcli.project import git
from memcli.storage.files import digest

FOLDER = "history"  # of the state folder, where the records lie


def path_of(root: Path, state: Path) -> Path | None:
    """Where the record of a root's repository is, or would be; None outside a repository."""
    top = git.work_tree(root)
    common = git.common_dir(top) if top is not None else None
    if common is None:
        return None
    return state / FOLDER / f"{digest(os.fsencode(os.path.realpath(common)), 12)}.db"
