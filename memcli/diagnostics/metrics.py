"""The five metrics of health, their weighted score and its band (docs/guide.md).
Pure."""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from statistics import mean, median
from typing import NamedTuple

from memcli.index import weights
from memcli.index.fulltext import idf
from memcli.index.lexical import STOP_WORDS
from memcli.memory import arithmetic as vector
from memcli.memory.words import count, overlap
from memcli.recall import ranking
from memcli.similarity.claims import claim
from memcli.similarity.duplicates import near_duplicate

WEIGHTS = {
    "freshness": 0.25,
    "coverage": 0.25,
    "coherence": 0.20,
    "efficiency": 0.15,
    "reachability": 0.15,
}
YELLOW = 50
GREEN = 75
EVIDENCE = 10
RECENT = 1000
"""The least number of shown entries for the recall log to count, and the most recent
ones used."""
FOUND_AT = 3
LIVE = ("live entry", "live entries")
BEGIN = 'mem add "what you learned"'
CONFIRM = "mem reinforce ID=remember"
FEW = 20  # below this many entries, advise adding more
CLOSE = 200  # the number of nearest by sign bits whose cosine is computed
SAMPLE = 200
POOL = 4000
"""How many entries are compared, and with how many: two samples, the first part of the
second."""
NEIGHBOURS = 3
AKIN = 0.25
"""The weighted word overlap for which a neighbour earns a full point: unrelated texts
have 0.06, the nearest in a well-kept store 0.15 to 0.25 (word-shuffled against real
sets)."""
AKIN_COSINE = 0.8  # the same with vectors: the cosine of a `similar` edge
NEAR = 12
"""How many of an entry's rarest words find its candidates, and how many candidates are
compared."""


class LiveEntry(NamedTuple):
    """One live entry as the metrics see it. `decay` is its factor in recall (1.0 to
    0.1); `stale`: `mem compact --stale` would archive it; compaction merges
    near-duplicates on one `shelf`. If it is `promoted`, recall shows the promoted copy;
    `outdated`: it names code that is gone."""

    id: str
    title: str
    text: str
    decay: float
    age: int
    stale: bool
    linked: float  # how certain that is: of a large memory, only a sample is compared
    shelf: str = ""
    promoted: bool = False
    outdated: bool = False


class Metric(NamedTuple):
    """`value` is from 0 to 100, or None if it cannot be computed; `raise_with` is a
    command that raises it now, or ""."""

    value: float | None
    reason: str
    raise_with: str
    weight: float = 0.0


class Indexed(NamedTuple):
    """Entries indexed and on disk (an unreadable file counts as one), and chunks
    embedded, of how many."""

    entries: int
    eligible: int
    missing_files: int = 0
    embedded: tuple[int, int] | None = None


class LoggedHit(NamedTuple):
    """One row of the recall log, in order; `place` counts from 1 within one answer's
    layer."""

    session: str
    entry: str
    layer: str
    place: int
    score: float | None
    day: str


class Health(NamedTuple):
    """The score from 0 to 100, its band (red, yellow, green) and the metrics by
    name."""

    score: float
    band: str
    metrics: Mapping[str, Metric]


def health(
    items: Sequence[LiveEntry],
    indexed: Indexed,
    shown: Sequence[LoggedHit],
    places: Sequence[int] | None,
    vectors: Mapping[str, bytes] | None = None,
) -> Health:
    """All metrics of the live entries, in any order. `places` are the ranks of a
    `sample` recalled by title (0: not found), None if the index cannot be searched;
    `vectors` are by id, for a large memory only of a `sample`."""
    items = sorted(items)
    if not items:
        unread = indexed.missing_files
        files = f"There is no live entry: {count(unread, 'file')} cannot be read."
        why = files if unread else "There is no live entry yet: begin with mem add."
        nothing = Metric(0.0, why, "mem doctor" if unread else BEGIN)
        return weighed(dict.fromkeys(WEIGHTS, nothing))
    likeness = coherence(items, vectors)
    efficient = efficiency(shown, places)
    if efficient.value is not None and not efficient.raise_with:
        # a duplicate takes the place of another entry
        efficient = efficient._replace(raise_with=likeness.raise_with)
    measured = {
        "freshness": freshness(items),
        "coverage": coverage(indexed),
        "coherence": likeness,
        "efficiency": efficient,
        "reachability": reachability(items),
    }
    return weighed(measured)


def weighed(measured: Mapping[str, Metric]) -> Health:
    """The score: the weighted mean of the metrics that have a value."""
    values = {
        name: metric.value
        for name, metric in measured.items()
        if metric.value is not None
    }
    total = sum(WEIGHTS[name] for name in values) or 1.0
    metrics = dict(measured)
    for name, value in values.items():
        weight = round(WEIGHTS[name] / total, 4)
        metrics[name] = measured[name]._replace(value=round(value, 1), weight=weight)
    weighted = sum(WEIGHTS[name] * value for name, value in values.items())
    score = round(weighted / total, 1)
    return Health(score=score, band=band(score), metrics=metrics)


def bounded(health: Health, limit: float) -> Health:
    """The health, with its score capped."""
    score = min(health.score, limit)
    return health._replace(score=score, band=band(score))


def band(score: float) -> str:
    """The colour of a score: red below 50, yellow below 75, green from 75."""
    if score < YELLOW:
        return "red"
    return "yellow" if score < GREEN else "green"


def freshness(items: Sequence[LiveEntry]) -> Metric:
    """The median decay factor of the live entries; outdated ones count half."""
    value = 100 * median(item.decay / (1 + item.outdated) for item in items)
    outdated = sum(item.outdated for item in items)
    stale = sum(item.stale for item in items)
    age = count(round(median(item.age for item in items)), "day")
    reason = f"The median age of {count(len(items), *LIVE)} is {age}"
    reason += f"; {stale} would be archived as stale" if stale else ""
    if outdated:
        names = "names or rests on" if outdated == 1 else "name or rest on"
        reason += f"; {outdated} of them {names} code that is gone"
    remedies = {
        "mem doctor --stale": outdated,
        "mem compact --stale": stale,
        CONFIRM: value < 100,
    }
    remedy = next((command for command, helps in remedies.items() if helps), "")
    return Metric(value, f"{reason}.", remedy)


def coverage(indexed: Indexed) -> Metric:
    """The share of entries on disk that are indexed, times the share of chunks with
    vectors."""
    value = 0.0
    if indexed.eligible:
        value = 100 * min(1.0, indexed.entries / indexed.eligible)
    of = count(indexed.eligible, "entry on disk is", "entries on disk are")
    reason = f"{indexed.entries} of {of} indexed"
    if indexed.embedded is not None:
        embedded, should = indexed.embedded
        value *= embedded / should if should else 1.0
        chunks = count(should, "chunk has a vector", "chunks have a vector")
        reason += f", {embedded} of {chunks}"
    if indexed.missing_files:
        reason += (
            f"; {count(indexed.missing_files, 'file')} could not be read completely"
        )
        return Metric(value, f"{reason}.", "mem doctor")
    remedy = "mem index" if value < 100 else ""
    if indexed.entries < indexed.eligible:
        remedy = "mem index --rebuild"
    return Metric(value, f"{reason}.", remedy)


def reachability(items: Sequence[LiveEntry]) -> Metric:
    """The share of live entries with a relation to another entry or a source."""
    linked = round(sum(item.linked for item in items))
    of = count(len(items), "live entry", "live entries")
    reason = f"{linked} of {of} can be traced to a source or another entry."
    return Metric(100 * linked / len(items), reason, "")


def efficiency(shown: Sequence[LoggedHit], places: Sequence[int] | None) -> Metric:
    """Whether recalls are distinct and relevant: from the log, or else from the titles
    of a sample."""
    if len(shown) >= EVIDENCE:
        return _from_log(shown[-RECENT:])
    if places is None:
        reason = "The index is incomplete, so searches cannot be judged."
        return Metric(None, reason, "mem index --rebuild")
    if not places:
        reason = "No recall was logged, and no entry has a title to recall it by."
        return Metric(None, reason, "")
    found_early = sum(1 <= place <= FOUND_AT for place in places)
    of = count(len(places), "live entry comes", "live entries come")
    reason = f"{found_early} of {of} among the first {FOUND_AT} by title (few recalls are logged yet)."
    return Metric(100 * found_early / len(places), reason, "")


def _from_log(shown: Sequence[LoggedHit]) -> Metric:
    distinct = len({(row.session, row.entry) for row in shown}) / len(shown)
    shares = _shares_of_best(shown)
    relevant = mean(shares) if shares else distinct
    sessions = count(len({row.session for row in shown}), "session")
    reason = (
        f"Of {count(len(shown), 'hit')} shown to {sessions}, {distinct:.0%} were new"
    )
    if shares:
        reason += f"; a hit scores {relevant:.0%} of its best"
    repeats = not shares or distinct < relevant
    remedy = "" if repeats else "mem recall --limit 5 TASK"
    return Metric(50 * (distinct + relevant), f"{reason}.", remedy)


def _shares_of_best(shown: Sequence[LoggedHit]) -> list[float]:
    """The score of each ranked hit as a share of the best one in its answer."""
    best = 0.0
    shares = []
    for row in sorted(shown, key=lambda row: row.session):
        score = row.score
        if row.layer != "ranked" or score is None or not math.isfinite(score):
            continue
        best = score if row.place == 1 else max(best, score)
        shares.append(max(0.0, score / best) if best > 0 else 0.0)
    return shares


class _Neighbour(NamedTuple):
    """How similar two entries are, by their positions in the sample."""

    first: int
    second: int
    likeness: float


class _NearestEntries(NamedTuple):
    """The nearest neighbours of the first `size` entries of a sample, the similarity
    from which they count as related, and how it was measured."""

    pool: Sequence[LiveEntry]
    pairs: Sequence[_Neighbour]
    twins: set[tuple[int, int]]
    size: int
    most: int
    akin: float
    how: str


def coherence(
    items: Sequence[LiveEntry], vectors: Mapping[str, bytes] | None = None
) -> Metric:
    """The mean similarity to the `NEIGHBOURS` nearest entries, over a sample.
    Similarity is the cosine if all have vectors, else the Jaccard overlap of content
    words weighted by idf; it is divided by the similarity that counts as related, and
    capped at 1. A near-duplicate takes a neighbour's place and earns nothing."""
    by_id = {item.id: item for item in items if not item.promoted}
    if len(by_id) < 2:
        return Metric(None, "One entry has no neighbours to compare with.", "")
    neighbours = _nearest(by_id, vectors or {})
    twins = neighbours.twins
    likenesses = [each.likeness for each in neighbours.pairs if each[:2] not in twins]
    sampled = neighbours.size * neighbours.most
    share = sum(likenesses) / sampled
    akin = neighbours.akin
    # A neighbour earns at most 1, however similar it is.
    earned = sum(min(1.0, max(0.0, likeness / akin)) for likeness in likenesses)

    compared = count(len(by_id), *LIVE)
    if len(by_id) > SAMPLE:
        compared = f"{SAMPLE} of {compared}"
    reason = f"{compared} are {share:.0%} like their nearest {neighbours.how}"
    reason += f" ({akin:.0%} is related); {_copies_text(twins)} a near-duplicate."
    remedy = "mem compact" if _share_a_shelf(neighbours) else ""
    return Metric(100 * earned / sampled, reason, remedy)


def _share_a_shelf(near: _NearestEntries) -> bool:
    """Whether there are near-duplicates that compaction would merge."""
    shelves = [item.shelf for item in near.pool]
    return any(shelves[first] == shelves[second] for first, second in near.twins)


def _nearest(
    by_id: Mapping[str, LiveEntry], vectors: Mapping[str, bytes]
) -> _NearestEntries:
    """The nearest neighbours of each entry of a sample, by vectors if every entry has
    one."""
    pool = [by_id[name] for name in sample(by_id, POOL)]
    size = min(SAMPLE, len(pool))
    neighbours = min(NEIGHBOURS, len(pool) - 1)
    known_vectors = [vectors.get(item.id, b"") for item in pool]
    texts = (f"{item.title}\n{item.text}" for item in pool)
    bags = [ranking.words(text) - STOP_WORDS for text in texts]
    has_vectors = all(known_vectors)
    pairs = (
        nearest(known_vectors, size, neighbours)
        if has_vectors
        else _nearest_words(bags, size, neighbours)
    )
    return _NearestEntries(
        pool=pool,
        pairs=pairs,
        twins=_twins(pool, bags, pairs),
        size=size,
        most=neighbours,
        akin=AKIN_COSINE if has_vectors else AKIN,
        how="by their vectors" if has_vectors else "by their words",
    )


def _copies_text(twins: Iterable[tuple[int, int]]) -> str:
    copies = len({first for first, _ in twins})
    return f"{copies} of them have" if copies else "none has"


def sample(ids: Iterable[str], size: int) -> list[str]:
    """At most `size` ids, always the same: those with the smallest hashes."""
    return heapq.nsmallest(
        size,
        ids,
        key=lambda name: (blake2b(name.encode("utf-8", "replace")).digest(), name),
    )


def nearest(vectors: Sequence[bytes], size: int, limit: int) -> list[_Neighbour]:
    """The `limit` vectors nearest to each of the first `size`, by cosine."""
    pairs = []
    bits = b"".join(map(vector.signs, vectors))
    width = (len(vectors[0]) + 7) // 8 if vectors else 0
    for first in range(size):
        own = int.from_bytes(vector.signs(vectors[first]))
        apart = dict(enumerate(vector.distances(own, bits, width)))
        del apart[first]
        close = vector.nearest(apart, CLOSE)
        others = {place: vectors[place] for place in close}
        cosines = vector.cosines(vectors[first], others)
        alike = [_Neighbour(first, place, cosine) for place, cosine in cosines.items()]
        pairs += heapq.nsmallest(limit, alike, key=_most_alike)
    return pairs


def _most_alike(pair: _Neighbour) -> tuple[float, int]:
    return -pair.likeness, pair.second


def _twins(
    items: Sequence[LiveEntry],
    bags: Sequence[frozenset[str]],
    pairs: Iterable[_Neighbour],
) -> set[tuple[int, int]]:
    """The pairs that compaction regards as near-duplicates."""
    likely = [
        (first, second)
        for first, second, _ in pairs
        if overlap(bags[first], bags[second]) >= weights.SAID
    ]
    claims = {place: claim(items[place].text) for place in chain.from_iterable(likely)}
    return {
        (first, second)
        for first, second in likely
        if near_duplicate(claims[min(first, second)], claims[max(first, second)])
    }


def _nearest_words(
    bags: Sequence[frozenset[str]], size: int, limit: int
) -> list[_Neighbour]:
    """The `limit` texts nearest to each of the first `size`, by shared words."""
    spread = Counter(chain.from_iterable(bags))
    weights = {word: idf(number, len(bags)) for word, number in spread.items()}
    holders = defaultdict[str, list[int]](list)
    for place, bag in enumerate(bags):
        for word in bag:
            holders[word].append(place)
    pairs = []
    for first, bag in enumerate(bags[:size]):
        common = [word for word in bag if spread[word] > 1]
        rare = heapq.nsmallest(NEAR, common, key=lambda word: (spread[word], word))
        shared = Counter(chain.from_iterable(holders[word] for word in rare))
        del shared[first]
        ranked = [(-number, place) for place, number in shared.items()]
        likely = [place for _, place in heapq.nsmallest(NEAR, ranked)]
        alike = [
            _Neighbour(first, place, _likeness(bag, bags[place], weights))
            for place in likely
        ]
        pairs += heapq.nsmallest(limit, alike, key=_most_alike)
    return pairs


def _likeness(
    bag: frozenset[str], other_bag: frozenset[str], weights: Mapping[str, float]
) -> float:
    """The weight of the words in both texts, divided by the weight of the words in
    either."""
    both = math.fsum(weights[word] for word in bag & other_bag)
    either = math.fsum(weights[word] for word in bag | other_bag)
    return both / (either or 1.0)
