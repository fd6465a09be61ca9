"""The vectors of an index: filling them, and finding what is near. The SQL of the vector tables is here.

Every chunk that is chosen to be embedded has a row in `vectors`; its sign bits also stand in `signs`,
1,024 chunks to a row, so that a search reads a few blobs and compares bits. With the local embedder
the words of the memory have vectors of their own (`words`), which the word-by-word comparison needs.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from memcli import vector
from memcli.query import STOP_WORDS
from memcli.words import word_forms

if TYPE_CHECKING:
    from memcli.embed import Embedder
    from memcli.embed.local import Local

BLOCK = 1024
"""How many chunks share a row of sign bits."""
BATCH = 512
"""How many chunks are embedded and written at a time."""
FEW = 64
"""Up to so many chunks are embedded without numpy, whose import would cost more."""
_WORDS = -1
"""Blocks of sign bits of words are numbered downward from here, those of chunks upward from 0."""


class Chosen(NamedTuple):
    """Which live chunks are embedded: all, or those of some kinds, types and importance (configuration)."""

    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    importance: float = 0.0

    def condition(self) -> tuple[str, list[str | float]]:
        """As SQL on `chunks`; an entry's own `embed: true` or `false` has the last word."""
        parts, values = ["coalesce(json_extract(metadata, '$.importance'), 0) >= ?"], [self.importance]
        for column, given in (("kind", self.kinds), ("type", self.types)):
            if given:
                parts.append(f"{column} IN (SELECT value FROM json_each(?))")
                values.append(json.dumps(given))  # type: ignore[arg-type]
        rule = " AND ".join(parts)
        return f"live = 1 AND coalesce(json_extract(metadata, '$.embed'), {rule})", list(values)


class State(NamedTuple):
    """What the vectors of an index are: of which model, chosen how, and whether any are still missing."""

    provider: str
    model: str
    chosen: str
    whole: bool

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.model}"


class Missing(NamedTuple):
    """A chunk that has no vector yet."""

    rowid: int
    digest: bytes
    title: str
    text: str


class Near(NamedTuple):
    """A chunk's vector, and the ids of its distinct words that are no stop words (local embedder)."""

    vector: bytes
    words: array[int]


class Vectors:
    """The vector tables of an open index."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    # --- state

    def state(self) -> State | None:
        """None before anything was embedded."""
        row = self.db.execute("SELECT value FROM meta WHERE key = 'vectors'").fetchone()
        return State(*json.loads(row[0])) if row else None

    def _keep(self, state: State) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES ('vectors', ?)", (json.dumps(state),))

    def outdate(self) -> None:
        """Remember, in the running transaction, that chunks were added."""
        state = self.state()
        if state is not None and state.whole:
            self._keep(state._replace(whole=False))

    def clear(self) -> None:
        """Forget every vector, in the running transaction; what was paid for stays in the cache."""
        for table in ("vectors", "signs", "words"):
            self.db.execute(f"DELETE FROM {table}")
        self.db.execute("DELETE FROM relations WHERE relation = 'similar'")
        self.db.execute("DELETE FROM meta WHERE key = 'vectors'")

    def forget(self, rowids: Sequence[int]) -> None:
        """Drop the vectors of chunks that are deleted in the running transaction."""
        chosen = (json.dumps(rowids),)
        gone = self.db.execute(
            "DELETE FROM vectors WHERE chunk IN (SELECT value FROM json_each(?)) RETURNING chunk, vector",
            chosen,
        ).fetchall()
        if gone:
            width = (len(gone[0][1]) + 7) // 8
            self._mark({rowid: bytes(width) for rowid, _ in gone})

    def count(self, chosen: Chosen) -> tuple[int, int]:
        """(chunks that have a vector, chunks that should)."""
        where, values = chosen.condition()
        should = self.db.execute(f"SELECT count(*) FROM chunks WHERE {where}", values).fetchone()[0]
        have = self.db.execute(
            f"SELECT count(*) FROM chunks WHERE {where} AND id IN (SELECT chunk FROM vectors)", values
        ).fetchone()[0]
        return have, should

    # --- filling

    def due(self, embedder: Embedder, chosen: Chosen) -> bool:
        """Whether anything has to be embedded."""
        state = self.state()
        return state is None or not state.whole or not self._fits(state, embedder, chosen)

    @staticmethod
    def _fits(state: State, embedder: Embedder, chosen: Chosen) -> bool:
        same = (state.provider, state.model) == (embedder.provider, embedder.model)
        return same and state.chosen == json.dumps(chosen)

    def fill(
        self,
        embedder: Embedder,
        chosen: Chosen,
        *,
        wait: float,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> int:
        """Embed what has no vector yet, and return how many chunks that were.

        No transaction is open while vectors are made; every batch is written by itself, so that work
        that was interrupted goes on where it stopped. Raises ProviderError, and sqlite3.OperationalError
        when another process keeps the index for longer than `wait` seconds.
        """
        self.db.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
        state = self.state()
        if state is None or not self._fits(state, embedder, chosen):
            with self._transaction():
                self.clear()
                self._keep(State(embedder.provider, embedder.model, json.dumps(chosen), whole=False))
        missing = self._missing(chosen)
        for start in range(0, len(missing), BATCH):
            self._embed(embedder, self._texts(missing[start : start + BATCH]))
            progress(min(start + BATCH, len(missing)), len(missing))
        with self._transaction():
            state = self.state()
            if state is not None and not self._missing(chosen):
                self._keep(state._replace(whole=True))
        return len(missing)

    def _missing(self, chosen: Chosen) -> list[int]:
        """The chunks that should have a vector and have none."""
        where, values = chosen.condition()
        rows = self.db.execute(
            f"SELECT id FROM chunks WHERE {where} AND id NOT IN (SELECT chunk FROM vectors) ORDER BY id",
            values,
        )
        return [row[0] for row in rows]

    def _texts(self, rowids: Sequence[int]) -> list[Missing]:
        rows = self.db.execute(
            "SELECT id, digest, title, text FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(rowids),),
        )
        return [Missing(*row) for row in rows]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def _embed(self, embedder: Embedder, batch: Sequence[Missing]) -> None:
        if not batch:
            return
        if embedder.provider == "local":
            self._embed_words(embedder, batch)  # type: ignore[arg-type]
        else:
            self._embed_texts(embedder, batch)

    def _write(
        self, batch: Sequence[Missing], vectors: Sequence[bytes], words: Sequence[bytes] | None = None
    ) -> None:
        """Write the vectors of chunks that are still what they were, in the running transaction."""
        ids = json.dumps([item.rowid for item in batch])
        now = dict(
            self.db.execute(
                "SELECT id, digest FROM chunks WHERE id IN (SELECT value FROM json_each(?))", (ids,)
            ).fetchall()
        )
        rows = [
            (item.rowid, vectors[i], words[i] if words else b"")
            for i, item in enumerate(batch)
            if now.get(item.rowid) == item.digest
        ]
        self.db.executemany("INSERT OR REPLACE INTO vectors (chunk, vector, words) VALUES (?, ?, ?)", rows)
        self._mark({rowid: vector.signs(data) for rowid, data, _ in rows})

    def _mark(self, bits: Mapping[int, bytes], *, first: int = 0) -> None:
        """Put sign bits into their blocks; `first` is the number of the block of id 0."""
        blocks: dict[int, dict[int, bytes]] = {}
        for number, own in bits.items():
            blocks.setdefault(number // BLOCK, {})[number % BLOCK] = own
        for block, places in blocks.items():
            number = first - block if first < 0 else block
            row = self.db.execute("SELECT bits FROM signs WHERE block = ?", (number,)).fetchone()
            width = len(next(iter(places.values())))
            data = bytearray(row[0]) if row else bytearray()
            data.extend(bytes(max(0, (max(places) + 1) * width - len(data))))
            for place, own in places.items():
                data[place * width : (place + 1) * width] = own
            self.db.execute("INSERT OR REPLACE INTO signs VALUES (?, ?)", (number, bytes(data)))

    # texts, by a provider

    def _embed_texts(self, embedder: Embedder, batch: Sequence[Missing]) -> None:
        import numpy as np

        texts = [embedded_text(item.title, item.text) for item in batch]
        hashes = [content_hash(text) for text in texts]
        known = self._cached(embedder, hashes)
        new = list(dict.fromkeys(h for h in hashes if h not in known))
        if new:
            text_of = dict(zip(hashes, texts, strict=True))
            matrix = embedder.embed([text_of[h] for h in new])
            fresh = {h: np.asarray(row, "<f4").tobytes() for h, row in zip(new, matrix, strict=True)}
            with self._transaction():
                self.db.executemany(
                    "INSERT OR REPLACE INTO embedding_cache VALUES (?, ?, ?, ?)",
                    [(h, embedder.provider, embedder.model, data) for h, data in fresh.items()],
                )
            known |= fresh
        vectors = {h: vector.quantise(array("f", known[h])) for h in set(hashes)}
        with self._transaction():
            self._write(batch, [vectors[h] for h in hashes])

    def _cached(self, embedder: Embedder, hashes: Sequence[str]) -> dict[str, bytes]:
        rows = self.db.execute(
            "SELECT hash, vector FROM embedding_cache WHERE provider = ? AND model = ?"
            " AND hash IN (SELECT value FROM json_each(?))",
            (embedder.provider, embedder.model, json.dumps(hashes)),
        )
        return dict(rows.fetchall())

    # words, locally

    def _embed_words(self, local: Local, batch: Sequence[Missing]) -> None:
        forms = [list(word_forms(embedded_text(item.title, item.text))) for item in batch]
        ids, weighted = self._learn(local, {word for words in forms for word in words})
        sums = _sums if len(batch) <= FEW else _many_sums
        vectors = sums(forms, weighted)
        words = [array("I", _distinct(ids[word] for word in own if is_content(word))) for own in forms]
        with self._transaction():
            self._write(batch, vectors, [own.tobytes() for own in words])

    def _learn(self, local: Local, words: set[str]) -> tuple[dict[str, int], dict[str, tuple[int, bytes]]]:
        """Ids and vectors of these words; new ones are written down."""
        known = self._known(words)
        new = local.words(words - known.keys())
        if new:
            with self._transaction():
                self.db.executemany(
                    "INSERT OR IGNORE INTO words (word, weight, vector) VALUES (?, ?, ?)",
                    [(word, *own) for word, own in sorted(new.items())],
                )
                known |= self._known(set(new))
                self._mark(
                    {known[word][0]: vector.signs(own.vector) for word, own in new.items()}, first=_WORDS
                )
        return {word: row[0] for word, row in known.items()}, {word: row[1:] for word, row in known.items()}

    def _known(self, words: Collection[str]) -> dict[str, tuple[int, int, bytes]]:
        rows = self.db.execute(
            "SELECT word, id, weight, vector FROM words WHERE word IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(words)),),
        )
        return {row[0]: row[1:] for row in rows}

    # --- searching

    def nearest(
        self, query: bytes, most: int, *, allowed: Collection[int] | None, denied: Collection[int]
    ) -> list[int]:
        """The chunks whose sign bits differ least from those of `query`; `allowed` None: all but `denied`."""
        bits, width = int.from_bytes(vector.signs(query), "little"), (len(query) + 7) // 8
        empty = bits.bit_count()  # the distance to a place that holds no chunk
        found: dict[int, int] = {}
        for block, data in self.db.execute("SELECT block, bits FROM signs WHERE block >= 0"):
            apart = vector.distances(bits, data, width)
            found.update(
                (block * BLOCK + place, distance)
                for place, distance in enumerate(apart)
                if distance != empty or any(data[place * width : (place + 1) * width])
            )
        if allowed is not None:
            found = {rowid: found[rowid] for rowid in allowed if rowid in found}
        for rowid in denied:
            found.pop(rowid, None)
        return vector.nearest(found, most)

    def load(self, rowids: Iterable[int]) -> dict[int, Near]:
        """The vectors of these chunks, as far as they have any."""
        rows = self.db.execute(
            "SELECT chunk, vector, words FROM vectors WHERE chunk IN (SELECT value FROM json_each(?))",
            (json.dumps(list(rowids)),),
        )
        return {rowid: Near(data, array("I", words)) for rowid, data, words in rows}

    def words(self, words: Collection[str]) -> dict[str, tuple[int, int, bytes]]:
        """(id, weight, vector) of the words that stand in the memory."""
        return self._known(words)

    def word_bits(self, ids: Sequence[int]) -> list[int]:
        """The sign bits of words, as numbers."""
        blocks = {number // BLOCK for number in ids}
        data = dict(
            self.db.execute(
                "SELECT block, bits FROM signs WHERE block IN (SELECT value FROM json_each(?))",
                (json.dumps([_WORDS - block for block in blocks]),),
            ).fetchall()
        )
        number = int.from_bytes
        width = 32
        return [
            number(data[_WORDS - i // BLOCK][i % BLOCK * width : i % BLOCK * width + width], "little")
            for i in ids
        ]

    def word_vectors(self, ids: Iterable[int]) -> dict[int, bytes]:
        rows = self.db.execute(
            "SELECT id, vector FROM words WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return dict(rows.fetchall())


def embedded_text(title: str, text: str) -> str:
    """What of a chunk is embedded: its title once, and the body without the heading that repeats it."""
    from memcli.block import body_of

    return f"{title}\n{body_of(text, title)}"


def content_hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def is_content(word: str) -> bool:
    """Whether a word says what a text is about."""
    return word.lower() not in STOP_WORDS


def _distinct(ids: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(ids))


def _sums(forms: Sequence[Sequence[str]], weighted: Mapping[str, tuple[int, bytes]]) -> list[bytes]:
    """The vector of each text: the sum of the weighted vectors of its words."""
    dim = len(next(iter(weighted.values()))[1]) if weighted else 0
    return [
        vector.quantise(vector.weighted_sum(weighted[word] for word in words)) if words else bytes(dim or 256)
        for words in forms
    ]


def _many_sums(forms: Sequence[Sequence[str]], weighted: Mapping[str, tuple[int, bytes]]) -> list[bytes]:
    """`_sums` for many texts, to the same bytes: all sums are of whole numbers below 2^53."""
    import numpy as np

    from memcli.embed.local import DIM, quantised

    place = {word: i for i, word in enumerate(weighted)}
    table = np.frombuffer(b"".join(own[1] for own in weighted.values()), np.int8).reshape(-1, DIM)
    scaled = table * np.array([own[0] for own in weighted.values()], np.float64)[:, None]
    counts = np.zeros((len(forms), len(place)))
    for row, words in enumerate(forms):
        np.add.at(counts[row], [place[word] for word in words], 1.0)
    vectors, _ = quantised((counts @ scaled).astype(np.int64))
    return [row.tobytes() for row in vectors]
