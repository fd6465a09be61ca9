"""The vectors of an index: what they are of, and finding what is near and similar.

Sign bits also stand in `signs`, 1,024 chunks (or words) to a row: a search reads a few
blobs."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING

from memcli.index.fulltext import old_ones
from memcli.index.lexical import STOP_WORDS
from memcli.index.sql import first_column, json_list
from memcli.index.whole import changing
from memcli.memory import arithmetic as vector
from memcli.memory.arithmetic import DIM
from memcli.memory.words import body_of
from memcli.named import NamedTuple
from memcli.storage.files import ONE_OF

if TYPE_CHECKING:
    from memcli.providers.embed import Embedder


BLOCK = 1024  # how many chunks share a row of sign bits
WORDS = (
    -1
)  # blocks of words are numbered downward from here, those of chunks upward from 0
_WIDTH = DIM // 8  # bytes of the sign bits of a word


class Chosen(NamedTuple):
    """Which live chunks are embedded: all, or those of some kinds, types and
    importance."""

    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    importance: float = 0.0

    def condition(self) -> tuple[str, list[str | float]]:
        """As SQL on `chunks`; an entry's own `embed: true` or `false` has the last
        word."""
        rule = "coalesce(json_extract(metadata, '$.importance'), 0) >= ?"
        values: list[str | float] = [self.importance]
        for column, given in (("kind", self.kinds), ("type", self.types)):
            if given:
                rule += f" AND {column} {ONE_OF}"
                values.append(json.dumps(given))
        return (
            f"live = 1 AND coalesce(json_extract(metadata, '$.embed'), {rule})",
            values,
        )


class VectorState(NamedTuple):
    """Of which model the vectors are, chosen how; `whole`: none is missing of chunks to
    `upto`."""

    provider: str
    model: str
    chosen: str
    whole: bool
    upto: int = 0

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.model}"

    def fits(self, embedder: Embedder, chosen: Chosen) -> bool:
        """Whether these are vectors of that model, of chunks chosen so."""
        same = (self.provider, self.model) == (embedder.provider, embedder.model)
        return same and self.chosen == json.dumps(chosen)


class Damaged(Exception):
    """Vectors that cannot be what was written: all of them are to be made anew."""


class Near(NamedTuple):
    """A chunk's vector, and the ids of its distinct content words (local embedder)."""

    vector: bytes
    words: array[int]


class Vectors:
    """The vector tables of an open index."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def state(self) -> VectorState | None:
        """None before anything was embedded."""
        row = self.db.execute("SELECT value FROM meta WHERE key = 'vectors'").fetchone()
        with suppress(TypeError, ValueError):
            return VectorState(*json.loads(row[0])) if row else None
        return None

    def keep(self, state: VectorState) -> None:
        """Write down what the vectors are, in the running transaction."""
        self.db.execute(
            "INSERT OR REPLACE INTO meta VALUES ('vectors', ?)", (json.dumps(state),)
        )

    def dimension(self) -> int:
        """The dimension of the vectors, 0 where there are none."""
        row = self.db.execute(
            "SELECT max(length(vector)) FROM (SELECT vector FROM vectors LIMIT 1)"
        )
        return row.fetchone()[0] or 0

    def count(self, chosen: Chosen) -> tuple[int, int]:
        """(chunks that have a vector, chunks that should)."""
        where, values = chosen.condition()
        have = "coalesce(sum(id IN (SELECT chunk FROM vectors)), 0)"
        select = f"SELECT {have}, count(*) FROM chunks WHERE {where}"
        counts: tuple[int, int] = self.db.execute(select, values).fetchone()
        return counts

    def discard(self, *, wait: float) -> None:
        """Forget every vector, so that the next filling makes them anew; not of a busy
        index."""
        self.db.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
        with suppress(sqlite3.OperationalError), changing(self.db):
            self.clear()

    def clear(self) -> None:
        """Forget every vector, in the running transaction; what was paid for stays in
        the cache."""
        for table in ("vectors", "signs", "words"):
            self.db.execute(f"DELETE FROM {table}")
        self.db.execute("DELETE FROM meta WHERE key = 'vectors'")

    def forget(self, rowids: Sequence[int]) -> None:
        """Drop the vectors of chunks that are deleted in the running transaction."""
        delete = f"DELETE FROM vectors WHERE chunk {ONE_OF} RETURNING chunk, vector"
        gone = self.db.execute(delete, (json.dumps(rowids),)).fetchall()
        self.mark({rowid: bytes((len(data) + 7) // 8) for rowid, data in gone})

    def mark(self, bits: Mapping[int, bytes], *, first: int = 0) -> None:
        """Put sign bits into blocks, in the running transaction; `first` is the block
        of id 0."""
        blocks: dict[int, dict[int, bytes]] = {}
        for number, word_bits in bits.items():
            blocks.setdefault(number // BLOCK, {})[number % BLOCK] = word_bits
        for block, places in blocks.items():
            number = first - block if first < 0 else block
            row = self.db.execute(
                "SELECT bits FROM signs WHERE block = ?", (number,)
            ).fetchone()
            width = len(next(iter(places.values())))
            data = bytearray(row[0]) if row else bytearray()
            data.extend(bytes(max(0, (max(places) + 1) * width - len(data))))
            for place, word_bits in places.items():
                data[place * width : (place + 1) * width] = word_bits
            self.db.execute(
                "INSERT OR REPLACE INTO signs VALUES (?, ?)", (number, bytes(data))
            )

    def nearest(
        self,
        query: bytes,
        most: int,
        *,
        allowed: Collection[int] | None,
        denied: Collection[int],
    ) -> list[int]:
        """The chunks whose sign bits differ least from those of `query`, of very many
        that differ alike the newest; `allowed` None: all."""
        distances = self._distances(query)
        if allowed is not None:
            distances = {
                rowid: distances[rowid] for rowid in allowed if rowid in distances
            }
        for rowid in denied:
            distances.pop(rowid, None)
        near = vector.nearest(distances, most)
        last = max((distances[rowid] for rowid in near), default=0)
        old = old_ones(self.db, [rowid for rowid in near if distances[rowid] == last])
        return [rowid for rowid in near if rowid not in old]

    def _distances(self, query: bytes) -> dict[int, int]:
        """In how many sign bits each chunk differs from `query`. Raises Damaged."""
        bits = int.from_bytes(vector.signs(query))
        width = (len(query) + 7) // 8
        of_empty = bits.bit_count()  # as far as a place without a chunk
        distances: dict[int, int] = {}
        select = "SELECT block, bits FROM signs WHERE block >= 0"
        for block, data in self.db.execute(select):
            whole = _sound(data, len(data) // width * width)
            apart = vector.distances(bits, whole, width)
            distances.update(enumerate(apart, block * BLOCK))
            for place, distance in enumerate(apart):
                if distance == of_empty:
                    start = place * width
                    if not any(data[start : start + width]):
                        del distances[block * BLOCK + place]
        return distances

    def load(self, rowids: Iterable[int], dimension: int) -> dict[int, Near]:
        """The vectors of these chunks, as far as they have any. Raises Damaged."""
        rows = self.db.execute(
            f"SELECT chunk, vector, words FROM vectors WHERE chunk {ONE_OF}",
            (json_list(rowids),),
        )
        return {
            rowid: Near(
                _sound(data, dimension), array("I", _sound(words, len(words) // 4 * 4))
            )
            for rowid, data, words in rows
        }

    def words(self, words: Collection[str]) -> dict[str, tuple[int, int, bytes]]:
        """(id, weight, vector) of the words that stand in the memory. Raises
        Damaged."""
        rows = self.db.execute(
            f"SELECT word, id, weight, vector FROM words WHERE word {ONE_OF}",
            (json_list(words),),
        )
        return {
            word: (word_id, weight, _sound(data, DIM))
            for word, word_id, weight, data in rows
        }

    def word_ids(self) -> list[int]:
        """The ids of all words that stand in the memory."""
        return first_column(self.db.execute("SELECT id FROM words ORDER BY id"))

    def written(self, ids: Collection[int]) -> dict[int, str]:
        """The words with these ids that say what a text is about."""
        select = f"SELECT id, word FROM words WHERE id {ONE_OF}"
        rows = self.db.execute(select, (json_list(ids),))
        return {word_id: word for word_id, word in rows if is_content(word)}

    def word_bits(self, ids: Sequence[int]) -> list[int]:
        """The sign bits of words, as numbers. Raises Damaged where there are none."""
        select = f"SELECT block, bits FROM signs WHERE block {ONE_OF}"
        blocks = json_list({WORDS - i // BLOCK for i in ids})
        data = dict(self.db.execute(select, (blocks,)).fetchall())
        sign_bits = list[int]()
        for block, own in groupby(ids, lambda i: i // BLOCK):
            bits = data.get(WORDS - block, b"")
            places = [i % BLOCK * _WIDTH for i in own]
            if max(places) + _WIDTH > len(bits):
                raise Damaged
            sign_bits += map(
                int.from_bytes, [bits[place : place + _WIDTH] for place in places]
            )
        return sign_bits

    def word_vectors(self, ids: Collection[int]) -> dict[int, bytes]:
        """The vectors of words by their ids. Raises Damaged where there are none."""
        select = f"SELECT id, vector FROM words WHERE id {ONE_OF}"
        rows = self.db.execute(select, (json_list(ids),))
        by_id = {word_id: _sound(data, DIM) for word_id, data in rows}
        if len(by_id) < len(ids):
            raise Damaged
        return by_id


def _sound(data: bytes, size: int) -> bytes:
    if not isinstance(data, bytes) or len(data) != size:
        raise Damaged
    return data


def embedded_text(title: str, text: str) -> str:
    """What of a chunk is embedded: its title once, and the body without a heading like
    it."""
    return f"{title}\n{body_of(text, title)}"


def is_content(word: str) -> bool:
    """Whether a word says what a text is about."""
    return word.lower() not in STOP_WORDS


NEIGHBOURS = 3
LEAST = 0.80  # the cosine from which two entries are similar
# up to so many entries are looked for in the sign bits of the index
FEW = 64
CLOSE = 200  # of so many of the nearest by sign bits each of a few is compared exactly
MANY = 16  # so many that are near to one entry are held at most
Edge = tuple[str, str, float]  # two entries and the cosine of their vectors


def similar(db: sqlite3.Connection, entries: Collection[str]) -> list[Edge]:
    """The edges that lead from these entries to what is similar to them, the nearest
    first."""
    if len(entries) > FEW:
        return list(_at_once(db, entries))
    edges = []
    vectors = Vectors(db)
    names = f"SELECT DISTINCT entry FROM chunks WHERE part = 0 AND id {ONE_OF}"
    for name, own_vector in copies(db, entries):
        if any(own_vector):
            close = vectors.nearest(own_vector, CLOSE, allowed=None, denied=())
            others = first_column(db.execute(names, (json_list(close),)))
            cosines = vector.cosines(own_vector, dict(copies(db, others)))
            edges += _best(name, cosines)
    return edges


def copies(
    db: sqlite3.Connection, entries: Iterable[str] | None = None
) -> Iterator[tuple[str, bytes]]:
    """(entry, vector) of the first copy of each of these entries; without them of all
    there are."""
    which = "" if entries is None else f"AND c.entry {ONE_OF}"
    return db.execute(
        "SELECT c.entry, min(v.vector) FROM chunks AS c JOIN vectors AS v ON v.chunk = c.id"
        f" WHERE c.part = 0 {which} GROUP BY c.entry ORDER BY c.entry",
        () if entries is None else (json_list(entries),),
    )


def _best(entry: str, cosines: Mapping[str, float]) -> list[Edge]:
    close = [
        (entry, neighbour, min(cosine, 1.0))
        for neighbour, cosine in cosines.items()
        if cosine >= LEAST and neighbour != entry
    ]
    return sorted(close, key=_nearest_first)[:NEIGHBOURS]


def _nearest_first(edge: Edge) -> tuple[float, str]:
    _, neighbour, cosine = edge
    return -cosine, neighbour


def _at_once(db: sqlite3.Connection, entries: Collection[str]) -> Iterator[Edge]:
    known = dict(copies(db))
    names = list(known)
    near: list[dict[str, float]] = [{} for _ in names]
    least = [LEAST] * len(names)  # what is not as near as that is none of the nearest
    for place, later in vector.alike(list(known.values()), LEAST):
        for other, cosine in later.items():
            if cosine >= least[place]:
                near[place][names[other]] = cosine
                least[place] = _without_the_far(near[place], least[place])
            if cosine >= least[other]:
                near[other][names[place]] = cosine
                least[other] = _without_the_far(near[other], least[other])
    asked = set(entries)
    for name, cosines in zip(names, near, strict=True):
        if name in asked:
            yield from _best(name, cosines)


def _without_the_far(nearest: dict[str, float], least: float) -> float:
    """Drop all but the nearest once there are many; returns how near one must be."""
    if len(nearest) < MANY:
        return least
    best = _best("", nearest)
    nearest.clear()
    nearest.update((other, cosine) for _, other, cosine in best)
    return best[-1][2]


def have_similar(db: sqlite3.Connection, entries: Collection[str]) -> set[str]:
    """Those of these entries to which another is similar."""
    known = dict(copies(db))
    names = list(known)
    asked = set(entries)
    places = [place for place, name in enumerate(names) if name in asked]
    alike = vector.has_alike(list(known.values()), places, LEAST)
    return {names[place] for place in alike}
