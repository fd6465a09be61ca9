"""The vectors of an index: filling them, and finding what is near. The SQL of the vector tables is
here.

Every chunk that is chosen to be embedded has a row in `vectors`; its sign bits also stand in
`signs`, 1,024 chunks to a row, so that a search reads a few blobs and compares bits. With the local
embedder the words of the memory have vectors of their own (`words`), which the word-by-word
comparison needs.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, cast

from memcli.errors import ProviderError
from memcli.index.terms import STOP_WORDS
from memcli.memory.words import body_of, word_forms
from memcli.providers.embed import arithmetic as vector
from memcli.providers.embed.arithmetic import DIM
from memcli.storage.sqlite import transaction

if TYPE_CHECKING:
    from memcli.providers.embed import Embedder
    from memcli.providers.embed.local import Local

BLOCK = vector.BLOCK
"""How many chunks share a row of sign bits."""
BATCH = 512
"""How many chunks are embedded and written at a time."""
PAID_BATCH = 128
"""The same for a provider: what it gave before it failed is kept."""
FEW = 64
"""Up to so many chunks are embedded without numpy, whose import would cost more."""
_WIDTH = DIM // 8
"""Bytes of the sign bits of a word."""
_WORDS = -1
"""Blocks of sign bits of words are numbered downward from here, those of chunks upward from 0."""


class Chosen(NamedTuple):
    """Which live chunks are embedded: all, or those of some kinds, types and importance
    (configuration).
    """

    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    importance: float = 0.0

    def condition(self) -> tuple[str, list[str | float]]:
        """As SQL on `chunks`; an entry's own `embed: true` or `false` has the last word."""
        parts, values = (
            ["coalesce(json_extract(metadata, '$.importance'), 0) >= ?"],
            [self.importance],
        )
        for column, given in (("kind", self.kinds), ("type", self.types)):
            if given:
                parts.append(f"{column} IN (SELECT value FROM json_each(?))")
                values.append(json.dumps(given))  # type: ignore[arg-type]
        rule = " AND ".join(parts)
        return f"live = 1 AND coalesce(json_extract(metadata, '$.embed'), {rule})", list(values)


class State(NamedTuple):
    """What the vectors of an index are: of which model, chosen how, and whether any are still
    missing.

    None is missing of the chunks up to number `upto`, so that an edit does not look at all of them.
    """

    provider: str
    model: str
    chosen: str
    whole: bool
    upto: int = 0

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.model}"


class Missing(NamedTuple):
    """A chunk that has no vector yet."""

    rowid: int
    digest: bytes
    title: str
    text: str


class Damaged(Exception):
    """Vectors that cannot be what was written: all of them are to be made anew."""


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
        try:
            return State(*json.loads(row[0])) if row else None
        except (TypeError, ValueError):
            return None

    def _keep(self, state: State) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES ('vectors', ?)", (json.dumps(state),))

    def outdate(self) -> None:
        """Remember, in the running transaction, that chunks were added."""
        state = self.state()
        if state is not None and state.whole:
            self._keep(state._replace(whole=False))

    def dimension(self) -> int:
        """The dimension of the vectors, 0 where there are none."""
        row = self.db.execute("SELECT length(vector) FROM vectors LIMIT 1").fetchone()
        return int(row[0] or 0) if row else 0

    def discard(self, *, wait: float) -> None:
        """Forget every vector, so that the next filling makes them anew; a busy index stays as it
        is.
        """
        self.db.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
        with suppress(sqlite3.OperationalError), transaction(self.db):
            self.clear()

    def clear(self) -> None:
        """Forget every vector, in the running transaction; what was paid for stays in the cache."""
        for table in ("vectors", "signs", "words"):
            self.db.execute(f"DELETE FROM {table}")
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
            f"SELECT count(*) FROM chunks WHERE {where} AND id IN (SELECT chunk FROM vectors)",
            values,
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

        No transaction is open while vectors are made; every batch is written by itself, so that
        work that was interrupted goes on where it stopped. Raises ProviderError, and
        sqlite3.OperationalError when another process keeps the index for longer than `wait`
        seconds.
        """
        self.db.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
        state = self.state()
        if state is None or not self._fits(state, embedder, chosen):
            self._begin(embedder, chosen)
        try:
            return self._fill(embedder, chosen, progress)
        except Damaged:
            self._begin(embedder, chosen)
            return self._fill(embedder, chosen, progress)

    def _begin(self, embedder: Embedder, chosen: Chosen) -> None:
        with transaction(self.db):
            self.clear()
            self._keep(State(embedder.provider, embedder.model, json.dumps(chosen), whole=False))

    def _fill(
        self, embedder: Embedder, chosen: Chosen, progress: Callable[[int, int], None]
    ) -> int:
        state = self.state()
        missing = self._missing(chosen, state.upto if state else 0)
        size = BATCH if embedder.provider == "local" else PAID_BATCH
        for start in range(0, len(missing), size):
            self._embed(embedder, self._texts(missing[start : start + size]))
            progress(min(start + size, len(missing)), len(missing))
        with transaction(self.db):
            state = self.state()
            fits = state is not None and self._fits(state, embedder, chosen)
            if state is not None and fits and not self._missing(chosen, state.upto):
                last = self.db.execute("SELECT coalesce(max(id), 0) FROM chunks").fetchone()[0]
                self._keep(state._replace(whole=True, upto=last))
        return len(missing)

    def _missing(self, chosen: Chosen, upto: int) -> list[int]:
        """The chunks that should have a vector and have none, of those after number `upto`."""
        where, values = chosen.condition()
        rows = self.db.execute(
            f"SELECT id FROM chunks WHERE id > ? AND {where} AND id NOT IN (SELECT chunk FROM vectors)"
            " ORDER BY id",
            [upto, *values],
        )
        return [row[0] for row in rows]

    def _texts(self, rowids: Sequence[int]) -> list[Missing]:
        rows = self.db.execute(
            "SELECT id, digest, title, text FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(rowids),),
        )
        return [Missing(*row) for row in rows]

    def _embed(self, embedder: Embedder, batch: Sequence[Missing]) -> None:
        if not batch:
            return
        if embedder.provider == "local":
            self._embed_words(embedder, batch)  # type: ignore[arg-type]
        else:
            self._embed_texts(embedder, batch)

    def _write(
        self,
        embedder: Embedder,
        batch: Sequence[Missing],
        vectors: Sequence[bytes],
        words: Sequence[bytes] | None = None,
    ) -> None:
        """Write the vectors of chunks that are still what they were, in the running transaction.

        Nothing is written when another process has begun with another model meanwhile.
        """
        state = self.state()
        if state is None or (state.provider, state.model) != (embedder.provider, embedder.model):
            return
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
        self.db.executemany(
            "INSERT OR REPLACE INTO vectors (chunk, vector, words) VALUES (?, ?, ?)", rows
        )
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
        vectors = self._bought(embedder, [embedded_text(item.title, item.text) for item in batch])
        with transaction(self.db):
            self._write(embedder, batch, vectors)

    def of_texts(self, embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
        """The vector of each text; those of a provider come from the cache, or go there.

        Raises ProviderError.
        """
        found: list[bytes] = []
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            if embedder.provider == "local":
                forms = [list(word_forms(text)) for text in batch]
                words = cast("Local", embedder).words({word for own in forms for word in own})
                found += _many_sums(forms, words) if words else [b""] * len(forms)
            else:
                found += self._bought(embedder, batch)
        return found

    def _bought(self, embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
        """The vectors of a provider; what is not in the cache is asked for, and kept there."""
        import numpy as np

        hashes = [content_hash(text) for text in texts]
        known = self.cached(embedder, hashes)
        new = list(dict.fromkeys(h for h in hashes if h not in known))
        if new:
            text_of = dict(zip(hashes, texts, strict=True))
            matrix = embedder.embed([text_of[h] for h in new])
            self._check_dimension(embedder, matrix.shape[1])
            fresh = {
                h: np.asarray(row, "<f4").tobytes() for h, row in zip(new, matrix, strict=True)
            }
            with transaction(self.db):
                self.db.executemany(
                    "INSERT OR REPLACE INTO embedding_cache VALUES (?, ?, ?, ?)",
                    [(h, embedder.provider, embedder.model, data) for h, data in fresh.items()],
                )
            known |= fresh
        vectors = {h: vector.quantise(np.frombuffer(known[h], "<f4").tolist()) for h in set(hashes)}
        return [vectors[h] for h in hashes]

    def _check_dimension(self, embedder: Embedder, found: int) -> None:
        """Raise ProviderError when a model has changed behind its name."""
        row = self.db.execute(
            "SELECT length(vector) / 4 FROM embedding_cache WHERE provider = ? AND model = ? LIMIT 1",
            (embedder.provider, embedder.model),
        ).fetchone()
        if row and row[0] != found:
            raise ProviderError(
                f"{embedder.provider} embeddings: {embedder.model} gives vectors of dimension {found}, "
                f"not {row[0]} as before",
                "if the model is another one now, delete the index and run mem index",
            )

    def cached(self, embedder: Embedder, hashes: Sequence[str]) -> dict[str, bytes]:
        """What was paid for before, by content."""
        rows = self.db.execute(
            "SELECT hash, vector FROM embedding_cache WHERE provider = ? AND model = ?"
            " AND hash IN (SELECT value FROM json_each(?))",
            (embedder.provider, embedder.model, json.dumps(hashes)),
        )
        return dict(rows.fetchall())

    # words, locally

    def _embed_words(self, local: Local, batch: Sequence[Missing]) -> None:
        forms = [list(word_forms(embedded_text(item.title, item.text))) for item in batch]
        distinct = {word for words in forms for word in words}
        weighted = {word: row[1:] for word, row in self._known(distinct).items()}
        new = local.words(distinct - weighted.keys())
        weighted |= {word: (own.weight, own.vector) for word, own in new.items()}
        sums = _sums if len(batch) <= FEW else _many_sums
        vectors = sums(forms, weighted)
        with transaction(self.db):
            ids = self._numbered(weighted)
            words = [
                array("I", _distinct(ids[word] for word in own if is_content(word)))
                for own in forms
            ]
            self._write(local, batch, vectors, [own.tobytes() for own in words])

    def _numbered(self, weighted: Mapping[str, tuple[int, bytes]]) -> dict[str, int]:
        """The id of each word; new ones are written down, in the running transaction."""
        known = self._ids(weighted)
        new = sorted(weighted.keys() - known.keys())
        if new:
            self.db.executemany(
                "INSERT INTO words (word, weight, vector) VALUES (?, ?, ?)",
                [(word, *weighted[word]) for word in new],
            )
            known |= self._ids(new)
            self._mark({known[word]: vector.signs(weighted[word][1]) for word in new}, first=_WORDS)
        return known

    def _ids(self, words: Collection[str]) -> dict[str, int]:
        rows = self.db.execute(
            "SELECT word, id FROM words WHERE word IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(words)),),
        )
        return dict(rows.fetchall())

    def _known(self, words: Collection[str]) -> dict[str, tuple[int, int, bytes]]:
        rows = self.db.execute(
            "SELECT word, id, weight, vector FROM words WHERE word IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(words)),),
        )
        return {row[0]: (row[1], row[2], _sound(row[3], DIM)) for row in rows}

    # --- searching

    def nearest(
        self, query: bytes, most: int, *, allowed: Collection[int] | None, denied: Collection[int]
    ) -> list[int]:
        """The chunks whose sign bits differ least from those of `query`; `allowed` None: all but
        `denied`.
        """
        bits, width = int.from_bytes(vector.signs(query), "little"), (len(query) + 7) // 8
        empty = bits.bit_count()  # the distance to a place that holds no chunk
        found: dict[int, int] = {}
        for block, data in self.db.execute("SELECT block, bits FROM signs WHERE block >= 0"):
            apart = vector.distances(bits, _sound(data, len(data) // width * width), width)
            found.update(enumerate(apart, block * BLOCK))
            if empty in apart:
                for place in range(len(apart)):
                    if apart[place] == empty and not any(data[place * width : (place + 1) * width]):
                        del found[block * BLOCK + place]
        if allowed is not None:
            found = {rowid: found[rowid] for rowid in allowed if rowid in found}
        for rowid in denied:
            found.pop(rowid, None)
        return vector.nearest(found, most)

    def load(self, rowids: Iterable[int], dimension: int) -> dict[int, Near]:
        """The vectors of these chunks, as far as they have any. Raises Damaged."""
        rows = self.db.execute(
            "SELECT chunk, vector, words FROM vectors WHERE chunk IN (SELECT value FROM json_each(?))",
            (json.dumps(list(rowids)),),
        )
        return {
            rowid: Near(_sound(data, dimension), array("I", _sound(words, len(words) // 4 * 4)))
            for rowid, data, words in rows
        }

    def of_entries(self, entries: Iterable[str]) -> dict[str, bytes]:
        """The vector of each entry that has one: that of its first chunk."""
        rows = self.db.execute(
            "SELECT c.entry, min(v.vector) FROM chunks AS c JOIN vectors AS v ON v.chunk = c.id"
            " WHERE c.part = 0 AND c.entry IN (SELECT value FROM json_each(?)) GROUP BY c.entry",
            (json.dumps(list(entries)),),
        )
        return dict(rows.fetchall())

    def words(self, words: Collection[str]) -> dict[str, tuple[int, int, bytes]]:
        """(id, weight, vector) of the words that stand in the memory. Raises Damaged."""
        return self._known(words)

    def word_bits(self, ids: Sequence[int]) -> list[int]:
        """The sign bits of words, as numbers. Raises Damaged where there are none."""
        blocks = {number // BLOCK for number in ids}
        data = dict(
            self.db.execute(
                "SELECT block, bits FROM signs WHERE block IN (SELECT value FROM json_each(?))",
                (json.dumps([_WORDS - block for block in blocks]),),
            ).fetchall()
        )
        places = [(_WORDS - i // BLOCK, i % BLOCK * _WIDTH) for i in ids]
        if any(place + _WIDTH > len(data.get(block, b"")) for block, place in places):
            raise Damaged
        number = int.from_bytes
        return [number(data[block][place : place + _WIDTH], "little") for block, place in places]

    def word_vectors(self, ids: Collection[int]) -> dict[int, bytes]:
        """The vectors of words by their ids. Raises Damaged where there are none."""
        rows = self.db.execute(
            "SELECT id, vector FROM words WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        found = {row[0]: _sound(row[1], DIM) for row in rows}
        if len(found) < len(ids):
            raise Damaged
        return found


def _sound(data: bytes, size: int) -> bytes:
    """`data`, which is a blob of that size, or it is damaged."""
    if not isinstance(data, bytes) or len(data) != size:
        raise Damaged
    return data


def embedded_text(title: str, text: str) -> str:
    """What of a chunk is embedded: its title once, and the body without the heading that repeats
    it.
    """
    return f"{title}\n{body_of(text, title)}"


def content_hash(text: str) -> str:
    from hashlib import blake2b  # loads OpenSSL

    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def is_content(word: str) -> bool:
    """Whether a word says what a text is about."""
    return word.lower() not in STOP_WORDS


def _distinct(ids: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(ids))


def _sums(forms: Sequence[Sequence[str]], weighted: Mapping[str, tuple[int, bytes]]) -> list[bytes]:
    """The vector of each text: the sum of the weighted vectors of its words; zeros without any."""
    return [
        vector.quantise(vector.weighted_sum(weighted[word] for word in words))
        if words
        else bytes(DIM)
        for words in forms
    ]


def _many_sums(
    forms: Sequence[Sequence[str]], weighted: Mapping[str, tuple[int, bytes]]
) -> list[bytes]:
    """`_sums` for many texts, to the same bytes: all sums are of whole numbers below 2^53."""
    import numpy as np

    from memcli.providers.embed.local import quantised

    place = {word: i for i, word in enumerate(weighted)}
    table = np.frombuffer(b"".join(own[1] for own in weighted.values()), np.int8).reshape(-1, DIM)
    scaled = table * np.array([own[0] for own in weighted.values()], np.float64)[:, None]
    cells = [row * len(place) + place[word] for row, words in enumerate(forms) for word in words]
    counts = np.bincount(np.array(cells, np.int64), minlength=len(forms) * len(place))
    sums = counts.reshape(len(forms), -1).astype(np.float64) @ scaled
    vectors, _ = quantised(sums.astype(np.int64))
    return [row.tobytes() for row in vectors]
