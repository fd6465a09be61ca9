"""Private keys in a text: whole, cut off, or folded into one line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from memcli.text.credentials import is_masked
from memcli.text.matching import Span, regex

KEY_HINT: Final = "private key"
_KEY_MARK: Final = r"-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_KEY_TEXT: Final = (
    r"""(?:\\+[nrt]|[\s>|"'+,:]|[A-Za-z0-9+/=]{24,}+)*+(?:[A-Za-z0-9+/=]{1,23}+(?=["'\s\\]*+\Z))?"""
)
# Between the lines of a key may stand numbers, marks of diffs and comments, names of files, escapes.
_KEY_PART: Final = r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{16,}+={0,2}(?:[^A-Za-z0-9]{1,12}n?[A-Za-z0-9+/]{1,15}={1,2})?"
_KEY_MOST: Final = 8000


def private_keys(text: str) -> Iterator[Span]:
    """PEM, OpenSSH and PGP private key blocks; a block that is cut off ends with its base64 text."""
    marks = list(regex(_KEY_MARK).finditer(text))
    covered = 0
    for mark, after in zip(marks, [*marks[1:], None], strict=False):
        if mark.start() < covered:
            continue
        if mark[1] == "END":
            start, end = _head_of_key(text, covered, mark.start()), mark.end()
        elif after and after[1] == "END" and _is_key_body(text[mark.end() : after.start()]):
            start, end = mark.start(), after.end()
        else:
            stop = after.start() if after else len(text)
            start, end = mark.start(), _tail_of_key(text, mark.end(), stop)
            if end > mark.end() and after and after[1] == "END":
                end = after.end()
        if end - start > len(mark[0]):
            yield Span("private-key", start, end)
        covered = end


def _is_key_body(body: str) -> bool:
    lines = regex(r"(?:\\+[nrt]|[\s>|\"'+,])++").split(body)
    if not body[:1].isspace() and not body.startswith("\\"):
        return False
    return any(len(line) >= 16 and regex(r"[A-Za-z0-9+/=]++").fullmatch(line) for line in lines)


def _tail_of_key(text: str, start: int, end: int) -> int:
    """Where the text of a key ends whose END is missing, or hidden by what stands between lines."""
    body = regex(_KEY_TEXT).match(text, start, end)
    if body is not None and regex(r"[A-Za-z0-9+/=]{24}").search(body[0]):
        return start + len(body[0].rstrip())
    last, missed = start, 0
    for part in regex(_KEY_PART).finditer(text, start, min(end, start + _KEY_MOST)):
        if not is_masked(part[0]) and regex(r"(?=\D*\d)(?=[^A-Z]*[A-Z])").match(part[0]):
            last, missed = part.end(), 0
        elif (missed := missed + 1) > 8:
            break
    return last


def _head_of_key(text: str, floor: int, end: int) -> int:
    """Where the base64 lines above an END line begin whose BEGIN is missing."""
    at = end
    while at > floor:
        line = max(floor, text.rfind("\n", floor, at - 1) + 1)
        if not regex(r"[\s>|\"'+]*+[A-Za-z0-9+/=]{4,}+[\s\\nr\"']*+").fullmatch(text, line, at):
            break
        at = line
    return at if end - at >= 24 else end
