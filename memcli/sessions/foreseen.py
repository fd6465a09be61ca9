"""What a file will say once an edit tool has done what it is told. Pure."""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from memcli.sessions.tools import PATCHES, shell_line
from memcli.text.matching import verbose

Names = Callable[[str], bool]
"""Whether a name in a call is that of the file."""


def texts_after(text: str, given: Mapping[str, Any], is_file: Names) -> list[str]:
    """The texts that a file may have after a tool's call; none where its input does not
    tell."""
    text = _with_line_feeds(text)
    patches = [shell_line(given), *map(given.get, PATCHES)]
    for patch in patches:
        if isinstance(patch, str) and "*** Begin Patch" in patch:
            return list(_patched(text, _with_line_feeds(patch), is_file))
    edits = [given]
    for value in given.values():
        items = value if isinstance(value, (list, tuple)) else ()
        edits += [item for item in items if isinstance(item, dict)]
    changes = [change for edit in edits if (change := _change(edit))]
    # A tool takes the first place or each; which one it is told in many ways.
    readings = {_changed(text, changes, most) for most in (1, -1)} if changes else set()
    return [] if None in readings else [each for each in readings if each is not None]


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n")


@verbose(ignore_case=True)
def _old() -> str:
    """The key of the text that an edit takes out."""
    return r"old (?: _? (?: string | str | text ) )? | search | find"


@verbose(ignore_case=True)
def _new() -> str:
    """The key of the text that an edit puts there."""
    return r"new (?: _? (?: string | str | text ) )? | replace | replacement"


@verbose(ignore_case=True)
def _whole() -> str:
    """The key of all that a file will say."""
    return r"contents? | file_? (?: text | content )"


def _change(edit: Mapping[str, Any]) -> tuple[str, str] | None:
    """What an edit takes out ("" for all there is) and puts there; None for nothing."""
    texts = {key: text for key, text in edit.items() if isinstance(text, str)}
    old, new, whole = (
        next((text for key, text in texts.items() if name.fullmatch(key)), None)
        for name in (_old(), _new(), _whole())
    )
    if old is not None:
        return _with_line_feeds(old), _with_line_feeds(new or "")
    return ("", _with_line_feeds(whole)) if whole is not None else None


def _changed(text: str | None, changes: list[tuple[str, str]], most: int) -> str | None:
    """The text after some changes; None where one finds nothing to change."""
    for old, new in changes:
        if text is None or old not in text:
            return None
        text = text.replace(old, new, most) if old else new
    return text


@verbose(lines=True)
def _section() -> str:
    """The line with which a patch of another file begins."""
    return r"^ \*\*\* [ ] (Add|Update|Delete) [ ] File: [ ] (.+?) [ \t]* $ \n?"


@verbose(lines=True)
def _hunk() -> str:
    """The line with which another place of the file begins."""
    return r"^ @@ .* $ \n?"


def _patched(text: str, patch: str, is_file: Names) -> Iterator[str]:
    """The text after a patch, once for each of its sections that is about the file."""
    begins = [*_section().finditer(patch)]
    ends = [*(match.start() for match in begins[1:]), len(patch)]
    for match, end in zip(begins, ends, strict=True):
        what, name = match.groups()
        lines = patch[match.end() : end]
        if not is_file(name):
            continue
        if what == "Delete" or "\n*** Move to:" in f"\n{lines}":
            yield ""
        elif what == "Add":
            yield _side("+", lines)
        else:
            yield _changed(text, list(_hunks(lines)), 1) or ""


def _hunks(lines: str) -> Iterator[tuple[str, str]]:
    """What each hunk of a patch takes out, with what stands around it, and puts
    there."""
    places = [0]
    for match in _hunk().finditer(lines):
        places += match.span()
    places.append(len(lines))
    for start, end in [*pairwise(places)][::2]:
        if hunk := lines[start:end]:
            old = _side("-", hunk)
            yield (old, _side("+", hunk))


def _side(sign: str, hunk: str) -> str:
    """The lines of a hunk that one side has."""
    kept = (
        line[1:] for line in hunk.splitlines(keepends=True) if line[:1] in (" ", sign)
    )
    return "".join(kept)
