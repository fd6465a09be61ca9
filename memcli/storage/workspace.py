"""The only code that writes memory files, settings and named output files.

A write is prepared beside its targets, committed by one rename of a journal in the state directory,
then carried out. Whoever writes next finishes what a killed writer left: first forward, and where
that fails back.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import sys
import time
import zlib
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from memcli.errors import DataError, MemError, RefusedError, UsageError
from memcli.memory.values import Patch

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

MARK = ".mem-tmp-"
ARCHIVE = ".archive.md"
UNDO_RECORDS = 20
UNDO_BYTES = 64 << 20
POLL = 0.005
UNCHANGED = "nothing was changed"
NO_STATE = "XDG_STATE_HOME names another folder for state"


class StaleError(RefusedError):
    """A file changed between plan and write: reading it again and planning anew will help."""


class Kept(NamedTuple):
    """`path` was edited while a write of it lay unfinished; the text meant for it is in `copy`.

    `copy` is "" when that write would have deleted the file.
    """

    path: str
    copy: str


class WriteReport(NamedTuple):
    """Files written, and what was first done for a writer that had been killed: names, texts set
    aside.
    """

    written: tuple[str, ...]
    recovered: tuple[str, ...]
    kept: tuple[Kept, ...]


class LastWrite(NamedTuple):
    """The write that undo would take back; `patches` are those that undo would apply."""

    verb: str
    time: str
    patches: tuple[Patch, ...]


class Step(NamedTuple):
    """One file of a write: `name` as the caller said it, `path` where it really lies."""

    name: str
    path: Path
    before: bytes | None
    after: bytes | None
    mode: int


class Record(NamedTuple):
    """A write, as journal and as undo record.

    `made` lists directories it made, `undoes` names a record, `note` is the caller's own.
    """

    root: str
    verb: str
    time: str
    steps: tuple[Step, ...]
    temps: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    undoes: str = ""
    note: tuple[str, ...] = ()


class Note(NamedTuple):
    """What the lock file says of its holder; what is still there when the lock is free, a dead one
    left.
    """

    pid: int
    verb: str
    since: str
    folders: Sequence[str] = ()
    made: Sequence[str] = ()


def silent(step: str) -> None:
    """The trace of daily use: hears every step, does nothing."""


class Workspace:
    """Writes below the `allowed` directories for one `root` (None: the global level alone).

    `state` should be one folder per user: the lock in it orders all writes, so that two projects
    can write one global file. Journals and undo records are kept per root. `trace` hears, just
    before each happens: lock, recover, temp, fsync, journal, commit, rename, sync, done; and last,
    end. One instance is not for two threads at once; two instances are.
    """

    def __init__(
        self,
        root: Path | None,
        state: Path,
        now: datetime,
        *,
        allowed: Sequence[Path],
        trace: Callable[[str], None] = silent,
    ) -> None:
        self._root = str(root.resolve()) if root else ""
        self._state = state
        self._now = now.isoformat(timespec="seconds")
        self._allowed = allowed
        self._trace = trace
        self._lock: int | None = None
        self._recovered: list[str] = []
        self._kept: list[Kept] = []

    def write(
        self, patches: Sequence[Patch], verb: str, *, wait: float = 10.0, note: Sequence[str] = ()
    ) -> WriteReport:
        """Apply all patches or none; when this returns they are on disk and `undo` can take them
        back.

        `note` is found in `notes` from the moment on at which the write is certain to happen.

        Patches that change nothing are passed over, missing directories made, permissions kept; a
        new file that begins with `#!` is executable. Raises StaleError when a file is not what the
        plan was made from, RefusedError for a busy lock, a path that leads outside, no space, no
        permission. After an exception every file is as before, unless it says that the next write
        will finish.
        """
        changed = [patch for patch in patches if patch.before != patch.after]
        if changed:
            with self.hold(verb, wait=wait):
                steps = self._steps(changed)
                self._apply(Record(self._root, verb, self._now, steps, note=tuple(note)))
        return self._report(tuple(patch.path for patch in changed))

    @contextmanager
    def hold(self, verb: str, *, wait: float = 10.0) -> Iterator[None]:
        """Keep all other writers out, so that what is read inside cannot turn stale before it is
        written.

        For plans that take long beside busy writers; never while a provider answers. Unfinished
        writes are finished first. Raises RefusedError after `wait` seconds and names the holder.
        """
        if self._lock is not None:
            yield
            return
        with self._telling_kept(), self._locked(verb, wait):
            self._recover()
            yield

    def recover(self, *, wait: float = 10.0) -> WriteReport:
        """Finish what a killed writer left: to be called before planning. Else one look, no lock."""
        if self._pending() or _size(self._lock_path):
            with self.hold("recover", wait=wait):
                pass
        return self._report(())

    def undo(self, *, wait: float = 10.0) -> list[str]:
        """Take back the last write of this root and forget it: the next undo takes the one before.

        Returns the files restored, [] when nothing is left to undo. Raises RefusedError, with
        nothing changed, when one of the files has changed since.
        """
        with self.hold("undo", wait=wait):
            newest = self._newest()
            if newest is None:
                return []
            record = _unpacked(newest)
            steps = tuple(_inverse(step) for step in reversed(record.steps))
            self._guard_undo(record, steps)
            self._apply(Record(self._root, "undo", self._now, steps, (), record.made, newest.name))
        return [step.name for step in steps]

    def last_write(self) -> LastWrite | None:
        """Return what undo would take back, None when there is nothing. Takes no lock."""
        path = self._newest()
        if self._journal in self._pending() and not _unpacked(self._journal).undoes:
            path = self._journal
        if path is None:
            return None
        record = _unpacked(path)
        return LastWrite(record.verb, record.time, tuple(map(_undoing, reversed(record.steps))))

    def notes(self, verb: str) -> list[tuple[str, ...]]:
        """The notes of the writes of a verb that undo still knows, the oldest first."""
        found = map(_noted, _records(self._undo_folder(self._root)))
        return [note for kind, note in found if kind == verb and note]

    # Plan: from patches to steps.

    def _steps(self, patches: Sequence[Patch]) -> tuple[Step, ...]:
        """Archives come first: what leaves a file must be in its archive before it is gone."""
        steps: dict[Path, Step] = {}
        for step in map(self._step, patches):
            if step.path in steps:
                raise RefusedError(
                    f"{step.name}: the same file as {steps[step.path].name}", "name it once"
                )
            steps[step.path] = step
        return tuple(sorted(steps.values(), key=lambda step: not _is_archive(step.path)))

    def _step(self, patch: Patch) -> Step:
        path = self._target(patch.path)
        before, after = (_encoded(patch.path, text) for text in (patch.before, patch.after))
        with _refusing(patch.path):
            mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else _new_mode(after)
        return Step(patch.path, path, before, after, mode)

    def _target(self, name: str) -> Path:
        path = _resolved(name)
        if not any(path.is_relative_to(_resolved(str(folder))) for folder in self._allowed):
            raise RefusedError(
                f"{name}: leads to {path}, where mem does not write", "put the file itself there"
            )
        return path

    def _guard_undo(self, record: Record, steps: Sequence[Step]) -> None:
        for step in steps:
            self._target(str(step.path))
            if _found(step) != "before":
                raise RefusedError(
                    f"{step.name}: changed since mem {record.verb} of {record.time}; not undone",
                    "take the later change back first, or mend the file by hand",
                )

    # Carry out: everything before the commit can be dropped; from there on, forward or back.

    def _apply(self, record: Record) -> None:
        _check(record.steps)
        made = _missing(_folders(record.steps))
        self._sign(record.verb, _folders(record.steps), made)
        temps: dict[Path, Path] = {}
        try:
            record = self._prepared(record._replace(made=(*made, *record.made)), temps)
        except BaseException:
            _discard([*temps.values(), self._journal])
            _remove_empty(made)
            raise
        self._finish(record, record.steps, temps)

    def _prepared(self, record: Record, temps: dict[Path, Path]) -> Record:
        sweep(_folders(record.steps))
        self._stage(record.steps, temps)
        record = record._replace(temps=tuple(map(str, temps.values())))
        self._save(self._journal, _packed(record))
        return record

    def _stage(self, steps: Iterable[Step], temps: dict[Path, Path]) -> None:
        """Write the new contents beside their targets, on disk before any of them is renamed."""
        for step in steps:
            if step.after is not None and step.path not in temps:
                temps[step.path] = _temp(step.path)
                with _refusing(step.name):
                    self._trace("temp")
                    step.path.parent.mkdir(parents=True, exist_ok=True)
                    _create(temps[step.path], step.after, step.mode, step.path, self._trace)

    def _finish(self, record: Record, steps: Sequence[Step], temps: dict[Path, Path]) -> None:
        try:
            self._stage(steps, temps)
            self._swap(steps, temps)
            with _refusing(self._state):
                _sync(Path(folder).parent for folder in record.made)
        except BaseException as error:
            _discard(temps.values())
            self._take_back(record, error)
            raise
        self._close(record)

    def _swap(self, steps: Sequence[Step], temps: dict[Path, Path]) -> None:
        """Rename into place, archives safely on disk before their sources.

        Each target is looked at once more: an editor or git may have written since the first check.
        """
        for _, group in groupby(steps, key=lambda step: _is_archive(step.path)):
            done = []
            for step in group:
                _check([step])
                with _refusing(step.name):
                    self._trace("rename")
                    _put(step, temps)
                done.append(step)
            with _refusing(done[-1].name):
                self._trace("sync")
                _sync(_folders(done))

    def _take_back(self, record: Record, cause: BaseException) -> None:
        """Restore what was renamed already, last first; a file edited meanwhile stays as it is."""
        temps: dict[Path, Path] = {}
        try:
            back = [_inverse(step) for step in reversed(record.steps) if _found(step) == "after"]
            self._stage(back, temps)
            self._swap(back, temps)
            self._journal_of(record).unlink()
        except (OSError, MemError) as error:
            _discard(temps.values())
            hint = "some files are new, some old: the next write of mem will finish this one"
            raise RefusedError(f"{cause}; and taking it back: {error}", hint) from cause
        _remove_empty(record.made)

    def _close(self, record: Record) -> None:
        """Done: the journal becomes the newest undo record; that of an undo goes, with what it
        undid.
        """
        journal, undo = self._journal_of(record), self._undo_folder(record.root)
        with _refusing(self._state, "the files are written; the next write of mem will tidy up"):
            self._trace("done")
            if record.undoes:
                (undo / record.undoes).unlink(missing_ok=True)
                journal.unlink()
                _remove_empty(record.made)
            else:
                _make_private(undo)
                journal.replace(undo / f"{_last_number(undo) + 1:08}.json")
                _prune(undo)
        self._trace("end")

    # Recover: finish what a killed writer began.

    def _recover(self) -> None:
        """Those of other roots too, so that a global file is settled; but their trouble is not
        ours.
        """
        for journal in self._pending():
            try:
                self._recover_one(journal)
            except MemError:
                if journal == self._journal:
                    raise

    def _recover_one(self, journal: Path) -> None:
        self._trace("recover")
        record = self._legible(journal)
        foreign = journal != self._journal
        if record is None or (foreign and not Path(record.root).is_dir()):
            return
        self._sign("recover", _folders(record.steps), record.made)
        _discard(map(Path, record.temps))
        sweep(_folders(record.steps))
        edited = _edited(record.steps)
        kept = [self._keep(step) for step in edited]
        todo = [step for step in record.steps if step not in edited and _found(step) == "before"]
        try:
            self._finish(record, todo, {})
        except MemError:
            if journal in self._pending():  # else it was taken back, and that is settled, too
                _discard(Path(item.copy) for item in kept if item.copy)
                raise
        self._recovered += [step.name for step in record.steps if step not in edited]
        self._kept += kept

    def _legible(self, journal: Path) -> Record | None:
        """None after moving aside what is no journal: a disk error must not block all later writes."""
        try:
            return _unpacked(journal)
        except DataError:
            with _refusing(self._state):
                journal.replace(self._aside(journal.name))
            return None

    def _keep(self, step: Step) -> Kept:
        """Put the text that can no longer be written where its owner finds it."""
        if step.after is None:
            return Kept(step.name, "")
        copy = self._aside(step.path.name)
        self._save(copy, step.after)
        return Kept(step.name, str(copy))

    def _aside(self, name: str) -> Path:
        folder = self._state / "aside"
        with _refusing(self._state, NO_STATE):
            _make_private(folder)
        return folder / f"{os.urandom(4).hex()}-{name}"

    def _report(self, written: tuple[str, ...]) -> WriteReport:
        report = WriteReport(written, tuple(self._recovered), tuple(self._kept))
        self._recovered, self._kept = [], []
        return report

    @contextmanager
    def _telling_kept(self) -> Iterator[None]:
        """A failure leaves no report, but a text set aside must not go unmentioned."""
        try:
            yield
        except MemError as error:
            told = [
                f"an unfinished write of {kept.path} is kept in {kept.copy}"
                for kept in self._kept
                if kept.copy
            ]
            error.hint = "; ".join([*told, error.hint])
            raise

    # The lock, and the files in the state directory.

    @contextmanager
    def _locked(self, verb: str, wait: float) -> Iterator[None]:
        self._trace("lock")
        with _refusing(self._state, NO_STATE):
            _make_private(self._state)
            lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._wait(lock, wait)
            with self._signed(lock, verb):
                yield
        finally:
            os.close(lock)

    @contextmanager
    def _signed(self, lock: int, verb: str) -> Iterator[None]:
        self._lock = lock
        try:
            self._sweep_after(_read_note(lock))
            self._sign(verb, (), ())
            yield
        finally:
            self._lock = None
            with suppress(OSError):
                os.ftruncate(lock, 0)

    def _wait(self, lock: int, wait: float) -> None:
        deadline = time.monotonic() + wait
        with _refusing(self._lock_path, "the state folder must allow file locks"):
            while not _try_lock(lock):
                if time.monotonic() >= deadline:
                    raise _busy(_read_note(lock))
                time.sleep(POLL)

    def _sweep_after(self, dead: Note | None) -> None:
        if dead:
            sweep([*map(Path, dead.folders), self._journal.parent, self._state / "aside"])
            if not self._pending():
                _remove_empty(dead.made)

    def _sign(self, verb: str, folders: Iterable[Path], made: Iterable[str]) -> None:
        """Say in the lock file who is writing, and where to sweep should we not come back."""
        note = Note(os.getpid(), verb, self._now, [*map(str, folders)], [*made])
        if self._lock is not None:
            with _refusing(self._lock_path, UNCHANGED):
                os.ftruncate(self._lock, 0)
                os.lseek(self._lock, 0, os.SEEK_SET)
                os.write(self._lock, json.dumps(note).encode())

    def _save(self, path: Path, data: bytes) -> None:
        """Create or replace a private state file in one instant. For the journal, this is the
        commit.
        """
        temp = _temp(path)
        with _refusing(self._state):
            try:
                self._trace("journal")
                _make_private(path.parent)
                _create(temp, data, 0o600, temp, self._trace)
                self._trace("commit")
                temp.replace(path)
                self._trace("sync")
                _sync([path.parent])
            except BaseException:
                _discard([temp])
                raise

    @property
    def _lock_path(self) -> Path:
        return self._state / "write.lock"

    @property
    def _journal(self) -> Path:
        return self._state / "pending" / f"{_key(self._root)}.json"

    def _journal_of(self, record: Record) -> Path:
        return self._journal.with_name(f"{_key(record.root)}.json")

    def _pending(self) -> list[Path]:
        return _records(self._journal.parent)

    def _undo_folder(self, root: str) -> Path:
        return self._state / "undo" / _key(root)

    def _newest(self) -> Path | None:
        return max(_records(self._undo_folder(self._root)), default=None)


def write_output(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Write a file the user named, whole or not at all; `mode` (less the umask) is for a new file.

    An existing file keeps its permissions, a link is followed; pipes and devices are written
    directly. Raises UsageError for a place that cannot hold a file, RefusedError when the system
    refuses.
    """
    target = _resolved(str(path))
    try:
        if _is_stream(path):
            path.write_bytes(text.encode())
        else:
            _replace(target, text.encode(), mode)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise UsageError(
            f"{path}: {error.strerror}", "name a file in a directory that exists"
        ) from error
    except OSError as error:
        raise _refusal(error, path, UNCHANGED) from error


def _replace(target: Path, data: bytes, mode: int) -> None:
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    sweep([target.parent])
    temp = _temp(target)
    try:
        _create(temp, data, mode, target, silent)
        temp.replace(target)
    except BaseException:
        _discard([temp])
        raise
    _sync([target.parent])


def _is_stream(path: Path) -> bool:
    """/dev/stdout and its like even when they lead to a file: replacing that would cut off its
    reader.
    """
    inherited = str(path).startswith(("/dev/fd/", "/dev/std", "/proc/"))
    return inherited or (path.exists() and not path.is_file() and not path.is_dir())


# Steps and records.


def _inverse(step: Step) -> Step:
    return step._replace(before=step.after, after=step.before)


def _undoing(step: Step) -> Patch:
    before, after = (None if data is None else data.decode() for data in (step.after, step.before))
    return Patch(step.name, before, after)


def _encoded(name: str, text: str | None) -> bytes | None:
    try:
        return None if text is None else text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{name}: a text that is no Unicode ({error.reason})", UNCHANGED) from error


def _new_mode(content: bytes | None) -> int:
    return 0o777 if content and content.startswith(b"#!") else 0o666


def _is_archive(path: Path) -> bool:
    return path.name.endswith(ARCHIVE)


def _found(step: Step) -> str:
    """Which content the file has: "before", "after", or "other" when someone else has been there."""
    with _refusing(step.name):
        if not _is_plain(step.path):
            return "other"
        data = _read(step.path)
    if data == step.after:
        return "after"
    return "before" if data == step.before else "other"


def _check(steps: Iterable[Step]) -> None:
    for step in steps:
        if not _is_plain(step.path):
            raise RefusedError(f"{step.name}: not a regular file", UNCHANGED)
        with _refusing(step.name):
            same = _read(step.path) == step.before
        if not same:
            raise StaleError(
                f"{step.name}: changed while mem was at work", f"{UNCHANGED}; run it again"
            )


def _edited(steps: Sequence[Step]) -> list[Step]:
    """Steps to leave alone: files someone else changed, and sources whose archive could not be
    written.
    """
    edited = [step for step in steps if _found(step) == "other"]
    held = {_source(step.path) for step in edited if _is_archive(step.path)}
    return edited + [step for step in steps if step.path in held and _found(step) == "before"]


def _source(archive: Path) -> Path:
    return archive.with_name(archive.name.removesuffix(ARCHIVE) + ".md")


def _packed(record: Record) -> bytes:
    steps = [
        (step.name, str(step.path), _squeezed(step.before), _squeezed(step.after), step.mode)
        for step in record.steps
    ]
    return json.dumps(record._replace(steps=())._asdict() | {"version": 1, "steps": steps}).encode()


def _unpacked(path: Path) -> Record:
    """Raises DataError when the file is no journal."""
    with _refusing(path, NO_STATE):
        data = path.read_bytes()
    try:
        fields = json.loads(data)
        steps = tuple(
            Step(name, Path(real), _unsqueezed(before), _unsqueezed(after), mode)
            for name, real, before, after, mode in fields["steps"]
        )
        lists = {key: tuple(fields[key]) for key in ("temps", "made")}
        lists["note"] = tuple(fields.get("note", ()))
        return Record(
            fields["root"], fields["verb"], fields["time"], steps, **lists, undoes=fields["undoes"]
        )
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise DataError(f"{path}: not a journal of mem", "remove it") from error


def _noted(path: Path) -> tuple[str, tuple[str, ...]]:
    """(verb, note) of a record; nothing of one that cannot be read."""
    try:
        fields = json.loads(path.read_bytes())
        return fields["verb"], tuple(fields.get("note", ()))
    except (OSError, ValueError, KeyError, TypeError):
        return "", ()


def _squeezed(data: bytes | None) -> str | None:
    return None if data is None else b2a_base64(zlib.compress(data, 1), newline=False).decode()


def _unsqueezed(text: Any) -> bytes | None:
    return None if text is None else zlib.decompress(a2b_base64(text))


def _key(root: str) -> str:
    """The global level alone, without a root, has a key like any other."""
    return (
        hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        if root
        else "global"
    )


def _records(folder: Path) -> list[Path]:
    with _refusing(folder, NO_STATE):
        try:
            names = [entry.name for entry in os.scandir(folder)]
        except FileNotFoundError:
            return []
    return [folder / name for name in sorted(names) if name.endswith(".json")]


def _last_number(undo: Path) -> int:
    return max((int(path.stem) for path in _records(undo) if path.stem.isdecimal()), default=0)


def _prune(undo: Path) -> None:
    total = 0
    for rank, path in enumerate(reversed(_records(undo))):
        total += _size(path)
        if rank and (rank >= UNDO_RECORDS or total > UNDO_BYTES):
            path.unlink()


# The lock.

if sys.platform == "win32":

    def _try_lock(lock: int) -> bool:
        """A byte far behind the note is locked: what is locked cannot be read there."""
        os.lseek(lock, 1 << 30, os.SEEK_SET)
        try:
            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:

    def _try_lock(lock: int) -> bool:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _read_note(lock: int) -> Note | None:
    os.lseek(lock, 0, os.SEEK_SET)
    with os.fdopen(lock, "rb", closefd=False) as file:
        data = file.read()
    try:
        return Note(*json.loads(data))
    except (ValueError, TypeError):
        return Note(0, "", "") if data else None


def _busy(holder: Note | None) -> RefusedError:
    who = (
        f"pid {holder.pid}, mem {holder.verb}, since {holder.since}"
        if holder and holder.pid
        else "another mem"
    )
    return RefusedError(f"busy: {who} is writing", f"{UNCHANGED}; run it again in a moment")


# Files.


def _temp(path: Path) -> Path:
    """A name beside `path` that git ignores; cut so that it is a legal name, however long that of
    `path`.
    """
    stem = os.fsencode(path.name)[:150].decode(errors="ignore")
    return path.with_name(f".{stem}{MARK}{os.getpid()}-{os.urandom(4).hex()}")


def _create(path: Path, data: bytes, mode: int, like: Path, trace: Callable[[str], None]) -> None:
    """Write a new file to disk with owner and permissions of `like`, if it exists, else with
    `mode`.
    """
    model = like.stat() if like.exists() else None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o600 if model else mode), "wb") as file:
        if model:
            _dress(file.fileno(), path, model)
        file.write(data)
        file.flush()
        trace("fsync")
        os.fsync(file.fileno())


def _dress(fd: int, path: Path, model: os.stat_result) -> None:
    if sys.platform != "win32" and (os.geteuid(), os.getegid()) != (model.st_uid, model.st_gid):
        with suppress(OSError):
            os.fchown(fd, model.st_uid, model.st_gid)
    path.chmod(stat.S_IMODE(model.st_mode))


def _put(step: Step, temps: dict[Path, Path]) -> None:
    if step.after is None:
        step.path.unlink()
    else:
        temps[step.path].replace(step.path)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_plain(path: Path) -> bool:
    """A regular file or nothing at all. A link would have been followed when the step was planned."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return True


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _resolved(name: str) -> Path:
    try:
        return Path(name).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise RefusedError(f"{name}: {error}", "mend the link") from error


def _folders(steps: Iterable[Step]) -> list[Path]:
    return list(dict.fromkeys(step.path.parent for step in steps))


def _missing(folders: Iterable[Path]) -> tuple[str, ...]:
    """Directories that must be made, outer before inner."""
    missing: dict[str, None] = {}
    for folder in folders:
        with _refusing(folder):
            lacking = [place for place in (folder, *folder.parents) if not place.exists()]
        missing |= dict.fromkeys(map(str, reversed(lacking)))
    return tuple(missing)


def _make_private(folder: Path) -> None:
    """`parents=True` would leave those in between to the umask."""
    if not folder.exists():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _remove_empty(folders: Sequence[str]) -> None:
    for folder in reversed(folders):
        with suppress(OSError):
            Path(folder).rmdir()


def _discard(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()


def sweep(folders: Iterable[Path]) -> None:
    """Remove the temporary files of writers that are no more."""
    for folder in folders:
        with suppress(OSError):
            _discard([folder / entry.name for entry in os.scandir(folder) if is_stale(entry.name)])


def is_stale(name: str) -> bool:
    """Our own pid counts as dead: under the lock we have no file there yet, and containers reuse
    pids.
    """
    pid = name.rpartition(MARK)[2].partition("-")[0]
    if not (name.startswith(".") and MARK in name and pid.isdecimal()):
        return False
    return int(pid) == os.getpid() or not _is_alive(int(pid))


def _is_alive(pid: int) -> bool:
    if sys.platform == "win32":  # signal 0 is Ctrl-C there
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _sync(folders: Iterable[Path]) -> None:
    """Make renames last. Some file systems cannot: their best is good enough."""
    if sys.platform == "win32":
        return
    for folder in folders:
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            os.close(fd)


_ADVICE = {
    errno.ENOSPC: "free some space on that disk",
    errno.EDQUOT: "free some of your quota",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "check the permissions of the file and its directory",
    errno.EPERM: "check owner and attributes of the file and its directory",
    errno.ENOTDIR: "a part of the path is a file",
    errno.EEXIST: "a part of the path is a file",
}


def _refusal(error: OSError, path: Path | str, hint: str) -> RefusedError:
    advice = _ADVICE.get(error.errno or 0, "")
    return RefusedError(
        f"{path}: {error.strerror or error}", "; ".join(filter(None, [hint, advice]))
    )


@contextmanager
def _refusing(path: Path | str, hint: str = UNCHANGED) -> Iterator[None]:
    """Turn what the system says about `path` into an error with a hint."""
    try:
        yield
    except OSError as error:
        raise _refusal(error, path, hint) from error
