"""A memory file as text -> segments, entries and the sections of its prose,
lossless."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from memcli.memory import front_matter, grammar, prose, records
from memcli.memory.dates import date_in, date_in_path
from memcli.memory.entry_values import CORE_KEYS, make_entry, read_values
from memcli.memory.prose import ProseSection
from memcli.memory.values import ARCHIVE, TYPES, Entry, Place, Problem, Segment
from memcli.text.matching import regex, verbose

UNCLOSED = "front matter is not closed by a line of ---"
TOO_LONG = (
    f"front matter cannot be read: longer than {front_matter.MAX_BLOCK} characters"
)
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
    """Split `text` into segments and read every entry; `path` seeds the ids of
    entries without one."""
    return _Reader(text, path).read()


class Damage(NamedTuple):
    """Why front matter cannot be read, and at which offset of the text."""

    offset: int
    message: str


class EntryBlock(NamedTuple):
    """Front matter between two delimiters, by offsets in the text: its opening
    delimiter, its first line, its closing delimiter, the line after that."""

    start: int
    inner: int
    close: int
    body: int
    values: Mapping[str, Any] = {}
    repeated: Sequence[str] = ()
    damage: Damage | None = None


@verbose
def _core_key() -> str:
    """A key without which nothing between two delimiters is an entry."""
    return rf"(?: {'|'.join(CORE_KEYS)} ) [\"']? [ \t]*+ :"


@verbose
def _meant_as_entry() -> str:
    """A line by which somebody meant to begin an entry, though it cannot be read."""
    return rf"(?<![^\n]) (?: id[ \t]*: | type[ \t]*:[ \t]* (?: {'|'.join(TYPES)} ) \b )"


@verbose
def _key() -> str:
    return r"(?<![^\n{,]) [ \t]*+ [\"']? ([\w-]++) [\"']? [ \t]*+ :"


@verbose
def _heading_or_blank_line() -> str:
    """What no front matter contains: before it, the closing delimiter was forgotten."""
    return r"(?<![^\n]) (?: \#\# | [ \t]*\r?\n )"


@verbose
def _no_continuation() -> str:
    """What may follow a whole body; any other line continues its last paragraph."""
    return r"""
        [ \t]*
        (?: \r?\n | \Z                                # a blank line
          | (?: \#{1,6} | [-*+] | \d{1,9}[.)] ) [ \t]  # a heading, a list
        )
    """


class _Reader:
    """One pass over the delimiters and fences of a text."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.day = date_in_path(path)
        self.scan = grammar.with_line_feeds(text)
        self.top = int(text.startswith("\ufeff"))
        self.marks = list(grammar.MARK.find(self.scan, self.top, len(text)))
        self.rules = [number for number, mark in enumerate(self.marks) if mark[1]]
        self._block = cache(self._find_block)
        self.faults: list[tuple[int, str, str]] = []  # offset, message, severity
        self.line = grammar.line_numbers(self.scan)
        self.first_by_id: dict[str, Entry] = {}
        self._first_words = cache(
            lambda id: grammar.words_of(self.first_by_id[id].body)
        )

    def read(self) -> MemoryFile:
        blocks = list(self._blocks())
        segments = []
        entries: list[Entry] = []
        limits = [block.start for block in blocks] + [len(self.text)]
        if limits[0] > 0:
            segments.append(Segment("prose", 0, limits[0]))
        for block, limit in zip(blocks, limits[1:], strict=True):
            if block.damage:
                self._problem(*block.damage, severity="unreadable")
                is_closed = block.close < block.body <= limit
                text = block.body if is_closed else block.start
                segments.append(Segment("prose", block.start, text, damaged=True))
                segments.append(Segment("prose", text, limit))
                continue
            entry = self._entry(block, limit, len(entries))
            entries.append(self._told_apart(entry))
            segments.append(Segment("entry", entry.start, entry.end))
            if entry.end < limit:
                segments.append(Segment("prose", entry.end, limit))
        problems = (
            Problem(
                path=self.path,
                line=self.line(offset),
                message=message,
                severity=severity,
            )
            for offset, message, severity in sorted(self.faults)
        )
        return MemoryFile(
            path=self.path,
            text=self.text,
            segments=tuple(
                segment for segment in segments if segment.start < segment.end
            ),
            entries=tuple(entries),
            problems=tuple(problems),
        )

    # Where an entry ends

    def _body_end(self, block: EntryBlock, limit: int) -> tuple[int, bool]:
        """Where an entry ends, and whether a person has edited its body since `mem`
        wrote it."""
        bound = self._heading_bound(block.body, limit)
        written = block.values.get("written")
        if written is None:
            return bound, False
        end = self._written_end(block.body, bound, str(written))
        if end is None:
            return bound, True
        is_rest_blank = not self.scan[end:limit].strip()
        return (limit if is_rest_blank else end), False

    def _heading_bound(self, start: int, limit: int) -> int:
        """The first heading of the rank of the body's own, or above; else `limit`."""
        text = regex(r"\S").search(self.scan, start, limit)
        line = start
        if text:
            line = max(self.scan.rfind("\n", start, text.start()) + 1, start)
        heading = grammar.HEADING.first.match(self.scan, line, limit)
        rank = len(heading[1]) if heading else 2
        fences = None
        for head in grammar.HEADING.later.finditer(self.scan, line, limit):
            if len(head[1]) > rank:
                continue
            if fences is None:
                fences = grammar.code_fences(self.scan, start, limit)
            if not grammar.within(fences, head.start(1)):
                return head.start() + 1
        return limit

    def _written_end(self, start: int, bound: int, written: str) -> int | None:
        """The end of the shortest beginning of the body that has this digest; None if
        its paragraph goes on there."""
        if written == grammar.NO_BODY:
            return start
        body = self.scan[start : min(bound, start + _MAX_BODY)]
        is_all = bound - start <= _MAX_BODY
        if is_all and grammar.body_digest(body) == written:  # as it mostly is
            stop = body.find("\n", len(body.rstrip(grammar.BLANKS)))
            return start + stop + 1 if stop >= 0 else bound
        ends = (end for end, digest in grammar.line_digests(body) if digest == written)
        for end in ends:
            is_whole = _no_continuation().match(self.scan, start + end, bound)
            return start + end if is_whole else None
        return None

    # Where entries begin

    def _blocks(self) -> Iterator[EntryBlock]:
        """Every entry's block, and every damaged one, outside fences and in file
        order."""
        number = 0
        while number < len(self.marks):
            if not self.marks[number][1]:
                number = self._skip_fence(number)
            elif block := self._block(number):
                yield block
                # What closes a damaged one may well open the next entry.
                end = block.close if block.damage else block.body
                while number < len(self.marks) and self.marks[number].end() <= end:
                    number += 1
            else:
                number += 1

    def _skip_fence(self, opening_number: int) -> int:
        """The mark after the fence. One that is not closed before the next block with an
        id ends there, unless the fences behind make sense only if the first of them
        closes this one."""
        opening = self.marks[opening_number]
        if grammar.is_inline(opening):
            return opening_number + 1
        entry, behind = self._until_second_entry(opening_number)
        if entry is None:
            return behind[0] + 1 if behind else len(self.marks)
        closing = next(
            (
                place
                for place, number in enumerate(behind)
                if self._closes(number, opening)
            ),
            None,
        )
        if closing is not None:
            fences = [self.marks[number] for number in behind]
            is_sound_after = grammar.pair_up(fences[closing + 1 :])
            if is_sound_after and not grammar.pair_up(fences):
                return behind[closing] + 1
        offset = opening.start(2)
        self._problem(offset, "code fence is not closed before the next entry")
        return entry

    def _closes(self, number: int, opening: re.Match[str]) -> bool:
        return grammar.closes(self.marks[number], opening[2])

    def _until_second_entry(self, opening_number: int) -> tuple[int | None, list[int]]:
        """The first entry after the fence that opens at a mark, and the fences between
        it and a second one; no entry and the closing fence where that comes first."""
        entry = None
        fences = []
        for number in range(opening_number + 1, len(self.marks)):
            if self.marks[number][1]:
                block = self._block(number)
                if block is None or block.values.get("id") is None:
                    continue
                if entry is not None:
                    break
                entry = number
            elif entry is not None:
                fences.append(number)
            elif self._closes(number, self.marks[opening_number]):
                return None, [number]
        return entry, fences

    def _find_block(self, number: int) -> EntryBlock | None:
        """The block that opens at a mark; None if nobody meant an entry."""
        start = self.marks[number].start(1)
        line = self.scan.rfind("\n", 0, max(start - 1, 0)) + 1
        line_before = self.scan[max(line, self.top) : start]
        if start != self.top and line_before.strip():
            return None
        inner = self._next_line(self.marks[number].end())
        rule = bisect_right(self.rules, number)
        if rule == len(self.rules):
            return self._unclosed_block(start, inner)
        closing = self.marks[self.rules[rule]]
        place = EntryBlock(
            start=start,
            inner=inner,
            close=closing.start(1),
            body=self._next_line(closing.end()),
        )
        if place.close - inner > front_matter.MAX_BLOCK:
            is_meant = _meant_as_entry().match(self.scan, inner)
            damage = Damage(start, TOO_LONG)
            return place._replace(damage=damage) if is_meant else None
        return self._read_block(place)

    def _unclosed_block(self, start: int, inner: int) -> EntryBlock | None:
        """A block that was meant as an entry, kept apart from its neighbours as
        prose."""
        if not _meant_as_entry().match(self.scan, inner):
            return None
        end = len(self.scan)
        return EntryBlock(
            start=start,
            inner=inner,
            close=end,
            body=end,
            damage=Damage(start, UNCLOSED),
        )

    def _read_block(self, place: EntryBlock) -> EntryBlock | None:
        block = self.scan[place.inner : place.close]
        if not _core_key().search(block):
            return None
        try:
            values, repeated = front_matter.read(block)
        except front_matter.Malformed as error:
            if not _meant_as_entry().search(block):
                return None
            return place._replace(damage=self._damage(place, error))
        is_named = values.get("id") is not None or values.get("type") in TYPES
        if not is_named and len(values.keys() & set(CORE_KEYS)) < 3:
            return None
        return place._replace(values=values, repeated=repeated)

    def _damage(self, place: EntryBlock, error: front_matter.Malformed) -> Damage:
        block = self.scan[place.inner : place.close]
        runs_on = _heading_or_blank_line().search(block, 0, error.reached)
        # Its closing delimiter is then the opening one of another entry.
        if runs_on and re.compile(r"[A-Za-z_]\w*:").match(self.scan, place.body):
            return Damage(place.start, UNCLOSED)
        message = f"front matter cannot be read: {error}"
        return Damage(place.inner + error.offset, message)

    def _next_line(self, end: int) -> int:
        stop = self.scan.find("\n", end)
        return len(self.scan) if stop < 0 else stop + 1

    # What an entry says

    def _problem(self, offset: int, message: str, severity: str = "defaulted") -> None:
        self.faults.append((offset, message, severity))

    def _entry(self, block: EntryBlock, limit: int, place: int) -> Entry:
        end, is_touched = self._body_end(block, limit)
        entry_text = self.text[block.body : end]
        body = entry_text.strip(grammar.BLANKS)
        values, faults = read_values(block.values)
        self._tell(block, faults)
        identified = bool(values["id"])
        if not identified:
            values["id"] = grammar.derived_id(self.path, str(place), body)
        line = self.line(block.body + entry_text.index(body))
        entry = make_entry(values, body, self.day, line, (block.start, end))
        if identified and not is_touched:
            return entry
        return entry._replace(identified=identified, touched=is_touched)

    def _told_apart(self, entry: Entry) -> Entry:
        """The entry; under an id of its own where one above has the same id and says
        something else, as where an entry was copied to begin a new one. An archive may
        have several wordings of an entry."""
        first = self.first_by_id.setdefault(entry.id, entry)
        if first is entry or not entry.identified or self.path.endswith(ARCHIVE):
            return entry
        words = grammar.words_of(entry.body)
        if grammar.are_versions(self._first_words(entry.id), words):
            return entry
        own_id = grammar.derived_id(entry.id, entry.body)
        apart = entry._replace(id=own_id, identified=False, shared_id=entry.id)
        if self.first_by_id.setdefault(own_id, apart).body == entry.body:
            return apart
        # That one had this body, and the id, before somebody rewrote it.
        own_id = grammar.derived_id(own_id, str(entry.start))
        return apart._replace(id=own_id)

    def _tell(self, block: EntryBlock, faults: list[tuple[str, str]]) -> None:
        """Report problems of values, with the last place where each key stands."""
        twice = [
            (key, f"key {key!r} stands twice; the last one counts")
            for key in block.repeated
        ]
        if not twice and not faults:
            return
        keys = _key().finditer(self.scan, block.inner, block.close)
        places = {key[1]: key.start(1) for key in keys}
        for name, message in (*twice, *faults):
            self._problem(places.get(name, block.inner), message)


def sections(file: MemoryFile) -> list[Entry]:
    """The units of all prose: sections below headings; of one that is mostly a list,
    bullets."""
    units = []
    ordinals: Counter[tuple[str, str]] = Counter()
    scan = grammar.with_line_feeds(file.text)
    line_of = grammar.line_numbers(scan)
    day = date_in_path(file.path)
    record = records.record(file.path, scan, file.segments)
    if record is not None:
        section, own_day = record
        return [_record(file, section, own_day or day, line_of(section.start))]
    lost = {segment.end for segment in file.segments if segment.damaged}
    for section, start, end in prose.pieces(scan, file.segments):
        unit_text = file.text[start:end]
        body = unit_text.strip("\ufeff" + grammar.BLANKS)
        # Of an entry that cannot be read the heading may be all that it says.
        has_heading = bool(section.titles) and start not in lost
        if not _says_more(body, has_heading=has_heading):
            continue
        undated = (grammar.HEAD_DATE.sub("", title) for title in section.titles)
        title = " > ".join(undated)
        ordinal = ordinals[title, body]
        ordinals[title, body] += 1
        values, _ = read_values({"title": title} if title else {})
        values["id"] = grammar.derived_id(file.path, title, body, str(ordinal))
        line = line_of(start + unit_text.index(body))
        unit = make_entry(values, body, day, line, (start, end))
        dates = filter(None, map(date_in, reversed(section.titles)))
        date = next(dates, unit.date)
        units.append(unit._replace(written=False, identified=False, date=date))
    return units


def _says_more(body: str, *, has_heading: bool) -> bool:
    """Whether a unit says more than its heading, or a rule, alone."""
    heading = re.match(r"#[^\r\n]*", body) if has_heading else None
    below = body[heading.end() :] if heading else body
    return re.search(r"\w", below) is not None


def _record(file: MemoryFile, section: ProseSection, day: str, line: int) -> Entry:
    """The record of a decision: one unit, whatever its sections."""
    body = file.text[section.start : section.end].strip(grammar.BLANKS)
    title = grammar.HEAD_DATE.sub("", section.titles[0])
    values, _ = read_values({"title": title, "kind": "decision"})
    values["id"] = grammar.derived_id(file.path, title, body, "0")
    span = (section.start, section.end)
    unit = make_entry(values, body, day, line, span)
    return unit._replace(written=False, identified=False, date=day)
