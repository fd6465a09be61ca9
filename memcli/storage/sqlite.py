"""Databases of other programs, read within bounds, and what is known of their session
files."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from memcli.errors import DataError
from memcli.named import NamedTuple
from memcli.storage.files import make_private, odd_companion, private_dir, transaction

MOST_STEPS = 2_000_000  # instructions of SQLite that reading one database may take
STEPS_PER_BYTE = 50  # and so many more for each byte of it
BYTES_PER_ROW = 4  # the least that a row takes in a file
LONGEST = 50_000_000  # bytes of the longest value or row that is read
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
_BUSY = 2.0
_STRIDE = 100_000

Database = sqlite3.Connection


@contextmanager
def opened(
    path: Path, tables: Sequence[str], *, kind: str, hint: str
) -> Iterator[Database]:
    """The database, which must have these tables to be one of `kind`.

    Raises DataError, also for whatever a damaged or a hostile one does inside of the
    `with`."""
    try:
        with closing(_connected(path)) as database:
            # Not a view: what a view reads has no end that the size of the file sets.
            known = {row[0] for row in database.execute(_TABLES)}
            if lacking := ", ".join(name for name in tables if name not in known):
                raise DataError(
                    f"{path}: no {kind} database: has no table of {lacking}", hint
                )
            _bound(database, path)
            yield database
    except (sqlite3.Error, UnicodeDecodeError) as error:
        reason = (
            "reading it takes too long" if "interrupted" in str(error) else str(error)
        )
        ways = f"close what writes to it, or {hint}"
        raise DataError(f"{path}: cannot be read: {reason}", ways) from None


def all_rows(database: Database, query: str, path: Path) -> list[tuple[Any, ...]]:
    """What a query over one table finds; DataError for more rows than such a file can
    hold."""
    most = os.path.getsize(path) // BYTES_PER_ROW
    rows = database.execute(
        f"{query} LIMIT ?", (most + 1,)
    ).fetchall()  # no more is sorted, either
    if len(rows) > most:
        what = f"{path}: cannot be read: more rows than its size allows"
        raise DataError(what, "name a copy that is sound")
    return rows


def fault(database: Database, *, whole: bool = False) -> str:
    """What SQLite finds wrong with a database, "" when nothing; with `whole`, that its
    indexes say what its tables do is checked, too."""
    check = "integrity_check" if whole else "quick_check"
    verdict = str(database.execute(f"PRAGMA {check}(1)").fetchone()[0])
    return "" if verdict == "ok" else " ".join(verdict.split())


def _connected(path: Path) -> Database:
    """A read-only connection; without its log where the folder allows no shared memory
    file."""
    if name := odd_companion(path):
        raise sqlite3.DatabaseError(f"{name} is no regular file")
    uri = path.absolute().as_uri()
    database = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=_BUSY)
    try:
        database.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.OperationalError:
        database.close()
        return sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True, timeout=_BUSY)
    return database


def _bound(database: Database, path: Path) -> None:
    """Let no query go on for ever, no value fill the memory, no bad UTF-8 stop the
    reading."""
    database.text_factory = lambda data: data.decode("utf-8", "replace")
    database.execute("PRAGMA trusted_schema = OFF")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    left = (MOST_STEPS + STEPS_PER_BYTE * os.path.getsize(path)) // _STRIDE

    def too_long() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    database.set_progress_handler(too_long, _STRIDE)


_TABLE = (
    "CREATE TABLE IF NOT EXISTS owners (path TEXT PRIMARY KEY, size INTEGER NOT NULL,"
    " mtime INTEGER NOT NULL, session TEXT NOT NULL, cwd TEXT NOT NULL, parent TEXT NOT NULL)"
    " WITHOUT ROWID"
)


class Owner(NamedTuple):
    """Of a session file: the session, the folder it was held in, and the session it
    belongs to."""

    session: str
    cwd: str
    parent: str = ""


Known = dict[
    str, tuple[int, int, Owner]
]  # size and mtime of a file when its owner was found out


class Owners:
    """What is known of files, and what is to be remembered of them."""

    def __init__(self) -> None:
        self.known: Known = {}
        self.new: Known = {}

    def of(self, path: Path, size: int, mtime: int) -> Owner | None:
        """The owner of a file that is unchanged or has grown; its first records,
        which name the owner, are still the same."""
        before, then, owner = self.known.get(str(path), (size + 1, 0, None))
        return None if size < before or (size == before and mtime != then) else owner

    def remember(self, path: Path, size: int, mtime: int, owner: Owner) -> None:
        """Keep an owner once it is known whose the file is; an empty file may still
        be written to."""
        if size:
            self.new[str(path)] = (size, mtime, owner)


@contextmanager
def remembered(folder: Path) -> Iterator[Owners]:
    """The owners that are known; new ones are kept at the end. Without a usable file,
    none are."""
    path = folder / "sessions.db"
    owners = Owners()
    with suppress(sqlite3.Error):
        if path.exists():
            with closing(sqlite3.connect(path, timeout=1)) as database:
                for name, size, time, *owner in database.execute(
                    "SELECT * FROM owners"
                ):
                    owners.known[name] = size, time, Owner(*owner)
    yield owners
    with suppress(OSError, sqlite3.Error):
        if owners.new:
            private_dir(folder)
            make_private(path)
            with closing(
                sqlite3.connect(path, timeout=1, isolation_level=None)
            ) as database:
                database.execute(_TABLE)
                remaining = [
                    (name, size, time, *owner)
                    for name, (size, time, owner) in owners.new.items()
                ]
                with transaction(database):
                    database.executemany(
                        "INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?, ?, ?)",
                        remaining,
                    )
