"""A session cut where a subject ends, and how far each stretch surprises. Pure."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from sys import intern
from typing import NamedTuple

from memcli.extraction.rules.words import content, spoken
from memcli.extraction.surprise import surprise_said
from memcli.memory.words import cosine
from memcli.sessions.model import Stretch, Turn

GAP = 3 * 3600  # seconds without a turn after which something new begins
KEY = 0.85  # distance from what came before from which a turn is a key moment
# exchanges beside a break, of a talk that is cut, of a segment
WINDOW = 3
LEAST = 8
SHORTEST = 3
# segments of a session, turns with words of an exchange
MOST = 12
UNIT = 40
ALIKE = 0.15  # similarity from which neighbouring windows are about one thing
HEARD = 400  # characters of a turn that are compared
DECAY = 0.85  # what is left of the running event after one more turn
SCALE = ((0.0, 0.0), (0.68, 0.35), (0.82, 0.85), (1.0, 1.0))
"""Mean distances and the surprise they are: the median of real sessions, and their top
tenth."""

_Heard = Callable[[int], tuple[str, ...]]  # of a turn by its index, each kept once


class _Exchange(NamedTuple):
    """A person's turn and the answers: where it starts, and its words."""

    start: int
    said: Counter[str]


def segments(turns: Sequence[Turn], at: int = 0) -> tuple[Stretch, ...]:
    """`turns`, the first at `at` in its session, cut at gaps over 3 h and at the
    deepest valleys of the similarity of neighbouring windows (after Hearst's
    TextTiling), at most 12 stretches."""
    if not turns:
        return ()

    @cache
    def heard(index: int) -> tuple[str, ...]:
        return tuple(map(intern, sorted(content(turns[index].text[:HEARD].lower()))))

    gaps = [start for _, start in sorted(_gaps(turns))]
    exchanges = list(_exchanges(turns, {*gaps}, heard))
    rare = _rarity(exchanges)
    valleys = _valleys(exchanges, {*gaps}, rare) if len(exchanges) >= LEAST else []
    edges = [0, *sorted([*gaps, *valleys][: MOST - 1]), len(turns)]
    found = (_stretch(turns, *edge, heard, rare) for edge in pairwise(edges))
    return tuple(_moved(one, at) for one in found)


def _rarity(exchanges: Sequence[_Exchange]) -> dict[str, float]:
    """The weight of each word: the fewer exchanges hold it, the more."""
    held = Counter(word for exchange in exchanges for word in exchange.said)
    return {word: math.log((len(exchanges) + 0.5) / n) for word, n in held.items()}


def _stretch(
    turns: Sequence[Turn],
    start: int,
    end: int,
    heard: _Heard,
    rare: Mapping[str, float],
) -> Stretch:
    """What lies between two edges, with its key turns: the first and the last word,
    what surprises most, and what a person calls a surprise."""
    said = moments(turns, start, end)
    surprises = surprises_of([set(heard(index)) for index in said], rare)
    told = {
        index: surprise_said(turns[index].text) for index in said if turns[index].human
    }
    best = sorted(zip(surprises, said, strict=True), key=lambda one: -one[0])[:6]
    keys = {index for surprise, index in best if surprise >= KEY}
    keys |= {*said[:1], *said[-1:]}
    keys |= {index for index, surprise in told.items() if surprise}
    return Stretch(
        start=start,
        end=end,
        surprise=max(_on_scale(surprises[1:]), *told.values(), 0.0),
        key_turns=tuple(sorted(keys)),
    )


def _moved(stretch: Stretch, offset: int) -> Stretch:
    """A stretch counted from where its session begins."""
    return stretch._replace(
        start=stretch.start + offset,
        end=stretch.end + offset,
        key_turns=tuple(key + offset for key in stretch.key_turns),
    )


def _gaps(turns: Sequence[Turn]) -> Iterator[tuple[float, int]]:
    """(minus its seconds, index of the turn after it) of every gap that is long
    enough."""
    last = -math.inf
    hour = ""
    for index, turn in enumerate(turns):
        if turn.time[:13] == hour:  # a time is only read where the hour changes
            continue
        hour = turn.time[:13]
        now = _seconds(turn.time)
        if now is None:
            continue
        if index and GAP < now - last < math.inf:
            yield last - now, index
        last = max(last, now)


def _seconds(time: str) -> float | None:
    """A time in ISO 8601 as seconds; None when it is none."""
    try:
        read = datetime.fromisoformat(time)
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _exchanges(
    turns: Sequence[Turn], forced: set[int], heard: _Heard
) -> Iterator[_Exchange]:
    start = answers = 0
    for index, turn in enumerate(turns):
        begins = index in forced or turn.human or answers >= UNIT
        if index > start and begins:
            yield _exchange(turns, start, index, heard)
            start = index
            answers = 0
        answers += spoken(turn)
    yield _exchange(turns, start, len(turns), heard)


def _exchange(turns: Sequence[Turn], start: int, end: int, heard: _Heard) -> _Exchange:
    said = Counter(
        word for index in moments(turns, start, end) for word in heard(index)
    )
    return _Exchange(start=start, said=said)


def _valleys(
    units: Sequence[_Exchange], split: set[int], rare: Mapping[str, float]
) -> list[int]:
    """The turns of the topic breaks, the deepest first, none too near to another."""

    def bag(start: int, end: int) -> dict[str, float]:
        near = units[max(0, start) : end]
        total = sum((one.said for one in near), Counter[str]())
        return {word: math.sqrt(count) * rare[word] for word, count in total.items()}

    places = range(1, len(units))
    alike = [
        cosine(bag(index - WINDOW, index), bag(index, index + WINDOW))
        for index in places
    ]
    depths = [_depth(alike, index) for index in range(len(alike))]
    deep = sum(_spread(depths))
    usual, around = _spread(alike)
    low = min(usual - around, ALIKE)
    taken = {0, len(units)} | {
        index for index, one in enumerate(units) if one.start in split
    }
    found: list[int] = []
    valleys = sorted(zip(depths, alike, places, strict=True), key=lambda one: -one[0])
    for depth, like, index in valleys:
        is_free = all(abs(index - other) >= SHORTEST for other in taken)
        if is_free and depth > deep and like < low:
            taken.add(index)
            found.append(units[index].start)
    return found


def _depth(alike: Sequence[float], index: int) -> float:
    """How far similarity falls from the peaks on both sides."""
    before = max(alike[max(0, index - 2 * WINDOW) : index + 1])
    behind = max(alike[index : index + 2 * WINDOW + 1])
    return before + behind - 2 * alike[index]


def _spread(values: Sequence[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, math.dist(values, [mean] * len(values)) / math.sqrt(len(values))


def _on_scale(surprises: Sequence[float]) -> float:
    mean = sum(surprises) / max(1, len(surprises))
    (low, least), (high, most) = next(
        pair for pair in pairwise(SCALE) if mean <= pair[1][0]
    )
    return round(least + (mean - low) * (most - least) / (high - low), 3)


def moments(turns: Sequence[Turn], start: int, end: int) -> list[int]:
    """The turns that may be key: what a person said, the agent's last words of each
    exchange."""
    found = []
    last = -1
    for index in range(start, end):
        if turns[index].human:
            found += [last, index] if last >= 0 else [index]
            last = -1
        elif spoken(turns[index]):
            last = index
    return [*found, last] if last >= 0 else found


def surprises_of(said: Sequence[set[str]], rare: Mapping[str, float]) -> list[float]:
    """The share of each text's words, by rarity, that is new to the fading mean of
    those before."""
    # The weight of a word when it was last said, and when that was.
    event: dict[str, tuple[float, int]] = {}
    found = []
    for now, bag in enumerate(said):
        held = {word: event.get(word, (0.0, now)) for word in bag}
        left = {
            word: weight * DECAY ** (now - 1 - index)
            for word, (weight, index) in held.items()
        }
        total = sum(rare.get(word, 1.0) for word in bag)
        known = sum(
            rare.get(word, 1.0) * min(1.0, 2 * weight) for word, weight in left.items()
        )
        fresh = (1 - known / total) * min(1.0, len(bag) / 8) if event and total else 0.0
        found.append(min(1.0, max(0.0, fresh)))
        for word, weight in left.items():
            event[word] = (min(1.0, weight * DECAY + (1 - DECAY) * 4), now)
    return found
