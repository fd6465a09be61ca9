"""What one text asserts, as the words and values that are compared: `claim`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from memcli.similarity.claim_words import (
    ABBREVIATIONS,
    COUNTS,
    GOVERNORS,
    JOINERS,
    LIGHT,
    LIMITS,
    NOT_ADVERBS,
    NOT_NEGATED,
    PARTICLES,
    REFUSALS,
    RESUME,
    SCOPE_ENDS,
    SLASHED,
    STICKY,
    TRAILING,
    TRANSPARENT,
    UNITS,
    canonical,
)


class Phrase(NamedTuple):
    """Content terms between two function words or punctuation marks.

    `governor` is the preposition, conjunction or "not" that opens it ("" for a main clause).
    """

    clause: int
    governor: str
    negated: bool
    terms: tuple[str, ...]


class Claim(NamedTuple):
    """What one body asserts: its words for Jaccard, the rest for the guard.

    `numbers`, `paths`, `flags` and `names` (identifiers, operators) must be equal in duplicates;
    `code` holds the plain words of code spans, `proper` the terms with a capital inside a sentence.
    """

    words: frozenset[str]
    phrases: tuple[Phrase, ...]
    numbers: frozenset[str]
    paths: frozenset[str]
    flags: frozenset[str]
    names: frozenset[str]
    code: frozenset[str]
    proper: frozenset[str]
    limits: frozenset[str]


class _Token(NamedTuple):
    kind: str
    text: str
    code: bool = False
    proper: bool = False


# -- text to tokens -----------------------------------------------------------------------------

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0f00-\u0fff"


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Compiled on first use: importing this module must cost nothing."""
    token = rf"""
      (?P<plain>(?<!\S)[a-z]++(?=[\s,]))  # what most words are: known before all else is tried
    | (?P<url>https?://[^\s<>`"')\]]+)
    | (?P<date>\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?)
    | (?P<step>\0\d+)
    | (?P<flag>(?<![\w-])--?[A-Za-z][\w-]*)
    | (?P<issue>\#\d+\b)
    | (?P<path>[A-Za-z]:\\[\w\\.-]+
        | (?<![\w@$*.{{}}+~-])[\w@$*.{{}}+~-]*(?:/[\w@$*.{{}}\[\]+-]*)+
        | (?<![\w*])\*+\.[\w*{{}},-]+
        | (?<![\w.])\.[A-Za-z][\w.-]*
        | (?<![\w.-])[A-Za-z_][\w-]*(?:\.[A-Za-z0-9_*][\w*-]*)+)
    | (?P<number>(?<![^\s(\[=:,<>`"'])-?(?=\d)(?:\d[\d_]*(?:[.,:]\d+)*)(?:\.x\b)?
        (?:-?(?:rc|alpha|beta|dev|post)\.?\d*)?
        (?:\ ?(?:ms|msecs?|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?
            |percent|[kKMGT]i?[bB]|[Bb]ytes?)(?![^\W_])|\ ?%|\w*)
        | \d\w*(?:[.,:]\d+)*)
    | (?P<operator>[=!<>]=|&&|\|\||(?<=\s)[<>](?=\ ?\d)|[≤≥≠])
    | (?P<run>[{_UNSPACED}]+)
    | (?P<word>(?:(?![{_UNSPACED}])[\w{_MARKS}])+(?P<call>\(\))?)
    | (?P<comma>[,，、])
    | (?P<stop>[.;:!?()。；：！？—–…]|\n\s*\n|\s-\s)
    """
    span = r"(?<!`)(?P<ticks>`{1,3})(?!`)(?P<code>.{1,400}?)(?<!`)(?P=ticks)(?!`)"
    return {
        "token": re.compile(token, re.VERBOSE),
        "heading": re.compile(
            r"^[ \t]{0,3}#{1,6}[ \t]+(?:\[?\d{4}-\d\d-\d\d[^\]\s]*\]?[ \t:–—-]*)?(.*)$",
            re.MULTILINE,
        ),
        "bullet": re.compile(
            r"^[ \t>]*(?:(?:[-*+]|(?P<step>\d{1,2})[.)])[ \t]+|>[ \t]*|(?=\[\d{4}))"
            r"(?:\[\d{4}-\d\d-\d\d[^\]\s]*\][ \t:–—-]*)?",
            re.MULTILINE,
        ),
        "code": re.compile(
            rf"(?P<fence>^[ \t]*(?:```|~~~)[^\n]*$)|{span}", re.DOTALL | re.MULTILINE
        ),
        "span": re.compile(span, re.DOTALL),
        "fence": re.compile(r"^[ \t]*(?:```|~~~)[ \t]*$", re.MULTILINE),
        "emphasis": re.compile(r"(?<![\w*/])(\*{1,3})(?=[^\s*/.])([^*\n]+?)(?<=\S)\1(?![\w*/])"),
        "numeral": re.compile(rf"\b(?:{'|'.join(COUNTS)})\b", re.IGNORECASE),
        "short": re.compile(r"\b(\w+?)n't\b|\b(can)not\b|'(?:s|re|ve|ll|d|m)\b", re.IGNORECASE),
        "unspaced": re.compile(
            r"(?P<idiom>不同|不仅|不但|不断|不过|不管|不论|无论|非常|特别|别的|未来|没错|区别|级别|类别|识别|个别|分别|是否)"
            r"|(?P<negator>不要|不得|不能|不可|不应|禁止|切勿|请勿|避免|没有|不|勿|别|没|未|无|莫|ません|ない|避け|ไม่|อย่า|ห้าม)"
        ),
        "count": re.compile(r"^(-?\d[\d_]*(?:,\d{3})*(?:\.\d+)?) ?([^\W\d_]+|%)?$"),
    }


def _spell_out(match: re.Match[str]) -> str:
    head = (match[1] or match[2] or "").casefold()
    return {"ca": "can", "wo": "will", "sha": "shall"}.get(head, head) + " not" if head else ""


def _plain(text: str) -> str:
    """The text without heading marks and dates, bullets, emphasis and contractions."""
    if not text.isascii():
        import unicodedata  # a shared library that English text need not load

        text = unicodedata.normalize("NFKC", text)
    patterns = _patterns()
    text = text.replace("\r\n", "\n").replace("\u2019", "'")
    text = patterns["heading"].sub("\n\n\\1\n\n", text)
    text = patterns["bullet"].sub(lambda m: f"\n\n\0{m['step']} " if m["step"] else "\n\n", text)
    text = patterns["emphasis"].sub(r"\2", text)
    text = patterns["numeral"].sub(lambda m: COUNTS[m[0].casefold()], text)
    return patterns["short"].sub(_spell_out, text) if "n" in text or "'" in text else text


def _tokens(text: str) -> Iterator[_Token]:
    """The tokens of a body in order; code spans differ from prose only by their mark."""
    start, plain = 0, _plain(text)
    for begin, end, code in _code_spans(plain):
        yield from _scan(plain[start:begin], code=False, fresh=start == 0)
        yield from _scan(code, code=True, fresh=False)
        start = end
    yield from _scan(plain[start:], code=False, fresh=start == 0)


def _code_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Where code stands and what it is; a fence that nothing closes is prose, and is looked at
    once.
    """
    closes = [(match.start(), match.end()) for match in _patterns()["fence"].finditer(text)]
    pattern, at = _patterns()["code"], 0
    while match := pattern.search(text, at):
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
            pattern, at = _patterns()["span"], match.start()


def _scan(text: str, *, code: bool, fresh: bool) -> Iterator[_Token]:
    for match in _patterns()["token"].finditer(text):
        kind, raw = match.lastgroup or "", match[0]
        kind = "word" if kind in ("call", "plain") else kind
        if kind == "word":
            yield _word(raw, code=code, proper=not fresh and raw[0].isupper())
        elif kind in ("url", "path"):
            yield from _path(raw, code=code)
        elif kind in ("comma", "stop"):
            yield _Token(
                "comma" if kind == "comma" and not code else "gap" if code else "stop", raw
            )
        else:
            yield _literal(kind, raw, code=code)
        fresh = kind == "stop"


@lru_cache(maxsize=16_384)
def _word(raw: str, *, code: bool, proper: bool) -> _Token:
    word = raw.removesuffix("()").strip("_")
    if (
        "_" in word
        or raw.endswith("()")
        or (word[:1].islower() and not word.islower() and word.isascii())
    ):
        return _Token("name", word, code)
    folded = word.casefold()
    if folded[:1] == "v" and folded[1:].isdecimal():
        return _Token("number", folded[1:], code)
    return _Token("word", folded, code, proper)


def _path(raw: str, *, code: bool) -> Iterator[_Token]:
    path = raw.rstrip(".,;:!?/").removeprefix("./")
    folded = path.casefold()
    if not path or folded in ABBREVIATIONS:
        return
    if folded in SLASHED or (path.isupper() and path.replace("/", "").isalpha()):
        yield from (_word(part, code=code, proper=True) for part in path.split("/") if part)
    elif folded[0] == "v" and folded[1:2].isdecimal():
        yield _Token("number", folded[1:], code)
    else:
        yield _Token("path", path if "/" in path else folded, code)


def _literal(kind: str, raw: str, *, code: bool) -> _Token:
    if kind == "number":
        return _Token("number", _measure(raw), code)
    if kind == "operator":
        return _Token("name", {"≤": "<=", "≥": ">=", "≠": "!="}.get(raw, raw), code)
    if kind == "issue":
        return _Token("name", raw, code)
    return _Token(kind, raw, code)


def _measure(raw: str) -> str:
    """A number in base units: "2 min" and "120s" are both "120 s"; what has no such reading stays."""
    match = _patterns()["count"].match(raw.casefold())
    if match is None:
        return raw.casefold()
    digits, unit = match[1].replace(",", "").replace("_", ""), match[2] or ""
    if unit not in UNITS:
        return digits + unit
    dimension, factor = UNITS[unit]
    return f"{float(digits) * factor:.12g} {dimension}".rstrip()


def _bigrams(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


# -- tokens to phrases --------------------------------------------------------------------------


class _Phrases:
    """Collects phrases while the tokens of one body pass by."""

    def __init__(self) -> None:
        self.done: list[Phrase] = []
        self.clause = 0
        self.governor = ""
        self.negated = False
        self.terms: list[str] = []
        self.joined = ""
        self.head = ""
        self.trailing = False
        self.commas: set[int] = set()
        self.joins: set[int] = set()

    def add(self, term: str) -> None:
        """Append a content term; "and" followed by the negated verb again ends the negation."""
        if (
            self.joined
            and self.negated
            and not self.terms
            and (term == self.head or term in RESUME)
        ):
            self.governor, self.negated = "", False
        if self.negated and not self.head and term not in LIGHT:
            self.head = term
        self.joined = ""
        self.terms.append(term)

    def close(self) -> None:
        """End the phrase that is open, if it has terms."""
        if self.terms:
            self.done.append(Phrase(self.clause, self.governor, self.negated, tuple(self.terms)))
        self.terms = []

    def govern(self, governor: str) -> None:
        """Open a phrase under a preposition or conjunction; "not in", "instead of" stay what they
        are.
        """
        ends = governor in SCOPE_ENDS or (
            self.trailing and self.governor == "not" and not self.terms
        )
        if not ends and not self.terms and self.governor in STICKY:
            return
        if ends:
            self.settle()
        self.close()
        self.governor, self.negated = governor, self.negated and not ends

    def join(self, word: str) -> None:
        """Open a new clause under the same governor, as "and" and "or" do."""
        self.close()
        self.clause += 1
        self.joins.add(len(self.done))
        self.joined = word

    def negate(self, *, refusal: bool = False, trailing: bool = False) -> None:
        """Open a negated phrase; "never avoid", "not without" cancel out."""
        if refusal and self.negated and not self.terms and self.governor == "not":
            self.governor, self.negated = "", False
            return
        self.close()
        self.governor, self.negated, self.head, self.trailing = "not", True, "", trailing

    def settle(self) -> None:
        """A negation with nothing after it belongs to the phrase before it ("Verwende X nicht")."""
        if self.negated and self.governor == "not" and not self.terms:
            last = self.done[-1] if self.done else None
            if last is not None and last.clause == self.clause and not last.negated:
                self.done[-1] = last._replace(governor="not", negated=True)
            else:
                self.done.append(Phrase(self.clause, "not", True, ()))
            self.governor = ""

    def comma(self) -> None:
        self.stop()
        self.commas.add(len(self.done))

    def stop(self) -> None:
        self.settle()
        self.close()
        self.clause += 1
        self.governor, self.negated, self.joined, self.head, self.trailing = (
            "",
            False,
            "",
            "",
            False,
        )


def _phrases(tokens: Sequence[_Token]) -> tuple[Phrase, ...]:
    state = _Phrases()
    for i, token in enumerate(tokens):
        if token.kind == "word":
            following = tokens[i + 1].text if i + 1 < len(tokens) else ""
            previous = tokens[i - 1].text if i else ""
            _take(state, token, previous, following)
        elif token.kind == "run":
            _take_run(state, token.text)
        elif token.kind in ("stop", "comma"):
            state.stop() if token.kind == "stop" else state.comma()
        elif token.kind == "step":
            state.govern(token.text)
        elif token.kind != "gap":
            state.add(token.text)
    state.stop()
    return _lists(state)


def _take(state: _Phrases, token: _Token, previous: str, following: str) -> None:
    word = token.text
    if token.code or _is_content(word):
        state.add(canonical(word))
    elif _negates(word, previous, following):
        state.negate(refusal=word not in PARTICLES, trailing=word in TRAILING)
    elif word in JOINERS:
        state.join(word)
    elif word in GOVERNORS:
        state.govern(GOVERNORS[word])
    elif word in TRANSPARENT or _adverb(word) or (word == "make" and following == "sure"):
        if state.joined and word in RESUME:
            state.governor, state.negated = "", False
    else:
        state.add(canonical(word))


@lru_cache(maxsize=16_384)
def _is_content(word: str) -> bool:
    """Whether a word only ever adds a term: no particle, conjunction, preposition or adverb."""
    special = (PARTICLES, REFUSALS, JOINERS, GOVERNORS, TRANSPARENT, ("stop", "make"))
    return not any(word in group for group in special) and not _adverb(word)


def _adverb(word: str) -> bool:
    """An English manner adverb: its place in the sentence is free."""
    return len(word) > 6 and word.endswith("ly") and word not in NOT_ADVERBS


def _negates(word: str, previous: str, following: str) -> bool:
    if word == "stop":
        return following.endswith("ing")
    if word not in PARTICLES and word not in REFUSALS:
        return False
    return following not in NOT_NEGATED and previous not in ("or", "no")


def _take_run(state: _Phrases, run: str) -> None:
    start = 0
    for match in _patterns()["unspaced"].finditer(run):
        if match.lastgroup == "negator":
            for term in _bigrams(run[start : match.start()]) if match.start() > start else ():
                state.add(term)
            state.negate()
            start = match.end()
    for term in _bigrams(run[start:]) if start < len(run) else ():
        state.add(term)


def _lists(state: _Phrases) -> tuple[Phrase, ...]:
    """In "never commit A, B or C" the items after a comma stand under the governor of the first."""
    phrases = state.done
    for at in sorted(at for at in state.commas if 0 < at < len(phrases)):
        last = _list_end(phrases, at, state.commas)
        if last > at and last in state.joins:
            for i in range(at, min(last + 1, len(phrases))):
                phrases[i] = phrases[i]._replace(
                    governor=phrases[at - 1].governor, negated=phrases[at - 1].negated
                )
    return tuple(phrases)


def _list_end(phrases: Sequence[Phrase], at: int, commas: set[int]) -> int:
    """The first phrase from `at` on that is no item of the list which the phrase before `at` heads."""
    head, last = phrases[at - 1], at
    if not head.governor:
        return at
    known = LIGHT | RESUME | set(head.terms)
    while last in commas and last < len(phrases) and _is_item(phrases[last], known):
        last += 1
    return last


def _is_item(phrase: Phrase, known: set[str] | frozenset[str]) -> bool:
    fresh = phrase.terms[:1] and phrase.terms[0] not in known
    return bool(fresh and not phrase.governor and len(phrase.terms) <= 2)


def claim(text: str) -> Claim:
    """What `text` asserts. Heading marks, heading and bullet dates, bullets and emphasis do not
    count.
    """
    tokens = list(_tokens(text))
    plain = {token.text for token in tokens if token.kind == "word"}  # folded already
    words = set(plain)
    kinds: dict[str, set[str]] = {"word": plain}
    for token in tokens:
        if token.kind == "word":
            continue
        if token.kind == "run":
            words.update(_bigrams(token.text))
        elif token.kind not in ("stop", "comma", "gap", "step"):
            words.add(token.text.casefold())
        kinds.setdefault(token.kind, set()).add(token.text)
    found = {kind: frozenset(texts) for kind, texts in kinds.items()}
    none: frozenset[str] = frozenset()
    return Claim(
        words=frozenset(words),
        phrases=_phrases(tokens),
        numbers=found.get("number", none) | found.get("date", none),
        paths=found.get("path", none) | found.get("url", none),
        flags=found.get("flag", none),
        names=found.get("name", none),
        code=frozenset(token.text for token in tokens if token.code and token.kind == "word"),
        proper=frozenset(canonical(token.text) for token in tokens if token.proper),
        limits=_limits(found.get("word", none), found.get("run", none)),
    )


def _limits(words: frozenset[str], runs: frozenset[str]) -> frozenset[str]:
    """Which kinds of restriction ("only", "except") a text makes."""
    governors = {GOVERNORS[word] for word in words if word in GOVERNORS}
    marks = (("只", "only"), ("仅", "only"), ("除", "except"))
    unspaced = {limit for mark, limit in marks if any(mark in run for run in runs)}
    return frozenset(
        unspaced.union(LIMITS[governor] for governor in governors if governor in LIMITS)
    )


# -- many claims --------------------------------------------------------------------------------


def literals_of(a: Claim) -> tuple[frozenset[str], ...]:
    """What must be equal in near-duplicates: numbers, paths, flags and names."""
    return (a.numbers, a.paths, a.flags, a.names)


def content_terms(a: Claim) -> list[str]:
    """The terms of all phrases, in the order of the text."""
    return [term for phrase in a.phrases for term in phrase.terms]


def by_claim(claims: Sequence[Claim]) -> dict[Claim, list[int]]:
    """The different claims that have words, each with the places where it stands."""
    indices: dict[Claim, list[int]] = {}
    for i, a in enumerate(claims):
        if a.words:
            indices.setdefault(a, []).append(i)
    return indices


def grouped_by(claims: Iterable[Claim], key: Callable[[Claim], object]) -> Iterable[list[Claim]]:
    """The claims of each value of `key`, in the order they came in."""
    groups: dict[object, list[Claim]] = {}
    for a in claims:
        groups.setdefault(key(a), []).append(a)
    return groups.values()
