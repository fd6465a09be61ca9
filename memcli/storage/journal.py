"""Journals and undo records of writes, as files in the state folder, one folder per
root."""

import hashlib
import json
import os
import zlib
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memcli.errors import DataError, RefusedError
from memcli.memory.diff import taken_back
from memcli.memory.values import ARCHIVE, source_of
from memcli.storage import durable
from memcli.storage.durable import (
    NO_STATE,
    UNCHANGED,
    is_plain,
    read_if_there,
    refusing,
)
from memcli.storage.files import private_dir

UNDO_RECORDS = 20
UNDO_BYTES = 64 << 20


class StaleError(RefusedError):
    """A file changed between plan and write: read it and plan again."""


class Step(NamedTuple):
    """One file of a write: `name` as the caller gave it, `path` where it really is."""

    name: str
    path: Path
    before: bytes | None
    after: bytes | None
    mode: int

    @property
    def inverse(self) -> "Step":
        """The step that undoes this one."""
        return self._replace(before=self.after, after=self.before)


class WriteRecord(NamedTuple):
    """A write as journal and undo record: the directories it `made`, the record it
    `undoes`. It has no steps if its texts were forgotten."""

    root: str
    verb: str
    time: str
    steps: tuple[Step, ...]
    temps: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    undoes: str = ""
    note: tuple[str, ...] = ()

    def cleaned(self, clean: Callable[[str], str]) -> "WriteRecord":
        """The record with `clean` applied to its texts."""
        steps = []
        for step in self.steps:
            before, after = (
                None if text is None else clean(text.decode()).encode()
                for text in (step.before, step.after)
            )
            # There is nothing to undo about an empty file.
            if (before or b"") != (after or b""):
                steps.append(step._replace(before=before, after=after))
        return self._replace(steps=tuple(steps), temps=(), made=(), note=())

    def says(self, needles: Sequence[bytes]) -> bool:
        """Whether one of these occurs in a text before or after the write."""
        texts = [step.before or b"" for step in self.steps]
        texts += [step.after or b"" for step in self.steps]
        return any(needle in text for needle in needles for text in texts)


class Journals:
    """The journals and undo records of one root among those of all roots of a user."""

    def __init__(self, state: Path, root: str, trace: Callable[[str], None]) -> None:
        self.state = state
        self.own = self.of(root)
        self._undo = state / "undo" / _key(root)
        self._trace = trace

    def of(self, root: str) -> Path:
        """The journal of a write of this root that is under way."""
        return self.state / "pending" / f"{_key(root)}.json"

    def pending(self) -> list[Path]:
        """The journals of unfinished writes of all roots."""
        return _records(self.own.parent)

    def newest(self) -> Path | None:
        """The undo record of the last write of this root."""
        return max(_records(self._undo), default=None)

    def notes(self, verb: str) -> list[tuple[str, ...]]:
        """The notes of a verb's writes that undo still knows, oldest first."""
        notes = []
        for path in _records(self._undo):
            with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                fields = json.loads(read_if_there(path) or b"")
                if fields["verb"] == verb and fields.get("note"):
                    notes.append(tuple(fields["note"]))
        return notes

    def save(self, path: Path, data: bytes) -> None:
        """Create or replace a private state file atomically. For a journal, this is the
        commit."""
        with refusing(self.state):
            self._trace("journal")
            private_dir(path.parent)
            durable.put(path, data, 0o600, self._trace)

    def close(self, record: WriteRecord) -> None:
        """Make the journal the newest undo record; for an undo, delete it and the
        record it undid."""
        journal = self.of(record.root)
        undo = self.state / "undo" / _key(record.root)
        hint = "the files are written; the next write of mem will clean up"
        with refusing(self.state, hint):
            self._trace("done")
            if record.undoes:
                (undo / os.path.basename(record.undoes)).unlink(missing_ok=True)
                journal.unlink()
                return
            known = _records(private_dir(undo))
            numbers = (int(path.stem) for path in known if path.stem.isdecimal())
            journal.replace(undo / f"{max(numbers, default=0) + 1:08}.json")
            total = 0
            for rank, path in enumerate(reversed(_records(undo))):
                total += path.stat().st_size
                if rank and (rank >= UNDO_RECORDS or total > UNDO_BYTES):
                    path.unlink()

    def forget(self, needles: Sequence[str], clean: Callable[[str], str]) -> None:
        """Clean the texts of all undo records in which one of these occurs; delete
        unreadable records, and those left without text. The last record of a root
        stays, so that an undo does not reach an older write instead."""
        encoded = [needle.encode() for needle in needles]
        with refusing(self.state):
            for key in os.listdir(private_dir(self._undo.parent)):
                folder = self._undo.parent / key
                durable.sweep([folder])
                records = _records(folder)
                for path in records:
                    try:
                        self._clean(path, encoded, clean, is_last=path == records[-1])
                    except (DataError, OSError, UnicodeDecodeError):
                        path.unlink(missing_ok=True)

    def _clean(
        self,
        path: Path,
        needles: Sequence[bytes],
        clean: Callable[[str], str],
        *,
        is_last: bool,
    ) -> None:
        record = unpacked(path)
        if not record.says(needles):
            return
        cleaned = record.cleaned(clean)
        if cleaned.says(needles):
            cleaned = cleaned._replace(steps=())
        if cleaned.steps or is_last:
            self.save(path, packed(cleaned))
        else:
            path.unlink()

    def legible(self, journal: Path) -> WriteRecord | None:
        """The record of a journal; None after moving an invalid one aside, so that it
        cannot block later writes."""
        try:
            record = unpacked(journal)
            if journal != self.of(record.root):
                raise DataError(f"{journal}: belongs to another root")
            return record
        except DataError:
            with refusing(self.state):
                journal.replace(self.aside(journal.name))
            return None

    def aside(self, name: str) -> Path:
        """A new name in the folder for files moved aside."""
        folder = self.state / "aside"
        with refusing(self.state, NO_STATE):
            private_dir(folder)
        return folder / f"{os.urandom(4).hex()}-{name}"


def state_of(step: Step) -> str:
    """Which content the file has: "before", "after", or "other" if somebody else
    changed it."""
    with refusing(step.name):
        if not is_plain(step.path):
            return "other"
        data = read_if_there(step.path)
    if data == step.after:
        return "after"
    return "before" if data == step.before else "other"


def rebased(step: Step) -> Step | None:
    """The step applied to the current memory file; None if edits overlap with it."""
    is_memory = step.name.endswith(".md") and is_plain(step.path)
    if not is_memory or step.before is None:
        return None
    with refusing(step.name), suppress(UnicodeDecodeError):
        current = read_if_there(step.path) or b""
        text = taken_back(
            before=(step.after or b"").decode(),
            after=step.before.decode(),
            current=current.decode(),
        )
        if text is not None:
            return step._replace(before=current, after=text.encode())
    return None


def check(steps: Iterable[Step]) -> None:
    """Raise if a file is not what the plan was made from."""
    for step in steps:
        if not is_plain(step.path):
            raise RefusedError(f"{step.name}: not a regular file", UNCHANGED)
        with refusing(step.name):
            same = read_if_there(step.path) == step.before
        if not same:
            message = f"{step.name}: changed while mem was at work"
            raise StaleError(message, f"{UNCHANGED}; run it again")


def edited(steps: Sequence[Step], refused: Sequence[Step]) -> list[Step]:
    """The steps to skip: refused, changed by others, or without their archive."""
    edited_steps = [
        step for step in steps if step in refused or state_of(step) == "other"
    ]
    paths = [str(step.path) for step in edited_steps]
    sources = {source_of(path) for path in paths if path.endswith(ARCHIVE)}
    for step in steps:
        if str(step.path) in sources and state_of(step) == "before":
            edited_steps.append(step)
    return edited_steps


def folders_of(steps: Iterable[Step]) -> list[Path]:
    """The folders of the files, each once, in order."""
    return list(dict.fromkeys(step.path.parent for step in steps))


def packed(record: WriteRecord) -> bytes:
    """A record in its stored form."""
    steps = []
    for step in record.steps:
        before = _squeezed(step.before)
        after = _squeezed(step.after)
        steps.append((step.name, str(step.path), before, after, step.mode))
    fields = record._asdict() | {"version": 1, "steps": steps}
    return json.dumps(fields).encode()


def unpacked(path: Path) -> WriteRecord:
    """Parse a stored record. Raises DataError if the file is not a journal."""
    with refusing(path, NO_STATE):
        data = read_if_there(path)
    try:
        fields = json.loads(data or b"")
        return WriteRecord(
            root=fields["root"],
            verb=fields["verb"],
            time=fields["time"],
            steps=tuple(_step(*row) for row in fields["steps"]),
            temps=tuple(fields.get("temps", ())),
            made=tuple(fields.get("made", ())),
            undoes=fields["undoes"],
            note=tuple(fields.get("note", ())),
        )
    except (ValueError, KeyError, TypeError, RecursionError, zlib.error) as error:
        raise DataError(f"{path}: not a journal of mem", "remove it") from error


def _step(
    name: str, path: str, before: str | None, after: str | None, mode: int
) -> Step:
    return Step(
        name=name,
        path=Path(path),
        before=_unsqueezed(before),
        after=_unsqueezed(after),
        mode=mode,
    )


def _squeezed(data: bytes | None) -> str | None:
    if data is None:
        return None
    return b2a_base64(zlib.compress(data, 1), newline=False).decode()


def _unsqueezed(text: str | None) -> bytes | None:
    return None if text is None else zlib.decompress(a2b_base64(text))


def _key(root: str) -> str:
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:16] if root else "global"


def _records(folder: Path) -> list[Path]:
    with refusing(folder, NO_STATE), suppress(FileNotFoundError):
        names = sorted(os.listdir(folder))
        return [folder / name for name in names if name.endswith(".json")]
    return []
