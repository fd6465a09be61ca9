"""The file of the index as a whole: what was written to it last is what is read now.

Each change of an index carries a new stamp. The state folder keeps the checksum of the
file together with the stamp that it holds for. A file with that stamp and another
checksum was changed by something else: a disk, a copy, a program that writes into what
is not its own."""

import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memcli.errors import MemError
from memcli.storage.files import (
    Unreadable,
    read_text,
    snapshot,
    state_dir,
    transaction,
)

ALTERED = "damaged (something else has changed it)"
LARGEST = 2 << 20
"""Bytes of a file that is checked whole: 2 ms, a fiftieth of a recall. What is
read of a larger one is checked by the seals of its chunks alone."""
_STAMP = "INSERT OR REPLACE INTO meta VALUES ('stamp', hex(randomblob(8)))"


@contextmanager
def changing(database: sqlite3.Connection) -> Iterator[None]:
    """A transaction on the index, which leaves another stamp."""
    with transaction(database):
        yield
        database.execute(_STAMP)


def note(database: sqlite3.Connection, path: Path) -> None:
    """Remember the index as it is now."""
    from memcli.storage.durable import write_output  # a search writes nothing

    with suppress(OSError, MemError, sqlite3.Error):
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with snapshot(database):
            stamp, record = _stamped(database)
            checksum = _checksum(database)
            # A record is of an index that this user has made, and of no other.
            if checksum and record.is_file():
                text = f"{stamp} {checksum} {os.path.realpath(path)}"
                write_output(record, text, mode=0o600)


def is_altered(database: sqlite3.Connection, path: Path) -> bool:
    """Whether something else than `mem` has changed the file."""
    with suppress(OSError, Unreadable), snapshot(database):
        stamp, record = _stamped(database)
        known_stamp, _, known = read_text(record).partition(" ")
        known_checksum, _, place = known.partition(" ")
        if (known_stamp, place) == (stamp, os.path.realpath(path)):
            return _checksum(database) not in ("", known_checksum)
    return False


def _stamped(database: sqlite3.Connection) -> tuple[str, Path]:
    """The stamp of the index, and the file where its checksum is kept."""
    rows = "SELECT key, value FROM meta WHERE key IN ('stamp', 'token')"
    values = dict(database.execute(rows).fetchall())
    token = values.get("token")
    name = token if isinstance(token, str) and token.isalnum() else "none"
    return str(values.get("stamp")), state_dir() / "indexes" / name


def _checksum(database: sqlite3.Connection) -> str:
    """The checksum of all pages, "" of a large file.

    SQLite reads them. A file that is opened beside it must not be closed before the
    connection: whoever closes any descriptor of a file gives up all locks that the
    process has on it, and another process then throws a log away that is in use."""
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    (page_size,) = database.execute("PRAGMA page_size").fetchone()
    if pages * page_size > LARGEST or not hasattr(database, "serialize"):
        return ""
    return f"{zlib.crc32(database.serialize()):08x}"
