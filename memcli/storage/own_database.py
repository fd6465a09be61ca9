"""Open a database of mem: a private regular file with the expected identity."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memcli.named import NamedTuple
from memcli.storage.files import make_private, odd_companion, snapshot

_UNREADABLE = 1
"""SQLITE_ERROR, which says at an opening that a file is of no format it knows; what
passes, a lock or a full disk, has numbers of its own."""
_NAMES = "SELECT iif(type IN ('table', 'index'), name, '<' || type || '>') FROM sqlite_master"


class DatabaseIdentity(NamedTuple):
    """Application id and version of a database, and the names of its tables and
    indexes."""

    application: int
    version: int
    names: frozenset[str]


def identity(db: sqlite3.Connection) -> DatabaseIdentity:
    """Read the identity of a database in one snapshot."""
    with snapshot(db):
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        names = frozenset(row[0] for row in db.execute(_NAMES))
    return DatabaseIdentity(application=application, version=version, names=names)


Judge = Callable[[sqlite3.Connection, DatabaseIdentity], str]
"""Why a database cannot be used, "" if it can; may create missing tables."""


class OwnFile(NamedTuple):
    """The result of opening a file: device and inode, the connection, and why there is
    none."""

    inode: tuple[int, int]
    db: sqlite3.Connection | None = None
    why: str = ""


def inode_of(path: Path) -> tuple[int, int]:
    """Device and inode of a path, zeros if it does not exist."""
    with suppress(OSError):
        status = os.lstat(path)
        return status.st_dev, status.st_ino
    return 0, 0


def open_own(path: Path, judge: Judge) -> OwnFile:
    """Connect to a database that only its owner may read, and create it if missing.
    Raises OperationalError for temporary failures."""
    with suppress(FileExistsError):
        make_private(path)
    inode = inode_of(path)
    if name := odd_companion(path):
        return OwnFile(inode, why=f"beside {name}, which is not a regular file")
    if not (os.path.isfile(path) or os.path.islink(path)):
        return OwnFile(inode, why="no regular file")
    db = sqlite3.connect(path, timeout=10, isolation_level=None)
    try:
        db.execute("PRAGMA trusted_schema = 0")  # a repository may bring the file
        db.execute("PRAGMA synchronous = NORMAL")  # a lost commit costs only a refresh
        why = judge(db, identity(db))
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) != _UNREADABLE:
            db.close()
            raise
        why = f"damaged ({error})"
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        why = f"damaged ({error})"
    if why:
        db.close()
        return OwnFile(inode, why=why)
    return OwnFile(inode, db)
