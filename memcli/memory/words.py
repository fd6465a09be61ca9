"""Texts as the index sees them: words, the parts of identifiers, scripts without
blanks, dates."""

import datetime
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Set
from functools import lru_cache
from itertools import chain
from typing import Literal

# characters of a chunk of a long entry, and of what it shares with the next
CUT = 40  # characters that a title has at least which was cut for its length
TITLE = 240  # characters that one line of a block has for a title
SIZE = 1600
OVERLAP = 320
LONGEST = 32
MARKS = 16
"""So many marks stand at one letter at most: no language has more than a few."""
# The front matter of a topic file: its title says it, and its text begins below.
MATTER = (
    r"\A---[ \t]*\r?\n(?:[A-Za-z_][\w-]*:.*\n|[ \t]+\S.*\n)+---[ \t]*\r?(?:\n|\Z)\s*"
)

# This one and _SPACELESS are compiled when the first text needs them.
_CONTROL = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]"
# What an accent becomes beside its letter: those of other alphabets make other letters.
_LATIN_MARKS = "(?<=[A-Za-z])[\u0300-\u036f]+"
# Marks are no letters; the Katakana ones of half width become such.
_SIGNS = rf"(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f]){{{MARKS + 1},}}"
_CONTROLS = bytes([*range(9), 11, 12, *range(14, 32), 127])
_WORD = re.compile(r"[^\W_]+")
# Where one hump of an identifier ends and one begins: at a capital letter, of which a
# text has few.
_JOINT = re.compile(r"[A-Z](?:(?<=[a-z0-9][A-Z])|(?=[A-Z][a-z]))")


def _case_of(code: int) -> int:
    """A for a capital letter, a for a small one or a digit, a blank for all else."""
    letter = chr(code)
    if "A" <= letter <= "Z":
        return ord("A")
    is_low = "a" <= letter <= "z" or "0" <= letter <= "9"
    return ord("a" if is_low else " ")


_CASES = bytes(map(_case_of, range(256)))
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_ENDINGS = ("ings", "ing", "edly", "ed", "ies", "es", "ly", "s", "e")
_LAST_RULE = re.compile(r"\s*\n-{3,}\s*\Z")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+[^\n]*\n?")
# A bold stretch; the two stars of a glob stand behind a slash or in code.
_BOLD = r"(?<![\w/*`])\*\*(?=\S)([^*\n]+)\*\*"
_SPACELESS = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)


def clean(text: str) -> str:
    """A text without what SQLite or its tokenizer cannot take."""
    if text.isprintable():
        return text
    # faster to look through; \xed begins a surrogate
    data = text.encode("utf-8", "surrogatepass")
    unusual = b"\xed" in data or len(data.translate(None, _CONTROLS)) < len(data)
    return re.sub(_CONTROL, " ", text) if unusual else text


def normalized(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """`text` in a form of Unicode, without the marks beyond `MARKS` of a letter: they
    are put in order in a time that grows with the square of their number."""
    runs = re.sub(_SIGNS, lambda run: _with_fewer_marks(run[0]), text)
    return unicodedata.normalize(form, runs)


def _with_fewer_marks(run: str) -> str:
    kept = []
    marks = 0
    for sign in run:
        is_mark = unicodedata.combining(unicodedata.normalize("NFKD", sign)[0])
        marks = marks + 1 if is_mark else 0
        if marks <= MARKS:
            kept.append(sign)
    return "".join(kept)


def unmarked(text: str) -> str:
    """A text without the marks on Latin letters, as the full-text search reads it:
    `café` and `cafe` are one word."""
    if text.isascii():
        return text
    letters = normalized("NFD", text)
    return normalized("NFC", re.sub(_LATIN_MARKS, "", letters))


def join(texts: list[str]) -> str:
    """The text that `rows` cut into these parts."""
    return texts[0] + "".join(text[OVERLAP:] for text in texts[1:])


def body_of(text: str, title: str) -> str:
    """The text without a rule at its end, and without a heading that says what the
    title says."""
    if text.rstrip().endswith("---"):  # the pattern looks at every blank
        text = _LAST_RULE.sub("", text)
    head = _HEADING.match(text)
    if head and title and title.rpartition(" > ")[2] in head[0]:
        return text[head.end() :].strip("\n")
    return text


def uncut(title: str, text: str) -> tuple[str, str]:
    """A title that was cut, whole again where the text begins with the line that it is
    the beginning of, if that is no longer than `TITLE`; and the rest of the text."""
    line, _, rest = text.partition("\n")
    stem = title.removesuffix("…").rstrip()
    was_cut = title.endswith("…") and len(stem) >= CUT and line.startswith(stem)
    if not was_cut or len(line) > TITLE:
        return title, text
    return line.rstrip(), rest.strip("\n")


def in_one_line(text: str) -> str:
    """A text in one line, without the marks of lists, headings, rules and bold words."""
    lines = re.sub(_BOLD, r"\1", text).splitlines()
    shown = (" ".join(line.strip("-*#>|+ \t").split()) for line in lines)
    return " ".join(filter(None, shown))


def sub_words(text: str) -> str:
    """Words that the tokenizer cannot see: the humps of camelCase, bigrams in scripts
    without blanks, and what is written in more characters than a task has it in."""
    words = _WORD.findall(text) if _has_joint(text) else ()
    jointed = filter(_JOINT.search, words)
    humps_of_all = chain.from_iterable(map(_HUMP.findall, jointed))
    if text.isascii():
        return " ".join(humps_of_all)
    composed = normalized("NFC", text)
    pairs_of_all = chain.from_iterable(map(bigrams, re.findall(_SPACELESS, composed)))
    changed = []
    if composed != text:
        written = {*_WORD.findall(text)}
        changed = [word for word in _WORD.findall(composed) if word not in written]
    return " ".join([*humps_of_all, *pairs_of_all, *changed])


def _has_joint(text: str) -> bool:
    # four times faster than _JOINT
    cases = text.encode("utf-8", "surrogatepass").translate(_CASES)
    return re.search(rb"A(?:(?<=aA)|(?=Aa))", cases) is not None


def bigrams(run: str) -> list[str]:
    """Overlapping pairs of characters; the last character stands alone, so that each
    begins one."""
    return [run[start : start + 2] for start in range(len(run))]


def humps(word: str) -> list[str]:
    """`camelCase` -> [camel, Case]; [] for a word without humps."""
    parts = _HUMP.findall(word) if _JOINT.search(word) else []
    return parts if len(parts) > 1 else []


def word_forms(text: str) -> Iterator[str]:
    """The words that have a vector: identifiers by their humps, and pairs of
    characters in scripts without blanks."""
    words = _WORD.findall(text)
    if text.isascii() and not _has_joint(text):  # most texts
        if max(map(len, words), default=0) <= LONGEST:
            return iter(words)
        return (word for word in words if len(word) <= LONGEST)
    return chain.from_iterable(map(_forms, words))


def low_forms(text: str) -> list[str]:
    """The same in small letters: a word has one vector, however it is written."""
    return list(map(str.lower, word_forms(text)))


@lru_cache(maxsize=1 << 16)  # texts are many, their words are few
def _forms(word: str) -> tuple[str, ...]:
    runs = [] if word.isascii() else re.findall(_SPACELESS, word)
    if runs:
        return tuple(chain.from_iterable(map(full_pairs, runs)))
    parts = humps(word) or [word]
    return tuple(part for part in parts if len(part) <= LONGEST)


def full_pairs(run: str) -> list[str]:
    """The pairs of a run; of a single character that alone."""
    return bigrams(run)[:-1] or [run]


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """A word without its usual English ending, so that forms of one word meet."""
    lower = word.lower()
    for ending in _ENDINGS:
        if lower.endswith(ending) and len(lower) - len(ending) >= 3:
            return lower[: -len(ending)]
    return lower


def stems(text: str) -> set[str]:
    """The words of a text that have two letters or more, cut to what most of their
    forms share."""
    return {stem(form) for form in word_forms(text.lower()) if len(form) > 1}


def spaceless_runs(text: str) -> list[str]:
    """The stretches of `text` in scripts that put no blanks between words."""
    if text.isascii() or max(unusual := set(text)) < "\u0e00":
        return []
    # Dashes and dots stand in many a text: for them alone the pattern is not worth
    # compiling.
    if all(letter < "\u0e00" or "\u2000" <= letter < "\u3040" for letter in unusual):
        return []
    return re.findall(_SPACELESS, text)


@lru_cache(maxsize=1024)
def is_day(text: str) -> bool:
    """Whether `text` is a calendar date written YYYY-MM-DD."""
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def overlap(words: Set[str], other_words: Set[str]) -> float:
    """Jaccard: shared words over all words, 0.0 to 1.0; 0.0 when either set is
    empty."""
    shared = len(words & other_words)
    if not shared:
        return 0.0
    return shared / (len(words) + len(other_words) - shared)


def cosine(weights: Mapping[str, float], other_weights: Mapping[str, float]) -> float:
    """How alike the weights of two texts' words are; 0.0 when they share none."""
    dot = sum(
        weight * other_weights[word]
        for word, weight in weights.items()
        if word in other_weights
    )
    if not dot:
        return 0.0
    square = sum(weight * weight for weight in weights.values())
    other_square = sum(weight * weight for weight in other_weights.values())
    return dot / math.sqrt(square * other_square)


def count(number: int, singular: str, plural: str = "") -> str:
    """`1 file`, `2 files`, `3 entries`."""
    if number == 1:
        return f"1 {singular}"
    return f"{number:,} {plural or singular + 's'}"


def each_text(value: object, change: Callable[[str], str]) -> object:
    """A value with every text in it changed; a number that JSON does not know is
    None."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [each_text(item, change) for item in value]
    if isinstance(value, Mapping):
        return {
            change(str(key)): each_text(item, change) for key, item in value.items()
        }
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
