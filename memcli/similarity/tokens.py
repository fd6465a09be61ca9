"""A text as tokens (words, paths, flags, numbers in base units, code, marks); tables of
words."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from memcli.memory.words import normalized
from memcli.text.matching import stanzas, verbose

_TABLES = stanzas("similarity/claim_words.txt")
_GROUPS = {
    name: [part.split() for part in text.split("|")] for name, text in _TABLES.items()
}
WORDS = {name: frozenset(text.split()) for name, text in _TABLES.items()}
"""The words that mean nothing, negate, join, end a negation, and so on, by the name of
their list."""
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
    equal). The stems of search are shorter and would merge what only sounds alike."""
    if not word.isascii() or len(word) < 4 or word in WORDS["not plurals"]:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and word[-2] not in "sui":
        word = word[:-1]
    word = _without_ending(word)
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _without_ending(word: str) -> str:
    """The word without -ing, -ed or -ly, and without the doubled letter before it."""
    for ending, shortest in (("ing", 6), ("ed", 5), ("ly", 6)):
        if word.endswith(ending) and len(word) >= shortest:
            bare = word.removesuffix(ending)
            is_doubled = bare[-1] == bare[-2] and bare[-1] not in "lsz"
            return bare[:-1] if is_doubled and len(bare) > 3 else bare
    return word


EQUIVALENTS = {word: group[0] for group in _GROUPS["equivalents"] for word in group}
"""One name for what the trade calls by two; in prose, never in code."""
_SHORTER = _COUNTS | {" ".join(words): short for short, _, *words in _GROUPS["phrases"]}
"""What stands for a phrase or numeral, by its words."""


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
    """For each term the others of its groups of "opposites" (which cannot both hold) or
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


# From how a text is written to what it means


@verbose(lines=True)
def _heading() -> str:
    """The mark and date of a heading; the group is its text."""
    return r"""
        ^ [ \t]{0,3} \#{1,6} [ \t]+
        (?: \[? \d{4}-\d\d-\d\d [^\]\s]* \]? [ \t:–—-]* )?
        (.*) $
    """


@verbose(lines=True)
def _bullet() -> str:
    return r"""
        ^ [ \t>]*
        (?: (?: [-*+] | (?P<step>\d{1,2}) [.)] ) [ \t]+   # a bullet, a numbered step
          | > [ \t]*                                      # a quotation
          | (?= \[\d{4} )                                 # a date in brackets
        )
        (?: \[ \d{4}-\d\d-\d\d [^\]\s]* \] [ \t:–—-]* )?
    """


@verbose
def _emphasis() -> str:
    return r"(?<![\w*/]) (\*{1,3}) (?=[^\s*/.]) ([^*\n]+?) (?<=\S) \1 (?![\w*/])"


@verbose
def _said_shorter() -> str:
    """The phrases of the table, their words joined by a blank or hyphen, and the
    numerals. The look-ahead is for speed: most words do not begin like one."""
    words = [name.replace(" ", "[ -]") for name in _SHORTER]
    letters = "".join(sorted({word[0] for word in words}))
    return rf"\b (?= [{letters}{letters.upper()}] ) (?i: {'|'.join(words)} ) \b"


@verbose(ignore_case=True)
def _short_form() -> str:
    """Contractions: don't, cannot, it's."""
    return r"\b (\w+?) n't \b | \b (can)not \b | ' (?: s | re | ve | ll | d | m ) \b"


@verbose(ignore_case=True)
def _free_of_it() -> str:
    """What a thing is free of: lock-free, side-effect free."""
    return r"""
        \b ( (?: \w+ - )* \w+ ) -free \b
      | \b ( \w+ (?: - \w+ )+ ) [ ] free \b (?! [ ] (?: of | from | to ) \b )
    """


def _spell_out(match: re.Match[str]) -> str:
    head = (match[1] or match[2] or "").casefold()
    verb = {"ca": "can", "wo": "will", "sha": "shall"}.get(head, head)
    return f"{verb} not" if verb else ""


def _begin_item(match: re.Match[str]) -> str:
    return f"\n\n\0{match['step']} " if match["step"] else "\n\n"


def _plain(text: str) -> str:
    """The text without typographic marks, and with one word for each thing."""
    if not text.isascii():
        text = normalized("NFKC", text)
    text = text.replace("\r\n", "\n").replace("\u2019", "'")
    if "#" in text:
        text = _heading().sub(r"\n\n\1\n\n", text)
    text = _bullet().sub(_begin_item, text)
    if "*" in text:
        text = _emphasis().sub(r"\2", text)
    if "free" in text:
        text = _free_of_it().sub(r"without \1\2", text)
    text = _said_shorter().sub(
        lambda matched: _SHORTER[matched[0].casefold().replace("-", " ")], text
    )
    has_short_form = "'" in text or "cannot" in text.lower()
    return _short_form().sub(_spell_out, text) if has_short_form else text


# Code and prose

_CODE_SPAN = r"""
    (?<!`) (?P<ticks>`{1,3}) (?!`) (?P<code>.{1,400}?) (?<!`) (?P=ticks) (?!`)
"""


@verbose(lines=True, dot_all=True)
def _code() -> str:
    return rf"(?P<fence> ^ [ \t]* (?: ``` | ~~~ ) [^\n]* $ ) | {_CODE_SPAN}"


@verbose(dot_all=True)
def _span_alone() -> str:
    return _CODE_SPAN


@verbose(lines=True)
def _closing_fence() -> str:
    return r"^ [ \t]* (?: ``` | ~~~ ) [ \t]* $"


def tokenize(text: str) -> list[Token]:
    """The tokens of a body in order; code spans differ from prose only by their
    mark."""
    start = 0
    plain = _plain(text)
    tokens: list[Token] = []
    for begin, end, code in _code_spans(plain):
        _scan(plain[start:begin], tokens, code=False, fresh=start == 0)
        _scan(code, tokens, code=True, fresh=False)
        start = end
    _scan(plain[start:], tokens, code=False, fresh=start == 0)
    return tokens


def _code_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Where code stands, and the code. A fence that is never closed is prose, scanned
    once."""
    if "`" not in text and "~~~" not in text:
        return
    closing = [match.span() for match in _closing_fence().finditer(text)]
    opening = _code()
    place = 0
    while match := opening.search(text, place):
        place = match.end()
        if match.lastgroup != "fence":
            yield match.start(), place, match["code"]
            continue
        next_close = bisect_right(closing, (place, 0))
        if next_close < len(closing):
            start, end = closing[next_close]
            yield match.start(), end, text[place:start]
            place = end
        else:
            opening = _span_alone()
            place = match.start()


# Tokens

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_ACCENTS = r"\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0f00-\u0fff"


@verbose
def _token() -> str:
    return rf"""
        # most words, as many as follow each other: matched before all else is tried
        (?P<plain> [ ]? (?<!\S) {_PLAIN_WORD} (?> (?: [ ] {_PLAIN_WORD} )* ) )
      | (?P<url> https?:// [^\s<>`"')\]]+ )
      | (?P<date> \d{{4}}-\d\d-\d\d (?: [T ]\d\d:\d\d (?: :\d\d )? Z? )? )
      | (?P<step> \0\d+ )
      | (?P<flag> (?<![\w-]) --?[A-Za-z][\w-]* )
      | (?P<issue> \#\d+\b )
      | (?P<path>
            [A-Za-z]:\\[\w\\.-]+
          | (?<![\w@$*.{{}}+~-]) [\w@$*.{{}}+~-]* (?: / [\w@$*.{{}}\[\]+-]* )+
          | (?<![\w*]) \*+\.[\w*{{}},-]+
          | (?<![\w.]) \.[A-Za-z][\w.-]*
          | (?<![\w.-]) [A-Za-z_][\w-]* (?: \.[A-Za-z0-9_*][\w*-]* )+
        )
      | (?P<number>
            (?<![^\s(\[=:,<>`"']) -? (?=\d)
            (?: \d[\d_]* (?: [.,:]\d+ )* ) (?: \.x\b )?
            (?: -? (?: rc | alpha | beta | dev | post ) \.? \d* )?
            (?: [ ]? (?: {_SPOKEN_UNITS} ) (?![^\W_]) | [ ]? % | \w* )
          | \d\w* (?: [.,:]\d+ )*
        )
      | (?P<operator> [=!<>]= | && | \|\| | (?<=\s) [<>] (?=[ ]?\d) | [≤≥≠] )
      | (?P<run> [{_UNSPACED}]+ )
      | (?P<word> (?: (?![{_UNSPACED}]) [\w{_ACCENTS}] )+ (?P<call>\(\))? )
      | (?P<comma> [,，、] )
      | (?P<stop> [.;:!?()。；：！？—–…] | \n\s*\n | \s-\s )
    """


_PLAIN_WORD = r"[a-z]++ (?= [\s,] | \.\s )"
_SPOKEN_UNITS = r"""
    ms | msecs? | milliseconds? | s | secs? | seconds? | mins? | minutes? | h | hrs?
  | hours? | d | days? | weeks? | percent | [kKMGT]i?[bB] | [Bb]ytes?
"""
_SIGNS = {"≤": "<=", "≥": ">=", "≠": "!="}


def _scan(text: str, tokens: list[Token], *, code: bool, fresh: bool) -> None:
    """Append the tokens of a text; with `fresh` it begins a sentence."""
    plain_words = _PLAIN_WORDS[code]
    for match in _token().finditer(text):
        kind = match.lastgroup or ""
        written = match[0]
        if kind == "plain":
            tokens += map(plain_words.__getitem__, written.split())
        elif kind in ("call", "word"):
            proper = not fresh and written[0].isupper()
            tokens.append(_word(written, code=code, proper=proper))
        elif kind in ("url", "path"):
            tokens += _path(written, code=code)
        elif kind in ("comma", "stop"):
            tokens.append(Token("gap" if code else kind, written))
        elif kind == "number":
            tokens.append(Token(kind, _measure(written), code))
        elif kind in ("operator", "issue"):
            tokens.append(Token("name", _SIGNS.get(written, written), code))
        else:
            tokens.append(Token(kind, written, code))
        fresh = kind == "stop"


class _PlainWords(dict[str, Token]):
    """The token of each lower-case word, made when the word first occurs."""

    def __init__(self, *, code: bool) -> None:
        self.code = code

    def __missing__(self, written: str) -> Token:
        self[written] = Token(kind="word", text=written, code=self.code)
        return self[written]


_PLAIN_WORDS = {code: _PlainWords(code=code) for code in (False, True)}


@lru_cache(maxsize=16_384)
def _word(written: str, *, code: bool, proper: bool) -> Token:
    word = written.removesuffix("()").strip("_")
    is_camel = word[:1].islower() and not word.islower() and word.isascii()
    if is_camel or "_" in word or written.endswith("()"):
        return Token("name", word, code)
    folded = word.casefold()
    if folded[:1] == "v" and folded[1:].isdecimal():
        return Token("number", folded[1:], code)
    return Token(kind="word", text=folded, code=code, proper=proper)


def _path(written: str, *, code: bool) -> Iterator[Token]:
    path = written.rstrip(".,;:!?/").removeprefix("./")
    folded = path.casefold()
    if not path or folded in WORDS["abbreviations"]:
        return
    is_acronym = path.isupper() and path.replace("/", "").isalpha()
    if is_acronym or folded in WORDS["slashed"]:
        for part in filter(None, path.split("/")):
            yield _word(part, code=code, proper=True)
    elif folded[0] == "v" and folded[1:2].isdecimal():
        yield Token("number", folded[1:], code)
    else:
        yield Token("path", path if "/" in path else folded, code)


@verbose
def _count() -> str:
    """A number, and the word or sign that may follow it."""
    return r"^ ( -? \d[\d_]* (?: ,\d{3} )* (?: \.\d+ )? ) [ ]? ( [^\W\d_]+ | % )? $"


def _measure(written: str) -> str:
    """A number in base units: "2 min" and "120s" become "120 s"; anything else is only
    folded to lower case."""
    match = _count().match(written.casefold())
    if not match:
        return written.casefold()
    digits = match[1].replace(",", "").replace("_", "")
    unit = match[2] or ""
    if unit not in _UNITS:
        return digits + unit
    dimension, factor = _UNITS[unit]
    return f"{float(digits) * factor:.12g} {dimension}".rstrip()
