"""What keeps two claims apart although they are alike: every doubt says "different"."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise

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
    terms = ((each.terms, by) for each in phrases for by in range(1, reach + 1))
    return {pair for each, by in terms for pair in zip(each[by:], each, strict=False)}


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
    clauses: dict[int, dict[str, None]] = {}
    for phrase in a.phrases:
        clauses.setdefault(phrase.clause, {}).update(dict.fromkeys(phrase.terms))
    parts = (
        list(terms)[i : i + _LONG_CLAUSE]
        for terms in clauses.values()
        for i in range(0, len(terms), _LONG_CLAUSE)
    )
    return _by_first((term, mate) for part in parts for term in part for mate in part)


def _rebound(a: Claim, b: Claim) -> bool:
    """Two terms have exchanged the words they belong to: "connect 5 s, read 9 s"."""
    ours = _mates(a)
    theirs = _mates(b)
    changed = sorted(x for x in ours.keys() & theirs.keys() if ours[x] != theirs[x])
    if len(changed) > _LONG_CLAUSE:
        return True  # too much to compare in pairs: kept apart
    return any(
        (ours[x] - ours[y] - {x}) & (theirs[y] - theirs[x] - {y})
        and (ours[y] - ours[x] - {y}) & (theirs[x] - theirs[y] - {x})
        for x, y in combinations(changed, 2)
    )


def _exchanged(terms: Sequence[str], others: Sequence[str]) -> bool:
    """Two terms alone have changed places, over others: "tests of the parser use the
    importer"."""
    if len(terms) != len(others):
        return False
    moved = [i for i, (x, y) in enumerate(zip(terms, others, strict=True)) if x != y]
    ends = [(terms[i], others[i]) for i in moved]
    return len(moved) == 2 and ends[0] == ends[1][::-1] and moved[1] - moved[0] > 1


def _moved_across(a: Claim, b: Claim) -> bool:
    """Before in one what is after in the other: "before the deploy, never after it"."""
    mine, other = map(governed, differing_phrases(a, b))
    turned = {(term, _ACROSS[by]) for term, by in mine if by in _ACROSS}
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
    scopes = [
        phrase.terms
        for phrase in a.phrases
        if phrase.governor == "not" and phrase.terms
    ]
    light = WORDS["light"]  # a negation is about the first term that is no light verb
    heads = {
        next((term for term in terms if term not in light), terms[-1])
        for terms in scopes
    }
    return bool(heads and heads.intersection(content_terms(b)) - negated_terms(b))


def _negation(a: Claim, b: Claim) -> bool:
    first = any(p.negated for p in a.phrases)
    second = any(p.negated for p in b.phrases)
    if first != second or not first:
        return first != second
    ours = negated_terms(a)
    theirs = negated_terms(b)
    if denies(a, b) or denies(b, a):
        return True
    only_ours = (ours - theirs).intersection(content_terms(b))
    return bool(only_ours and (theirs - ours).intersection(content_terms(a)))


def _facing(
    ours: frozenset[str], theirs: frozenset[str], name: str
) -> set[tuple[str, str]]:
    """The pairs of one of ours and one of theirs in a group of "opposites" or
    "contrasts"."""
    none: frozenset[str] = frozenset()
    return {(x, y) for x in ours for y in against(name).get(x, none) & theirs}


def contrasted(a: Claim, b: Claim) -> bool:
    """Whether the two differ in words that mean something else (first, second)."""
    return bool(_facing(*only_in_one(a, b), "contrasts"))


def _prefixed(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """A word faces its own negation: valid, invalid; stateless, stateful."""
    negative = {prefix + x for x in ours if len(x) > 3 for prefix in WORDS["prefixes"]}
    bare = {x.removesuffix("less") for x in ours if x.endswith("less")}
    return bool(negative & theirs) or any(
        x.endswith("ful") and x.removesuffix("ful") in bare for x in theirs
    )


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
    ours, theirs = (
        {w for w in x - y if len(w) == 1 and w.isalpha()}
        for x, y in ((a.words, b.words), (b.words, a.words))
    )
    spoken = WORDS["transparent"] | WORDS["joiners"] | GOVERNORS.keys()
    return bool(ours and theirs) or any(
        "a" <= x <= "z" and x not in spoken for x in ours | theirs
    )


def _number(a: Claim, b: Claim) -> bool:
    """Other numbers, other magnitudes, or one word with other digits in it (sha1,
    sha256)."""
    ours, theirs = (
        {re.sub(r"\d", "", word) for word in words if re.search(r"\d", word)} - {""}
        for words in (
            (one.words - other.words).difference(*literals_of(one))
            for one, other in ((a, b), (b, a))
        )
    )
    scaled = (a.words ^ b.words) & WORDS["magnitudes"]
    return a.numbers != b.numbers or bool(scaled or ours & theirs)


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
    places = [i for i, term in enumerate(("", *terms, "")) if term not in own]
    return {
        (("", *terms)[i], (*terms, "")[j - 1]) for i, j in pairwise(places) if j - i > 1
    }


def _own_terms(a: Claim, b: Claim) -> list[set[str]]:
    ours = set(content_terms(a))
    theirs = set(content_terms(b))
    ours, theirs = ours - theirs, theirs - ours
    opposed = _facing(frozenset(ours), frozenset(theirs), "opposites")
    mine = _without_kin(ours, theirs) - {x for x, _ in opposed}
    other = _without_kin(theirs, ours) - {y for _, y in opposed}
    # without the pairs of characters that close a gap where the other text has more
    return [
        {
            term
            for term in one
            if term < _FIRST_UNSPACED or not set("".join(two)).issuperset(term)
        }
        for one, two in ((mine, other), (other, mine))
    ]


def _replaced(
    a: Sequence[str], b: Sequence[str], ours: set[str], theirs: set[str]
) -> bool:
    """Whether `ours` stand in `a` where `theirs` stand in `b`, or where `b` repeats a
    word."""
    slots = _slots(a, ours)
    others = _slots(b, theirs)
    if ours and theirs:
        joined = "".join(x for x in a if x in ours) == "".join(
            x for x in b if x in theirs
        )
        befores = {x for x, _ in others} - {""}
        afters = {y for _, y in others} - {""}
        shared = slots & others or any(x in befores or y in afters for x, y in slots)
        return not joined and bool(shared)
    if any(term >= _FIRST_UNSPACED for term in ours | theirs):
        return False
    around = set(zip(b, b[2:], strict=False))
    about = set(zip(a, a[2:], strict=False))
    return bool(slots & around or others & about)


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
    weights = (  # two characters without spaces are half a word
        sum(1.0 if term < _FIRST_UNSPACED else 0.5 for term in set(each))
        for each in (terms, others)
    )
    return min(weights) < 24 or bool(ours & a.proper and theirs & b.proper)


_PAIRS = (("before", "after"), ("from", "to"), ("over", "under"))
_ACROSS = dict(_PAIRS) | {right: left for left, right in _PAIRS}
_FIRST_UNSPACED = "\u0e00"
_GUARDS: tuple[tuple[str, Callable[[Claim, Claim], bool]], ...] = (
    ("order", reordered),
    ("negation", _negation),
    ("antonym", lambda a, b: opposing(a, b) or contrasted(a, b)),
    ("number", _number),
    ("letter", _letter),
    ("path", lambda a, b: a.paths != b.paths),
    ("flag", lambda a, b: a.flags != b.flags),
    (
        "code",
        lambda a, b: a.names != b.names or bool(a.code - b.spoken or b.code - a.spoken),
    ),
    ("exception", lambda a, b: a.limits != b.limits),
    ("word", word_for_word),
    ("order", _moved_across),
)
