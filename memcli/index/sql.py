"""What the statements of the index and of the history share."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any


def json_list(values: Iterable[object]) -> str:
    """The values for `ONE_OF`."""
    return json.dumps(list(values))


def first_column(rows: Iterable[Sequence[Any]]) -> list[Any]:
    """The first value of each row."""
    return [row[0] for row in rows]


def number_of(database: sqlite3.Connection, query: str, *values: object) -> int:
    """The number that a query finds."""
    return int(database.execute(query, values).fetchone()[0])


def newest_chunk(database: sqlite3.Connection) -> int:
    """The highest number of a chunk, 0 where there is none."""
    return number_of(database, "SELECT coalesce(max(id), 0) FROM chunks")
