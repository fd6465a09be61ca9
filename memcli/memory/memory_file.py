"""A memory file: text <-> segments and entries, lossless; and plans to change it.

The grammar is in docs/memory-format.md. `parse` never fails: what cannot be used is a `Problem`.
Writers describe what they want as changes; `edited` turns them into splices, applies them to the
text, parses the outcome again and refuses when anything but the wanted came of it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memcli.errors import DataError
from memcli.memory import front_matter
from memcli.memory.diff import apply_edits
from memcli.memory.values import (
    DOMAINS,
    KINDS,
    PHASES,
    PRIORITIES,
    STATUSES,
    TYPES,
    Edit,
    Entry,
    Problem,
    Segment,
)
from memcli.memory.words import is_day

CORE_KEYS = (
    "id",
    "type",
    "domain",
    "importance",
    "phase",
    "status",
    "reinforcement_count",
    "last_reinforced",
    "created_at",
)
TYPE_OF_KIND = {
    "policy": "directive",
    "preference": "directive",
    "workflow": "procedural",
    "pitfall": "corrective",
}
PRIORITY_OF_KIND = {
    "policy": "critical",
    "workflow": "high",
    "pitfall": "high",
    "architecture": "high",
    "decision": "medium",
    "preference": "medium",
}
IMPORTANCE_FLOOR = {"pin": 0.80, "high": 0.85, "critical": 0.90, "permanent": 0.95}
DETAIL = re.compile(r"(?<![^\r\n])### Detail[ \t]*(?![^\r\n])")
"""What follows this heading in an episode is kept but not indexed."""


class _LinePattern:
    """A pattern for the start of a line, searched for by the line end before it: five times faster
    than `^`."""

    def __init__(self, pattern: str) -> None:
        self.first = re.compile(pattern)
        self.later = re.compile(r"\n" + pattern)

    def find(self, text: str, start: int, end: int) -> Iterator[re.Match[str]]:
        """Matches in `text[start:end]`, where `start` begins a line."""
        first = self.first.match(text, start, end)
        if first is not None:
            yield first
        yield from self.later.finditer(text, start, end)


_MARK = _LinePattern(r"(?:(---)[ \t]*+\r?(?=\n|\Z)| {0,3}(`{3,}+|~{3,}+)([^\n]*+))")
# group 1: a delimiter; 2 and 3: a code fence and its info string
_HEADING = _LinePattern(r" {0,3}(#{1,6})[ \t]++([^\r\n]*+)")
_CORE = "|".join(CORE_KEYS)
_MAYBE = re.compile(rf"(?:{_CORE})[\"']?[ \t]*+:")
_MEANT = re.compile(
    r"(?<![^\n])(?:id[ \t]*:|type[ \t]*:[ \t]*(?:declarative|procedural|directive|corrective)\b)"
)
_KEY = re.compile(r"(?<![^\n{,])[ \t]*+[\"']?([\w-]++)[\"']?[ \t]*+:")
_DATE = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9A-SU-Za-su-z])")
_HEAD_DATE = re.compile(r"^\[(\d{4}-\d{2}-\d{2})\][ \t]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BLANKS = "\r\n \t"
_NAMESPACE = b"\x9d\x1a\x4e\x60\x5c\x0b\x5a\x8e\x9f\x3d\x6d\x65\x6d\x63\x6c\x69"


class MemoryFile(NamedTuple):
    """A parsed file. `entries` are those with front matter, in file order; see also `sections`."""

    path: str
    text: str
    segments: tuple[Segment, ...]
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]


def parse(text: str, path: str) -> MemoryFile:
    """Split `text` into segments whose texts, joined, are `text` again; read every entry.

    `path` names the file in problems and seeds the ids of entries that have none: relative to the
    root, with forward slashes, so that ids agree between machines.
    """
    return _Reader(text, path).read()


def sections(file: MemoryFile) -> list[Entry]:
    """The sections of all prose segments: split at headings, titled by the heading path."""
    found: list[Entry] = []
    seen: dict[tuple[str, str], int] = {}
    scan = _with_line_feeds(file.text)
    lines = _Lines(scan)
    for segment in file.segments:
        if segment.kind == "prose":
            for path, start, end in _split_headings(scan, segment):
                section = _section(file, path, start, end, seen, lines)
                if section is not None:
                    found.append(section)
    return found


def _with_line_feeds(text: str) -> str:
    """A lone CR ends a line, too. The length is the same, so that every offset stays true."""
    return re.sub(r"\r(?!\n)", "\n", text) if "\r" in text else text


class _Lines:
    """Line numbers, from 1, of offsets that mostly ascend: counted on from the last one asked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1

    def number(self, offset: int) -> int:
        if offset >= self.at:
            self.line += self.text.count("\n", self.at, offset)
        else:
            self.line -= self.text.count("\n", offset, self.at)
        self.at = offset
        return self.line


class _Block(NamedTuple):
    """Front matter found between two delimiters; `values` is None when it is damaged."""

    start: int
    inner: int
    close: int
    body: int
    values: dict[str, Any] | None
    problems: tuple[tuple[int, str, str], ...]  # (offset, message, severity)


class _Reader:
    """One pass over the delimiters and fences of a text (linear: no mark is looked at over thrice)."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.day = date_in(path)
        self.scan = _with_line_feeds(text)
        self.top = int(text.startswith("\ufeff"))
        self.marks = list(_MARK.find(self.scan, self.top, len(text)))
        self.rules = [i for i, mark in enumerate(self.marks) if mark[1]]
        self.memo: dict[int, _Block | None] = {}
        self.problems: list[Problem] = []
        self.lines = _Lines(self.scan)

    def read(self) -> MemoryFile:
        blocks = list(self._blocks())
        segments: list[Segment] = []
        entries: list[Entry] = []
        starts = [block.start for block in blocks] + [len(self.text)]
        if starts[0] > 0:
            segments.append(Segment("prose", 0, starts[0]))
        for block, end in zip(blocks, starts[1:], strict=True):
            for problem in block.problems:
                self._problem(*problem)
            segments.append(Segment("prose" if block.values is None else "entry", block.start, end))
            if block.values is not None:
                entries.append(self._entry(block, end, len(entries)))
        problems = tuple(sorted(self.problems, key=lambda problem: problem.line))
        return MemoryFile(self.path, self.text, tuple(segments), tuple(entries), problems)

    def _blocks(self) -> Iterator[_Block]:
        """Every entry's block, and every damaged one, outside fences and in file order."""
        at = 0
        while at < len(self.marks):
            if self.marks[at][1]:
                block = self._block(at)
                if block is None:
                    at += 1
                else:
                    yield block
                    at = self._after(at, block)
            else:
                at = self._skip_fence(at)

    def _after(self, at: int, block: _Block) -> int:
        """The first mark behind a block. What closes a damaged one may well open the next entry."""
        end = block.close if block.values is None else block.body
        while at < len(self.marks) and self.marks[at].end() <= end:
            at += 1
        return at

    def _skip_fence(self, at: int) -> int:
        """The mark after the fence that opens at `at`.

        A fence that is not closed before the next block with an id ends there, unless that block is
        an example: the fences behind it make sense only if the first of them closes this one.
        """
        if _is_inline(self.marks[at]):
            return at + 1
        first: int | None = None
        behind: list[int] = []
        for i in range(at + 1, len(self.marks)):
            if self.marks[i][1]:
                if self._has_id(i):
                    if first is not None:
                        break
                    first = i
            elif first is not None:
                behind.append(i)
            elif _closes(self.marks[i], self.marks[at][2]):
                return i + 1
        if first is None:
            return len(self.marks)
        return self._example_end(at, behind) or self._forgotten(at, first)

    def _has_id(self, at: int) -> bool:
        block = self._block(at)
        return block is not None and block.values is not None and block.values.get("id") is not None

    def _example_end(self, at: int, behind: list[int]) -> int:
        """The mark after the one that closes the fence at `at`; 0 when the fences behind need no
        such.
        """
        if _pair_up([self.marks[i] for i in behind]):
            return 0
        for place, i in enumerate(behind):
            if _closes(self.marks[i], self.marks[at][2]):
                return i + 1 if _pair_up([self.marks[k] for k in behind[place + 1 :]]) else 0
        return 0

    def _forgotten(self, at: int, first: int) -> int:
        self._problem(self.marks[at].start(2), "code fence is not closed before the next entry")
        return first

    def _block(self, at: int) -> _Block | None:
        if at not in self.memo:
            self.memo[at] = self._try_block(at)
        return self.memo[at]

    def _try_block(self, at: int) -> _Block | None:
        start = self.marks[at].start(1)
        if not self._after_blank(start):
            return None
        inner = self._next_line(self.marks[at].end())
        rule = bisect_right(self.rules, at)
        if rule == len(self.rules):
            return self._unclosed(start, inner)
        closing = self.marks[self.rules[rule]]
        place = (start, inner, closing.start(1), self._next_line(closing.end()))
        if place[2] - inner > front_matter.MAX_BLOCK:
            return self._too_long(place)
        block = self.scan[inner : place[2]]
        if not _MAYBE.search(block):
            return None
        try:
            values, repeated = front_matter.read(block)
        except front_matter.Malformed as error:
            why = f"front matter cannot be read: {error}"
            return _damaged(place, inner + error.offset, why) if _MEANT.search(block) else None
        if not _is_entry(values):
            return None
        problems = [(key, f"key {key!r} stands twice; the last one counts") for key in repeated]
        return _Block(*place, values, self._located(problems, inner, place[2]))

    def _unclosed(self, start: int, inner: int) -> _Block | None:
        if not _MEANT.match(self.scan, inner):
            return None
        place = (start, inner, len(self.scan), len(self.scan))
        return _damaged(place, start, "front matter is not closed by a line of ---")

    def _too_long(self, place: tuple[int, int, int, int]) -> _Block | None:
        if not _MEANT.match(self.scan, place[1]):
            return None
        why = f"front matter cannot be read: longer than {front_matter.MAX_BLOCK} characters"
        return _damaged(place, place[0], why)

    def _located(
        self, faults: Sequence[tuple[str, str]], inner: int, close: int
    ) -> tuple[tuple[int, str, str], ...]:
        """Problems of keys with the place where each key stands for the last time."""
        if not faults:
            return ()
        places = {found[1]: found.start(1) for found in _KEY.finditer(self.scan, inner, close)}
        return tuple((places.get(key, inner), message, "defaulted") for key, message in faults)

    def _after_blank(self, at: int) -> bool:
        line = self.scan.rfind("\n", 0, max(at - 1, 0)) + 1
        return at == self.top or not self.scan[max(line, self.top) : at].strip()

    def _next_line(self, end: int) -> int:
        stop = self.scan.find("\n", end)
        return len(self.scan) if stop < 0 else stop + 1

    def _problem(self, offset: int, message: str, severity: str = "defaulted") -> None:
        self.problems.append(Problem(self.path, self.lines.number(offset), message, severity))

    def _entry(self, block: _Block, end: int, ordinal: int) -> Entry:
        assert block.values is not None
        raw = self.text[block.body : end]
        body = raw.strip(_BLANKS)
        lead = raw.index(body)
        values, faults = read_values(block.values)
        for problem in self._located(faults, block.inner, block.close):
            self._problem(*problem)
        identified = bool(values["id"])
        if not identified:
            values["id"] = derived_id(self.path, str(ordinal), body)
        line = self.lines.number(block.body + lead)
        entry = make_entry(values, body, day=self.day, line=line, start=block.start, end=end)
        return entry if identified else entry._replace(identified=False)


def _damaged(place: tuple[int, int, int, int], at: int, why: str) -> _Block:
    """A block that was meant as an entry: it stays apart from its neighbours, as prose."""
    return _Block(*place, None, ((at, why, "unreadable"),))


def _is_inline(mark: re.Match[str]) -> bool:
    return mark[2][0] == "`" and "`" in mark[3]


def _closes(mark: re.Match[str], fence: str) -> bool:
    return mark[2].startswith(fence) and not mark[3].strip()


def _pair_up(marks: Sequence[re.Match[str]]) -> bool:
    """Whether every fence is closed, and none opens another of its kind within."""
    fence = ""
    for mark in marks:
        if not fence:
            fence = "" if _is_inline(mark) else mark[2]
        elif _closes(mark, fence):
            fence = ""
        elif mark[2].startswith(fence):
            return False
    return not fence


def _is_entry(values: Mapping[str, Any]) -> bool:
    if values.get("id") is not None or values.get("type") in TYPES:
        return True
    return sum(key in values for key in CORE_KEYS) >= 3


# --- values


def read_values(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Effective values of front matter, and (key, message) for each one that cannot be used."""
    faults: list[tuple[str, str]] = []
    get = raw.get
    kind = _choice("kind", get("kind"), KINDS, "", faults)
    priority = _choice("priority", get("priority"), PRIORITIES, "", faults)
    default_type = TYPE_OF_KIND.get(kind, "declarative") if kind else "procedural"
    importance = _importance(get("importance"), faults)
    values: dict[str, Any] = {
        "id": _identifier(get("id"), faults),
        "type": _choice("type", get("type"), TYPES, default_type, faults),
        "domain": _choice("domain", get("domain"), DOMAINS, "team", faults),
        "importance": max(importance, IMPORTANCE_FLOOR[priority])
        if priority in IMPORTANCE_FLOOR
        else importance,
        "phase": _choice("phase", get("phase"), PHASES, "unknown", faults),
        "status": _choice("status", get("status"), STATUSES, "active", faults),
        "reinforcement_count": _count("reinforcement_count", get("reinforcement_count"), faults),
        "last_reinforced": _day("last_reinforced", get("last_reinforced"), faults),
        "created_at": _day("created_at", get("created_at"), faults),
        "kind": kind,
        "priority": priority or PRIORITY_OF_KIND.get(kind, "normal"),
        "extra": _extra(raw, faults),
    }
    return values, faults


def _choice(
    key: str, value: Any, allowed: Sequence[str], default: str, faults: list[tuple[str, str]]
) -> str:
    if value is None:
        return default
    if value in allowed:
        return str(value)
    wanted = ", ".join(allowed)
    faults.append((key, f"{key}: {_shown(value)} is none of {wanted}; {default or 'none'} is used"))
    return default


def _shown(value: Any) -> str:
    text = str(value)
    return repr(text if len(text) <= 40 else text[:39] + "…")


def _identifier(value: Any, faults: list[tuple[str, str]]) -> str:
    if value is None:
        return ""
    text = (
        str(value).strip() if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
    )
    if not text or len(text) > 200 or _CONTROL.search(text):
        faults.append(("id", f"id: {_shown(value)} cannot be an id; one is derived from the place"))
        return ""
    return text


def _importance(value: Any, faults: list[tuple[str, str]]) -> float:
    if value is None:
        return 0.5
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if number != number:
        faults.append(("importance", f"importance: {_shown(value)} is no number; 0.5 is used"))
        return 0.5
    if not 0.0 <= number <= 1.0:
        clamped = min(1.0, max(0.0, number))
        faults.append(
            ("importance", f"importance: {_shown(value)} is outside 0 to 1; {clamped} is used")
        )
        return clamped
    return number


def _count(key: str, value: Any, faults: list[tuple[str, str]]) -> int:
    if value is None:
        return 0
    try:
        number = -1 if isinstance(value, bool) or int(value) != float(value) else int(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0 or number > 10**9:
        faults.append((key, f"{key}: {_shown(value)} is no count; 0 is used"))
        return 0
    return number


def _day(key: str, value: Any, faults: list[tuple[str, str]]) -> str:
    if value is None or value == "":
        return ""
    found = _DAY.match(str(value))
    if found is None or not is_day(found[0]):
        faults.append((key, f"{key}: {_shown(value)} is no date (YYYY-MM-DD); it is left out"))
        return ""
    return found[0]


_LISTS = frozenset(
    [
        "tags",
        "paths",
        "commands",
        "merged_from",
        "promoted_from",
        "promoted_to",
        "supports",
        "contradicts",
    ]
)
_UNIT = frozenset(["surprise"])
_NUMBERS = frozenset(["stability", "difficulty"])
_EFFECTIVE = frozenset([*CORE_KEYS, "kind", "priority"])


def _extra(raw: Mapping[str, Any], faults: list[tuple[str, str]]) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    for key, value in raw.items():
        if key in _EFFECTIVE or value is None:
            continue
        if key in _LISTS:
            extra[key] = _list(value)
        elif key in _NUMBERS or key in _UNIT:
            _number(key, value, extra, faults)
        elif key == "success_count":
            extra[key] = _count(key, value, faults)
        else:
            extra[key] = value
    if "priority" in raw and raw["priority"] in PRIORITIES:
        extra["priority"] = raw["priority"]
    return extra


def _list(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list):
        return [
            str(item) for item in value if item is not None and not isinstance(item, (dict, list))
        ]
    return [str(value)] if not isinstance(value, dict) else []


def _number(key: str, value: Any, extra: dict[str, Any], faults: list[tuple[str, str]]) -> None:
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    top = 1.0 if key in _UNIT else 36500.0
    if not 0.0 <= number <= top:
        faults.append(
            (key, f"{key}: {_shown(value)} is no number from 0 to {top:g}; it is left out")
        )
    else:
        extra[key] = number


def make_entry(
    values: Mapping[str, Any],
    body: str,
    *,
    day: str = "",
    line: int = 0,
    start: int = 0,
    end: int = 0,
) -> Entry:
    """An `Entry` from effective values; title and date are found in the body, `day` is the default."""
    title, dated = _headline(body)
    given = values["extra"].get("title")
    if isinstance(given, str) and given.strip():
        title = given
    return Entry(
        **values,
        title=" ".join(title.split()) or _first_line(body),
        body=body,
        line=line,
        start=start,
        end=end,
        written=True,
        identified=True,
        date=dated or day,
    )


def _headline(body: str) -> tuple[str, str]:
    """The first heading outside code and the date it begins with. `### Detail` is no title."""
    body = _with_line_feeds(body[:2000])
    heading = next(_HEADING.find(body, 0, len(body)), None)
    if heading is None or DETAIL.match(body, heading.start(1)):
        return "", ""
    if heading.start() and any(mark[2] for mark in _MARK.find(body, 0, heading.start())):
        return "", ""
    title = _heading_text(heading)
    dated = _HEAD_DATE.match(title)
    if dated is None:
        return title, ""
    return title[dated.end() :], dated[1] if is_day(dated[1]) else ""


def _heading_text(heading: re.Match[str]) -> str:
    """Without the closing run of `#`, which must stand apart: `## Learn C# ##` is "Learn C#"."""
    text = heading[2].rstrip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def _first_line(body: str) -> str:
    line = next((line.strip() for line in body[:2000].splitlines() if line.strip()), "")
    line = re.sub(r"^[#>*\-\s]+", "", line)
    return line if len(line) <= 120 else line[:119] + "…"


def date_in(text: str) -> str:
    """The first calendar date in `text` (a path, a heading), else ""."""
    return next((day for day in _DATE.findall(text) if is_day(day)), "")


def derived_id(*parts: str) -> str:
    """uuid5 over `parts`: the stable id of what has none of its own (RFC 9562, version 5)."""
    from hashlib import sha1

    digest = bytearray(
        sha1(_NAMESPACE + "\0".join(parts).encode("utf-8", "surrogatepass")).digest()[:16]
    )
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    text = digest.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


# --- prose


def _split_headings(scan: str, segment: Segment) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """(heading path, start, end) of each section; headings inside fences do not count."""
    start = segment.start + int(scan.startswith("\ufeff", segment.start))
    fences = _fences(scan, start, segment.end)
    heads = [
        head
        for head in _HEADING.find(scan, start, segment.end)
        if not _within(fences, head.start(1))
    ]
    places = [scan.rfind("\n", start, head.start(1)) + 1 or start for head in heads] + [segment.end]
    if scan[segment.start : places[0]].strip("\ufeff" + _BLANKS):
        yield (), segment.start, places[0]
    path: list[tuple[int, str]] = []
    for head, place, end in zip(heads, places, places[1:], strict=False):
        depth = len(head[1])
        path = [*(item for item in path if item[0] < depth), (depth, _heading_text(head))]
        yield tuple(name for _, name in path), place, end


def _within(spans: list[tuple[int, int]], offset: int) -> bool:
    at = bisect_right(spans, (offset, 0)) - 1
    return at >= 0 and offset < spans[at][1]


def _fences(scan: str, start: int, end: int) -> list[tuple[int, int]]:
    """The spans of code in a stretch of prose, in order; one that is not closed runs to the end."""
    spans: list[tuple[int, int]] = []
    fence, opened = "", 0
    for mark in _MARK.find(scan, start, end):
        if mark[1]:
            continue
        if not fence:
            if not _is_inline(mark):
                fence, opened = mark[2], mark.start(2)
        elif _closes(mark, fence):
            spans.append((opened, mark.end()))
            fence = ""
    return [*spans, (opened, end)] if fence else spans


def _section(
    file: MemoryFile,
    path: tuple[str, ...],
    start: int,
    end: int,
    seen: dict[tuple[str, str], int],
    lines: _Lines,
) -> Entry | None:
    raw = file.text[start:end]
    body = raw.strip("\ufeff" + _BLANKS)
    if path and not re.search(r"[\r\n]", body):
        return None  # a heading alone
    title = " > ".join(_HEAD_DATE.sub("", name) for name in path)
    ordinal = seen[title, body] = seen.get((title, body), -1) + 1
    values, _ = read_values({"title": title} if title else {})
    values["id"] = derived_id(file.path, title, body, str(ordinal))
    line = lines.number(start + raw.index(body))
    day = next(filter(None, (date_in(name) for name in reversed(path))), date_in(file.path))
    entry = make_entry(values, body, line=line, start=start, end=end)
    return entry._replace(written=False, identified=False, date=day)


# --- changes


class Change(NamedTuple):
    """What a writer wants of one file.

    `at` names an entry of `file.entries`, None appends. `values` are set (None removes a key),
    `body` replaces the body, `remove` takes the whole segment out, `text` is appended verbatim.
    """

    at: int | None = None
    values: Mapping[str, Any] = {}
    body: str | None = None
    remove: bool = False
    text: str = ""


def eol_of(text: str) -> str:
    """The line ending of a text: that of its first line."""
    found = re.search(r"\r\n|\n|\r", text)
    return found[0] if found else "\n"


def render_entry(values: Mapping[str, Any], body: str, eol: str = "\n") -> str:
    """A new entry as it is written: core keys in their order, then the others, then the body."""
    ordered = {key: values[key] for key in CORE_KEYS if key in values}
    ordered.update(
        {key: value for key, value in values.items() if key not in ordered and value is not None}
    )
    return front_matter.render(ordered, eol) + safe_body(body).replace("\n", eol) + eol


def safe_body(text: str) -> str:
    """`text` as a body that can neither open an entry nor leave a fence open.

    A delimiter line outside a fence becomes `***`, which markdown shows as the same rule.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
    fence, out = "", []
    for line in lines:
        mark = re.match(r" {0,3}(`{3,}|~{3,})([^\n]*)", line)
        if mark and not fence and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
        elif mark and fence and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        elif re.fullmatch(r"---[ \t]*", line):
            line = "***" if not fence else " ---"
        out.append(line)
    return "\n".join([*out, fence] if fence else out)


def edited(file: MemoryFile, changes: Iterable[Change]) -> MemoryFile:
    """`file` with all `changes` made by splices, parsed again and compared with the plan.

    Raises `DataError` when the outcome would not be exactly the plan; nothing is written here.
    """
    changes = list(changes)
    edits = [edit for change in changes if change.at is not None for edit in _plan(file, change)]
    text = apply_edits(file.text, edits)
    after = parse(
        _appended(text, [change.text for change in changes if change.at is None]), file.path
    )
    _verify(file, changes, after)
    return after


def _appended(text: str, additions: Sequence[str]) -> str:
    eol, tail, parts = eol_of(text), text[-4000:], [text]
    for addition in additions:
        new = _glue(tail, eol) + addition
        tail = (tail + new)[-4000:]
        parts.append(new)
    return "".join(parts)


def _glue(tail: str, eol: str) -> str:
    """What must stand between a text and an appended entry: the end of a line and a blank one."""
    if not tail.strip("\ufeff"):
        return ""
    lines = re.split(r"\r\n|\n|\r", tail)
    if lines[-1].strip():
        return eol * 2
    return "" if len(lines) > 1 and not lines[-2].strip() and not lines[-1] else eol


def _plan(file: MemoryFile, change: Change) -> list[Edit]:
    assert change.at is not None
    entry = file.entries[change.at]
    if change.remove:
        return [Edit(entry.start, entry.end, "")]
    inner, close, body = _parts(file.text, entry)
    edits = []
    if change.values:
        block, eol = (
            _with_line_feeds(file.text[inner:close]),
            eol_of(file.text[entry.start : entry.end]),
        )
        for edit in front_matter.plan_values(block, change.values, eol):
            edits.append(Edit(edit.start + inner, edit.end + inner, edit.new))
    if change.body is not None:
        edits.append(_body_edit(file.text, entry, body, change.body))
    return edits


def _parts(text: str, entry: Entry) -> tuple[int, int, int]:
    """Offsets of the block's first line, of its closing delimiter and of the line after that."""
    scan = _with_line_feeds(text[entry.start : entry.end])
    rules = re.finditer(r"^---[ \t]*\r?(?:\n|\Z)", scan, re.MULTILINE)
    opening, closing = next(rules), next(rules)
    return entry.start + opening.end(), entry.start + closing.start(), entry.start + closing.end()


def _body_edit(text: str, entry: Entry, body: int, new: str) -> Edit:
    eol = eol_of(text[entry.start : entry.end])
    new = safe_body(new).replace("\n", eol)
    if not entry.body:
        glue = "" if text[:body].endswith(("\n", "\r")) else eol
        return Edit(body, body, glue + new + eol)
    start = text.index(entry.body, body)
    return Edit(start, start + len(entry.body), new)


def _verify(before: MemoryFile, changes: list[Change], after: MemoryFile) -> None:
    wanted = _wanted(before, changes)
    got = [_essence(entry) for entry in after.entries]
    if wanted != got or _prose(before) != _prose(after):
        at = next(
            (i for i, (a, b) in enumerate(zip(wanted, got, strict=False)) if a != b), len(got) - 1
        )
        line = after.entries[at].line if 0 <= at < len(after.entries) else 1
        raise DataError(
            f"a planned change does not read back as planned; nothing is written ({before.path}:{line})",
            f"look at the front matter and code fences there: mem doctor {before.path}",
        )


def _prose(file: MemoryFile) -> list[str]:
    return [
        text
        for seg in file.segments
        if seg.kind == "prose"
        if (text := file.text[seg.start : seg.end].strip())
    ]


def _essence(entry: Entry) -> tuple[Any, ...]:
    """What must survive a change. A derived id depends on the place and does not count."""
    extra = {key: str(value) for key, value in entry.extra.items()}
    return (entry.id if entry.identified else "", *entry[1:11], entry.body, extra)


def _wanted(before: MemoryFile, changes: list[Change]) -> list[tuple[Any, ...]]:
    by_index: dict[int, list[Change]] = {}
    for change in changes:
        if change.at is not None:
            by_index.setdefault(change.at, []).append(change)
    wanted = []
    for i, entry in enumerate(before.entries):
        mine = by_index.get(i, [])
        if any(change.remove for change in mine):
            continue
        wanted.append(_essence(_changed(before, entry, mine)) if mine else _essence(entry))
    for change in changes:
        if change.at is None:
            wanted += [_essence(entry) for entry in parse(change.text, before.path).entries]
    return wanted


def _changed(file: MemoryFile, entry: Entry, changes: list[Change]) -> Entry:
    inner, close, _ = _parts(file.text, entry)
    raw = dict(front_matter.read(_with_line_feeds(file.text[inner:close])).values)
    body = entry.body
    for change in changes:
        for key, value in change.values.items():
            raw.pop(key, None) if value is None else raw.__setitem__(
                key, front_matter.as_written(value)
            )
        if change.body is not None:
            eol = eol_of(file.text[entry.start : entry.end])
            body = safe_body(change.body).replace("\n", eol).strip(_BLANKS)
    values, _ = read_values(raw)
    changed = make_entry(values, body)
    return changed._replace(identified=bool(values["id"]))
