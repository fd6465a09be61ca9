"""A memory file as text -> segments, entries and the sections of its prose,
lossless."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

from memcli.memory import front_matter, grammar
from memcli.memory.dates import date_in, date_in_path
from memcli.memory.entry_values import CORE_KEYS, make_entry, read_values
from memcli.memory.values import TYPES, Entry, Place, Problem, Segment
from memcli.text import matching

_pattern = partial(matching.pattern, "memory/parser")
"""`apart`: what may follow a body that is whole; other lines go on with its last
paragraph."""
UNCLOSED = "front matter is not closed by a line of ---"
_MAX_BODY = 65_536  # how far the end of a body is looked for by its digest (characters)


class MemoryFile(NamedTuple):
    """A parsed file; `entries` are those with front matter, `sections` finds those
    without."""

    path: str
    text: str
    segments: tuple[Segment, ...]
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]


class KnownFile(NamedTuple):
    """A file that was read, its place, and whether it may be changed from here; `found`
    and `tree` as it was listed."""

    memory: MemoryFile
    place: Place
    writable: bool = True
    found: bool = False
    tree: str = ""

    @property
    def path(self) -> str:
        """Its name: relative to the root, or `~/…`."""
        return self.memory.path


def parse(text: str, path: str) -> MemoryFile:
    """Split `text` into segments and read every entry; `path` seeds the ids of what has
    none."""
    return _Reader(text, path).read()


class EntryBlock(NamedTuple):
    """Front matter found between two delimiters; `damage` says where and why it is
    none."""

    start: int
    inner: int
    close: int
    body: int
    values: dict[str, Any] | None
    repeated: Sequence[str] = ()
    damage: tuple[int, str] = (0, "")


class _Reader:
    """One pass over the delimiters and fences of a text."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.day = date_in_path(path)
        self.scan = grammar.with_line_feeds(text)
        self.top = int(text.startswith("\ufeff"))
        self.marks = list(grammar.MARK.find(self.scan, self.top, len(text)))
        self.rules = [i for i, mark in enumerate(self.marks) if mark[1]]
        self._block = cache(self._find_block)
        self.faults: list[
            tuple[int, tuple[str, str]]
        ] = []  # where, message and severity
        self.line = grammar.line_numbers(self.scan)

    def read(self) -> MemoryFile:
        blocks = list(self._blocks())
        segments: list[Segment] = []
        entries: list[Entry] = []
        starts = [block.start for block in blocks] + [len(self.text)]
        if starts[0] > 0:
            segments.append(Segment("prose", 0, starts[0]))
        for block, limit in zip(blocks, starts[1:], strict=True):
            if block.values is None:
                self._problem(*block.damage, severity="unreadable")
                segments.append(Segment("prose", block.start, limit))
                continue
            end, touched = self._body_end(block, block.values.get("written"), limit)
            entry = self._entry(block, block.values, end, len(entries))
            entries.append(entry._replace(touched=True) if touched else entry)
            segments.append(Segment("entry", block.start, end))
            if end < limit:
                segments.append(Segment("prose", end, limit))
        problems = tuple(
            Problem(self.path, self.line(at), *why) for at, why in sorted(self.faults)
        )
        return MemoryFile(
            path=self.path,
            text=self.text,
            segments=tuple(segments),
            entries=tuple(entries),
            problems=problems,
        )

    def _body_end(
        self, block: EntryBlock, written: object, limit: int
    ) -> tuple[int, bool]:
        """Where an entry ends, and whether a person has edited its body since `mem`
        wrote it."""
        bound = self._heading_bound(block.body, limit)
        end = (
            bound
            if written is None
            else self._written_end(block.body, bound, str(written))
        )
        if end is None or written is None:
            return bound, end is None
        return (end if self.scan[end:limit].strip() else limit), False

    def _heading_bound(self, start: int, limit: int) -> int:
        first = re.compile(r"\S").search(self.scan, start, limit)
        line = (
            max(self.scan.rfind("\n", start, first.start()) + 1, start)
            if first
            else start
        )
        own = grammar.HEADING.first.match(self.scan, line, limit)
        rank = len(own[1]) if own else 2
        fences: list[tuple[int, int]] | None = None
        for head in grammar.HEADING.later.finditer(self.scan, line, limit):
            if len(head[1]) <= rank:
                fences = (
                    grammar.code_fences(self.scan, start, limit)
                    if fences is None
                    else fences
                )
                if not grammar.within(fences, head.start(1)):
                    return head.start() + 1
        return limit

    def _written_end(self, start: int, bound: int, written: str) -> int | None:
        # Where the shortest beginning of that digest ends; None when the text runs on
        # there.
        if written == grammar.NO_BODY:
            return start
        body = self.scan[start : min(bound, start + _MAX_BODY)]
        if (
            bound - start <= _MAX_BODY and grammar.body_digest(body) == written
        ):  # as it mostly is
            stop = body.find("\n", len(body.rstrip("\r\n \t")))
            return start + stop + 1 if stop >= 0 else bound
        for end, digest in grammar.line_digests(body):
            if digest == written:
                return (
                    start + end
                    if _pattern("apart").match(self.scan, start + end, bound)
                    else None
                )
        return None

    def _blocks(self) -> Iterator[EntryBlock]:
        """Every entry's block, and every damaged one, outside fences and in file
        order."""
        at = 0
        while at < len(self.marks):
            if not self.marks[at][1]:
                at = self._skip_fence(at)
            elif block := self._block(at):
                yield block
                # What closes a damaged one may well open the next entry.
                end = block.close if block.values is None else block.body
                while at < len(self.marks) and self.marks[at].end() <= end:
                    at += 1
            else:
                at += 1

    def _skip_fence(self, at: int) -> int:
        # The mark after the fence. One that is not closed before the next block with an
        # id ends
        # there, unless the fences behind make sense only if the first of them closes
        # this one.
        if grammar.is_inline(self.marks[at]):
            return at + 1
        first: int | None = None
        behind: list[int] = []
        for i in range(at + 1, len(self.marks)):
            if self.marks[i][1]:
                block = self._block(i)
                if block and block.values and block.values.get("id") is not None:
                    if first is not None:
                        break
                    first = i
            elif first is not None:
                behind.append(i)
            elif grammar.closes(self.marks[i], self.marks[at][2]):
                return i + 1
        if first is None:
            return len(self.marks)
        marks = [self.marks[i] for i in behind]
        closing = (
            n for n, mark in enumerate(marks) if grammar.closes(mark, self.marks[at][2])
        )
        end = next(closing, None)
        if (
            end is not None
            and grammar.pair_up(marks[end + 1 :])
            and not grammar.pair_up(marks)
        ):
            return behind[end] + 1
        self._problem(
            self.marks[at].start(2), "code fence is not closed before the next entry"
        )
        return first

    def _find_block(self, at: int) -> EntryBlock | None:
        start = self.marks[at].start(1)
        line = self.scan.rfind("\n", 0, max(start - 1, 0)) + 1
        if start != self.top and self.scan[max(line, self.top) : start].strip():
            return None  # not after a blank line
        inner = self._next_line(self.marks[at].end())
        stop = len(self.scan)
        why = ""
        place = (start, inner, stop, stop)
        rule = bisect_right(self.rules, at)
        if rule == len(self.rules):
            why = UNCLOSED
        else:
            closing = self.marks[self.rules[rule]]
            place = (start, inner, closing.start(1), self._next_line(closing.end()))
            if place[2] - inner > front_matter.MAX_BLOCK:
                why = f"front matter cannot be read: longer than {front_matter.MAX_BLOCK} characters"
        if why:  # what was meant as an entry stays apart from its neighbours, as prose
            meant = _pattern("meant").match(self.scan, inner)
            return EntryBlock(*place, None, damage=(start, why)) if meant else None
        block = self.scan[inner : place[2]]
        if not _pattern("maybe").search(block):
            return None
        try:
            values, repeated = front_matter.read(block)
        except front_matter.Malformed as error:
            damage = (inner + error.offset, f"front matter cannot be read: {error}")
            another = _pattern("next").match(
                self.scan, place[3]
            )  # its end is that of another one
            if another and _pattern("torn").search(block, 0, error.offset):
                damage = (start, UNCLOSED)
            meant = _pattern("meant").search(block)
            return EntryBlock(*place, None, damage=damage) if meant else None
        named = values.get("id") is not None or values.get("type") in TYPES
        if not named and sum(key in values for key in CORE_KEYS) < 3:
            return None
        return EntryBlock(*place, values, repeated)

    def _next_line(self, end: int) -> int:
        stop = self.scan.find("\n", end)
        return len(self.scan) if stop < 0 else stop + 1

    def _problem(self, offset: int, message: str, severity: str = "defaulted") -> None:
        self.faults.append((offset, (message, severity)))

    def _entry(
        self, block: EntryBlock, raw_values: dict[str, Any], end: int, at: int
    ) -> Entry:
        raw = self.text[block.body : end]
        body = raw.strip(grammar.BLANKS)
        values, faults = read_values(raw_values)
        twice = [
            (key, f"key {key!r} stands twice; the last one counts")
            for key in block.repeated
        ]
        if twice or faults:  # with the place where each key stands for the last time
            keys = _pattern("key").finditer(self.scan, block.inner, block.close)
            places = {found[1]: found.start(1) for found in keys}
            for key, message in (*twice, *faults):
                self._problem(places.get(key, block.inner), message)
        identified = bool(values["id"])
        if not identified:
            values["id"] = grammar.derived_id(self.path, str(at), body)
        line = self.line(block.body + raw.index(body))
        entry = make_entry(values, body, self.day, line, (block.start, end))
        return entry if identified else entry._replace(identified=False)


def sections(file: MemoryFile) -> list[Entry]:
    """The units of all prose: sections below headings; of one that is mostly a list,
    bullets."""
    found: list[Entry] = []
    seen: dict[tuple[str, str], int] = {}
    scan = grammar.with_line_feeds(file.text)
    number = grammar.line_numbers(scan)
    day = date_in_path(file.path)
    prose = (segment for segment in file.segments if segment.kind == "prose")
    parts = (part for segment in prose for part in _split_headings(scan, segment))
    pieces = (
        (part[0], *at)
        for part in parts
        for at in _pieces(scan, *part[1:], titled=bool(part[0]))
    )
    for path, start, end in pieces:
        raw = file.text[start:end]
        body = raw.strip("\ufeff" + grammar.BLANKS)
        lead = re.match(r"#[^\r\n]*", body) if path else None
        if not re.search(r"\w", body[lead.end() if lead else 0 :]):
            continue  # a heading or a rule alone
        title = " > ".join(grammar.HEAD_DATE.sub("", name) for name in path)
        ordinal = seen[title, body] = seen.get((title, body), -1) + 1
        values, _ = read_values({"title": title} if title else {})
        values["id"] = grammar.derived_id(file.path, title, body, str(ordinal))
        unit = make_entry(
            values, body, day, number(start + raw.index(body)), (start, end)
        )
        date = next(filter(None, map(date_in, reversed(path))), unit.date)
        found.append(unit._replace(written=False, identified=False, date=date))
    return found


def _pieces(scan: str, start: int, end: int, *, titled: bool) -> list[tuple[int, int]]:
    """The bullets of a section with what is nested in them; the whole where they are no
    half."""
    first = (scan.find("\n", start, end) + 1 or end) if titled else start
    starts = list(_list_starts(scan, first, end))
    ends = [place for place, _ in starts[1:]] + [end]
    listed = [
        stop - at for (at, bullet), stop in zip(starts, ends, strict=False) if bullet
    ]
    if len(listed) < (3 if titled else 2) or 2 * sum(listed) < end - first:
        return [(start, end)]
    return list(
        pairwise([start, *(place for place, _ in starts if place > start), end])
    )


def _list_starts(scan: str, start: int, end: int) -> Iterator[tuple[int, bool]]:
    """(place, True) of each top-level bullet, (place, False) where text follows a
    list."""
    if not _pattern("bullet").search(scan, start, end):
        return
    fences = grammar.code_fences(scan, start, end)
    depth = -1
    listed = False
    blank = False
    at = start
    for line in scan[start:end].split("\n"):
        place = at
        at = at + len(line) + 1
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip() or grammar.within(fences, place):
            blank = not line.strip()
            continue
        if _pattern("bullet").match(line) and (depth < 0 or indent <= depth):
            depth = indent if depth < 0 else depth
            listed = True
            yield place, True
        elif listed and blank and indent <= depth:
            listed = False
            yield place, False
        blank = False


def _split_headings(
    scan: str, segment: Segment
) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """(heading path, start, end) of each section; headings inside fences do not
    count."""
    start = segment.start + int(scan.startswith("\ufeff", segment.start))
    fences = grammar.code_fences(scan, start, segment.end)
    found = grammar.HEADING.find(scan, start, segment.end)
    heads = [head for head in found if not grammar.within(fences, head.start(1))]
    places = [scan.rfind("\n", start, head.start(1)) + 1 or start for head in heads] + [
        segment.end
    ]
    if scan[segment.start : places[0]].strip("\ufeff" + grammar.BLANKS):
        yield (), segment.start, places[0]
    path: list[tuple[int, str]] = []
    for head, place, end in zip(heads, places, places[1:], strict=False):
        depth = len(head[1])
        path = [
            *(item for item in path if item[0] < depth),
            (depth, grammar.heading_text(head)),
        ]
        yield tuple(name for _, name in path), place, end
