"""The marks of a memory file: delimiters, fences, headings, conflicts, line ends,
derived ids."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

from memcli.memory.words import full_pairs, spaceless_runs
from memcli.text.matching import verbose

DETAIL = re.compile(r"(?<! [^\r\n] ) \#\#\#[ ]Detail [ \t]* (?! [^\r\n] )", re.VERBOSE)
"""What follows this heading in an episode is kept but not indexed."""


class LinePattern:
    """A verbose pattern for the start of a line. Searching by the line end before it is
    five times faster."""

    def __init__(self, pattern: str) -> None:
        self.first = re.compile(pattern, re.VERBOSE)
        self.later = re.compile(r"\n" + pattern, re.VERBOSE)

    def find(self, text: str, start: int, end: int) -> Iterator[re.Match[str]]:
        """Matches in `text[start:end]`, where `start` begins a line."""
        if first := self.first.match(text, start, end):
            yield first
        yield from self.later.finditer(text, start, end)


MARK = LinePattern(
    r"""(?:
        ( --- ) [ \t]*+ \r? (?= \n | \Z )         # 1: a delimiter
      | [ ]{0,3} ( `{3,}+ | ~{3,}+ ) ( [^\n]*+ )  # 2: a fence, 3: its info string
    )"""
)
HEADING = LinePattern(r"[ ]{0,3} ( \#{1,6} ) [ \t]++ ( [^\r\n]*+ )")
HEAD_DATE = re.compile(r"^ \[ (\d{4}-\d{2}-\d{2}) \] [ \t]*", re.VERBOSE)
BLANKS = "\r\n \t"
_MOST_COMPARED = 65_536  # characters of a body that are compared with another one
NO_BODY = "e3b0c442"  # the digest of an empty body
_NAMESPACE = b"\x9d\x1a\x4e\x60\x5c\x0b\x5a\x8e\x9f\x3d\x6d\x65\x6d\x63\x6c\x69"


MOST_PIECES = 65_536
"""Lines with a heading, a list item, a delimiter or a fence that a memory file may
have: each may be an entry, which takes a thousand times the room of the line."""
CROWDED = f"has more than {MOST_PIECES:,} headings, list items and delimiters"


def is_crowded(text: str) -> bool:
    """Whether a text has more pieces than a memory file may have."""
    return len(uncrowded(text)) < len(text)


def uncrowded(text: str) -> str:
    """The text up to the last piece that a memory file may have."""
    if text.count("\n") + text.count("\r") < MOST_PIECES:
        return text
    pieces = re.compile(r"(?<![^\r\n])[ ]*[-+*#`~]").finditer(text)
    beyond = next(islice(pieces, MOST_PIECES, None), None)
    return text[: beyond.start()] if beyond else text


def with_line_feeds(text: str) -> str:
    """Turn each lone CR into a line feed: it ends a line, too. The length stays the
    same, so every offset stays true."""
    return re.sub(r"\r(?!\n)", "\n", text) if "\r" in text else text


def line_numbers(text: str) -> Callable[[int], int]:
    """A function that returns the line (from 1) of an offset; quickest near the offset
    before."""
    counted_to = 0
    line = 1

    def line_of(offset: int) -> int:
        nonlocal counted_to, line
        line += text.count("\n", counted_to, offset) - text.count(
            "\n", offset, counted_to
        )
        counted_to = offset
        return line

    return line_of


def is_inline(mark: re.Match[str]) -> bool:
    """Whether backticks that begin a line are code within a paragraph, and no fence."""
    return mark[2][0] == "`" and "`" in mark[3]


def closes(mark: re.Match[str], fence: str) -> bool:
    """Whether a mark closes what `fence` opened."""
    return mark[2].startswith(fence) and not mark[3].strip()


def open_behind(mark: re.Match[str], fence: str) -> str:
    """The fence that is open after a mark, "" for none; `fence` is the one open before
    it."""
    if mark[1]:
        return fence
    if fence:
        return "" if closes(mark, fence) else fence
    return "" if is_inline(mark) else mark[2]


def unclosed_fence(text: str) -> str:
    """The fence that a text leaves open, "" for none."""
    fence = ""
    for mark in MARK.find(text, 0, len(text)):
        fence = open_behind(mark, fence)
    return fence


def pair_up(marks: Sequence[re.Match[str]]) -> bool:
    """Whether every fence is closed, and none opens another of its kind within."""
    fence = ""
    for mark in marks:
        if not fence:
            fence = "" if is_inline(mark) else mark[2]
        elif closes(mark, fence):
            fence = ""
        elif mark[2].startswith(fence):
            return False
    return not fence


def heading_text(heading: re.Match[str]) -> str:
    """The heading without its closing run of `#`, which must stand apart: `## Learn C#
    ##` is "Learn C#"."""
    text = heading[2].rstrip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def are_versions(words: set[str], other_words: set[str]) -> bool:
    """Whether two texts of one id, by their words, are wordings of one entry: they share
    more than half, or one has four fifths of the other's. The work goes by the shorter
    one."""
    shared = len(words & other_words)
    fewer = min(len(words), len(other_words))
    united = len(words) + len(other_words) - shared
    return 2 * shared > united or 5 * shared >= 4 * fewer


def words_of(body: str) -> set[str]:
    """The distinct words of a body, without the date in its heading; of scripts without
    blanks the pairs of characters."""
    low_body = body[:_MOST_COMPARED].lower()
    undated = re.sub(r"\A(#+[ \t]+)\[\d{4}-\d\d-\d\d\]", r"\1", low_body)
    pairs_of_all = map(full_pairs, spaceless_runs(undated))
    return {*re.findall(r"\w+", undated), *chain.from_iterable(pairs_of_all)}


def derived_id(*parts: str) -> str:
    """uuid5 over `parts`: the stable id of what has none of its own (RFC 9562, version
    5)."""
    from hashlib import sha1
    from uuid import UUID

    text = _NAMESPACE + "\0".join(parts).encode("utf-8", "surrogatepass")
    return str(UUID(bytes=sha1(text).digest()[:16], version=5))


def within(spans: list[tuple[int, int]], offset: int) -> bool:
    """Whether an offset lies in one of these spans, which are in order."""
    place = bisect_right(spans, (offset, 0)) - 1
    if place < 0:
        return False
    _, end = spans[place]
    return offset < end


def code_fences(scan: str, start: int, end: int) -> list[tuple[int, int]]:
    """The spans of code in a stretch of prose, in order; one that is not closed runs to
    the end."""
    spans = []
    fence = ""
    opened = 0
    for mark in MARK.find(scan, start, end):
        behind = open_behind(mark, fence)
        if fence and not behind:
            spans.append((opened, mark.end()))
        elif behind and not fence:
            opened = mark.start(2)
        fence = behind
    return [*spans, (opened, end)] if fence else spans


def line_digests(scan: str) -> Iterator[tuple[int, str]]:
    """(end, digest of all up to there) of each line that is not blank: see
    `body_digest`."""
    from hashlib import sha256  # it loads OpenSSL, which is four times faster

    total = sha256()
    end = 0
    gap = ""
    for line in scan.split("\n"):
        end += len(line) + 1
        bare = line.rstrip("\r \t")
        if bare:
            total.update((gap + bare).encode("utf-8", "surrogatepass"))
            gap = "\n"
            yield min(end, len(scan)), total.hexdigest()[:8]
        elif gap:
            gap += "\n"


def body_digest(body: str) -> str:
    """The digest that the key `written` holds: of the lines without trailing blanks,
    and without blank lines at both ends."""
    from hashlib import sha256

    text = with_line_feeds(body)
    if "\r" in text or " \n" in text or "\t\n" in text:
        text = "\n".join([line.rstrip("\r \t") for line in text.split("\n")])
    text = text.rstrip("\r \t\n").lstrip("\n")
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def longer_first(body: str) -> tuple[int, str]:
    """A sort key: the longer body first, of two equally long ones that of the smaller
    SHA-256."""
    from hashlib import sha256

    data = body.encode("utf-8", "surrogatepass")
    return -len(body), sha256(data).hexdigest()


def eol_of(text: str) -> str:
    """The line ending of a text: that of its first line."""
    first_end = re.search(r"\r\n|\n|\r", text)
    return first_end[0] if first_end else "\n"


def conflict_lines(text: str) -> list[int]:
    """The line of each conflict's first marker."""
    if "<<<<<<< " not in text or ">>>>>>> " not in text:
        return []
    line_of = line_numbers(text)
    return [line_of(marker.start()) for marker in _conflict().finditer(text)]


def lone_markers(text: str) -> list[int]:
    """The lines of markers that stand in no whole conflict, and in no code: of one that
    was resolved by half."""
    markers = list(_marker().finditer(text))
    if not markers:
        return []
    line_of = line_numbers(text)
    conflicts = [conflict.span() for conflict in _conflict().finditer(text)]
    code = code_fences(with_line_feeds(text), 0, len(text))
    return [
        line_of(marker.start())
        for marker in markers
        if not any(within(spans, marker.start() + 1) for spans in (conflicts, code))
    ]


@verbose(lines=True)
def _marker() -> str:
    """A line of `=` alone would be that below a heading."""
    return r" ^ (?: <<<<<<< | >>>>>>> ) [ ] \S "


@verbose(lines=True)
def _conflict() -> str:
    return r"""
        ^<<<<<<<[ ]
        (?: (?! ^<<<<<<<[ ] ) [^\n]* \n )*?  # lines, none of which opens another
        >>>>>>>[ ]
    """
