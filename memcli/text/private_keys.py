"""Private keys, whole or torn, by the marks of their first and last lines."""

import re
from collections.abc import Iterator
from itertools import zip_longest

from memcli.text.chosen import is_masked
from memcli.text.matching import Span, regex, verbose

_MOST = 8000
"""How far the lines of a key without an end are looked for (characters)."""


@verbose
def _key_mark() -> str:
    """The first or the last line of a private key."""
    return r"-{4,5} [ ]? (BEGIN|END) [ ] [A-Z0-9 ]{0,40} PRIVATE[ ]KEY (?:[ ]BLOCK)? [ ]? -{4,5}"


@verbose
def _key_text() -> str:
    """Lines of base64 and what stands between them."""
    return r"""
        (?> (?: \\+[nrt] | [\s>|"'+,:] | [A-Za-z0-9+/=]{24,}+ )* )
        (?: [A-Za-z0-9+/=]{1,23}+ (?=["'\s\\]*+\Z) )?
    """


@verbose
def _key_part() -> str:
    """A line of base64, with the short one that may end the key."""
    return r"""
        (?<![A-Za-z0-9+/=]) [A-Za-z0-9+/]{16,}+ ={0,2}
        (?: [^A-Za-z0-9]{1,12} n? [A-Za-z0-9+/]{1,15} ={1,2} )?
    """


def private_keys(text: str) -> Iterator[Span]:
    """The blocks of private keys; one that is cut off ends with its base64 text."""
    marks = list(_key_mark().finditer(text))
    covered = 0
    for mark, after in zip_longest(marks, marks[1:]):
        if mark.start() < covered:
            continue
        start, end = mark.span()
        if mark[1] == "END":
            start = _head_of_key(text, covered, start)
        else:
            end = _end_of_key(text, end, after)
        if end - start > len(mark[0]):
            yield Span("private-key", start, end)
        covered = end


def _end_of_key(text: str, begin: int, after: re.Match[str] | None) -> int:
    """Where the key ends whose first line ends at `begin`, with the mark `after` it."""
    if after is None:
        return _tail_of_key(text, begin, len(text))
    ended = after[1] == "END"
    if ended and _is_key_body(text[begin : after.start()]):
        return after.end()
    tail = _tail_of_key(text, begin, after.start())
    return after.end() if ended and tail > begin else tail


def _is_key_body(body: str) -> bool:
    lines = regex(r"(?>(?:\\+[nrt]|[\s>|\"'+,])+)").split(body)
    full = regex(r"[A-Za-z0-9+/=]{16,}+")
    return (body[:1].isspace() or body[:1] == "\\") and any(map(full.fullmatch, lines))


@verbose
def _digit_and_capital() -> str:
    """Base64 has both before long."""
    return r" (?= \D* \d ) (?= [^A-Z]* [A-Z] ) "


def _tail_of_key(text: str, start: int, end: int) -> int:
    """Where the text of a key ends whose END is missing, or hidden by what stands
    between lines."""
    body = _key_text().match(text, start, end)
    if body is not None and regex(r"[A-Za-z0-9+/=]{24}").search(body[0]):
        return start + len(body[0].rstrip())
    last = start
    missed = 0
    for found in _key_part().finditer(text, start, min(end, start + _MOST)):
        if not is_masked(found[0]) and _digit_and_capital().match(found[0]):
            last = found.end()
            missed = 0
        else:
            missed += 1
        if missed > 8:
            break
    return last


@verbose
def _before_mark() -> str:
    """Nothing but what may stand before the mark of a key on its line."""
    return r"""[\s>|"'+\#/*-]*+"""


@verbose
def _key_line() -> str:
    """A line of base64 with what may stand around it."""
    return r"""[\s>|"'+\#/*-]*+ [A-Za-z0-9+/=]{4,}+ [\s\\nr"']*+"""


def _head_of_key(text: str, floor: int, end: int) -> int:
    """Where the base64 lines above an END line begin whose BEGIN is missing."""
    position = text.rfind("\n", floor, end) + 1 or end
    if not _before_mark().fullmatch(text, position, end):
        position = end  # what stands before the mark on its line is the key's, too
    while position > floor:
        line = max(floor, text.rfind("\n", floor, position - 1) + 1)
        if not _key_line().fullmatch(text, line, position):
            break
        position = line
    return position if end - position >= 24 else end
