"""Write memory files and settings: all of a command's writes or none, and each can be
undone. A write is prepared beside its targets, committed by one rename of a journal in
the state folder, then carried out. The next writer finishes what a killed one left:
forward if possible, else back."""

import os
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from memcli.errors import DataError, MemError, RefusedError
from memcli.memory.grammar import is_crowded
from memcli.memory.values import ARCHIVE, Patch, source_of
from memcli.storage import durable, files, journal
from memcli.storage.durable import UNCHANGED, read_if_there, refusing, silent
from memcli.storage.files import written_at
from memcli.storage.journal import StaleError, Step, WriteRecord, folders_of

__all__ = ["StaleError", "Workspace", "silent"]
KEPT = "an unfinished write of"


class LastWrite(NamedTuple):
    """The write that undo would undo; `patches` are those it would apply: none if the
    texts of the write were forgotten."""

    verb: str
    time: str
    patches: tuple[Patch, ...]
    note: tuple[str, ...] = ()


class Workspace:
    """Writes below the `allowed` directories and to the `single` files for one `root`
    (None: only the global level), without following links. `state` should be one folder
    per user: its lock orders all writes, so that two projects can write the same global
    file. `trace` is called just before each step: lock, recover, temp, fsync, journal,
    commit, rename, sync, done; and finally end."""

    def __init__(
        self,
        root: Path | None,
        state: Path,
        now: datetime,
        *,
        allowed: Sequence[Path],
        single: Sequence[Path] = (),
        trace: Callable[[str], None] = silent,
    ) -> None:
        self._root = str(root.resolve()) if root else ""
        self._now = now.isoformat(timespec="seconds")
        self._allowed = allowed
        self._single = single
        self._trace = trace
        self._journals = journal.Journals(state, self._root, trace)
        self.notes = self._journals.notes
        self._lock = durable.WriteLock(state / "write.lock", self._now)
        self._told: list[
            str
        ] = []  # what was done first to finish a killed writer's work

    def write(
        self,
        patches: Sequence[Patch],
        verb: str,
        *,
        wait: float = 10.0,
        note: Sequence[str] = (),
        is_act: bool = False,
    ) -> list[str]:
        """Apply all patches or none; on return they are on disk and `undo` can undo
        them. `note` is in `notes` from the moment the write is certain to happen. With
        `is_act`, undo also undoes it if no file changes. A new file that begins with
        `#!` is executable. Raises StaleError if a file is not what the plan was made
        from, else RefusedError. After an exception every file is as before, unless the
        error says that the next write will finish."""
        changed = [patch for patch in patches if patch.before != patch.after]
        if changed or is_act:
            with self.hold(verb, wait=wait):
                record = WriteRecord(
                    root=self._root,
                    verb=verb,
                    time=self._now,
                    steps=self._steps(changed),
                    note=tuple(note),
                )
                self._apply(record)
        return self._news()

    @contextmanager
    def hold(self, verb: str, *, wait: float = 10.0) -> Iterator[None]:
        """Keep other writers out, after unfinished writes are finished. Raises
        RefusedError."""
        if self._lock.fd is not None:
            yield
            return
        self._trace("lock")
        try:
            with self._lock.taken(verb, wait) as dead:
                if dead:
                    folders = (
                        self._journals.own.parent,
                        self._journals.state / "aside",
                    )
                    durable.sweep([*map(Path, dead.folders), *folders])
                    if not self._journals.pending():
                        durable.remove_empty(dead.made)
                self._recover()
                yield
        except MemError as error:  # a text that was set aside must be reported
            copies = [line for line in self._told if KEPT in line]
            error.hint = "; ".join([*copies, error.hint])
            raise

    def recover(self, *, wait: float = 10.0) -> list[str]:
        """Finish what a killed writer left (call it before planning), and return what
        was done. With nothing to finish, this is one check without the lock."""
        lock = self._lock.path
        if self._journals.pending() or (lock.exists() and lock.stat().st_size):
            with self.hold("recover", wait=wait):
                pass
        return self._news()

    def skip(self) -> LastWrite | None:
        """Leave the last write, which is returned, as it is: undo goes on with the one
        before it."""
        with self.hold("undo"):
            last_write = self.last_write()
            newest = self._journals.newest()
            if newest is not None:
                with refusing(newest):
                    newest.unlink()
        return last_write

    def undo(self, *, wait: float = 10.0) -> list[str]:
        """Undo the last write, keeping edits of others; return the files. Raises
        RefusedError."""
        with self.hold("undo", wait=wait):
            newest = self._journals.newest()
            if newest is None:
                return []
            record = journal.unpacked(newest)
            if not record.steps:
                newest.unlink()
            inverse = WriteRecord(
                root=self._root,
                verb="undo",
                time=self._now,
                steps=self._back(record),
                made=record.made,
                undoes=newest.name,
            )
            self._apply(inverse)
        return [step.name for step in inverse.steps]

    def _back(self, record: WriteRecord) -> tuple[Step, ...]:
        if not record.steps and not record.note:
            message = f"mem {record.verb} of {record.time} has no texts to restore"
            raise RefusedError(message, "another mem undo takes back what is older")
        steps = []
        for step in (step.inverse for step in reversed(record.steps)):
            self._target(str(step.path))
            back = step if journal.state_of(step) == "before" else journal.rebased(step)
            if back is None:
                wrote = f"not as mem {record.verb} of {record.time} wrote it"
                why = "edited, or of another commit"
                if not os.path.lexists(step.path):
                    why = "the file is gone"
                what = f"{step.name}: {wrote} ({why}); not undone"
                raise RefusedError(what, _instead(step))
            steps.append(back)
        return tuple(steps)

    def forget_undo(
        self, entry_ids: Sequence[str], clean: Callable[[str], str]
    ) -> None:
        """Clean the texts of the undo records whose files hold one of these entries."""
        self._journals.forget(entry_ids, clean)

    def last_write(self, *, certain: bool = False) -> LastWrite | None:
        """Return what undo would take back, None when there is nothing. Takes no lock.

        With `certain` it raises RefusedError where undo would."""
        path = self._journals.newest()
        pending_journal = self._journals.own
        if (
            pending_journal in self._journals.pending()
            and not journal.unpacked(pending_journal).undoes
        ):
            path = pending_journal
        if path is None:
            return None
        record = journal.unpacked(path)
        back = tuple(step.inverse for step in reversed(record.steps))
        if certain and path != pending_journal:
            back = self._back(record)
        patches = tuple(
            Patch(step.name, _text(step.before), _text(step.after)) for step in back
        )
        return LastWrite(
            verb=record.verb, time=record.time, patches=patches, note=record.note
        )

    def _steps(self, patches: Sequence[Patch]) -> tuple[Step, ...]:
        """Archives come first: what leaves a file must be in its archive before it is
        gone."""
        steps: dict[Path, Step] = {}
        for patch in patches:
            path = self._target(patch.path)
            if path in steps:
                message = f"{patch.path}: the same file as {steps[path].name}"
                raise RefusedError(message, "name it once")
            step = Step(
                name=patch.path,
                path=path,
                before=_encoded(patch.path, patch.before),
                after=_encoded(patch.path, patch.after),
                mode=_mode(patch, path),
            )
            if path.suffix == ".md" and not _is_readable(step.after or b"", patch):
                what = f"{patch.path}: too large to be read again; {UNCHANGED}"
                raise RefusedError(what, "move some of it to a file of another name")
            steps[path] = step
        return tuple(sorted(steps.values(), key=_is_source))

    def _target(self, name: str, root: str = "") -> Path:
        try:
            path = Path(os.path.abspath(name))
        except ValueError as error:
            raise RefusedError(f"{name}: {error}", "name another file") from None
        other = [Path(root)] if root not in ("", self._root) else []
        bases = [Path(os.path.abspath(folder)) for folder in (*self._allowed, *other)]
        around = [folder for folder in bases if path.is_relative_to(folder)]
        for single in map(os.path.abspath, self._single):
            behind = Path(os.path.realpath(single))
            folder = Path(os.path.realpath(os.path.dirname(single)))
            if path == Path(single):
                around.append(path.parent)
            elif path == behind and behind.is_relative_to(folder):
                around.append(folder)
        if not around:
            message = f"{name}: lies where mem does not write"
            raise RefusedError(message, "name a file below the root")
        return written_at(path, around[0])

    def _apply(self, record: WriteRecord) -> None:
        journal.check(record.steps)
        created = durable.missing(folders_of(record.steps))
        self._lock.sign(record.verb, folders_of(record.steps), created)
        temps: dict[Path, Path] = {}
        try:
            durable.sweep(folders_of(record.steps))
            self._stage(record.steps, temps)
            names = tuple(map(str, temps.values()))
            record = record._replace(made=(*created, *record.made), temps=names)
            self._journals.save(self._journals.own, journal.packed(record))
        except BaseException:
            durable.discard([*temps.values(), self._journals.own])
            durable.remove_empty(created)
            raise
        self._finish(record, record.steps, temps)

    def _stage(self, steps: Iterable[Step], temps: dict[Path, Path]) -> None:
        for step in steps:
            if step.after is not None and step.path not in temps:
                temps[step.path] = durable.temp_name(step.path)
                with refusing(step.name):
                    self._trace("temp")
                    step.path.parent.mkdir(parents=True, exist_ok=True)
                    durable.create(
                        temps[step.path], step.after, step.mode, step.path, self._trace
                    )

    def _finish(
        self, record: WriteRecord, steps: Sequence[Step], temps: dict[Path, Path]
    ) -> None:
        try:
            self._stage(steps, temps)
            self._swap(record.root, steps, temps)
            with refusing(self._journals.state):
                for folder in record.made:
                    files.sync(Path(folder).parent)
        except BaseException as error:
            durable.discard(temps.values())
            self._take_back(record, error)
            raise
        self._journals.close(record)
        if record.undoes:
            durable.remove_empty(record.made)
        self._trace("end")

    def _swap(self, root: str, steps: Sequence[Step], temps: dict[Path, Path]) -> None:
        """Rename into place, archives on disk before their sources; each is looked at
        once more."""
        for _, group in groupby(steps, key=_is_source):
            swapped = []
            for step in group:
                self._target(str(step.path), root)
                journal.check([step])
                with refusing(step.name):
                    self._trace("rename")
                    if step.after is None:
                        step.path.unlink()
                    else:
                        temps[step.path].replace(step.path)
                swapped.append(step)
            with refusing(swapped[-1].name):
                self._trace("sync")
                for folder in folders_of(swapped):
                    files.sync(folder)

    def _take_back(self, record: WriteRecord, cause: BaseException) -> None:
        """Restore what was renamed already, last first; a file edited meanwhile stays
        as it is."""
        temps: dict[Path, Path] = {}
        try:
            back = [
                step.inverse
                for step in reversed(record.steps)
                if journal.state_of(step) == "after"
            ]
            self._stage(back, temps)
            self._swap(record.root, back, temps)
            self._journals.of(record.root).unlink()
        except (OSError, MemError) as error:
            durable.discard(temps.values())
            hint = "some files are new, some old: the next write of mem will finish this one"
            raise RefusedError(f"{cause}; and taking it back: {error}", hint) from cause
        durable.remove_empty(record.made)

    def _recover(self) -> None:
        """Finish what killed writers left, those of other roots too, for a global file;
        but their trouble is not ours."""
        for pending in self._journals.pending():
            self._trace("recover")
            is_ours = pending == self._journals.own
            try:
                record = self._journals.legible(pending)
                if record is not None and (is_ours or Path(record.root).is_dir()):
                    self._recover_one(pending, record)
            except MemError:
                if is_ours:
                    raise

    def _recover_one(self, pending: Path, record: WriteRecord) -> None:
        folders = folders_of(record.steps)
        self._lock.sign("recover", folders, record.made)
        _discard_temps(record, folders)
        # Texts of files that are somebody else's by now are kept in copies.
        edited = journal.edited(record.steps, self._refused(record))
        copies = {
            step.name: self._copy(step) for step in edited if step.after is not None
        }
        # All others are finished as they were meant.
        steps_left = [step for step in record.steps if step not in edited]
        unfinished = [step for step in steps_left if journal.state_of(step) == "before"]
        try:
            self._finish(record, unfinished, {})
        except MemError:
            is_taken_back = pending not in self._journals.pending()
            if not is_taken_back:  # which settles it, too
                durable.discard(copies.values())
                raise
        for step in steps_left:
            self._told.append(f"finished an interrupted write of {step.name}")
        for name, copy in copies.items():
            self._told.append(f"{KEPT} {name} is kept in {copy}")

    def _refused(self, record: WriteRecord) -> list[Step]:
        """The steps that a link, or a journal that is not ours, leads out of our
        folders since the crash."""
        steps = []
        for step in record.steps:
            try:
                self._target(str(step.path), record.root)
            except RefusedError:
                steps.append(step)
        return steps

    def _copy(self, step: Step) -> Path:
        """Where its owner finds a text that can no longer be written."""
        copy = self._journals.aside(step.path.name)
        self._journals.save(copy, step.after or b"")
        return copy

    def _news(self) -> list[str]:
        """What was done for a killed writer, said once."""
        news = self._told
        self._told = []
        return news


def _discard_temps(record: WriteRecord, folders: Sequence[Path]) -> None:
    """Remove the temporary files of a writer that was killed."""
    temps = [path for path in map(Path, record.temps) if path.parent in folders]
    durable.discard(path for path in temps if durable.MARK in path.name)
    durable.sweep(folders)


def _is_source(step: Step) -> bool:
    """Sorted by it archives come first: True is greater."""
    return not step.path.name.endswith(ARCHIVE)


def _mode(patch: Patch, path: Path) -> int:
    """The permissions of the file; of a new archive those of the file whose leavings it
    keeps, of another new one, less the umask."""
    with refusing(patch.path):
        for model in (path, Path(source_of(str(path)))):
            if model.exists():
                return stat.S_IMODE(model.stat().st_mode)
    is_script = patch.after is not None and patch.after.startswith("#!")
    return 0o777 if is_script else 0o666


def _is_readable(data: bytes, patch: Patch) -> bool:
    """Whether a memory file with what a patch leaves could be read again."""
    return len(data) <= files.MEMORY_BYTES and not is_crowded(patch.after or "")


def _encoded(name: str, text: str | None) -> bytes | None:
    try:
        return None if text is None else text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{name}: a text that is no Unicode ({error.reason})", UNCHANGED
        ) from error


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def _instead(step: Step) -> str:
    """What a person can do about a write whose text was edited since; `step` would
    undo it."""
    from memcli.memory.parser import parse  # hooks write, and read no memory for it

    written, earlier = (
        {entry.id for entry in parse((text or b"").decode(), step.name).entries}
        for text in (step.before, step.after)
    )
    current = (read_if_there(step.path) or b"").decode("utf-8", "replace")
    added = [name[:8] for name in sorted(written - earlier) if name in current]
    skip = "mem undo --skip leaves it, and mem undo goes on with the write before"
    if not os.path.lexists(step.path):
        file = shlex.quote(str(step.path))
        return f"if git has it, git restore {file} brings it back; {skip}"
    if not added:
        return skip
    return f"mem retire {' '.join(added[:3])} takes it out as it is now; {skip}"
