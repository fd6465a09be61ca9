"""What differs between systems: locks, owners, processes, folders. Linux alone is tested."""

import errno
import os
import signal
import sys
from pathlib import Path
from typing import Any

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

BARE_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
"""PATH as a client has it that was started from the desktop."""
if sys.platform != "darwin":
    BARE_PATH = "/usr/local/bin:/usr/bin:/bin"
DETACHED: dict[str, Any] = {"start_new_session": True}  # it outlives who starts it
if sys.platform == "win32":
    DETACHED = {"creationflags": 0x00000208}


def try_lock(file: int) -> bool:
    """Lock an open file for this process alone, without waiting; whether it could be had."""
    try:
        if sys.platform == "win32":  # far behind its text: what is locked cannot be read
            os.lseek(file, 1 << 30, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def is_gone(pid: int) -> bool:
    """Whether a process has surely ended."""
    try:
        if sys.platform != "win32":  # there signal 0 is Ctrl-C
            os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False


def kill_group(pid: int) -> None:
    """End a process that leads a group with all of it; on Windows, it alone."""
    if sys.platform == "win32":
        os.kill(pid, signal.SIGTERM)
    else:
        os.killpg(pid, signal.SIGKILL)


def has_screen() -> bool:
    """Whether a browser that is started will be seen."""
    named = map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    return sys.platform in ("darwin", "win32") or any(named)


def sync(folder: str | Path) -> None:
    """Make the renames in a folder last. Some file systems cannot: their best is good enough."""
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


def is_mine(*found: os.stat_result, alone: bool = False) -> bool:
    """Whether files are this user's, or under sudo the caller's; `alone`: no other may write."""
    if sys.platform == "win32":
        return True
    me, sudo = os.geteuid(), os.environ.get("SUDO_UID", "")
    mine = {me, int(sudo)} if me == 0 and sudo.isdecimal() else {me}
    shared = alone and any(status.st_mode & 0o022 for status in found)
    return {status.st_uid for status in found} <= mine and not shared


def folder_of(kind: str) -> Path:
    """The user's folder of a kind: cache, data or state; as platformdirs has it."""
    if sys.platform == "linux" and "ANDROID_DATA" not in os.environ:  # at no cost
        usual = {"cache": "~/.cache", "data": "~/.local/share", "state": "~/.local/state"}[kind]
        base = os.environ.get(f"XDG_{kind.upper()}_HOME", "").strip()
        return Path(base or os.path.expanduser(usual)) / "mem"
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_path")("mem"))
