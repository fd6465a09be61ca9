"""The index, `.memory.db`, derived from the memory files: opened, made, repaired.

Its random token is known to this user's state folder: another's is neither used nor
replaced."""

import contextlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memcli.errors import DataError, RefusedError
from memcli.index.filters import FORGED, Entries, sealed
from memcli.index.fulltext import Lexical
from memcli.index.sql import first_column, number_of
from memcli.index.view import FileRow, IndexedFiles, Placed, visible
from memcli.index.whole import ALTERED, changing, is_altered, note
from memcli.memory.filters import Filters
from memcli.memory.values import Place, Problem
from memcli.named import NamedTuple
from memcli.project.context import View
from memcli.project.listing import Files, FoundFile
from memcli.storage.files import (
    Unreadable,
    moved_aside,
    odd_companion,
    open_file,
    private_dir,
    state_dir,
    try_lock,
)
from memcli.storage.own_database import DatabaseIdentity, identity, inode_of, open_own
from memcli.storage.sqlite import all_rows, fault, opened
from memcli.text.matching import table

if TYPE_CHECKING:
    from memcli.index.vectors import Vectors

SCHEMA_VERSION = 26
IN_MEMORY = Path(":memory:")
MOVING = 2.0  # seconds at most until another process has moved a damaged index
APPLICATION = 0x6D656D31  # "mem1": tells our file from a foreign one
TABLES = frozenset(
    """file_meta chunks chunks_fts chunks_fts_data chunks_fts_idx chunks_fts_docsize
    chunks_fts_config embedding_cache vectors signs words occasions relations meta
    anchored anchors""".split()
)
_HINT = "delete it: mem index makes another"
FOREIGN = frozenset(["<view>", "<trigger>"])  # what would run, and no index of mem has


Progress = Callable[[str, int, int], object]
"""Told how much of something is done, and of how much."""


class Refreshed(NamedTuple):
    """What a refresh did. `busy` says that another process is writing and nothing was
    done."""

    read: int = 0
    changed: int = 0
    removed: int = 0
    busy: bool = False


class Index:
    """An open index; one that cannot be used is moved aside, with a note, and made
    anew. With `look` nothing is changed and DatabaseError is raised; `IN_MEMORY` lives
    as long as the process."""

    def __init__(self, path: Path, notes: list[str], *, look: bool = False) -> None:
        self.path = path
        self.notes = notes
        self.is_looked_at = look
        self._seen = (0, 0)
        self.db = self._look() if look else self._open()
        self._counted = self.db, -1, 0, Lexical(self.db)
        self.entries = Entries(self.db)

    def close(self) -> None:
        """End the work; what was written is noted as what is to be read."""
        if self.path != IN_MEMORY and not self.is_looked_at and self.db.total_changes:
            note(self.db, self.path)
        self.db.close()

    @property
    def words(self) -> Lexical:
        """Its full text; what was counted there holds until something is written."""
        version = number_of(self.db, "PRAGMA data_version")
        if self._counted[:3] != (self.db, self.db.total_changes, version):
            self._counted = self.db, self.db.total_changes, version, Lexical(self.db)
        return self._counted[3]

    @property
    def vectors(self) -> "Vectors":
        """Its vectors."""
        from memcli.index.vectors import Vectors

        return Vectors(self.db)

    def _look(self) -> sqlite3.Connection:
        if not self.path.is_file():
            raise sqlite3.DatabaseError("no regular file")
        if name := odd_companion(self.path):
            raise sqlite3.DatabaseError(f"beside {name}, which is not a regular file")
        db = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw",
            timeout=1,
            isolation_level=None,
            uri=True,
        )
        try:
            db.execute("PRAGMA query_only = 1")
            db.execute("PRAGMA trusted_schema = 0")
            if why := _unusable(db, self.path):
                raise sqlite3.DatabaseError(why)
        except BaseException:
            db.close()
            raise
        return db

    def _open(self) -> sqlite3.Connection:
        if self.path == IN_MEMORY:
            db = sqlite3.connect(IN_MEMORY, isolation_level=None)
            _create(db)
            return db
        why = ""
        for _ in range(3):  # another process may be mending it at the same time
            file = open_own(self.path, partial(_judged, self.path))
            self._seen = file.inode
            why = file.why
            if file.db is not None:
                return file.db
            self._aside(why)
        raise RefusedError(
            f"the index cannot be opened: {why} ({self.path})", "mem doctor"
        )

    def _aside(self, why: str) -> None:
        # Who has the lock of the damaged file moves it, so that nobody moves the one
        # that was built in its place.
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError, Unreadable):
                file = stack.enter_context(open_file(self.path))
                until = time.monotonic() + MOVING
                while not try_lock(file.fileno()) and time.monotonic() < until:
                    time.sleep(0.01)
            if inode_of(self.path) == self._seen != (0, 0):
                kept = moved_aside(self.path, "aside")
                self.notes.append(
                    f"the index was {why}: moved to {kept.name} and built anew"
                )

    def damage(self) -> str:
        """What is wrong with the file, "" where it is sound: the database with its
        indexes, every value as text, and each chunk by its seal.

        It is asked when something that nobody expected has happened: it takes as long
        as the index is large."""
        select = "SELECT title, text, metadata, seal FROM chunks"
        try:
            for name in ("file_meta", "chunks", "relations", "anchored", "anchors"):
                self.db.execute(f"SELECT * FROM {name}").fetchall()
            broken = (
                1 for *row, seal in self.db.execute(select) if sealed(*row) != seal
            )
            return fault(self.db, whole=True) or (FORGED if any(broken) else "")
        except (sqlite3.Error, TypeError, ValueError) as error:
            return str(error)

    def repair(self, error: Exception) -> None:
        """Move a file that turned out damaged aside and start over."""
        with contextlib.suppress(sqlite3.Error):
            self.db.close()
        self._aside(f"damaged ({error})")
        self.db = self._open()
        self.entries = Entries(self.db)

    def files(
        self, where: str = "ORDER BY path", *values: object
    ) -> dict[str, FileRow]:
        """Every indexed file by its path, or those `where` something holds."""
        by_path = dict[str, FileRow]()
        none = tuple[Problem, ...]()
        select = "SELECT path, id, place, mtime, size, hash, entries, problems FROM file_meta"
        for path, number, placed, *state, problems in self.db.execute(
            f"{select} {where}", values
        ):
            try:
                file_problems = none
                if problems != "[]":
                    file_problems = tuple(
                        _problem(path, kept) for kept in json.loads(problems)
                    )
                row = (number, path, *_placed(placed), *state, file_problems)
            except (TypeError, ValueError, RecursionError):
                raise sqlite3.DatabaseError(FORGED) from None
            by_path[path] = tuple.__new__(FileRow, row)  # there may be thousands
        return by_path

    def file(self, number: int) -> FileRow | None:
        """The indexed file of a number."""
        return next(iter(self.files("WHERE id = ?", number).values()), None)

    @property
    def problems(self) -> list[Problem]:
        """What was found wrong with the files, by path."""
        flawed = self.files("WHERE problems != '[]' ORDER BY path").values()
        return [problem for row in flawed for problem in row.problems]

    def everywhere(self) -> IndexedFiles:
        """The files of all places."""
        select = "SELECT place, count(*), sum(entries) FROM file_meta GROUP BY place"
        try:
            places = [
                Placed(text=text, place=_placed(text)[0], files=files, entries=entries)
                for text, files, entries in self.db.execute(select)
            ]
        except (TypeError, ValueError, RecursionError):
            raise sqlite3.DatabaseError(FORGED) from None
        return IndexedFiles(self.db, self.file, places, places)

    def in_view(self, view: View, filters: Filters) -> IndexedFiles:
        """The files of the places in view of a working directory that pass the
        filters."""
        places = self.everywhere().shown
        return IndexedFiles(self.db, self.file, places, visible(places, view, filters))

    def stale(self, files: Files) -> tuple[list[FoundFile], list[str]]:
        """Files that look changed (by mtime, size or place), and indexed ones that are
        gone."""
        if self.is_noted(files):
            return [], []
        current = [
            (
                listed.name,
                listed.mtime,
                listed.size,
                place_text(listed.place, listed.tree),
            )
            for listed in files
        ]
        known = set(self.db.execute("SELECT path, mtime, size, place FROM file_meta"))
        changed = {name for name, *_ in set(current) - known}
        gone = set(first_column(known)) - set(first_column(current))
        return [file for file in files if file.name in changed], sorted(gone)

    def is_noted(self, files: Files) -> bool:
        """Whether the files are still all as they were when the index was noted to be
        as they."""
        select = "SELECT value FROM meta WHERE key = 'listing'"
        return bool(self.db.execute(select).fetchone() == (files.seen,))

    def note_listing(self, files: Files) -> None:
        """Remember, in the running transaction, that the index is as these files are,
        if it is."""
        self.db.execute("DELETE FROM meta WHERE key = 'listing'")
        if not any(self.stale(files)):
            self.db.execute("INSERT INTO meta VALUES ('listing', ?)", (files.seen,))

    def empty(self) -> bool:
        """Whether nothing has been indexed yet."""
        return self.db.execute("SELECT 1 FROM file_meta LIMIT 1").fetchone() is None


def _judged(path: Path, db: sqlite3.Connection, known: DatabaseIdentity) -> str:
    """Why this is no index that can be used, "" when it is one; made where there was
    nothing."""
    why = _fault(known)
    if not why and not known.names:
        _create(db)
    elif not why and is_altered(db, path):
        why = ALTERED
    return why


def _unusable(db: sqlite3.Connection, path: Path) -> str:
    """Why an index that is not to be changed cannot be read, "" where it can."""
    known = identity(db)
    if why := _fault(known):
        return why
    if not known.names:
        return "empty"
    return ALTERED if is_altered(db, path) else ""


def _fault(known: DatabaseIdentity) -> str:
    application, version, tables = known
    if not (application or version or tables):
        return ""
    if (application, version) != (APPLICATION, SCHEMA_VERSION):
        return (
            "of another version"
            if application == APPLICATION
            else "not an index of mem"
        )
    if tables & FOREIGN:
        return "made by somebody else (it has a view or a trigger)"
    return "" if tables >= TABLES else "damaged (a table is missing)"


def _create(db: sqlite3.Connection) -> None:
    # A file system without shared memory.
    with contextlib.suppress(sqlite3.OperationalError):
        db.execute("PRAGMA journal_mode = WAL")
    with changing(db):
        if number_of(db, "PRAGMA user_version"):
            return
        for statement in filter(str.strip, table("index/schema.sql").split(";\n")):
            db.execute(statement)
        token = os.urandom(16).hex()
        with contextlib.suppress(OSError):  # the next run then makes an index elsewhere
            (private_dir(state_dir() / "indexes") / token).touch(mode=0o600)
        db.execute("INSERT INTO meta VALUES ('token', ?)", (token,))
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def is_foreign(path: Path) -> bool:
    """Whether a file is an index of this version that another user or machine has
    made."""
    if not path.is_file():
        return False
    select = "SELECT value FROM meta WHERE key = 'token'"
    with (
        contextlib.suppress(DataError),
        opened(path, ("meta",), kind="index", hint=_HINT) as db,
    ):
        if number_of(db, "PRAGMA user_version") == SCHEMA_VERSION:
            token = str((db.execute(select).fetchone() or [""])[0])
            known = re.fullmatch("[0-9a-f]{32}", token)
            return not known or not (state_dir() / "indexes" / token).exists()
    return False


def bought(path: Path) -> list[tuple[object, ...]]:
    """The vectors that a foreign index holds, as rows of `embedding_cache`. Raises
    DataError."""
    with opened(path, ("embedding_cache",), kind="index", hint=_HINT) as db:
        rows = all_rows(
            db, "SELECT hash, provider, model, vector FROM embedding_cache", path
        )
    kinds = [str, str, str, bytes]
    return [row for row in rows if [*map(type, row)] == kinds and len(row[3]) % 4 == 0]


@lru_cache(maxsize=1024)
def place_text(place: Place, tree: str) -> str:
    """The place of a file as the index keeps it."""
    return json.dumps([*place, tree], ensure_ascii=False)


def _problem(path: str, kept: Iterable[Any]) -> Problem:
    """A problem as the index keeps it; raises ValueError or TypeError where somebody
    forged it."""
    line, message, severity = kept
    if type(line) is not int or type(message) is not str:
        raise ValueError
    return Problem(path=path, line=line, message=message, severity=severity)


@lru_cache(maxsize=1024)
def _placed(text: str) -> tuple[Place, str]:
    *where, work_tree = json.loads(text)
    return Place(*where), work_tree
