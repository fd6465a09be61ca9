"""Databases of other programs, read within bounds."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from memcli.errors import DataError

MOST_STEPS = 2_000_000  # instructions of SQLite that reading one database may take
STEPS_PER_BYTE = 50  # and so many more for each byte of it
BYTES_PER_ROW = 4  # the least that a row takes in a file
LONGEST = 50_000_000  # bytes of the longest value or row that is read
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
_BUSY = 2.0
_STRIDE = 100_000

Database = sqlite3.Connection


@contextmanager
def opened(path: Path, tables: Sequence[str], *, kind: str, hint: str) -> Iterator[Database]:
    """The database, which must have these tables to be one of `kind`.

    Raises DataError, also for whatever a damaged or a hostile one does inside of the `with`.
    """
    try:
        with closing(_connected(path)) as db:
            # Not a view: what a view reads has no end that the size of the file sets.
            known = {row[0] for row in db.execute(_TABLES)}
            if lacking := ", ".join(name for name in tables if name not in known):
                raise DataError(f"{path}: no {kind} database: has no table of {lacking}", hint)
            _bound(db, path)
            yield db
    except sqlite3.Error as error:
        why = "reading it takes too long" if "interrupted" in str(error) else str(error)
        ways = f"close what writes to it, or {hint}"
        raise DataError(f"{path}: cannot be read: {why}", ways) from None


def all_rows(db: Database, query: str, path: Path) -> list[tuple[Any, ...]]:
    """What a query over one table finds; DataError for more rows than such a file can hold."""
    most = os.path.getsize(path) // BYTES_PER_ROW
    found = db.execute(f"{query} LIMIT ?", (most + 1,)).fetchall()  # no more is sorted, either
    if len(found) > most:
        what = f"{path}: cannot be read: more rows than its size allows"
        raise DataError(what, "name a copy that is sound")
    return found


def _connected(path: Path) -> Database:
    """A read-only connection; without its log where the folder allows no shared memory file."""
    uri = path.absolute().as_uri()
    db = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=_BUSY)
    try:
        db.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.OperationalError:
        db.close()
        return sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True, timeout=_BUSY)
    return db


def _bound(db: Database, path: Path) -> None:
    """Let no query go on for ever, no value fill the memory, no bad UTF-8 stop the reading."""
    db.text_factory = lambda data: data.decode("utf-8", "replace")
    db.execute("PRAGMA trusted_schema = OFF")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    left = (MOST_STEPS + STEPS_PER_BYTE * os.path.getsize(path)) // _STRIDE

    def too_long() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    db.set_progress_handler(too_long, _STRIDE)
