"""Words as the local index sees them, by SQLite's own tokenizer, as a tsvector:
positions are counted per column, weights say which column."""

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import accumulate
from operator import mul
from typing import NamedTuple

COLUMNS = ("title", "text", "tags", "date", "parts")
MARKS = "ABBBC"  # the tsvector weight of each column
WEIGHTS: Mapping[str, float] = {
    "A": 1.5,
    "B": 1.0,
    "C": 0.7,
}  # as `lexical.COLUMN_WEIGHTS`
LAST = 16_383  # the last position that a tsvector tells from others
LONGEST = 1000  # bytes of a word; a longer one is no word, and a lexeme may have 2 kB


class Words(NamedTuple):
    """A text as a tsvector in its text form; its words, and how many they are with
    repetitions."""

    vector: str
    terms: frozenset[str]
    length: int


class Tokenizer:
    """The tokenizer of the local index, outside of it."""

    def __init__(self) -> None:
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        self.db.execute(
            f"CREATE VIRTUAL TABLE texts USING fts5({', '.join(COLUMNS)},"
            " tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        self.db.execute(
            "CREATE VIRTUAL TABLE instances USING fts5vocab(texts, instance)"
        )

    def close(self) -> None:
        """Let go of the tables."""
        self.db.close()

    def words(
        self, rows: Sequence[Sequence[str]], labels: Sequence[str] = ()
    ) -> list[Words]:
        """The words of each row of `COLUMNS`; vectors have the `labels`, too, without a
        place."""
        found: list[dict[str, list[str]]] = [{} for _ in rows]
        lengths = [0] * len(rows)
        starts = self._fill(rows)
        for term, row, column, offset in self._instances():
            lengths[row] += 1
            if len(term.encode()) <= LONGEST:
                place = min(starts[row][column] + offset + 1, LAST)
                found[row].setdefault(term, []).append(f"{place}{MARKS[column]}")
        extra = " ".join(quoted(label) for label in labels)
        vectors = (
            " ".join(
                f"{quoted(word)}:{','.join(places)}" for word, places in own.items()
            )
            for own in found
        )
        return [
            Words(f"{vector} {extra}".strip(), frozenset(own), length)
            for vector, own, length in zip(vectors, found, lengths, strict=True)
        ]

    def _fill(self, rows: Sequence[Sequence[str]]) -> list[list[int]]:
        self.db.execute("DELETE FROM texts")
        marks = ", ".join("?" * len(COLUMNS))
        self.db.executemany(
            f"INSERT INTO texts (rowid, {', '.join(COLUMNS)}) VALUES (?, {marks})",
            [(i, *row) for i, row in enumerate(rows)],
        )
        counts = [[0] * len(COLUMNS) for _ in rows]
        for _, row, column, offset in self._instances():
            counts[row][column] = max(counts[row][column], offset + 1)
        return [[sum(own[:i]) + i for i in range(len(COLUMNS))] for own in counts]

    def _instances(self) -> list[tuple[str, int, int, int]]:
        rows = self.db.execute("SELECT term, doc, col, offset FROM instances")
        place = {name: i for i, name in enumerate(COLUMNS)}
        return [
            (term, doc, place[column], offset) for term, doc, column, offset in rows
        ]

    def terms(self, terms: Sequence[str]) -> "list[Term]":
        """The terms of a query (see `query.build`) as the words they are made of."""
        self._fill([("", term.removesuffix("*"), "", "", "") for term in terms])
        words: list[dict[int, str]] = [{} for _ in terms]
        for word, row, _, offset in self._instances():
            words[row][offset] = word
        return [
            Term(term, tuple(own[i] for i in sorted(own)), term.endswith("*"))
            for term, own in zip(terms, words, strict=True)
            if own and all(len(word.encode()) <= LONGEST for word in own.values())
        ]


class Term(NamedTuple):
    """A term of a query: one word, a phrase, or (`open`) all that begins with the
    last."""

    text: str
    words: tuple[str, ...]
    open: bool

    @property
    def query(self) -> str:
        """As a tsquery in its text form."""
        return " <-> ".join(quoted(word) for word in self.words) + (
            ":*" if self.open else ""
        )


def quoted(word: str) -> str:
    """A lexeme as tsvector and tsquery read it."""
    doubled = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"


GATE = 5000
"""About how many chunks meet the words that bring candidates; commoner words only add
to scores."""


class Leader(NamedTuple):
    """A chunk that is scored: its length and where the words of the query stand in
    it."""

    length: int
    words: Mapping[str, tuple[str, str]]


def gate(asked: Sequence[Term], bound: Mapping[str, int], total: int) -> str:
    """The tsquery that brings candidates: any of the rarest terms, or common ones
    together."""
    single = [term for term in asked if len(term.words) == 1 or term.open] or list(
        asked
    )
    single.sort(key=lambda term: bound[term.text])
    if total <= GATE:
        return _any([[term] for term in single])
    alone = sum(
        size <= GATE for size in accumulate(bound[term.text] for term in single)
    )
    groups = [[term] for term in single[:alone]]
    if not groups:
        sizes = accumulate(
            (bound[term.text] / total for term in single), mul, initial=float(total)
        )
        needed = next((i for i, size in enumerate(sizes) if size <= GATE), len(single))
        groups = [list(single[:needed])]
    return _any(groups)


def _any(groups: Sequence[Sequence[Term]]) -> str:
    return " | ".join(
        " & ".join(f"({term.query})" for term in group) for group in groups
    )


def frequency(term: Term, leader: Leader) -> float:
    """How often a term stands in a chunk, weighed by the columns it stands in."""
    if term.open:
        return sum(
            WEIGHTS[mark]
            for word, (_, marks) in leader.words.items()
            if word.startswith(term.words[-1])
            for mark in marks
        )
    if any(word not in leader.words for word in term.words):
        return 0.0
    places, marks = leader.words[term.words[0]]
    if len(term.words) == 1:
        return sum(WEIGHTS[mark] for mark in marks)
    rest = [
        frozenset(map(int, leader.words[word][0].split(","))) for word in term.words[1:]
    ]
    return sum(
        WEIGHTS[mark]
        for place, mark in zip(map(int, places.split(",")), marks, strict=True)
        if all(place + step in own for step, own in enumerate(rest, 1))
    )
