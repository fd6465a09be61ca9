"""Relevance x prominence x level x kind, near-duplicates collapsed, then diversified.
Pure."""

import datetime
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from memcli.index import weights
from memcli.index.search import Match
from memcli.memory.prominence import (
    Prominence,
    Rule,
    age_days,
    initial_stability,
    prominence,
)
from memcli.memory.words import overlap
from memcli.named import NamedTuple
from memcli.project.config import Config

SPARE = 20  # how many hits beyond the limit diversification may choose from

_WORDS = re.compile(r"[^\W_]+")


class RankedItem(NamedTuple):
    """What ranking needs of one entry; `level` is that of the outermost copy."""

    id: str
    text: str
    kind: str
    level: str
    place: tuple[Any, ...]
    importance: float
    reinforced: int
    age: int
    surprise: float
    stability: float | None


class Scored(NamedTuple):
    """An item with its score and the factors that made it; `words` is how well each
    word of the task is met, `context` what was lent of relevance, `walked` the hit that
    an edge led from."""

    item: RankedItem
    score: float
    lexical: float
    vector: float | None
    relevance: float
    own: bool
    prominence: Prominence
    level_weight: float
    kind_weight: float
    words: float | None = None
    context: float = 0.0
    duplicates: tuple[str, ...] = ()
    walked: str = ""


def rule_of(c: Config) -> Rule:
    """How entries fade and grow, as it is configured."""
    return Rule(
        decay=c.decay,
        half_life=c.half_life,
        half_life_by_kind=c.half_life_by_kind,
        growth=c.growth,
        use_importance=c.use_importance,
    )


def weigh(
    items: Iterable[RankedItem], matches: Mapping[str, Match], config: Config
) -> list[Scored]:
    """Score every item, best first; what matches in its own text comes before what does
    not."""
    most = max((match.lexical for match in matches.values()), default=0.0) or 1.0
    scored = list[Scored]()
    rule = rule_of(config)
    for item in items:
        stable = (
            initial_stability(item.surprise)
            if item.stability is None
            else item.stability
        )
        p = prominence(
            item.importance, item.kind, item.age, item.reinforced, rule, stable
        )
        match = matches[item.id]
        level = config.level_weights.get(item.level, 1.0)
        kind = config.kind_weights.get(item.kind, 1.0)
        score = match.relevance * p.value**config.prominence_weight * level * kind
        scored.append(
            Scored(
                item=item,
                score=score,
                lexical=match.lexical / most,
                vector=match.cosine,
                relevance=match.relevance,
                own=match.own,
                prominence=p,
                level_weight=level,
                kind_weight=kind,
                words=match.words,
                context=match.lent,
            )
        )
    return sorted(scored, key=order)


def order(hit: Scored) -> tuple[Any, ...]:
    """Best first; what ties goes by its place in the tree."""
    return (not hit.own, -round(hit.score, 12), hit.item.place)


def words(text: str) -> frozenset[str]:
    """The distinct words of a text, lower-case."""
    return frozenset(_WORDS.findall(text.lower()))


def diversify(
    hits: Sequence[Scored],
    *,
    limit: int,
    weight: float,
    alike: Callable[[str, str], bool],
) -> list[Scored]:
    """Collapse what is `alike` into the best of it, then pick, what matches in its own
    text first.

    MMR (Carbonell and Goldstein 1998): weight x score/best - (1 - weight) x greatest
    Jaccard to a hit already picked."""
    kept = _collapse(hits, limit + SPARE, alike)
    best = kept[0][0].score or 1.0 if kept else 1.0
    rest = [
        (not h.own, -(weight * h.score / best), i, 0, 0.0)
        for i, (h, _) in enumerate(kept)
    ]
    heapify(rest)
    picked: list[tuple[Scored, frozenset[str]]] = []
    while rest and len(picked) < limit:
        _, _, i, seen, near = heappop(rest)
        hit, bag = kept[i]
        # What is picked lowers others: they wait for it.
        if weight < 1 and seen < len(picked):
            near = max(
                near,
                *((1 - weight) * overlap(bag, other) for _, other in picked[seen:]),
            )
            value = weight * hit.score / best - near
            heappush(rest, (not hit.own, -value, i, len(picked), near))
        else:
            picked.append(kept[i])
    return [hit for hit, _ in picked]


def join(
    hits: Sequence[Scored],
    more: Sequence[Scored],
    *,
    limit: int,
    alike: Callable[[str, str], bool],
) -> list[Scored]:
    """Put what edges led to among the hits, by score, but behind the hit it comes
    from."""
    placed = list(hits)
    for hit in sorted(more, key=order):
        start = (
            next(i for i, other in enumerate(placed) if other.item.id == hit.walked) + 1
        )
        lower = (i for i in range(start, len(placed)) if placed[i].score < hit.score)
        placed.insert(next(lower, len(placed)), hit)
    return [hit for hit, _ in _collapse(placed, limit, alike)]


def _collapse(
    hits: Sequence[Scored], most: int, alike: Callable[[str, str], bool]
) -> list[tuple[Scored, frozenset[str]]]:
    kept: list[tuple[Scored, frozenset[str]]] = []
    for hit in hits:
        bag = words(hit.item.text)
        at = next(
            (i for i, other in enumerate(kept) if _same((hit, bag), other, alike)), None
        )
        if at is not None:
            first, seen = kept[at]
            kept[at] = (
                first._replace(duplicates=(*first.duplicates, hit.item.id)),
                seen,
            )
        elif len(kept) < most:
            kept.append((hit, bag))
        else:
            break
    return kept


def _same(
    first: tuple[Scored, frozenset[str]],
    other: tuple[Scored, frozenset[str]],
    alike: Callable[[str, str], bool],
) -> bool:
    mine = first[0].item
    theirs = other[0].item
    # A repository's words do not hide the person's own.
    crosses = (mine.level == "global") != (theirs.level == "global")
    if crosses and mine.text != theirs.text:
        return False
    fewer, more = sorted((len(first[1]), len(other[1])))
    if fewer < more * weights.SAID or overlap(first[1], other[1]) < weights.SAID:
        return False
    return alike(mine.text, theirs.text)


def age_of(values: Mapping[str, Any], now: datetime.date) -> int:
    """Age in days of an entry from its indexed values."""
    reinforced, created, date = (
        values.get(k, "") for k in ("reinforced", "created", "date")
    )
    return age_days(reinforced, created, date, now)
