"""A text as tokens (words, paths, flags, numbers in base units, code, marks); tables of
words."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache, partial
from typing import NamedTuple

from memcli.text.matching import pattern as named
from memcli.text.matching import stanzas

_TABLES = stanzas("similarity/claim_words.txt")
_GROUPS = {
    name: [part.split() for part in text.split("|")] for name, text in _TABLES.items()
}
WORDS = {name: frozenset(text.split()) for name, text in _TABLES.items()}
"""The words that mean nothing, negate, join, end what a negation covers, and so on, by
name."""
GOVERNORS = {word: group[0] for group in _GROUPS["governing"] for word in group}
_COUNTS = {
    word: str(count) for count, word in enumerate(_TABLES["numerals"].split(), 2)
}
_UNITS = {
    unit: (dimension.strip("-"), float(factor))
    for dimension, factor, *units in _GROUPS["units"]
    for unit in units
}


def _stem(word: str) -> str:
    """The word without English inflection: a lighter Porter step 1 (run and running are
    equal)."""
    if not word.isascii() or len(word) < 4 or word in WORDS["not plurals"]:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and word[-2] not in "sui":
        word = word[:-1]
    for suffix, least in (("ing", 6), ("ed", 5), ("ly", 6)):
        if word.endswith(suffix) and len(word) >= least:
            word = word[: -len(suffix)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


EQUIVALENTS = {word: group[0] for group in _GROUPS["equivalents"] for word in group}
"""The one name of what the trade has two for: in prose, never in code."""
_PHRASES = {" ".join(words): short for short, _, *words in _GROUPS["phrases"]}


_SYNONYMS = {
    _stem(word): _stem(group[0]) for group in _GROUPS["synonyms"] for word in group
}


@lru_cache(maxsize=1 << 16)
def canonical(word: str) -> str:
    """The word's stem, or the first of its synonyms."""
    stem = _stem(EQUIVALENTS.get(word, word))
    return _SYNONYMS.get(stem, stem)


@cache
def against(name: str) -> dict[str, frozenset[str]]:
    """For each term the others of its groups, of "opposites" (cannot both hold) or
    "contrasts"."""
    table: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for group in _GROUPS[name]:
        terms = set(map(canonical, group))
        for term in terms:
            table[term] |= terms - {term}
    return dict(table)


class Token(NamedTuple):
    """A word, number, path, flag, name, run without blanks, or mark of a text."""

    kind: str
    text: str
    code: bool = False
    proper: bool = False


pattern = partial(named, "similarity/tokens")


def _spell_out(match: re.Match[str]) -> str:
    head = (match[1] or match[2] or "").casefold()
    return (
        {"ca": "can", "wo": "will", "sha": "shall"}.get(head, head) + " not"
        if head
        else ""
    )


def _plain(text: str) -> str:
    if not text.isascii():
        import unicodedata  # a shared library that English text need not load

        text = unicodedata.normalize("NFKC", text)
    text = text.replace("\r\n", "\n").replace("\u2019", "'")
    text = pattern("heading").sub("\n\n\\1\n\n", text)
    text = pattern("bullet").sub(
        lambda m: f"\n\n\0{m['step']} " if m["step"] else "\n\n", text
    )
    text = pattern("emphasis").sub(r"\2", text)
    text = pattern("phrase").sub(
        lambda m: _PHRASES[m[0].casefold().replace("-", " ")], text
    )
    text = pattern("numeral").sub(lambda m: _COUNTS[m[0].casefold()], text)
    return (
        pattern("short").sub(_spell_out, text) if "n" in text or "'" in text else text
    )


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of a body in order; code spans differ from prose only by their
    mark."""
    start = 0
    plain = _plain(text)
    for begin, end, code in (*_code_spans(plain), (len(plain), len(plain), "")):
        yield from _scan(plain[start:begin], code=False, fresh=start == 0)
        yield from _scan(code, code=True, fresh=False)
        start = end


def _code_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Where code stands and what it is; a fence that nothing closes is prose, looked at
    once."""
    closes = [(match.start(), match.end()) for match in pattern("fence").finditer(text)]
    wanted = pattern("code")
    at = 0
    while match := wanted.search(text, at):
        at = match.end()
        if match.lastgroup != "fence":
            yield match.start(), at, match["code"]
            continue
        next_close = bisect_right(closes, (at, 0))
        if next_close < len(closes):
            start, end = closes[next_close]
            yield match.start(), end, text[at:start]
            at = end
        else:
            wanted = pattern("span")
            at = match.start()


def _scan(text: str, *, code: bool, fresh: bool) -> Iterator[Token]:
    for match in pattern("token").finditer(text):
        kind = match.lastgroup or ""
        raw = match[0]
        if kind in ("call", "plain", "word"):
            yield _word(raw, code=code, proper=not fresh and raw[0].isupper())
        elif kind in ("url", "path"):
            yield from _path(raw, code=code)
        elif kind in ("comma", "stop"):
            yield Token(
                "comma" if kind == "comma" and not code else "gap" if code else "stop",
                raw,
            )
        elif kind == "number":
            yield Token(kind, _measure(raw), code)
        else:
            signs = {"≤": "<=", "≥": ">=", "≠": "!="}
            name = kind in ("operator", "issue")
            yield Token("name" if name else kind, signs.get(raw, raw), code)
        fresh = kind == "stop"


@lru_cache(maxsize=16_384)
def _word(raw: str, *, code: bool, proper: bool) -> Token:
    word = raw.removesuffix("()").strip("_")
    camel = word[:1].islower() and not word.islower() and word.isascii()
    if "_" in word or raw.endswith("()") or camel:
        return Token("name", word, code)
    folded = word.casefold()
    if folded[:1] == "v" and folded[1:].isdecimal():
        return Token("number", folded[1:], code)
    return Token(kind="word", text=folded, code=code, proper=proper)


def _path(raw: str, *, code: bool) -> Iterator[Token]:
    path = raw.rstrip(".,;:!?/").removeprefix("./")
    folded = path.casefold()
    if not path or folded in WORDS["abbreviations"]:
        return
    if folded in WORDS["slashed"] or (
        path.isupper() and path.replace("/", "").isalpha()
    ):
        yield from (
            _word(part, code=code, proper=True) for part in path.split("/") if part
        )
    elif folded[0] == "v" and folded[1:2].isdecimal():
        yield Token("number", folded[1:], code)
    else:
        yield Token("path", path if "/" in path else folded, code)


def _measure(raw: str) -> str:
    """A number in base units: "2 min" and "120s" are "120 s"; what has no such reading
    stays."""
    match = pattern("count").match(raw.casefold())
    if match is None:
        return raw.casefold()
    digits = match[1].replace(",", "").replace("_", "")
    unit = match[2] or ""
    if unit not in _UNITS:
        return digits + unit
    dimension, factor = _UNITS[unit]
    return f"{float(digits) * factor:.12g} {dimension}".rstrip()


def pairs_of(run: str) -> list[str]:
    """The pairs of characters of a run without blanks."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]
