"""What git and the index file know of this project: read without changing either."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.index.database import IN_MEMORY, Index, Unusable
from memcli.index.refresh import differing
from memcli.project import git, levels_on_disk
from memcli.storage import durable


class Repository(NamedTuple):
    """What git knows of this project. `top` is None outside of a work tree, `fault` why git cannot
    tell.

    Names are relative to the root. `bare` are derived or private files that git would offer to add.
    """

    top: Path | None = None
    fault: str = ""
    tracked: frozenset[str] = frozenset()
    bare: tuple[str, ...] = ()
    attribute: bool = False
    driver: str = ""


def read_repository(app: App) -> Repository:
    """The state of git here; nothing is raised when it cannot be run."""
    root = app.project.root
    top = git.work_tree(root) if root is not None else None
    if root is None or top is None:
        return Repository()
    folder = git.git_dir(top)
    if folder is None or not (folder / "HEAD").is_file():
        return Repository(top, "its .git names no git directory")
    try:
        listed = git.run(["ls-files", "-z", "--", "*.md", "*.memory.db*"], root)
    except OSError as error:
        return Repository(top, f"git cannot be run: {(error.strerror or str(error)).lower()}")
    if listed.returncode:
        return Repository(top, (listed.stderr.strip() or "git ls-files failed").splitlines()[0])
    tracked = frozenset(map(levels_on_disk.shown, filter(None, listed.stdout.split("\0"))))
    attribute = (
        git.run(["check-attr", "merge", "--", "MEMORY.md"], root).stdout.strip().endswith(": mem")
    )
    driver = git.run(["config", "--get", "merge.mem.driver"], root).stdout.strip()
    bare = _bare(app, root, tracked, ready=bool(driver))
    return Repository(top, "", tracked, bare, attribute, driver)


def _bare(app: App, root: Path, tracked: frozenset[str], *, ready: bool) -> tuple[str, ...]:
    """Untracked files that git should ignore and does not; those to come, too, once mem init was
    run.
    """
    there = [
        ".memory.db",
        *(file.name for file in app.project.listing.files if file.place.of == "proxy"),
    ]
    names = [name for name in there if name not in tracked and os.path.lexists(root / name)]
    names = list(dict.fromkeys([*names, *(TO_COME if ready else ())]))
    if not names:
        return ()
    done = git.run(["check-ignore", "--no-index", "--", *names], root).stdout.split("\n")
    # Odd names come back quoted: what did not come back as it was is asked for by itself.
    return tuple(name for name in names if name not in done and not _is_ignored(name, root))


def _is_ignored(name: str, root: Path) -> bool:
    return git.run(["check-ignore", "-q", "--no-index", "--", name], root).returncode != 1


TEMPORARY = f".MEMORY.md{durable.MARK}1-0"
TO_COME = (".memory.db", TEMPORARY, *git.MOMENTS)
MALFORMED = "malformed"
"""The word, SQLite's own, for damage that opening a file does not show."""


class IndexState(NamedTuple):
    """How the index file stands: `broken` says why it cannot be used, `behind` what it has not
    seen.
    """

    path: Path
    there: bool = False
    broken: str = ""
    busy: bool = False
    behind: tuple[str, ...] = ()


def read_index(app: App) -> IndexState:
    """How the index file stands, opened for a look only."""
    path = app.kept.path(make=False)
    if path == IN_MEMORY or not os.path.lexists(path):
        return IndexState(path)
    state = IndexState(path, True)
    try:
        return _compared(app, state)
    except Exception as error:  # whatever SQLite says of a file: it can be built anew
        busy = not isinstance(error, Unusable) and bool(re.search("locked|busy", str(error)))
        return state._replace(busy=True) if busy else state._replace(broken=str(error))


def _compared(app: App, state: IndexState) -> IndexState:
    index = Index(state.path, [], look=True)
    try:
        if fault := index.integrity():
            return state._replace(broken=f"{MALFORMED}: {fault}")
        changed, gone = differing(index, app.project.listing.files)
        return state._replace(behind=(*changed, *gone))
    finally:
        index.close()
