"""The `similar` edges of an index: which entries are near each other. The SQL of them is here.

An entry has edges to the three others whose vectors are nearest, from a cosine of 0.80 on; of
equally near ones, to those whose ids come first. Its vector is that of its first chunk; of several
copies under one id, the one whose bytes come first. So the edges follow from what is in the memory,
whatever the order it came in: cosines are whole numbers, cut at 1 where they are compared just as
where they are kept.
"""

from __future__ import annotations

import json
import math
import sqlite3
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from memcli.providers.embed import arithmetic as vector

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
"""And only with so many exact comparisons: among texts that are all much alike there would be more.
"""
SPREAD = 5.0
"""Standard deviations by which the sign bits of two vectors may differ from what their cosine says;
who differ by more are not similar. Among 870,000 pairs of one memory none went beyond 4.4.
"""
NEW, AGAIN = 0.0, -1.0
"""In place of what it takes to be one of the three nearest of an entry: its vector is new, or it
has room.
"""
_FULL = vector.SCALE * vector.SCALE
_LEAST = LEAST * _FULL
_TILE = 1024
"""So many rows and columns of products at a time: they fit into the cache of a processor."""
_CROWD = 8
"""So many for a row are too many to sort: of half as many columns at a time, fewer are near enough.
"""

Edges = list[tuple[int, str]]
"""(product, other id), the nearest first. A product is the cosine, at most 1, times 127 squared."""


class Node(NamedTuple):
    """What an entry is here: its vector, and the file of the copy that has it."""

    vector: bytes
    source: int


class Plan(NamedTuple):
    """Edges to write, of entries that have none yet and of those that come to have others."""

    edges: Mapping[str, Edges]
    sources: Mapping[str, int]


def unlink(db: sqlite3.Connection, rowids: Sequence[int]) -> bool:
    """Take out the edges of the entries of chunks that are about to be deleted; whether there are
    entries.

    Whoever had an edge to one of them has room for another, and what is left of it may stand
    elsewhere: both are to be looked at again.
    """
    gone = json.dumps(_entries(db, rowids))
    near = [row[0] for row in db.execute(f"SELECT entry FROM relations WHERE {_TO}", (gone,))]
    _mark(db, json.dumps(near), AGAIN, "related > 0")  # who is new stays so
    _mark(db, gone, NEW)
    for which in (_TO, _FROM):
        db.execute(f"DELETE FROM relations WHERE {which}", (gone,))
    return gone != "[]"


def _mark(db: sqlite3.Connection, entries: str, value: float, which: str = "1") -> None:
    """Note about these entries (a JSON list) that their edges are due: `NEW` or `AGAIN`."""
    db.execute(
        f"UPDATE vectors SET related = ? WHERE {which} AND chunk IN (SELECT id FROM chunks WHERE part = 0"
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
    rows = db.execute(f"SELECT entry FROM relations WHERE {_TO}", (_listed(entries),))
    return {row[0] for row in rows}


def write(db: sqlite3.Connection, made: Plan) -> None:
    """Put what was planned in place of the edges that are there, in the running transaction."""
    db.execute(f"DELETE FROM relations WHERE {_FROM}", (json.dumps(list(made.edges)),))
    db.executemany(
        "INSERT OR REPLACE INTO relations VALUES (?, ?, 'similar', ?, ?)",
        [
            (entry, other, product / _FULL, made.sources[entry])
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
    """The search for the edges of a few entries: sign bits say which pairs are worth an exact
    comparison.
    """

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
        if not any(own):
            return []
        bits, width = _bits(own), (len(own) + 7) // 8
        self._reach = self._reach or reach(len(own))
        most, found = len(self._reach), []
        for block, data in self.db.execute("SELECT block, bits FROM signs WHERE block >= 0"):
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
        mine, bits = memoryview(own).cast("b"), _bits(own)
        for node, name in [(self.nodes[name], name) for name in names if name in self.nodes]:
            product = min(sum(map(mul, mine, memoryview(node.vector).cast("b"))), _FULL)
            if product >= _LEAST and self._likely(product, (bits ^ _bits(node.vector)).bit_count()):
                yield product, name

    def _likely(self, product: int, apart: int) -> bool:
        return apart < len(self._reach) and product <= self._reach[apart] * _FULL

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
                most = bisect_left(
                    close, True, key=lambda one: self._reach[one[0]] * _FULL < best[-1][0]
                )
                self.expect(most - at)
        return best, every, at

    def asks(self, chunks: Sequence[int]) -> dict[int, float]:
        """The cosine it takes to get an edge of the entries of these chunks that have theirs
        already.
        """
        rows = self.db.execute(
            "SELECT chunk, related FROM vectors"
            " WHERE +related > 0 AND chunk IN (SELECT value FROM json_each(?))",
            (json.dumps(chunks),),
        )
        return dict(rows.fetchall())

    def others(self, entry: str, close: Sequence[tuple[int, int]]) -> Edges:
        """The edges to those that `entry` may displace an edge of."""
        asks = self.asks([chunk for _, chunk in close])
        chunks = [chunk for apart, chunk in close if self._reach[apart] >= asks.get(chunk, 2.0)]
        own = self.nodes[entry].vector
        return [edge for edge in self.compare(own, chunks) if edge[1] != entry]


_STEP = 48


def _bits(own: bytes) -> int:
    return int.from_bytes(vector.signs(own), "little")


def reach(dimensions: int) -> list[float]:
    """By how many of their sign bits differ: the highest cosine that two similar vectors may have.

    It falls, and is as long as the most that vectors which are similar may differ by. Signs differ
    with the probability angle / pi (Goemans and Williamson 1995), so their number has a known mean
    and spread.
    """
    found: list[float] = []
    for percent in range(100, round(100 * LEAST) - 1, -1):
        share = math.acos(percent / 100) / math.pi
        most = dimensions * share + SPREAD * math.sqrt(dimensions * share * (1 - share))
        found += [min(1.0, (percent + 1) / 100)] * (int(most) + 1 - len(found))
    return found


def _one_by_one(
    db: sqlite3.Connection, new: Collection[str], again: Collection[str]
) -> Plan | None:
    """The edges of a few; None when that takes too long without numpy."""
    few = _Few(db)
    few.know([*new, *again])
    edges: dict[str, Edges] = {}
    met: dict[str, Edges] = {}
    try:
        for entry in sorted(few.nodes):
            close = few.close(few.nodes[entry].vector)
            edges[entry], every, at = few.nearest(entry, close)
            if entry in new:
                every += few.others(entry, close[at:])
                for product, other in every:
                    met.setdefault(other, []).append((product, entry))
    except _Costly:
        return None
    return Plan(_joined(db, edges, met), {entry: node.source for entry, node in few.nodes.items()})


def _nodes(db: sqlite3.Connection, entries: Iterable[str]) -> dict[str, Node]:
    rows = db.execute(
        _NODES.format("AND c.entry IN (SELECT value FROM json_each(?))"), (_listed(entries),)
    )
    return {entry: Node(own, source) for entry, own, source in _firsts(rows)}


_NODES = (
    "SELECT c.entry, v.vector, c.source FROM chunks AS c JOIN vectors AS v ON v.chunk = c.id"
    " JOIN file_meta AS f ON f.id = c.source WHERE c.part = 0 {} ORDER BY c.entry, v.vector, f.path"
)


def _firsts(rows: Iterable[tuple[str, bytes, int]]) -> Iterator[tuple[str, bytes, int]]:
    """The first copy of every entry."""
    last = None
    for row in rows:
        if row[0] != last:
            yield row
        last = row[0]


def _listed(entries: Iterable[str]) -> str:
    return json.dumps(sorted(entries))


def _entries(db: sqlite3.Connection, rowids: Sequence[int]) -> list[str]:
    rows = db.execute(
        "SELECT DISTINCT entry FROM chunks WHERE part = 0 AND id IN (SELECT value FROM json_each(?))",
        (json.dumps(rowids),),
    )
    return [row[0] for row in rows]


def _joined(
    db: sqlite3.Connection, edges: Mapping[str, Edges], met: Mapping[str, Edges]
) -> dict[str, Edges]:
    """The edges to write: all of new entries, and those of others that give one of `met` a place."""
    old = {entry: _best(found) for entry, found in met.items() if entry not in edges}
    found = {entry: _best(own) for entry, own in edges.items()}
    rows = db.execute(f"SELECT entry, other, weight FROM relations WHERE {_FROM}", (_listed(old),))
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
    """Products of blocks, so that memory stays bounded: float32 holds such sums of whole numbers
    exactly.
    """
    import numpy as np

    names, vectors, sources = _all(db)
    many = _Many(vectors)
    due = {*new, *again}
    fresh, rest, wanted = (
        np.array([i for i, name in enumerate(names) if (name in some) is inside], np.int64)
        for some, inside in ((new, True), (due, False), (due, True))
    )
    every = np.arange(len(names), dtype=np.int64)

    def named(rows: Places, best: Best) -> dict[str, Edges]:
        found = zip(rows.tolist(), best.products.tolist(), best.places.tolist(), strict=True)
        return {
            names[i]: [
                (int(product), names[j]) for product, j in zip(own, places, strict=True) if j >= 0
            ]
            for i, own, places in found
        }

    if 2 * len(wanted) > len(names):
        return Plan(named(every, many.nearest(every, every, _LEAST)), sources)
    edges = named(wanted, many.nearest(wanted, every, _LEAST))
    asks = dict(db.execute(_ASKS).fetchall())
    least = np.array(
        [max(_LEAST, round(asks[names[i]] * _FULL) - 1) for i in rest.tolist()], np.float32
    )
    met = named(rest, many.nearest(rest, fresh, least))
    return Plan(_joined(db, edges, met), sources)


_ASKS = (
    "SELECT c.entry, v.related FROM vectors AS v JOIN chunks AS c ON c.id = v.chunk"
    " WHERE c.part = 0 AND v.related > 0"
)


def _all(db: sqlite3.Connection) -> tuple[list[str], Vectors, dict[str, int]]:
    """The ids of all entries in their order, their vectors, and the file of each."""
    import numpy as np

    names, data, sources = [], bytearray(), {}
    for name, own, source in _firsts(db.execute(_NODES.format(""))):
        names.append(name)
        data += own
        sources[name] = source
    return names, np.frombuffer(data, np.int8).reshape(len(names), -1), sources


class Best:
    """The nearest three of what was offered to each of these rows; of equal products the first
    places.

    Places are numbers in the order of ids, and are to be offered in that order. -1 is no place.
    """

    def __init__(self, rows: Places, least: float | NDArray[np.float32]) -> None:
        import numpy as np

        self.rows = rows
        self.products = np.empty((len(rows), NEIGHBOURS), np.float32)
        self.products.T[:] = least
        self.places = np.full(self.products.shape, -1, np.int64)

    def asks(self, first: int, count: int) -> NDArray[np.float32]:
        """What a product must be above, for each of some rows: who comes later must be nearer."""
        import numpy as np

        last = self.products[first : first + count, -1:]
        return np.where(last >= _FULL, np.float32(np.inf), last)

    def take(self, lines: Places, places: Places, products: NDArray[np.float32]) -> None:
        """Put each of these places into its line, and keep the nearest."""
        import numpy as np

        some = np.unique(lines)
        lines = np.concatenate([np.repeat(some, NEIGHBOURS), lines])
        places = np.concatenate([self.places[some].ravel(), places])
        products = np.concatenate([self.products[some].ravel(), products])
        order = np.lexsort((places, -products, lines))
        lines = lines[order]
        kept = order[np.arange(len(lines)) - np.searchsorted(lines, lines) < NEIGHBOURS]
        self.places[some] = places[kept].reshape(-1, NEIGHBOURS)
        self.products[some] = products[kept].reshape(-1, NEIGHBOURS)


class _Many:
    """The search for the edges of many entries: all products, in tiles."""

    def __init__(self, vectors: Vectors) -> None:
        import numpy as np

        self.vectors = vectors
        self.bits = np.packbits(vectors > 0, axis=1)
        dimensions = vectors.shape[1]
        reaches = reach(dimensions)
        self.reach = np.array(reaches + [0.0] * (dimensions + 1 - len(reaches))) * _FULL

    def nearest(self, rows: Places, columns: Places, least: float | NDArray[np.float32]) -> Best:
        """The nearest columns of each row whose products are above `least`; both are in order.

        Where they are the same, each tile serves both of its sides.
        """
        best = Best(rows, least)
        both = rows is columns
        for i in range(0, len(rows), _TILE):
            mine = self._floats(rows[i : i + _TILE])
            for j in range(i if both else 0, len(columns), _TILE):
                products = mine @ self._floats(columns[j : j + _TILE]).T
                self._offer(best, i, columns[j : j + _TILE], products)
                if both and j > i:
                    self._offer(best, j, rows[i : i + _TILE], products.T)
        return best

    def _floats(self, places: Places) -> NDArray[np.float32]:
        import numpy as np

        return self.vectors[places].astype(np.float32)

    def _offer(self, best: Best, first: int, places: Places, products: NDArray[np.float32]) -> None:
        """Offer these places to the rows from `first` on; `products` has a line for each row."""
        import numpy as np

        near = products > best.asks(first, len(products))
        count = int(np.count_nonzero(near))
        if not count:
            return
        if count > _CROWD * len(products) and len(places) > _CROWD:
            half = len(places) // 2
            self._offer(best, first, places[:half], products[:, :half])
            self._offer(best, first, places[half:], products[:, half:])
            return
        i, j = _where(near) if near.flags.c_contiguous else _where(near.T)[::-1]
        own, other = best.rows[first + i], places[j]
        found = np.minimum(products[i, j], _FULL)
        kept = (own != other) & (found <= self.reach[self._apart(own, other)])
        if kept.any():
            best.take(first + i[kept], other[kept], found[kept])

    def _apart(self, one: Places, other: Places) -> Places:
        """In how many of their sign bits pairs differ."""
        import numpy as np

        apart: Places = np.unpackbits(self.bits[one] ^ self.bits[other], axis=1).sum(
            axis=1, dtype=np.int64
        )
        return apart


def _where(mask: NDArray[np.bool_]) -> tuple[Places, Places]:
    """`nonzero` of a matrix that lies in memory line by line: much faster where little is set."""
    import numpy as np

    i, j = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return i, j
