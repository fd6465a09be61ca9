"""A marked section of ours in a text file that belongs to somebody else: put in, replaced, taken
out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from memcli.errors import UsageError

TITLE = "mem: begin (mem init; remove with mem init --remove)"
OWN = " *"
"""In the first line: the file was made for the section and goes with it."""
GLUE = "+"
"""In the first line, once for each line end before it that is ours, too."""


class Marks(NamedTuple):
    """How the first and the last line of a section are written as comments."""

    open: str = "# "
    close: str = ""

    @property
    def end(self) -> str:
        return f"{self.open}mem: end{self.close}"

    def begin(self, glue: int = 0, *, own: bool = False) -> str:
        plus = " " + GLUE * glue if glue else ""
        return f"{self.open}{TITLE}{OWN if own else ''}{plus}{self.close}"


HASH = Marks()
HTML = Marks("<!-- ", " -->")


class Found(NamedTuple):
    """Where a section stands: from the line ends that it brought to the end of its last line."""

    start: int
    begin: int
    end: int
    glue: int
    own: bool


def find(text: str, marks: Marks = HASH) -> Found | None:
    """The first section of ours in `text`. Raises UsageError with its line when its end is missing."""
    head = f"{re.escape(marks.open + TITLE)}( \\*)?(?: (\\++))?{re.escape(marks.close)}"
    first = re.search(rf"^{head}\r?$", text, re.MULTILINE)
    if first is None:
        return None
    last = re.compile(rf"^{re.escape(marks.end)}\r?(?:\n|\Z)", re.MULTILINE).search(
        text, first.end()
    )
    if last is None:
        line = text.count("\n", 0, first.start()) + 1
        raise UsageError(f"{line}: a section of mem without its end", f"add the line {marks.end}")
    glue = len(first[2] or "")
    return Found(
        _before_ends(text, first.start(), glue), first.start(), last.end(), glue, bool(first[1])
    )


def _before_ends(text: str, at: int, count: int) -> int:
    for _ in range(count):
        if not text.endswith("\n", 0, at):
            break
        at -= 2 if text.endswith("\r\n", 0, at) else 1
    return at


def eol_of(text: str) -> str:
    """The line end that `text` uses."""
    return "\r\n" if "\r\n" in text else "\n"


def put(
    text: str | None,
    lines: Sequence[str],
    marks: Marks = HASH,
    *,
    at: int = -1,
    blank: bool = False,
) -> str:
    """`text` with a section of `lines`, once: an older one is replaced where it stands.

    A new one goes to the offset `at`, by default the end, there after an empty line with `blank`.
    None is no file: the section then says that the file is its own.
    """
    found = find(text or "", marks)
    eol = eol_of(text or "")
    if found is not None and text is not None:
        new = _written(lines, marks.begin(found.glue, own=found.own), marks, eol)
        return text[: found.begin] + new + text[found.end :]
    before, after = ("", "") if text is None else (text, "") if at < 0 else (text[:at], text[at:])
    glue = _glue(before, blank=blank and at < 0)
    new = eol * glue + _written(lines, marks.begin(glue, own=text is None), marks, eol)
    return before + new + after


def _glue(before: str, *, blank: bool) -> int:
    if not before:
        return 0
    return (not before.endswith("\n")) + blank


def _written(lines: Sequence[str], begin: str, marks: Marks, eol: str) -> str:
    return eol.join([begin, *lines, marks.end, ""])


def drop(text: str, marks: Marks = HASH) -> str | None:
    """`text` as it was before `put`; None when the file was made for the section and holds nothing
    else.
    """
    while (found := find(text, marks)) is not None:
        text = text[: found.start] + text[found.end :]
        if found.own and not text:
            return None
    return text
