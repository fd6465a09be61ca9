"""The index, `.memory.db`, derived from the memory files: opened, made, repaired; its files."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memcli.errors import RefusedError
from memcli.index.filters import FORGED, Entries
from memcli.index.source import FileRow
from memcli.memory.levels import Place
from memcli.memory.values import Problem
from memcli.project.levels_on_disk import FoundFile

if TYPE_CHECKING:
    from memcli.index.lexical import Lexical
    from memcli.index.vectors import Vectors

SCHEMA_VERSION = 6
IN_MEMORY = Path(":memory:")
APPLICATION = 0x6D656D31  # "mem1": tells our file from a foreign one
TABLES = frozenset(
    "file_meta chunks chunks_fts chunks_fts_data chunks_fts_idx chunks_fts_docsize chunks_fts_config"
    " embedding_cache vectors signs words occasions relations meta".split()
)
FOREIGN = frozenset(["<view>", "<trigger>"])
"""What would run when the index is read or written, and no index of mem has."""


class Refreshed(NamedTuple):
    """What a refresh did. `busy` says that another process is writing and nothing was done."""

    read: int = 0
    changed: int = 0
    removed: int = 0
    busy: bool = False


class Unusable(Exception):
    """A file that is no index of this version; says why."""


class Index:
    """An open index. `notes` collects what the user should be told once.

    One that cannot be used is moved aside and made anew; with `look` nothing is changed or made and
    `Unusable` is raised. `IN_MEMORY` as the path makes one that lives as long as the process.
    """

    def __init__(self, path: Path, notes: list[str], *, look: bool = False) -> None:
        self.path = path
        self.notes = notes
        self._seen = (0, 0)
        self.db = self._look() if look else self._open()

    def close(self) -> None:
        self.db.close()

    engine = sqlite3.sqlite_version
    """The version of SQLite."""

    @property
    def entries(self) -> Entries:
        """Its entries."""
        return Entries(self.db)

    @property
    def words(self) -> Lexical:
        """Its full text."""
        from memcli.index.lexical import Lexical

        return Lexical(self.db)

    @property
    def vectors(self) -> Vectors:
        """Its vectors."""
        from memcli.index.vectors import Vectors

        return Vectors(self.db)

    # --- opening

    def _look(self) -> sqlite3.Connection:
        from urllib.parse import quote

        if not self.path.is_file():
            raise Unusable("no regular file")
        address = f"file:{quote(os.fsencode(os.path.abspath(self.path)))}?mode=rw"
        db = sqlite3.connect(address, timeout=1, isolation_level=None, uri=True)
        try:
            db.execute("PRAGMA query_only = 1")
            db.execute("PRAGMA trusted_schema = 0")
            why = self._fault(db) or ("empty" if not self._snapshot(db)[2] else "")
        except BaseException:
            db.close()
            raise
        if why:
            db.close()
            raise Unusable(why)
        return db

    def _open(self) -> sqlite3.Connection:
        why = self._odd()
        for _ in range(3):  # another process may be mending it at the same time
            if why:
                self._aside(why)
            db = self._connect()
            why = self._made(db)
            if not why:
                return db
            db.close()
        raise RefusedError(f"the index cannot be opened: {why} ({self.path})", "mem doctor")

    def _odd(self) -> str:
        """What keeps SQLite from opening the path at all, "" for nothing."""
        try:
            status = os.lstat(self.path)
        except OSError:
            return ""
        self._seen = (status.st_dev, status.st_ino)
        usual = stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)
        return "" if usual else "no regular file"

    def _connect(self) -> sqlite3.Connection:
        if self.path == IN_MEMORY:
            return sqlite3.connect(IN_MEMORY, isolation_level=None)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with contextlib.suppress(OSError):
            self._seen = _inode(self.path)
        db = sqlite3.connect(self.path, timeout=10, isolation_level=None)
        with contextlib.suppress(sqlite3.Error):  # a file that is no database is found out later
            db.execute("PRAGMA trusted_schema = 0")  # a repository may bring the file
            db.execute("PRAGMA synchronous = NORMAL")  # a lost commit costs only a refresh
        return db

    def _made(self, db: sqlite3.Connection) -> str:
        """Why the file cannot be used, "" when it can; an empty one is made into an index."""
        try:
            why = self._fault(db)
            if not why and not self._snapshot(db)[2]:
                self._create(db)
        except sqlite3.OperationalError:
            db.close()
            raise
        except sqlite3.DatabaseError as error:
            why = f"damaged ({error})"
        return why

    def _fault(self, db: sqlite3.Connection) -> str:
        application, version, tables = self._snapshot(db)
        if not (application or version or tables):
            return ""
        if (application, version) == (APPLICATION, SCHEMA_VERSION):
            if tables & FOREIGN:
                return "made by somebody else (it has a view or a trigger)"
            return "" if tables >= TABLES else "damaged (a table is missing)"
        return "of another version" if application == APPLICATION else "not an index of mem"

    @staticmethod
    def _snapshot(db: sqlite3.Connection) -> tuple[int, int, set[str]]:
        """Application, version and the names of what there is: as of one moment."""
        db.execute("BEGIN")
        application, version = (
            int(db.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("application_id", "user_version")
        )
        names = (
            "SELECT iif(type IN ('table', 'index'), name, '<' || type || '>') FROM sqlite_master"
        )
        tables = {row[0] for row in db.execute(names)}
        db.execute("COMMIT")
        return application, version, tables

    def _create(self, db: sqlite3.Connection) -> None:
        with contextlib.suppress(sqlite3.OperationalError):  # a file system without shared memory
            db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        if not db.execute("PRAGMA user_version").fetchone()[0]:
            for statement in _statements():
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("COMMIT")

    def _aside(self, why: str) -> None:
        """Keep a file that is not ours to read, and say so; the index is built anew.

        Nothing is done when another process has put a new one there meanwhile.
        """
        try:
            if _inode(self.path) != self._seen:
                return
        except FileNotFoundError:
            return
        kept = self.path.with_name(f"{self.path.name}.aside-{time.time_ns()}")
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{self.path}{suffix}", f"{kept}{suffix}")
        self.notes.append(f"the index was {why}: moved to {kept.name} and built anew")

    def repair(self, error: sqlite3.DatabaseError) -> None:
        """Move a file that turned out damaged aside and start over."""
        with contextlib.suppress(sqlite3.Error):
            self.db.close()
        self._aside(f"damaged ({error})")
        self.db = self._open()

    def integrity(self) -> str:
        """What SQLite finds wrong with the file, "" when nothing."""
        found = str(self.db.execute("PRAGMA quick_check(1)").fetchone()[0])
        return "" if found == "ok" else " ".join(found.split())

    # --- files

    def files(self) -> dict[str, FileRow]:
        """Every indexed file by its path."""
        found = {}
        for row in self.db.execute(
            "SELECT id, path, place, mtime, size, hash, entries, problems FROM file_meta ORDER BY path"
        ):
            try:
                place, work_tree = _placed(row[2])
                problems = _problems(row[1], row[7]) if row[7] != "[]" else ()
            except (TypeError, ValueError, RecursionError):
                raise sqlite3.DatabaseError(FORGED) from None
            found[row[1]] = FileRow(
                row[0], row[1], place, work_tree, row[3], row[4], row[5], row[6], problems
            )
        return found

    def stale(self, found: Sequence[FoundFile]) -> tuple[list[FoundFile], list[str]]:
        """Files that look changed (by mtime, size or place), and indexed ones that are gone."""
        known = {
            row[0]: row[1:]
            for row in self.db.execute("SELECT path, mtime, size, place FROM file_meta")
        }
        changed = []
        for file in found:
            row = known.pop(file.name, None)
            if (
                row is None
                or row[0] != file.mtime
                or row[1] != file.size
                or row[2] != place_text(file)
            ):
                changed.append(file)
        return changed, list(known)

    def empty(self) -> bool:
        """Whether nothing has been indexed yet."""
        return self.db.execute("SELECT 1 FROM file_meta LIMIT 1").fetchone() is None


def _inode(path: Path) -> tuple[int, int]:
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def place_text(file: FoundFile) -> str:
    """The place of a file as the index keeps it."""
    return _place_text(file.place, file.tree)


@lru_cache(maxsize=1024)  # thousands of files stand in a few places
def _place_text(place: Place, work_tree: str) -> str:
    return json.dumps([*place, work_tree], ensure_ascii=False)


def _problems(path: str, text: str) -> tuple[Problem, ...]:
    """The problems of a file as they were written. Raises TypeError, ValueError."""
    found = tuple(Problem(path, *item) for item in json.loads(text))
    if any((type(line), type(message)) != (int, str) for _, line, message, _ in found):
        raise ValueError(FORGED)
    return found


@lru_cache(maxsize=1024)
def _placed(text: str) -> tuple[Place, str]:
    *where, work_tree = json.loads(text)
    return Place(*where), work_tree


def _statements() -> list[str]:
    text = (Path(__file__).parent / "schema.sql").read_text(encoding="utf-8")
    return [part for part in text.split(";\n") if part.strip()]
