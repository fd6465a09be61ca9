"""Making the vectors of an index: of words by the local embedder, else of texts,
cached."""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, cast

from memcli.errors import ProviderError
from memcli.index import vectors as kept
from memcli.index.database import Progress
from memcli.index.sql import first_column, json_list, newest_chunk, number_of
from memcli.index.vectors import WORDS, Chosen, Damaged, Vectors, VectorState
from memcli.index.whole import changing
from memcli.memory import arithmetic as vector
from memcli.memory.words import low_forms
from memcli.storage.files import ONE_OF
from memcli.text.digests import digest

if TYPE_CHECKING:
    from memcli.providers.embed import Embedder
    from memcli.providers.embed.local import Local

BATCH = 512  # how many chunks are embedded and written at a time
PAID_BATCH = 128  # the same for a provider: what it gave before it failed is kept
_EMBEDDED = "CASE around WHEN '' THEN text ELSE substr(around, 1, instr(around, char(12)) - 1) END"
"""A bullet is embedded with what it stands among."""
MOST_NUMBERS = 30_000  # words whose numbers are kept: 2 KB each
Weighted = dict[str, tuple[int, bytes]]  # word -> (weight, vector)


class Words:
    """The words of the texts that are embedded: their vectors, the numbers by which
    these are summed, and their ids in the index."""

    def __init__(self) -> None:
        self.weighted: Weighted = {}
        self.numbers: dict[str, int] = {}
        self.ids: dict[str, int] = {}
        self.content: dict[str, int] = {}  # of those that say what a text is about
        self.version = 0  # of the index as others have written it

    def sums(self, forms: Sequence[Sequence[str]]) -> list[bytes]:
        """The vector of each text, a list of words: the weighted sum of theirs."""
        distinct = set(chain.from_iterable(forms))
        if len(self.numbers) + len(distinct) > MOST_NUMBERS:
            self.numbers = {
                word: self.numbers[word] for word in distinct & self.numbers.keys()
            }
        for word in distinct - self.numbers.keys():
            self.numbers[word] = vector.lanes(*self.weighted[word])
        number = self.numbers.__getitem__
        most = vector.MOST_SUMMED
        sums = [sum(map(number, words[:most])) for words in forms]
        return [vector.unlaned(total)[1] for total in sums]


class Missing(NamedTuple):
    """A chunk that has no vector yet; `embedded` is the text of its vector."""

    rowid: int
    embedded: str


def fill(
    vectors: Vectors,
    embedder: Embedder,
    chosen: Chosen,
    wait: float,
    progress: Progress,
) -> int:
    """Embed what has no vector yet; how many chunks that were. Raises ProviderError,
    and OperationalError when another process keeps the index for longer than `wait`
    seconds."""
    vectors.db.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
    state = vectors.state()
    if state is not None and state.fits(embedder, chosen):
        with suppress(Damaged):
            return _fill(vectors, embedder, chosen, progress)
    with changing(vectors.db):
        vectors.clear()
        vectors.keep(
            VectorState(
                embedder.provider, embedder.model, json.dumps(chosen), whole=False
            )
        )
    return _fill(vectors, embedder, chosen, progress)


def _fill(
    vectors: Vectors, embedder: Embedder, chosen: Chosen, progress: Progress
) -> int:
    begun = vectors.state()
    missing = _missing(vectors, chosen, begun.upto if begun else 0)
    local = embedder.provider == "local"
    words = Words()
    size = BATCH if local else PAID_BATCH
    for start in range(0, len(missing), size):
        rows = vectors.db.execute(
            f"SELECT id, title, {_EMBEDDED} FROM chunks WHERE id {ONE_OF}",
            (json.dumps(missing[start : start + size]),),
        )
        batch = [Missing(rowid, kept.embedded_text(*texts)) for rowid, *texts in rows]
        if batch and local:
            _embed_words(vectors, cast("Local", embedder), batch, words)
        elif batch:
            made = _bought(vectors, embedder, [item.embedded for item in batch])
            with changing(vectors.db):
                _write(vectors, embedder, batch, made)
        progress("vector", min(start + size, len(missing)), len(missing))
    with changing(vectors.db):
        state = vectors.state()
        if state is not None and state.fits(embedder, chosen):
            _note_whole(vectors, state, chosen)
    return len(missing)


def _note_whole(vectors: Vectors, state: VectorState, chosen: Chosen) -> None:
    """Write down that no vector is missing, where none is."""
    if not _missing(vectors, chosen, state.upto):
        newest = newest_chunk(vectors.db)
        vectors.keep(state._replace(whole=True, upto=newest))


def _missing(vectors: Vectors, chosen: Chosen, upto: int) -> list[int]:
    where, values = chosen.condition()
    rows = vectors.db.execute(
        f"SELECT id FROM chunks WHERE id > ? AND {where} AND id NOT IN (SELECT chunk FROM vectors)"
        " ORDER BY id",
        [upto, *values],
    )
    return first_column(rows)


def _write(
    vectors: Vectors, embedder: Embedder, batch: Sequence[Missing], made: Sequence[bytes],
    words: Sequence[bytes] = (),
) -> None:  # fmt: skip
    """Nothing is written when another process has begun with another model
    meanwhile."""
    state = vectors.state()
    if state is None or (state.provider, state.model) != (
        embedder.provider,
        embedder.model,
    ):
        return
    select = f"SELECT id FROM chunks WHERE id {ONE_OF}"
    present = set(
        vectors.db.execute(select, (json.dumps([item.rowid for item in batch]),))
    )
    written = zip(batch, made, words or [b""] * len(batch), strict=True)
    rows = [
        (missing.rowid, data, word_ids)
        for missing, data, word_ids in written
        if (missing.rowid,) in present
    ]
    insert = "INSERT OR REPLACE INTO vectors (chunk, vector, words) VALUES (?, ?, ?)"
    vectors.db.executemany(insert, rows)
    vectors.mark({rowid: vector.signs(data) for rowid, data, _ in rows})


def of_texts(vectors: Vectors, embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """The vector of each text; a provider's come from the cache. Raises
    ProviderError."""
    made = []
    known = Words()
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        if embedder.provider == "local":
            forms = list(map(low_forms, batch))
            words = cast("Local", embedder).words(set(chain.from_iterable(forms)))
            known.weighted |= {
                word: (*weighted_word,) for word, weighted_word in words.items()
            }
            made += known.sums(forms) if words else [b""] * len(forms)
        else:
            made += _bought(vectors, embedder, batch)
    return made


def _bought(vectors: Vectors, embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    kinds = (embedder.provider, embedder.model)
    keys = [digest(text.encode("utf-8", "surrogatepass")) for text in texts]
    text_of = dict(zip(keys, texts, strict=True))
    select = "SELECT hash, vector FROM embedding_cache WHERE provider = ? AND model = ? AND hash"
    rows = vectors.db.execute(f"{select} {ONE_OF}", (*kinds, json_list(text_of)))
    known = dict(rows.fetchall())
    unknown = [text_key for text_key in text_of if text_key not in known]
    if unknown:
        matrix = embedder.embed([text_of[text_key] for text_key in unknown])
        _check_dimension(vectors, embedder, len(matrix[0]))
        known |= {
            text_key: stored(row) for text_key, row in zip(unknown, matrix, strict=True)
        }
        with changing(vectors.db):
            vectors.db.executemany(
                "INSERT OR REPLACE INTO embedding_cache VALUES (?, ?, ?, ?)",
                [(text_key, *kinds, known[text_key]) for text_key in unknown],
            )
    made = {
        text_key: vector.quantise(restored(known[text_key])) for text_key in text_of
    }
    return [made[key] for key in keys]


def stored(row: array[float]) -> bytes:
    """A row as the cache keeps it: little-endian float32."""
    return struct.pack(f"<{len(row)}f", *row)


def restored(data: bytes) -> tuple[float, ...]:
    """The row that `stored` wrote."""
    return struct.unpack(f"<{len(data) // 4}f", data)


def _check_dimension(vectors: Vectors, embedder: Embedder, dimension: int) -> None:
    kinds = (embedder.provider, embedder.model)
    select = "SELECT length(vector) / 4 FROM embedding_cache WHERE provider = ? AND model = ? LIMIT 1"
    row = vectors.db.execute(select, kinds).fetchone()
    if row and row[0] != dimension:
        what = (
            f"{kinds[0]} embeddings: {kinds[1]} gives vectors of dimension {dimension}"
        )
        hint = "if the model is another one now, delete the index and run mem index"
        raise ProviderError(f"{what}, not {row[0]} as before", hint)


def _embed_words(
    vectors: Vectors, local: Local, batch: Sequence[Missing], words: Words
) -> None:
    forms = [low_forms(item.embedded) for item in batch]
    distinct = set(chain.from_iterable(forms))
    _weigh(vectors, local, distinct, words.weighted)
    made = words.sums(forms)
    with changing(vectors.db):
        _number(vectors, distinct, words)
        of_word = words.content.get
        content = [dict.fromkeys(filter(None, map(of_word, text))) for text in forms]
        numbers = [array("I", of_text).tobytes() for of_text in content]
        _write(vectors, local, batch, made, numbers)


def learn(vectors: Vectors, local: Local, words: Collection[str]) -> None:
    """Write down the vectors of these words."""
    known = Words()
    _weigh(vectors, local, words, known.weighted)
    with changing(vectors.db):
        _number(vectors, words, known)


def _weigh(
    vectors: Vectors, local: Local, words: Collection[str], weighted: Weighted
) -> None:
    unknown = set(words) - weighted.keys()
    weighted |= {word: row[1:] for word, row in vectors.words(unknown).items()}
    weighted |= local.words(unknown - weighted.keys())


def _ids(vectors: Vectors, words: Collection[str]) -> dict[str, int]:
    select = f"SELECT word, id FROM words WHERE word {ONE_OF}"
    return dict(vectors.db.execute(select, (json_list(words),)).fetchall())


def _number(vectors: Vectors, words: Collection[str], known: Words) -> None:
    """Let these words have ids, in the running transaction."""
    version = number_of(vectors.db, "PRAGMA data_version")
    if version != known.version:  # another process may have begun anew
        known.ids = {}
        known.content = {}
        known.version = version
    unknown = set(words) - known.ids.keys()
    numbered = _ids(vectors, unknown)
    if unseen := sorted(unknown - numbered.keys()):
        insert = "INSERT INTO words (word, weight, vector) VALUES (?, ?, ?)"
        rows = [(word, *known.weighted[word]) for word in unseen]
        vectors.db.executemany(insert, rows)
        added = _ids(vectors, unseen)
        bits = {
            word_id: vector.signs(known.weighted[word][1])
            for word, word_id in added.items()
        }
        vectors.mark(bits, first=WORDS)
        numbered |= added
    known.ids |= numbered
    known.content |= {
        word: word_id for word, word_id in numbered.items() if kept.is_content(word)
    }
