"""The index of a project: found, opened, brought up to the files, mended; its entries
located."""

import os
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memcli.errors import MemError, ProviderError, RefusedError, UsageError
from memcli.index import database, view
from memcli.index.database import IN_MEMORY, Index, Progress, Refreshed
from memcli.index.occasions import guards_by_file
from memcli.index.view import Candidate
from memcli.index.whole import changing
from memcli.memory.values import plain_id
from memcli.named import NamedTuple
from memcli.project.config import Config
from memcli.project.context import Project
from memcli.storage.files import COMPANIONS, MAGIC, moved_aside, open_file
from memcli.text.digests import digest

if TYPE_CHECKING:
    from memcli.index.vectors import Chosen
    from memcli.project.listing import Files
    from memcli.providers.embed import Embedder

T = TypeVar("T")
RECALL_WAIT = 0.2  # seconds for a busy index; then the answer comes from what is there
BUILD_WAIT = 10.0
_NO_ROOM = {
    getattr(sqlite3, f"SQLITE_{name}")
    for name in ("CANTOPEN", "FULL", "IOERR", "READONLY")
}
_PASSING = {*_NO_ROOM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
FOREIGN = "the index beside the memory was not made by you: mem index --trust takes its vectors"


class ProjectIndex:
    """The index of one project; `notes` collects what the user should be told."""

    def __init__(self, project: Project, notes: list[str]) -> None:
        self.project = project
        self.base = project.root or project.home
        self.notes = notes
        self._open: Index | None = None

    def close(self) -> None:
        if self._open is not None:
            self._open.close()

    def path(self, *, make: bool = True) -> Path:
        """Where it lies; without `make` no folder is made for it."""
        given = self.project.environ.get("MEM_DB")
        if given:
            return _named(Path(os.path.abspath(self.project.cwd / given)))
        path = _beside(self.project)
        if path is not None and not database.is_foreign(path):
            return path
        if path is not None and FOREIGN not in self.notes:
            self.notes.append(FOREIGN)
        return self._cached(make=make and bool(self.project.listing.files))

    @property
    def index(self) -> Index:
        """The index, opened on first use."""
        if self._open is None:
            path = self.path()
            try:
                self._open = Index(path, self.notes)
            except sqlite3.OperationalError as error:
                return self._of_this_run(error, path)
        return self._open

    @property
    def exists(self) -> bool:
        """Whether there is an index file already; nothing is made to find out."""
        return self._open is not None or self.path(make=False).exists()

    def trust(self) -> int | None:
        """Take over the vectors of a foreign index, moved aside; how many, None without
        one."""
        path = _beside(self.project)
        if path is None or not database.is_foreign(path):
            return None
        rows = database.bought(path)
        kept = moved_aside(path, "aside")
        self.notes.append(f"the index of somebody else was moved to {kept.name}")
        self.close()
        self._open = None
        insert = "INSERT OR IGNORE INTO embedding_cache VALUES (?, ?, ?, ?)"
        with changing(self.index.db):
            self.index.db.executemany(insert, rows)
        return len(rows)

    def refresh(
        self, wait: float | None, progress: Progress, *, rebuild: bool
    ) -> Refreshed:
        """Bring the index up to the files; a busy one is left as it is, with a note."""
        if self._open is not None and self._open.is_looked_at:
            self.close()
            self._open = None
        root = self.project.root
        done = self.guarded(lambda: self._refresh(wait, progress, rebuild=rebuild))
        if done.busy and self.index.empty():
            what = f"the index is being built by another process ({self.index.path})"
            raise RefusedError(what, "run again")
        if done.busy:
            self.notes.append(
                "the index is busy: this answer may miss the latest edits"
            )
        if done.changed and root is not None and self.index.path.parent == root:
            from memcli.project.git import exclude

            exclude(root)
        return done

    def _refresh(
        self,
        wait: float | None = BUILD_WAIT,
        progress: Progress = lambda *done: None,
        *,
        rebuild: bool = False,
    ) -> Refreshed:
        files = self.project.listing.files
        if not rebuild and self.index.is_noted(files):
            return Refreshed()
        from memcli.index.refresh import IndexWriter  # not loaded without need

        bring = partial(
            IndexWriter(self.index, self.base).refresh,
            files,
            progress=progress,
            rebuild=rebuild,
        )
        if not rebuild and not any(self.index.stale(files)):
            with suppress(sqlite3.OperationalError):
                bring(wait=0)
            return Refreshed()
        if wait is None:
            wait = BUILD_WAIT if self.index.empty() else RECALL_WAIT
        done = bring(wait=wait)
        if not done.busy:
            self._note_bound(files)
        return done

    def _note_bound(self, files: "Files") -> None:
        """Remember in which files something binds, and the archives, wherever they are
        later."""
        from memcli.project.unlisted import note_bound

        bound = guards_by_file(self.index.db)
        noted = [
            file
            for file in files
            if file.name in bound or file.place.store == "archive"
        ]
        note_bound(self.base, noted)

    def embed(self, embedder: "Embedder | None", progress: Progress) -> bool:
        """Make the vectors of what was read; whether the embedder can be asked
        again."""
        try:
            chosen = chosen_chunks(self.project.config)
            self.guarded(lambda: embed_chosen(self.index, embedder, chosen, progress))
        except RefusedError as error:
            self.notes.append(f"vectors were not brought up to date: {error}")
        except (ProviderError, UsageError) as error:
            self.notes.append(view.words_alone(error))
            return False
        return True

    def looked(self, work: Callable[[Index], T]) -> T | None:
        """Run `work` on the index unchanged; None, with a note, when it cannot be
        used."""
        try:
            if self._open is None:
                self._open = Index(self.path(make=False), self.notes, look=True)
            return work(self._open)
        except sqlite3.DatabaseError as error:
            self.notes.append(
                f"the index cannot be used ({error}): mem index builds it anew"
            )
            return None

    def guarded(self, work: Callable[[], T]) -> T:
        """Run `work` on the index, again when a damaged one was moved aside and built
        anew."""
        try:
            return work()
        except MemError:
            raise
        except Exception as error:
            self._mend(error)
        return work()

    def _mend(self, error: Exception) -> None:
        """Build a damaged index anew, or make one for this run where there is no room.
        Raises the error again where the index is sound."""
        passing = isinstance(error, sqlite3.OperationalError)
        damaged = isinstance(error, sqlite3.DatabaseError) and not passing
        if self._open is None:
            raise error
        if damaged or "no such" in str(error) or self.is_damaged(error):
            self.index.repair(error)
            self._refresh()
        elif isinstance(error, sqlite3.OperationalError):
            self.close()
            self._of_this_run(error, self.index.path)
        else:
            raise error

    def is_damaged(self, error: BaseException) -> bool:
        """Whether an error that nothing else explains comes of a damaged index."""
        busy = isinstance(error, sqlite3.OperationalError) and (
            getattr(error, "sqlite_errorcode", 0) & 0xFF in _PASSING
        )
        return self._open is not None and not busy and bool(self._open.damage())

    def set_aside_if_damaged(self, error: Exception) -> bool:
        """Move the index aside where it is damaged and nobody guarded the work; whether
        it was."""
        damaged = self.is_damaged(error)
        if damaged:
            self.index.repair(error)
        return damaged

    def _cached(self, *, make: bool) -> Path:
        from memcli.storage.files import cache_dir, private_dir

        folder = cache_dir() / "index"
        key = f"{self.project.root or ''}\0{self.project.home}"
        path = folder / f"{digest(os.fsencode(key))}.db"
        if not make:
            return path if path.exists() else IN_MEMORY
        with suppress(OSError):
            if os.access(private_dir(folder), os.W_OK):
                return path
        what = "neither the root nor the cache folder can be written"
        self.notes.append(f"{what}: the index lives for this run only")
        return IN_MEMORY

    def _of_this_run(self, error: sqlite3.OperationalError, path: Path) -> Index:
        why = f"the index cannot be used: {error} ({path})"
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if path == IN_MEMORY or code not in _NO_ROOM:
            raise RefusedError(why, "mem doctor") from None
        self.notes.append(f"{why}; one was made for this run alone: free some space")
        self._open = Index(IN_MEMORY, self.notes)
        self._refresh()
        return self._open


def _beside(project: Project) -> Path | None:
    if project.root is None:
        return None
    path = project.root / ".memory.db"
    is_linked = any(os.path.islink(f"{path}{ending}") for ending in ("", *COMPANIONS))
    if is_linked or not os.access(path.parent, os.W_OK):
        return None
    if path.exists():
        return path if os.access(path, os.W_OK) else None
    parts = project.listing.files.parts
    has_own = any(part.tree != "~" and not part.found for part in parts)
    return path if has_own else None


def _named(path: Path) -> Path:
    start = b""
    with suppress(OSError), open_file(path) as file:
        start = file.read(len(MAGIC))
    odd = path.exists() and not path.is_file()
    if start not in (b"", MAGIC) or odd or not path.parent.is_dir():
        what = f"MEM_DB names what is no database in an existing folder: {path}"
        raise UsageError(what, "name another file with MEM_DB")
    return path


def chosen_chunks(config: Config) -> "Chosen":
    """Which chunks are embedded."""
    from memcli.index.vectors import Chosen  # hooks do without

    return Chosen(
        tuple(config.embed_kinds),
        tuple(config.embed_types),
        config.embed_min_importance,
    )


def embed_chosen(
    index: Index,
    embedder: "Embedder | None",
    chosen: "Chosen",
    progress: Progress,
    *,
    wait: float = RECALL_WAIT,
) -> int:
    """Embed what has no vector yet; how many chunks that were. Raises ProviderError."""
    state = index.vectors.state()
    if embedder is None or (state and state.whole and state.fits(embedder, chosen)):
        return 0
    from memcli.index.embedding import fill

    return fill(index.vectors, embedder, chosen, wait, progress)


class Located(NamedTuple):
    """Where an entry stands, by its key, and whether it may be changed from here."""

    entry: str
    path: str
    writable: bool


def locate(
    index: Index, project: Project, ids: Sequence[str], *, archived: bool | None = False
) -> dict[str, Located]:
    """Where each id stands: the nearest copy that may be written, else the nearest.
    `archived` None: in archives too, when it stands nowhere else; True: in archives
    alone."""
    merged = index.entries.survivors(ids)
    files = {row.id: row for row in index.files().values()}
    writable = {file.name for file in project.listing.files if project.may_write(file)}
    copies = defaultdict[tuple[str, bool], list[Candidate]](list)
    for copy in index.entries.copies({*ids, *merged.values()}):
        is_archived = files[copy.source].place.store == "archive"
        copies[copy.entry, is_archived].append(copy)
    located = {}
    for name in ids:
        living = copies[name, False] or copies[merged.get(name, name), False]
        there = _asked_for(living, copies[name, True], archived=archived)
        if there:
            mine = [copy for copy in there if files[copy.source].path in writable]
            best = view.nearest(mine or there, files, project.view)
            path = files[best.source].path
            located[name] = Located(entry=best.entry, path=path, writable=bool(mine))
    return located


def _asked_for(
    living: list[Candidate], in_archives: list[Candidate], *, archived: bool | None
) -> list[Candidate]:
    """The copies of an entry to choose from; `archived` as in `locate`."""
    if archived is None:
        return living or in_archives
    return in_archives if archived else living


def locate_one(
    index: Index, project: Project, prefix: str, *, archived: bool | None = False
) -> Located:
    """The one entry whose id is `prefix` or begins so. Raises UsageError for none or
    several."""
    names = sorted({entry for entry, _ in index.entries.ids(prefix)})
    names = [name for name in names if prefix in (name, plain_id(name))] or names
    places = locate(index, project, names, archived=archived)
    return places[the_one(prefix, places)]


def twins(index: Index, key: str) -> Iterator[str]:
    """What to say of each entry that has the same id in another repository."""
    paths = {row.id: path for path, row in index.files().items()}
    keys = {
        other
        for other, _ in index.entries.ids(plain_id(key))
        if plain_id(other) == plain_id(key)
    }
    for copy in index.entries.copies(keys - {key}):
        yield f"{copy.entry} is another entry with that id ({paths[copy.source]}:{copy.line})"


def no_entry(prefix: str) -> UsageError:
    """The error of an id that no entry has; handles of history are named."""
    if prefix[:2] in ("s:", "c:"):
        what = f"{prefix}: is an exchange or a commit, no entry"
        return UsageError(what, f"mem show {prefix} prints it; mem list shows ids")
    hint = "mem list shows ids"
    if re.fullmatch("[0-9a-f]{7,40}", prefix):
        hint += f"; a commit is c:{prefix}"
    return UsageError(f"{prefix}: no entry has that id", hint)


def the_one(prefix: str, names: Collection[str]) -> str:
    """The id that is `prefix`, or the only one that begins so. Raises UsageError."""
    if prefix in names:
        return prefix
    if prefix and len(set(map(plain_id, names))) == 1:
        return min(names, key=lambda name: (len(name), name))
    if not names:
        raise no_entry(prefix)
    if not prefix:
        raise UsageError("an id is empty", "mem list shows ids")
    length = max(13, len(prefix) + 4)
    listed = ", ".join(name[:length] for name in sorted(names)[:8])
    raise UsageError(f"{prefix}: several entries begin so", f"one of {listed}")
