"""Composition root: configuration, root, index, history and today, made on first use, closed after."""

from __future__ import annotations

import datetime
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from memcli import config, tree
from memcli.errors import RefusedError, UsageError
from memcli.levels import JOBS_DIRS
from memcli.memory_file import MemoryFile, parse
from memcli.model import Patch, Problem
from memcli.store import Index, Refreshed
from memcli.tree import Found, Listing, View

if TYPE_CHECKING:
    from memcli.workspace import Workspace

T = TypeVar("T")


class Plan(Protocol):
    """What a writing command returns: its report, with the patches that make it true."""

    @property
    def patches(self) -> Sequence[Patch]: ...


P = TypeVar("P", bound=Plan)
RECALL_WAIT = 0.2
"""Seconds that a recall waits for a busy index before it answers from what is there."""
BUILD_WAIT = 10.0


class Options(NamedTuple):
    """The options that every command has."""

    root: str = ""
    sets: tuple[str, ...] = ()
    quiet: bool = False
    json: bool = False


class App:
    """Everything a command reaches the outside through. Use as a context manager."""

    def __init__(self, options: Options, environ: Mapping[str, str], cwd: Path) -> None:
        self.options = options
        self.environ = environ
        self.cwd = cwd
        self.notes: list[str] = []
        self._index: Index | None = None

    def __enter__(self) -> App:
        return self

    def __exit__(self, *_: object) -> None:
        if self._index is not None:
            self._index.close()

    # --- where and when

    @cached_property
    def home(self) -> Path:
        return Path(os.path.realpath(config.home_of(self.environ)))

    @cached_property
    def now(self) -> datetime.date:
        """Today; MEM_NOW (an ISO date) stands in for it."""
        given = self.environ.get("MEM_NOW")
        if not given:
            return datetime.date.today()
        try:
            return datetime.date.fromisoformat(given[:10])
        except ValueError:
            raise UsageError(f"MEM_NOW is no date: {given}", "write it as 2026-03-01") from None

    @property
    def moment(self) -> datetime.datetime:
        """Today's date with the time of day, for journals."""
        return datetime.datetime.combine(self.now, datetime.datetime.now().time())

    @cached_property
    def root(self) -> Path | None:
        given = self.options.root or self.environ.get("MEM_ROOT", "")
        if given:
            path = Path(os.path.realpath(self.cwd / Path(given).expanduser()))
            if not path.is_dir():
                raise UsageError(
                    f"the root is no folder ({path})", "name an existing folder with --root or MEM_ROOT"
                )
            return None if path == self.home else path
        user = config.read_file(config.user_file(self.home, self.environ))[0].get("jobs_dir")
        return tree.find_root(self.cwd, self.home, (str(user),) if user else ())

    @cached_property
    def settings(self) -> config.Settings:
        flags = config.parse_flags(self.options.sets)
        return config.load(home=self.home, root=self.root, environ=self.environ, flags=flags)

    @cached_property
    def config(self) -> config.Config:
        return config.require(self.settings)

    @cached_property
    def jobs_dirs(self) -> tuple[str, ...]:
        own = self.config.jobs_dir
        return (*JOBS_DIRS, own) if own else JOBS_DIRS

    @cached_property
    def listing(self) -> Listing:
        """The memory files that exist, and the ones that were refused."""
        return tree.list_files(self.root, self.home, self.jobs_dirs, self.config.memory_files)

    @cached_property
    def view(self) -> View:
        """The job and task that the working directory is in."""
        return tree.view_of(self.cwd, self.root, self.jobs_dirs) if self.root is not None else View()

    def relative(self, path: str) -> str:
        """A file, named from the working directory or absolutely, relative to the root."""
        absolute = os.path.normpath(self.cwd / path)
        root = str(self.root or self.cwd)
        inside = absolute == root or absolute.startswith(root.rstrip(os.sep) + os.sep)
        return os.path.relpath(absolute, root) if inside else absolute.lstrip(os.sep)

    @cached_property
    def project(self) -> str:
        """The identity of this project for the state file: git common directory and root."""
        from memcli.git import common_dir, work_tree

        if self.root is None:
            return "~"
        top = work_tree(self.root)
        return f"{common_dir(top) if top else ''}\0{self.root}"

    # --- reading and writing memory files

    def read(self, file: Found) -> MemoryFile:
        """Read and parse a memory file. Raises `tree.Unreadable`."""
        return parse(tree.decode(tree.read_bytes(file.path).data), file.name)

    @cached_property
    def workspace(self) -> Workspace:
        from memcli.history import state_dir
        from memcli.workspace import Workspace

        allowed = [path for path in (self.root, self.home) if path is not None]
        return Workspace(self.root, state_dir(), self.moment, allowed=allowed)

    def write(self, plan: Callable[[], P], verb: str, *, dry_run: bool) -> P:
        """Plan and, unless `dry_run`, write what was planned: all of its patches or none.

        The plan is made while other writers are kept out, so that it cannot go stale.
        """
        if dry_run:
            return plan()
        with self.workspace.hold(verb):
            self.__dict__.pop("listing", None)
            report = plan()
            done = self.workspace.write(report.patches, verb)
        for name in done.recovered:
            self.notes.append(f"finished an interrupted write of {name}")
        return report

    # --- the index

    @property
    def index(self) -> Index:
        if self._index is None:
            self._index = Index(self._index_path(), self.notes)
        return self._index

    def _index_path(self, *, make: bool = True) -> Path:
        given = self.environ.get("MEM_DB")
        if given:
            return Path(os.path.abspath(self.cwd / given))
        root = self.root
        if root is not None and any(not file.name.startswith("~/") for file in self.listing.files):
            path = root / ".memory.db"
            if self._usable(path):
                if make and not path.exists():
                    from memcli.git import exclude

                    exclude(root)
                return path
        return self._cached_path()

    @staticmethod
    def _usable(path: Path) -> bool:
        """Whether an index can live there: neither a read-only folder nor a link out of it."""
        if path.is_symlink() or (path.exists() and not os.access(path, os.W_OK)):
            return False
        return os.access(path.parent, os.W_OK)

    def _cached_path(self) -> Path:
        from memcli.history import cache_dir, private_dir

        key = tree.digest(f"{self.root or ''}\0{self.home}".encode())
        try:
            folder = private_dir(cache_dir() / "index")
            if os.access(folder, os.W_OK):
                return folder / f"{key}.db"
        except OSError:
            pass
        import tempfile

        self.notes.append(
            "neither the root nor the cache folder can be written: the index lives for this run only"
        )
        return Path(tempfile.mkdtemp(prefix="mem-")) / "index.db"

    def refresh(
        self, *, wait: float | None = None, progress: Callable[[int], None] = lambda done: None
    ) -> Refreshed:
        """Bring the index up to the files; a busy one is left as it is, with a note."""
        files = self.listing.files

        def work() -> Refreshed:
            patience = wait if wait is not None else BUILD_WAIT if self.index.empty() else RECALL_WAIT
            return self.index.refresh(files, wait=patience, progress=progress)

        done = self.guarded(work)
        if done.busy:
            if self.index.empty():
                raise RefusedError(
                    f"the index is being built by another process ({self.index.path})", "run again"
                )
            self.notes.append("the index is busy: this answer may miss the latest edits")
        return done

    def guarded(self, work: Callable[[], T]) -> T:
        """Run `work` on the index; a damaged one is moved aside, built anew, and `work` runs again."""
        try:
            return work()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
                raise self._refused(error) from None
            self.index.repair(error)
            self.index.refresh(self.listing.files, wait=BUILD_WAIT)
            return work()

    def _refused(self, error: sqlite3.OperationalError) -> RefusedError:
        full = "full" in str(error)
        hint = "free some space, or move the index with MEM_DB" if full else "mem doctor"
        return RefusedError(f"the index cannot be used: {error} ({self.index.path})", hint)

    @property
    def has_index(self) -> bool:
        """Whether there is an index file already; nothing is made to find out."""
        return self._index is not None or self._index_path(make=False).exists()

    @property
    def problems_of_listing(self) -> list[Problem]:
        """The files that were refused before they were read."""
        return self.listing.problems

    @property
    def problems(self) -> list[Problem]:
        """Every problem of the files in the index and of those that were refused, in order."""
        indexed = [item for row in self.index.files().values() for item in row.problems]
        return sorted([*self.listing.problems, *indexed], key=lambda p: (p.path, p.line))

    def found(self, name: str) -> Found | None:
        """The listed file of that name."""
        return next((file for file in self.listing.files if file.name == name), None)

    def log_recall(self, session: str, shown: Sequence[tuple[str, str, int, float | None]]) -> None:
        """Remember what a session was shown; a busy or broken log is skipped with a note."""
        from memcli.history import LOG_WAIT, History, state_dir

        try:
            history = History(state_dir(), self.project, wait=LOG_WAIT)
            try:
                history.log_recall(session, shown, self.now.isoformat())
            finally:
                history.close()
        except (OSError, sqlite3.Error) as error:
            self.notes.append(f"the recall log was skipped: {error}")


@contextmanager
def opened(options: Options) -> Iterator[App]:
    """An `App` for the running process."""
    try:
        cwd = Path.cwd()
    except FileNotFoundError:
        raise UsageError("the working directory is gone", "change to an existing folder") from None
    with App(options, os.environ, cwd) as app:
        yield app
