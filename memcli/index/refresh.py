"""Entries and sections as the rows that are indexed; an index brought up to the
files."""

import contextlib
import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from posixpath import dirname, normpath
from typing import Any, NamedTuple
from urllib.parse import unquote

from memcli.index.database import Index, Progress, Refreshed, place_text
from memcli.index.fates import LOST_BY_CHANGED
from memcli.index.filters import MARKED, sealed
from memcli.index.occasions import note_occasions
from memcli.index.prose import indexable, passages
from memcli.index.sql import first_column, json_list, newest_chunk, number_of
from memcli.index.tombstones import Stones
from memcli.index.whole import changing
from memcli.memory.binding import binds, bound
from memcli.memory.grammar import DETAIL, uncrowded
from memcli.memory.parser import MemoryFile, parse, sections
from memcli.memory.records import ruled_out
from memcli.memory.values import Entry, Problem, plain_id
from memcli.memory.words import MATTER, OVERLAP, SIZE, clean, each_text, sub_words
from memcli.project.listing import Files, FoundFile, marks
from memcli.project.unlisted import OutOfView, is_sound
from memcli.storage.files import (
    ONE_OF,
    Unreadable,
    decode_anyhow,
    read_file,
)
from memcli.text.digests import digest
from memcli.text.matching import table

BATCH = 1000  # rows that are made and written at a time
MOST_TEXT = 1 << 20  # characters of an entry or a section that are searched
PRESSING = frozenset({"permanent", "critical"})
"""Written priorities that no answer goes without."""
INDEXED = frozenset(table("index/optional_keys.txt").split())
"""Optional keys that the index carries; unknown ones stay in the file alone."""
RANKS = {"permanent": 0, "critical": 1, "high": 2, "pin": 2}
"""How pressing priorities are; what has none of them is never shown unasked for its
priority."""
_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Row(NamedTuple):
    """One row of `chunks` without its file."""

    entry: str
    part: int
    offset: int
    line: int
    live: int
    type: str
    kind: str
    date: str
    title: str
    text: str
    tags: str
    parts: str
    around: str
    metadata: str
    rank: int
    importance: float
    moment: str


def _anywhere(row: Row) -> Row:
    """A row wherever in the file it stands."""
    return row._replace(offset=0, line=0)


class _State(NamedTuple):
    """What a file was when it was read, and what index lines of other files say of
    it."""

    mtime: int
    size: int
    identity: str
    linked: str
    entries: int = 0
    is_sound: bool = False  # an archive, of which no entry is only text


def rows(entry: Entry, around: str = "", linked: str = "", *, live: bool) -> list[Row]:
    """The rows of one entry: one, or overlapping ones for a text longer than `SIZE`."""
    text, detail = searchable(entry)
    title = clean(entry.title)
    tags = clean(" ".join((*entry.extra.get("tags", ()), linked)).strip())
    day = entry.created_at or entry.date
    moment = entry.extra.get("ended_at") or entry.extra.get("started_at") or day
    above = re.match(MATTER, text) if text.startswith("---") else None
    line = entry.line
    if above is not None:
        line += above[0].count("\n")
    whole = Row(
        entry=clean(entry.id),
        part=0,
        offset=entry.start,
        line=line,
        live=int(live and entry.status != "retired"),
        type=entry.type,
        kind=entry.kind,
        date=day,
        title=title,
        text=text,
        tags=tags,
        parts="",
        around=around,
        metadata=_as_json(_metadata(entry, detail)),
        rank=RANKS.get(entry.priority, len(RANKS)),
        importance=entry.importance,
        moment=clean(str(moment)),
    )
    windows = []
    step = SIZE - OVERLAP
    for part, start in enumerate(range(0, max(len(text) - OVERLAP, 1), step)):
        window = text[start : start + SIZE]
        sub = sub_words(f"{title} {tags} {window}")
        windows.append(whole._replace(part=part, line=line, text=window, parts=sub))
        line += window.count("\n", 0, step)
        if len(text) <= SIZE:
            break
    return windows


def searchable(entry: Entry) -> tuple[str, str]:
    """The body that is indexed, and the detail of an episode, which is only kept."""
    body = clean(entry.body[:MOST_TEXT])
    heading = DETAIL.search(body) if entry.kind == "episode" else None
    if heading is None:
        return body, ""
    return body[: heading.start()].rstrip(), body[heading.end() :].strip()


def _metadata(entry: Entry, detail: str) -> dict[str, Any]:
    values = {
        "domain": entry.domain,
        "importance": entry.importance,
        "phase": entry.phase,
        "status": entry.status,
        "count": entry.reinforcement_count,
        "reinforced": entry.last_reinforced,
        "created": entry.created_at,
        "date": entry.date,
        "priority": entry.priority,
        "pressing": "priority" in entry.extra and entry.priority in PRESSING,
        "written": entry.written,
        **({"shared_id": entry.shared_id} if entry.shared_id else {}),
    }
    values |= {
        key: each_text(value, clean)
        for key, value in entry.extra.items()
        if key in INDEXED and not (entry.written and key == "ruled_out")
    }
    if "scope" in entry.extra and entry.extra.get("priority") == "medium":
        values["unconfirmed"] = True  # said in one session alone
    return values | ({"detail": detail} if detail else {})


_INDEX_LINE = re.compile(
    r"(?m)^ {0,3}[-*+] {1,4}[^\[\n]{0,80}\[[^\]\n]{0,400}\]\(([^)\s#]{1,400}\.md)[^\n]{0,1000}"
)
_SEARCHED = "title, text, tags, date, parts, around"
_COLUMNS = ("source", *Row._fields, "seal")
_INSERT = (
    f"INSERT INTO chunks ({', '.join(_COLUMNS)})"
    f" VALUES ({', '.join('?' * len(_COLUMNS))})"
)
_INSERT_WORDS = (
    f"INSERT INTO chunks_fts (rowid, {_SEARCHED})"
    f" SELECT id, {_SEARCHED} FROM chunks WHERE id > ?"
)
_META = (
    "INSERT INTO file_meta (path, place, mtime, size, hash, entries, linked, sound, problems)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET place = excluded.place,"
    " mtime = excluded.mtime, size = excluded.size, hash = excluded.hash, linked = excluded.linked,"
    " entries = excluded.entries, sound = excluded.sound, problems = excluded.problems RETURNING id"
)


def _values(source: int, row: Row) -> tuple[Any, ...]:
    return (source, *row, sealed(row.title, row.text, row.metadata))


def put(db: sqlite3.Connection, rows: Sequence[tuple[int, Row]]) -> range:
    """Add chunks (file, row) that no file stands behind to an index in memory; their
    numbers."""
    before = newest_chunk(db)
    db.executemany(_INSERT, [_values(*row) for row in rows])
    db.execute(_INSERT_WORDS, (before,))
    return range(before + 1, before + 1 + len(rows))


def differing(index: Index, files: Files) -> tuple[list[str], list[str]]:
    """Names of the files whose content differs from the index, and of those that are
    gone."""
    suspects, gone = index.stale(files)
    known = {row.path: row.hash for row in index.files().values()}
    changed = []
    for file in suspects:
        identity = ""
        with contextlib.suppress(Unreadable):
            identity = digest(read_file(file.path, file.base).data)
        if identity != known.get(file.name):
            changed.append(file.name)
    return changed, gone


class IndexWriter:
    """Brings an index up to the files, those of a root or of a home folder."""

    def __init__(self, index: Index, base: Path) -> None:
        self.index, self.db, self.vectors = index, index.db, index.vectors
        self.fts = True
        self.stones = Stones(index, base)

    def refresh(
        self, files: Files, *, wait: float, progress: Progress, rebuild: bool
    ) -> Refreshed:
        """Bring the index to the state of the files; `wait` seconds for another writer
        at most."""
        self.db.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
        with contextlib.ExitStack() as inside:
            try:
                inside.enter_context(changing(self.db))
            except sqlite3.OperationalError as error:
                if "locked" in str(error) or "busy" in str(error):
                    return Refreshed(busy=True)
                raise
            # Words are added row by row; into an empty index, at once.
            self.fts = not self.index.empty()
            return self._bring(files, progress, rebuild=rebuild)

    def _bring(self, files: Files, progress: Progress, *, rebuild: bool) -> Refreshed:
        if rebuild:
            self.db.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('delete-all')")
            for table in ("chunks", "occasions", "relations", "file_meta"):
                self.db.execute(f"DELETE FROM {table}")
            self.db.execute("DELETE FROM meta WHERE key IN ('listing', 'lost')")
            self.vectors.clear()
            self.fts = False
        before = newest_chunk(self.db)
        # Another process may have done it meanwhile.
        suspects, gone = self.index.stale(files)
        by_name = {file.name: file for file in files}
        for path in gone:
            self._forget(path)
        outcomes: Counter[bool | None] = Counter()
        for number, file in enumerate(suspects, 1):
            outcomes[self._write_file(file)] += 1
            progress("file", number, len(suspects))
        self._link(by_name)
        self._apart(marks(files))
        if names := self.stones.outdated():
            for name in names:
                self._write_file(by_name[name], anew=True)
            self._apart(marks(files))
        if not self.fts:
            hash_size = (
                "INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('hashsize', ?)"
            )
            self.db.execute(hash_size, (8 << 20,))  # a third less work to merge
            self.db.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('rebuild')")
            self.db.execute(hash_size, (1 << 20,))
        note_occasions(self.db, before)
        if self.db.execute(LOST_BY_CHANGED, (before,)).fetchone():
            from memcli.index import anchors  # few entries have lost a name

            anchors.forget_unnamed(self.db, before)
        self.index.note_listing(files)
        changed = outcomes[True]
        read = changed + outcomes[False]
        return Refreshed(read=read, changed=changed, removed=len(gone))

    def _link(self, files: Mapping[str, FoundFile]) -> None:
        lines = defaultdict[str, dict[str, None]](dict)
        select = (
            "SELECT path, text FROM chunks INDEXED BY chunks_linking"
            " JOIN file_meta ON file_meta.id = source"
            " WHERE live = 1 AND instr(text, '](') > 0 ORDER BY path, offset, part"
        )
        for path, text in self.db.execute(select):
            for line in _INDEX_LINE.finditer(text):
                link = unquote(line[1])
                target = normpath(f"{dirname(path)}/{link}".lstrip("/"))
                lines[target][line[0].strip()] = None
        noted = self.db.execute("SELECT path, linked FROM file_meta").fetchall()
        for path, linked in noted:
            now = " ".join(lines.get(path, ()))
            if now != linked and path in files:
                self._write_file(files[path], now)

    def _apart(self, marks: Mapping[str, str]) -> None:
        """Mark each id of another repository that one before it has, too: it is another
        entry."""
        numbers = dict(self.db.execute("SELECT path, id FROM file_meta"))
        mark_of = {
            numbers[name]: mark for name, mark in marks.items() if name in numbers
        }
        marked = " OR ".join(
            f"entry BETWEEN '{low}' AND '{high}'" for low, high in MARKED
        )
        doubtful = self.db.execute(
            f"SELECT id, entry, source FROM chunks AS c WHERE {marked} OR source {ONE_OF}"
            " AND EXISTS (SELECT 1 FROM chunks AS d"
            " WHERE d.entry = c.entry AND d.source != c.source)",
            (json_list(mark_of),),
        ).fetchall()
        rows = [
            (mark_of.get(source, ""), plain_id(entry), entry, rowid)
            for rowid, entry, source in doubtful
        ]
        first = self._first_marks(rows, mark_of)
        renamed = []
        for mark, plain, entry, rowid in rows:
            key = plain if first[plain] == mark else mark + plain
            if key != entry:
                renamed.append((key, rowid))
        self.db.executemany("UPDATE chunks SET entry = ? WHERE id = ?", renamed)

    def _first_marks(
        self, rows: Sequence[tuple[str, str, str, int]], mark_of: Mapping[int, str]
    ) -> dict[str, str]:
        """For each id in these rows (mark, id, …) the first repository that has it: ""
        is the one at hand."""
        plain_ids = json_list(plain for _, plain, *_ in rows)
        select = f"SELECT entry, source FROM chunks WHERE entry {ONE_OF}"
        first = {}
        for entry, source in self.db.execute(select, (plain_ids,)):
            if source not in mark_of:
                first[entry] = ""
        for mark, plain, *_ in sorted(rows):
            first.setdefault(plain, mark)
        return first

    def _forget(self, path: str) -> None:
        select = "SELECT id FROM file_meta WHERE path = ?"
        for row in self.db.execute(select, (path,)).fetchall():
            self._delete_chunks("source = ?", *row)
            self.db.execute("DELETE FROM relations WHERE source = ?", row)
            self.db.execute("DELETE FROM file_meta WHERE id = ?", row)

    def _write_file(
        self, file: FoundFile, linked: str | None = None, *, anew: bool = False
    ) -> bool | None:
        """None: not readable; False: same content; True: chunked anew."""
        select = "SELECT id, hash, place, linked FROM file_meta WHERE path = ?"
        known = self.db.execute(select, (file.name,)).fetchone()
        if linked is None:
            linked = known[3] if known else ""
        state = _State(mtime=0, size=file.size, identity="", linked=linked)
        data = None
        try:
            data, mtime, size = read_file(file.path, file.base)
            state = state._replace(mtime=mtime, size=size, identity=digest(data))
            place = place_text(file.place, file.tree)
            if known and not anew and known[1:] == (state.identity, place, linked):
                update = "UPDATE file_meta SET mtime = ?, size = ? WHERE id = ?"
                self.db.execute(update, (mtime, size, known[0]))
                return False
            text = indexable(data, file.place)
        except Unreadable as error:
            self._refuse(file, state, error, data)
            return None
        self._chunk(file, state, text, is_known=known is not None)
        return True

    def _refuse(
        self, file: FoundFile, state: _State, error: Unreadable, data: bytes | None
    ) -> None:
        """Forget a file that cannot be read, and note why. What binds in it goes on to
        bind: as far as its bytes can be read, else as it was known."""
        message = str(error)
        problem = Problem(file.name, error.line, message, severity=error.severity)
        source = self._note(file, state._replace(linked=""), [problem])
        self.db.execute("DELETE FROM relations WHERE source = ?", (source,))
        text = uncrowded(decode_anyhow(data or b""))
        binding = bound(text, file.name) if file.place.store == "memory" else []
        known = "SELECT chunk FROM occasions WHERE what = 'guard'"
        is_told = binding or isinstance(error, OutOfView)
        kept = "" if is_told else f" AND id NOT IN ({known})"
        self._delete_chunks(f"source = ?{kept}", source)
        for entry in binding:
            self._insert(source, rows(entry, live=True))

    def _chunk(
        self, file: FoundFile, state: _State, text: str, *, is_known: bool
    ) -> None:
        """Index the entries and sections of a file; of a known one what has changed."""
        memory = parse(text, file.name)
        prose = sections(memory)
        if status := ruled_out(file.name, text):
            prose = [
                unit._replace(extra={**unit.extra, "ruled_out": status})
                for unit in prose
            ]
        entries = [*prose, *memory.entries]
        around = passages(prose)
        self.stones.note()
        where = (file.place, file.tree)
        state = state._replace(entries=len(entries), is_sound=is_sound(memory))
        source = self._note(file, state, memory.problems)
        live = file.place.store == "memory"
        made = (
            rows(
                entry,
                around.get(entry.id, ""),
                state.linked,
                live=live and (binds(entry) or not self.stones.has(entry.id, *where)),
            )
            for entry in entries
        )
        wanted: Iterable[Row] = chain.from_iterable(made)
        self._relate(source, memory)
        if is_known:
            wanted = self._keep(source, list(wanted))
        self._insert(source, wanted)

    def _note(self, file: FoundFile, state: _State, problems: Iterable[Problem]) -> int:
        values = (
            file.name,
            place_text(file.place, file.tree),
            state.mtime,
            state.size,
            state.identity,
            state.entries,
            state.linked,
            int(state.is_sound),
            json.dumps([item[1:] for item in problems]),
        )
        return number_of(self.db, _META, *values)

    def _insert(self, source: int, wanted: Iterable[Row]) -> None:
        left = iter(wanted)
        while batch := list(islice(left, BATCH)):
            self._insert_batch(source, batch)

    def _insert_batch(self, source: int, wanted: Sequence[Row]) -> None:
        before = newest_chunk(self.db)
        self.db.executemany(_INSERT, [_values(source, row) for row in wanted])
        if (state := self.vectors.state()) is not None:
            self.vectors.keep(state._replace(whole=False))
        if self.fts:
            self.db.execute(_INSERT_WORDS, (before,))

    def _keep(self, source: int, wanted: list[Row]) -> list[Row]:
        known = defaultdict[Row, list[tuple[int, Row]]](list)
        select = f"SELECT id, {', '.join(Row._fields)} FROM chunks WHERE source = ?"
        for rowid, *values in self.db.execute(select, (source,)):
            stored = Row._make(values)
            stored = stored._replace(entry=plain_id(stored.entry))
            known[_anywhere(stored)].append((rowid, stored))
        new = []
        moved = []
        for row in wanted:
            if same := known.get(_anywhere(row)):
                rowid, stored = same.pop()
                if stored != row:
                    moved.append((row.offset, row.line, rowid))
            else:
                new.append(row)
        self.db.executemany(
            "UPDATE chunks SET offset = ?, line = ? WHERE id = ?", moved
        )
        if rest := first_column(chain.from_iterable(known.values())):
            self._delete_chunks(f"id {ONE_OF}", json_list(rest))
        return new

    def _delete_chunks(self, where: str, value: object) -> None:
        self.stones.note()
        from_chunks = f"FROM chunks WHERE {where}"
        rowids = first_column(self.db.execute(f"SELECT id {from_chunks}", (value,)))
        self.vectors.forget(rowids)
        if self.fts:
            into = f"INSERT INTO chunks_fts (chunks_fts, rowid, {_SEARCHED})"
            deleted = f"SELECT 'delete', id, {_SEARCHED} {from_chunks}"
            self.db.execute(f"{into} {deleted}", (value,))
        occasions = f"DELETE FROM occasions WHERE chunk {ONE_OF}"
        self.db.execute(occasions, (json_list(rowids),))
        self.db.execute(f"DELETE {from_chunks}", (value,))

    def _relate(self, source: int, memory: MemoryFile) -> None:
        self.db.execute("DELETE FROM relations WHERE source = ?", (source,))
        edges = [
            (clean(entry.id), clean(str(other)), relation, source)
            for entry in memory.entries
            for relation in ("supports", "contradicts")
            for other in entry.extra.get(relation, ())
        ]
        self.db.executemany(
            "INSERT OR IGNORE INTO relations VALUES (?, ?, ?, 1.0, ?)", edges
        )
