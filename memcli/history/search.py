"""What of the record bears on a task: stretches of sessions, and commits."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from heapq import nlargest
from itertools import combinations
from typing import Final

from memcli.history.change import says_so
from memcli.history.docs import PARTS, Doc, DocPlace
from memcli.history.record import HistoryRecord
from memcli.index import lexical, weights
from memcli.memory.words import stem, stems
from memcli.named import NamedTuple
from memcli.storage.files import ONE_OF

AFTER: Final = 10  # exchanges after the best one in which its conclusion is looked for
POOL: Final = 16  # how many of the best stretches are hits
FEW: Final = 800
"""Matches of a term that are always scored. Of a commoner one of the three rarest
terms, those with another of these are; of the next ones up to a thirty-third of all
parts, those found so far."""
SCORED: Final = 5000  # matches after which no more common terms are looked at
# the best parts: how long they are; of which stretches are made
MEASURED = 400
WEIGHED = 200
COMPARED_TEXT: Final = 3000  # characters of a hit that are compared
COMPARED: Final = 10  # how many of the best hits are compared with each other
_NUMBER: Final = re.compile(r"\s*\(#\d+\)\Z|\W+")  # of a pull request; between words
Points = Mapping[int, Mapping[int, float]]


class HistoryHit(NamedTuple):
    """A stretch of a session, or a commit: its exchanges in order, `best` the one that
    matches;
    `strength` (0 to 1) is how far it is above chance, `met` how many terms of the task
    it has, `newer` the handle of a later hit about the same thing."""

    docs: tuple[Doc, ...]
    best: int
    score: float
    strength: float
    met: int
    newer: str = ""

    @property
    def doc(self) -> Doc:
        """The exchange that matches."""
        return self.docs[self.best]


class Asked(NamedTuple):
    """The terms of a task that occur, with their idf; `every` is the sum of all, met or
    not."""

    terms: tuple[str, ...]
    weights: tuple[float, ...]
    every: float


class _Stretch(NamedTuple):
    unit: str
    turn: int  # of the best exchange
    id: int
    points: float
    score: float  # the same, with what its length takes from or adds to it
    mask: int


def search(
    record: HistoryRecord,
    task: str,
    keep: Callable[[DocPlace], bool] | None = None,
    replaced: Mapping[str, Collection[str]] = {},
) -> tuple[Asked, list[HistoryHit]]:
    """The best hits, best first; what changes another, by its words, by git or as the
    entry that was learned from it (`replaced`: event -> the later ones), leads it."""
    asked, parts = _scored(record, task)
    if not parts:
        return asked, []
    totals = {rowid: sum(points.values()) for rowid, points in parts.items()}
    lengths = record.lengths(nlargest(MEASURED, totals, key=totals.__getitem__))
    fair = {
        rowid: (1.3 + 0.9 * n) / (2.2 - 1.2 * weights.LENGTH * (1 - n))
        for rowid, n in lengths.items()
    }
    best = nlargest(WEIGHED, fair, key=lambda rowid: totals[rowid] * fair[rowid])
    places = {
        place.id: place for place in record.places({rowid // PARTS for rowid in best})
    }
    stretches = _stretches({rowid: parts[rowid] for rowid in best}, fair, places)
    found = [each for each in stretches if keep is None or keep(places[each.id])][:POOL]
    behind = nlargest(40, (each.points for each in stretches))[
        5:
    ]  # what matches a task by chance
    background = sum(behind) / len(behind) if behind else 0.0
    hits = _once(
        [_hit(record, each, places[each.id], asked, background) for each in found]
    )
    near = [
        hit for hit in hits[:COMPARED] if hit.score >= weights.CLOSE * hits[0].score
    ]
    alike = _alike(near, record.common(), {stem(term) for term in asked.terms})
    gone = record.superseding([hit.doc for hit in hits])
    events = {f"s:{by}" for hit in hits for by in replaced.get(hit.doc.event, ())}
    units = {*gone.values()} - {hit.doc.unit for hit in hits}
    keys = events - {hit.doc.key for hit in hits}
    later = json.dumps([*units]), json.dumps([*keys])
    for number, doc in record.select(f"(unit {ONE_OF} OR key {ONE_OF})", *later):
        if keep is None or any(map(keep, record.places([number]))):
            hits.append(HistoryHit(docs=(doc,), best=0, score=0.0, strength=0.0, met=0))
    places_of = {hit.doc.unit: at for at, hit in enumerate(hits)}
    alike += [
        (places_of[old], places_of[new])
        for old, new in gone.items()
        if new in places_of
    ]
    alike += _by_entries(hits, replaced)
    return asked, _newer_first(hits, list(dict.fromkeys(alike)))


def _scored(
    record: HistoryRecord, task: str
) -> tuple[Asked, dict[int, dict[int, float]]]:
    total = record.sizes()[0]
    common = max(FEW, total // 33)
    counted: dict[str, int] = {}

    def rarity(words: Sequence[str]) -> list[int]:
        counted.update(
            (w, record.count(w, common + 1)) for w in words if w not in counted
        )
        return [counted[word] for word in words]

    terms = lexical.build(task, rarity).terms
    known = sorted((n, term) for n, term in zip(rarity(terms), terms, strict=True) if n)
    rarities = [lexical.idf(n, total) for n, _ in known]
    # A word that occurs nowhere says little: a task's own names, or another language.
    every = sum(rarities) + 0.25 * (len(terms) - len(known)) * lexical.idf(0, total)
    parts: dict[int, dict[int, float]] = defaultdict(dict)
    read = 0
    pairs = ""
    rarest = [lexical.quoted(term) for _, term in known[:3]]
    if any(
        n > FEW for n, _ in known[:3]
    ):  # the newest parts in which two of these stand
        two = (
            " OR ".join(f"({a} AND {b})" for a, b in combinations(rarest, 2))
            or rarest[0]
        )
        query = (
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?"
        )
        pairs = json.dumps([row[0] for row in record.rows(query, two, MEASURED)])
    for number, (n, term) in enumerate(known):
        if number >= 3 and (n > common or read > SCORED):
            break
        read += n
        factor = rarities[number] / max(math.log((total - n + 0.5) / (n + 0.5)), 1e-6)
        among = [] if n <= FEW else [pairs if number < 3 else json.dumps(list(parts))]
        for rowid, points in record.scores(term, *among):
            parts[rowid][number] = points * factor
    return Asked(tuple(term for _, term in known), tuple(rarities), every), parts


def _stretches(
    parts: Points, fair: Mapping[int, float], places: Mapping[int, DocPlace]
) -> list[_Stretch]:
    docs: dict[int, dict[int, float]] = defaultdict(dict)
    best: dict[int, tuple[float, float]] = {}
    for rowid, points in parts.items():
        doc = rowid // PARTS
        if doc in places:
            _raise(docs[doc], points)
            best[doc] = max(
                best.get(doc, (0.0, 1.0)), (sum(points.values()), fair[rowid])
            )
    units: dict[str, list[int]] = defaultdict(list)
    for doc in sorted(best, key=lambda each: -best[each][0]):
        units[places[doc].unit].append(doc)
    found = [
        each for own in units.values() for each in _of_unit(own, docs, best, places)
    ]
    return sorted(found, key=lambda each: (-each.score, each.unit, each.turn))


def _of_unit(
    own: list[int],
    docs: Mapping[int, Mapping[int, float]],
    best: Mapping[int, tuple[float, float]],
    places: Mapping[int, DocPlace],
) -> Iterable[_Stretch]:
    left = own
    while left:
        head = left[0]
        turn = places[left[0]].turn
        near = [doc for doc in left if abs(places[doc].turn - turn) <= weights.STRETCH]
        left = [doc for doc in left if abs(places[doc].turn - turn) > weights.STRETCH]
        points: dict[int, float] = {}
        for doc in near:
            _raise(points, docs[doc])
        total = sum(points.values())
        mask = sum(1 << term for term in points)
        score = (1 - weights.WHOLE) * best[head][0] + weights.WHOLE * total
        yield _Stretch(
            unit=places[head].unit,
            turn=turn,
            id=head,
            points=score,
            score=score * best[head][1],
            mask=mask,
        )


def _raise(points: dict[int, float], more: Mapping[int, float]) -> None:
    for term, score in more.items():
        points[term] = max(points.get(term, 0.0), score)


def _hit(
    record: HistoryRecord,
    each: _Stretch,
    place: DocPlace,
    asked: Asked,
    background: float,
) -> HistoryHit:
    first = max(each.turn - 1, 0)
    last = each.turn + AFTER
    own = record.stretch(each.unit, first, last) if place.source == "session" else []
    docs = tuple(own or record.docs([each.id]).values())
    best = next(at for at, doc in enumerate(docs) if doc.turn == each.turn)
    met = each.mask.bit_count()
    strength = (
        (each.points - background) / weights.FULL
        if met > 1 or len(asked.terms) == 1
        else 0.0
    )
    return HistoryHit(
        docs=docs,
        best=best,
        score=each.score,
        strength=min(max(strength, 0.0), 1.0),
        met=met,
    )


def _once(hits: Sequence[HistoryHit]) -> list[HistoryHit]:
    """The hits; of commits with one subject, of a merge and its branch, the one that
    says all."""
    found: dict[str, HistoryHit] = {}
    names = {hit.doc.unit: _NUMBER.sub("", hit.doc.title.lower()) for hit in hits}
    merges = {
        tip: hit.doc.unit for hit in hits for tip in hit.doc.about.get("merged", ())
    }
    for hit in hits:
        session = hit.doc.source == "session"
        name = (
            hit.doc.handle if session else names[merges.get(hit.doc.unit, hit.doc.unit)]
        )
        if (known := found.get(name)) is None:
            found[name] = hit
            continue
        words, own = (
            {w for w in words_of(each) if not w.isdigit()} for each in (known, hit)
        )
        of_merge = hit.doc.unit in merges or known.doc.unit in merges
        if session or not (of_merge or words <= own or own <= words):
            found[hit.doc.handle] = hit
        elif len(own) > len(words):
            found[name] = hit._replace(strength=max(hit.strength, known.strength))
    return list(found.values())


def _alike(
    near: Sequence[HistoryHit], common: Mapping[str, int], asked: set[str]
) -> list[tuple[int, int]]:
    """(older, newer) of hits about one thing, which the newer says that it changes."""
    total = common.get("", 0) or 1
    least = max(total // 1000, 1)
    rarity = lru_cache(None)(
        lambda word: lexical.idf(min(common.get(word, least), total), total)
    )
    words = list(map(words_of, near))
    sizes = [math.hypot(*map(rarity, each)) for each in words]
    dated = sorted(range(len(near)), key=lambda at: near[at].doc.date)
    return [
        (at, other)
        for at, other in combinations(dated, 2)
        if near[other].doc.date > near[at].doc.date
        and near[other].doc.unit != near[at].doc.unit
        and (both := words[at] & words[other])
        and sum(rarity(w) ** 2 for w in both)
        >= weights.ALIKE * sizes[at] * sizes[other]
        and says_so(_text(near[other]), both, asked)
    ]


def _by_entries(
    hits: Sequence[HistoryHit], replaced: Mapping[str, Collection[str]]
) -> list[tuple[int, int]]:
    """(older, newer) of exchanges from which an entry and the one that takes its place
    were learned."""
    at = {hit.doc.event: number for number, hit in enumerate(hits)}
    found = []
    for event in at.keys() & replaced.keys():
        later = [by for by in replaced[event] if by in at and at[by] != at[event]]
        found += [(at[event], at[by]) for by in later]
    return found


def _newer_first(
    hits: list[HistoryHit], alike: Sequence[tuple[int, int]]
) -> list[HistoryHit]:
    order: list[int] = []
    newer: dict[int, str] = {}
    for at in range(len(hits)):
        later = [other for one, other in alike if one == at]
        later.sort(key=lambda other: hits[other].doc.date, reverse=True)
        newer[at] = hits[later[0]].doc.handle if later else ""
        if at in order:
            continue
        before = [other for other in later if other not in order]
        if before:
            strong = max(
                hits[before[0]].strength, hits[at].strength
            )  # it bears on all of that
            hits[before[0]] = hits[before[0]]._replace(strength=strong)
        order += [*before, at]
    return [hits[at]._replace(newer=newer[at]) for at in order]


def words_of(hit: HistoryHit) -> set[str]:
    """The words of a hit and of what follows it, cut to what most forms share."""
    return stems(_text(hit)) - _stop_stems()


def _text(hit: HistoryHit) -> str:
    return "\n".join(doc.text for doc in hit.docs[hit.best :])[:COMPARED_TEXT]


@cache
def _stop_stems() -> frozenset[str]:
    return frozenset(map(stem, lexical.STOP_WORDS))
