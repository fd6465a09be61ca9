"""How signals of relevance become one: linear, reciprocal rank, or a blend of five; and
context.

Pure. Every signal is a score by candidate. docs/benchmarks.md has the measurements
behind it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import mul
from typing import Final, TypeVar

from memcli.index.lexical import STOP_WORDS
from memcli.index.view import Signals
from memcli.memory.words import word_forms

K = TypeVar("K")

LINEAR: Final = (
    0.3,
    0.7,
)  # shares of BM25 and cosine, right for embedders strong on their own
RANK_CONSTANT: Final = 60
BLEND: Final = {
    "lexical": 0.25,
    "cosine": 0.40,
    "words": 0.35,
    "density": 0.07,
    "title": 0.07,
}
"""Shares of the signals of static word vectors, each relative to its best."""
SHORT: Final = (
    400  # characters from which the length of a text counts against its words
)
# and how much
LONG_LEXICAL = 0.3
LONG_WORDS = 0.7
# characters from which on a text is no scrap, and what being one costs
SCRAP = 150
SCRAPPY = 0.3
OF_FILE: Final = 0.4  # what the mean of its file adds to a section
LENT: Final = (
    0.4  # what the best neighbour adds; the square makes weak ones lend nothing
)
FARTHER: Final = 0.5  # A neighbour two places away lends half
TOGETHER: Final = (
    0.3  # and all of one session or day lend this share of what they have in common
)
# what is lent counts 0.4, and up to 1.2 where the task names the title
UNNAMED = 0.4
NAMED = 0.8
BEST_OF_GROUP: Final = 3


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
        [(LINEAR[0], scale(signals.lexical)), (LINEAR[1], scale(signals.cosine))]
    )


def reciprocal_rank(signals: Signals) -> dict[int, float]:
    """Sum over the lanes of 1 / (60 + rank), rank from 1 (Cormack et al. 2009)."""
    return _mixed([(1.0, _by_rank(signals.lexical)), (1.0, _by_rank(signals.cosine))])


def _by_rank(scores: Mapping[int, float]) -> dict[int, float]:
    ranks = dict(zip(sorted(scores.values()), range(len(scores), 0, -1), strict=True))
    return {k: 1 / (RANK_CONSTANT + ranks[v]) for k, v in scores.items() if v > 0}


def blend(signals: Signals) -> dict[int, float]:
    """The weighted sum of all five; the title's share is not scaled, it is one
    already."""
    parts = signals._asdict()
    title = parts.pop("title")
    own = [(BLEND[name], scale(scores)) for name, scores in parts.items()]
    return _mixed([*own, (BLEND["title"], title)])


def concise(signals: Signals, sizes: Mapping[int, int]) -> Signals:
    """The signals with less for what a text longer than `SHORT` meets by its length
    alone."""
    long = {key: SHORT / size for key, size in sizes.items() if size > SHORT}

    def less(scores: Mapping[int, float], power: float) -> dict[int, float]:
        return {
            key: value * long.get(key, 1.0) ** power for key, value in scores.items()
        }

    lexical = less(signals.lexical, LONG_LEXICAL)
    words = less(signals.words, LONG_WORDS)
    return signals._replace(lexical=lexical, words=words)


def of_files(
    scores: Mapping[int, float], prose: Mapping[int, tuple[int, int]]
) -> dict[int, float]:
    """Scores with less for scraps of `prose` (file, size), and more in a file about the
    task."""
    files: dict[int, list[float]] = defaultdict(list)
    own = dict(scores)
    for key, (file, size) in prose.items():
        own[key] = scores.get(key, 0.0) * min(size / SCRAP, 1.0) ** SCRAPPY
        files[file].append(own[key])
    means = scale({file: sum(values) / len(values) for file, values in files.items()})
    return own | {
        key: own[key] * (1 + OF_FILE * means[file]) for key, (file, _) in prose.items()
    }


def _mixed(parts: Sequence[tuple[float, Mapping[int, float]]]) -> dict[int, float]:
    keys = dict.fromkeys(key for _, scores in parts for key in scores)
    return {
        key: sum(weight * scores.get(key, 0.0) for weight, scores in parts)
        for key in keys
    }


FUSIONS: Final[Mapping[str, Callable[[Signals], dict[int, float]]]] = {
    "bm25": lambda signals: dict(signals.lexical),
    "linear": linear, "rrf": reciprocal_rank, "blend": blend,
}  # fmt: skip


def met(
    alike: Sequence[Mapping[int, float]],
    idf: Sequence[float],
    words: Mapping[K, Iterable[int]],
) -> dict[K, float]:
    """How well the words of a task are met in each text: the mean, by idf, of the best
    likenesses; the "maxsim" of late interaction (Khattab and Zaharia 2020). `alike[i]`
    maps ids of words to their likeness (0 to 1) with word i of the task; `words` are
    the ids of those of each text."""
    total = sum(idf) or 1.0
    near = _by_word(alike)
    found: dict[K, float] = {}
    for key, own in words.items():
        best = [0.0] * len(alike)
        for number, value in chain.from_iterable(
            map(near.__getitem__, filter(near.__contains__, own))
        ):
            best[number] = max(best[number], value)
        found[key] = sum(map(mul, idf, best)) / total
    return found


def _by_word(
    alike: Sequence[Mapping[int, float]],
) -> dict[int, list[tuple[int, float]]]:
    near: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for number, each in enumerate(alike):
        for i, value in each.items():
            near[i].append((number, value))
    return near


def density(
    alike: Sequence[Mapping[int, float]], words: Mapping[K, Sequence[int]]
) -> dict[K, float]:
    """The mean over the words of each text of their best likeness to a word of the
    task."""
    best = {i: max(value for _, value in near) for i, near in _by_word(alike).items()}
    return {
        key: sum(map(best.__getitem__, filter(best.__contains__, own)))
        / (len(own) or 1)
        for key, own in words.items()
    }


def titles(task: str, named: Iterable[tuple[K, str]]) -> dict[K, float]:
    """The share of each title, by its key, that stands in the task."""
    mine = frozenset(map(stem, word_forms(task)))
    heads = frozenset(
        word[:3] for word in mine
    )  # a stem keeps three letters: most need no more
    shares = {}
    for key, title in named:
        own = {
            low for word in word_forms(title) if (low := word.lower()) not in STOP_WORDS
        }
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


def lend(
    own: Mapping[K, float],
    neighbours: Mapping[K, Sequence[tuple[K, int]]],
    groups: Mapping[K, object],
    title: Mapping[K, float],
    weight: float = LENT,
) -> dict[K, float]:
    """`own` relevance (best 1.0) with what entries that stand together add to each
    other:
    `neighbours[a]` are (b, distance 1 or 2) beside a in its file, `groups` names what
    was written together, `title` is the share of each that the task names."""
    near: dict[K, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for lender, beside in neighbours.items():
        for key, distance in beside:
            near[key][distance - 1] = max(near[key][distance - 1], own.get(lender, 0.0))
    shared = _shared(own, groups)
    total = dict(own)
    for key, relevance in own.items():
        one, two = near.get(key, (0.0, 0.0))
        added = (
            one * one
            + FARTHER * two * two
            + TOGETHER * shared.get(groups.get(key), 0.0)
        )
        if added:
            total[key] = relevance + weight * added * (
                UNNAMED + NAMED * title.get(key, 0.0)
            )
    return total


def _shared(own: Mapping[K, float], groups: Mapping[K, object]) -> dict[object, float]:
    members: dict[object, list[float]] = defaultdict(list)
    for key, value in own.items():
        members[groups.get(key)].append(value * value)
    return {
        group: sum(sorted(values, reverse=True)[:BEST_OF_GROUP]) / BEST_OF_GROUP
        for group, values in members.items()
        if group is not None and len(values) > 1
    }
