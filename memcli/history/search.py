"""What of the record bears on a task: stretches of sessions, and commits."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from typing import Final

from memcli.history.docs import PARTS, Doc, DocPlace, idf
from memcli.history.record import HistoryRecord
from memcli.index import lexical
from memcli.named import NamedTuple

NEAR: Final = 4  # exchanges around the best one of a session that count as one stretch with it
AFTER: Final = 10  # exchanges after the best one in which its conclusion is looked for
POOL: Final = 16  # how many of the best stretches are hits
FEW: Final = 800
"""Matches of a term that are always scored; of a term with more than a thirty-third of all parts,
the best ones, and only where fewer than three others are known."""
SCORED: Final = 5000  # matches after which no more common terms are looked at
WEIGHED: Final = 200  # the best parts, of which stretches are made
COMPARED: Final = 10  # how many of the best hits are compared with each other
FULL: Final = 24.0
"""Points of BM25 above the background that are as strong as any need be. Measured: of unrelated
prompts the best hit has 12 in 4 of 100, of tasks that were decided about 28 and more."""
_WHOLE: Final = 0.5  # share of a stretch's score that all of it has; its best exchange has the rest
_ALIKE: Final = 0.2
_SHARED: Final = 5  # words of two commits beyond the task's, which all hits have
_CLOSE: Final = 0.4
"""Two stretches are about one thing from this cosine on; the newer goes first from this share of
the best score on."""
_ENDING: Final = re.compile(r"(?<=\w{3})(?:ations?|ings?|ies|ied|ed|es|s|e)\Z")
_WORD: Final = re.compile(r"[^\W_]{2,}")


class HistoryHit(NamedTuple):
    """A stretch of a session, or a commit: its exchanges in order, `best` the one that matches;
    `strength` (0 to 1) is how far it is above chance, `met` how many terms of the task it has,
    `newer` the handle of a later hit about the same thing.
    """

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
    """The terms of a task that occur, with their idf; `every` is the sum of all, met or not."""

    terms: tuple[str, ...]
    weights: tuple[float, ...]
    every: float


class _Stretch(NamedTuple):
    unit: str
    turn: int  # of the best exchange
    id: int
    score: float
    mask: int


def search(
    record: HistoryRecord, task: str, keep: Callable[[DocPlace], bool] | None = None
) -> tuple[Asked, list[HistoryHit]]:
    """The best hits, best first, the newer of two about the same thing before the older."""
    asked, parts = _scored(record, task)
    if not parts:
        return asked, []
    totals = {rowid: sum(points.values()) for rowid, points in parts.items()}
    parts = {rowid: parts[rowid] for rowid in nlargest(WEIGHED, totals, key=totals.__getitem__)}
    places = {place.id: place for place in record.places({rowid // PARTS for rowid in parts})}
    stretches = _stretches(parts, places, asked)
    found = [each for each in stretches if keep is None or keep(places[each.id])][:POOL]
    behind = [each.score for each in stretches[5:40]]  # what matches a task by chance
    background = sum(behind) / len(behind) if behind else 0.0
    hits = [_hit(record, each, places[each.id], asked, background) for each in found]
    return asked, _newer_first(hits, _rarity(record), {stem(term) for term in asked.terms})


def _scored(record: HistoryRecord, task: str) -> tuple[Asked, dict[int, dict[int, float]]]:
    total = record.size()
    common = max(FEW, total // 33)
    counted: dict[str, int] = {}

    def rarity(words: Sequence[str]) -> list[int]:
        counted.update((w, record.count(w, common + 1)) for w in words if w not in counted)
        return [counted[word] for word in words]

    terms = lexical.build(task, rarity).terms
    known = sorted((n, term) for n, term in zip(rarity(terms), terms, strict=True) if n)
    weights = [idf(n, total) for n, _ in known]
    # A word that occurs nowhere says little: a task's own names, or another language.
    every = sum(weights) + 0.25 * (len(terms) - len(known)) * idf(0, total)
    parts: dict[int, dict[int, float]] = defaultdict(dict)
    read = 0
    for number, (n, term) in enumerate(known):
        if number >= 3 and (n > common or read > SCORED):
            break
        read += n
        factor = weights[number] / max(math.log((total - n + 0.5) / (n + 0.5)), 1e-6)
        for rowid, points in record.scores(term, None if n <= common else FEW):
            parts[rowid][number] = points * factor
    return Asked(tuple(term for _, term in known), tuple(weights), every), parts


def _stretches(
    parts: Mapping[int, Mapping[int, float]], places: Mapping[int, DocPlace], asked: Asked
) -> list[_Stretch]:
    docs: dict[int, dict[int, float]] = defaultdict(dict)
    best: dict[int, float] = defaultdict(float)
    for rowid, points in parts.items():
        doc = rowid // PARTS
        if doc in places:
            _raise(docs[doc], points)
            best[doc] = max(best[doc], sum(points.values()))
    units: dict[str, list[int]] = defaultdict(list)
    for doc in sorted(best, key=lambda each: -best[each]):
        units[places[doc].unit].append(doc)
    found = [each for own in units.values() for each in _of_unit(own, docs, best, places)]
    return sorted(found, key=lambda each: (-each.score, each.unit, each.turn))


def _of_unit(
    own: list[int],
    docs: Mapping[int, Mapping[int, float]],
    best: Mapping[int, float],
    places: Mapping[int, DocPlace],
) -> Iterable[_Stretch]:
    left = own
    while left:
        head = left[0]
        turn = places[head].turn
        near = [doc for doc in left if abs(places[doc].turn - turn) <= NEAR]
        left = [doc for doc in left if abs(places[doc].turn - turn) > NEAR]
        points: dict[int, float] = {}
        for doc in near:
            _raise(points, docs[doc])
        score = (1 - _WHOLE) * best[head] + _WHOLE * sum(points.values())
        yield _Stretch(places[head].unit, turn, head, score, sum(1 << term for term in points))


def _raise(points: dict[int, float], more: Mapping[int, float]) -> None:
    for term, score in more.items():
        points[term] = max(points.get(term, 0.0), score)


def _hit(
    record: HistoryRecord, each: _Stretch, place: DocPlace, asked: Asked, background: float
) -> HistoryHit:
    first, last = max(each.turn - 1, 0), each.turn + AFTER
    own = record.stretch(each.unit, first, last) if place.source == "session" else []
    docs = tuple(own or record.docs([each.id]).values())
    best = next(at for at, doc in enumerate(docs) if doc.turn == each.turn)
    met = each.mask.bit_count()
    strength = (each.score - background) / FULL if met > 1 or len(asked.terms) == 1 else 0.0
    return HistoryHit(docs, best, each.score, min(max(strength, 0.0), 1.0), met)


def _rarity(record: HistoryRecord) -> Callable[[str], float]:
    known = record.common()
    total = known.pop("", 0) or 1
    common: Counter[str] = Counter()
    for term, n in known.items():
        common[stem(term)] += n
    least = max(total // 1000, 1)
    return lambda word: idf(min(common.get(word, least), total), total)


def _newer_first(
    hits: list[HistoryHit], rarity: Callable[[str], float], asked: set[str]
) -> list[HistoryHit]:
    near = [hit for hit in hits[:COMPARED] if hit.score >= _CLOSE * hits[0].score]
    vectors = [{word: rarity(word) for word in words_of(hit)} for hit in near]
    order: list[int] = []
    newer: dict[int, str] = {}
    for at in range(len(vectors)):
        if at in order:
            continue
        sessions = hits[at].doc.source == "session"
        about = [
            other
            for other in range(at + 1, len(vectors))
            if other not in order
            and hits[other].doc.date > hits[at].doc.date
            and hits[other].doc.unit != hits[at].doc.unit
            and _cosine(vectors[at], vectors[other]) >= _ALIKE
            and (sessions or len((vectors[at].keys() & vectors[other].keys()) - asked) >= _SHARED)
        ]
        about.sort(key=lambda other: hits[other].doc.date, reverse=True)
        for older in [*about[1:], at] if about else ():
            newer[older] = hits[about[0]].doc.handle
            strong = max(hits[about[0]].strength, hits[older].strength)  # it bears on all of that
            hits[about[0]] = hits[about[0]]._replace(strength=strong)
        order += [*about, at]
    return [hits[at]._replace(newer=newer.get(at, "")) for at in order] + hits[len(vectors) :]


def words_of(hit: HistoryHit) -> set[str]:
    """The words of a hit, cut to what most of their forms share."""
    words = _WORD.findall("\n".join(doc.text for doc in hit.docs[hit.best :])[:3000].lower())
    return {stem(word) for word in words if word not in lexical.STOP_WORDS}


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word without the endings that its forms differ in."""
    return _ENDING.sub("", word) if len(word) > 3 else word


def _cosine(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    both = sum(a[word] * b[word] for word in a.keys() & b.keys())
    norms = math.sqrt(sum(w * w for w in a.values()) * sum(w * w for w in b.values()))
    return both / norms if norms else 0.0
