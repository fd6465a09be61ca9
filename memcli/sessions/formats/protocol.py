"""What a format of sessions says of itself: how it is recognised, how it is read, and
which files of its agent's store are sessions."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memcli.errors import DataError
from memcli.sessions.gather import Gather, Lines, Record
from memcli.storage.sqlite import Owner

Keys = tuple[str, ...]
"""The way to a value within nested records."""


def never(record: Record) -> bool:
    """For a format that has no JSON lines."""
    return False


def no_lines(lines: Lines, into: Gather) -> None:
    """For a format that has no lines at all."""
    raise DataError("neither a database nor an export of OpenCode")


class Document(NamedTuple):
    """The form of a format in which the whole file is one JSON document. A line that
    is recognised and has the key `in_one_line` is the document as well."""

    recognises: Callable[[Any], bool]
    read: Callable[[Any, Gather], None]
    in_one_line: str = ""

    def is_line(self, record: Record) -> bool:
        """Whether a record of this format is the document."""
        return bool(self.in_one_line) and self.in_one_line in record


class Store(NamedTuple):
    """Where an agent keeps sessions, and what tells whose a file is: its records, by
    the way to the session's name and to the folder, or `owner`, which is given the
    file, the store and the folders that are looked for."""

    files: tuple[str, ...]
    session: Keys = ("sessionId",)
    folder: Keys = ("cwd",)
    owner: Callable[[Path, Path, Sequence[str]], Owner] | None = None


class Format(NamedTuple):
    """One format; `recognises` is asked for the first records of JSON lines."""

    name: str
    title: str
    recognises: Callable[[Record], object] = never
    read: Callable[[Lines, Gather], None] = no_lines
    document: Document | None = None
    store: Store | None = None
