"""What the index holds of entries: which pass the filters of a search, and their values."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from memcli.index.source import Candidate
from memcli.index.view import Filters, Scope
from memcli.memory.words import join

FORGED = "a value is not what was written"
_TYPES = (int, int, str, int, int, int, str, str, str, str, str)


class Entries:
    """The entries of an index."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def _condition(self, scope: Scope) -> tuple[str, tuple[Any, ...]]:
        """The condition on chunks that a scope means, with its values."""

        def of(*stores: str) -> str:
            return json.dumps([i for i, row in scope.files.items() if row.place.store in stores])

        live = "1" if scope.filters.archived else "live = 1"
        where = (
            f"(({live} AND source IN (SELECT value FROM json_each(?)))"
            " OR (source IN (SELECT value FROM json_each(?))"
            " AND json_extract(metadata, '$.status') != 'retired')"
            " OR source IN (SELECT value FROM json_each(?)))"
        )
        if scope.filters.path:
            self.define("about_path", 2, scope.about)
        conditions, values = _by_values(scope.filters)
        files = (of("memory"), of("institutional", "proxy"), of("archive"))
        return " AND ".join([where, *conditions]), (*files, *values)

    def allowed(self, scope: Scope) -> frozenset[int]:
        """The ids of the chunks that pass the filters of a scope."""
        where, values = self._condition(scope)
        return frozenset(
            row[0] for row in self.db.execute(f"SELECT id FROM chunks WHERE {where}", values)
        )

    def candidates(self, rowids: Iterable[int]) -> list[Candidate]:
        """The chunks with these ids."""
        return self._candidates(
            "id IN (SELECT value FROM json_each(?))", (json.dumps(list(rowids)),)
        )

    def select(self, scope: Scope, kinds: Sequence[str] = ()) -> list[Candidate]:
        """The first chunk of every entry that passes, of certain `kinds` when they are named."""
        where, values = self._condition(scope)
        if kinds:  # the first condition is what lets SQLite use the index of kinds
            where = f"kind != '' AND kind IN (SELECT value FROM json_each(?)) AND {where}"
            values = (json.dumps(kinds), *values)
        return self._candidates(f"part = 0 AND {where}", values)

    def pressing(self, scope: Scope, kinds: Sequence[str], most: int) -> list[Candidate]:
        """Of the entries of these kinds that pass, those of high priority, the most pressing first.

        Among equals the most important, then the latest: `most` of them.
        """
        return self._first(
            scope, kinds, most, f"{_RANK} <= 2", f"{_RANK}, {_IMPORTANCE} DESC, date DESC"
        )

    def latest(self, scope: Scope, kinds: Sequence[str], most: int) -> list[Candidate]:
        """Of the entries of these kinds that pass, the latest by when they ended or were made."""
        return self._first(scope, kinds, most, "1", f"{_END} DESC")

    def _first(
        self, scope: Scope, kinds: Sequence[str], most: int, test: str, order: str
    ) -> list[Candidate]:
        where, values = self._condition(scope)
        return self._candidates(
            "kind != '' AND kind IN (SELECT value FROM json_each(?)) AND part = 0"
            f" AND {test} AND {where} ORDER BY {order}, entry LIMIT ?",
            (json.dumps(kinds), *values, most),
        )

    def every(self) -> list[Candidate]:
        """The first chunk of every entry there is, in whatever file."""
        return self._candidates("part = 0", ())

    def _candidates(self, where: str, values: tuple[Any, ...]) -> list[Candidate]:
        rows = self.db.execute(
            "SELECT id, source, entry, part, offset, line, type, kind, date, title, text, metadata"
            f" FROM chunks WHERE {where}",
            values,
        )
        return [_candidate(row) for row in rows]

    def beside(self, source: int, offset: int, reach: int = 2) -> list[list[str]]:
        """The entries up to `reach` places before one in its file, and those after it, the nearest
        first.
        """
        found = []
        for way, order in (("<", "DESC"), (">", "ASC")):
            rows = self.db.execute(
                f"SELECT entry FROM chunks WHERE source = ? AND offset {way} ? AND part = 0"
                f" ORDER BY offset {order} LIMIT ?",
                (source, offset, reach),
            )
            found.append([row[0] for row in rows])
        return found

    def text(self, candidate: Candidate) -> str:
        """The whole indexed text of the entry that a chunk belongs to; of one that is gone, that
        chunk's.
        """
        parts = self.db.execute(
            "SELECT text FROM chunks WHERE source = ? AND entry = ? AND offset = ? ORDER BY part",
            (candidate.source, candidate.entry, candidate.offset),
        ).fetchall()
        return join([part[0] for part in parts]) if parts else candidate.text

    def about(self, scope: Scope, keys: Collection[tuple[str, str]]) -> list[Candidate]:
        """Of the entries that pass, those that have one of these keys (of `occasions`)."""
        found = self.db.execute(
            "SELECT DISTINCT o.chunk FROM json_each(?) AS k JOIN occasions AS o"
            " ON o.what = json_extract(k.value, '$[0]') AND o.key = json_extract(k.value, '$[1]')",
            (json.dumps(sorted(keys)),),
        ).fetchall()
        if not found:
            return []
        where, values = self._condition(scope)
        ids = json.dumps([row[0] for row in found])
        return self._candidates(
            f"id IN (SELECT value FROM json_each(?)) AND {where}", (ids, *values)
        )

    def made_since(self, scope: Scope, day: str) -> list[Candidate]:
        """Of the entries that pass, those made on a day or later."""
        where, values = self._condition(scope)
        return self._candidates(f"part = 0 AND date >= ? AND {where}", (day, *values))

    def foremost(self, scope: Scope, most: int) -> list[Candidate]:
        """Of the entries that pass, the most important ones, the latest first among equals."""
        where, values = self._condition(scope)
        return self._candidates(
            f"part = 0 AND {where}"
            " ORDER BY json_extract(metadata, '$.importance') DESC, date DESC, entry LIMIT ?",
            (*values, most),
        )

    def ids(self, prefix: str) -> list[tuple[str, int]]:
        """(entry id, file) of every entry whose id begins with `prefix`."""
        found = self.db.execute(
            "SELECT DISTINCT entry, source FROM chunks WHERE entry >= ? AND entry < ? ORDER BY entry, source",
            (prefix, prefix + "\U0010ffff"),
        )
        return found.fetchall()

    def chunks_of(self, entries: Iterable[str]) -> list[tuple[int, str]]:
        """(id, entry) of every chunk of these entries."""
        return self.db.execute(
            "SELECT id, entry FROM chunks WHERE entry IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(entries)),),
        ).fetchall()

    def repeated(self) -> list[tuple[str, int, int]]:
        """(entry id, file, line) of every written id that stands in more than one place."""
        return self.db.execute(
            "SELECT entry, source, line FROM chunks WHERE part = 0 AND entry IN"
            " (SELECT entry FROM chunks WHERE part = 0 GROUP BY entry HAVING count(*) > 1)"
            " ORDER BY entry, source, offset"
        ).fetchall()

    def survivors(self, ids: Sequence[str]) -> dict[str, str]:
        """For each id that a live entry was merged from, that entry."""
        rows = self.db.execute(
            "SELECT m.value, c.entry FROM chunks AS c, json_each(c.metadata, '$.merged_from') AS m"
            " WHERE c.live = 1 AND c.part = 0 AND m.value IN (SELECT value FROM json_each(?))"
            " ORDER BY c.entry DESC",
            (json.dumps(list(ids)),),
        )
        return dict(rows.fetchall())

    def relations(self, entry: str) -> list[tuple[str, str, str]]:
        """(entry, relation, other) of every edge from or to `entry`, and of those to what is similar."""
        said = self.db.execute(
            "SELECT entry, relation, other FROM relations WHERE entry = ? OR other = ? ORDER BY 2, 1, 3",
            (entry, entry),
        ).fetchall()
        from memcli.index import neighbours

        near = neighbours.similar(self.db, [entry])
        return [*said, *((one, "similar", other) for one, other, _ in near)]

    def edges(self, entries: Collection[str]) -> list[tuple[str, str, float]]:
        """(entry, other, weight) of the edges by which others belong to these entries: what is
        similar to them, and what supports them or they support.
        """
        said = self.db.execute(
            "WITH given AS (SELECT value FROM json_each(?))"
            " SELECT entry, other, 1.0 FROM relations WHERE relation = 'supports'"
            " AND (entry IN given OR other IN given)",
            (json.dumps(sorted(entries)),),
        ).fetchall()
        from memcli.index import neighbours

        return sorted([*said, *neighbours.similar(self.db, entries)])

    def places(self, entries: Iterable[str]) -> list[tuple[int, int]]:
        """(id, file) of the first chunk of every place where these entries stand."""
        return self.db.execute(
            "SELECT id, source FROM chunks WHERE part = 0 AND entry IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(entries)),),
        ).fetchall()

    def copies(self, entries: Iterable[str]) -> list[Candidate]:
        """The first chunk of every place where these entries stand."""
        return self._candidates(
            "part = 0 AND entry IN (SELECT value FROM json_each(?))", (json.dumps(sorted(entries)),)
        )

    def define(self, name: str, arguments: int, function: Callable[..., Any]) -> None:
        """Make a deterministic function known to SQL."""
        self.db.create_function(name, arguments, function, deterministic=True)


# --- filters

_RANK = (
    "CASE json_extract(metadata, '$.priority')"
    " WHEN 'permanent' THEN 0 WHEN 'critical' THEN 1 WHEN 'high' THEN 2 WHEN 'pin' THEN 2 ELSE 9 END"
)
_IMPORTANCE = "json_extract(metadata, '$.importance')"
_CREATED = "nullif(json_extract(metadata, '$.created'), '')"
_START = f"coalesce(json_extract(metadata, '$.started_at'), {_CREATED}, date)"
_END = f"coalesce(json_extract(metadata, '$.ended_at'), {_START[9:]}"


def _by_values(filters: Filters) -> tuple[list[str], list[str]]:
    conditions: list[str] = []
    values: list[str] = []

    def add(condition: str, value: str) -> None:
        conditions.append(condition)
        values.append(value)

    for column, given in (("type", filters.type), ("kind", filters.kind)):
        if given:
            add(f"{column} IN (SELECT value FROM json_each(?))", json.dumps(given))
    if filters.tag:
        tags = [tag.lower() for tag in filters.tag]
        add(
            "EXISTS (SELECT 1 FROM json_each(metadata, '$.tags') AS t"
            " WHERE lower(t.value) IN (SELECT value FROM json_each(?)))",
            json.dumps(tags),
        )
    if filters.path:
        add("about_path(json_extract(metadata, '$.paths'), ?)", json.dumps(filters.path))
    if filters.since:
        add(f"substr({_END}, 1, 10) >= ?", filters.since)
    if filters.until:
        add(f"substr({_START}, 1, 10) BETWEEN '0' AND ?", filters.until)
    return conditions, values


def _candidate(row: tuple[Any, ...]) -> Candidate:
    """A chunk and the values of its entry. Raises DatabaseError when it holds what no index of mem
    does.
    """
    try:
        values = json.loads(row[11])
    except (TypeError, ValueError, RecursionError):
        values = None
    if tuple(map(type, row[:11])) != _TYPES or type(values) is not dict:
        raise sqlite3.DatabaseError(FORGED)
    return Candidate._make((*row[:11], values))
