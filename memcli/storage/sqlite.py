"""Read other programs' databases within limits, and cache the owners of session
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
    """Open a database of `kind`, which must have these tables. Raises DataError, also
    for any failure of a damaged or hostile one inside the `with`."""
    try:
        with closing(_connected(path)) as database:
            # Not a view: the file size does not limit what a view reads.
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
    """The rows of a query over one table; DataError for more rows than the file can
    contain."""
    most_rows = os.path.getsize(path) // BYTES_PER_ROW
    rows = database.execute(
        f"{query} LIMIT ?", (most_rows + 1,)
    ).fetchall()  # no more is sorted, either
    if len(rows) > most_rows:
        message = f"{path}: cannot be read: more rows than its size allows"
        raise DataError(message, "name an undamaged copy")
    return rows


def fault(database: Database, *, whole: bool = False) -> str:
    """What SQLite finds wrong with a database, or ""; `whole` also checks its indexes
    against its tables."""
    check = "integrity_check" if whole else "quick_check"
    verdict = str(database.execute(f"PRAGMA {check}(1)").fetchone()[0])
    return "" if verdict == "ok" else " ".join(verdict.split())


def _connected(path: Path) -> Database:
    """A read-only connection; without its log if the folder allows no shared memory
    file."""
    if name := odd_companion(path):
        raise sqlite3.DatabaseError(f"{name} is not a regular file")
    uri = path.absolute().as_uri()
    database = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=_BUSY)
    try:
        database.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.OperationalError:
        database.close()
        return sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True, timeout=_BUSY)
    return database


def _bound(database: Database, path: Path) -> None:
    """Limit queries and values, and tolerate invalid UTF-8."""
    database.text_factory = lambda data: data.decode("utf-8", "replace")
    database.execute("PRAGMA trusted_schema = OFF")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    steps_left = (MOST_STEPS + STEPS_PER_BYTE * os.path.getsize(path)) // _STRIDE

    def too_long() -> bool:
        nonlocal steps_left
        steps_left -= 1
        return steps_left < 0

    database.set_progress_handler(too_long, _STRIDE)


_TABLE = (
    "CREATE TABLE IF NOT EXISTS owners (path TEXT PRIMARY KEY, size INTEGER NOT NULL,"
    " mtime INTEGER NOT NULL, session TEXT NOT NULL, cwd TEXT NOT NULL, parent TEXT NOT NULL)"
    " WITHOUT ROWID"
)


class Owner(NamedTuple):
    """The owner of a session file: the session, its working folder, and its parent
    session."""

    session: str
    cwd: str
    parent: str = ""


Known = dict[
    str, tuple[int, int, Owner]
]  # size and mtime of a file when its owner was determined


class Owners:
    """The known owners of files, and new ones to store."""

    def __init__(self) -> None:
        self.known: Known = {}
        self.new: Known = {}

    def of(self, path: Path, size: int, mtime: int) -> Owner | None:
        """The owner of a file that is unchanged or has grown, since its first records,
        which name the owner, are then the same."""
        before, then, owner = self.known.get(str(path), (size + 1, 0, None))
        return None if size < before or (size == before and mtime != then) else owner

    def remember(self, path: Path, size: int, mtime: int, owner: Owner) -> None:
        """Store an owner once it is known; an empty file may still be written to."""
        if size:
            self.new[str(path)] = (size, mtime, owner)


@contextmanager
def remembered(folder: Path) -> Iterator[Owners]:
    """The known owners; new ones are stored at the end, if the file is usable."""
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
