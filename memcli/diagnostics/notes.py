"""What a report shows of single entries and of single days."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

ARCHIVED = "archived"


class Note(NamedTuple):
    """One entry as the page shows it. `links` are (edge, other id); an archived one is no live
    entry.
    """

    id: str
    title: str
    text: str
    level: str
    kind: str
    status: str
    path: str
    line: int
    age: int
    session: str
    links: tuple[tuple[str, str], ...]


class Snapshot(NamedTuple):
    """The health of one day."""

    day: str
    score: float
    entries: int
    tokens: int
    metrics: Mapping[str, float | None]
