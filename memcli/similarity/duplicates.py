"""Near-duplicates, their clusters, and contradictions: lexical, exact,
order-independent."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, combinations
from math import ceil
from typing import NamedTuple, TypeVar

from memcli.memory.words import overlap
from memcli.similarity import differences as differ
from memcli.similarity.claims import Claim, content_terms, literals_of
from memcli.similarity.tokens import WORDS, against

T = TypeVar("T")
K = TypeVar("K")


def similar_pairs(
    sets: Sequence[frozenset[str]], threshold: float
) -> Iterator[tuple[int, int, float]]:
    """All pairs (i, j, Jaccard), i < j, of sets with members, with Jaccard above
    `threshold`."""
    # By prefix and size (Bayardo, Ma and Srikant, WWW 2007; Xiao et al., WWW 2008): two
    # sets share
    # a token among the first n - ceil(t n) + 1 of either in any one global order.
    frequency = Counter(token for tokens in sets for token in tokens)
    rarest = sorted(frequency, key=lambda token: (frequency[token], token))
    rank = {token: number for number, token in enumerate(rarest)}
    ranked = [sorted(rank[token] for token in tokens) for tokens in sets]
    order = sorted(range(len(sets)), key=lambda i: len(sets[i]))
    sizes = [len(sets[i]) for i in order]
    index: dict[int, list[int]] = {}
    for place, i in enumerate(order):
        size = sizes[place]
        least = ceil(threshold * size - 1e-9)
        first = bisect_left(sizes, least)
        known = (
            index[token] for token in ranked[i][: size - least + 1] if token in index
        )
        for other in {
            at for places in known for at in places[bisect_left(places, first) :]
        }:
            score = overlap(sets[i], sets[order[other]])
            if score > threshold:
                yield (min(i, order[other]), max(i, order[other]), score)
        shared = ceil(2 * threshold / (1 + threshold) * size - 1e-9)
        for token in ranked[i][: size - shared + 1]:
            index.setdefault(token, []).append(place)


_ALIKE = 0.8
_MAYBE = 0.6
_SAME = 0.9
"""With words in common above the first, content in common above the second, the rest is
wording."""
_CROWD = 256  # so many different bodies in one component come from a template
_SAME_SUBJECT = 0.6
_SERIES = 8  # so many values of one number are a log


def _by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _by_claim(claims: Sequence[Claim]) -> dict[Claim, list[int]]:
    return _by((i for i, a in enumerate(claims) if a.words), claims.__getitem__)


class Cluster(NamedTuple):
    """Bodies connected by near-duplicate pairs; `guarded` names those that a guard
    keeps apart."""

    members: tuple[int, ...]
    guarded: tuple[tuple[int, int, str], ...]


def near_duplicate(a: Claim, b: Claim) -> bool:
    """Whether the two say the same: by Jaccard of words or of content, and no guard."""
    return _alike(a, b) and differ.guard(a, b) is None


def _alike(a: Claim, b: Claim) -> bool:
    score = overlap(a.words, b.words)
    return score > _ALIKE or (
        score > _MAYBE and overlap(_content(a), _content(b)) > _SAME
    )


def _content(a: Claim) -> frozenset[str]:
    return frozenset(content_terms(a))


def clusters(
    claims: Sequence[Claim], more: Iterable[tuple[int, int]] = ()
) -> list[Cluster]:
    """The connected components, of two or more, of near-duplicates and of the pairs in
    `more`."""
    distinct = _by_claim(claims)
    pairs = [(claims[i], claims[j]) for i, j in more]
    found = [
        _cluster(component, distinct)
        for bucket in _by(distinct, literals_of).values()
        for component in _components(bucket, pairs)
        if sum(len(distinct[a]) for a in component) > 1
    ]
    return sorted(found)


def _components(
    claims: Sequence[Claim], more: Sequence[tuple[Claim, Claim]]
) -> Iterable[list[Claim]]:
    parts = [[i] for i in range(len(claims))]
    place = {a: i for i, a in enumerate(claims)} if more else {}
    also = ((place[a], place[b]) for a, b in more if a in place and b in place)
    near = chain(
        similar_pairs([a.words for a in claims], _ALIKE),
        similar_pairs([_content(a) for a in claims], _SAME),
    )
    alike = ((i, j) for i, j, _ in near if _alike(claims[i], claims[j]))
    for i, j in chain(alike, also):
        less, most = sorted((parts[i], parts[j]), key=len)
        if less is not most and differ.guard(claims[i], claims[j]) is None:
            most += less
            for each in less:
                parts[each] = most
    return [
        [claims[i] for i in part]
        for part in {id(part): part for part in parts}.values()
    ]


def _cluster(component: Sequence[Claim], distinct: dict[Claim, list[int]]) -> Cluster:
    members = tuple(sorted(i for a in component for i in distinct[a]))
    firsts = sorted(
        ((distinct[a][0], a) for a in component), key=lambda first: first[0]
    )
    if len(firsts) > _CROWD:
        return Cluster(members, ((firsts[0][0], firsts[1][0], "crowd"),))
    guarded = ((i, j, differ.guard(a, b)) for (i, a), (j, b) in combinations(firsts, 2))
    return Cluster(members, tuple((i, j, reason) for i, j, reason in guarded if reason))


def _subject(a: Claim) -> frozenset[str]:
    # What a claim is about: its content terms but numbers and words that have an
    # opposite.
    return frozenset(content_terms(a)) - a.numbers - frozenset(against("opposites"))


def _masked(a: Claim) -> tuple[object, ...]:
    """Everything but the values of its numbers; units, dates and issue numbers stay."""
    values = {
        n: n
        if n.count("-") > 1
        else "# " + "".join(c for c in n if c.isalpha() or c == "%")
        for n in a.numbers
    }
    phrases = tuple(
        (p.governor, p.negated, tuple(values.get(t, t) for t in p.terms))
        for p in a.phrases
    )
    return (a.words.difference(values), phrases, a.paths, a.flags, a.names)


def _opposed(a: Claim, b: Claim) -> bool:
    """Same literals and conditions; exactly one of order, negation, antonym turned
    round."""
    ours, theirs = (
        {*WORDS["conditions"]} & {p.governor for p in one.phrases} for one in (a, b)
    )
    if (literals_of(a), a.limits, ours) != (literals_of(b), b.limits, theirs):
        return False
    polar = differ.opposing(a, b)
    negates = differ.denies(a, b) != differ.denies(b, a)
    alike = bool(differ.negated_terms(a)) == bool(differ.negated_terms(b))
    if polar == negates:
        return not polar and alike and _turned(a, b)
    apart = (
        differ.contrasted(a, b) or differ.reordered(a, b) or differ.word_for_word(a, b)
    )
    return not apart and (alike or not polar)


def _turned(a: Claim, b: Claim) -> bool:
    """Two terms have changed places around a "before", "not", "over" or their like."""
    ours, theirs = map(differ.governed, differ.differing_phrases(a, b))
    swapped = (governors - {""} for governors in differ.swaps(ours, theirs))
    directed = any(
        governors and governors <= WORDS["directed"] for governors in swapped
    )
    return directed and not differ.word_for_word(a, b)


def contradictions(claims: Sequence[Claim]) -> list[tuple[int, int]]:
    """The contradicting pairs (i < j), sorted; many values of one number are a series,
    no pairs."""
    distinct = _by_claim(claims)
    found = []
    for group in _by((a for a in distinct if a.numbers), _masked).values():
        if len(group) <= _SERIES and _subject(group[0]):
            found += [
                (a, b) for a, b in combinations(group, 2) if a.numbers != b.numbers
            ]
    for bucket in _by(distinct, literals_of).values():
        near = similar_pairs([_subject(a) for a in bucket], _SAME_SUBJECT)
        alike = ((bucket[i], bucket[j]) for i, j, _ in near)
        found += [pair for pair in alike if _opposed(*pair)]
    pairs = ((distinct[a][0], distinct[b][0]) for a, b in found)
    return sorted({(min(pair), max(pair)) for pair in pairs})
