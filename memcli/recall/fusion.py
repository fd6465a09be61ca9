"""How signals of relevance become one: linear, reciprocal rank, or a blend of five; and context.

Pure. Every signal is a score by candidate; what it is of (chunk, entry) does not matter here. The
weights are the same for every memory; docs/benchmarks.md has the measurements behind them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from memcli.index.lexical import STOP_WORDS
from memcli.index.view import Signals
from memcli.memory.words import word_forms

K = TypeVar("K")

LINEAR: Final = (0.3, 0.7)
"""Shares of words (BM25) and vector (cosine), right for embedders strong on their own."""
RANK_CONSTANT: Final = 60
BLEND: Final = {"lexical": 0.25, "cosine": 0.40, "words": 0.35, "density": 0.07, "title": 0.07}
"""Shares of the signals of static word vectors, each relative to its best."""
SHORT: Final = 400
LONG_LEXICAL: Final = 0.3
LONG_WORDS: Final = 0.7
"""Characters from which the length of a text counts against its words, and how much."""

LENT: Final = 0.4
"""What the best possible neighbour adds; the square makes weak neighbours lend nothing."""
FARTHER: Final = 0.5  # A neighbour two places away lends half
TOGETHER: Final = 0.3  # and all of one session or day lend this share of what they have in common
UNNAMED, NAMED = 0.4, 0.8
"""What is lent counts 0.4, and up to 1.2 where the task names the title: it is about that."""
BEST_OF_GROUP: Final = 3


def scale(scores: Mapping[K, float]) -> dict[K, float]:
    """Scores relative to the best one (1.0), never below 0: a real hit never becomes 0."""
    best = max(scores.values(), default=0.0)
    return {key: max(value, 0.0) / best if best > 0 else 0.0 for key, value in scores.items()}


def linear(signals: Signals) -> dict[int, float]:
    """0.3 x BM25 + 0.7 x cosine, both relative to their best (seed of the project)."""
    return _mixed([(LINEAR[0], scale(signals.lexical)), (LINEAR[1], scale(signals.cosine))])


def reciprocal_rank(signals: Signals) -> dict[int, float]:
    """Sum over the lanes of 1 / (60 + rank), rank from 1 (Cormack et al. 2009)."""
    return _mixed([(1.0, _by_rank(signals.lexical)), (1.0, _by_rank(signals.cosine))])


def _by_rank(scores: Mapping[int, float]) -> dict[int, float]:
    ranks: dict[float, int] = {}
    for rank, value in enumerate(sorted(scores.values(), reverse=True), 1):
        ranks.setdefault(value, rank)
    return {key: 1 / (RANK_CONSTANT + ranks[value]) for key, value in scores.items() if value > 0}


def blend(signals: Signals) -> dict[int, float]:
    """The weighted sum of all five; the title's share is not scaled, it is one already."""
    parts = signals._asdict()
    title = parts.pop("title")
    own = [(BLEND[name], scale(scores)) for name, scores in parts.items()]
    return _mixed([*own, (BLEND["title"], title)])


def concise(signals: Signals, sizes: Mapping[int, int]) -> Signals:
    """The signals with less for what a long text meets by its length alone.

    Up to `SHORT` characters nothing changes; of longer ones the share of BM25 goes down with the
    root of their length, and that of words met one by one more.
    """
    lexical, words = dict(signals.lexical), dict(signals.words)
    for key, size in sizes.items():
        if size > SHORT:
            share = SHORT / size
            if key in lexical:
                lexical[key] *= share**LONG_LEXICAL
            if key in words:
                words[key] *= share**LONG_WORDS
    return signals._replace(lexical=lexical, words=words)


def _mixed(parts: Sequence[tuple[float, Mapping[int, float]]]) -> dict[int, float]:
    keys = dict.fromkeys(key for _, scores in parts for key in scores)
    return {key: sum(weight * scores.get(key, 0.0) for weight, scores in parts) for key in keys}


def lexical(signals: Signals) -> dict[int, float]:
    """BM25 alone."""
    return dict(signals.lexical)


FUSIONS: Final[Mapping[str, Callable[[Signals], dict[int, float]]]] = {
    "bm25": lexical, "linear": linear, "rrf": reciprocal_rank, "blend": blend,
}  # fmt: skip


# --- word by word


def met(
    alike: Sequence[Mapping[int, float]], idf: Sequence[float], words: Mapping[K, Iterable[int]]
) -> dict[K, float]:
    """How well the words of a task are met in each text: the mean, by idf, of the best likeness of
    each.

    `alike[i]` maps ids of words to their likeness (0 to 1) with word i of the task; `words` are the
    ids of the words of each text. This is the "maxsim" of late interaction (Khattab and Zaharia
    2020).
    """
    total = sum(idf) or 1.0
    found: dict[K, float] = {}
    for key, own in words.items():
        present = frozenset(own)
        score = 0.0
        for weight, near in zip(idf, alike, strict=True):
            score += weight * max((near[i] for i in near.keys() & present), default=0.0)
        found[key] = score / total
    return found


def density(
    alike: Sequence[Mapping[int, float]], words: Mapping[K, Sequence[int]]
) -> dict[K, float]:
    """The mean over the words of each text of their best likeness to a word of the task."""
    best: dict[int, float] = {}
    for near in alike:
        for i, value in near.items():
            if value > best.get(i, 0.0):
                best[i] = value
    return {
        key: sum(best.get(i, 0.0) for i in own) / len(own) if own else 0.0
        for key, own in words.items()
    }


def titles(task: str, named: Iterable[tuple[K, str]]) -> dict[K, float]:
    """The share of each title, by its key, that stands in the task."""
    mine = frozenset(stem(word) for word in word_forms(task))
    heads = frozenset(
        word[:3] for word in mine
    )  # a stem keeps three letters: most words need no more
    shares = {}
    for key, title in named:
        own = {low for word in word_forms(title) if (low := word.lower()) not in STOP_WORDS}
        met = sum(word[:3] in heads and stem(word) in mine for word in own)
        shares[key] = met / len(own) if own else 0.0
    return shares


_ENDINGS = ("ings", "ing", "edly", "ed", "ies", "es", "ly", "s", "e")


def stem(word: str) -> str:
    """A word without its usual English ending, so that forms of one word meet."""
    low = word.lower()
    for ending in _ENDINGS:
        if low.endswith(ending) and len(low) - len(ending) >= 3:
            return low[: -len(ending)]
    return low


# --- context


def lend(
    own: Mapping[K, float],
    neighbours: Mapping[K, Sequence[tuple[K, int]]],
    groups: Mapping[K, object],
    title: Mapping[K, float],
    weight: float = LENT,
) -> dict[K, float]:
    """`own` relevance (best 1.0) with what entries that stand together add to each other.

    `neighbours[a]` are (b, distance 1 or 2), both of `own`: what stands beside a in its file;
    `groups` names what was written together; `title` is the share of each that the task names.
    """
    near: dict[K, list[float]] = {}
    for lender, beside in neighbours.items():
        for key, distance in beside:
            best = near.setdefault(key, [0.0, 0.0])
            best[distance - 1] = max(best[distance - 1], own.get(lender, 0.0))
    shared = _shared(own, groups)
    total = dict(own)
    for key, relevance in own.items():
        one, two = near.get(key, (0.0, 0.0))
        added = one * one + FARTHER * two * two + TOGETHER * shared.get(groups.get(key), 0.0)
        if added:
            total[key] = relevance + weight * added * (UNNAMED + NAMED * title.get(key, 0.0))
    return total


def _shared(own: Mapping[K, float], groups: Mapping[K, object]) -> dict[object, float]:
    members: dict[object, list[float]] = {}
    for key, value in own.items():
        group = groups.get(key)
        if group is not None:
            members.setdefault(group, []).append(value * value)
    return {
        group: sum(sorted(values, reverse=True)[:BEST_OF_GROUP]) / BEST_OF_GROUP
        for group, values in members.items()
        if len(values) > 1
    }
