"""Which entries are similar: the three nearest by their vectors, from a cosine of 0.80 on.

Computed when asked for, from the vectors of first chunks; of several copies of one entry the one
whose bytes come first counts. Equally near ones are ordered by their ids.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from memcli.providers.embed import arithmetic as vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEIGHBOURS = 3
LEAST = 0.80
"""The cosine from which two entries are similar."""
FEW = 64
"""Up to so many entries are looked at without numpy, whose import would cost more."""
CLOSE = 200
"""So many of the nearest by sign bits are compared exactly where only a few are asked for."""
TILE = 128
"""Rows whose products with all entries are held at a time."""


class Edge(NamedTuple):
    """Two entries and the cosine of their vectors."""

    entry: str
    other: str
    cosine: float


def similar(db: sqlite3.Connection, entries: Collection[str]) -> list[Edge]:
    """The edges that lead from these entries to what is similar to them, the nearest first."""
    if len(entries) > FEW:
        return list(_at_once(db, entries))
    found: list[Edge] = []
    for entry, own in _nodes(db, entries):
        found += _best(entry, _near(db, own))
    return found


def _near(db: sqlite3.Connection, own: bytes) -> dict[str, float]:
    """The cosines of the entries that may be nearest to a vector."""
    from memcli.index.vectors import Vectors

    if not any(own):
        return {}
    close = Vectors(db).nearest(own, CLOSE, allowed=None, denied=())
    rows = db.execute(
        "SELECT DISTINCT entry FROM chunks WHERE part = 0 AND id IN (SELECT value FROM json_each(?))",
        (json.dumps(close),),
    )
    return vector.cosines(own, dict(_nodes(db, [row[0] for row in rows])))


def _best(entry: str, cosines: dict[str, float]) -> list[Edge]:
    edges = [
        Edge(entry, other, min(cosine, 1.0))
        for other, cosine in cosines.items()
        if cosine >= LEAST and other != entry
    ]
    return sorted(edges, key=lambda edge: (-edge.cosine, edge.other))[:NEIGHBOURS]


def _nodes(
    db: sqlite3.Connection, entries: Iterable[str] | None = None
) -> Iterator[tuple[str, bytes]]:
    """(entry, vector) of the first copy of each of these entries; without them of all there are."""
    which = "" if entries is None else "AND c.entry IN (SELECT value FROM json_each(?))"
    return db.execute(
        "SELECT c.entry, min(v.vector) FROM chunks AS c JOIN vectors AS v ON v.chunk = c.id"
        f" WHERE c.part = 0 {which} GROUP BY c.entry ORDER BY c.entry",
        () if entries is None else (json.dumps(sorted(entries)),),
    )


def _at_once(db: sqlite3.Connection, entries: Collection[str]) -> Iterator[Edge]:
    """All products in tiles, so that memory stays bounded."""
    import numpy as np

    names, data = [], bytearray()
    for name, own in _nodes(db):
        names.append(name)
        data += own
    if not names:
        return
    table = np.frombuffer(data, np.int8).reshape(len(names), -1)
    asked = set(entries)
    rows = np.array([i for i, name in enumerate(names) if name in asked], np.int64)
    for start in range(0, len(rows), TILE):
        some = rows[start : start + TILE]
        for place, products in zip(some.tolist(), _products(table, some), strict=True):
            near = np.flatnonzero(products >= LEAST * vector.FULL).tolist()
            yield from _best(
                names[place], {names[j]: float(products[j]) / vector.FULL for j in near}
            )


def _products(table: NDArray[np.int8], rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """The product of each of these rows with every row of the table: whole numbers, exact."""
    import numpy as np

    own = table[rows].astype(np.float32)
    parts = [own @ table[i : i + 8192].astype(np.float32).T for i in range(0, len(table), 8192)]
    return np.concatenate(parts, axis=1)
