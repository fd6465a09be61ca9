"""How memory fades and is strengthened: decay, growth, FSRS-6, and what use does to an
entry."""

import datetime
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from memcli.memory.values import Entry
from memcli.named import NamedTuple

FLOOR = 0.1
UNKNOWN_AGE = 30
UNFADING = frozenset({"policy", "architecture"})
RATINGS = {"again": 1, "hard": 2, "good": 3, "easy": 4}

# Defaults of the `fsrs` package (FSRS-6), numbered as its formulas have them; w[20] is
# the exponent of the forgetting curve.
W = (
    0.212, 1.2931, 2.3065, 8.2956, 6.4133, 0.8334, 3.0194, 0.001, 1.8722, 0.1666, 0.796,
    1.4835, 0.0614, 0.2629, 1.6483, 0.6014, 1.8729, 0.5425, 0.0912, 0.0658, 0.1542,
)  # fmt: skip
STABILITY_RANGE = (0.001, 36500.0)
DIFFICULTY_RANGE = (1.0, 10.0)
INITIAL_DIFFICULTY = W[4] - math.exp(2 * W[5]) + 1  # of the rating "good": 2.1181
HALF_LIFE = 90.0  # days in which an entry loses half of its weight, by default
_FACTOR = 0.9 ** (-1 / W[20]) - 1


class Rule(NamedTuple):
    """`decay` is half-life, linear, fsrs or none; `growth` linear, log or none."""

    decay: str = "half-life"
    half_life: float = HALF_LIFE
    half_life_by_kind: Mapping[str, float] = {}
    growth: str = "log"
    use_importance: bool = True


class Prominence(NamedTuple):
    """`value` is importance x decay x growth."""

    importance: float
    decay: float
    growth: float
    value: float


def _clamp(value: float, bounds: tuple[float, float]) -> float:
    lowest, highest = bounds
    return max(lowest, min(highest, value))


def prominence(
    importance: float,
    kind: str,
    age: float,
    uses: int,
    rule: Rule,
    stability: float | None = None,
) -> Prominence:
    """The prominence, with its factors, of an entry of `age` days that was reinforced
    `uses` times."""
    weight = importance if rule.use_importance else 1.0
    decay = _decay(kind, age, rule, stability)
    grown = growth(uses, rule.growth)
    return Prominence(
        importance=weight, decay=decay, growth=grown, value=weight * decay * grown
    )


def _decay(kind: str, age: float, rule: Rule, stability: float | None) -> float:
    is_configured = kind in rule.half_life_by_kind
    if rule.decay == "none" or (kind in UNFADING and not is_configured):
        return 1.0
    if is_configured:
        return half_life_decay(age, rule.half_life_by_kind[kind])
    if rule.decay == "half-life":
        return half_life_decay(age, rule.half_life)
    if rule.decay == "linear":
        return max(FLOOR, 1 - max(age, 0) / 180)
    return retrievability(age, initial_stability() if stability is None else stability)


def half_life_decay(age: float, half_life: float = HALF_LIFE) -> float:
    """max(0.1, 0.5^(age/half_life)), ages in days; never fades with an infinite
    half-life."""
    if age <= 0 or half_life == math.inf:
        return 1.0
    if half_life <= 0:
        return FLOOR
    share: float = 0.5 ** (age / half_life)
    return max(FLOOR, share)


def retrievability(age: float, stability: float) -> float:
    """FSRS-6 forgetting curve, (1 + f t/S)^-w20 with f = 0.9^(-1/w20) - 1 and t in
    whole days."""
    days = int(max(age, 0))
    ratio = _FACTOR * days / _clamp(stability, STABILITY_RANGE)
    return math.pow(1 + ratio, -W[20])


def initial_stability(surprise: float = 0.0) -> float:
    """FSRS-6 stability of a first "good" in days, times 1 + 0.5 x surprise (0 to 1)."""
    return W[2] * (1 + 0.5 * _clamp(surprise, (0.0, 1.0)))


def review(
    stability: float, difficulty: float, days: float, rating: str
) -> tuple[float, float]:
    """Stability and difficulty after a review (FSRS-6), `days` after the last one; an
    unknown rating counts as good."""
    grade = RATINGS.get(rating, RATINGS["good"])
    stability = _clamp(stability, STABILITY_RANGE)
    difficulty = _clamp(difficulty, DIFFICULTY_RANGE)
    if days < 1:
        after = _same_day(stability, grade)
    elif grade == RATINGS["again"]:
        after = _forgotten(stability, difficulty, days)
    else:
        after = _recalled(stability, difficulty, days, grade)
    harder = _difficulty_after(difficulty, grade)
    return _clamp(after, STABILITY_RANGE), _clamp(harder, DIFFICULTY_RANGE)


def _difficulty_after(difficulty: float, grade: int) -> float:
    """Damped towards its highest value, and drawn back to that of an easy first."""
    room = (10 - difficulty) / 9
    damped = difficulty - W[6] * (grade - 3) * room
    easiest = W[4] - math.exp(W[5] * 3) + 1
    return W[7] * easiest + (1 - W[7]) * damped


def _same_day(stability: float, grade: int) -> float:
    by_grade = math.exp(W[17] * (grade - 3 + W[18]))
    increase = by_grade * math.pow(stability, -W[19])
    if grade != RATINGS["again"]:
        increase = max(increase, 1.0)
    return stability * increase


def _forgotten(stability: float, difficulty: float, days: float) -> float:
    lost = math.exp(W[14] * (1 - retrievability(days, stability)))
    retained = math.pow(stability + 1, W[13]) - 1
    long_term = W[11] * math.pow(difficulty, -W[12]) * retained * lost
    return min(long_term, stability / math.exp(W[17] * W[18]))


def _recalled(stability: float, difficulty: float, days: float, grade: int) -> float:
    factor = {RATINGS["hard"]: W[15], RATINGS["easy"]: W[16]}.get(grade, 1.0)
    gain = math.exp(W[8]) * (11 - difficulty) * math.pow(stability, -W[9])
    surprise = math.exp(W[10] * (1 - retrievability(days, stability))) - 1
    return stability * (1 + gain * surprise * factor)


def growth(uses: int, mode: str) -> float:
    """The factor of `n` reinforcements: linear 1 + n, log 1 + log2(n+1)/8, none 1."""
    if mode == "none":
        return 1.0
    count = max(uses, 0)
    if mode == "linear":
        return 1.0 + count
    return 1 + math.log2(count + 1) / 8


def age_days(
    last_reinforced: str, created_at: str, date: str, today: datetime.date
) -> int:
    """Whole days since the first of the three that is an ISO date, 30 if none is; 0 for
    a day in the future."""
    for text in (last_reinforced, created_at, date):
        with suppress(ValueError):
            age = today - datetime.date.fromisoformat(text[:10])
            return max(0, age.days)
    return UNKNOWN_AGE


USED = 0.3
"""Share of an entry's words that a session must say for the entry to count as used."""


def stronger(entry: Entry, today: str) -> dict[str, Any]:
    """The values of an entry with one more count and today's date."""
    return {
        "reinforcement_count": entry.reinforcement_count + 1,
        "last_reinforced": today,
    }


def reviewed(entry: Entry, rating: str, today: datetime.date) -> dict[str, Any]:
    """FSRS-6 review of an entry, at most once a day; `again` does not count as a
    reinforcement."""
    if is_reviewed(entry, today):
        return {}
    initial = initial_stability(float(entry.extra.get("surprise", 0)))
    stored = {"stability": initial, "difficulty": INITIAL_DIFFICULTY, **entry.extra}
    stability, difficulty = review(
        stability=float(stored["stability"]),
        difficulty=float(stored["difficulty"]),
        days=age_days(entry.last_reinforced, entry.created_at, entry.date, today),
        rating=rating,
    )
    return {
        "reinforcement_count": entry.reinforcement_count + (rating != "again"),
        "last_reinforced": today.isoformat(),
        "stability": round(stability, 4),
        "difficulty": round(difficulty, 4),
    }


def is_reviewed(entry: Entry, today: datetime.date) -> bool:
    """Whether an entry was reviewed today already."""
    return entry.last_reinforced >= today.isoformat() and "stability" in entry.extra


def is_used(entry: Entry, spoken: str) -> bool:
    """Whether a session says at least 30 % of an entry's distinct words of four letters
    or more."""
    words = long_words(entry.body)
    return not words or len(words & long_words(spoken)) >= USED * len(words)


def long_words(text: str) -> set[str]:
    """The distinct words of four letters or more, in lower case."""
    return set(re.findall(r"[^\W\d_]{4,}", text.lower()))
