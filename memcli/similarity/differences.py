"""What keeps two similar claims apart: any doubt means that they differ."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from functools import lru_cache
from itertools import chain, combinations, pairwise, product

from memcli.similarity.claims import Claim, Phrase, claim, content_terms, literals_of
from memcli.similarity.tokens import GOVERNORS, WORDS, against, canonical

Pairs = set[tuple[str, str]]

_LONG_CLAUSE = 64
"""The most terms of one clause that are compared in pairs; no sentence that a person
writes has more."""


def guard(first: Claim, second: Claim) -> str | None:
    """The reason why two similar claims are different ("order", "negation", …), or
    None."""
    if first == second:
        return None
    for reason, fires in _GUARDS:
        if fires(first, second):
            return reason
    return None


def only_in_one(first: Claim, second: Claim) -> tuple[frozenset[str], frozenset[str]]:
    """The terms that only the first uses, and those that only the second uses;
    inflection and synonyms do not count."""
    ours = frozenset(map(canonical, first.words - second.words))
    theirs = frozenset(map(canonical, second.words - first.words))
    return ours - theirs, theirs - ours


def differing_phrases(first: Claim, second: Claim) -> list[list[Phrase]]:
    """The phrases that only the first has, and those that only the second has, wherever
    they stand."""
    return [_phrases_missing(first, second), _phrases_missing(second, first)]


def _phrases_missing(first: Claim, second: Claim) -> list[Phrase]:
    """The phrases of the first that the second does not have."""
    known = {phrase.said for phrase in second.phrases}
    return [phrase for phrase in first.phrases if phrase.said not in known]


def _by_first(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    groups = defaultdict(set)
    for key, value in pairs:
        groups[key].add(value)
    return {key: frozenset(values) for key, values in groups.items()}


def governed(phrases: Iterable[Phrase]) -> Pairs:
    """Each term of these phrases with its governor."""
    pairs = set()
    for phrase in phrases:
        pairs |= {(term, phrase.governor) for term in phrase.terms}
    return pairs


def _ordered(phrases: Iterable[Phrase], reach: int) -> Pairs:
    """The pairs (y, x) of terms in which y follows x in one phrase, at most `reach`
    places later."""
    pairs: Pairs = set()
    for phrase in phrases:
        for distance in range(1, reach + 1):
            pairs.update(zip(phrase.terms[distance:], phrase.terms, strict=False))
    return pairs


def swaps(ours: Pairs, theirs: Pairs) -> set[frozenset[str]]:
    """The values that two keys have exchanged: y has now what x had, and the other way
    round."""
    before = _by_first(ours - theirs)
    after = _by_first(theirs - ours)
    moved = {(before[key], after[key]) for key in before.keys() & after.keys()}
    return {values | others for values, others in moved if (others, values) in moved}


def _mates(claim: Claim) -> dict[str, frozenset[str]]:
    """For each term, the terms of its clauses, itself included. Long clauses are taken
    in parts."""
    clauses: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for phrase in claim.phrases:
        clauses[phrase.clause].update(dict.fromkeys(phrase.terms))
    mates: list[tuple[str, str]] = []
    for clause in clauses.values():
        terms = list(clause)
        for start in range(0, len(terms), _LONG_CLAUSE):
            end = start + _LONG_CLAUSE
            part = terms[start:end]
            mates += product(part, part)
    return _by_first(mates)


def _rebound(first: Claim, second: Claim) -> bool:
    """Whether two terms have exchanged the words they belong to: "connect 5 s, read 9
    s"."""
    ours = _mates(first)
    theirs = _mates(second)
    shared = ours.keys() & theirs.keys()
    changed = sorted(term for term in shared if ours[term] != theirs[term])
    if len(changed) > _LONG_CLAUSE:
        return True  # too much to compare in pairs: kept apart

    def gave(term: str, other: str) -> bool:
        """Whether a mate of the term alone is now one of the other alone."""
        had = ours[term] - ours[other] - {term}
        has = theirs[other] - theirs[term] - {other}
        return not had.isdisjoint(has)

    return any(
        gave(term, other) and gave(other, term)
        for term, other in combinations(changed, 2)
    )


def _exchanged(terms: Sequence[str], others: Sequence[str]) -> bool:
    """Whether just two terms, with others between them, have changed places: "tests of
    the parser use the importer"."""
    if len(terms) != len(others):
        return False
    places = range(len(terms))
    moved = [place for place in places if terms[place] != others[place]]
    if len(moved) != 2:
        return False
    first, second = moved
    is_over_others = second - first > 1
    were = (terms[first], terms[second])
    are = (others[first], others[second])
    return is_over_others and were == are[::-1]


def _moved_across(first: Claim, second: Claim) -> bool:
    """Whether something moved from before to after: "before the deploy, never after
    it"."""
    ours, theirs = map(governed, differing_phrases(first, second))
    for term, governor in ours:
        turned = (term, _TURNED.get(governor))
        both = {(term, governor), turned}
        if turned in theirs and not both <= ours & theirs:
            return True
    return False


def reordered(first: Claim, second: Claim) -> bool:
    """Whether another order, or other governors of the same terms, change the
    meaning."""
    ours, theirs = differing_phrases(first, second)
    if swaps(governed(ours), governed(theirs)):
        return True
    terms = content_terms(first)
    others = content_terms(second)
    shared = set(terms) & set(others)
    order = [term for term in terms if term in shared]
    other_order = [term for term in others if term in shared]
    if order == other_order:
        return False
    if swaps(_ordered(ours, 1), _ordered(theirs, 1)):
        return True
    if _exchanged(terms, others):
        return True
    return _turned(ours, theirs) or _rebound(first, second)


def _turned(ours: Iterable[Phrase], theirs: Iterable[Phrase]) -> bool:
    """Whether two terms that stand close together have changed their order."""
    our_order = _ordered(ours, 5)
    their_order = _ordered(theirs, 5)
    turned = {(second, first) for first, second in our_order - their_order}
    new = turned & (their_order - our_order)
    return any(first != second for first, second in new)


def negated_terms(claim: Claim) -> set[str]:
    """The terms of all negated phrases."""
    terms: set[str] = set()
    for phrase in claim.phrases:
        if phrase.negated:
            terms.update(phrase.terms)
    return terms


def denies(first: Claim, second: Claim) -> bool:
    """Whether the first negates something that the second asserts."""
    asserted = set(content_terms(second)) - negated_terms(second)
    light = WORDS["light"]
    for phrase in first.phrases:
        if phrase.governor == "not" and phrase.terms:
            # A negation is about the first term that is no light verb.
            heavy = (term for term in phrase.terms if term not in light)
            denied = next(heavy, phrase.terms[-1])
            if denied in asserted:
                return True
    return False


def deny_each_other(text: str, other: str) -> bool:
    """Whether one of two texts negates something that the other asserts."""
    first = claim(text)
    second = claim(other)
    return denies(first, second) or denies(second, first)


def _negation(first: Claim, second: Claim) -> bool:
    if _has_negation(first) != _has_negation(second):
        return True
    if denies(first, second) or denies(second, first):
        return True
    ours = negated_terms(first)
    theirs = negated_terms(second)
    only_ours = ours - theirs
    only_theirs = theirs - ours
    if only_ours.isdisjoint(content_terms(second)):
        return False
    return not only_theirs.isdisjoint(content_terms(first))


def _has_negation(claim: Claim) -> bool:
    return any(phrase.negated for phrase in claim.phrases)


def _facing(ours: Set[str], theirs: Set[str], name: str) -> Pairs:
    """The pairs of one of ours and one of theirs in a group of "opposites" or
    "contrasts"."""
    table = against(name)
    pairs = set()
    for term in table.keys() & ours:
        faced = table[term] & theirs
        pairs |= {(term, other) for other in faced}
    return pairs


def contrasted(first: Claim, second: Claim) -> bool:
    """Whether the two differ in words that contrast (first, second)."""
    ours, theirs = only_in_one(first, second)
    return bool(_facing(ours, theirs, "contrasts"))


def _antonym(first: Claim, second: Claim) -> bool:
    return opposing(first, second) or contrasted(first, second)


def _code(first: Claim, second: Claim) -> bool:
    """Whether the names differ, or one has code that the other does not even say in
    words."""
    if first.names != second.names:
        return True
    is_said = first.code <= second.spoken and second.code <= first.spoken
    return not is_said


def _polar(ours: Set[str], theirs: Set[str]) -> Pairs:
    """The pairs of one of ours and one of theirs that cannot both hold: opposites of
    the table, and a word with its own negation (valid, invalid)."""
    pairs = _facing(ours, theirs, "opposites")
    for prefix, term in product(WORDS["prefixes"], (*ours, *theirs)):
        faced = prefix + term
        if len(term) > 3 and (faced in ours or faced in theirs):
            pairs |= {(term, faced), (faced, term)}
    return {(term, other) for term, other in pairs if term in ours and other in theirs}


@lru_cache(maxsize=1 << 16)
def affirmed(term: str) -> str:
    """A term without a prefix that may negate it; the result serves to compare terms
    and may be no word."""
    for prefix in sorted(WORDS["prefixes"], key=len, reverse=True):
        if term.startswith(prefix) and len(term) > len(prefix) + 3:
            return term.removeprefix(prefix)
    return term


def _turned_round(first: Claim, second: Claim) -> bool:
    """Whether "A before B" meets "B after A", which say the same: what `before`
    governs, `after` does not."""
    before = _governed_by("before", first)
    after = _governed_by("after", second)
    return bool(before and after) and not before & after


def _governed_by(governor: str, claim: Claim) -> set[str]:
    phrases = [phrase for phrase in claim.phrases if phrase.governor == governor]
    return {term for term, _ in governed(phrases)}


def opposing(first: Claim, second: Claim) -> bool:
    """Whether the two differ in words that cannot both hold (enable, disable)."""
    ours, theirs = only_in_one(first, second)
    pairs = _polar(ours, theirs)
    if _turned_round(first, second) or _turned_round(second, first):
        before = canonical("before")
        pairs -= {(before, "after"), ("after", before)}
    return bool(pairs)


def _letter(first: Claim, second: Claim) -> bool:
    """Whether single letters differ: node a, node b. An additional article does not
    count."""
    differing = first.words ^ second.words
    letters = {word for word in differing if len(word) == 1 and word.isalpha()}
    spoken = WORDS["transparent"] | WORDS["joiners"] | GOVERNORS.keys()
    for letter in letters - spoken:
        if letter.isascii() and letter.islower():
            return True
    is_in_one = letters <= first.words or letters <= second.words
    return not is_in_one


def _number(first: Claim, second: Claim) -> bool:
    """Whether numbers or magnitudes differ, or the digits within a word (sha1,
    sha256)."""
    if first.numbers != second.numbers:
        return True
    differing = first.words ^ second.words
    if differing & WORDS["magnitudes"]:
        return True
    ours = _named_with_digits(first, second)
    return not ours.isdisjoint(_named_with_digits(second, first))


def _named_with_digits(first: Claim, second: Claim) -> set[str]:
    """The words with digits that only the first has, without their digits."""
    words = (first.words - second.words).difference(*literals_of(first))
    with_digits = (word for word in words if re.search(r"\d", word))
    without = {re.sub(r"\d", "", word) for word in with_digits}
    return without - {""}


def _without_kin(ours: set[str], theirs: set[str]) -> set[str]:
    """Our words without those of which theirs has one of the same family: configure,
    configuration."""
    beginnings = map(_beginnings, theirs)
    known = set(chain.from_iterable(beginnings))
    return {word for word in ours if known.isdisjoint(_beginnings(word))}


def _beginnings(word: str) -> list[str]:
    """The long beginnings of a word, the whole word included; none for a very long
    word."""
    if len(word) > 64:
        return []
    shortest = max(5, int(0.6 * len(word)) + 1)
    return [word[:size] for size in range(shortest, len(word) + 1)]


def _slots(terms: Sequence[str], only_here: set[str]) -> Pairs:
    """The neighbours (before, after) of each run of terms that are `only_here`; "" at
    the ends."""
    padded = ("", *terms, "")
    shared = [place for place, term in enumerate(padded) if term not in only_here]
    slots = set()
    for before, after in pairwise(shared):
        if after - before > 1:
            slots.add((padded[before], padded[after]))
    return slots


def _own_terms(first: Claim, second: Claim) -> tuple[set[str], set[str]]:
    """The terms that only the first has, and those that only the second has, without
    those of the same or the opposite meaning."""
    terms = set(content_terms(first))
    others = set(content_terms(second))
    ours = terms - others
    theirs = others - terms
    opposed = set(chain.from_iterable(_polar(ours, theirs)))
    if not opposed.issuperset(ours | theirs):
        # "Unsigned commits are rejected": what a word negates may be negated again.
        opposed = set(chain.from_iterable(_facing(ours, theirs, "opposites")))
    our_words = _without_kin(ours, theirs) - opposed
    their_words = _without_kin(theirs, ours) - opposed
    return (
        _without_joints(our_words, their_words),
        _without_joints(their_words, our_words),
    )


def _without_joints(ours: set[str], theirs: set[str]) -> set[str]:
    """Our terms without the pairs of characters that only close a gap where the other
    text has more."""
    known = set("".join(theirs))
    unspaced = filter(_is_unspaced, ours)
    joints = {term for term in unspaced if known.issuperset(term)}
    return ours - joints


def _is_unspaced(term: str) -> bool:
    """Whether a term is a pair of characters of a script without spaces."""
    return term >= "\u0e00"


def _replaced(
    terms: Sequence[str], others: Sequence[str], ours: set[str], theirs: set[str]
) -> bool:
    """Whether `ours` and `theirs` stand in the same place of their claims, or one
    stands where the other claim repeats a word."""
    our_slots = _slots(terms, ours)
    their_slots = _slots(others, theirs)
    if ours and theirs:
        is_one_text = _joined(terms, ours) == _joined(others, theirs)
        return not is_one_text and _share_a_side(our_slots, their_slots)
    if any(map(_is_unspaced, ours | theirs)):
        return False
    is_in_theirs = not our_slots.isdisjoint(zip(others, others[2:], strict=False))
    is_in_ours = not their_slots.isdisjoint(zip(terms, terms[2:], strict=False))
    return is_in_theirs or is_in_ours


def _joined(terms: Sequence[str], wanted: set[str]) -> str:
    return "".join(filter(wanted.__contains__, terms))


def _share_a_side(slots: Pairs, others: Pairs) -> bool:
    """Whether two slots have the same neighbour before or after them."""
    befores = {before for before, _ in others} - {""}
    afters = {after for _, after in others} - {""}
    for before, after in slots:
        if before in befores or after in afters:
            return True
    return not slots.isdisjoint(others)


def word_for_word(first: Claim, second: Claim) -> bool:
    """Whether different words stand in the same place: "billing worker", "search
    worker"."""
    ours, theirs = _own_terms(first, second)
    if not ours and not theirs:
        return False
    terms = content_terms(first)
    others = content_terms(second)
    if not _replaced(terms, others, ours, theirs):
        return False
    weight = min(_weight(terms), _weight(others))
    if weight < _LONG_TEXT:
        return True
    our_names = ours & first.proper
    their_names = theirs & second.proper
    return bool(our_names and their_names)


def _weight(terms: Iterable[str]) -> float:
    """The number of words; a pair of characters without spaces counts as half a
    word."""
    return sum(0.5 if _is_unspaced(term) else 1.0 for term in set(terms))


_LONG_TEXT = 24
"""In a text of so many words, another word may be chance, but another name is not."""
_TURNED = {
    "before": "after",
    "after": "before",
    "from": "to",
    "to": "from",
    "over": "under",
    "under": "over",
}

_GUARDS: tuple[tuple[str, Callable[[Claim, Claim], bool]], ...] = (
    ("order", reordered),
    ("negation", _negation),
    ("antonym", _antonym),
    ("number", _number),
    ("letter", _letter),
    ("path", lambda first, second: first.paths != second.paths),
    ("flag", lambda first, second: first.flags != second.flags),
    ("code", _code),
    ("exception", lambda first, second: first.limits != second.limits),
    ("word", word_for_word),
    ("order", _moved_across),
)
