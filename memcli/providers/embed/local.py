"""Static word vectors, computed here: no network, no model to run.

`vectors.sqlite` beside this file holds pieces of words in ten languages, each with a
weight and a vector of 4 bits a value. A word is cut, from its beginning, into the
longest known pieces; its vector is their weighted sum. `tests/bench/vectors` makes the
table."""

import json
import math
import sqlite3
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from memcli.errors import ProviderError
from memcli.memory.arithmetic import DIM, SCALE, lanes, unlaned, weighted_sum
from memcli.memory.words import word_forms
from memcli.named import NamedTuple
from memcli.providers.embed import Matrix

MODEL = f"mem-{DIM}-2"
"""Each new table gets another number: the vectors of an index name it."""
TABLE = Path(__file__).with_name("vectors.sqlite")
MARK = "\u2581"  # stands before a piece that begins a word
ASIAN = "\u0e00"  # scripts from here on have no blanks between words, or no such mark
MANY = 256  # from so many words on, all pieces are read at once
LONGEST_PIECE = 24
MOST_WEIGHT = 1023  # weights are whole and bounded, so that sums fit into 64 bits
CRUMB = 2.5
"""A word whose pieces have fewer characters on average is not a word (a hash, keyboard
mash)."""
ZERO = 8  # the nibble of the value 0
_HIGH = bytes(value >> 4 for value in range(256))
_LOW = bytes(value & 15 for value in range(256))
_SIGNED = bytes(value - ZERO & 255 for value in range(16)) + bytes(240)
_SQUARES = bytes((value - ZERO) ** 2 for value in range(16)) + bytes(240)


class WordVector(NamedTuple):
    """The vector of a word (see `quantise`), and its weight in the sum of a text."""

    weight: int
    vector: bytes


class Local:
    """The word vectors of the table at `path`, by default the package's, opened on
    first use."""

    provider = "local"
    model = MODEL

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or TABLE

    @cached_property
    def _db(self) -> sqlite3.Connection:
        address = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
        try:
            db = sqlite3.connect(address, uri=True, check_same_thread=False)
            (model,) = db.execute("SELECT model FROM about").fetchone() or ("",)
        except sqlite3.Error as error:
            raise self._unreadable(str(error)) from None
        if model != MODEL:
            db.close()
            raise self._unreadable(f"it is of {model or 'nothing'}, not of {MODEL}")
        return db

    @cached_property
    def _all(self) -> frozenset[str]:
        # From the rows, which hold the vectors, it would be 12 MB to read.
        return frozenset(self._select("SELECT pieces FROM about")[0][0].split("\n"))

    def close(self) -> None:
        """Close the table; the next use opens it again."""
        if "_db" in self.__dict__:
            self.__dict__.pop("_db").close()

    def check(self) -> None:
        """Read the whole table. Raises ProviderError if it is not as it was made."""
        select = "SELECT piece, weight, vector FROM pieces ORDER BY piece"
        rows = self._select(select)
        made = self._select("SELECT digest FROM about")[0][0]
        if digest_of(rows) != made or self._all != {piece for piece, *_ in rows}:
            raise self._unreadable("its rows do not match their checksum")

    def embed(
        self,
        texts: Sequence[str],
        *,
        query: bool = False,
        deadline: float | None = None,
    ) -> Matrix:
        """One row for each text: the sum of its words; that of a text without words
        points anywhere."""
        forms = [list(word_forms(text)) for text in texts]
        vectors = self.words({word for words in forms for word in words} | {"-"})
        rows = []
        for words in forms:
            total = weighted_sum(vectors[word] for word in words)
            rows.append(array("f", total if any(total) else [1.0] * DIM))
        return rows

    def words(
        self, words: Iterable[str], *, crumbs: bool = True
    ) -> dict[str, WordVector]:
        """The vector of each word; zeros for a word without a known piece. With
        `crumbs` False such words are left out, and words that fall into crumbs, too: a
        task often has random names."""
        pieces_of = self._cut(set(words))
        if not crumbs:
            pieces_of = {
                word: pieces
                for word, pieces in pieces_of.items()
                if pieces and (word >= ASIAN or len(word) >= CRUMB * len(pieces) - 1)
            }
        return self._summed(pieces_of)

    def _select(self, select: str, *values: str) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(select, values).fetchall()
        except sqlite3.Error as error:
            self.close()
            raise self._unreadable(str(error)) from None

    def _unreadable(self, why: str) -> ProviderError:
        from memcli.project import distribution

        hint = f"{distribution.hint(anew=True)}, or --set embedder=none"
        message = f"the table of word vectors cannot be read: {why} ({self.path})"
        return ProviderError(message, hint)

    def _rows(self, columns: str, pieces: Iterable[str]) -> list[tuple[Any, ...]]:
        where = "WHERE piece IN (SELECT value FROM json_each(?))"
        select = f"SELECT {columns} FROM pieces {where}"
        return self._select(select, json.dumps(sorted(pieces)))

    def _cut(self, words: Collection[str]) -> dict[str, list[str]]:
        known_pieces: Collection[str]
        texts = {word: marked(word) for word in words}
        if len(words) >= MANY:
            known_pieces = self._all
        else:
            parts = {part for text in texts.values() for part in _parts(text)}
            known_pieces = {row[0] for row in self._rows("piece", parts)}
        pieces_of = {text: cut(text, known_pieces) for text in set(texts.values())}
        return {word: pieces_of[text] for word, text in texts.items()}

    def _summed(self, pieces_of: Mapping[str, Sequence[str]]) -> dict[str, WordVector]:
        needed = {piece for pieces in pieces_of.values() for piece in pieces}
        rows = self._rows("piece, weight, vector", needed)
        vectors = {piece: (weight, data) for piece, weight, data in rows}
        numbers = dict[str, int]()  # the pieces as `lanes`: many words share one
        # by pieces, which words that differ in case share
        vector_of = dict[tuple[str, ...], WordVector]()
        for pieces in set(map(tuple, pieces_of.values())):
            if len(pieces) == 1:
                vector_of[pieces] = _of_piece(*vectors[pieces[0]])
                continue
            for piece in pieces:
                if piece not in numbers:
                    weight, data = vectors[piece]
                    numbers[piece] = lanes(weight, unpacked(data))
            vector_of[pieces] = _of_pieces([numbers[piece] for piece in pieces])
        return {word: vector_of[tuple(pieces)] for word, pieces in pieces_of.items()}


def _of_piece(weight: int, data: bytes) -> WordVector:
    """The same as `_of_pieces` for one piece, eight times as fast."""
    nibbles = data.translate(_HIGH) + data.translate(_LOW)
    squares = sum(nibbles.translate(_SQUARES))
    if not squares:
        return WordVector(weight=0, vector=bytes(DIM))
    heavy = min(round(weight * math.sqrt(squares) / SCALE), MOST_WEIGHT)
    return WordVector(weight=heavy, vector=nibbles.translate(_scaled(squares)))


@cache  # many pieces have the same length
def _scaled(squares: int) -> bytes:
    """Each nibble as a byte of a unit vector, for vectors whose nibbles have that sum
    of squares."""
    length = math.sqrt(squares)
    scaled = (round((value - ZERO) * SCALE / length) for value in range(16))
    return bytes(value & 255 for value in scaled) + bytes(240)


def _of_pieces(numbers: Sequence[int]) -> WordVector:
    length, vector = unlaned(sum(numbers))
    weight = min(round(length / SCALE), MOST_WEIGHT)
    return WordVector(weight=weight, vector=vector)


def marked(word: str) -> str:
    """A word in the form in which its pieces are looked up."""
    word = word.lower()
    return word if word >= ASIAN else MARK + word


def _parts(text: str) -> Iterable[str]:
    for start in range(len(text)):
        for end in range(start + 1, min(len(text), start + LONGEST_PIECE) + 1):
            yield text[start:end]


def cut(text: str, known_words: Collection[str]) -> list[str]:
    """The longest known pieces from the beginning on; characters without a piece are
    left out."""
    pieces = []
    start = 0
    while start < len(text):
        piece_end = min(len(text), start + LONGEST_PIECE)
        while piece_end > start and text[start:piece_end] not in known_words:
            piece_end -= 1
        if piece_end > start:
            pieces.append(text[start:piece_end])
        start = max(piece_end, start + 1)
    return pieces if pieces != [MARK] else []


def unpacked(data: bytes) -> bytes:
    """The signed bytes of a vector of nibbles; the first half of it is in the high
    nibbles."""
    nibbles = data.translate(_HIGH) + data.translate(_LOW)
    return nibbles.translate(_SIGNED)


def digest_of(rows: Iterable[tuple[str, int, bytes]]) -> str:
    """The digest of rows of a table (piece, weight, vector), in the order of pieces."""
    import hashlib  # it loads OpenSSL, which no start needs

    digest = hashlib.sha256()
    for piece, weight, data in rows:
        digest.update(f"{piece} {weight} ".encode() + data)
    return digest.hexdigest()
