"""The `similar` edges of an index: which entries are near each other. The SQL of them is here.

An entry has edges to the three others whose vectors are nearest, from a cosine of 0.80 on. Its vector is
that of its first chunk; of several copies under one id, the one whose bytes come first. All is exact in
whole numbers, so that edges made one by one are those made all at once.
"""

from __future__ import annotations

import json
import math
import sqlite3
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
PRODUCTS = 1000
"""And only with so many exact comparisons: among texts that are all much alike there would be more."""
SPREAD = 5.0
"""Standard deviations by which the sign bits of two vectors may differ from what their cosine says.
Among 870,000 pairs of one memory none went beyond 4.4."""
NEW, AGAIN = 0.0, -1.0
"""In place of what it takes to be one of the three nearest of an entry: its vector is new, or it has room."""
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


def unlink(db: sqlite3.Connection, rowids: Sequence[int]) -> bool:
    """Take out the edges of the entries of chunks that are about to be deleted; whether there are entries.

    Whoever had an edge to one of them has room for another, and what is left of it may stand elsewhere:
    both are to be looked at again.
    """
    gone = json.dumps(_entries(db, rowids))
    near = [row[0] for row in db.execute(f"SELECT entry FROM relations WHERE {_TO}", (gone,))]
    _mark(db, json.dumps(near), AGAIN)
    _mark(db, gone, NEW)
    for which in (_TO, _FROM):
        db.execute(f"DELETE FROM relations WHERE {which}", (gone,))
    return gone != "[]"


def _mark(db: sqlite3.Connection, entries: str, value: float) -> None:
    """Set what is kept of these entries (a JSON list): `NEW`, `AGAIN`, or what their edges ask of others."""
    db.execute(
        "UPDATE vectors SET related = ? WHERE chunk IN (SELECT id FROM chunks WHERE part = 0"
        " AND entry IN (SELECT value FROM json_each(?)))",
        (value, entries),
    )


_FROM = "relation = 'similar' AND entry IN (SELECT value FROM json_each(?))"
_TO = "relation = 'similar' AND other IN (SELECT value FROM json_each(?))"


def plan(db: sqlite3.Connection, *, thorough: bool) -> Plan | None:
    """The edges of all entries that have none yet; None where there are none such.

    Unless it is to be `thorough`, also None for more than can be done at once without numpy.
    """
    pending = db.execute(
        "SELECT v.chunk, c.entry, v.related FROM vectors AS v JOIN chunks AS c ON c.id = v.chunk"
        " WHERE v.related <= 0 AND c.part = 0"
    ).fetchall()
    new = {entry for _, entry, related in pending if related == NEW}
    again = {entry for _, entry, _ in pending} - new
    again.update(_pointing(db, new) - new)
    if not new and not again:
        return None
    found = _one_by_one(db, new, again) if len(new) + len(again) <= FEW else None
    return found or (_at_once(db, new, again) if thorough else None)


def _pointing(db: sqlite3.Connection, entries: Collection[str]) -> set[str]:
    listed = (json.dumps(sorted(entries)),)
    return {row[0] for row in db.execute(f"SELECT entry FROM relations WHERE {_TO}", listed)}


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
    db.executemany(
        "UPDATE vectors SET related = ? WHERE chunk IN (SELECT id FROM chunks WHERE part = 0 AND entry = ?)",
        [
            (edges[-1][0] / _FULL if len(edges) == NEIGHBOURS else LEAST, entry)
            for entry, edges in made.edges.items()
        ],
    )


# --- few, without numpy


class _Costly(Exception):
    """There are more exact comparisons to make than are made without numpy."""


class _Few:
    """The search for the edges of a few entries: sign bits say which pairs are worth an exact comparison."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.nodes: dict[str, Node] = {}
        self.entry: dict[int, str] = {}
        self.asked = 0
        self._reach: list[float] = []

    def know(self, entries: Iterable[str]) -> None:
        """Read the vectors of these entries."""
        self.nodes |= _nodes(self.db, set(entries) - self.nodes.keys())

    def close(self, own: bytes) -> list[tuple[int, int]]:
        """(sign bits that differ, chunk) of all that may be similar, the nearest first."""
        bits, width = int.from_bytes(vector.signs(own), "little"), (len(own) + 7) // 8
        self._reach = self._reach or reach(len(own))
        most, found = len(self._reach), []
        for block, data in self.db.execute("SELECT block, bits FROM signs WHERE block >= 0") if bits else ():
            first = block * vector.BLOCK
            apart = enumerate(vector.distances(bits, data, width), first)
            found += [(distance, chunk) for chunk, distance in apart if distance < most]
        return sorted(found)

    def expect(self, more: int) -> None:
        """Raises _Costly where so many more comparisons are too many."""
        if self.asked + more > PRODUCTS:
            raise _Costly

    def compare(self, own: bytes, chunks: Sequence[int]) -> Iterator[tuple[int, str]]:
        """(product, entry) of the entries of these chunks that are similar."""
        self.expect(len(chunks))
        self.asked += len(chunks)
        names = _entries(self.db, chunks)
        self.know(names)
        mine = memoryview(own).cast("b")
        for name in names:
            product = sum(map(mul, mine, memoryview(self.nodes[name].vector).cast("b")))
            if product >= _LEAST:
                yield product, name

    def nearest(self, entry: str, close: Sequence[tuple[int, int]]) -> tuple[Edges, Edges, int]:
        """The best edges, all that were found on the way, and how many of `close` were compared."""
        best: Edges = []
        every: Edges = []
        at = 0
        own = self.nodes[entry].vector
        most = len(close)
        while at < most:
            chunks = [chunk for _, chunk in close[at : at + _STEP]]
            every += [edge for edge in self.compare(own, chunks) if edge[1] != entry]
            at, best = min(at + _STEP, len(close)), _best(every)
            if len(best) == NEIGHBOURS:
                most = bisect_left(close, True, key=lambda one: self._reach[one[0]] * _FULL < best[-1][0])
                self.expect(most - at)
        return best, every, at

    def others(self, entry: str, close: Sequence[tuple[int, int]], asks: Mapping[int, float]) -> Edges:
        """The edges to those that `entry` may displace an edge of; `asks` is what it takes."""
        chunks = [chunk for apart, chunk in close if self._reach[apart] >= asks.get(chunk, 2.0)]
        own = self.nodes[entry].vector
        return [edge for edge in self.compare(own, chunks) if edge[1] != entry]


_STEP = 48


def reach(dimensions: int) -> list[float]:
    """By how many of their sign bits differ: the highest cosine that two vectors may have after all.

    As long as the most that vectors which are similar may differ by. Signs differ with the probability
    angle / pi (Goemans and Williamson 1995), so their number has a known mean and spread.
    """
    found: list[float] = []
    for percent in range(100, round(100 * LEAST) - 1, -1):
        share = math.acos(percent / 100) / math.pi
        most = dimensions * share + SPREAD * math.sqrt(dimensions * share * (1 - share))
        found += [min(1.0, (percent + 1) / 100)] * (int(most) + 1 - len(found))
    return found


def _one_by_one(db: sqlite3.Connection, new: Collection[str], again: Collection[str]) -> Plan | None:
    """The edges of a few; None when that takes too long without numpy."""
    few = _Few(db)
    few.know([*new, *again])
    edges: dict[str, Edges] = {}
    met: dict[str, Edges] = {}
    asks = dict(db.execute("SELECT chunk, related FROM vectors WHERE related > 0")) if new else {}
    try:
        for entry in sorted(few.nodes):
            close = few.close(few.nodes[entry].vector)
            edges[entry], every, at = few.nearest(entry, close)
            if entry in new:
                every += few.others(entry, close[at:], asks)
                for product, other in every:
                    met.setdefault(other, []).append((product, entry))
    except _Costly:
        return None
    return Plan(_joined(db, edges, met), {entry: node.source for entry, node in few.nodes.items()})


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


def _at_once(db: sqlite3.Connection, new: Collection[str], again: Collection[str]) -> Plan:
    """Products of blocks, so that memory stays bounded: float32 holds such sums of whole numbers exactly."""
    import numpy as np

    rows = db.execute(
        "SELECT c.entry, min(v.vector), c.source FROM chunks AS c JOIN vectors AS v ON v.chunk = c.id"
        " WHERE c.part = 0 GROUP BY c.entry ORDER BY c.entry"
    ).fetchall()
    names = [row[0] for row in rows]
    vectors = np.frombuffer(b"".join(row[1] for row in rows), np.int8).reshape(len(rows), -1)
    due = {*new, *again}
    fresh, rest, wanted = (
        np.array([i for i, name in enumerate(names) if (name in some) is inside], np.int64)
        for some, inside in ((new, True), (due, False), (due, True))
    )
    every = np.arange(len(names), dtype=np.int64)

    def named(found: Mapping[int, list[tuple[int, int]]]) -> dict[str, Edges]:
        return {names[i]: [(product, names[j]) for product, j in own] for i, own in found.items()}

    edges: dict[str, Edges] = {names[i]: [] for i in wanted.tolist()}
    edges |= named(_nearest(vectors, wanted, every))
    met = named(_nearest(vectors, rest, fresh)) if len(rest) and len(fresh) else {}
    return Plan(_joined(db, edges, met), {row[0]: row[2] for row in rows})


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
    """The places above the least of their row; of very many, the largest and the first of equals."""
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
