"""What keeps two claims apart although they are alike: every doubt says "different"."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise, product

from memcli.similarity.claims import Claim, Phrase, content_terms, literals_of
from memcli.similarity.tokens import GOVERNORS, WORDS, against, canonical

_LONG_CLAUSE = 64
"""How many terms of one clause are compared in pairs; no sentence of a person has
more."""


def guard(a: Claim, b: Claim) -> str | None:
    """Why the two are different claims although alike ("order", "negation", …), or
    None."""
    if a == b:
        return None
    return next((reason for reason, fires in _GUARDS if fires(a, b)), None)


def only_in_one(a: Claim, b: Claim) -> tuple[frozenset[str], frozenset[str]]:
    """The terms that only the one and only the other uses, inflection and synonyms put
    aside."""
    ours = frozenset(map(canonical, a.words - b.words))
    theirs = frozenset(map(canonical, b.words - a.words))
    return ours - theirs, theirs - ours


def differing_phrases(a: Claim, b: Claim) -> list[list[Phrase]]:
    """The phrases that only the one and only the other has, wherever they stand."""
    return [_phrases_missing(a, b), _phrases_missing(b, a)]


def _phrases_missing(a: Claim, b: Claim) -> list[Phrase]:
    """The phrases of `a` that `b` does not have."""
    known = {phrase.said for phrase in b.phrases}
    return [phrase for phrase in a.phrases if phrase.said not in known]


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
    return {x | y for x, y in moved if (y, x) in moved}


def _mates(a: Claim) -> dict[str, frozenset[str]]:
    """For each term the terms of its clauses, itself among them; of long ones a part at
    a time."""
    clauses: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for phrase in a.phrases:
        clauses[phrase.clause].update(dict.fromkeys(phrase.terms))
    pairs: list[tuple[str, str]] = []
    for terms in map(list, clauses.values()):
        for start in range(0, len(terms), _LONG_CLAUSE):
            part = terms[start : start + _LONG_CLAUSE]
            pairs += product(part, part)
    return _by_first(pairs)


def _rebound(a: Claim, b: Claim) -> bool:
    """Two terms have exchanged the words they belong to: "connect 5 s, read 9 s"."""
    ours = _mates(a)
    theirs = _mates(b)
    changed = sorted(x for x in ours.keys() & theirs.keys() if ours[x] != theirs[x])
    if len(changed) > _LONG_CLAUSE:
        return True  # too much to compare in pairs: kept apart

    def gave(x: str, y: str) -> bool:
        """Whether a mate of x alone is now one of y alone."""
        return bool((ours[x] - ours[y] - {x}) & (theirs[y] - theirs[x] - {y}))

    return any(gave(x, y) and gave(y, x) for x, y in combinations(changed, 2))


def _exchanged(terms: Sequence[str], others: Sequence[str]) -> bool:
    """Two terms alone have changed places, over others: "tests of the parser use the
    importer"."""
    if len(terms) != len(others):
        return False
    pairs = enumerate(zip(terms, others, strict=True))
    moved = [(place, x, y) for place, (x, y) in pairs if x != y]
    if len(moved) != 2:
        return False
    (first, x, y), (second, *swapped) = moved
    return swapped == [y, x] and second - first > 1


def _moved_across(a: Claim, b: Claim) -> bool:
    """Before in one what is after in the other: "before the deploy, never after it"."""
    mine, other = map(governed, differing_phrases(a, b))
    turned = {(term, _TURNED[by]) for term, by in mine if by in _TURNED}
    return any(pair not in mine for pair in turned & other)


def reordered(a: Claim, b: Claim) -> bool:
    """Whether another order, or another governor of the same terms, changes what is
    said."""
    ours, theirs = differing_phrases(a, b)
    if swaps(governed(ours), governed(theirs)):
        return True
    terms = content_terms(a)
    others = content_terms(b)
    shared = set(terms) & set(others)
    if [x for x in terms if x in shared] == [x for x in others if x in shared]:
        return False
    if swaps(_ordered(ours, 1), _ordered(theirs, 1)) or _exchanged(terms, others):
        return True
    near = _ordered(ours, 5)
    other = _ordered(theirs, 5)
    turned = (x != y and (y, x) in other - near for x, y in near - other)
    return any(turned) or _rebound(a, b)


def negated_terms(a: Claim) -> set[str]:
    """The terms of all negated phrases."""
    return {term for phrase in a.phrases if phrase.negated for term in phrase.terms}


def denies(a: Claim, b: Claim) -> bool:
    """Whether `a` negates something that `b` asserts."""
    asserted = set(content_terms(b)) - negated_terms(b)
    for phrase in a.phrases:
        if phrase.governor == "not" and phrase.terms:
            # A negation is about the first term that is no light verb.
            heavy = (term for term in phrase.terms if term not in WORDS["light"])
            if next(heavy, phrase.terms[-1]) in asserted:
                return True
    return False


def _negation(a: Claim, b: Claim) -> bool:
    if _has_negation(a) != _has_negation(b):
        return True
    if denies(a, b) or denies(b, a):
        return True
    ours = negated_terms(a)
    theirs = negated_terms(b)
    only_ours = (ours - theirs).intersection(content_terms(b))
    return bool(only_ours and (theirs - ours).intersection(content_terms(a)))


def _has_negation(a: Claim) -> bool:
    return any(phrase.negated for phrase in a.phrases)


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


def contrasted(a: Claim, b: Claim) -> bool:
    """Whether the two differ in words that mean something else (first, second)."""
    return bool(_facing(*only_in_one(a, b), "contrasts"))


def _antonym(a: Claim, b: Claim) -> bool:
    return opposing(a, b) or contrasted(a, b)


def _code(a: Claim, b: Claim) -> bool:
    """Other names, or code of one that the other does not even say in words."""
    unsaid = a.code - b.spoken or b.code - a.spoken
    return a.names != b.names or bool(unsaid)


def _prefixed(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """A word faces its own negation: valid, invalid; stateless, stateful."""
    long = (term for term in ours if len(term) > 3)
    negative = {prefix + term for prefix, term in product(WORDS["prefixes"], long)}
    full = {re.sub(r"less\Z", "ful", term) for term in ours if term.endswith("less")}
    return not theirs.isdisjoint(negative | full)


def _turned_round(a: Claim, b: Claim) -> bool:
    """ "A before B" and "B after A" say the same: what `before` governs, `after` does
    not."""
    before = {term for term, by in governed(a.phrases) if by == "before"}
    after = {term for term, by in governed(b.phrases) if by == "after"}
    return bool(before and after) and not before & after


def opposing(a: Claim, b: Claim) -> bool:
    """Whether the two differ in words that cannot both hold (enable, disable)."""
    ours, theirs = only_in_one(a, b)
    pairs = _facing(ours, theirs, "opposites")
    if _turned_round(a, b) or _turned_round(b, a):
        pairs -= {(canonical("before"), "after"), ("after", canonical("before"))}
    return bool(pairs) or _prefixed(ours, theirs) or _prefixed(theirs, ours)


def _letter(a: Claim, b: Claim) -> bool:
    """Other single letters: node a, node b. One article more is none."""
    ours = _letters(a.words - b.words)
    theirs = _letters(b.words - a.words)
    spoken = WORDS["transparent"] | WORDS["joiners"] | GOVERNORS.keys()
    names = {letter for letter in ours | theirs if "a" <= letter <= "z"} - spoken
    return bool(names) or bool(ours and theirs)


def _letters(words: Iterable[str]) -> set[str]:
    return {word for word in words if len(word) == 1 and word.isalpha()}


def _number(a: Claim, b: Claim) -> bool:
    """Other numbers, other magnitudes, or one word with other digits in it (sha1,
    sha256)."""
    scaled = (a.words ^ b.words) & WORDS["magnitudes"]
    named = _named_with_digits(a, b) & _named_with_digits(b, a)
    return a.numbers != b.numbers or bool(scaled or named)


def _named_with_digits(a: Claim, b: Claim) -> set[str]:
    """The words of `a` alone that have digits in them, without these."""
    words = (a.words - b.words).difference(*literals_of(a))
    bare = {re.sub(r"\d", "", word) for word in words if re.search(r"\d", word)}
    return bare - {""}


def _without_kin(ours: set[str], theirs: set[str]) -> set[str]:
    """`ours` but for the words of whose family `theirs` has one: configure,
    configuration."""

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


def _own_terms(a: Claim, b: Claim) -> tuple[set[str], set[str]]:
    """The terms that only the one and only the other has, without what means the same
    or the opposite."""
    terms = set(content_terms(a))
    others = set(content_terms(b))
    ours = terms - others
    theirs = others - terms
    opposed = _facing(frozenset(ours), frozenset(theirs), "opposites")
    mine = _without_kin(ours, theirs) - {x for x, _ in opposed}
    other = _without_kin(theirs, ours) - {y for _, y in opposed}
    return _without_joints(mine, other), _without_joints(other, mine)


def _without_joints(ours: set[str], theirs: set[str]) -> set[str]:
    """Without the pairs of characters that close a gap where the other text has
    more."""
    known = set("".join(theirs))
    return {
        term for term in ours if term < _FIRST_UNSPACED or not known.issuperset(term)
    }


def _replaced(
    a: Sequence[str], b: Sequence[str], ours: set[str], theirs: set[str]
) -> bool:
    """Whether `ours` stand in `a` where `theirs` stand in `b`, or where `b` repeats a
    word."""
    slots = _slots(a, ours)
    others = _slots(b, theirs)
    if ours and theirs:
        is_one_text = _joined(a, ours) == _joined(b, theirs)
        return not is_one_text and _share_a_side(slots, others)
    if any(term >= _FIRST_UNSPACED for term in ours | theirs):
        return False
    around = set(zip(b, b[2:], strict=False))
    about = set(zip(a, a[2:], strict=False))
    return bool(slots & around or others & about)


def _joined(terms: Sequence[str], own: set[str]) -> str:
    return "".join(term for term in terms if term in own)


def _share_a_side(slots: set[tuple[str, str]], others: set[tuple[str, str]]) -> bool:
    """Whether two slots have the same neighbour before or after them."""
    befores = {before for before, _ in others} - {""}
    afters = {after for _, after in others} - {""}
    beside = any(before in befores or after in afters for before, after in slots)
    return beside or not slots.isdisjoint(others)


def word_for_word(a: Claim, b: Claim) -> bool:
    """Whether a word stands where the other has another ("billing worker", "search
    worker")."""
    ours, theirs = _own_terms(a, b)
    if not ours and not theirs:
        return False
    terms = content_terms(a)
    others = content_terms(b)
    if not _replaced(terms, others, ours, theirs):
        return False
    is_short = min(_weight(terms), _weight(others)) < _LONG_TEXT
    return is_short or bool(ours & a.proper and theirs & b.proper)


def _weight(terms: Iterable[str]) -> float:
    """How many words; two characters without spaces are half a one."""
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
    ("path", lambda a, b: a.paths != b.paths),
    ("flag", lambda a, b: a.flags != b.flags),
    ("code", _code),
    ("exception", lambda a, b: a.limits != b.limits),
    ("word", word_for_word),
    ("order", _moved_across),
)
