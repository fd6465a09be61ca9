"""Near-duplicates, their clusters, and contradictions: lexical, exact,
order-independent."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from math import ceil, floor
from typing import NamedTuple, TypeVar

from memcli.memory.tombstones import fold
from memcli.memory.words import body_of, overlap
from memcli.similarity import differences as differ
from memcli.similarity.claims import Claim, claim, content_terms, literals_of
from memcli.similarity.tokens import WORDS, against

T = TypeVar("T")
K = TypeVar("K")


def similar_pairs(
    sets: Sequence[frozenset[str]], threshold: float
) -> Iterator[tuple[int, int, float]]:
    """All pairs (i, j, Jaccard), i < j, of sets with members, with Jaccard above
    `threshold`."""
    # By prefix and size (Bayardo, Ma and Srikant, WWW 2007; Xiao et al., WWW 2008): two
    # sets share a token among the first n - ceil(t n) + 1 of either in any one global
    # order.
    ranked = _by_rarity(sets)
    order = sorted(range(len(sets)), key=lambda number: len(sets[number]))
    sizes = [len(sets[number]) for number in order]
    signatures = [_signature(ranked[number]) for number in order]
    common = 2 * threshold / (1 + threshold)  # of the tokens of two sets of one size
    index = defaultdict[int, list[int]](list)
    for place, number in enumerate(order):
        size = sizes[place]
        ranks = ranked[number]
        # the smaller sets that have one of its first tokens, large enough themselves
        least = ceil(threshold * size - 1e-9)
        smallest = bisect_left(sizes, least)
        candidates = set()
        for token in ranks[: size - least + 1]:
            places = index[token]
            first_place = bisect_left(places, smallest)
            candidates.update(places[first_place:])
        # The other is no larger: so many tokens at most are in one of the two alone.
        most_differing = floor(2 * size * (1 - threshold) / (1 + threshold) + 1e-9)
        signature = signatures[place]
        for candidate in candidates:
            differing_bits = signature ^ signatures[candidate]
            if differing_bits.bit_count() > most_differing:
                continue
            other = order[candidate]
            score = overlap(sets[number], sets[other])
            if score > threshold:
                yield min(number, other), max(number, other), score
        # where the larger ones will find it
        shared = ceil(common * size - 1e-9)
        for token in ranks[: size - shared + 1]:
            index[token].append(place)


def _by_rarity(sets: Sequence[frozenset[str]]) -> list[list[int]]:
    """Each set as the ranks of its tokens, 0 for the rarest of all."""
    frequency = Counter(chain.from_iterable(sets))
    rarest = sorted(sorted(frequency), key=frequency.__getitem__)
    rank = {token: number for number, token in enumerate(rarest)}
    return [sorted(map(rank.__getitem__, tokens)) for tokens in sets]


def _signature(ranks: Iterable[int]) -> int:
    """A set as a few bits: two differ in no more bits than the sets in tokens."""
    bits = 0
    for rank in ranks:
        place = rank % _BITS
        bits |= 1 << place
    return bits


_BITS = 512  # a token in ten of a long text shares its bit
_ALIKE = 0.8
_MAYBE = 0.6
_SAME = 0.9
"""With more words in common than the first, or than the second and more content than
the third, only the wording differs."""
_CROWD = 256  # so many different bodies in one component come from a template
_SAME_SUBJECT = 0.6
_SERIES = 8  # so many values of one number are a log


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """The items by key, keys and items in the order in which they come."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _by_claim(claims: Sequence[Claim]) -> dict[Claim, list[int]]:
    places = (place for place, claim in enumerate(claims) if claim.words)
    return grouped(places, claims.__getitem__)


class Cluster(NamedTuple):
    """Bodies connected by near-duplicate pairs; `guarded` lists the pairs that a guard
    keeps apart."""

    members: tuple[int, ...]
    guarded: tuple[tuple[int, int, str], ...]


def near_duplicate(first: Claim, second: Claim) -> bool:
    """Whether two claims say the same: alike by Jaccard of words or content, and not
    kept apart by a guard."""
    if not _alike(first, second):
        return False
    return differ.guard(first, second) is None


class Titled(NamedTuple):
    """What an entry says, or would say."""

    title: str
    body: str

    def says_all(self, other: "Titled") -> bool:
        """Whether it has the title of another one, or nearly, and each line of its
        text."""
        title = fold(self.title)
        other_title = fold(other.title)
        is_near = title == other_title or near_duplicate(
            claim(title), claim(other_title)
        )
        return is_near and other.lines <= self.lines

    @property
    def lines(self) -> set[str]:
        """The lines below the title, without what only looks different."""
        below = body_of(self.body, self.title).splitlines()
        return {fold(line) for line in below} - {""}


def _alike(first: Claim, second: Claim) -> bool:
    score = overlap(first.words, second.words)
    if score > _ALIKE:
        return True
    if score <= _MAYBE:
        return False
    return overlap(_content(first), _content(second)) > _SAME


def _content(claim: Claim) -> frozenset[str]:
    return frozenset(content_terms(claim))


def clusters(
    claims: Sequence[Claim], further: Iterable[tuple[int, int]] = ()
) -> list[Cluster]:
    """The connected components (of two or more) of near-duplicates and of the pairs in
    `further`."""
    distinct = _by_claim(claims)
    pairs = [(claims[first], claims[second]) for first, second in further]
    together = []
    for bucket in grouped(distinct, literals_of).values():
        for component in _components(bucket, pairs):
            places = {claim: distinct[claim] for claim in component}
            bodies = sum(map(len, places.values()))
            if bodies > 1:
                together.append(_cluster(places))
    return sorted(together)


def _components(
    claims: Sequence[Claim], further: Sequence[tuple[Claim, Claim]]
) -> Iterable[list[Claim]]:
    part_of = {claim: [claim] for claim in claims}
    named = [pair for pair in further if part_of.keys() >= set(pair)]
    for first, second in chain(_near_pairs(claims), named):
        parts = (part_of[first], part_of[second])
        smaller, larger = sorted(parts, key=len)
        if smaller is larger:
            continue
        if differ.guard(first, second) is None:
            larger += smaller
            part_of.update(dict.fromkeys(smaller, larger))
    return {id(part): part for part in part_of.values()}.values()


def _near_pairs(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Claim]]:
    words = [claim.words for claim in claims]
    contents = list(map(_content, claims))
    by_words = similar_pairs(words, _ALIKE)
    by_content = similar_pairs(contents, _SAME)
    for number, other_number, _ in chain(by_words, by_content):
        first = claims[number]
        second = claims[other_number]
        if _alike(first, second):
            yield first, second


def _cluster(places: Mapping[Claim, Sequence[int]]) -> Cluster:
    """The cluster of these claims, each with the places where it stands."""
    members = tuple(sorted(chain.from_iterable(places.values())))
    first_of = {numbers[0]: claim for claim, numbers in places.items()}
    firsts = sorted(first_of)
    if len(firsts) > _CROWD:
        crowd = (firsts[0], firsts[1], "crowd")
        return Cluster(members=members, guarded=(crowd,))
    guarded = []
    for first, second in combinations(firsts, 2):
        reason = differ.guard(first_of[first], first_of[second])
        if reason:
            guarded.append((first, second, reason))
    return Cluster(members=members, guarded=tuple(guarded))


def _subject(claim: Claim) -> frozenset[str]:
    """What a claim is about: its content terms without numbers, without words that have
    an opposite, and without negating prefixes ("unsigned" is about what is signed)."""
    opposed = against("opposites")
    terms = _content(claim).difference(claim.numbers, opposed)
    return frozenset(map(differ.affirmed, terms))


def _masked(claim: Claim) -> tuple[object, ...]:
    """Everything in a claim but the values of its numbers; units, dates and issue
    numbers stay."""
    masks = {number: _masked_number(number) for number in claim.numbers}
    phrases = []
    for phrase in claim.phrases:
        terms = tuple(masks.get(term, term) for term in phrase.terms)
        phrases.append((phrase.governor, phrase.negated, terms))
    words = claim.words.difference(masks)
    return words, tuple(phrases), claim.paths, claim.flags, claim.names


def _masked_number(number: str) -> str:
    """The unit of a number alone; a date stays."""
    is_date = number.count("-") > 1
    if is_date:
        return number
    unit = "".join(letter for letter in number if letter.isalpha() or letter == "%")
    return f"# {unit}"


def _opposed(first: Claim, second: Claim) -> bool:
    """Whether two claims have the same literals and conditions, and exactly one of
    order, negation and antonym is reversed."""
    if not _is_same_case(first, second):
        return False
    is_polar = differ.opposing(first, second)
    negates = differ.denies(first, second) != differ.denies(second, first)
    has_negated = bool(differ.negated_terms(first))
    is_alike = has_negated == bool(differ.negated_terms(second))
    if is_polar and negates:
        return False
    if not is_polar and not negates:
        return is_alike and _turned(first, second)
    if is_polar and not is_alike:
        return False
    others = (differ.contrasted, differ.reordered, differ.word_for_word)
    return not any(differs(first, second) for differs in others)


def _is_same_case(first: Claim, second: Claim) -> bool:
    """Whether two claims name the same things under the same conditions."""
    if literals_of(first) != literals_of(second):
        return False
    if first.limits != second.limits:
        return False
    return _conditions(first) == _conditions(second)


def _conditions(claim: Claim) -> set[str]:
    governors = {phrase.governor for phrase in claim.phrases}
    return governors & WORDS["conditions"]


def _turned(first: Claim, second: Claim) -> bool:
    """Whether two terms have changed places around a word such as "before", "not" or
    "over"."""
    phrases = differ.differing_phrases(first, second)
    ours, theirs = map(differ.governed, phrases)
    directed = WORDS["directed"]
    for governors in differ.swaps(ours, theirs):
        named = governors - {""}
        if named and named <= directed:
            return not differ.word_for_word(first, second)
    return False


def contradictions(claims: Sequence[Claim]) -> list[tuple[int, int]]:
    """The contradicting pairs (i < j), sorted. Many values of one number are a
    series and make no pairs."""
    distinct = _by_claim(claims)
    opposed = set()
    pairs = chain(_other_numbers(distinct), _opposites(distinct))
    for first, second in pairs:
        place = distinct[first][0]
        other = distinct[second][0]
        opposed.add((min(place, other), max(place, other)))
    return sorted(opposed)


def _other_numbers(claims: Iterable[Claim]) -> Iterator[tuple[Claim, Claim]]:
    """The pairs that say the same with another number."""
    counted = (claim for claim in claims if claim.numbers)
    for group in grouped(counted, _masked).values():
        is_series = len(group) > _SERIES
        if not is_series and _subject(group[0]):
            for first, second in combinations(group, 2):
                if first.numbers != second.numbers:
                    yield first, second


def _opposites(claims: Iterable[Claim]) -> Iterator[tuple[Claim, Claim]]:
    """The pairs that say the opposite about the same."""
    for bucket in grouped(claims, literals_of).values():
        subjects = list(map(_subject, bucket))
        for number, other_number, _ in similar_pairs(subjects, _SAME_SUBJECT):
            first = bucket[number]
            second = bucket[other_number]
            if _opposed(first, second):
                yield first, second
