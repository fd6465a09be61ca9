"""Is the memory good? Five metrics, their weighted score, its band (docs/guide.md).
Pure."""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from statistics import mean, median
from typing import NamedTuple

from memcli.index.lexical import STOP_WORDS, idf
from memcli.memory.words import count, overlap
from memcli.providers import embed as vector
from memcli.recall import ranking

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
"""So many shown entries the recall log must hold to be believed; so many of the latest
count."""
FOUND_AT = 3
LIVE = ("live entry", "live entries")
BEGIN = 'mem add "what you learned"'
CONFIRM = "mem reinforce --explicit ID..."
LEARN = "mem extract"
GROWTH = (BEGIN, CONFIRM, LEARN)
"""What raises a metric in time. Other advice names work that is there to be done."""
FEW = 20  # so many entries a memory should have before its growth is worth advice
CLOSE = 200  # of so many of the nearest by sign bits the cosine is computed
SAMPLE = 200
POOL = 4000
"""How many entries are compared, and with how many: samples, the first within the
second."""
NEIGHBOURS = 3
AKIN = 0.25
"""Weighted word overlap that earns a neighbour the whole point: of unrelated texts it
is 0.06, of the nearest in a well-kept store 0.15 to 0.25 (word-shuffled against real
sets)."""
AKIN_COSINE = 0.8  # the same where there are vectors: the cosine of a `similar` edge
NEAR = 12
"""So many of an entry's rarest words find its possible neighbours; so many of them are
compared."""


class LiveEntry(NamedTuple):
    """One live entry as the metrics see it.

    `decay` is what recall leaves of it (1.0 to 0.1), `stale` what `mem compact --stale`
    archives; compaction merges near-duplicates of one `shelf`. Of what is `promoted`
    recall shows the copy that it became; `outdated` is what names something that the
    code has no more."""

    id: str
    title: str
    text: str
    decay: float
    age: int
    stale: bool
    linked: bool
    shelf: str = ""
    promoted: bool = False
    outdated: bool = False


class Metric(NamedTuple):
    """`value` is in 0 to 100, or None for what cannot be had; `raise_with` is a command
    line."""

    value: float | None
    reason: str
    raise_with: str
    weight: float = 0.0


class Indexed(NamedTuple):
    """Entries indexed and on disk (unreadable files count as one), chunks embedded of
    how many."""

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
    """The score in 0 to 100, its band (red, yellow, green) and the metrics by name."""

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
    """All metrics of the live entries, whatever their order.

    `places` are those of a `sample` recalled by their titles (0: not found), None when
    the index cannot be searched; `vectors` those of the entries by id, of many those of
    a `sample`."""
    items = sorted(items)
    if not items:
        unread = indexed.missing_files
        files = f"There is no live entry: {count(unread, 'file')} cannot be read."
        why = files if unread else "There is no live entry yet: begin with mem add."
        return weighed(
            dict.fromkeys(WEIGHTS, Metric(0.0, why, "mem doctor" if unread else BEGIN))
        )
    values = [freshness(items), coverage(indexed), coherence(items, vectors)]
    values += [efficiency(shown, places), reachability(items)]
    return weighed(dict(zip(WEIGHTS, values, strict=True)))


def weighed(measured: Mapping[str, Metric]) -> Health:
    """The score: the weighted sum of the metrics that can be had, their weights
    rescaled to 1."""
    had = {name: m.value for name, m in measured.items() if m.value is not None}
    total = sum(WEIGHTS[name] for name in had) or 1.0
    rescaled = {
        name: measured[name]._replace(
            value=round(value, 1), weight=round(WEIGHTS[name] / total, 4)
        )
        for name, value in had.items()
    }
    score = round(sum(WEIGHTS[name] * value for name, value in had.items()) / total, 1)
    return Health(score, band(score), {**measured, **rescaled})


def bounded(found: Health, most: float) -> Health:
    """A health whose score is at most so high."""
    score = min(found.score, most)
    return found._replace(score=score, band=band(score))


def band(score: float) -> str:
    """red below 50, yellow to 75, green from there."""
    return "red" if score < YELLOW else "yellow" if score < GREEN else "green"


def freshness(items: Sequence[LiveEntry]) -> Metric:
    """The median of what decay leaves of the live entries, of an outdated one half of
    it."""
    value = 100 * median(item.decay / (1 + item.outdated) for item in items)
    outdated = sum(item.outdated for item in items)
    stale = sum(item.stale for item in items)
    age = count(round(median(item.age for item in items)), "day")
    reason = f"The median age of {count(len(items), *LIVE)} is {age}"
    reason += f"; {stale} would leave as stale" if stale else ""
    if outdated:
        names = "names" if outdated == 1 else "name"
        reason += f"; {outdated} of them {names} what the code has lost"
    mend = (
        "mem doctor --stale"
        if outdated
        else "mem compact --stale"
        if stale
        else CONFIRM
    )
    return Metric(value, f"{reason}.", mend)


def coverage(indexed: Indexed) -> Metric:
    """The share of the entries on disk that the index holds, times that of its
    vectors."""
    value = (
        100 * min(1.0, indexed.entries / indexed.eligible) if indexed.eligible else 0.0
    )
    of = count(indexed.eligible, "entry on disk is", "entries on disk are")
    reason = f"{indexed.entries} of {of} indexed"
    if indexed.embedded is not None:
        have, should = indexed.embedded
        value *= have / should if should else 1.0
        reason += (
            f", {have} of {count(should, 'chunk has a vector', 'chunks have a vector')}"
        )
    if indexed.missing_files:
        reason += f"; {count(indexed.missing_files, 'file')} could not be read whole"
        return Metric(value, f"{reason}.", "mem doctor")
    missing = indexed.entries < indexed.eligible
    return Metric(
        value, f"{reason}.", "mem index --rebuild" if missing else "mem index"
    )


def reachability(items: Sequence[LiveEntry]) -> Metric:
    """The share of live entries that a relation or their provenance leads to."""
    linked = sum(item.linked for item in items)
    of = count(len(items), "live entry names", "live entries name")
    reason = f"{linked} of {of} a session, a relation or what it was made of."
    return Metric(100 * linked / len(items), reason, LEARN)


def efficiency(shown: Sequence[LoggedHit], places: Sequence[int] | None) -> Metric:
    """Whether recalls are distinct and relevant: from the log, else by the titles of a
    sample."""
    if len(shown) >= EVIDENCE:
        return _from_log(shown[-RECENT:])
    if places is None:
        reason = "The index is incomplete: no search can be judged."
        return Metric(None, reason, "mem index --rebuild")
    if not places:
        reason = "No recall was logged, and no entry has a title to recall it by."
        return Metric(None, reason, BEGIN)
    found = sum(1 <= place <= FOUND_AT for place in places)
    of = count(len(places), "live entry comes", "live entries come")
    reason = f"{found} of {of} among the first {FOUND_AT} by title (few recalls are logged yet)."
    return Metric(100 * found / len(places), reason, "mem compact")


def _from_log(shown: Sequence[LoggedHit]) -> Metric:
    new = len({(row.session, row.entry) for row in shown}) / len(shown)
    best = 0.0
    shares = list[float]()
    for row in sorted(shown, key=lambda row: row.session):
        if row.layer == "ranked" and row.score is not None and math.isfinite(row.score):
            best = row.score if row.place == 1 else max(best, row.score)
            shares.append(max(0.0, row.score / best) if best > 0 else 0.0)
    relevant = mean(shares) if shares else new
    sessions = count(len({row.session for row in shown}), "session")
    reason = f"Of {count(len(shown), 'hit')} shown to {sessions}, {new:.0%} were new"
    reason += f"; a hit scores {relevant:.0%} of its best" if shares else ""
    again = not shares or new < relevant
    mend = "mem compact" if again else "mem recall --limit 5 TASK"
    return Metric(50 * (new + relevant), f"{reason}.", mend)


def coherence(
    items: Sequence[LiveEntry], vectors: Mapping[str, bytes] | None = None
) -> Metric:
    """How near the `NEIGHBOURS` nearest entries are, on average over a sample.

    Similarity is the cosine where there are vectors of all, else the Jaccard overlap of
    content words weighed by idf; it earns its share of what counts as akin, at most 1.
    A near-duplicate takes a neighbour's place and earns nothing."""
    by_id = {item.id: item for item in items if not item.promoted}
    if len(by_id) < 2:
        return Metric(None, "One entry has no neighbours to compare with.", BEGIN)
    items = [by_id[name] for name in sample(by_id, POOL)]
    first = min(SAMPLE, len(items))
    near = min(NEIGHBOURS, len(items) - 1)
    known = [vectors.get(item.id, b"") for item in items] if vectors else [b""]
    akin, how = (
        (AKIN_COSINE, "by their vectors") if all(known) else (AKIN, "by their words")
    )
    bags = [ranking.words(f"{item.title}\n{item.text}") - STOP_WORDS for item in items]
    pairs = (
        nearest(known, first, near) if all(known) else _nearest_words(bags, first, near)
    )
    twins = _twins(items, bags, [(i, j) for i, j, _ in pairs])
    apart = [likeness for i, j, likeness in pairs if (i, j) not in twins]
    share, value = (
        sum(each) / (first * near)
        for each in (apart, (min(1.0, max(0.0, one / akin)) for one in apart))
    )
    of = (f"{SAMPLE} of " if len(by_id) > SAMPLE else "") + count(len(by_id), *LIVE)
    reason = f"{of} are {share:.0%} like their nearest {how} ({akin:.0%} is related)"
    copies = len({i for i, _ in twins})
    reason += (
        f"; {copies or 'none'} {'of them have' if copies else 'has'} a near-duplicate."
    )
    merge = any(items[i].shelf == items[j].shelf for i, j in twins)
    return Metric(100 * value, reason, "mem compact" if merge else BEGIN)


def sample(ids: Iterable[str], size: int) -> list[str]:
    """At most `size` ids, always the same ones: those whose hashes are smallest."""
    return heapq.nsmallest(
        size,
        ids,
        key=lambda name: (blake2b(name.encode("utf-8", "replace")).digest(), name),
    )


def nearest(
    vectors: Sequence[bytes], first: int, most: int
) -> list[tuple[int, int, float]]:
    """(i, j, cosine) of the `most` vectors nearest to each of the `first` ones."""
    found = []
    bits = b"".join(map(vector.signs, vectors))
    width = (len(vectors[0]) + 7) // 8 if vectors else 0
    for i in range(first):
        mine = int.from_bytes(vector.signs(vectors[i]))
        apart = dict(enumerate(vector.distances(mine, bits, width)))
        del apart[i]
        close = vector.nearest(apart, CLOSE)
        cosines = vector.cosines(vectors[i], {j: vectors[j] for j in close})
        best = sorted((-cosine, j) for j, cosine in cosines.items())[:most]
        found += [(i, j, -negative) for negative, j in best]
    return found


def _twins(
    items: Sequence[LiveEntry],
    bags: Sequence[frozenset[str]],
    pairs: Iterable[tuple[int, int]],
) -> set[tuple[int, int]]:
    from memcli.similarity.claims import claim
    from memcli.similarity.duplicates import near_duplicate

    likely = [p for p in pairs if overlap(*(bags[i] for i in p)) >= ranking.MAYBE_ALIKE]
    claims = {i: claim(items[i].text) for pair in likely for i in pair}
    return {
        (i, j)
        for i, j in likely
        if near_duplicate(claims[min(i, j)], claims[max(i, j)])
    }


def _nearest_words(
    bags: Sequence[frozenset[str]], first: int, most: int
) -> list[tuple[int, int, float]]:
    """(i, j, likeness) of the `most` texts nearest to each of the `first`, by shared
    words."""
    held = Counter(chain.from_iterable(bags))
    weights = {word: idf(n, len(bags)) for word, n in held.items()}
    holders = defaultdict[str, list[int]](list)
    for j, bag in enumerate(bags):
        for word in bag:
            holders[word].append(j)
    pairs: list[tuple[int, int, float]] = []
    for i, bag in enumerate(bags[:first]):
        rare = heapq.nsmallest(
            NEAR, (w for w in bag if held[w] > 1), key=lambda w: (held[w], w)
        )
        shared = Counter(j for word in rare for j in holders[word] if j != i)
        likely = heapq.nsmallest(NEAR, shared, key=lambda j: (-shared[j], j))
        found = [(i, j, _likeness(bag, bags[j], weights)) for j in likely]
        pairs += heapq.nsmallest(most, found, key=lambda pair: (-pair[2], pair[1]))
    return pairs


def _likeness(
    one: frozenset[str], two: frozenset[str], weights: Mapping[str, float]
) -> float:
    both, either = (
        math.fsum(weights[word] for word in words) for words in (one & two, one | two)
    )
    return both / (either or 1.0)
