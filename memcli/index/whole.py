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
    open_file,
    read_text,
    snapshot,
    state_dir,
    transaction,
)

ALTERED = "damaged (something else has changed it)"
LARGEST = 2 << 20
"""Bytes of a file that is checked whole: about 1 ms, a hundredth of a recall. What is
read of a larger one is checked by the seals of its chunks alone."""
_STAMP = "INSERT OR REPLACE INTO meta VALUES ('stamp', hex(randomblob(8)))"


@contextmanager
def changing(database: sqlite3.Connection) -> Iterator[None]:
    """A transaction on the index, which leaves another stamp."""
    with transaction(database):
        yield
        database.execute(_STAMP)


def note(database: sqlite3.Connection, path: Path) -> None:
    """Remember the file as it is now, unless others are at work on it."""
    from memcli.storage.durable import write_output  # a search writes nothing

    with suppress(OSError, MemError, sqlite3.Error):
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with snapshot(database):
            stamp, record = _stamped(database)
            now = _checksum(path)
            # A record is of an index that this user has made, and of no other.
            if now and record.is_file():
                text = f"{stamp} {now} {os.path.realpath(path)}"
                write_output(record, text, mode=0o600)


def is_altered(database: sqlite3.Connection, path: Path) -> bool:
    """Whether something else than `mem` has changed the file."""
    with suppress(OSError, Unreadable), snapshot(database):
        stamp, record = _stamped(database)
        known_stamp, _, known = read_text(record).partition(" ")
        checksum, _, place = known.partition(" ")
        if (known_stamp, place) != (stamp, os.path.realpath(path)):
            return False
        # While the transaction lasts, nobody moves what is written into the file.
        return _checksum(path) not in ("", checksum)
    return False


def _stamped(database: sqlite3.Connection) -> tuple[str, Path]:
    """The stamp of the index, and the file where its checksum is kept."""
    rows = "SELECT key, value FROM meta WHERE key IN ('stamp', 'token')"
    values = dict(database.execute(rows).fetchall())
    token = values.get("token")
    name = token if isinstance(token, str) and token.isalnum() else "none"
    return str(values.get("stamp")), state_dir() / "indexes" / name


def _checksum(path: Path) -> str:
    """The checksum of a file, "" of a large one and where a part of it stands in its
    log."""
    with suppress(FileNotFoundError):
        if os.path.getsize(f"{path}-wal"):
            return ""
    if os.path.getsize(path) > LARGEST:
        return ""
    with open_file(path) as file:
        return f"{zlib.crc32(file.read(LARGEST + 1)):08x}"
