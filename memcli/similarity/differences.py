"""What keeps two similar claims apart: any doubt means that they differ."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise, product

from memcli.similarity.claims import Claim, Phrase, content_terms, literals_of
from memcli.similarity.tokens import GOVERNORS, WORDS, against, canonical

_LONG_CLAUSE = 64
"""How many terms of one clause are compared in pairs; no sentence of a person has
more."""


def guard(first: Claim, second: Claim) -> str | None:
    """The reason why two similar claims are different ("order", "negation", …), or
    None."""
    if first == second:
        return None
    return next((reason for reason, fires in _GUARDS if fires(first, second)), None)


def only_in_one(first: Claim, second: Claim) -> tuple[frozenset[str], frozenset[str]]:
    """The terms that only the first uses, and those that only the second uses;
    inflection and synonyms do not count."""
    ours = frozenset(map(canonical, first.words - second.words))
    theirs = frozenset(map(canonical, second.words - first.words))
    return ours - theirs, theirs - ours


def differing_phrases(first: Claim, second: Claim) -> list[list[Phrase]]:
    """The phrases that only the first has, and those that only the second has,
    wherever they stand."""
    return [_phrases_missing(first, second), _phrases_missing(second, first)]


def _phrases_missing(first: Claim, second: Claim) -> list[Phrase]:
    """The phrases of the first that the second does not have."""
    known = {phrase.said for phrase in second.phrases}
    return [phrase for phrase in first.phrases if phrase.said not in known]


def _by_first(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for key, value in pairs:
        groups[key].add(value)
    return {key: frozenset(values) for key, values in groups.items()}


def governed(phrases: Iterable[Phrase]) -> set[tuple[str, str]]:
    """Each term with the governor of its phrase."""
    return {(term, phrase.governor) for phrase in phrases for term in phrase.terms}


def _ordered(phrases: Iterable[Phrase], reach: int) -> set[tuple[str, str]]:
    """The terms (y, x) where y follows x, at most `reach` places on in one phrase."""
    pairs: set[tuple[str, str]] = set()
    for phrase in phrases:
        for distance in range(1, reach + 1):
            pairs.update(zip(phrase.terms[distance:], phrase.terms, strict=False))
    return pairs


def swaps(
    ours: set[tuple[str, str]], theirs: set[tuple[str, str]]
) -> set[frozenset[str]]:
    """The values that two keys have exchanged: what x had, y has now, and the other way
    round."""
    before = _by_first(ours - theirs)
    after = _by_first(theirs - ours)
    moved = {(before[key], after[key]) for key in before.keys() & after.keys()}
    return {term | other for term, other in moved if (other, term) in moved}


def _mates(claim: Claim) -> dict[str, frozenset[str]]:
    """For each term, the terms of its clauses, including itself. Long clauses are
    taken in parts."""
    clauses: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for phrase in claim.phrases:
        clauses[phrase.clause].update(dict.fromkeys(phrase.terms))
    pairs: list[tuple[str, str]] = []
    for terms in map(list, clauses.values()):
        for start in range(0, len(terms), _LONG_CLAUSE):
            part = terms[start : start + _LONG_CLAUSE]
            pairs += product(part, part)
    return _by_first(pairs)


def _rebound(first: Claim, second: Claim) -> bool:
    """Two terms have exchanged the words they belong to: "connect 5 s, read 9 s"."""
    ours = _mates(first)
    theirs = _mates(second)
    changed = sorted(
        term for term in ours.keys() & theirs.keys() if ours[term] != theirs[term]
    )
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
    """Two terms alone have changed places, over others: "tests of the parser use the
    importer"."""
    if len(terms) != len(others):
        return False
    pairs = list(zip(terms, others, strict=True))
    moved = [place for place, (term, other) in enumerate(pairs) if term != other]
    if len(moved) != 2:
        return False
    first, second = moved
    return pairs[first] == pairs[second][::-1] and second - first > 1


def _moved_across(first: Claim, second: Claim) -> bool:
    """Something stands before in one claim and after in the other: "before the
    deploy, never after it"."""
    mine, other = map(governed, differing_phrases(first, second))
    turned = {(term, _TURNED[by]) for term, by in mine if by in _TURNED}
    return any(pair not in mine for pair in turned & other)


def reordered(first: Claim, second: Claim) -> bool:
    """Whether another order, or another governor of the same terms, changes what is
    said."""
    ours, theirs = differing_phrases(first, second)
    if swaps(governed(ours), governed(theirs)):
        return True
    terms = content_terms(first)
    others = content_terms(second)
    shared = set(terms) & set(others)
    order = [term for term in terms if term in shared]
    if order == [term for term in others if term in shared]:
        return False
    if swaps(_ordered(ours, 1), _ordered(theirs, 1)) or _exchanged(terms, others):
        return True
    return _turned(ours, theirs) or _rebound(first, second)


def _turned(ours: Iterable[Phrase], theirs: Iterable[Phrase]) -> bool:
    """Whether two terms near to each other stand in the opposite order."""
    near = _ordered(ours, 5)
    other = _ordered(theirs, 5)
    gone = near - other
    new = other - near
    return any(first != second and (second, first) in new for first, second in gone)


def negated_terms(claim: Claim) -> set[str]:
    """The terms of all negated phrases."""
    return {term for phrase in claim.phrases if phrase.negated for term in phrase.terms}


def denies(first: Claim, second: Claim) -> bool:
    """Whether the first negates something that the second asserts."""
    asserted = set(content_terms(second)) - negated_terms(second)
    for phrase in first.phrases:
        if phrase.governor == "not" and phrase.terms:
            # A negation is about the first term that is no light verb.
            heavy = (term for term in phrase.terms if term not in WORDS["light"])
            if next(heavy, phrase.terms[-1]) in asserted:
                return True
    return False


def _negation(first: Claim, second: Claim) -> bool:
    if _has_negation(first) != _has_negation(second):
        return True
    if denies(first, second) or denies(second, first):
        return True
    ours = negated_terms(first)
    theirs = negated_terms(second)
    only_ours = (ours - theirs).intersection(content_terms(second))
    return bool(only_ours and (theirs - ours).intersection(content_terms(first)))


def _has_negation(claim: Claim) -> bool:
    return any(phrase.negated for phrase in claim.phrases)


def _facing(
    ours: frozenset[str], theirs: frozenset[str], name: str
) -> set[tuple[str, str]]:
    """The pairs of one of ours and one of theirs in a group of "opposites" or
    "contrasts"."""
    table = against(name)
    pairs: set[tuple[str, str]] = set()
    for term in ours & table.keys():
        pairs |= {(term, other) for other in table[term] & theirs}
    return pairs


def contrasted(first: Claim, second: Claim) -> bool:
    """Whether the two differ in words that mean something else (first, second)."""
    return bool(_facing(*only_in_one(first, second), "contrasts"))


def _antonym(first: Claim, second: Claim) -> bool:
    return opposing(first, second) or contrasted(first, second)


def _code(first: Claim, second: Claim) -> bool:
    """Different names, or code in one claim that the other does not even say in
    words."""
    unsaid = first.code - second.spoken or second.code - first.spoken
    return first.names != second.names or bool(unsaid)


def _prefixed(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """A word faces its own negation: valid, invalid; stateless, stateful."""
    long = (term for term in ours if len(term) > 3)
    negative = {prefix + term for prefix, term in product(WORDS["prefixes"], long)}
    full = {re.sub(r"less\Z", "ful", term) for term in ours if term.endswith("less")}
    return not theirs.isdisjoint(negative | full)


def _turned_round(first: Claim, second: Claim) -> bool:
    """ "A before B" and "B after A" say the same: what `before` governs, `after` does
    not."""
    before = {term for term, by in governed(first.phrases) if by == "before"}
    after = {term for term, by in governed(second.phrases) if by == "after"}
    return bool(before and after) and not before & after


def opposing(first: Claim, second: Claim) -> bool:
    """Whether the two differ in words that cannot both hold (enable, disable)."""
    ours, theirs = only_in_one(first, second)
    pairs = _facing(ours, theirs, "opposites")
    if _turned_round(first, second) or _turned_round(second, first):
        pairs -= {(canonical("before"), "after"), ("after", canonical("before"))}
    return bool(pairs) or _prefixed(ours, theirs) or _prefixed(theirs, ours)


def _letter(first: Claim, second: Claim) -> bool:
    """Different single letters: node a, node b. An additional article does not
    count."""
    ours = _letters(first.words - second.words)
    theirs = _letters(second.words - first.words)
    spoken = WORDS["transparent"] | WORDS["joiners"] | GOVERNORS.keys()
    names = {letter for letter in ours | theirs if "a" <= letter <= "z"} - spoken
    return bool(names) or bool(ours and theirs)


def _letters(words: Iterable[str]) -> set[str]:
    return {word for word in words if len(word) == 1 and word.isalpha()}


def _number(first: Claim, second: Claim) -> bool:
    """Different numbers or magnitudes, or one word with different digits in it
    (sha1, sha256)."""
    scaled = (first.words ^ second.words) & WORDS["magnitudes"]
    named = _named_with_digits(first, second) & _named_with_digits(second, first)
    return first.numbers != second.numbers or bool(scaled or named)


def _named_with_digits(first: Claim, second: Claim) -> set[str]:
    """The words with digits that only the first has, without their digits."""
    words = (first.words - second.words).difference(*literals_of(first))
    bare = {re.sub(r"\d", "", word) for word in words if re.search(r"\d", word)}
    return bare - {""}


def _without_kin(ours: set[str], theirs: set[str]) -> set[str]:
    """`ours` without the words of which `theirs` has one of the same family:
    configure, configuration."""

    def beginnings(word: str) -> list[str]:
        sizes = range(max(5, int(0.6 * len(word)) + 1), len(word) + 1)
        return [word[:size] for size in sizes if len(word) <= 64]

    known = {beginning for word in theirs for beginning in beginnings(word)}
    return {word for word in ours if known.isdisjoint(beginnings(word))}


def _slots(terms: Sequence[str], own: set[str]) -> set[tuple[str, str]]:
    """The neighbours (before, after) of each run of `own` terms; "" at the ends."""
    padded = ("", *terms, "")
    places = [place for place, term in enumerate(padded) if term not in own]
    return {
        (padded[before], padded[after])
        for before, after in pairwise(places)
        if after - before > 1
    }


def _own_terms(first: Claim, second: Claim) -> tuple[set[str], set[str]]:
    """The terms that only the first has, and those that only the second has, without
    those that mean the same or the opposite."""
    terms = set(content_terms(first))
    others = set(content_terms(second))
    ours = terms - others
    theirs = others - terms
    opposed = _facing(frozenset(ours), frozenset(theirs), "opposites")
    opposed_ours = {term for term, _ in opposed}
    opposed_theirs = {term for _, term in opposed}
    mine = _without_kin(ours, theirs) - opposed_ours
    other = _without_kin(theirs, ours) - opposed_theirs
    return _without_joints(mine, other), _without_joints(other, mine)


def _without_joints(ours: set[str], theirs: set[str]) -> set[str]:
    """Without the pairs of characters that close a gap where the other text has
    more."""
    known = set("".join(theirs))
    return {
        term for term in ours if term < _FIRST_UNSPACED or not known.issuperset(term)
    }


def _replaced(
    terms: Sequence[str], second: Sequence[str], ours: set[str], theirs: set[str]
) -> bool:
    """Whether `ours` and `theirs` stand in the same place of their claims, or where
    the other claim repeats a word."""
    slots = _slots(terms, ours)
    others = _slots(second, theirs)
    if ours and theirs:
        is_one_text = _joined(terms, ours) == _joined(second, theirs)
        return not is_one_text and _share_a_side(slots, others)
    if any(term >= _FIRST_UNSPACED for term in ours | theirs):
        return False
    around = set(zip(second, second[2:], strict=False))
    about = set(zip(terms, terms[2:], strict=False))
    return bool(slots & around or others & about)


def _joined(terms: Sequence[str], own: set[str]) -> str:
    return "".join(term for term in terms if term in own)


def _share_a_side(slots: set[tuple[str, str]], others: set[tuple[str, str]]) -> bool:
    """Whether two slots have the same neighbour before or after them."""
    befores = {before for before, _ in others} - {""}
    afters = {after for _, after in others} - {""}
    beside = any(before in befores or after in afters for before, after in slots)
    return beside or not slots.isdisjoint(others)


def word_for_word(first: Claim, second: Claim) -> bool:
    """Whether different words stand in the same place ("billing worker", "search
    worker")."""
    ours, theirs = _own_terms(first, second)
    if not ours and not theirs:
        return False
    terms = content_terms(first)
    others = content_terms(second)
    if not _replaced(terms, others, ours, theirs):
        return False
    is_short = min(_weight(terms), _weight(others)) < _LONG_TEXT
    return is_short or bool(ours & first.proper and theirs & second.proper)


def _weight(terms: Iterable[str]) -> float:
    """The number of words; a pair of characters without spaces counts as half a
    word."""
    return sum(1.0 if term < _FIRST_UNSPACED else 0.5 for term in set(terms))


_LONG_TEXT = 24
"""In a text of so many words another one may be chance, but not another name."""
_TURNED = {
    "before": "after",
    "after": "before",
    "from": "to",
    "to": "from",
    "over": "under",
    "under": "over",
}
_FIRST_UNSPACED = "\u0e00"
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
