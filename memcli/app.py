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

from memcli.errors import ProviderError, RefusedError, UsageError
from memcli.index.database import IN_MEMORY, Index, Refreshed, Unusable
from memcli.index.vectors import Chosen
from memcli.memory.levels import JOBS_DIRS
from memcli.memory.values import PHASES, Patch, Problem
from memcli.project import config, levels_on_disk
from memcli.project.levels_on_disk import FoundFile, Listing, View
from memcli.storage.files import MEMORY_BYTES, SMALL_BYTES, Unreadable, digest, open_file, read_text

if TYPE_CHECKING:
    from memcli.index.source import Candidate
    from memcli.memory.parser import MemoryFile
    from memcli.providers.embed import Embedder
    from memcli.providers.llm import Model
    from memcli.providers.llm.ledger import Call
    from memcli.storage.state import History
    from memcli.storage.workspace import Workspace

T = TypeVar("T")


class Located(NamedTuple):
    """Where an entry stands, and whether it may be changed from here."""

    entry: str
    path: str
    writable: bool


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
    tasks: tuple[str, ...] = ()


class App:
    """Everything a command reaches the outside through. Use as a context manager."""

    def __init__(self, options: Options, environ: Mapping[str, str], cwd: Path) -> None:
        self.options = options
        self.environ = environ
        self.cwd = cwd
        self.notes: list[str] = []
        self.named_tasks = options.tasks
        self._index: Index | None = None
        self._models: list[Model] = []

    def __enter__(self) -> App:
        return self

    def __exit__(self, *_: object) -> None:
        if self._index is not None:
            self._index.close()
        for model in self._models:
            model.close()
        close = getattr(self.__dict__.get("embedder"), "close", None)
        if close is not None:
            close()

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
            if given[10:11] not in ("", "T", " "):
                raise ValueError
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
            path = Path(os.path.realpath(self.cwd / os.path.expanduser(given)))
            if not path.is_dir():
                raise UsageError(
                    f"the root is no folder ({path})",
                    "name an existing folder with --root or MEM_ROOT",
                )
            return None if path == self.home else path
        user = config.read_settings(config.user_file(self.home, self.environ)).values
        own = config.jobs_dirs(
            user, config.from_environment(self.environ), config.parse_flags(self.options.sets)
        )
        return levels_on_disk.find_root(self.cwd, self.home, own)

    @cached_property
    def settings(self) -> config.Settings:
        flags = config.parse_flags(self.options.sets)
        return config.load(home=self.home, root=self.root, environ=self.environ, flags=flags)

    @cached_property
    def config(self) -> config.Config:
        return config.require(self.settings)

    def tolerate_configuration(self) -> None:
        """From now on take what can be used of a faulty configuration, and defaults for the rest."""
        self.__dict__["config"] = self.settings.config

    @cached_property
    def jobs_dirs(self) -> tuple[str, ...]:
        own = self.config.jobs_dir
        return (*JOBS_DIRS, own) if own else JOBS_DIRS

    @cached_property
    def listing(self) -> Listing:
        """The memory files that exist, and the ones that were refused."""
        listing = levels_on_disk.list_files(
            self.root, self.home, self.jobs_dirs, self.config.memory_files
        )
        if self.root is None or not self.config.found:
            return listing
        from memcli.project.places import with_found

        return with_found(listing, self.root, self.home, self.environ)

    @cached_property
    def view(self) -> View:
        """The job and task that the working directory is in."""
        return (
            levels_on_disk.view_of(self.cwd, self.root, self.jobs_dirs)
            if self.root is not None
            else View()
        )

    def relative(self, path: str) -> str:
        """A file, named from the working directory or absolutely, relative to the root."""
        folder, name = os.path.split(os.path.normpath(self.cwd / path))
        absolute = os.path.join(os.path.realpath(folder), name)
        root = str(self.root or self.cwd)
        if absolute == root or absolute.startswith(root.rstrip(os.sep) + os.sep):
            return os.path.relpath(absolute, root)
        return absolute.lstrip(os.sep) if os.path.isabs(path) else os.path.normpath(path)

    def seen(self, path: str, name: str) -> str:
        """How to call a memory file where one stands: its name, but from inside a job or task its
        path.
        """
        return (
            os.path.relpath(path, self.cwd)
            if self.view.inside and not name.startswith("~/")
            else name
        )

    @cached_property
    def project(self) -> str:
        """The identity of this project for the state file: git common directory and root."""
        from memcli.project.git import common_dir, work_tree

        if self.root is None:
            return "~"
        top = work_tree(self.root)
        return f"{common_dir(top) if top else ''}\0{self.root}"

    # --- reading and writing memory files

    def base_of(self, path: str | Path) -> str:
        """The folder that no link on the way to a file may leave: the root or the home folder, ""
        elsewhere.
        """
        named = os.path.abspath(path)
        for folder in map(str, filter(None, (self.root, self.home))):
            if named.startswith(folder.rstrip(os.sep) + os.sep):
                return folder
        return ""

    def text(self, path: str | Path, *, most: int = MEMORY_BYTES) -> str | None:
        """The text of a file, None where there is nothing. Raises `Unreadable`."""
        if not os.path.lexists(path):
            return None
        return read_text(path, self.base_of(path), most=most)

    def read(self, file: FoundFile) -> MemoryFile:
        """Read and parse a memory file. Raises `tree.Unreadable`."""
        from memcli.memory.parser import parse

        return parse(read_text(file.path, file.base), file.name)

    @cached_property
    def workspace(self) -> Workspace:
        from memcli.storage.state import state_dir
        from memcli.storage.workspace import Workspace

        names = ("MEMORY.md", "institutional.md", "MEMORY.archive.md", "institutional.archive.md")
        single = [self.home / name for name in names]
        allowed = [self.root] if self.root is not None else []
        return Workspace(self.root, state_dir(), self.moment, allowed=allowed, single=single)

    def write(
        self,
        plan: Callable[[], P],
        verb: str,
        *,
        dry_run: bool,
        note: Callable[[P], Sequence[str]] = lambda report: (),
    ) -> P:
        """Plan and, unless `dry_run`, write what was planned: all of its patches or none.

        The plan is made while other writers are kept out, so that it cannot go stale. See
        `Workspace.write` for `note`.
        """
        if dry_run:
            return plan()
        with self.workspace.hold(verb):
            self.relist()
            report = plan()
            done = self.workspace.write(report.patches, verb, note=note(report))
        for name in done.recovered:
            self.notes.append(f"finished an interrupted write of {name}")
        return report

    @cached_property
    def tree(self) -> str:
        """The git work tree of the working directory: "" for the root's own, else a task's folder."""
        here = os.path.relpath(self.cwd, self.root) if self.root is not None else "."
        trees = sorted(
            {file.tree for file in self.listing.files if file.tree}, key=len, reverse=True
        )
        return next((name for name in trees if here == name or here.startswith(name + os.sep)), "")

    def may_write(self, file: FoundFile, tasks: Sequence[str] = ()) -> bool:
        """Whether a command that was called here may change `file`: its work tree, or a task named."""
        return file.tree in ("~", self.tree) or file.place.task in tasks

    def read_to_write(self, file: FoundFile) -> MemoryFile:
        """Like `read`, for a file about to be changed: one with conflict markers is left to be
        resolved.
        """
        from memcli.diagnostics.checks import conflict_lines

        memory = self.read(file)
        for line in conflict_lines(memory.text):
            raise Unreadable("has conflict markers: resolve them first", line)
        return memory

    def path_of(self, name: str) -> str:
        """The absolute path of a memory file from its name."""
        return (
            str(self.home / name[2:])
            if name.startswith("~/")
            else str((self.root or self.home) / name)
        )

    def locate(self, ids: Sequence[str], *, archived: bool | None = False) -> dict[str, Located]:
        """Where each id stands: the nearest copy that may be written, else the nearest.

        An id that a survivor was merged from leads to the survivor. `archived` None: archives too,
        when the id stands nowhere else; True: in archives alone.
        """
        from memcli.index import view as scope

        merged = self.index.entries.survivors(ids)
        names = {name: merged.get(name, name) for name in ids}
        files = {row.id: row for row in self.index.files().values()}
        writable = {
            file.name for file in self.listing.files if self.may_write(file, self.named_tasks)
        }
        copies: dict[str, list[Candidate]] = {}
        for copy in self.index.entries.copies([*names, *names.values()]):
            copies.setdefault(copy.entry, []).append(copy)
        found = {}

        def standing(name: str, *, archive: bool) -> list[Candidate]:
            same = copies.get(name, ())
            return [c for c in same if (files[c.source].place.store == "archive") == archive]

        for name, entry in names.items():
            live = (
                [] if archived else standing(name, archive=False) or standing(entry, archive=False)
            )
            if not live and archived is not False:
                live = standing(name, archive=True)
            own = [c for c in live if files[c.source].path in writable]
            if live:
                best = scope.nearest(own or live, files, self.view)
                found[name] = Located(best.entry, files[best.source].path, bool(own))
        return found

    def one(self, prefix: str, *, archived: bool | None = False) -> Located:
        """The one entry whose id is `prefix` or begins with it. Raises UsageError for none or
        several.
        """
        names = sorted({entry for entry, _ in self.index.entries.ids(prefix)})
        names = [prefix] if prefix in names else names
        places = self.locate(names, archived=archived)
        if len(places) != 1:
            listed = ", ".join(sorted(places)[:8])
            what = "several entries begin so" if places else "no entry has that id"
            raise UsageError(
                f"{prefix}: {what}", f"one of {listed}" if places else "mem list shows ids"
            )
        return next(iter(places.values()))

    def current_stage(self, job: str = "") -> str:
        """The stage in `.current-stage` of the job's directory, without a job at the root; else
        unknown.
        """
        for jobs in self.jobs_dirs if job else ("",):
            folder = os.path.join(self.root or self.home, jobs, job)
            try:
                word = (self.text(f"{folder}/.current-stage", most=SMALL_BYTES) or "").strip()
            except Unreadable:
                continue
            if word in PHASES:
                return word
        return "unknown"

    @cached_property
    def model(self) -> Model | None:
        """The language model that the user has enabled, None without one."""
        return self.model_of(self.config.llm)

    def model_of(self, name: str) -> Model | None:
        """The language model of that name: for a run in which the user has asked for it."""
        if name == "none":
            return None
        from memcli.providers.llm import make_model
        from memcli.providers.llm.ledger import Ledger

        model = make_model(
            self.config._replace(llm=name), self.environ, Ledger(self._spent_today, self._note_call)
        )
        self._models += [model] if model is not None else []
        return model

    def _spent_today(self) -> float:
        """USD that language models did cost today; 0, with a note, when that cannot be read."""
        from memcli.storage.state import History, state_dir

        try:
            history = History(state_dir(), self.project)
            try:
                return history.spent(self.now.isoformat())
            finally:
                history.close()
        except (OSError, sqlite3.Error) as error:
            self.notes.append(f"what was spent today is not known: {error}")
            return 0.0

    def _note_call(self, call: Call) -> None:
        """Write a call into the ledger, from any thread; one that cannot be written is told."""
        from memcli.storage.state import History, state_dir

        try:
            history = History(state_dir(), self.project)
            try:
                history.note_call(self.now.isoformat(), *call)
            finally:
                history.close()
        except (OSError, sqlite3.Error) as error:
            self.notes.append(f"a call of {call.cost:.4f} USD is missing in the ledger: {error}")

    @contextmanager
    def history(self) -> Iterator[History]:
        """The state of this project, open."""
        from memcli.storage.state import History, state_dir

        try:
            history = History(state_dir(), self.project)
        except sqlite3.Error as error:
            path = state_dir() / "state.db"
            raise RefusedError(
                f"the state file cannot be used: {error} ({path})",
                "move it away: no memory is lost with it",
            ) from None
        try:
            yield history
        finally:
            history.close()

    # --- vectors

    @cached_property
    def embedder(self) -> Embedder | None:
        """What makes vectors here, None without one. Raises UsageError where a key or a folder is
        missing.
        """
        from memcli.providers.embed import make_embedder

        c = self.config
        return make_embedder(
            c.embedder, model=c.embed_model, url=c.embed_url, folder=c.embed_folder,
            dimensions=c.embed_dimensions, environ=self.environ,
        )  # fmt: skip

    @cached_property
    def chosen(self) -> Chosen:
        """Which chunks are embedded."""
        c = self.config
        return Chosen(tuple(c.embed_kinds), tuple(c.embed_types), c.embed_min_importance)

    def embed(
        self, *, wait: float, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> int:
        """Embed what has no vector yet; how many chunks that were. Raises ProviderError."""
        if self.embedder is None or not self.index.vectors.due(self.embedder, self.chosen):
            return 0
        return self.index.vectors.fill(self.embedder, self.chosen, wait=wait, progress=progress)

    # --- the index

    @property
    def index(self) -> Index:
        if self._index is None:
            self._index = Index(self._index_path(), self.notes)
        return self._index

    def _index_path(self, *, make: bool = True) -> Path:
        given = self.environ.get("MEM_DB")
        if given:
            return self._named_path(Path(os.path.abspath(self.cwd / given)))
        root = self.root
        if root is not None and self._has_own(root):
            path = root / ".memory.db"
            if self._usable(path):
                return path
        return self._cached_path(make=make and bool(self.listing.files))

    @staticmethod
    def _named_path(path: Path) -> Path:
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

    def _has_own(self, root: Path) -> bool:
        """Whether an index may lie in the root: not where found places alone are in view."""
        own = any(file.tree != "~" and not file.found for file in self.listing.files)
        return own or (root / ".memory.db").exists()

    @staticmethod
    def _usable(path: Path) -> bool:
        """Whether an index can live there: neither a read-only folder nor a link out of it."""
        if any(os.path.islink(f"{path}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")):
            return False
        if path.exists() and not os.access(path, os.W_OK):
            return False
        return os.access(path.parent, os.W_OK)

    def _cached_path(self, *, make: bool) -> Path:
        from memcli.storage.state import cache_dir, private_dir

        folder = cache_dir() / "index"
        key = os.fsencode(f"{self.root or ''}\0{self.home}")
        path = folder / f"{digest(key)}.db"
        if not make:
            return path if path.exists() else IN_MEMORY
        try:
            if os.access(private_dir(folder), os.W_OK):
                return path
        except OSError:
            pass
        self.notes.append(
            "neither the root nor the cache folder can be written: the index lives for this run only"
        )
        return IN_MEMORY

    def refresh(
        self,
        *,
        wait: float | None = None,
        progress: Callable[[int], None] = lambda done: None,
        rebuild: bool = False,
        embed: bool = True,
    ) -> Refreshed:
        """Bring the index up to the files; a busy one is left as it is, with a note.

        With `embed`, vectors that are made in this process are brought up to date, too.
        """
        files = self.listing.files

        def work() -> Refreshed:
            patience = (
                wait if wait is not None else BUILD_WAIT if self.index.empty() else RECALL_WAIT
            )
            if not rebuild and not any(self.index.stale(files)):
                return Refreshed()
            from memcli.index.refresh import refresh  # it reads files: not loaded without need

            return refresh(self.index, files, wait=patience, progress=progress, rebuild=rebuild)

        done = self.guarded(work)
        if done.busy:
            if self.index.empty():
                raise RefusedError(
                    f"the index is being built by another process ({self.index.path})", "run again"
                )
            self.notes.append("the index is busy: this answer may miss the latest edits")
        if embed and self.embeds_here and not done.busy:
            self._embed_here()
        if done.changed and self.root is not None and self.index.path.parent == self.root:
            from memcli.project.git import exclude

            exclude(self.root)
        return done

    @property
    def embeds_here(self) -> bool:
        """Whether vectors are made in this process, so that a refresh may make them."""
        return self.config.embedder in ("auto", "local") and self.embedder is not None

    def _embed_here(self) -> None:
        """Make the vectors of what a refresh has read; a busy index gets them the next time.

        An embedder that cannot work is not asked again in this run.
        """
        try:
            self.guarded(lambda: self.embed(wait=RECALL_WAIT))
        except RefusedError as error:
            self.notes.append(f"vectors were not brought up to date: {error}")
        except (ProviderError, UsageError) as error:
            hint = f" ({error.hint})" if error.hint else ""
            self.notes.append(f"words alone were searched: {error.what}{hint}")
            self.__dict__["embedder"] = None

    def looked(self, work: Callable[[], T]) -> T | None:
        """Run `work` on the index without changing it; None, with a note, when it cannot be used."""
        try:
            if self._index is None:
                self._index = Index(self._index_path(make=False), self.notes, look=True)
            return work()
        except (Unusable, sqlite3.DatabaseError) as error:
            self.notes.append(f"the index cannot be used ({error}): mem index builds it anew")
            return None

    def guarded(self, work: Callable[[], T]) -> T:
        """Run `work` on the index; a damaged one is moved aside, built anew, and `work` runs again."""
        try:
            return work()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
                raise self._refused(error) from None
            self.index.repair(error)
            from memcli.index.refresh import refresh

            refresh(self.index, self.listing.files, wait=BUILD_WAIT)
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

    def found(self, name: str) -> FoundFile | None:
        """The listed file of that name."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, FoundFile]:
        return {file.name: file for file in self.listing.files}

    def relist(self) -> None:
        """Look for the files again when they are next asked for."""
        for name in ("listing", "_by_name"):
            self.__dict__.pop(name, None)

    def log_recall(self, session: str, shown: Sequence[tuple[str, str, int, float | None]]) -> None:
        """Remember what a session was shown; a busy or broken log is skipped with a note."""
        from memcli.storage.state import LOG_WAIT, History, state_dir

        try:
            history = History(state_dir(), self.project, wait=LOG_WAIT)
            try:
                history.log_recall(session, shown, self.now.isoformat())
            finally:
                history.close()
        except (OSError, sqlite3.Error) as error:
            why = "another mem is writing it" if "locked" in str(error) else error
            self.notes.append(f"the recall log was skipped: {why}")


@contextmanager
def opened(options: Options) -> Iterator[App]:
    """An `App` for the running process."""
    try:
        cwd = Path.cwd()
    except FileNotFoundError:
        raise UsageError("the working directory is gone", "change to an existing folder") from None
    with App(options, os.environ, cwd) as app:
        config.require(
            config.of_flags(options.sets)
        )  # whether or not the command asks for the configuration
        yield app


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
