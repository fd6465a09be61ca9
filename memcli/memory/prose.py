"""Prose of a memory file -> its sections, split at headings and titled by the heading path."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memcli.memory.entry_values import make_entry, read_values
from memcli.memory.grammar import (
    BLANKS,
    HEAD_DATE,
    HEADING,
    LineNumbers,
    code_fences,
    date_in,
    derived_id,
    heading_text,
    with_line_feeds,
    within,
)
from memcli.memory.parser import MemoryFile
from memcli.memory.values import (
    Entry,
    Segment,
)


def sections(file: MemoryFile) -> list[Entry]:
    """The sections of all prose segments: split at headings, titled by the heading path."""
    found: list[Entry] = []
    seen: dict[tuple[str, str], int] = {}
    scan = with_line_feeds(file.text)
    lines = LineNumbers(scan)
    for segment in file.segments:
        if segment.kind == "prose":
            for path, start, end in _split_headings(scan, segment):
                section = _section(file, path, start, end, seen, lines)
                if section is not None:
                    found.append(section)
    return found


def _split_headings(scan: str, segment: Segment) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """(heading path, start, end) of each section; headings inside fences do not count."""
    start = segment.start + int(scan.startswith("\ufeff", segment.start))
    fences = code_fences(scan, start, segment.end)
    heads = [
        head for head in HEADING.find(scan, start, segment.end) if not within(fences, head.start(1))
    ]
    places = [scan.rfind("\n", start, head.start(1)) + 1 or start for head in heads] + [segment.end]
    if scan[segment.start : places[0]].strip("\ufeff" + BLANKS):
        yield (), segment.start, places[0]
    path: list[tuple[int, str]] = []
    for head, place, end in zip(heads, places, places[1:], strict=False):
        depth = len(head[1])
        path = [*(item for item in path if item[0] < depth), (depth, heading_text(head))]
        yield tuple(name for _, name in path), place, end


def _section(
    file: MemoryFile,
    path: tuple[str, ...],
    start: int,
    end: int,
    seen: dict[tuple[str, str], int],
    lines: LineNumbers,
) -> Entry | None:
    raw = file.text[start:end]
    body = raw.strip("\ufeff" + BLANKS)
    if path and not re.search(r"[\r\n]", body):
        return None  # a heading alone
    title = " > ".join(HEAD_DATE.sub("", name) for name in path)
    ordinal = seen[title, body] = seen.get((title, body), -1) + 1
    values, _ = read_values({"title": title} if title else {})
    values["id"] = derived_id(file.path, title, body, str(ordinal))
    line = lines.number(start + raw.index(body))
    day = next(filter(None, (date_in(name) for name in reversed(path))), date_in(file.path))
    entry = make_entry(values, body, line=line, start=start, end=end)
    return entry._replace(written=False, identified=False, date=day)
