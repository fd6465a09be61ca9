"""Lines of a file of any size, each with its place, and the JSON records in them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Final, NamedTuple

MAX_LINE: Final = 16 << 20
"""Bytes of the longest line that is looked at; a longer one is counted as skipped."""
MAX_RECORD: Final = 8 << 20
"""Bytes of the longest JSON record that is parsed, once images are out of it."""
HEAD: Final = 256 << 10
"""Bytes (in whole lines) from which the format is told, and a session that is read on knows itself.
"""
_LONG: Final = 64 << 10
_BASE64 = re.compile(rb'"[A-Za-z0-9+/_-]{2048,}+={0,2}"')


class Line(NamedTuple):
    """`number` from 1; `data` without its line end; `whole` is False for a last line without one."""

    number: int
    offset: int
    end: int
    data: bytes
    whole: bool


class Lines:
    """The lines of an open file: its head can be looked at before, and what is known skipped over."""

    def __init__(self, file: BinaryIO) -> None:
        self.skipped = 0
        self._file = file
        self._offset = 0
        self._number = 0
        self._head: list[Line] = []

    def head(self) -> list[Line]:
        """The first lines, at least one where there is one; they are still iterated over."""
        size = 0
        while not self._head or size < HEAD:
            line = self._next()
            if line is None:
                break
            self._head.append(line)
            size += len(line.data)
        return self._head

    def jump(self, offset: int) -> None:
        """Iterate over the head before `offset` and then over what stands from `offset` on."""
        if offset <= self._offset:
            return
        self._number += _newlines(self._file, offset - self._offset)
        self._offset = offset

    def __iter__(self) -> Iterator[Line]:
        head, self._head = self._head, []
        yield from head
        while line := self._next():
            yield line

    def _next(self) -> Line | None:
        """The next line that is no longer than `MAX_LINE`."""
        while data := self._file.readline(MAX_LINE):
            start, long = self._offset, False
            self._offset += len(data)
            while data[-1:] != b"\n" and (more := self._file.readline(MAX_LINE)):
                self._offset += len(more)
                data, long = more, True
            self._number += 1
            if not long:
                whole = data[-1:] == b"\n"
                return Line(self._number, start, self._offset, data.rstrip(b"\r\n"), whole)
            self.skipped += 1
        return None


_decode: Final = json.JSONDecoder().raw_decode


def _scanned(data: bytes) -> Any:
    """What `json.loads` gives for an object in UTF-8, without asking first what the bytes may be."""
    text = str(data, "utf-8", "surrogatepass")
    found, end = _decode(text)
    return found if end == len(text) else json.loads(text)


def _newlines(file: BinaryIO, size: int) -> int:
    """Read over `size` bytes; how many lines end in them."""
    count = 0
    while size > 0 and (block := file.read(min(size, 1 << 20))):
        count += block.count(b"\n")
        size -= len(block)
    return count


def parse(data: bytes, limit: int = MAX_RECORD) -> Any:
    """The JSON value in `data`, images out of it. Raises ValueError for whatever cannot be read."""
    if len(data) > _LONG:
        data = _BASE64.sub(b'""', data)
        if len(data) > limit:
            raise ValueError("too long")
    try:
        return _scanned(data) if data[:1] == b"{" else json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None


class Tally:
    """What reading lines leaves behind: how far it got, and how many lines were not understood."""

    def __init__(self) -> None:
        self.end = 0
        self.skipped = 0


Test = Callable[[bytes], bool]
Parse = Callable[[bytes], Any]


def records(
    lines: Iterable[Line], tally: Tally, wanted: Test | None = None, parse: Parse = parse
) -> Iterator[tuple[Line, Mapping[str, Any]]]:
    """The JSON objects of JSON lines. A torn last line is left for later, others are counted.

    Lines that are not `wanted` are passed over without being parsed, as long as they look whole.
    """
    for line in lines:
        data = line.data
        if (
            line.whole
            and wanted is not None
            and not wanted(data)
            and data[:1] == b"{"
            and data[-1:] == b"}"
        ):
            tally.end = line.end
            continue
        try:
            record = parse(data) if data else None
        except ValueError:
            if not line.whole:
                return
            tally.skipped += 1
            record = None
        tally.end = line.end
        if isinstance(record, dict):
            yield line, record
