"""A session in stretches: where one subject ends and the next begins, and what surprised. Pure.

Units are exchanges: what a person said and what the agent answered to it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from memcli.memory.words import bigrams, spaceless_runs
from memcli.sessions.model import Segment, Turn

GAP = 3 * 3600
"""Seconds without a turn after which something new begins."""
KEY = 0.85
"""Distance from what came before from which a turn is a key moment."""
MOST = 12
"""Segments of one session at most."""
WINDOW = 3
LEAST = 8
"""Exchanges on each side of a possible break that are compared; of a session that is split by
topic.
"""
SHORTEST = 3
"""Exchanges of a segment that a topic break makes."""
UNIT = 40
"""Turns with words after which an exchange without a human turn is cut."""
ALIKE = 0.15
"""Similarity above which neighbouring windows are about one thing, however deep the valley."""
HEARD = 400
DECAY = 0.85
"""Characters of a turn that are compared, and what is left of the running event after one more
turn.
"""


class _Unit(NamedTuple):
    start: int
    end: int
    words: Mapping[str, int]
    said: tuple[int, ...]


class _Heard(dict[int, tuple[str, ...]]):
    """The words of turns by their index, read once and each kept once."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        super().__init__()
        self._turns = turns
        self._known: dict[str, str] = {}

    def __missing__(self, i: int) -> tuple[str, ...]:
        known = self._known
        self[i] = tuple(
            [known.setdefault(word, word) for word in content(self._turns[i].text[:HEARD])]
        )
        return self[i]


# -- segments -----------------------------------------------------------------------------------


def segments(turns: Sequence[Turn], at: int = 0) -> tuple[Segment, ...]:
    """`turns` cut into at most 12 stretches, in order, without holes; one for a short session, ()
    for none.

    They are cut at gaps over 3 h and at the deepest valleys of the similarity of neighbouring
    windows (after Hearst's TextTiling): the cosine of their words weighed by rarity. `at` is the
    place of the first turn in its session.
    """
    if not turns:
        return ()
    gaps = _gaps(turns)
    heard = _Heard(turns)
    units = list(_units(turns, {at for _, at in gaps}, heard))
    rare = _rarity([unit.words for unit in units])
    alike = _by_words(units) if len(units) >= LEAST else []
    edges = [0, *_chosen(gaps, _valleys(units, gaps, alike)), len(turns)]
    found = (_segment(turns, start, end, rare, heard) for start, end in pairwise(edges))
    return tuple(
        Segment(s.start + at, s.end + at, s.surprise, tuple(key + at for key in s.key_turns))
        for s in found
    )


def _gaps(turns: Sequence[Turn]) -> list[tuple[float, int]]:
    """(seconds, index of the turn after it) of every gap that is long enough."""
    found, last, hour = [], None, ""
    for i, turn in enumerate(turns):
        if turn.time[:13] == hour:
            continue
        hour = turn.time[:13]
        now = _seconds(turn.time) if turn.time else None
        if now is None:
            continue
        if last is not None and i and now - last > GAP:
            found.append((now - last, i))
        last = now if last is None else max(last, now)
    return found


def _seconds(time: str) -> float | None:
    try:
        at = datetime.fromisoformat(time)
        return (at.replace(tzinfo=None) - (at.utcoffset() or _ZERO) - _EPOCH).total_seconds()
    except (ValueError, OverflowError):
        return None


_EPOCH = datetime(1970, 1, 1)
_ZERO = _EPOCH - _EPOCH


def _units(turns: Sequence[Turn], forced: set[int], heard: _Heard) -> Iterator[_Unit]:
    start, said = 0, 0
    for i, turn in enumerate(turns):
        if i > start and (i in forced or turn.human or said >= UNIT):
            yield _unit(turns, start, i, heard)
            start, said = i, 0
        said += bool(turn.text) and turn.role == "assistant"
    yield _unit(turns, start, len(turns), heard)


def _unit(turns: Sequence[Turn], start: int, end: int, heard: _Heard) -> _Unit:
    """An exchange: what the person said, and the agent's last words."""
    said = tuple(_moments(turns, start, end))
    words: Counter[str] = Counter()
    for i in said:
        words.update(heard[i])
    return _Unit(start, end, words, said)


def spoken(turn: Turn) -> bool:
    return turn.role == "assistant" and bool(turn.text) and not turn.tool


def _valleys(
    units: Sequence[_Unit], gaps: list[tuple[float, int]], alike: list[float]
) -> list[tuple[float, int]]:
    """(depth, index of the turn) of the topic breaks, those that lie too near to another left out."""
    depths = [_depth(alike, i) for i in range(len(alike))]
    least, most = sum(_spread(depths)), _spread(alike)[0] - _spread(alike)[1]
    deep = [
        (depth, i)
        for i, (depth, like) in enumerate(zip(depths, alike, strict=True), 1)
        if depth > least and like < min(most, ALIKE)
    ]
    split = {at for _, at in gaps}
    taken = {0, len(units)} | {i for i, unit in enumerate(units) if unit.start in split}
    found: list[tuple[float, int]] = []
    for depth, i in sorted(deep, key=lambda one: (-one[0], one[1])):
        if len(found) < MOST and all(abs(i - other) >= SHORTEST for other in taken):
            taken.add(i)
            found.append((depth, units[i].start))
    return found


def _spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation; zeros for no values."""
    if not values:
        return 0.0, 0.0
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


def _depth(alike: Sequence[float], i: int) -> float:
    """How far similarity falls at `i` from the peaks on both sides."""
    left = right = i
    while left and alike[left - 1] >= alike[left] and i - left < 2 * WINDOW:
        left -= 1
    while right + 1 < len(alike) and alike[right + 1] >= alike[right] and right - i < 2 * WINDOW:
        right += 1
    return alike[left] + alike[right] - 2 * alike[i]


def _by_words(units: Sequence[_Unit]) -> list[float]:
    rare = _rarity([unit.words for unit in units])
    return [
        _cosine(_bag(units[max(0, i - WINDOW) : i], rare), _bag(units[i : i + WINDOW], rare))
        for i in range(1, len(units))
    ]


def _rarity(bags: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """The weight of a word: the logarithm of how few of the bags have it."""
    held: Counter[str] = Counter()
    for bag in bags:
        held.update(bag.keys())
    return {word: math.log((len(bags) + 0.5) / count) for word, count in held.items()}


def _bag(units: Sequence[_Unit], rare: Mapping[str, float]) -> dict[str, float]:
    total: Counter[str] = Counter()
    for unit in units:
        total.update(unit.words)
    return {word: math.sqrt(count) * rare[word] for word, count in total.items()}


def _cosine(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    if len(a) > len(b):
        a, b = b, a
    dot = sum(weight * b[word] for word, weight in a.items() if word in b)
    sizes = sum(x * x for x in a.values()) * sum(x * x for x in b.values())
    return dot / math.sqrt(sizes) if sizes else 0.0


def _chosen(gaps: list[tuple[float, int]], valleys: list[tuple[float, int]]) -> list[int]:
    """Where to cut: the longest gaps first, then the deepest valleys, as many as are sensible."""
    longest = sorted(gaps, key=lambda one: (-one[0], one[1]))
    return sorted([at for _, at in [*longest, *valleys]][: MOST - 1])


# -- surprise -----------------------------------------------------------------------------------


def _segment(
    turns: Sequence[Turn], start: int, end: int, rare: Mapping[str, float], heard: _Heard
) -> Segment:
    moments = _moments(turns, start, end)
    surprises = surprises_of([set(heard[i]) for i in moments], rare)
    keys = sorted(range(len(moments)), key=lambda n: (-surprises[n], n))
    most = [moments[n] for n in keys if surprises[n] >= KEY][:6]
    ends = [moments[0], moments[-1]] if moments else []
    later = surprises[1:] or [0.0]
    surprise = calibrated(sum(later) / len(later))
    return Segment(start, end, round(surprise, 3), tuple(sorted({*most, *ends})))


def _moments(turns: Sequence[Turn], start: int, end: int) -> list[int]:
    """The turns that may be key: what a person said, and the agent's last words of each exchange."""
    found, last = [], -1
    for i in range(start, end):
        turn = turns[i]
        if turn.human:
            found += [last, i] if last >= 0 else [i]
            last = -1
        elif spoken(turn):
            last = i
    return [*found, last] if last >= 0 else found


DISTANCES = (0.0, 0.51, 0.64, 0.70, 0.77, 1.0)
SURPRISE = (0.0, 0.15, 0.35, 0.60, 0.85, 1.0)
"""What a mean distance stands for. Of stretches of real sessions half are below 0.35, and one in
ten is above 0.85.
"""


def calibrated(distance: float) -> float:
    """The surprise, 0 to 1, of a stretch whose turns lie so far from what came before."""
    at = min(bisect(DISTANCES, distance), len(DISTANCES) - 1)
    part = (distance - DISTANCES[at - 1]) / (DISTANCES[at] - DISTANCES[at - 1])
    return SURPRISE[at - 1] + min(1.0, part) * (SURPRISE[at] - SURPRISE[at - 1])


def surprises_of(said: Sequence[set[str]], rare: Mapping[str, float]) -> list[float]:
    """How far each text, given as its words, is from the running event; 0 for the first.

    The event is the exponential mean of what was said so far; similarity is the share of a text's
    words, weighed by rarity, that it holds. A text of fewer than 8 words counts less: that "looks
    good, ship it" shares nothing with what was said before is no surprise.
    """
    event: dict[str, float] = {}
    scale, found = 1.0, []
    for words in said:
        total = sum(rare.get(word, 1.0) for word in words)
        known = sum(
            rare.get(word, 1.0) * min(1.0, 2 * event.get(word, 0.0) / scale) for word in words
        )
        fresh = (1 - known / total) * min(1.0, len(words) / 8) if event and total else 0.0
        found.append(min(1.0, max(0.0, fresh)))
        # Growing what comes is shrinking what was, without touching every word.
        scale = _rescaled(event, scale / DECAY)
        for word in words:
            event[word] = min(event.get(word, 0.0) + scale * (1 - DECAY) * 4, scale)
    return found


def _rescaled(event: dict[str, float], scale: float) -> float:
    """The scale, brought back to 1 before it overflows."""
    if scale < 1e6:
        return scale
    for word in [word for word, weight in event.items() if weight / scale < 1e-3]:
        del event[word]
    for word in event:
        event[word] /= scale
    return 1.0


_WORD = re.compile(r"[^\W\d_]{3,40}")
_STOP = frozenset(
    """
    the and that this with for you are was but not have has had can could would should will just now then
    from they them there here what when where which who how why all any some its it's into out about also
    please let lets make sure like get got use using one two been being more than other only does did done
    don't doesn't i'll i'm i've you're that's yes okay see need want think look looks run add new file files
    der die das und ist nicht ein eine mit auf für den dem des von ich wir sie auch aber noch bitte jetzt
    los las una que por con para del está como más pero esto
    """.split()
)


def content(text: str) -> list[str]:
    """The words of a text that say what it is about: lower case, without stop words, plural s cut."""
    low = text.lower()
    found = [word.rstrip("s") for word in _WORD.findall(low) if word not in _STOP]
    if not low.isascii():
        found += [pair for run in spaceless_runs(low) for pair in bigrams(run)[:-1]]
    return found
