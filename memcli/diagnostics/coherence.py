"""Coherence: how near entries are to their nearest, without what is said twice. Pure."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING

from memcli.diagnostics.notes import BEGIN, Item, Measured, live_entries
from memcli.index.terms import STOP_WORDS
from memcli.providers.embed.arithmetic import SCALE
from memcli.recall import ranking

if TYPE_CHECKING:
    from memcli.similarity.claims import Claim

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


def coherence(items: Sequence[Item], vectors: Mapping[str, bytes] | None = None) -> Measured:
    """How near the `NEIGHBOURS` nearest entries are, on average over a sample.

    Similarity is the cosine where there are vectors of all, else the Jaccard overlap of content
    words weighed by idf; it earns its share of what counts as akin, at most 1. A near-duplicate
    takes a neighbour's place and earns nothing.
    """
    items = [item for item in items if not item.promoted]
    if len(items) < 2:
        return Measured(None, "One entry has no neighbours to compare with.", BEGIN)
    of = (
        f"{SAMPLE} of {live_entries(len(items))}"
        if len(items) > SAMPLE
        else live_entries(len(items))
    )
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
