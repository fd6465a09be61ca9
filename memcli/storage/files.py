"""Operating system differences, safe reading and writing of files, and transactions.
Only Linux is tested."""

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from memcli.errors import RefusedError
from memcli.named import NamedTuple
from memcli.user_folders import folder_of, moved_to

if TYPE_CHECKING:
    import sqlite3

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

BARE_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
"""The PATH of a client started from the desktop."""
if sys.platform != "darwin":
    BARE_PATH = "/usr/local/bin:/usr/bin:/bin"
DETACHED: dict[str, Any] = {
    "start_new_session": True
}  # it outlives the process that starts it
if sys.platform == "win32":
    DETACHED = {"creationflags": 0x00000208}


def try_lock(file: int) -> bool:
    """Try to lock an open file for this process, without waiting; return whether that
    worked."""
    try:
        if sys.platform == "win32":
            # Lock a byte far behind the text, since locked bytes cannot be read.
            os.lseek(file, 1 << 30, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def is_gone(pid: int) -> bool:
    """Whether a process has certainly ended."""
    try:
        if sys.platform != "win32":  # on Windows, signal 0 is Ctrl-C
            os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False


def kill_group(pid: int) -> None:
    """Kill a process and its group; on Windows, only the process."""
    import signal  # few processes end another

    if sys.platform == "win32":
        os.kill(pid, signal.SIGTERM)
    else:
        os.killpg(pid, signal.SIGKILL)


def has_screen() -> bool:
    """Whether there is a display for a browser."""
    named = map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    return sys.platform in ("darwin", "win32") or any(named)


def sync(folder: str | Path) -> None:
    """Make renames in a folder durable, as far as the file system can."""
    if sys.platform == "win32":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)


def is_mine(*statuses: os.stat_result, alone: bool = False) -> bool:
    """Whether files belong to this user, or under sudo to the caller; `alone`: nobody
    else may write to them."""
    if sys.platform == "win32":
        return True
    me = os.geteuid()
    sudo = os.environ.get("SUDO_UID", "")
    owners = {me, int(sudo)} if me == 0 and sudo.isdecimal() else {me}
    is_shared = alone and any(map(_others_may_write, statuses))
    return {status.st_uid for status in statuses} <= owners and not is_shared


def _others_may_write(status: os.stat_result) -> bool:
    by_group = status.st_mode & stat.S_IWGRP and not _is_alone_in(status.st_gid)
    return bool(status.st_mode & stat.S_IWOTH or by_group)


def _is_alone_in(group: int) -> bool:
    """Whether a group is the private group of a user, which by default may write to the
    user's files."""
    import grp
    import pwd

    try:
        user = pwd.getpwuid(os.geteuid())
        members = grp.getgrgid(group)
    except KeyError:
        return False
    is_own = group == user.pw_gid != 0 and members.gr_name == user.pw_name
    return is_own and set(members.gr_mem) <= {user.pw_name}


MEMORY_BYTES = 16 << 20  # the largest memory file that is read
SMALL_BYTES = 1 << 20  # the largest state, settings or notes file that is read
ENTRIES = 50_000  # directory entries that one walk looks at
RACY_NS = 50_000_000  # a file changed so lately may change again without a new mtime
COARSE_NS = 2_000_000_000  # the same where the file system counts in whole seconds
LEAVES = "is a link that leaves the root; it is not followed"
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FLAGS |= getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
_FOLDER: int = getattr(os, "O_DIRECTORY", 0) | NO_LINK
_BY_PARTS = os.open in os.supports_dir_fd and bool(NO_LINK)


class Unreadable(OSError):
    """A file whose text cannot be read; `line` is that of the first bad byte, 1 if
    unknown."""

    severity = "unreadable"

    def __init__(self, why: str, line: int = 1) -> None:
        super().__init__(why)
        self.line = line


class Conflicted(Unreadable):
    """A file with conflict markers: mem leaves it alone until a person resolves
    them."""

    severity = "conflict"

    def __init__(self, line: int) -> None:
        super().__init__("has conflict markers", line)


class Content(NamedTuple):
    """The content of a file; `mtime` is 0 if it is so recent that the next edit may
    have the same."""

    data: bytes
    mtime: int
    size: int


def open_file(
    path: str | Path, inside: str | Path = "", *, buffer: int = -1
) -> BinaryIO:
    """Open a regular file for reading, without ever waiting for a pipe or device. Links
    on the way must not leave the folder `inside`; without it (a file that the user
    named) links are followed. Raises `Unreadable` and OSError."""
    if not inside and not stat.S_ISREG(os.stat(path).st_mode):
        raise Unreadable("is not a regular file")
    fd = _below(os.fspath(path), os.fspath(inside)) if inside else os.open(path, _FLAGS)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Unreadable("is not a regular file")
    return os.fdopen(fd, "rb", buffer)


def open_folder(path: str) -> int:
    """The descriptor of a folder to list; never waits for a pipe in its place."""
    return os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))


_LATEST = 2**63 - 1  # the year 2262


def storable(mtime_ns: int) -> int:
    """An mtime limited to what a database and a calendar can represent."""
    return min(max(mtime_ns, 1), _LATEST)


def read_file(
    path: str | Path, inside: str | Path = "", *, most: int = MEMORY_BYTES
) -> Content:
    """Return the content with the stat it belongs to. Raises `Unreadable`."""
    try:
        with open_file(path, inside) as file:
            status = os.fstat(file.fileno())
            data = file.read(most + 1) if status.st_size <= most else b""
    except Unreadable:
        raise
    except (OSError, ValueError) as error:
        raise Unreadable(f"cannot be read: {why(error)}") from None
    if max(status.st_size, len(data)) > most:
        size = f"{most >> 20} MB" if most >= 1 << 20 else f"{most} bytes"
        raise Unreadable(f"is longer than {size}")
    mtime = status.st_mtime_ns
    tick = RACY_NS if mtime % 1_000_000_000 else COARSE_NS
    fresh = abs(time.time_ns() - mtime) < tick
    is_told = mtime == storable(mtime) and not fresh
    return Content(data, mtime if is_told else 0, len(data))


def read_text(
    path: str | Path, inside: str | Path = "", *, most: int = MEMORY_BYTES
) -> str:
    """Return the UTF-8 text of a file, BOM and line endings as they are. Raises
    `Unreadable`."""
    return decode(read_file(path, inside, most=most).data)


def decode(data: bytes) -> str:
    """Decode UTF-8, keeping BOM and line endings. Raises `Unreadable` at the first bad
    byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"is not UTF-8 text (byte {error.start})", line) from None


def decode_anyhow(data: bytes) -> str:
    """As much of the text as can be decoded; as UTF-16 if it begins with a UTF-16
    BOM."""
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    return data.decode("utf-16" if is_wide else "utf-8", "replace")


def in_megabytes(size: int) -> str:
    """A number of bytes as text: 512 KB, 18 MB."""
    megabytes = size / (1 << 20)
    return f"{megabytes * 1024:.0f} KB" if megabytes < 1 else f"{megabytes:.0f} MB"


def why(error: Exception) -> str:
    """The system's error message in lower case."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def _below(path: str, inside: str) -> int:
    """Open `path` part by part; at a link, start again along the real path if that
    stays inside."""
    if path.startswith(inside.rstrip(os.sep) + os.sep):
        try:
            return _descend(inside, path)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
                raise
    base = os.path.realpath(inside)
    resolved = os.path.realpath(path, strict=True)
    if not resolved.startswith(base.rstrip(os.sep) + os.sep):
        raise Unreadable(LEAVES)
    return _descend(base, resolved)


def _descend(inside: str, path: str) -> int:
    parts = path[len(inside) :].strip(os.sep).split(os.sep)
    if ".." in parts:
        raise Unreadable("leaves the root")
    if not _BY_PARTS:
        return os.open(path, _FLAGS)
    if len(parts) == 1:
        return os.open(path, _FLAGS | NO_LINK)
    folder = os.open(inside, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        return os.open(parts[-1], _FLAGS | NO_LINK, dir_fd=folder)
    finally:
        os.close(folder)


def refuse_links(path: Path, base: Path) -> None:
    """Raise RefusedError if a part of `path` below `base` is a link."""
    for part in (path, *path.parents):
        if part == base:
            return
        if part.is_symlink():
            raise RefusedError(
                f"{part}: is a link, and mem does not write through links",
                "replace the link with the file",
            )


def written_at(path: Path, base: Path) -> Path:
    """The path to write a memory file to: the target of a link that stays in `base`, as
    dotfile managers make them. Raises RefusedError for any other link."""
    try:
        refuse_links(path, base)
    except RefusedError as error:
        resolved = Path(os.path.realpath(path))
        folder = Path(os.path.realpath(base))
        inside = resolved.is_relative_to(folder) and ".git" not in resolved.parts
        if not (inside and path.suffix == resolved.suffix == ".md"):
            what = f"{path}: is a link to {resolved}, where mem writes no memory"
            raise RefusedError(what, error.hint) from None
        refuse_links(resolved, folder)  # a circle of links never ends
        return resolved
    return path


def state_dir() -> Path:
    """The user's state folder, or one in the cache if others own it, may write to it,
    or own a link to it. Raises RefusedError if that is true of both."""
    return _private_one(folder_of("state"), folder_of("cache") / "state")


def cache_dir() -> Path:
    """The user's cache folder for mem, as private as the state folder; in the state
    folder if it cannot be."""
    return _private_one(folder_of("cache"), folder_of("state") / "cache")


def data_dir(home: Path | None = None) -> Path:
    """The user's data folder for mem, or that of a separate `home`. Raises RefusedError
    if others can change it."""
    if home is None or moved_to("XDG_DATA_HOME"):
        return _private_one(folder_of("data"))
    return _private_one(home / ".local" / "share" / "mem")


def _private_one(folder: Path, otherwise: Path | None = None) -> Path:
    """A folder mem, or a folder inside it, that nobody else can change; otherwise the
    alternative."""
    above = [folder.parent] if folder.parent.name == "mem" else []
    try:
        for part in (*above, folder):
            refuse_others(part)
    except RefusedError:
        if otherwise is not None:
            with suppress(RefusedError):
                return _private_one(otherwise)
        raise
    return folder


def refuse_others(path: Path, *, by_root: bool = False) -> None:
    """Raise RefusedError if another user could change the content of a path; `by_root`:
    trust what root owns."""
    if leads_through_others(path):
        raise RefusedError(
            f"{path}: is reached through another user's link",
            "put it there without a link",
        )
    try:
        status = os.stat(path)
    except OSError:  # it is still to be made
        return
    if not (is_mine(status) or (by_root and status.st_uid == 0)):
        raise RefusedError(
            f"{path}: belongs to another user", "replace it with one of your own"
        )
    if sys.platform != "win32" and _others_may_write(status):
        from shlex import quote  # only imported for an error

        raise RefusedError(
            f"{path}: can be written by others", f"chmod go-w {quote(str(path))}"
        )


def leads_through_others(path: Path, links_left: int = 40) -> bool:
    """Whether a part of a path is, or leads to, a link that another user can
    redirect."""
    for part in (path, *path.parents):
        with suppress(OSError):  # it is still to be made
            status = os.lstat(part)
            if not stat.S_ISLNK(status.st_mode):
                continue
            is_trusted = status.st_uid == 0 or is_mine(status)
            if not is_trusted or not links_left:  # a chain so long may have no end
                return True
            if leads_through_others(part.parent / os.readlink(part), links_left - 1):
                return True
    return False


def private_dir(path: Path) -> Path:
    """`path`, created with its parents so that only the owner has access."""
    if not path.exists():
        private_dir(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    return path


LOG = "hooks.log"
LOG_BYTES = 200_000
"""At this size the log is rotated; one old log is kept."""


def log_hook(folder: Path, line: str) -> None:
    """Append a line to the log of the hooks; ignore write errors. A session, an event
    or a path may hold a credential."""
    from memcli.text.secrets import redact_secrets  # few hooks log

    path = private_dir(folder) / LOG
    with suppress(FileNotFoundError):
        if path.stat().st_size > LOG_BYTES:
            os.replace(path, f"{path}.1")
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | NO_LINK, 0o600)
    try:
        short = redact_secrets(" ".join(line[:2000].split()))[:500]
        os.write(file, f"{short}\n".encode("utf-8", "replace"))
    finally:
        os.close(file)


COMPANIONS = ("-journal", "-wal", "-shm")
"""Suffixes of the files that SQLite keeps beside a database."""


def moved_aside(path: Path, word: str) -> Path:
    """Rename a database with all its files; return the new path."""
    remaining = path.with_name(f"{path.name}.{word}-{time.time_ns()}")
    for ending in (*COMPANIONS, ""):
        with suppress(FileNotFoundError):
            os.replace(f"{path}{ending}", f"{remaining}{ending}")
    return remaining


def odd_companion(path: Path) -> str:
    """The name of a database's journal or log that is not a regular file, "" if none:
    SQLite would wait for a pipe forever."""
    real = os.path.realpath(path)
    for ending in COMPANIONS:
        with suppress(OSError):
            if not stat.S_ISREG(os.lstat(real + ending).st_mode):
                return os.path.basename(real + ending)
    return ""


MAGIC = b"SQLite format 3\0"


def make_private(path: Path) -> None:
    """Create an empty file for a database, readable by its owner alone, unless there is
    one. An existing file is not opened: closing any descriptor of a file releases all
    locks of the process on it, including SQLite's, and another process would then
    delete a log in use."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        if not path.exists():  # a broken link
            raise


ONE_OF = "IN (SELECT value FROM json_each(?))"  # one of the values of a JSON list


@contextmanager
def transaction(database: "sqlite3.Connection") -> Iterator[None]:
    """Write everything inside, or nothing; keeps other writers out from the start."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if database.in_transaction:  # a full disk already ended it
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


@contextmanager
def snapshot(database: "sqlite3.Connection") -> Iterator[None]:
    """Everything read inside is from one moment, whatever others write meanwhile."""
    database.execute("BEGIN")
    try:
        yield
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")
