"""Is the memory good? Five metrics in 0 to 100, their weighted score, its band (docs/guide.md).
Pure.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from itertools import chain, groupby
from statistics import mean, median
from typing import TYPE_CHECKING, NamedTuple

from memcli.index.terms import STOP_WORDS
from memcli.providers.embed.arithmetic import SCALE
from memcli.recall import ranking

if TYPE_CHECKING:
    from memcli.similarity.claims import Claim

WEIGHTS = {
    "freshness": 0.25,
    "coverage": 0.25,
    "coherence": 0.20,
    "efficiency": 0.15,
    "reachability": 0.15,
}
YELLOW, GREEN = 50, 75
SAMPLE, POOL = 200, 4000
"""How many entries are compared, with how many: samples of larger stores, the first within the
second.
"""
NEIGHBOURS = 3
AKIN = 0.25
"""Weighted word overlap from which a neighbour earns the whole point: unrelated texts of one
project overlap by 0.06, the nearest of a well-kept store by 0.15 to 0.25 (word-shuffled against
real sets).
"""
AKIN_COSINE = 0.8
"""Cosine from which a neighbour earns the whole point where there are vectors: that of a `similar`
edge.
"""
RARE_WORDS = 12
NEAR = 12
"""So many of an entry's rarest words find its possible neighbours, and so many of them are
compared.
"""
EVIDENCE, RECENT = 10, 1000
"""So many shown entries the recall log must hold before it is believed; so many of the latest
count.
"""
FOUND_AT = 3
BEGIN = 'mem add "what you learned"'
CONFIRM = "mem reinforce --explicit ID..."
LEARN = "mem extract"
GROWTH = (BEGIN, CONFIRM, LEARN)
"""What raises a metric in time. Other advice names work that is there to be done."""
FEW = 20
"""So many entries a memory should have before its growth is worth advice."""
AGES = ((7, "0–6"), (30, "7–29"), (90, "30–89"), (180, "90–179"), (365, "180–364"))
OLDEST = "365 +"


class Item(NamedTuple):
    """One live entry as the metrics see it.

    `decay` is what recall leaves of it (1.0 fresh to 0.1), `stale` what `mem compact --stale` would
    archive, `linked` whether it has a relation or a provenance edge. Compaction merges
    near-duplicates of one `shelf` only. Of what is `promoted` recall shows the copy that it became.
    """

    id: str
    title: str
    text: str
    decay: float
    age: int
    stale: bool
    linked: bool
    shelf: str = ""
    promoted: bool = False


class Indexed(NamedTuple):
    """Entries in the index, entries on disk, and files that could not be read or are not indexed
    yet.

    An entry of such a file cannot be counted: the file stands for one. `embedded` are chunks that
    have a vector and those that should, where an embedder is set.
    """

    entries: int
    eligible: int
    missing_files: int = 0
    embedded: tuple[int, int] | None = None


class Shown(NamedTuple):
    """One row of the recall log, in order of showing: `place` counts from 1 within one answer's
    layer.
    """

    session: str
    entry: str
    layer: str
    place: int
    score: float | None
    day: str


class Metric(NamedTuple):
    """`value` is None for what cannot be had; then it has no weight. `raise_with` is a command
    line.
    """

    value: float | None
    weight: float
    reason: str
    raise_with: str


class Health(NamedTuple):
    """The score in 0 to 100, its band (red, yellow, green) and the metrics by name."""

    score: float
    band: str
    metrics: Mapping[str, Metric]


class Measured(NamedTuple):
    """A value in 0 to 100 or None, why, and what would raise it."""

    value: float | None
    reason: str
    raise_with: str


def health(
    items: Sequence[Item],
    indexed: Indexed,
    shown: Sequence[Shown],
    places: Sequence[int] | None,
    vectors: Mapping[str, bytes] | None = None,
) -> Health:
    """All metrics of the live entries, whatever their order.

    `places` are those of a `sample` recalled by their titles, 0: not found; None when the index
    cannot be searched. `vectors` are those of the `compared` entries by id, see
    memcli/providers/embed/arithmetic.py.
    """
    items = sorted(items)
    if not items:
        return _empty(indexed)
    return weighed(
        {
            "freshness": freshness(items),
            "coverage": coverage(indexed),
            "coherence": coherence(items, vectors),
            "efficiency": efficiency(shown, places),
            "reachability": reachability(items),
        }
    )


def weighed(measured: Mapping[str, Measured]) -> Health:
    """The score: the weighted sum of the metrics that can be had, their weights rescaled to 1."""
    had = {name: m.value for name, m in measured.items() if m.value is not None}
    total = sum(WEIGHTS[name] for name in had) or 1.0
    metrics = {
        name: Metric(
            None if m.value is None else round(m.value, 1),
            round(WEIGHTS[name] / total, 4) if name in had else 0.0,
            m.reason,
            m.raise_with,
        )
        for name, m in measured.items()
    }
    score = round(sum(WEIGHTS[name] * value for name, value in had.items()) / total, 1)
    return Health(score, band(score), metrics)


def band(score: float) -> str:
    """red below 50, yellow to 75, green from there."""
    return "red" if score < YELLOW else "yellow" if score < GREEN else "green"


def _empty(indexed: Indexed) -> Health:
    files = (
        f"; {_some(indexed.missing_files, 'file')} cannot be read" if indexed.missing_files else ""
    )
    reasons = {
        "freshness": f"There is no live entry yet{files}: begin with mem add.",
        "coverage": "There is nothing to index yet: begin with mem add.",
        "coherence": "There are no entries to compare yet: begin with mem add.",
        "efficiency": "There is nothing to recall yet: begin with mem add.",
        "reachability": "There are no entries to link yet: begin with mem add.",
    }
    return weighed({name: Measured(0.0, reason, BEGIN) for name, reason in reasons.items()})


# --- freshness, coverage, reachability


def freshness(items: Sequence[Item]) -> Measured:
    """The median of what decay leaves of the live entries."""
    value = 100 * median(item.decay for item in items)
    stale = [item for item in items if item.stale]
    age = median(item.age for item in items)
    reason = f"The median age of {_entries(len(items))} is {_some(round(age), 'day')}"
    if stale:
        return Measured(
            value, f"{reason}; {len(stale)} would leave as stale.", "mem compact --stale"
        )
    return Measured(value, f"{reason}.", CONFIRM)


def coverage(indexed: Indexed) -> Measured:
    """The share of the entries on disk that the index holds, times that of its vectors that are
    there.
    """
    value = 100 * min(1.0, indexed.entries / indexed.eligible) if indexed.eligible else 0.0
    of = _some(indexed.eligible, "entry on disk is", "entries on disk are")
    reason = f"{indexed.entries} of {of} indexed"
    if indexed.embedded is not None:
        have, should = indexed.embedded
        value *= have / should if should else 1.0
        reason += f", {have} of {_some(should, 'chunk has a vector', 'chunks have a vector')}"
    if indexed.missing_files:
        files = _some(indexed.missing_files, "file")
        return Measured(value, f"{reason}; {files} could not be read.", "mem index")
    missing = indexed.entries < indexed.eligible
    return Measured(value, f"{reason}.", "mem index --rebuild" if missing else "mem index")


def reachability(items: Sequence[Item]) -> Measured:
    """The share of live entries that a relation or their provenance leads to."""
    linked = sum(item.linked for item in items)
    of = _some(len(items), "live entry names", "live entries name")
    reason = f"{linked} of {of} a session, a relation or what it was made of."
    return Measured(100 * linked / len(items), reason, LEARN)


# --- coherence


def coherence(items: Sequence[Item], vectors: Mapping[str, bytes] | None = None) -> Measured:
    """How near the `NEIGHBOURS` nearest entries are, on average over a sample.

    Similarity is the cosine where there are vectors of all, else the Jaccard overlap of content
    words weighed by idf; it earns its share of what counts as akin, at most 1. A near-duplicate
    takes a neighbour's place and earns nothing.
    """
    items = [item for item in items if not item.promoted]
    if len(items) < 2:
        return Measured(None, "One entry has no neighbours to compare with.", BEGIN)
    of = f"{SAMPLE} of {_entries(len(items))}" if len(items) > SAMPLE else _entries(len(items))
    by_id = {item.id: item for item in items}
    items = [by_id[name] for name in compared(by_id)]
    chosen = range(min(SAMPLE, len(items)))
    known = [vectors.get(item.id, b"") for item in items] if vectors else []
    count, akin = min(NEIGHBOURS, len(items) - 1), AKIN_COSINE if all(known) and known else AKIN
    if akin == AKIN_COSINE:
        pairs = nearest(known, len(chosen), count)
    else:
        words = _Words([f"{item.title}\n{item.text}" for item in items], chosen)
        pairs = [(i, *near) for i in chosen for near in words.nearest(i, count)]
    alike = _alike(items)
    twins = {(i, j) for i, j, _ in pairs if alike(i, j)}
    earned = [
        0.0 if (i, j) in twins else max(0.0, min(1.0, likeness / akin)) for i, j, likeness in pairs
    ]
    slots = len(chosen) * count
    share = sum(likeness for i, j, likeness in pairs if (i, j) not in twins) / slots
    merge = any(items[i].shelf == items[j].shelf for i, j in twins)
    advice = "mem compact" if merge else BEGIN
    return _coherence(
        100 * sum(earned) / slots, of, share, akin, len({i for i, _ in twins}), advice
    )


def compared(ids: Iterable[str]) -> list[str]:
    """The entries that coherence looks at."""
    return sample(ids, POOL)


def nearest(vectors: Sequence[bytes], first: int, count: int) -> list[tuple[int, int, float]]:
    """(i, j, cosine) of the `count` vectors nearest to each of the `first` ones, itself left out."""
    import numpy as np

    matrix = np.frombuffer(b"".join(vectors), np.int8).reshape(len(vectors), -1).astype(np.float32)
    products = matrix[:first] @ matrix.T
    products[np.arange(first), np.arange(first)] = -np.inf
    order = np.argsort(-products, axis=1, kind="stable")[:, :count]
    found = [(i, j, float(products[i, j])) for i, near in enumerate(order.tolist()) for j in near]
    return [(i, j, product / SCALE / SCALE) for i, j, product in found]


def _coherence(
    value: float, of: str, share: float, akin: float, copies: int, advice: str
) -> Measured:
    reason = f"{of} share {share:.0%} of their words, by weight, with their nearest ({AKIN:.0%} is related)"
    if akin == AKIN_COSINE:
        reason = f"{of} have a mean cosine of {share:.2f} to their nearest ({AKIN_COSINE:.2f} is related)"
    if copies:
        return Measured(value, f"{reason}; {copies} of them have a near-duplicate.", advice)
    return Measured(value, f"{reason}; none has a near-duplicate.", advice)


def sample(ids: Iterable[str], size: int) -> list[str]:
    """At most `size` ids, always the same ones: those whose hashes are smallest."""
    return heapq.nsmallest(
        size, ids, key=lambda name: (blake2b(name.encode("utf-8", "replace")).digest(), name)
    )


def _alike(items: Sequence[Item]) -> Callable[[int, int], bool]:
    """The near-duplicate test between two entries; what each asserts is read once."""

    @cache
    def read(i: int) -> Claim:
        from memcli.similarity.claims import claim

        return claim(items[i].text)

    @cache
    def ordered(i: int, j: int) -> bool:
        from memcli.similarity.duplicates import near_duplicate

        return near_duplicate(read(i), read(j))

    @cache
    def bag(i: int) -> frozenset[str]:
        return ranking.words(f"{items[i].title}\n{items[i].text}") - STOP_WORDS

    def alike(i: int, j: int) -> bool:
        """The words are compared first: the exact test is slower."""
        return ranking.overlap(bag(i), bag(j)) >= ranking.MAYBE_ALIKE and ordered(
            min(i, j), max(i, j)
        )

    return alike


class _Words:
    """The content words of many texts, with what each weighs; neighbours are found for the `chosen`
    ones.
    """

    def __init__(self, texts: Sequence[str], chosen: Iterable[int]) -> None:
        self.bags = [ranking.words(text) - STOP_WORDS for text in texts]
        self.count = Counter(chain.from_iterable(self.bags))
        self.rare = {i: self._rare(i) for i in chosen}
        wanted = {word for words in self.rare.values() for word in words}
        self.holders: dict[str, list[int]] = {word: [] for word in wanted}
        for i, bag in enumerate(self.bags):
            for word in bag & wanted:
                self.holders[word].append(i)
        self.weight = cache(self._weight)

    def _rare(self, i: int) -> list[str]:
        """The rarest words of a text that another text has, too."""
        shared = [word for word in self.bags[i] if self.count[word] > 1]
        return heapq.nsmallest(RARE_WORDS, shared, key=lambda word: (self.count[word], word))

    def _weight(self, count: int) -> float:
        """The idf of a word that stands in so many texts."""
        return math.log(1 + (len(self.bags) - count + 0.5) / (count + 0.5))

    def nearest(self, i: int, count: int) -> list[tuple[int, float]]:
        """The `count` texts that overlap most with a chosen text, best first; fewer when fewer do
        at all.
        """
        shared: Counter[int] = Counter()
        for word in self.rare[i]:
            shared.update(self.holders[word])
        del shared[i]
        likely = heapq.nsmallest(NEAR, shared, key=lambda j: (-shared[j], j))
        found = [(j, self.likeness(i, j)) for j in likely]
        return heapq.nsmallest(count, found, key=lambda pair: (-pair[1], pair[0]))

    def likeness(self, i: int, j: int) -> float:
        """The idf of the words two texts share over that of all their words."""
        every = self._sum(self.bags[i] | self.bags[j])
        return self._sum(self.bags[i] & self.bags[j]) / every if every else 0.0

    def _sum(self, words: Iterable[str]) -> float:
        return math.fsum(self.weight(self.count[word]) for word in words)


# --- efficiency


def efficiency(shown: Sequence[Shown], places: Sequence[int] | None) -> Measured:
    """Whether recalls are distinct and relevant: from the log, else by the titles of a sample."""
    if len(shown) >= EVIDENCE:
        return _from_log(shown[-RECENT:])
    if places is None:
        return Measured(
            None, "The index is incomplete: no search can be judged.", "mem index --rebuild"
        )
    if not places:
        return Measured(
            None, "No recall was logged, and no entry has a title to recall it by.", BEGIN
        )
    found = sum(1 <= place <= FOUND_AT for place in places)
    of = _some(len(places), "live entry comes", "live entries come")
    reason = f"{found} of {of} among the first {FOUND_AT} when asked for by title"
    return Measured(
        100 * found / len(places), f"{reason} (few recalls are logged yet).", "mem compact"
    )


def _from_log(shown: Sequence[Shown]) -> Measured:
    """The mean of two shares: of ids that were new to their session, and of the best hit's score."""
    new = len({(row.session, row.entry) for row in shown}) / len(shown)
    relevant = _relative(shown)
    value = 100 * (new if relevant is None else (new + relevant) / 2)
    sessions = len({row.session for row in shown})
    reason = f"Of {_some(len(shown), 'hit')} shown to {_some(sessions, 'session')}, {new:.0%} were new to it"
    if relevant is not None:
        reason += f"; a hit scores {relevant:.0%} of its best"
    again = relevant is None or new < relevant
    return Measured(value, f"{reason}.", "mem compact" if again else "mem recall --limit 5 TASK")


def _relative(shown: Sequence[Shown]) -> float | None:
    """The mean score of a ranked hit relative to the best of its answer; None when no score was
    logged.
    """
    shares: list[float] = []
    by_session = sorted(range(len(shown)), key=lambda i: (shown[i].session, i))
    for _, rows in groupby((shown[i] for i in by_session), key=lambda row: row.session):
        best = 0.0
        for row in rows:
            if row.layer != "ranked" or row.score is None or not math.isfinite(row.score):
                continue
            best = row.score if row.place == 1 else max(best, row.score)
            shares.append(max(0.0, row.score / best) if best > 0 else 0.0)
    return mean(shares) if shares else None


# --- counts


def age_group(age: int) -> str:
    """The bar of the age distribution that an age in days belongs to."""
    return next((name for limit, name in AGES if age < limit), OLDEST)


def tally(values: Iterable[str]) -> dict[str, int]:
    """How often each value occurs, the most frequent first."""
    return dict(sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0])))


def _entries(count: int) -> str:
    return _some(count, "live entry", "live entries")


def _some(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
