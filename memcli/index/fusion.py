"""How signals of relevance become one: linear, reciprocal rank, or a blend of three; and
context.

Pure. Every signal is a score by candidate. docs/benchmarks.md has the measurements
behind it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from memcli.index import weights
from memcli.index.lexical import STOP_WORDS
from memcli.index.view import Signals
from memcli.memory.words import stem, word_forms

K = TypeVar("K")


_MARKS = [char for char in map(chr, range(128)) if not char.isalnum()] + list(
    "’–—…«»“”"
)
_APART = str.maketrans(dict.fromkeys(_MARKS, " "))


def scale(scores: Mapping[K, float]) -> dict[K, float]:
    """Scores relative to the best one (1.0), never below 0: a real hit never becomes
    0."""
    best = max(scores.values(), default=0.0)
    return {
        key: max(value, 0.0) / best if best > 0 else 0.0
        for key, value in scores.items()
    }


def linear(signals: Signals) -> dict[int, float]:
    """0.3 x BM25 + 0.7 x cosine, both relative to their best (seed of the project)."""
    return _mixed(
        [
            (1 - weights.OF_LINEAR, scale(signals.lexical)),
            (weights.OF_LINEAR, scale(signals.cosine)),
        ]
    )


def reciprocal_rank(signals: Signals) -> dict[int, float]:
    """Sum over the lanes of 1 / (60 + rank), rank from 1 (Cormack et al. 2009)."""
    return _mixed([(1.0, _by_rank(signals.lexical)), (1.0, _by_rank(signals.cosine))])


def _by_rank(scores: Mapping[int, float]) -> dict[int, float]:
    ranks = dict(zip(sorted(scores.values()), range(len(scores), 0, -1), strict=True))
    return {
        k: 1 / (weights.RANK_CONSTANT + ranks[v]) for k, v in scores.items() if v > 0
    }


def blend(signals: Signals) -> dict[int, float]:
    """The sum of BM25, the cosine and how well each word is met, each relative to its
    best."""
    return _mixed([(1.0, scale(scores)) for scores in signals])


def concise(signals: Signals, sizes: Mapping[int, int]) -> Signals:
    """The signals with less for what a text longer than `SHORT` meets by its length
    alone."""
    share = {
        key: weights.SHORT / size for key, size in sizes.items() if size > weights.SHORT
    }

    def less(scores: Mapping[int, float]) -> dict[int, float]:
        return {key: value * share.get(key, 1.0) for key, value in scores.items()}

    return signals._replace(lexical=less(signals.lexical), words=less(signals.words))


def _mixed(parts: Sequence[tuple[float, Mapping[int, float]]]) -> dict[int, float]:
    keys = dict.fromkeys(key for _, scores in parts for key in scores)
    return {
        key: sum(weight * scores.get(key, 0.0) for weight, scores in parts)
        for key in keys
    }


FUSIONS: Mapping[str, Callable[[Signals], dict[int, float]]] = {
    "bm25": lambda signals: dict(signals.lexical),
    "linear": linear, "rrf": reciprocal_rank, "blend": blend,
}  # fmt: skip


def titles(task: str, named: Iterable[tuple[K, str]]) -> dict[K, float]:
    """The share of each title, by its key, that stands in the task."""
    mine = frozenset(map(stem, word_forms(task)))
    heads = frozenset(
        word[:3] for word in mine
    )  # a stem keeps three letters: most need no more
    shares = {}
    for key, title in named:
        of_task = {
            low for word in word_forms(title) if (low := word.lower()) not in STOP_WORDS
        }
        met = sum(word[:3] in heads and stem(word) in mine for word in of_task)
        shares[key] = met / len(of_task) if of_task else 0.0
    return shares


def lend(
    strengths: Mapping[K, float],
    neighbours: Mapping[K, Sequence[tuple[K, int]]],
    shares: Mapping[K, float],
) -> dict[K, float]:
    """`own` relevance (best 1.0) with what entries that stand together add to each
    other:
    `neighbours[a]` are (b, distance 1 or 2) beside a in its file or session,
    `shares` is what each takes of what it is lent."""
    near: dict[K, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for lender, beside in neighbours.items():
        for key, distance in beside:
            near[key][distance - 1] = max(
                near[key][distance - 1], strengths.get(lender, 0.0)
            )
    total = dict(strengths)
    for key in strengths.keys() & shares.keys():
        one, two = near.get(key, (0.0, 0.0))
        total[key] += (one * one + two * two) * shares[key]
    return total


def phrase_shares(texts: Iterable[str], phrases: Sequence[str]) -> Iterator[float]:
    """The share of `phrases` (words with single blanks) that stand in each, however
    joined."""
    parts = {phrase: frozenset(phrase.split()) for phrase in phrases}
    words = frozenset[str]().union(*parts.values())
    for low in map(str.lower, texts):
        there = {word for word in words if word in low}
        here = [phrase for phrase, own in parts.items() if own <= there]
        plain = f" {' '.join(low.translate(_APART).split())} " if here else ""
        yield sum(f" {phrase} " in plain for phrase in here) / (len(phrases) or 1)
