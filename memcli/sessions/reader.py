"""Sessions of coding agents: from a file of any known format, told from its content, to
turns."""

import hashlib
import importlib
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from memcli.errors import DataError
from memcli.sessions import speakers
from memcli.sessions.formats import events, messages, parts, text
from memcli.sessions.gather import Gather, Line, Lines, decoded, mapping, parse
from memcli.sessions.model import Session
from memcli.storage.files import MAGIC, open_file

MAX_DOCUMENT: Final = 32 << 20
"""Bytes of the largest file that is one JSON document; JSON lines may be of any
size."""

Fits = Callable[[Mapping[str, Any]], object]
Reader = Callable[[Iterable[Line], Gather], None]


def _no_lines(lines: Iterable[Line], into: Gather) -> None:
    raise DataError("neither a database nor an export of OpenCode")


# The first record that a format of JSON lines knows decides, in this order.
_LINES: Final[dict[str, tuple[str, Fits, Reader]]] = {
    "gemini": ("Gemini CLI", parts.recognises, parts.read),
    "codex": ("Codex", events.recognises, events.read),
    "qwen": ("Qwen Code", parts.recognises_qwen, parts.read_qwen),
    "claude": ("Claude Code", messages.recognises, messages.read),
    "stream": ("stream-json", messages.recognises_event, messages.read),
    "copilot": ("Copilot CLI", events.recognises_copilot, events.read_copilot),
    "cursor": ("Cursor CLI", messages.recognises_cursor, messages.read_cursor),
    "chat": ("chat JSON (role, content)", messages.message_of, messages.read_chat),
    "opencode": ("OpenCode", lambda record: False, _no_lines),
    "aider": ("aider", lambda record: False, text.read_aider),
    "text": ("markdown or text with speakers", lambda record: False, text.read),
}
FORMATS: Final = tuple(_LINES)
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_BOM: Final = b"\xef\xbb\xbf"
_DOCUMENT: Final = "document"
_JSON = re.compile(rb'[{\[]\s*(?:["{\[\]}]|\Z)')
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class Position(NamedTuple):
    """How far a file was read: `offset`; its size and mtime (ns) then, its first line's
    hash."""

    size: int = 0
    mtime: int = 0
    offset: int = 0
    head: str = ""


START: Final = Position()


class Unknown(DataError):
    """None of the formats."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(
            what,
            hint
            or "known formats: " + ", ".join(title for title, *_ in _LINES.values()),
        )


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
    if not isinstance(source, (str, os.PathLike)):
        return [
            each._replace(name="-")
            for each in _sessions(source, "-", format, start, into)
        ]
    path = Path(source)
    with open_plain(path) as file:
        log = path.with_name(f"{path.name}-wal")  # of a database
        states = [each.stat() for each in (path, log) if each.exists()]
        size = sum(s.st_size for s in states)
        mtime = max(s.st_mtime_ns for s in states)
        magic = file.read(len(MAGIC))
        file.seek(0)
        if magic == MAGIC and format in ("", "opencode"):
            into.since = start.offset
            parts.read_database(path, into, folders)
            found = [each._replace(format="opencode") for each in into.sessions()]
        else:
            start = start if start.size <= size else START
            found = _sessions(file, str(path), format, start, into)
    return [_dated(each, path, size, mtime) for each in found]


def joined(session: Session, agent: Session) -> Session:
    """The session with the turns of its sub-agent, by their times; its last turn stays
    the last."""
    own = session.turns[:-1]
    last = session.turns[-1]
    rows = list(zip(accumulate((turn.time for turn in own), max), own, strict=True))
    rows += [
        (turn.time, turn) for turn in agent.turns if turn.time >= session.turns[0].time
    ]
    turns = (*(turn for _, turn in sorted(rows, key=lambda row: row[0])), last)
    skipped = session.skipped + agent.skipped
    cut = session.cut + agent.cut
    return session._replace(turns=turns, skipped=skipped, cut=cut)


def spoken(source: str | Path | BinaryIO) -> str:
    """The words of a session, of its person and its agent; of a text that is none, the
    text."""
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
    return "\n".join(
        turn.text for turn in turns if turn.origin in ("user", "assistant")
    )


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


def _sessions(
    file: BinaryIO, name: str, format: str, start: Position, into: Gather
) -> list[Session]:
    lines = Lines(file)
    head = lines.head()
    # Some formats are also kept as one document: only the content can tell.
    known = format if format not in ("chat", "gemini", "opencode") else ""
    kind = known or _told(head, lines, name)
    # A document has but one line, and it grows.
    first = head[0].data[: 64 if kind == _DOCUMENT else None] if head else b""
    mark = hashlib.sha256(first).hexdigest() if first else ""
    into.since = start.offset if start.head == mark else 0
    if kind == _DOCUMENT:
        kind = _read_document(file, name, into)
    elif kind := format or kind:
        try:
            _LINES[kind][2](lines, into)
        except DataError as error:
            raise Unknown(f"{name}: {error.what}", error.hint) from None
        into.skipped += lines.skipped
        into.end = max(into.end, into.since)
    return [each._replace(format=kind, head=mark) for each in into.sessions()]


def _read_document(file: BinaryIO, name: str, into: Gather) -> str:
    file.seek(0)
    data = file.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        size = f"{MAX_DOCUMENT >> 20} MB"
        raise DataError(
            f"{name}: one JSON document above {size}", "split it, or use JSON lines"
        )
    try:
        document = parse(data, MAX_DOCUMENT)
    except ValueError:
        into.skipped += 1
        return ""
    about = mapping(document)
    exported = isinstance(about.get("info"), dict) and isinstance(
        about.get("messages"), list
    )
    for kind, fits, read in (
        ("gemini", parts.recognises(about), parts.read_document),
        ("opencode", exported, parts.read_export),
        ("chat", messages.messages_of(document) is not None, messages.read_document),
    ):
        if fits:
            read(document, into)
            return kind
    raise Unknown(f"{name}: unknown format")


def _told(head: Sequence[Line], lines: Lines, name: str) -> str:
    filled = [data for line in head if (data := line.data.removeprefix(_BOM).strip())]
    if not filled:
        return _DOCUMENT if lines.skipped else ""
    first = filled[0]
    begun = [line.data for line in head if line.data[:1] in b"{\xef \t"]
    records = 0
    lined = sum(data[:1] == b"{" for data in filled) * 2 > len(filled)
    for data in begun:
        record = decoded(data)
        records += bool(record and isinstance(record, dict))
        for kind, (_, fits, _) in (
            _LINES.items() if lined and isinstance(record, dict) else ()
        ):
            if record and fits(record):
                return _DOCUMENT if kind == "gemini" and "messages" in record else kind
    if lined and records > 1:
        raise Unknown(f"{name}: unknown format")
    told = not isinstance(decoded(first), bytes)
    if _JSON.match(first) and not (len(filled) > 1 and told):
        torn = len(head) == 1 and not head[0].whole and not records
        return _DOCUMENT if records or not torn or first[:1] == b"[" else ""
    if first[:1] == b"[" and told:
        return _DOCUMENT
    data = b"\n".join(line.data for line in head)
    odd = len(_CONTROLS.findall(data))
    broken = data.decode("utf-8", "replace").count("\ufffd")
    if odd * 50 > len(data) or broken * 20 > len(data):
        raise Unknown(f"{name}: unknown format")
    return "aider" if first.lstrip().startswith(text.AIDER.encode()) else "text"
