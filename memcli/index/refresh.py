"""Bringing an index up to the state of the files."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from memcli.index import occasions
from memcli.index.chunks import Row, rows
from memcli.index.database import Index, Refreshed, place_text
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.prose import sections
from memcli.memory.values import Entry, Problem
from memcli.memory.words import clean
from memcli.project.levels_on_disk import FoundFile
from memcli.storage.files import Unreadable, decode, digest, read_file

_CHUNK = "source, entry, part, offset, line, live, type, kind, date, title, text, tags, parts, digest, metadata"


def refresh(
    index: Index,
    found: Sequence[FoundFile],
    *,
    wait: float,
    progress: Callable[[int], None] = lambda done: None,
    rebuild: bool = False,
) -> Refreshed:
    """Bring the index to the state of the files. Waits at most `wait` seconds for another writer.

    `rebuild` starts over from the files; only embedded vectors are kept.
    """
    if not rebuild and not any(index.stale(found)):
        return Refreshed()
    if not _begin(index.db, wait):
        return Refreshed(busy=True)
    try:
        writer = _Writer(index)
        if rebuild:
            writer.clear()
        changed, gone = index.stale(found)  # another process may have done it meanwhile
        done = writer.write(changed, gone, progress)
        index.db.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            index.db.execute("ROLLBACK")
        raise
    return done


def differing(index: Index, found: Sequence[FoundFile]) -> tuple[list[str], list[str]]:
    """Names of the files whose content differs from the index, and of those that are gone."""
    suspects, gone = index.stale(found)
    known = {row.path: row.hash for row in index.files().values()}
    return [file.name for file in suspects if not _same(file, known.get(file.name))], gone


def _same(file: FoundFile, identity: str | None) -> bool:
    try:
        return digest(read_file(file.path, file.base).data) == identity
    except Unreadable:
        return identity == ""


def _begin(db: sqlite3.Connection, wait: float) -> bool:
    db.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
    try:
        db.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            return False
        raise
    return True


class _Writer:
    """Writes files into the index, in the running transaction."""

    def __init__(self, index: Index) -> None:
        self.index, self.db, self.vectors = index, index.db, index.vectors

    def clear(self) -> None:
        self.db.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('delete-all')")
        for table in ("chunks", "occasions", "relations", "file_meta"):
            self.db.execute(f"DELETE FROM {table}")
        self.vectors.clear()

    def write(
        self, changed: Sequence[FoundFile], gone: Sequence[str], progress: Callable[[int], None]
    ) -> Refreshed:
        first = self.index.empty()
        read = rewritten = 0
        for path in gone:
            self._forget(path)
        for i, file in enumerate(changed):
            outcome = self._write_file(file, fts=not first)
            read += outcome is not None
            rewritten += bool(outcome)
            progress(i + 1)
        if first:
            self.db.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('rebuild')")
        return Refreshed(read, rewritten, len(gone))

    def _forget(self, path: str) -> None:
        row = self.db.execute("SELECT id FROM file_meta WHERE path = ?", (path,)).fetchone()
        if row is not None:
            self._delete_chunks("source = ?", (row[0],))
            self.db.execute("DELETE FROM relations WHERE source = ?", row)
            self.db.execute("DELETE FROM file_meta WHERE id = ?", row)

    def _write_file(self, file: FoundFile, *, fts: bool) -> bool | None:
        """None: not readable; False: same content; True: chunked anew."""
        known = self.db.execute(
            "SELECT id, hash, place FROM file_meta WHERE path = ?", (file.name,)
        ).fetchone()
        identity, mtime, size = "", 0, file.size
        try:
            data, mtime, size = read_file(file.path, file.base)
            identity = digest(data)
            if known and known[1] == identity and known[2] == place_text(file):
                self.db.execute(
                    "UPDATE file_meta SET mtime = ?, size = ? WHERE id = ?", (mtime, size, known[0])
                )
                return False
            text = decode(data)
        except Unreadable as error:
            self._forget(file.name)
            problem = Problem(file.name, error.line, str(error), "unreadable")
            self._meta(None, file, (identity, mtime, size), 0, [problem])
            return None
        memory = parse(text, file.name)
        prose = sections(memory)
        source = self._meta(
            known, file, (identity, mtime, size), len(memory.entries) + len(prose), memory.problems
        )
        self._chunks(
            source, memory, prose, file.place.store == "memory", fts=fts, fresh=known is None
        )
        return True

    def _meta(
        self,
        known: tuple[int, ...] | None,
        file: FoundFile,
        state: tuple[str, int, int],
        entries: int,
        problems: Iterable[Problem],
    ) -> int:
        identity, mtime, size = state
        listed = json.dumps([item[1:] for item in problems])
        values = (place_text(file), mtime, size, identity, entries, listed)
        if known is not None:
            self.db.execute(
                "UPDATE file_meta SET place = ?, mtime = ?, size = ?, hash = ?, entries = ?, problems = ?"
                " WHERE id = ?",
                (*values, known[0]),
            )
            return int(known[0])
        cursor = self.db.execute(
            "INSERT INTO file_meta (path, place, mtime, size, hash, entries, problems)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (file.name, *values),
        )
        return int(cursor.lastrowid or 0)

    def _chunks(
        self,
        source: int,
        memory: MemoryFile,
        prose: Sequence[Entry],
        live: bool,
        *,
        fts: bool,
        fresh: bool,
    ) -> None:
        """Write the rows of a file; rows that are there already only learn their new place."""
        wanted = [row for entry in (*prose, *memory.entries) for row in rows(entry, live=live)]
        self._relate(source, memory)
        if not fresh:
            wanted = self._keep(source, wanted)
        if not wanted:
            return
        top = self.db.execute("SELECT coalesce(max(id), 0) FROM chunks").fetchone()[0]
        self.db.executemany(
            f"INSERT INTO chunks ({_CHUNK}) VALUES ({','.join('?' * 15)})",
            [(source, *row) for row in wanted],
        )
        self.vectors.outdate()
        self._note_occasions(top)
        if fts:
            self.db.execute(
                "INSERT INTO chunks_fts (rowid, title, text, tags, date, parts)"
                " SELECT id, title, text, tags, date, parts FROM chunks WHERE id > ?",
                (top,),
            )

    def _note_occasions(self, top: int) -> None:
        """Note when the corrections above a row number are to be told."""
        rows = self.db.execute(
            "SELECT id, metadata, text FROM chunks WHERE id > ? AND type = ? AND part = 0",
            (top, occasions.TYPE),
        ).fetchall()
        noted = (
            (*key, rowid)
            for rowid, metadata, text in rows
            for key in occasions.keys(json.loads(metadata), text)
        )
        self.db.executemany("INSERT INTO occasions VALUES (?, ?, ?)", noted)

    def _keep(self, source: int, wanted: list[Row]) -> list[Row]:
        """Drop the rows that are no longer wanted; return those that are not there yet."""
        known: dict[tuple[bytes, str, str], list[tuple[int, int, int]]] = {}
        for rowid, content, type_, kind, offset, line in self.db.execute(
            "SELECT id, digest, type, kind, offset, line FROM chunks WHERE source = ?", (source,)
        ):
            known.setdefault((content, type_, kind), []).append((rowid, offset, line))
        new, moved = [], []
        for row in wanted:
            same = known.get((row.digest, row.type, row.kind))
            if not same:
                new.append(row)
                continue
            rowid, offset, line = same.pop()
            if (offset, line) != (row.offset, row.line):
                moved.append((row.offset, row.line, rowid))
        self.db.executemany("UPDATE chunks SET offset = ?, line = ? WHERE id = ?", moved)
        rest = [rowid for same in known.values() for rowid, _, _ in same]
        if rest:
            self._delete_chunks("id IN (SELECT value FROM json_each(?))", (json.dumps(rest),))
        return new

    def _delete_chunks(self, where: str, values: tuple[Any, ...]) -> None:
        rows = self.db.execute(f"SELECT id FROM chunks WHERE {where}", values).fetchall()
        self.vectors.forget([row[0] for row in rows])
        self.db.execute(
            "INSERT INTO chunks_fts (chunks_fts, rowid, title, text, tags, date, parts)"
            f" SELECT 'delete', id, title, text, tags, date, parts FROM chunks WHERE {where}",
            values,
        )
        ids = json.dumps([row[0] for row in rows])
        gone = "DELETE FROM occasions WHERE chunk IN (SELECT value FROM json_each(?))"
        self.db.execute(gone, (ids,))
        self.db.execute(f"DELETE FROM chunks WHERE {where}", values)

    def _relate(self, source: int, memory: MemoryFile) -> None:
        self.db.execute("DELETE FROM relations WHERE source = ?", (source,))
        edges = [
            (clean(entry.id), clean(str(other)), relation, source)
            for entry in memory.entries
            for relation in ("supports", "contradicts")
            for other in entry.extra.get(relation, ())
        ]
        self.db.executemany("INSERT OR IGNORE INTO relations VALUES (?, ?, ?, 1.0, ?)", edges)
