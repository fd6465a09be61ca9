"""Where the index of a project lives: beside its memory, in the cache folder, or where MEM_DB says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from memcli.errors import UsageError
from memcli.index.database import IN_MEMORY
from memcli.project.context import Project
from memcli.project.levels_on_disk import FoundFile
from memcli.storage.files import digest, open_file


def index_path(project: Project, notes: list[str], *, make: bool = True) -> Path:
    """The path of the index; without `make`, folders for it are not made."""
    given = project.environ.get("MEM_DB")
    if given:
        return _named(Path(os.path.abspath(project.cwd / given)))
    root, files = project.root, project.listing.files
    if root is not None and _has_own(root, files):
        path = root / ".memory.db"
        if _usable(path):
            return path
    return _cached(project, notes, make=make and bool(files))


def _has_own(root: Path, files: Sequence[FoundFile]) -> bool:
    """Whether an index may lie in the root: not where found places alone are in view."""
    own = any(file.tree != "~" and not file.found for file in files)
    return own or (root / ".memory.db").exists()


def _named(path: Path) -> Path:
    """The index that MEM_DB names: a file, there or not, in a folder that is there."""
    if not _may_hold_index(path):
        raise UsageError(
            f"MEM_DB names a file that is no database: {path}", "name another file with MEM_DB"
        )
    if (path.exists() and not path.is_file()) or not path.parent.is_dir():
        raise UsageError(
            f"MEM_DB names no file in an existing folder: {path}", "name a file with MEM_DB"
        )
    return path


def _may_hold_index(path: Path) -> bool:
    """Whether MEM_DB may point there: at nothing yet, a database, or something that is no file.

    An index is moved aside when it is damaged; a file of the user's must not be.
    """
    if not path.is_file():
        return True
    try:
        with open_file(path) as file:
            return file.read(16) in (b"", b"SQLite format 3\0")
    except OSError:
        return True


def _usable(path: Path) -> bool:
    """Whether an index can live there: neither a read-only folder nor a link out of it."""
    if any(os.path.islink(f"{path}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")):
        return False
    if path.exists() and not os.access(path, os.W_OK):
        return False
    return os.access(path.parent, os.W_OK)


def _cached(project: Project, notes: list[str], *, make: bool) -> Path:
    from memcli.storage.folders import cache_dir, private_dir

    folder = cache_dir() / "index"
    key = os.fsencode(f"{project.root or ''}\0{project.home}")
    path = folder / f"{digest(key)}.db"
    if not make:
        return path if path.exists() else IN_MEMORY
    try:
        if os.access(private_dir(folder), os.W_OK):
            return path
    except OSError:
        pass
    notes.append(
        "neither the root nor the cache folder can be written: the index lives for this run only"
    )
    return IN_MEMORY
