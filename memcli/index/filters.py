"""What the index holds of entries: which pass the filters of a search, and their
values."""

import json
import sqlite3
import zlib
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any

from memcli.index import weights
from memcli.index.sql import first_column, json_list
from memcli.index.view import Candidate, Scope
from memcli.memory.filters import Filters
from memcli.memory.values import HOME, plain_id
from memcli.memory.words import join
from memcli.named import NamedTuple
from memcli.storage.files import ONE_OF

MARKED = (
    ("g:", "g;"),
    ("p:", "p;"),
    ("r0", "r:"),
)  # between these are keys of `plain_id`
FORGED = "a value is not what was written"
_TYPES = (int, int, str, int, int, int, str, str, str, str, str)
_COLUMNS = """id, source, entry, part, offset, line, type, kind, date, title, text, metadata,
    around, seal"""
_SHOWN_WITH = f"""
    SELECT own.entry, other.entry FROM chunks AS own
    JOIN chunks AS other INDEXED BY chunks_source ON other.source = own.source
    AND other.offset BETWEEN own.offset - {2 * weights.PASSAGE} AND own.offset + {2 * weights.PASSAGE}
    AND other.around = own.around
    WHERE own.entry {ONE_OF} AND own.around != '' ORDER BY other.offset
"""
_OF_HERE = """
    CASE WHEN json_valid(metadata) AND json_type(metadata, '$.paths') = 'array'
        AND json_array_length(metadata, '$.paths') > 0
    THEN EXISTS (
        SELECT 1 FROM json_each(metadata, '$.paths') AS glob WHERE glob.value NOT LIKE '%/**'
        OR instr(?, substr(ltrim(glob.value, '/'), 1, length(ltrim(glob.value, '/')) - 2)) = 1
    ) ELSE 1 END
"""  # whether an entry is about more than folders, or about one around a folder
_CREATED = "nullif(json_extract(metadata, '$.created'), '')"
_WRITTEN_ID = """CASE WHEN instr(metadata, '"shared_id":')
    THEN json_extract(metadata, '$.shared_id') ELSE entry END"""
_START = f"coalesce(json_extract(metadata, '$.started_at'), {_CREATED}, date)"


class Lost(NamedTuple):
    """What an entry names that is gone, in words; `every`: it names nothing that is
    there."""

    text: str
    every: bool = True


class Entries:
    """The entries of an index."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._last: tuple[Scope, str, tuple[Any, ...]] | None = None

    def _condition(self, scope: Scope) -> tuple[str, tuple[Any, ...]]:
        if self._last is None or self._last[0] is not scope:
            self._last = scope, *self._made(scope)
        return self._last[1:]

    def _made(self, scope: Scope) -> tuple[str, tuple[Any, ...]]:
        memory = scope.files.of("memory")
        archives = scope.files.of("archive")
        others = scope.files.of("institutional", "proxy")
        where = f"live = 1 AND source NOT {ONE_OF}"
        given = scope.files.hidden()
        # The shorter list says the same.
        if scope.filters.archived or len(memory) < len(given):
            where = f"source {ONE_OF}"
            given = memory
            where = where if scope.filters.archived else f"live = 1 AND {where}"
        values = [json_list(given)]
        if others or archives:
            standing = "json_extract(metadata, '$.status') != 'retired'"
            where += f" OR source {ONE_OF} AND {standing} OR source {ONE_OF}"
            values += [json_list(others), json_list(archives)]
        self.db.create_function("about_path", 2, scope.about, deterministic=True)
        conditions = _by_values(scope.filters)
        return " AND ".join([f"({where})", *conditions]), (
            *values,
            *conditions.values(),
        )

    def _first(
        self, scope: Scope, which: str, *values: object, order: str, most: int, by: str
    ) -> list[Candidate]:
        where, more = self._condition(scope)
        whole = f"part = 0 AND {which} AND {where}"
        ordered = f"ORDER BY {order}, entry LIMIT ?"
        given = (*values, *more)
        table = f"chunks INDEXED BY {by}"
        first = read_chunks(self.db, f"{whole} {ordered}", *given, most, table=table)
        home = scope.files.only(lambda place: place.level == HOME)
        if len(first) < most or not home:
            return first
        # However many a repository has, the home folder's are among them.
        whole = f"{whole} AND source {ONE_OF} {ordered}"
        table = "chunks INDEXED BY chunks_source"
        own = read_chunks(self.db, whole, *given, json_list(home), most, table=table)
        return list({chunk.rowid: chunk for chunk in [*first, *own]}.values())

    def allowed(self, scope: Scope) -> frozenset[int]:
        """The ids of the chunks that pass."""
        where, values = self._condition(scope)
        rows = self.db.execute(f"SELECT id FROM chunks WHERE {where}", values)
        return frozenset(first_column(rows))

    def select(self, scope: Scope) -> list[Candidate]:
        """The first chunk of every entry that passes."""
        where, values = self._condition(scope)
        return read_chunks(self.db, f"part = 0 AND {where}", *values)

    def pressing(
        self, scope: Scope, kinds: Collection[str], most: int
    ) -> list[Candidate]:
        """Of the entries of these kinds that pass, `most` of high priority, most
        pressing first."""
        which = f"kind != '' AND rank <= 2 AND kind {ONE_OF}"
        order = "rank, importance DESC, date DESC"
        given = json_list(kinds)
        return self._first(
            scope, which, given, order=order, most=most, by="chunks_pressing"
        )

    def latest(self, scope: Scope, most: int) -> list[Candidate]:
        """Of the episodes that pass, the latest by when they ended or were made."""
        which = "kind = 'episode'"
        return self._first(
            scope, which, order="moment DESC", most=most, by="chunks_episodes"
        )

    def foremost(
        self,
        scope: Scope,
        most: int,
        since: str = "",
        *,
        here: str = "",
        headings: bool = False,
    ) -> list[Candidate]:
        """Of the entries that pass, made on a day or later, the most important, less
        those about folders that `here` is not in; or of the latest the sections of
        prose with a title of their own: one of a list has that of the list."""
        if not headings:
            order = "importance DESC, date DESC, offset"
            by = "chunks_date" if since else "chunks_important"
            which = f"date >= ? AND {_OF_HERE}"
            return self._first(scope, which, since, here, order=order, most=most, by=by)
        where, values = self._condition(scope)
        order = "ORDER BY date DESC, source, offset DESC, entry"
        own = "NOT (text GLOB '[-*+] *' AND instr(text, substr(title, 1, 12)) = 0)"
        latest = f"chunks INDEXED BY chunks_date WHERE part = 0 AND date >= '' AND {own} AND {where} {order}"
        prose = "NOT (json_valid(metadata) AND json_extract(metadata, '$.written'))"
        whole = f"id IN (SELECT id FROM {latest} LIMIT ?) AND title != '' AND {prose} {order}"
        return read_chunks(self.db, whole, *values, most)

    def about(self, scope: Scope, chunks: Collection[int]) -> list[Candidate]:
        """Of the chunks with these numbers those that pass."""
        if not chunks:
            return []
        where, values = self._condition(scope)
        numbers = json_list(chunks)
        return read_chunks(self.db, f"id {ONE_OF} AND {where}", numbers, *values)

    def candidates(self, rowids: Iterable[int]) -> list[Candidate]:
        """The chunks with these ids."""
        return read_chunks(self.db, f"id {ONE_OF}", json_list(rowids))

    def copies(self, entries: Iterable[str] | None = None) -> list[Candidate]:
        """The first chunk of every place where these entries, or any, stand."""
        if entries is None:
            return read_chunks(self.db, "part = 0")
        return read_chunks(self.db, f"part = 0 AND entry {ONE_OF}", json_list(entries))

    def places(self, entries: Iterable[str]) -> list[tuple[int, int]]:
        """(id, file) of the first chunk of every place where these entries stand."""
        select = f"SELECT id, source FROM chunks WHERE part = 0 AND entry {ONE_OF}"
        return self.db.execute(select, (json_list(entries),)).fetchall()

    def beside(self, source: int, offset: int) -> list[list[str]]:
        """The two entries before a place in a file and the two after it, each the
        nearest first."""
        select = "SELECT entry FROM chunks WHERE source = ? AND part = 0 AND offset"
        ways = ("< ? ORDER BY offset DESC", "> ? ORDER BY offset")
        return [
            [
                row[0]
                for row in self.db.execute(
                    f"{select} {bound} LIMIT 2", (source, offset)
                )
            ]
            for bound in ways
        ]

    def text(self, candidate: Candidate) -> str:
        """The whole indexed text of an entry by one of its chunks; of one gone, the
        chunk's."""
        where = "source = ? AND entry = ? AND offset = ? ORDER BY part"
        place = candidate.source, candidate.entry, candidate.offset
        parts = read_chunks(self.db, where, *place)
        return join([part.text for part in parts]) if parts else candidate.text

    def ids(self, prefix: str) -> list[tuple[str, int]]:
        """(key, file) of every entry whose id, or key, begins with `prefix`."""
        select = (
            "SELECT DISTINCT entry, source FROM chunks WHERE entry >= ? AND entry < ?"
        )
        bounds = (prefix, prefix + "\U0010ffff"), *MARKED
        rows = {row for pair in bounds for row in self.db.execute(select, pair)}
        return sorted(
            pair
            for pair in rows
            if any(name.startswith(prefix) for name in (pair[0], plain_id(pair[0])))
        )

    def repeated(self) -> list[tuple[str, int, int]]:
        """(entry id, file, line) of every written id that stands in more than one
        place."""
        same = "SELECT 1 FROM meta AS a JOIN meta AS b USING (value)"
        if self.db.execute(
            f"{same} WHERE a.key = 'listing' AND b.key = 'apart'"
        ).fetchone():
            return []
        copies = self.db.execute(
            f"WITH named AS (SELECT {_WRITTEN_ID} AS id, source, line, offset FROM chunks"
            " WHERE part = 0) SELECT id, source, line FROM named WHERE id IN"
            " (SELECT id FROM named GROUP BY id HAVING count(*) > 1)"
            " ORDER BY id, source, offset"
        ).fetchall()
        if not copies:  # nor will it, as long as no file changes
            note = "INSERT OR REPLACE INTO meta SELECT 'apart', value FROM meta WHERE key = 'listing'"
            with suppress(sqlite3.OperationalError):
                self.db.execute(note)
        return copies

    def survivors(self, ids: Collection[str]) -> dict[str, str]:
        """For each id that a live entry was merged from, that entry."""
        rows = self.db.execute(
            "SELECT m.value, c.entry FROM chunks AS c, json_each(c.metadata, '$.merged_from') AS m"
            f" WHERE c.live = 1 AND c.part = 0 AND m.value {ONE_OF} ORDER BY c.entry DESC",
            (json_list(ids),),
        )
        return dict(rows.fetchall())

    def relations(self, entry: str) -> list[tuple[str, str, str]]:
        """(entry, relation, other) of every edge from or to `entry`, and to what is
        similar."""
        from memcli.index.vectors import similar

        select = (
            "SELECT entry, relation, other FROM relations WHERE ? IN (entry, other)"
        )
        stated = self.db.execute(f"{select} ORDER BY 2, 1, 3", (entry,)).fetchall()
        nearby = similar(self.db, [entry])
        replaced = [
            (old.entry, "superseded by", new)
            for old, new in superseded(self.db, [entry])
        ]
        return [
            *stated,
            *replaced,
            *((name, "similar", other) for name, other, _ in nearby),
        ]

    def gone(self, entries: Collection[str], *, shown: bool = False) -> dict[str, Lost]:
        """What these entries name that the code has no more, as far as it was looked
        for; with `shown`, or else what a bullet names that is shown with one."""
        if not self.db.execute(
            "SELECT 1 FROM anchors WHERE state IN ('gone', 'moved')"
        ).fetchone():
            return {}
        if shown:
            pairs = self.db.execute(_SHOWN_WITH, (json_list(entries),)).fetchall()
            lost = self.gone({*entries, *(other for _, other in pairs)})
            own = [(entry, entry) for entry in entries]
            # the first of a key would be overwritten: its own goes last
            every = [*reversed(pairs), *own]
            return {entry: lost[other] for entry, other in every if other in lost}
        from memcli.index.fates import LOST, gone_text  # few have lost a name

        rows = self.db.execute(
            f"SELECT entry, {LOST} AS lost, kind, name, removed, now FROM anchored"
            f" JOIN anchors USING (kind, name) WHERE entry {ONE_OF} AND state != 'never'"
            " ORDER BY entry, lost DESC, kind DESC, name",
            (json_list(entries),),
        ).fetchall()
        lost = {}
        for entry, is_lost, *fate in rows:
            if is_lost:
                lost.setdefault(entry, Lost(gone_text(*fate)))
            elif entry in lost:
                lost[entry] = lost[entry]._replace(every=False)
        return lost

    def edges(self, entries: Collection[str]) -> list[tuple[str, str, float]]:
        """(entry, other, weight) of the edges to what is similar, supports or is
        supported."""
        from memcli.index.vectors import similar

        stated = self.db.execute(
            "WITH given AS (SELECT value FROM json_each(?))"
            " SELECT entry, other, 1.0 FROM relations WHERE relation = 'supports'"
            " AND (entry IN given OR other IN given)",
            (json_list(entries),),
        ).fetchall()
        return sorted([*stated, *similar(self.db, entries)])


def _by_values(filters: Filters) -> dict[str, str]:
    tags = f"SELECT 1 FROM json_each(metadata, '$.tags') AS t WHERE lower(t.value) {ONE_OF}"
    lists = {
        f"type {ONE_OF}": filters.type,
        f"kind {ONE_OF}": filters.kind,
        f"EXISTS ({tags})": [tag.lower() for tag in filters.tag],
        f"json_extract(metadata, '$.scope') {ONE_OF}": filters.scope,
        "about_path(json_extract(metadata, '$.paths'), ?)": filters.path,
    }
    days = {
        "substr(moment, 1, 10) >= ?": filters.since,
        f"substr({_START}, 1, 10) BETWEEN '0' AND ?": filters.until,
    }
    conditions = {
        condition: json.dumps(given) for condition, given in lists.items() if given
    }
    return conditions | {condition: day for condition, day in days.items() if day}


def sealed(title: str, text: str, metadata: str) -> int:
    """The checksum of a chunk: what is shown of it is what was written."""
    return zlib.crc32(f"{title}\0{text}\0{metadata}".encode("utf-8", "surrogatepass"))


def read_chunks(
    db: sqlite3.Connection, where: str, *values: object, table: str = "chunks"
) -> list[Candidate]:
    """The chunks that a condition meets. Raises DatabaseError for one that is not as it
    was written."""
    candidates = list[Candidate]()
    read = json.JSONDecoder().raw_decode
    try:
        for row in db.execute(f"SELECT {_COLUMNS} FROM {table} WHERE {where}", values):
            *plain, written, around, seal = row
            metadata, end = read(written)
            kinds = (*map(type, plain), type(metadata), end)
            title, text = plain[-2:]
            sound = kinds == (*_TYPES, dict, len(written))
            if not sound or sealed(title, text, written) != seal:
                raise ValueError
            candidates.append(tuple.__new__(Candidate, (*plain, metadata, around)))
        # By an index astray.
        if len({chunk.rowid for chunk in candidates}) < len(candidates):
            raise ValueError
    except (TypeError, ValueError, RecursionError):
        raise sqlite3.DatabaseError(FORGED) from None
    return candidates


def superseded(
    db: sqlite3.Connection, entries: Iterable[str]
) -> list[tuple[Candidate, str]]:
    """The entries that gave way to another one, each with that one's id, as far as one
    of the two is among `entries`."""
    wanted = {plain_id(entry) for entry in entries}
    gone = read_chunks(db, "live = 0 AND part = 0 AND metadata LIKE '%superseded_by%'")
    pairs = [(old, str(old.values.get("superseded_by") or "")) for old in gone]
    return [
        (old, new)
        for old, new in pairs
        if new and not wanted.isdisjoint((new, plain_id(old.entry)))
    ]
