"""The words of a task, never FTS5 syntax."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from itertools import chain, compress, filterfalse

from memcli.memory.words import (
    clean,
    full_pairs,
    humps,
    normalized,
    spaceless_runs,
    stem,
    unmarked,
    word_forms,
)
from memcli.named import NamedTuple
from memcli.text.matching import regex, table

MAX_TERMS = 64
MAX_LENGTH = 200_000  # characters of a task: more adds no term that would still count
PHRASE_WORDS = (
    3  # up to so many words in a row count extra when they stand so in an entry
)
MAX_PARTS = (
    16  # of a phrase: the time of matching one grows with its length and repetitions
)
FIGURES = 4  # of a number: a version, a date and an address have no more
BEGINNING = 5
SYLLABLES = 2
ENDING = 3
"""Letters that a word keeps, Korean syllables that it does, and what its ending has at
most."""

_WORD = re.compile(r"[^\W_]+(?:[_./:+#'-]+[^\W_]+)*", re.UNICODE)
_PIECE = re.compile(r"[^\W_]+")
# Words that join others, of eight languages, without those that mean something in
# English.
STOP_WORDS = frozenset(table("index/stop_words.txt").split())
EITHER = " | "  # stands between terms any of which is as good
PART = 6  # letters from which on the name of a concept may be a part of a word
_ENGLISH = frozenset(
    "and are does how is of that the this to what when where which why".split()
)
# What says as little as a stop word in a script without spaces.
_FILLER = "[\u3041-\u309f]+|.?[的了吗呢吧着过们么很我你他她它您这那哪].?"


class Query(NamedTuple):
    """`terms` are the words that count, the rarest of too many; `phrases` count extra;
    `concepts` are other names of what a task names in another language than
    English."""

    terms: tuple[str, ...]
    phrases: tuple[str, ...]
    concepts: tuple[str, ...] = ()


def content_stems(text: str) -> set[str]:
    """The words of a text that say something, cut to what most of their forms
    share."""
    forms = word_forms(text.lower())
    return {stem(unmarked(form)) for form in forms if form not in STOP_WORDS}


def build(
    task: str, rarity: Callable[[Sequence[str]], Sequence[int]] | None = None
) -> Query:
    """The query for any task; of too many words the rarest by `rarity` are kept."""
    composed = normalized("NFC", clean(task[:MAX_LENGTH]))
    words = _WORD.findall(composed.replace("’", "'"))
    content = [word for word in words if word.lower() not in STOP_WORDS] or words
    every_term = chain.from_iterable(map(_terms, content))
    terms = list(dict.fromkeys(every_term))
    if len(terms) > MAX_TERMS:
        kept = terms if rarity is None else _rarest_first(terms, rarity(terms))
        return Query(tuple(kept[:MAX_TERMS]), ())
    phrases = dict.fromkeys(_phrases(words))
    new = (phrase for phrase in phrases if phrase not in terms)
    return Query(tuple(terms), tuple(new))


def _rarest_first(terms: Sequence[str], counts: Sequence[int]) -> list[str]:
    """The terms that are found at all, by how often; the first first of equals."""
    known = [place for place, count in enumerate(counts) if count]
    known.sort(key=counts.__getitem__)
    return [terms[place] for place in known]


def asked(task: str, counts: Callable[[Sequence[str]], Sequence[int]]) -> Query:
    """The query for any task to a store that has its words so often."""
    query = widened(build(task, counts), counts)
    return query._replace(concepts=tuple(concepts(task)))


def widened(query: Query, counts: Callable[[Sequence[str]], Sequence[int]]) -> Query:
    """The query with a part of each word that stands nowhere as written: the beginning
    of a longer one (the full text knows the endings of English alone), each character
    of a pair that says much."""
    terms = []
    for term, count in zip(query.terms, counts(query.terms), strict=True):
        if count or not term.isalpha():
            terms.append(term)
        elif spaceless_runs(term):
            telling = filterfalse(regex(_FILLER).fullmatch, term)
            terms += [f"{char}*" for char in telling]
        else:
            least = SYLLABLES if "가" <= term[0] <= "힣" else BEGINNING
            ends = range(1, min(ENDING, len(term) - least) + 1)
            shorter = [f"{term[:-end]}*" for end in ends]
            known = compress(shorter, counts(shorter))
            terms.append(next(known, term))
    return query._replace(terms=tuple(dict.fromkeys(terms)))


def elsewhere(term: str) -> float:
    """How rare a term is in other projects: 0 for one of every project, 1 for one of
    few."""
    is_short = len(term) < 2 or (term.isdigit() and len(term) < 3)
    if is_short or EITHER in term:
        return 0.0  # a concept under another name is found, and tells nothing
    if not (term.isascii() and term.isalpha()):
        return 1.0
    words = _known_words()
    at = words.find(f" {stem(term)} ")
    return 1.0 if at < 0 else (words.count("\n", 0, at) + 0.5) / 10


@cache
def _known_words() -> str:
    """The words of other projects, a line for each tenth of their rarity."""
    return table("index/known_words.txt")


def is_english(lowered: str) -> bool:
    """Whether a text in small letters has one of the words that join English ones, and
    no letter that English lacks."""
    return lowered.isascii() and not _ENGLISH.isdisjoint(_PIECE.findall(lowered))


def concepts(task: str) -> list[str]:
    """Of each concept of software that a task in another language than English names,
    all its other names as one term: notes in any language use English words."""
    lowered = task[: 30 * MAX_TERMS].lower()
    other_names = list[str]()
    foreign = False
    words = set(_PIECE.findall(lowered))
    if is_english(lowered):
        return []  # most tasks: to look for every name takes a millisecond
    for line in table("index/concepts.txt").splitlines():
        names = line.split(" ")
        if named := _named(names, lowered, words):
            border = names.index("|")
            foreign = foreign or not named.isdisjoint(names[border:])
            others = [name for name in names if name not in named and name != "|"]
            other_names.append(EITHER.join(map(_part, others)))
    return other_names if foreign else []


def _named(names: Iterable[str], lowered: str, words: Collection[str]) -> set[str]:
    """Those of the names that a task in small letters has, with its words."""
    mentioned = [name for name in names if name in lowered]
    return {name for name in mentioned if _stands(name, words)}


def _stands(name: str, words: Collection[str]) -> bool:
    """Whether a name that is in a task may be a part of a word, or is one of its
    words."""
    return len(name) >= PART or name > "\u0e00" or name in words


def is_number(term: str) -> bool:
    """Whether a term is a version, a date or an address: figures, and what joined
    them."""
    return " " in term and term.replace(" ", "").isdigit()


def is_word(term: str) -> bool:
    """Whether a term is no phrase of several words."""
    return " " not in term or is_number(term)


def _part(name: str) -> str:
    if spaceless_runs(name):
        return " ".join(full_pairs(name))
    return name if name.isascii() and len(name) < PART else f"{name}*"


def _terms(word: str) -> list[str]:
    pieces = _PIECE.findall(word)
    whole = _distinct(pieces)
    terms = [" ".join(whole)] if len(whole) > 1 else []
    for piece in dict.fromkeys(pieces):
        runs = spaceless_runs(piece)
        for run in runs:
            terms += _pairs(run)
        if not runs or "".join(runs) != piece:
            parts = [part.lower() for part in humps(piece) if len(part) > 1]
            terms.append(piece.lower())
            terms += [part for part in parts if part not in STOP_WORDS]
    return terms


def _pairs(run: str) -> list[str]:
    """The pairs of characters of a run that say something, or all; of a single
    character what begins so."""
    if len(run) == 1:
        return [f"{run}*"]
    pairs = full_pairs(run)
    return list(filterfalse(regex(_FILLER).fullmatch, pairs)) or pairs


def _distinct(pieces: list[str]) -> list[str]:
    if is_number(" ".join(pieces)):
        return pieces[:FIGURES]  # 1.20.1 is not 1.20
    distinct: dict[str, None] = {}
    for piece in pieces[:MAX_PARTS]:
        if piece.lower() in distinct:
            break
        distinct[piece.lower()] = None
    return list(distinct)


def _phrases(words: Sequence[str]) -> list[str]:
    phrases = []
    run = []
    for word in [*words, ""]:
        if word and word.lower() not in STOP_WORDS and not spaceless_runs(word):
            pieces = _PIECE.findall(word.lower())
            if len(pieces) == len(_distinct(pieces)):
                run.append(pieces)
                continue
        for size in range(2, PHRASE_WORDS + 1):
            for start in range(len(run) - size + 1):
                parts = list(chain.from_iterable(run[start : start + size]))
                if len(parts) <= MAX_PARTS:
                    phrases.append(" ".join(parts))
        run = []
    return phrases
