"""Static word vectors, computed here: no network, no model to run.

The token vectors of `wordllama` become an SQLite file in the cache; a word is a sum of
pieces."""

import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memcli.errors import ProviderError, UsageError
from memcli.memory.words import word_forms
from memcli.named import NamedTuple
from memcli.providers.embed import (
    DIM,
    LOCAL_TABLE,
    SCALE,
    local_package,
    quantise,
    weighted_sum,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MODEL = f"wordllama-{DIM}"
MANY = 256  # from so many words on numpy is worth loading
_WEIGHT = 16
_MOST_WEIGHT = 1023  # weights are whole and bounded, so that sums fit into 64 bits
_TOKENIZER = "l2_supercat_tokenizer_config.json"
_BLANK = "\u2581"
_VERSION = 1
_NEVER = 1 << 30
_BYTE = "<0x{:02X}>".format  # a piece that stands for one byte
# a word with fewer characters a piece on average is none (a hash, keyboard mash)
CRUMB = 2.5
_Rows = list[
    tuple[int, str, int, bytes]
]  # (id, piece, weight, vector) of pieces of words


class WordVector(NamedTuple):
    """The vector of a word (see `quantise`), and how much it weighs in the sum of a
    text."""

    weight: int
    vector: bytes


class Local:
    """Word vectors from the table in the folder that `folder()` names, opened (or made)
    on use."""

    provider = "local"
    model = MODEL

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder

    @cached_property
    def _db(self) -> sqlite3.Connection:
        return _open(self._folder())

    @cached_property
    def _ids(self) -> dict[str, int]:
        return dict(self._select("SELECT piece, id FROM pieces"))

    def close(self) -> None:
        """Close the table; it is opened again when it is needed."""
        if "_db" in self.__dict__:
            self.__dict__.pop("_db").close()

    def embed(
        self,
        texts: Sequence[str],
        *,
        query: bool = False,
        deadline: float | None = None,
    ) -> "NDArray[np.float32]":
        """One row for each text: the sum of its words; one without words points
        anywhere."""
        import numpy as np

        forms = [list(word_forms(text)) or ["-"] for text in texts]
        known = self.words({word for words in forms for word in words})
        rows = [weighted_sum(known[word] for word in words) for words in forms]
        return np.array(rows, np.float32).reshape(len(texts), DIM)

    def words(self, words: Iterable[str]) -> dict[str, WordVector]:
        """The vector of each word. Many are computed with numpy, few without: to the
        same bytes."""
        return self._summed(self._cut(sorted(set(words))))

    def known(self, words: Iterable[str]) -> dict[str, WordVector]:
        """The vectors of those words that are not cut to crumbs: a task often has
        random names."""
        cut = self._cut(sorted(set(words)))
        return self._summed(
            {w: own for w, own in cut.items() if len(w) >= CRUMB * len(own) - 1}
        )

    def _select(self, select: str, *values: str) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(select, values).fetchall()
        except sqlite3.Error:
            self.close()
            self._db = _open(self._folder(), anew=True)
            return self._db.execute(select, values).fetchall()

    def _rows(self, columns: str, pieces: Iterable[str]) -> list[tuple[Any, ...]]:
        where = "WHERE piece IN (SELECT value FROM json_each(?))"
        return self._select(
            f"SELECT {columns} FROM pieces {where}", json.dumps(sorted(pieces))
        )

    def _cut(self, words: Sequence[str]) -> dict[str, list[str]]:
        if len(words) >= MANY:
            known = self._ids
        else:
            parts = {part for word in words for part in _parts(_BLANK + word)}
            known = dict(self._rows("piece, id", parts))
        return {word: cut(_BLANK + word, known) for word in words}

    def _summed(self, cut: Mapping[str, Sequence[str]]) -> dict[str, WordVector]:
        if len(cut) >= MANY:
            return self._many(cut)
        pieces = {piece for own in cut.values() for piece in own}
        vectors = {
            row[0]: row[1:] for row in self._rows("piece, weight, vector", pieces)
        }
        found = {}
        for word, own in cut.items():
            total = weighted_sum(vectors[piece] for piece in own)
            length = math.sqrt(sum(value * value for value in total))
            found[word] = WordVector(
                min(round(length / SCALE), _MOST_WEIGHT), quantise(total)
            )
        return found

    def _many(self, cut: Mapping[str, Sequence[str]]) -> dict[str, WordVector]:
        import numpy as np

        rows = self._rows(
            "piece, weight, vector", {piece for own in cut.values() for piece in own}
        )
        place = {row[0]: i for i, row in enumerate(rows)}
        table = np.frombuffer(b"".join(row[2] for row in rows), np.int8).reshape(
            -1, DIM
        )
        table = table * np.array([row[1] for row in rows], np.int64)[:, None]
        words = list(cut)
        found: dict[str, WordVector] = {}
        for start in range(0, len(words), 4096):
            part = words[start : start + 4096]
            lists = [[place[piece] for piece in cut[word]] for word in part]
            starts = np.cumsum([0, *map(len, lists)])[:-1]
            sums = np.add.reduceat(
                table[[i for items in lists for i in items]], starts, axis=0
            )
            vectors, lengths = quantised(sums)
            weights = (
                np.clip(np.rint(lengths / SCALE), 0, _MOST_WEIGHT).astype(int).tolist()
            )
            made = zip(weights, (row.tobytes() for row in vectors), strict=True)
            found |= dict(zip(part, (WordVector(*one) for one in made), strict=True))
        return found


def quantised(
    sums: "NDArray[np.int64]",
) -> "tuple[NDArray[np.int8], NDArray[np.float64]]":
    """`vector.quantise` for the rows of a matrix of whole numbers, and the lengths of
    the rows."""
    import numpy as np

    lengths = np.sqrt((sums * sums).sum(axis=1).astype(np.float64))
    divisor = np.where(lengths == 0, 1.0, lengths)[:, None]
    return np.rint((sums * SCALE) / divisor).astype(np.int8), lengths


def _parts(text: str) -> Iterable[str]:
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            yield text[start:end]
    if not text[1:].isascii():
        yield from map(_BYTE, text.encode())


def cut(text: str, known: Mapping[str, int]) -> list[str]:
    """The pieces of a word, by merging neighbours: of known pieces the earliest
    learned, whose id is lowest. This is byte pair encoding (Sennrich et al. 2016)."""
    parts = list(text)
    while len(parts) > 1:
        pairs = [
            (known.get(parts[i] + parts[i + 1], _NEVER), i)
            for i in range(len(parts) - 1)
        ]
        rank, at = min(pairs)
        if rank == _NEVER:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    whole = ([part] if part in known else map(_BYTE, part.encode()) for part in parts)
    return [piece for pieces in whole for piece in pieces]


def _open(folder: Path, *, anew: bool = False) -> sqlite3.Connection:
    path = folder / f"{MODEL}-{_VERSION}.db"
    if not anew and (db := _opened(path)) is not None:
        return db
    rows = _rows()
    with suppress(OSError, sqlite3.Error):
        _make(path, rows)
        anew = False
    # Where making it failed, another process may have made it.
    if not anew and (db := _opened(path)) is not None:
        return db
    db = sqlite3.connect(":memory:", check_same_thread=False)
    _fill(db, rows)
    return db


def _opened(path: Path) -> sqlite3.Connection | None:
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    with suppress(sqlite3.Error):
        db = sqlite3.connect(address, uri=True, check_same_thread=False)
        with suppress(sqlite3.Error):
            if db.execute("SELECT value FROM done").fetchone():
                return db
        db.close()
    return None


def _make(path: Path, rows: _Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(beside)) as db:
            db.execute("PRAGMA journal_mode = OFF")
            _fill(db, rows)
        os.replace(beside, path)
    finally:
        for left in path.parent.glob(f"{path.name}.*"):
            left.unlink(missing_ok=True)


def _fill(db: sqlite3.Connection, rows: _Rows) -> None:
    columns = "id INTEGER, piece TEXT PRIMARY KEY, weight INTEGER, vector BLOB"
    db.execute(f"CREATE TABLE pieces ({columns})")
    db.execute("CREATE TABLE done (value INTEGER)")
    db.executemany("INSERT INTO pieces VALUES (?, ?, ?, ?)", rows)
    db.execute("INSERT INTO done VALUES (1)")
    db.commit()


def _rows() -> _Rows:
    from memcli.project import distribution

    folder = local_package()
    if folder is None:
        missing = "embedder = local: its extra is not installed"
        raise UsageError(missing, distribution.hint("local"))
    try:
        import numpy as np
        from safetensors.numpy import load_file

        vocabulary = json.loads((folder / "tokenizers" / _TOKENIZER).read_bytes())[
            "model"
        ]["vocab"]
        table = (
            load_file(folder / "weights" / LOCAL_TABLE).popitem()[1].astype(np.float32)
        )
        lengths = np.linalg.norm(table, axis=1)
        vectors = np.rint(table / np.maximum(lengths, 1e-9)[:, None] * SCALE).astype(
            np.int8
        )
        weights = [
            min(round(float(length) * _WEIGHT), _MOST_WEIGHT) for length in lengths
        ]
        return [
            (i, piece, weights[i], vectors[i].tobytes())
            for piece, i in vocabulary.items()
        ]
    except Exception as error:  # that of safetensors has no other base
        hint = f"reinstall it: {distribution.hint('local', anew=True)}, or --set embedder=none"
        what = f"the table of wordllama cannot be read: {error} ({folder})"
        raise ProviderError(what, hint) from None
