"""Sessions of coding agents: turns from a file of any known format, which is
recognised by its content."""

import hashlib
import importlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from memcli.errors import DataError
from memcli.sessions import speakers
from memcli.sessions.formats import aider, opencode, registry
from memcli.sessions.gather import Gather, Line, Lines, decoded, parse
from memcli.sessions.model import Session
from memcli.storage.files import MAGIC, open_file, storable

MAX_DOCUMENT = 32 << 20
"""Bytes of the largest file that is one JSON document; JSON lines may be of any
size."""
FORMATS = tuple(registry.FORMATS)
_ZSTD = b"\x28\xb5\x2f\xfd"
_BOM = b"\xef\xbb\xbf"
_DOCUMENT = "document"
_JSON = re.compile(rb'[{\[]\s*(?:["{\[\]}]|\Z)')
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class Position(NamedTuple):
    """How far a file was read: `offset`; its size and mtime (ns) then, its first line's
    hash."""

    size: int = 0
    mtime: int = 0
    offset: int = 0
    head: str = ""


START = Position()


class Unknown(DataError):
    """None of the formats."""

    def __init__(self, what: str, hint: str = "") -> None:
        titles = ", ".join(form.title for form in registry.FORMATS.values())
        super().__init__(what, hint or f"known formats: {titles}")


def read_all(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    format: str = "",
    start: Position = START,
    seen: set[str] | None = None,
    folders: Sequence[str] = (),
    brief: int = 0,
) -> list[Session]:
    """All sessions in a file, at least one; of a database those of `folders`. With
    `start` only what follows it, unless the file was replaced or has shrunk; events in
    `seen` are passed over, and those read are added; for `brief` see `Gather`. Raises
    Unknown, DataError, OSError."""
    if format and format not in FORMATS:
        raise Unknown(f"{format}: unknown format")
    into = Gather(seen=seen, brief=brief)
    if isinstance(source, (str, os.PathLike)):
        return _read_file(Path(source), format, start, into, folders)
    sessions = _read(source, "-", format, start, into)
    return [session._replace(name="-") for session in sessions]


def _read_file(
    path: Path, format: str, start: Position, into: Gather, folders: Sequence[str]
) -> list[Session]:
    # Cursor marks what a sub-agent was told by nothing but its folder.
    into.by_agent = path.parent.name == "subagents"
    with open_plain(path) as file:
        log = path.with_name(f"{path.name}-wal")  # of a database
        states = [part.stat() for part in (path, log) if part.exists()]
        size = sum(state.st_size for state in states)
        mtime = storable(max(state.st_mtime_ns for state in states))
        is_database = file.read(len(MAGIC)) == MAGIC
        file.seek(0)
        if is_database and format in ("", "opencode"):
            into.since = start.offset
            opencode.read_database(path, into, folders)
            sessions = [
                session._replace(format="opencode") for session in into.sessions()
            ]
        else:
            start = start if start.size <= size else START
            sessions = _read(file, str(path), format, start, into)
    return [_dated(session, path, size, mtime) for session in sessions]


def joined(session: Session, agent: Session) -> Session:
    """The session with the turns of its sub-agent in order of time; its last turn
    stays last."""
    *before, last = session.turns
    times = accumulate((turn.time for turn in before), max)
    timed = list(zip(times, before, strict=True))
    begun = session.turns[0].time
    timed += [(turn.time, turn) for turn in agent.turns if turn.time >= begun]
    timed.sort(key=lambda pair: pair[0])
    return session._replace(
        turns=(*(turn for _, turn in timed), last),
        skipped=session.skipped + agent.skipped,
        cut=session.cut + agent.cut,
    )


def spoken(source: str | Path | BinaryIO) -> str:
    """The words of a session's person and agent; a text that is no session is
    returned as it is."""
    try:
        turns = [turn for session in read_all(source) for turn in session.turns]
    except Unknown:
        opened = (
            open_file(source)
            if isinstance(source, (str, Path))
            else nullcontext(source)
        )
        with opened as file:
            file.seek(0)
            return file.read(MAX_DOCUMENT).decode("utf-8", "replace")
    words = (turn.text for turn in turns if turn.origin in ("user", "assistant"))
    return "\n".join(words)


@contextmanager
def open_plain(path: Path) -> Iterator[BinaryIO]:
    """A session file's bytes, decompressed where they have to be. Raises DataError,
    OSError."""
    with open_file(path, buffer=1 << 18) as file:
        packed = file.read(4) == _ZSTD
        file.seek(0)
        try:
            yield _decompressed(file, path) if packed else file
        except Exception as error:
            # Each of the modules has an error of its own, all of the same name.
            if not isinstance(error, EOFError) and type(error).__name__ != "ZstdError":
                raise
            raise DataError(f"{path}: damaged archive: {error}") from None


def _decompressed(file: BinaryIO, path: Path) -> BinaryIO:
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        with suppress(ImportError):
            return io.BufferedReader(importlib.import_module(name).open(file, "rb"))
    hint = "use Python 3.14, or install zstandard, or run unzstd"
    raise DataError(f"{path}: skipped: compressed", hint)


def _dated(session: Session, path: Path, size: int, mtime: int) -> Session:
    time = speakers.when(mtime // 10**9)
    stem = re.sub(r"[^\w.:@-]", "-", path.name.split(".jsonl")[0])[:128]
    started = session.started or time
    ended = session.ended or time
    session = session._replace(id=session.id or stem, started=started, ended=ended)
    return session._replace(name=path.name, size=size, mtime=mtime)


def _read(
    file: BinaryIO, name: str, format: str, start: Position, into: Gather
) -> list[Session]:
    lines = Lines(file)
    head = lines.head()
    # Some formats are also kept as one document: only the content can tell.
    settled = format not in ("", "chat", "gemini", "opencode")
    kind = format if settled else _format_of(head, lines, name)
    # A document has but one line, and it grows.
    first = head[0].data[: 64 if kind == _DOCUMENT else None] if head else b""
    mark = hashlib.sha256(first).hexdigest() if first else ""
    into.since = start.offset if start.head == mark else 0
    if kind == _DOCUMENT:
        kind = _read_document(file, name, into)
    else:
        kind = format or kind
        _read_lines(lines, name, kind, into)
    return [session._replace(format=kind, head=mark) for session in into.sessions()]


def _read_lines(lines: Lines, name: str, kind: str, into: Gather) -> None:
    if not kind:
        return
    try:
        registry.FORMATS[kind].read(lines, into)
    except DataError as error:
        raise Unknown(f"{name}: {error.what}", error.hint) from None
    into.skipped += lines.skipped
    into.end = max(into.end, into.since)


def _read_document(file: BinaryIO, name: str, into: Gather) -> str:
    """Read a JSON document; its format, "" where it cannot be parsed."""
    file.seek(0)
    data = file.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        size = f"{MAX_DOCUMENT >> 20} MB"
        what = f"{name}: one JSON document above {size}"
        raise DataError(what, "split it, or use JSON lines")
    try:
        document = parse(data, MAX_DOCUMENT)
    except ValueError:
        into.skipped += 1
        return ""
    for kind, form in registry.FORMATS.items():
        if form.document and form.document.recognises(document):
            form.document.read(document, into)
            return kind
    raise Unknown(f"{name}: unknown format")


def _format_of(head: Sequence[Line], lines: Lines, name: str) -> str:
    """The format of a file by its first lines; "" where there is nothing to tell it
    by."""
    stripped = (line.data.removeprefix(_BOM).strip() for line in head)
    filled = [data for data in stripped if data]
    if not filled:
        return _DOCUMENT if lines.skipped else ""
    records = sum(data.startswith(b"{") for data in filled)
    if records * 2 > len(filled) and (kind := _of_records(head, name)):
        return kind
    document = _of_document(head, filled)
    return _of_text(head, filled[0], name) if document is None else document


def _of_records(head: Sequence[Line], name: str) -> str:
    """The format that knows the first of the records it can know."""
    count = 0
    for record in filter(None, map(_record, head)):
        count += 1
        for kind, form in registry.FORMATS.items():
            if form.recognises(record):
                whole = form.document and form.document.is_line(record)
                return _DOCUMENT if whole else kind
    if count > 1:
        raise Unknown(f"{name}: unknown format")
    return ""


def _record(line: Line) -> dict[str, Any] | None:
    value = decoded(line.data) if line.data[:1] in b"{\xef \t" else None
    return value if isinstance(value, dict) else None


def _of_document(head: Sequence[Line], filled: Sequence[bytes]) -> str | None:
    """Whether it is one JSON document; "" for one that is still being written, None
    for none."""
    first = filled[0]
    parses = not isinstance(decoded(first), bytes)
    if parses and first.startswith(b"["):
        return _DOCUMENT
    several = len(filled) > 1 and parses
    if several or not _JSON.match(first):
        return None
    begun = len(head) == 1 and not head[0].whole and not _record(head[0])
    return "" if begun and not first.startswith(b"[") else _DOCUMENT


def _of_text(head: Sequence[Line], first: bytes, name: str) -> str:
    data = b"\n".join(line.data for line in head)
    unusual = len(_CONTROLS.findall(data))
    broken = data.decode("utf-8", "replace").count("\ufffd")
    if unusual * 50 > len(data) or broken * 20 > len(data):
        raise Unknown(f"{name}: unknown format")
    return "aider" if first.startswith(aider.START.encode()) else "text"
