"""The file of the index as a whole: what was written to it last is what is read now.

Each change of an index carries a new stamp. The state folder keeps the checksum of the
file together with the stamp that it holds for. A file with that stamp and another
checksum was changed by something else: a disk, a copy, a program that writes into what
is not its own. A large file is read again when the file system says that it was
touched, or a day has passed."""

import os
import sqlite3
import time
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
SMALL = 2 << 20
"""Bytes of a file that is checked at each start: 2 ms, a fiftieth of a recall."""
LARGEST = 16 << 20
"""Bytes of a file that is checked whole. What is read of a larger one is checked by
the seals of its chunks alone."""
_DAY = 86_400
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
                text = f"{stamp} {checksum} {_seen(path)} {os.path.realpath(path)}"
                write_output(record, text, mode=0o600)


def is_altered(database: sqlite3.Connection, path: Path) -> bool:
    """Whether something else than `mem` has changed the file."""
    with suppress(OSError, Unreadable), snapshot(database):
        stamp, record = _stamped(database)
        known = read_text(record).split(" ", 3)
        if [known[0], *known[3:]] != [stamp, os.path.realpath(path)]:
            return False
        is_large = _size(database) > SMALL
        is_fresh = time.time() - record.stat().st_mtime < _DAY
        if is_large and is_fresh and known[2] == _seen(path):
            return False
        altered = _checksum(database) not in ("", known[1])
        if is_large and not altered:
            _note_seen(record, known, path)
        return altered
    return False


def _note_seen(record: Path, known: list[str], path: Path) -> None:
    """Remember that the file was sound as it is now."""
    from memcli.storage.durable import write_output  # few files are another

    now = _seen(path)
    if known[2] != now:
        with suppress(MemError):
            text = " ".join([*known[:2], now, known[3]])
            write_output(record, text, mode=0o600)
    else:
        os.utime(record)


def _seen(path: Path) -> str:
    """The state of a file as the file system has it."""
    found = os.stat(path)
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}"


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
    if _size(database) > LARGEST or not hasattr(database, "serialize"):
        return ""
    return f"{zlib.crc32(database.serialize()):08x}"


def _size(database: sqlite3.Connection) -> int:
    """The bytes of all pages."""
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    (page_size,) = database.execute("PRAGMA page_size").fetchone()
    return int(pages) * int(page_size)
