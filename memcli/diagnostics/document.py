"""A memory file that is examined, the row that says what was found, and where it stands in the
file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memcli.memory.levels import Place
from memcli.memory.parser import MemoryFile
from memcli.memory.values import Entry

PASS, WARN, FAIL, INFO = "PASS", "WARN", "FAIL", "INFO"


class Check(NamedTuple):
    """One row: what was looked at, how it stands, what was found, the command that mends it."""

    name: str
    status: str
    detail: str
    hint: str = ""
    path: str = ""
    line: int = 0


class Document(NamedTuple):
    """A memory file that could be read; `tree` is the git work tree it lies in, `size` is in bytes."""

    memory: MemoryFile
    place: Place
    tree: str
    size: int

    @property
    def path(self) -> str:
        return self.memory.path


def key_line(memory: MemoryFile, entry: Entry, key: str) -> int:
    """The line of a key in an entry's front matter; that of the body when it cannot be told."""
    found = re.compile(rf"(?<![^\r\n]){key}[ \t]*:").search(memory.text, entry.start, entry.end)
    return next(lines_at(memory.text, [found.start()])) if found else entry.line


def lines_at(text: str, offsets: Iterable[int]) -> Iterator[int]:
    """The line, from 1, of each of these ascending offsets; a lone CR ends a line, too."""
    scan = re.sub(r"\r(?!\n)", "\n", text) if "\r" in text else text
    at, line = 0, 1
    for offset in offsets:
        line += scan.count("\n", at, offset)
        at = max(at, offset)
        yield line
