"""A session cut where a subject ends, and how far each stretch surprises. Pure."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate, pairwise, zip_longest
from statistics import fmean, pstdev
from typing import NamedTuple

from memcli.extraction.rules.words import content, spoken
from memcli.extraction.surprise import surprise_said
from memcli.memory.words import cosine
from memcli.sessions.model import Stretch, Turn

GAP = 3 * 3600  # seconds without a turn after which something new begins
KEY = 0.85  # share of new words from which a turn is a key moment
KEYS = 6  # of a stretch are looked at
# exchanges beside a break, of a talk that is cut, of a segment
WINDOW = 3
LEAST = 8
SHORTEST = 3
# segments of a session, answers of an exchange
MOST = 12
UNIT = 40
ALIKE = 0.15  # similarity from which neighbouring windows are about one thing
HEARD = 400  # characters of a turn that are compared
FULL = 8  # words of a turn that can be all new
# The mean share of new words of a calm stretch, and how much more one has that is as
# surprising as can be: the median of real sessions is at 0.35, their top tenth at 0.85.
CALM = 0.52
RANGE = 0.44


class _Moment(NamedTuple):
    """A turn that may be key, and its words."""

    place: int
    words: frozenset[str]


class _Exchange(NamedTuple):
    """A person's turn and the last of the answers, from where it starts."""

    start: int
    moments: Sequence[_Moment]


def segments(turns: Sequence[Turn], at: int = 0) -> tuple[Stretch, ...]:
    """`turns`, the first at `at` in its session, cut at gaps over 3 h and at the
    deepest valleys of the similarity of neighbouring windows (after Hearst's
    TextTiling), at most 12 stretches."""
    if not turns:
        return ()
    gaps = _gaps(turns)
    exchanges = list(_exchanges(turns, {*gaps}))
    rare = _rarity(exchanges)
    starts = [exchange.start for exchange in exchanges]
    breaks = [starts.index(gap) for gap in gaps]
    breaks += _valleys(exchanges, breaks, rare) if len(exchanges) >= LEAST else []
    edges = [0, *sorted(breaks[: MOST - 1]), len(exchanges)]
    ends = [*starts, len(turns)]
    return tuple(
        _stretch(turns, exchanges[first:last], ends[last], rare, at)
        for first, last in pairwise(edges)
    )


def _gaps(turns: Sequence[Turn]) -> list[int]:
    """The turns after which gaps end that are long enough, the longest first."""
    times = [
        (index, seconds)
        for index, turn in enumerate(turns)
        if (seconds := _seconds(turn.time)) is not None
    ]
    latest = accumulate((seconds for _, seconds in times), max)
    gaps = [
        (seconds - before, index)
        for (index, seconds), before in zip(times[1:], latest, strict=False)
        if seconds - before > GAP
    ]
    return [index for _, index in sorted(gaps, key=lambda gap: -gap[0])]


def _seconds(time: str) -> float | None:
    """A time in ISO 8601 as seconds; None when it is none."""
    try:
        read = datetime.fromisoformat(time)
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _exchanges(turns: Sequence[Turn], forced: set[int]) -> Iterator[_Exchange]:
    """The exchanges: one begins with a person's turn, after a gap, or after many
    answers."""
    start = 0
    answers = 0
    for index, turn in enumerate(turns):
        begins = index in forced or turn.human or answers >= UNIT
        if index > start and begins:
            yield _exchange(turns, start, index)
            start = index
            answers = 0
        answers += spoken(turn)
    yield _exchange(turns, start, len(turns))


def _exchange(turns: Sequence[Turn], start: int, end: int) -> _Exchange:
    """What was said between two turns."""
    in_order = [
        _Moment(place=index, words=content(turns[index].text[:HEARD].lower()))
        for index in moments(turns, start, end)
    ]
    return _Exchange(start=start, moments=in_order)


def moments(turns: Sequence[Turn], start: int, end: int) -> list[int]:
    """The turns that may be key: what a person said, the agent's last words before
    that."""
    said = [i for i in range(start, end) if turns[i].human or spoken(turns[i])]
    return [
        index
        for index, later in zip_longest(said, said[1:])
        if turns[index].human or later is None or turns[later].human
    ]


def _bag(exchanges: Sequence[_Exchange]) -> Counter[str]:
    return Counter(
        word
        for exchange in exchanges
        for moment in exchange.moments
        for word in moment.words
    )


def _rarity(exchanges: Sequence[_Exchange]) -> dict[str, float]:
    """The weight of each word: the fewer exchanges hold it, the more."""
    held = Counter(word for exchange in exchanges for word in _bag([exchange]))
    return {word: math.log((len(exchanges) + 0.5) / n) for word, n in held.items()}


def _stretch(
    turns: Sequence[Turn],
    exchanges: Sequence[_Exchange],
    end: int,
    rare: Mapping[str, float],
    offset: int,
) -> Stretch:
    """Some exchanges up to a turn, with their key turns: the first and the last word,
    what surprises most, and what a person calls a surprise."""
    moments = [moment for exchange in exchanges for moment in exchange.moments]
    indices = [moment.place for moment in moments]
    new = surprises_of([moment.words for moment in moments], rare)
    called = [_called(turns[index]) for index in indices]
    newest = sorted(zip(new, indices, strict=True), key=lambda one: -one[0])[:KEYS]
    keys = {index for share, index in newest if share >= KEY}
    keys |= {index for index, one in zip(indices, called, strict=True) if one}
    keys |= {*indices[:1], *indices[-1:]}
    return Stretch(
        start=exchanges[0].start + offset,
        end=end + offset,
        surprise=max(_usual(new[1:]), *called, 0.0),
        key_turns=tuple(key + offset for key in sorted(keys)),
    )


def _called(turn: Turn) -> float:
    """How far a person calls something a surprise."""
    return surprise_said(turn.text) if turn.human else 0.0


def _usual(shares: Sequence[float]) -> float:
    """How far the mean share of new words is more than that of a calm stretch."""
    mean = fmean(shares or [0.0])
    return round(min(1.0, max(0.0, (mean - CALM) / RANGE)), 3)


def _valleys(
    exchanges: Sequence[_Exchange], breaks: Sequence[int], rare: Mapping[str, float]
) -> list[int]:
    """The exchanges with which a topic begins, the deepest break first, none too near
    to another."""
    places = range(1, len(exchanges))
    alike = [_likeness(exchanges, place, rare) for place in places]
    depths = [_depth(alike, index) for index in range(len(alike))]
    deep = fmean(depths) + pstdev(depths)
    low = min(fmean(alike) - pstdev(alike), ALIKE)
    taken = {0, len(exchanges), *breaks}
    lowest: list[int] = []
    valleys = sorted(zip(depths, alike, places, strict=True), key=lambda one: -one[0])
    for depth, like, place in valleys:
        is_free = all(abs(place - other) >= SHORTEST for other in taken)
        if is_free and depth > deep and like < low:
            taken.add(place)
            lowest.append(place)
    return lowest


def _likeness(
    exchanges: Sequence[_Exchange], place: int, rare: Mapping[str, float]
) -> float:
    """The cosine of the words before a place and behind it."""
    before = _bag(exchanges[max(0, place - WINDOW) : place])
    behind = _bag(exchanges[place : place + WINDOW])
    weighed = [
        {word: math.sqrt(count) * rare[word] for word, count in bag.items()}
        for bag in (before, behind)
    ]
    return cosine(*weighed)


def _depth(alike: Sequence[float], index: int) -> float:
    """How far similarity falls from the peaks on both sides."""
    before = max(alike[max(0, index - 2 * WINDOW) : index + 1])
    behind = max(alike[index : index + 2 * WINDOW + 1])
    return before + behind - 2 * alike[index]


def surprises_of(
    bags: Sequence[frozenset[str]], rare: Mapping[str, float]
) -> list[float]:
    """The share of each text's words, by rarity, that no text before it had; the first
    surprises nobody, a short one little."""
    heard: set[str] = set()
    surprises = []
    for bag in bags:
        total = sum(rare.get(word, 1.0) for word in bag)
        fresh = sum(rare.get(word, 1.0) for word in bag - heard)
        share = fresh / total if heard and total else 0.0
        surprises.append(share * min(1.0, len(bag) / FULL))
        heard |= bag
    return surprises
