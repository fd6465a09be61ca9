"""What mem doctor examines, each thing read once, and the rows that it prints."""

import os
import re
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from memcli.app import App
from memcli.index.database import IN_MEMORY, Index
from memcli.index.refresh import differing
from memcli.memory.parser import KnownFile
from memcli.memory.values import Patch, Problem, place
from memcli.project import git
from memcli.project.context import base_of, read_known
from memcli.project.listing import FoundFile, shown
from memcli.storage import durable, sqlite
from memcli.storage.files import Unreadable, read_text, why

Status = Literal["PASS", "WARN", "FAIL", "INFO"]


TEMPORARY = f".MEMORY.md{durable.MARK}1-0"


TO_COME = (".memory.db", TEMPORARY, *git.MOMENTS)


# SQLite's own word for damage that does not show when a file is opened
MALFORMED = "malformed"


class Check(NamedTuple):
    """One row: what was checked, what was found, the command that fixes it, and the
    verdict."""

    name: str
    detail: str
    hint: str = ""
    path: str = ""
    line: int = 0
    status: Status = "PASS"


passed = Check
"""Everything is in order."""
remark = partial(Check, status="INFO")
"""Worth knowing."""
warning = partial(Check, status="WARN")
"""Should be fixed."""
failure = partial(Check, status="FAIL")
"""Broken."""


class Repository(NamedTuple):
    """What git knows here; `bare` are derived or private files that git does not
    ignore."""

    top: Path | None = None
    fault: str = ""
    tracked: frozenset[str] = frozenset()
    bare: tuple[str, ...] = ()
    attribute: bool = False
    driver: str = ""


def _known(app: App, root: Path, known: Repository) -> Repository:
    """What git knows about a readable work tree, what it ignores and how it merges."""
    asked = ["check-attr", "merge", "--", "MEMORY.md"]
    merge = git.run(asked, root, timeout=3).stdout.strip()
    driver = git.run(["config", "--get", "merge.mem.driver"], root).stdout.strip()
    files = app.project.listing.files
    private = [file.name for file in files if file.place.of == "proxy"]
    names = [
        name
        for name in (".memory.db", *private)
        if name not in known.tracked and os.path.lexists(root / name)
    ]
    if driver:
        names += TO_COME
    bare = [name for name in dict.fromkeys(names) if not _is_ignored(root, name)]
    return known._replace(
        bare=tuple(bare), attribute=merge.endswith(": mem"), driver=driver
    )


def _is_ignored(root: Path, name: str) -> bool:
    asked = ["check-ignore", "-q", "--no-index", "--", name]
    return git.run(asked, root).returncode != 1


class IndexState(NamedTuple):
    """The state of the index file: why it cannot be used, and which files it has not
    seen."""

    path: Path
    there: bool = False
    broken: str = ""
    busy: bool = False
    behind: tuple[str, ...] = ()


class Scene:
    """Everything that is examined, read once on first use."""

    def __init__(
        self, app: App, files: Sequence[str] = (), *, online: bool = False
    ) -> None:
        self.app = app
        self.files = files
        self.online = online

    @cached_property
    def read(self) -> tuple[list[KnownFile], list[Problem]]:
        """The documents, and the problems of files that cannot be read."""
        listing = self.app.project.listing
        named = named_files(self.app, self.files)
        problems = [] if named else list(listing.problems)
        files = named or listing.files
        return list(read_known(self.app.project, files, problems)), problems

    @property
    def documents(self) -> list[KnownFile]:
        """The files as they were read."""
        return self.read[0]

    @cached_property
    def repository(self) -> Repository:
        """What git knows of the root."""
        root = self.app.project.root
        top = git.work_tree(self.app.project.root)
        if root is None or not top:
            return Repository()
        folder = git.git_dir(top)
        if not folder or not (folder / "HEAD").is_file():
            return Repository(top, "its .git does not point to a git directory")
        try:
            listed = git.run(["ls-files", "-z", "--", "*.md", "*.memory.db*"], root)
        except OSError as error:
            return Repository(top, f"git cannot be run: {why(error)}")
        if listed.returncode:
            said = listed.stderr.strip() or "git ls-files failed"
            return Repository(top, said.splitlines()[0])
        tracked = frozenset(map(shown, filter(None, listed.stdout.split("\0"))))
        return _known(self.app, root, Repository(top, tracked=tracked))

    @cached_property
    def index(self) -> IndexState:
        """The state of the index file; it is only examined, not updated."""
        path = self.app.kept.path(make=False)
        if path == IN_MEMORY or not os.path.lexists(path):
            return IndexState(path)
        try:
            with closing(Index(path, [], look=True)) as index:
                if fault := sqlite.fault(index.db):
                    message = f"{MALFORMED}: {fault}"
                    return IndexState(path, there=True, broken=message)
                changed, gone = differing(index, self.app.project.listing.files)
                return IndexState(path, there=True, behind=(*changed, *gone))
        except Exception as error:
            # whatever SQLite reports: the file can be rebuilt
            busy = bool(re.search("locked|busy", str(error)))
            return IndexState(
                path=path, there=True, broken="" if busy else str(error), busy=busy
            )


def named_files(app: App, names: Sequence[str]) -> list[FoundFile]:
    """The files named on the command line, memory files or not, each once."""
    listed = {file.path: file for file in app.project.listing.files}
    paths = dict.fromkeys(absolute(app, name) for name in names)
    return [listed.get(path) or _unlisted(app, path) for path in paths]


def absolute(app: App, name: str) -> str:
    """The path of a named file, with its folder resolved but not the file itself."""
    folder, base = os.path.split(os.path.normpath(app.project.cwd / name))
    return os.path.join(os.path.realpath(folder), base)


def _unlisted(app: App, path: str) -> FoundFile:
    """Whether a named file is not one of the memory files in view."""
    folder, name = os.path.split(path)
    inside = os.path.basename(folder)
    inside = inside if inside in ("tasks", "proxy-tasks") else ""
    top = git.work_tree(Path(folder))
    return FoundFile(
        path=path,
        name=shown_name(app, path),
        place=place("project", name, folder=inside),
        tree="" if top == git.work_tree(app.project.root) else str(top),
        mtime=0,
        size=0,
        base=base_of(app.project, path) or "/",
    )


def shown_name(app: App, path: str) -> str:
    """The name of a file: relative to the root, below `~`, else absolute."""
    return shown(app.project.name_of(path))


def text_of(path: Path) -> str | None:
    """The text of a file; None if it cannot be read."""
    with suppress(Unreadable):
        return read_text(path)
    return None


class Mended(NamedTuple):
    """What was fixed, one line each, the patches, and a row for each failed attempt."""

    done: Sequence[str] = ()
    patches: Sequence[Patch] = ()
    failed: Sequence[Check] = ()


class Remedy(Protocol):
    """Fixes one thing, or says what it would fix."""

    def __call__(self, scene: Scene) -> Mended:
        """What was or would be fixed."""
        ...
