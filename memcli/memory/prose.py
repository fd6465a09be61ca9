"""Where prose falls into units: its sections, and the bullets of those that are
lists."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from memcli.memory import grammar
from memcli.memory.values import Segment
from memcli.named import NamedTuple
from memcli.text.matching import verbose

_BULLETS_OF_A_SECTION = 3  # fewer are part of its text
_BULLETS_WITHOUT_HEADING = 2


class ProseSection(NamedTuple):
    """Text below a heading, with the titles on the way to it; () before the first."""

    titles: tuple[str, ...]
    start: int
    end: int


def pieces(
    scan: str, segments: Sequence[Segment]
) -> Iterator[tuple[ProseSection, int, int]]:
    """The stretches of prose that are a unit each, with their sections."""
    for segment in segments:
        if segment.kind == "prose" and not segment.damaged:
            for section in _split_headings(scan, segment):
                for start, end in _split_bullets(scan, section):
                    yield section, start, end


def _split_bullets(scan: str, section: ProseSection) -> list[tuple[int, int]]:
    """The bullets of a section with what is nested in them; the whole section when
    bullets are less than half of it."""
    _, start, end = section
    first = start
    least = _BULLETS_WITHOUT_HEADING
    if section.titles:
        first = scan.find("\n", start, end) + 1 or end
        least = _BULLETS_OF_A_SECTION
    starts = list(_list_starts(scan, first, end))
    places = [place for place, _ in starts]
    stops = [*places[1:], end]
    sizes = [
        stop - place
        for (place, is_bullet), stop in zip(starts, stops, strict=False)
        if is_bullet
    ]
    if len(sizes) < least or 2 * sum(sizes) < end - first:
        return [(start, end)]
    inside = (place for place in places if place > start)
    return list(pairwise([start, *inside, end]))


@verbose
def _bullet() -> str:
    """A bullet that is no rule such as `* * *`."""
    return r"(?<![^\n]) [ ]* [-*+][ \t]+ (?! [-*_ \t]* \r? (?:\n|\Z) ) \S"


class _ListStarts:
    """The top-level bullets of prose, and where text follows a list, line by line."""

    def __init__(self) -> None:
        self.depth: int | None = None
        self.in_list = False
        self.after_blank = False

    def sort(self, line: str) -> bool | None:
        """True where a line begins a top-level bullet, False where it ends a list."""
        begins = None
        indent = len(line) - len(line.lstrip(" "))
        if self.depth is None or indent <= self.depth:
            if _bullet().match(line):
                self.depth = self.depth or indent
                begins = self.in_list = True
            elif self.in_list and self.after_blank:
                begins = self.in_list = False
        self.after_blank = False
        return begins


def _list_starts(scan: str, start: int, end: int) -> Iterator[tuple[int, bool]]:
    """(place, True) of each top-level bullet, (place, False) where text follows a
    list."""
    if not _bullet().search(scan, start, end):
        return
    fences = grammar.code_fences(scan, start, end)
    starts = _ListStarts()
    next_place = start
    for line in scan[start:end].split("\n"):
        place = next_place
        next_place += len(line) + 1
        is_blank = not line.strip()
        if is_blank or grammar.within(fences, place):
            starts.after_blank = is_blank
            continue
        begins = starts.sort(line)
        if begins is not None:
            yield place, begins


def headed(scan: str, segment: Segment) -> tuple[str, list[ProseSection]]:
    """What stands above the first heading of a segment, and the sections below one."""
    sections = list(_split_headings(scan, segment))
    first = sections[0] if sections else None
    if first is None or first.titles:
        return "", sections
    above = scan[first.start : first.end].strip("\ufeff" + grammar.BLANKS)
    return above, sections[1:]


def _split_headings(scan: str, segment: Segment) -> Iterator[ProseSection]:
    """The sections of a segment; headings inside fences do not count."""
    start = segment.start + int(scan.startswith("\ufeff", segment.start))
    fences = grammar.code_fences(scan, start, segment.end)
    headings = [
        heading
        for heading in grammar.HEADING.find(scan, start, segment.end)
        if not grammar.within(fences, heading.start(1))
    ]
    marks = [heading.start(1) for heading in headings]
    places = [scan.rfind("\n", start, mark) + 1 or start for mark in marks]
    places.append(segment.end)
    if scan[segment.start : places[0]].strip("\ufeff" + grammar.BLANKS):
        yield ProseSection((), segment.start, places[0])
    ranks: list[tuple[int, str]] = []
    for heading, (place, end) in zip(headings, pairwise(places), strict=True):
        rank = len(heading[1])
        outer = [item for item in ranks if item[0] < rank]
        ranks = [*outer, (rank, grammar.heading_text(heading))]
        yield ProseSection(tuple(title for _, title in ranks), place, end)
