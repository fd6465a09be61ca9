"""The words of a task, never FTS5 syntax, and which chunks have them: the full-text
table."""

import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from heapq import nlargest
from itertools import chain
from typing import TypeVar

from memcli.index import weights
from memcli.memory.words import bigrams, clean, humps, spaceless_runs
from memcli.named import NamedTuple
from memcli.storage.files import ONE_OF
from memcli.text.matching import regex, table

K = TypeVar("K")
MAX_TERMS = 64
MAX_LENGTH = 200_000  # characters of a task: more adds no term that would still count
PHRASE_WORDS = (
    3  # up to so many words in a row count extra when they stand so in an entry
)
MAX_PARTS = (
    16  # of a phrase: the time of matching one grows with its length and repetitions
)
BEGINNING = 5
SYLLABLES = 2
ENDING = 3
"""Letters that a word keeps, Korean syllables that it does, and what its ending has at
most."""

COLUMN_WEIGHTS = (weights.TITLE, 1.0, 1.0, 1.0, weights.SUB_WORDS, 1.0)
"""BM25 weights of title, text, tags, date, parts, around."""
POOL = 200  # how many best-matching chunks are weighed
# so many matches are all scored; beyond, the `LEADERS` that cover most of the query
SCORED = 5000
LEADERS = 1000
MOST_WEIGHT = 20
_SCORES = (
    f"SELECT rowid, -bm25(chunks_fts, {', '.join(map(str, COLUMN_WEIGHTS))})"
    " FROM chunks_fts WHERE chunks_fts MATCH ?"
)
_AMONG = (
    f" AND +rowid {ONE_OF}"  # the plus keeps SQLite from asking FTS5 anew for each row
)

_WORD = re.compile(r"[^\W_]+(?:[_./:+#'’-]+[^\W_]+)*", re.UNICODE)
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
    `english` is how the vectors, which know English, are asked for what a task names
    otherwise."""

    terms: tuple[str, ...]
    phrases: tuple[str, ...]
    english: str = ""


def build(
    task: str, rarity: Callable[[Sequence[str]], Sequence[int]] | None = None
) -> Query:
    """The query for any task; of too many words the rarest by `rarity` are kept."""
    words = _WORD.findall(clean(task[:MAX_LENGTH]).replace("’", "'"))
    content = [word for word in words if word.lower() not in STOP_WORDS] or words
    terms = list(dict.fromkeys(term for word in content for term in _terms(word)))
    if len(terms) > MAX_TERMS:
        if rarity is not None:
            ranked = sorted(
                (count, i) for i, count in enumerate(rarity(terms)) if count
            )
            terms = [terms[i] for _, i in ranked]
        return Query(tuple(terms[:MAX_TERMS]), ())
    phrases = dict.fromkeys(_phrases(words))
    return Query(
        tuple(terms), tuple(phrase for phrase in phrases if phrase not in terms)
    )


def widened(query: Query, counts: Callable[[Sequence[str]], Sequence[int]]) -> Query:
    """The query with a part of each word that stands nowhere as written: the beginning
    of a longer one (the full text knows the endings of English alone), each character
    of a pair that says much."""
    found: list[str] = []
    for term, count in zip(query.terms, counts(query.terms), strict=True):
        if count or not term.isalpha():
            found.append(term)
        elif spaceless_runs(term):
            found += [f"{char}*" for char in term if not regex(_FILLER).fullmatch(char)]
        else:
            least = SYLLABLES if "가" <= term[0] <= "힣" else BEGINNING
            ends = range(1, min(ENDING, len(term) - least) + 1)
            shorter = [f"{term[:-end]}*" for end in ends]
            known = zip(shorter, counts(shorter), strict=True)
            found.append(next((beginning for beginning, n in known if n), term))
    return query._replace(terms=tuple(dict.fromkeys(found)))


def concepts(task: str) -> dict[str, str]:
    """Of each concept of software that a task in another language than English names,
    its names in English and all others, as one term: notes in any language use English
    words; with those in English alone."""
    low = task[: 30 * MAX_TERMS].lower()
    found = dict[str, str]()
    foreign = False
    words = set(_PIECE.findall(low))
    if low.isascii() and not words.isdisjoint(_ENGLISH):
        return {}  # most tasks: to look for every name takes a millisecond
    for line in table("index/concepts.txt").splitlines():
        names = line.split(" ")
        near = [name for name in names if name in low]
        if near and (
            named := {n for n in near if len(n) >= PART or n > "\u0e00" or n in words}
        ):
            at = names.index("|")
            foreign = foreign or not named.isdisjoint(names[at:])
            others = [name for name in names if name not in named]
            term = EITHER.join(_part(name) for name in others if name != "|")
            found[term] = " ".join(others[: others.index("|")])
    return found if foreign else {}


def _part(name: str) -> str:
    if spaceless_runs(name):
        return " ".join(bigrams(name)[:-1])
    return name if name.isascii() and len(name) < PART else f"{name}*"


def _terms(word: str) -> list[str]:
    pieces = _PIECE.findall(word)
    whole = _distinct(pieces)
    found = [" ".join(whole)] if len(whole) > 1 else []
    for piece in dict.fromkeys(pieces):
        runs = spaceless_runs(piece)
        for run in runs:
            pairs = [pair for pair in bigrams(run) if len(pair) == 2]
            found += (
                [pair for pair in pairs if not regex(_FILLER).fullmatch(pair)]
                or pairs
                or [run + "*"]
            )
        if not runs or "".join(runs) != piece:
            parts = (part.lower() for part in humps(piece) if len(part) > 1)
            found += [
                piece.lower(),
                *(part for part in parts if part not in STOP_WORDS),
            ]
    return found


def _distinct(pieces: Sequence[str]) -> list[str]:
    found: dict[str, None] = {}
    for piece in pieces[:MAX_PARTS]:
        if piece.lower() in found:
            break
        found[piece.lower()] = None
    return list(found)


def _phrases(words: Sequence[str]) -> list[str]:
    found: list[list[str]] = []
    run: list[list[str]] = []
    for word in [*words, ""]:
        if word and word.lower() not in STOP_WORDS and not spaceless_runs(word):
            pieces = _PIECE.findall(word.lower())
            if len(pieces) == len(_distinct(pieces)):
                run.append(pieces)
                continue
        for size in range(2, PHRASE_WORDS + 1):
            found += [[*chain(*run[i : i + size])] for i in range(len(run) - size + 1)]
        run = []
    return [" ".join(parts) for parts in found if len(parts) <= MAX_PARTS]


def idf(n: int, total: int) -> float:
    """How rare a term is that n of `total` chunks have: ln(1 + (N - n + .5)/(n + .5)),
    above 0."""
    return math.log(1 + max(total - n + 0.5, 0.0) / (n + 0.5)) or 1e-6


def discounted(score: float, met: float, every: float) -> float:
    """A BM25 score, less where the terms met make up little of the idf of all terms."""
    return (
        score * (1 - weights.COVERAGE + weights.COVERAGE * met / every)
        if every
        else 0.0
    )


def top(scores: Mapping[K, float], pool: int) -> dict[K, float]:
    """The `pool` best, best first, and all that tie with the last of them."""
    kept = dict(scores)
    if len(kept) > pool:
        last = nlargest(pool, kept.values())[-1] * (1 - 1e-9)
        kept = {i: score for i, score in kept.items() if score >= last}
    return dict(sorted(kept.items(), key=lambda item: -item[1]))


_Ids = frozenset[int]


class Lexical:
    """The words of an index as it is; what was counted is known."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._number = cache(
            lambda sql, *values: int(db.execute(sql, values).fetchone()[0])
        )

    def size(self) -> int:
        """How many chunks there are."""
        return self._rows()

    def _rows(self) -> int:
        return self._number("SELECT count(*) FROM chunks")

    def counts(self, words: Sequence[str]) -> list[int]:
        """In how many chunks each word stands, not counting where it stands beside
        them."""
        where = "- around : " if self._has_passages else ""
        return [self._matching(f"{where}({quoted(word)})") for word in words]

    @cached_property
    def _has_passages(self) -> bool:
        found = "SELECT 1 FROM chunks WHERE around != '' LIMIT 1"
        return self.db.execute(found).fetchone() is not None

    def _matching(self, expression: str) -> int:
        return self._number(
            "SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?", expression
        )

    def idf(self, words: Sequence[str]) -> list[float]:
        """How rare each word is: see `idf`."""
        total = self.size()
        return [idf(n, total) for n in self.counts(words)]

    def best(
        self, terms: Sequence[str], allowed: _Ids | None, denied: _Ids, pool: int = POOL
    ) -> dict[int, float]:
        """BM25 of the best-matching chunks, and of all that tie with the last of them;
        `allowed` None: of all but the `denied`. The idf is kept positive, which is
        possible when asked term by term."""
        terms = list(dict.fromkeys(terms))
        total = self.size()
        here = self._rows()
        counted = sorted(
            (n, term) for n, term in zip(self.counts(terms), terms, strict=True) if n
        )
        rare = [(idf(n, total), n, term) for n, term in counted]
        many = sum(n for n, _ in counted) > SCORED
        among = [json.dumps(self._leaders(rare, allowed, denied))] if many else []
        scores = dict[int, float]()
        covered = dict[int, float]()
        for rarity, n, term in rare:
            rows = self._matching(quoted(term)) if self._has_passages else n
            # The idf inside FTS5's bm25 is floored where a term stands in more than
            # half of all.
            factor = rarity / (
                math.log(max((here - rows + 0.5) / (rows + 0.5), 1.0)) or 1e-6
            )
            select = _SCORES + _AMONG if among else _SCORES
            for rowid, points in self.db.execute(select, (quoted(term), *among)):
                if (allowed is None or rowid in allowed) and rowid not in denied:
                    scores[rowid] = scores.get(rowid, 0.0) + points * factor
                    covered[rowid] = covered.get(rowid, 0.0) + rarity
        every = sum(rarity for rarity, *_ in rare)
        return top(
            {i: discounted(s, covered[i], every) for i, s in scores.items()}, pool
        )

    def _leaders(
        self, rare: Sequence[tuple[float, int, str]], allowed: _Ids | None, denied: _Ids
    ) -> list[int]:
        """The chunks that cover most of the query, where common words match very
        many."""
        covered: Counter[int] = Counter()
        select = (
            "SELECT json_group_array(rowid) FROM chunks_fts WHERE chunks_fts MATCH ?"
        )
        for rarity, _, term in rare:
            found = json.loads(self.db.execute(select, (quoted(term),)).fetchone()[0])
            for _ in range(min(round(rarity / rare[-1][0]), MOST_WEIGHT)):
                covered.update(found)  # counting whole numbers is done in C
        seen: Mapping[int, int] = covered
        if allowed is not None:
            seen = {
                i: n for i, n in covered.items() if i in allowed and i not in denied
            }
        elif denied:
            seen = {i: n for i, n in covered.items() if i not in denied}
        if len(seen) <= LEADERS:
            return list(seen)
        last = nlargest(LEADERS, seen.values())[-1]
        above = [i for i, count in seen.items() if count > last]
        return (
            above
            if len(above) >= POOL
            else [i for i, count in seen.items() if count >= last]
        )

    def denied(self, hidden: Iterable[int]) -> frozenset[int]:
        """Chunks that no plain search shows: not live, or of a file that is not in
        view."""
        rows = self.db.execute(
            "SELECT id FROM chunks WHERE live = 0 UNION ALL SELECT id FROM chunks WHERE live = 1"
            f" AND source {ONE_OF}",
            (json.dumps(list(hidden)),),
        )
        return frozenset(row[0] for row in rows)


def quoted(term: str) -> str:
    """A term or phrase as FTS5 takes it, or any of some; a trailing `*` asks for a
    prefix."""
    if EITHER in term:
        return " OR ".join(map(quoted, term.split(EITHER)))
    whole = '"' + term.removesuffix("*").replace('"', '""') + '"'
    return whole + "*" if term.endswith("*") else whole
