"""The `similar` edges of an index: which entries are near each other. The SQL of them is here.

An entry has edges to the three others whose vectors are nearest, from a cosine of 0.80 on. Its vector is
that of its first chunk; of several copies under one id, the one whose bytes come first. All is exact in
whole numbers, so that edges made one by one are those made all at once.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from memcli import vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.int8]
    Places = NDArray[np.int64]

NEIGHBOURS = 3
LEAST = 0.80
"""The cosine from which two entries are similar."""
FEW = 64
"""Up to so many entries get their edges without numpy, whose import would cost more."""
APART = 0.35
"""Share of the sign bits in which two vectors with a cosine of 0.80 may differ: 0.20 on average."""
_FULL = vector.SCALE * vector.SCALE
_LEAST = LEAST * _FULL
_ROWS, _COLUMNS = 1024, 8192

Edges = list[tuple[int, str]]
"""(product, other id), the nearest first. A product is the cosine times 127 squared."""


class Node(NamedTuple):
    """What an entry is here: its vector, and the file of the copy that has it."""

    vector: bytes
    source: int


class Plan(NamedTuple):
    """Edges to write, of entries that have none yet and of those that come to have others."""

    edges: Mapping[str, Edges]
    sources: Mapping[str, int]
    done: Sequence[int]


def unlink(db: sqlite3.Connection, rowids: Sequence[int]) -> bool:
    """Take out the edges from and to the entries of chunks that are about to be deleted; whether there are any.

    Whoever had an edge to one of them has room for another, and what is left of it may stand elsewhere:
    both are to be looked at again.
    """
    rows = db.execute(
        "SELECT DISTINCT entry FROM chunks WHERE part = 0 AND id IN (SELECT value FROM json_each(?))",
        (json.dumps(rowids),),
    )
    gone = [row[0] for row in rows]
    listed = (json.dumps(gone),)
    near = [row[0] for row in db.execute(f"SELECT entry FROM relations WHERE {_TO}", listed)]
    db.execute(
        "UPDATE vectors SET related = 0 WHERE chunk IN (SELECT id FROM chunks WHERE part = 0"
        " AND entry IN (SELECT value FROM json_each(?)))",
        (json.dumps([*gone, *near]),),
    )
    db.execute(f"DELETE FROM relations WHERE {_TO}", listed)
    db.execute(f"DELETE FROM relations WHERE {_FROM}", listed)
    return bool(gone)


_FROM = "relation = 'similar' AND entry IN (SELECT value FROM json_each(?))"
_TO = "relation = 'similar' AND other IN (SELECT value FROM json_each(?))"


def plan(db: sqlite3.Connection, most: int | None = None) -> Plan | None:
    """The edges of all entries that have none yet; None when there are none such, or more than `most`."""
    pending = db.execute(
        "SELECT v.chunk, c.entry, c.part FROM vectors AS v JOIN chunks AS c ON c.id = v.chunk"
        " WHERE v.related = 0"
    ).fetchall()
    new = {entry for _, entry, part in pending if part == 0}
    if not pending or (most is not None and len(new) > most):
        return None
    listed = (json.dumps(sorted(new)),)
    new.update(row[0] for row in db.execute(f"SELECT entry FROM relations WHERE {_TO}", listed))
    edges, sources = (_one_by_one if len(new) <= FEW else _at_once)(db, new)
    return Plan(edges, sources, [row[0] for row in pending])


def write(db: sqlite3.Connection, made: Plan) -> None:
    """Put what was planned in place of the edges that are there, in the running transaction."""
    db.execute(f"DELETE FROM relations WHERE {_FROM}", (json.dumps(list(made.edges)),))
    db.executemany(
        "INSERT OR REPLACE INTO relations VALUES (?, ?, 'similar', ?, ?)",
        [
            (entry, other, min(product / _FULL, 1.0), made.sources[entry])
            for entry, edges in made.edges.items()
            for product, other in edges
        ],
    )
    db.executemany("UPDATE vectors SET related = 1 WHERE chunk = ?", [(chunk,) for chunk in made.done])


# --- few, without numpy


def _one_by_one(db: sqlite3.Connection, new: Collection[str]) -> tuple[dict[str, Edges], dict[str, int]]:
    nodes = _nodes(db, new)
    edges: dict[str, Edges] = {entry: [] for entry in nodes}
    met: dict[str, Edges] = {}
    known = dict(nodes)
    for entry, node in sorted(nodes.items()):
        near = _entries(db, _close(db, node.vector))
        known |= _nodes(db, [other for other in near if other not in known])
        for other in near:
            product = sum(
                map(mul, memoryview(node.vector).cast("b"), memoryview(known[other].vector).cast("b"))
            )
            if other != entry and product >= _LEAST:
                edges[entry].append((product, other))
                met.setdefault(other, []).append((product, entry))
    return _joined(db, edges, met), {entry: node.source for entry, node in known.items()}


def _nodes(db: sqlite3.Connection, entries: Iterable[str]) -> dict[str, Node]:
    rows = db.execute(
        "SELECT c.entry, min(v.vector), c.source FROM chunks AS c JOIN vectors AS v ON v.chunk = c.id"
        " WHERE c.part = 0 AND c.entry IN (SELECT value FROM json_each(?)) GROUP BY c.entry",
        (json.dumps(sorted(entries)),),
    )
    return {entry: Node(*node) for entry, *node in rows}


def _entries(db: sqlite3.Connection, rowids: Sequence[int]) -> list[str]:
    rows = db.execute(
        "SELECT DISTINCT entry FROM chunks WHERE part = 0 AND id IN (SELECT value FROM json_each(?))",
        (json.dumps(rowids),),
    )
    return [row[0] for row in rows]


def _close(db: sqlite3.Connection, own: bytes) -> list[int]:
    """The chunks that may be similar, by their sign bits."""
    bits, width = int.from_bytes(vector.signs(own), "little"), (len(own) + 7) // 8
    most = int(APART * len(own))
    found: list[int] = []
    for block, data in db.execute("SELECT block, bits FROM signs WHERE block >= 0") if bits else ():
        first = block * vector.BLOCK
        apart = vector.distances(bits, data, width)
        found += [first + place for place, distance in enumerate(apart) if distance <= most]
    return found


def _joined(db: sqlite3.Connection, edges: Mapping[str, Edges], met: Mapping[str, Edges]) -> dict[str, Edges]:
    """The edges to write: all of new entries, and those of others that give one of `met` a place."""
    old = {entry: _best(found) for entry, found in met.items() if entry not in edges}
    found = {entry: _best(own) for entry, own in edges.items()}
    rows = db.execute(
        f"SELECT entry, other, weight FROM relations WHERE {_FROM}", (json.dumps(sorted(old)),)
    ).fetchall()
    before: dict[str, Edges] = {}
    for entry, other, weight in rows:
        before.setdefault(entry, []).append((round(weight * _FULL), other))
    for entry, more in old.items():
        had = _best(before.get(entry, []))
        now = _best([*had, *more])
        if now != had:
            found[entry] = now
    return found


def _best(edges: Iterable[tuple[int, str]]) -> Edges:
    return sorted(set(edges), key=lambda edge: (-edge[0], edge[1]))[:NEIGHBOURS]


# --- many, with numpy


def _at_once(db: sqlite3.Connection, new: Collection[str]) -> tuple[dict[str, Edges], dict[str, int]]:
    """Products of blocks, so that memory stays bounded: float32 holds such sums of whole numbers exactly."""
    import numpy as np

    rows = db.execute(
        "SELECT c.entry, min(v.vector), c.source FROM chunks AS c JOIN vectors AS v ON v.chunk = c.id"
        " WHERE c.part = 0 GROUP BY c.entry ORDER BY c.entry"
    ).fetchall()
    names = [row[0] for row in rows]
    vectors = np.frombuffer(b"".join(row[1] for row in rows), np.int8).reshape(len(rows), -1)
    fresh = np.array([i for i, name in enumerate(names) if name in new], np.int64)
    rest = np.array([i for i, name in enumerate(names) if name not in new], np.int64)
    every = np.arange(len(names), dtype=np.int64)

    def named(found: Mapping[int, list[tuple[int, int]]]) -> dict[str, Edges]:
        return {names[i]: [(product, names[j]) for product, j in own] for i, own in found.items()}

    edges: dict[str, Edges] = {names[i]: [] for i in fresh.tolist()}
    edges |= named(_nearest(vectors, fresh, every))
    met = named(_nearest(vectors, rest, fresh)) if len(rest) else {}
    return _joined(db, edges, met), {row[0]: row[2] for row in rows}


def _nearest(vectors: Vectors, rows: Places, columns: Places) -> dict[int, list[tuple[int, int]]]:
    """For each row that has any, its nearest columns as (product, column); both are in order of their ids."""
    found: dict[int, list[tuple[int, int]]] = {}
    for start in range(0, len(rows), _ROWS):
        found |= _of_block(vectors, rows[start : start + _ROWS], columns)
    return found


def _of_block(vectors: Vectors, rows: Places, columns: Places) -> dict[int, list[tuple[int, int]]]:
    import numpy as np

    found: dict[int, list[tuple[int, int]]] = {}
    mine = vectors[rows].astype(np.float32)
    least = np.full((len(rows), 1), _LEAST, np.float32)  # no product is between two whole numbers
    for start in range(0, len(columns), _COLUMNS):
        theirs = columns[start : start + _COLUMNS]
        products = mine @ vectors[theirs].astype(np.float32).T
        for i, j in _above(products, least):
            row, column = int(rows[i]), int(theirs[j])
            if row != column:
                found.setdefault(row, []).append((int(products[i, j]), column))
        for i, row in enumerate(rows.tolist()):
            if len(own := found.get(row, [])) >= NEIGHBOURS:
                own.sort(key=lambda edge: (-edge[0], edge[1]))
                del own[NEIGHBOURS:]
                least[i] = own[-1][0]  # who comes later has a larger id, and must be nearer
    return found


def _above(products: NDArray[np.float32], least: NDArray[np.float32]) -> list[tuple[int, int]]:
    """The places above the least of their row; of a row with very many, the largest and the first of equals."""
    import numpy as np

    kept = NEIGHBOURS + 1  # the row itself may be among them
    mask = products > least
    if np.count_nonzero(mask) > 4 * kept * len(products) and products.shape[1] > kept:
        mask &= products >= np.partition(products, -kept, axis=1)[:, -kept:][:, :1]
    i, j = np.nonzero(mask)
    order = np.lexsort((j, -products[i, j], i))
    i, j = i[order], j[order]
    place = np.arange(len(i)) - np.searchsorted(i, i)
    return list(zip(i[place < kept].tolist(), j[place < kept].tolist(), strict=True))
