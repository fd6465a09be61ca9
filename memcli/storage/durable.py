"""Temporary files, renames, syncs, and the lock that serialises a user's writers."""

import errno
import json
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from memcli.errors import RefusedError, UsageError
from memcli.named import NamedTuple
from memcli.storage import files
from memcli.storage.files import (
    NO_LINK,
    Unreadable,
    open_file,
    private_dir,
    refuse_links,
)
from memcli.storage.sqlite import fault

MARK = ".mem-tmp-"
UNCHANGED = "nothing was changed"
NO_STATE = "set XDG_STATE_HOME to another folder for state"
POLL = 0.005
BUSY = 0.2  # seconds to wait for a state file that another process is writing


def silent(step: str) -> None:
    """The default trace: ignores every step."""


def write_output(
    path: Path, text: str, *, root: Path | None = None, mode: int = 0o666
) -> None:
    """Write a file that the user named, completely or not at all; `mode` (minus the
    umask) is for a new file, an existing one keeps its permissions. Refuses a link, and
    below `root` a link in any part of the path. Writes directly to pipes and devices,
    except below `root`."""
    place = Path(os.path.abspath(path))
    below = path.parent
    with refusing(path):
        try:
            if root is not None and place.is_relative_to(root):
                below = root
            elif _is_stream(place):
                path.write_bytes(text.encode())
                return
            refuse_links(place, Path(os.path.abspath(below)))
            _replace(place, text.encode(), mode)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            hint = "name a file in a directory that exists"
            if isinstance(error, IsADirectoryError):
                hint = f"name a file in it: {path / 'FILE'}"
            raise UsageError(f"{path}: {error.strerror}", hint) from error


def _replace(target: Path, data: bytes, mode: int) -> None:
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not is_plain(target):
        raise RefusedError(f"{target}: not a regular file", UNCHANGED)
    sweep([target.parent])
    put(target, data, mode)


def put(
    target: Path, data: bytes, mode: int, trace: Callable[[str], None] = silent
) -> None:
    """Create or replace a file atomically; `mode` is for a new one."""
    temp = temp_name(target)
    try:
        create(temp, data, mode, target, trace)
        trace("commit")
        temp.replace(target)
    except BaseException:
        discard([temp])
        raise
    trace("sync")
    files.sync(target.parent)


def _is_stream(path: Path) -> bool:
    """Whether it is /dev/stdout or the like: replacing its target would cut off the
    reader."""
    if str(path).startswith(("/dev/fd/", "/dev/std", "/proc/")):
        return True
    return path.exists() and not (path.is_symlink() or path.is_file() or path.is_dir())


def temp_name(path: Path) -> Path:
    """A valid name beside `path` that git ignores, however long `path` is."""
    stem = os.fsencode(path.name)[:150].decode(errors="ignore")
    return path.with_name(f".{stem}{MARK}{os.getpid()}-{os.urandom(4).hex()}")


def create(
    path: Path, data: bytes, mode: int, like: Path, trace: Callable[[str], None]
) -> None:
    """Write a new file to disk with owner and permissions of `like` if it exists, else
    `mode`."""
    model = like.stat() if like.exists() else None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o600 if model else mode), "wb") as file:
        if model:
            with suppress(OSError, AttributeError):  # Windows has none
                os.fchown(file.fileno(), model.st_uid, model.st_gid)
            path.chmod(stat.S_IMODE(model.st_mode))
        file.write(data)
        file.flush()
        trace("fsync")
        os.fsync(file.fileno())


def read_if_there(path: Path) -> bytes | None:
    """The content of a file about to be written, None if there is none. Raises
    OSError."""
    try:
        with open_file(path) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except Unreadable as error:
        raise OSError(errno.EINVAL, str(error)) from None


def is_plain(path: Path) -> bool:
    """Whether there is a regular file or nothing; links were already followed when the
    step was planned."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return True


def missing(folders: Iterable[Path]) -> tuple[str, ...]:
    """The directories to create, outer before inner."""
    lacking = set()
    for folder in folders:
        places = (folder, *folder.parents)
        with refusing(folder):
            lacking |= {str(place) for place in places if not place.exists()}
    return tuple(sorted(lacking, key=len))


def remove_empty(folders: Sequence[str]) -> None:
    """Remove the empty ones of these folders, inner before outer."""
    for folder in reversed(folders):
        with suppress(OSError):
            os.rmdir(folder)


def discard(paths: Iterable[Path]) -> None:
    """Remove files; ignore those that cannot be removed."""
    for path in paths:
        with suppress(OSError):
            path.unlink()


def sweep(folders: Iterable[Path]) -> None:
    """Remove the temporary files of dead writers."""
    for folder in folders:
        with suppress(OSError):
            discard(folder / name for name in os.listdir(folder) if is_stale(name))


def is_stale(name: str) -> bool:
    """Whether a temporary file's writer is dead. Our own pid counts as dead: under the
    lock we have no such file, and containers reuse pids."""
    pid = name.rpartition(MARK)[2].partition("-")[0]
    if not (name.startswith(".") and MARK in name and pid.isdecimal()):
        return False
    return int(pid) == os.getpid() or files.is_gone(int(pid))


_ADVICE = {
    errno.ENOSPC: "free some space on that disk",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "check the permissions of the file and its directory",
    errno.EPERM: "check owner and attributes of the file and its directory",
    errno.EEXIST: "a part of the path is a file",
}


@contextmanager
def refusing(path: Path | str, hint: str = UNCHANGED) -> Iterator[None]:
    """Turn a system error about `path` into an error with a hint."""
    try:
        yield
    except OSError as error:
        hints = filter(None, [hint, _ADVICE.get(error.errno or 0)])
        raise RefusedError(
            f"{path}: {error.strerror or error}", "; ".join(hints)
        ) from error


class LockNote(NamedTuple):
    """What the lock file says about its holder, dead or alive: the folders to sweep,
    and the folders it made."""

    pid: int
    verb: str
    since: str
    folders: Sequence[str] = ()
    made: Sequence[str] = ()


class WriteLock:
    """One lock file in the state folder; `fd` is its descriptor while it is held."""

    def __init__(self, path: Path, now: str) -> None:
        self.path = path
        self._now = now
        self.fd: int | None = None

    @contextmanager
    def taken(self, verb: str, wait: float) -> Iterator[LockNote | None]:
        """Hold the lock, and return the note that a killed holder left. Raises
        RefusedError."""
        with refusing(self.path.parent, NO_STATE):
            private_dir(self.path.parent)
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o600)
        try:
            self._wait(fd, wait)
            dead = _read_note(fd)
            self.fd = fd
            self.sign(verb, (), ())
            yield dead
        finally:
            if self.fd is not None:
                with suppress(OSError):
                    os.ftruncate(fd, 0)
            self.fd = None
            os.close(fd)

    def sign(self, verb: str, folders: Iterable[Path], created: Iterable[str]) -> None:
        """Write into the lock file who is writing, and which folders to sweep if we
        die."""
        note = LockNote(
            pid=os.getpid(),
            verb=verb,
            since=self._now,
            folders=[*map(str, folders)],
            made=[*created],
        )
        if self.fd is not None:
            with refusing(self.path, UNCHANGED):
                os.ftruncate(self.fd, 0)
                os.lseek(self.fd, 0, os.SEEK_SET)
                os.write(self.fd, json.dumps(note._asdict()).encode())

    def _wait(self, fd: int, wait: float) -> None:
        deadline = time.monotonic() + wait
        with refusing(self.path, "the state folder must allow file locks"):
            while not files.try_lock(fd):
                if time.monotonic() >= deadline:
                    note = _read_note(fd)
                    who = "another mem"
                    if note and note.pid:
                        who = f"pid {note.pid}, mem {note.verb}, since {note.since}"
                    hint = f"{UNCHANGED}; run it again in a moment"
                    raise RefusedError(f"busy: {who} is writing", hint)
                time.sleep(POLL)


def _read_note(lock: int) -> LockNote | None:
    os.lseek(lock, 0, os.SEEK_SET)
    data = os.read(lock, 1 << 20)
    try:
        return LockNote(**json.loads(data))
    except (ValueError, TypeError):
        return LockNote(0, "", "") if data else None


def set_aside(folder: Path) -> Path | None:
    """Move a damaged state file aside and return its new name; None if it is sound."""
    path = folder / "state.db"
    from memcli.storage.state import alone

    with alone(folder, "state", wait=5.0) as is_alone:
        if not is_alone or is_sound(path):  # another process did it meanwhile
            return None
        return files.moved_aside(path, "damaged")


def is_sound(path: Path) -> bool:
    """Whether SQLite finds no fault in a state file; a busy or missing one counts as
    sound."""
    if not path.exists():
        return True
    with closing(sqlite3.connect(path, timeout=BUSY)) as database:
        try:
            return not fault(database)
        except sqlite3.DatabaseError as error:
            # A busy file or a disk error is not damage.
            return isinstance(error, sqlite3.OperationalError)
