"""Private keys in a text: whole, cut off, or folded into one line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from memcli.text.matching import Span, regex

KEY_HINT: Final = "private key"


_KEY_MARK: Final = r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"


_KEY_TEXT: Final = (
    r"""(?:\\+[nrt]|[\s>|"'+,:]|[A-Za-z0-9+/=]{24,}+)*+(?:[A-Za-z0-9+/=]{1,23}+(?=["'\s\\]*+\Z))?"""
)


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
            start, end = (
                mark.start(),
                _tail_of_key(text, mark.end(), after.start() if after else len(text)),
            )
        if end - start > len(mark[0]):
            yield Span("private-key", start, end)
        covered = end


def _is_key_body(body: str) -> bool:
    lines = regex(r"(?:\\+[nrt]|[\s>|\"'+,])++").split(body)
    if not body[:1].isspace() and not body.startswith("\\"):
        return False
    return any(len(line) >= 16 and regex(r"[A-Za-z0-9+/=]++").fullmatch(line) for line in lines)


def _tail_of_key(text: str, start: int, end: int) -> int:
    body = regex(_KEY_TEXT).match(text, start, end)
    if body is None or not regex(r"[A-Za-z0-9+/=]{24}").search(body[0]):
        return start
    return start + len(body[0].rstrip())


def _head_of_key(text: str, floor: int, end: int) -> int:
    """Where the base64 lines above an END line begin whose BEGIN is missing."""
    at = end
    while at > floor:
        line = max(floor, text.rfind("\n", floor, at - 1) + 1)
        if not regex(r"[\s>|\"'+]*+[A-Za-z0-9+/=]{4,}+[\s\\nr\"']*+").fullmatch(text, line, at):
            break
        at = line
    return at if end - at >= 24 else end
