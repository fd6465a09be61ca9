"""The index: `.memory.db`, derived from the memory files. All its SQL is here and in schema.sql."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
import stat
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memcli.errors import RefusedError
from memcli.index import bm25
from memcli.index.source import Candidate, FileRow
from memcli.index.vectors import Vectors
from memcli.index.view import Filters, Scope
from memcli.memory.levels import Place
from memcli.memory.values import Problem
from memcli.memory.words import clean, join
from memcli.project import levels_on_disk
from memcli.project.levels_on_disk import Found

if TYPE_CHECKING:
    from memcli.index.chunks import Row
    from memcli.memory.parser import MemoryFile

SCHEMA_VERSION = 3
IN_MEMORY = Path(":memory:")
APPLICATION = 0x6D656D31  # "mem1": tells our file from a foreign one
TABLES = frozenset(
    "file_meta chunks chunks_fts chunks_fts_data chunks_fts_idx chunks_fts_docsize chunks_fts_config"
    " embedding_cache vectors signs words relations meta".split()
)
FORGED = "a value is not what was written"
_TYPES = (int, int, str, int, int, int, str, str, str, str, str)
FOREIGN = frozenset(["<view>", "<trigger>"])
"""What would run when the index is read or written, and no index of mem has."""
MOST_WEIGHT = 20

_CHUNK = "source, entry, part, offset, line, live, type, kind, date, title, text, tags, parts, digest, metadata"


class Refreshed(NamedTuple):
    """What a refresh did. `busy` says that another process is writing and nothing was done."""

    read: int = 0
    changed: int = 0
    removed: int = 0
    busy: bool = False


class Unusable(Exception):
    """A file that is no index of this version; says why."""


class Index:
    """An open index. `notes` collects what the user should be told once.

    One that cannot be used is moved aside and made anew; with `look` nothing is changed or made and
    `Unusable` is raised. `IN_MEMORY` as the path makes one that lives as long as the process.
    """

    def __init__(self, path: Path, notes: list[str], *, look: bool = False) -> None:
        self.path = path
        self.notes = notes
        self._seen = (0, 0)
        self.db = self._look() if look else self._open()

    def close(self) -> None:
        self.db.close()

    engine = sqlite3.sqlite_version
    """The version of SQLite."""

    @property
    def vectors(self) -> Vectors:
        """Its vectors."""
        return Vectors(self.db)

    # --- opening

    def _look(self) -> sqlite3.Connection:
        from urllib.parse import quote

        if not self.path.is_file():
            raise Unusable("no regular file")
        address = f"file:{quote(os.fsencode(os.path.abspath(self.path)))}?mode=rw"
        db = sqlite3.connect(address, timeout=1, isolation_level=None, uri=True)
        try:
            db.execute("PRAGMA query_only = 1")
            db.execute("PRAGMA trusted_schema = 0")
            why = self._fault(db) or ("empty" if not self._snapshot(db)[2] else "")
        except BaseException:
            db.close()
            raise
        if why:
            db.close()
            raise Unusable(why)
        return db

    def _open(self) -> sqlite3.Connection:
        why = self._odd()
        for _ in range(3):  # another process may be mending it at the same time
            if why:
                self._aside(why)
            db = self._connect()
            why = self._made(db)
            if not why:
                return db
            db.close()
        raise RefusedError(f"the index cannot be opened: {why} ({self.path})", "mem doctor")

    def _odd(self) -> str:
        """What keeps SQLite from opening the path at all, "" for nothing."""
        try:
            status = os.lstat(self.path)
        except OSError:
            return ""
        self._seen = (status.st_dev, status.st_ino)
        usual = stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)
        return "" if usual else "no regular file"

    def _connect(self) -> sqlite3.Connection:
        if self.path == IN_MEMORY:
            return sqlite3.connect(IN_MEMORY, isolation_level=None)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with contextlib.suppress(OSError):
            self._seen = _inode(self.path)
        db = sqlite3.connect(self.path, timeout=10, isolation_level=None)
        with contextlib.suppress(sqlite3.Error):  # a file that is no database is found out later
            db.execute("PRAGMA trusted_schema = 0")  # a repository may bring the file
            db.execute("PRAGMA synchronous = NORMAL")  # a lost commit costs only a refresh
        return db

    def _made(self, db: sqlite3.Connection) -> str:
        """Why the file cannot be used, "" when it can; an empty one is made into an index."""
        try:
            why = self._fault(db)
            if not why and not self._snapshot(db)[2]:
                self._create(db)
        except sqlite3.OperationalError as error:
            db.close()
            raise RefusedError(
                f"the index cannot be opened: {error} ({self.path})", "mem doctor"
            ) from None
        except sqlite3.DatabaseError as error:
            why = f"damaged ({error})"
        return why

    def _fault(self, db: sqlite3.Connection) -> str:
        application, version, tables = self._snapshot(db)
        if not (application or version or tables):
            return ""
        if (application, version) == (APPLICATION, SCHEMA_VERSION):
            if tables & FOREIGN:
                return "made by somebody else (it has a view or a trigger)"
            return "" if tables >= TABLES else "damaged (a table is missing)"
        return "of another version" if application == APPLICATION else "not an index of mem"

    @staticmethod
    def _snapshot(db: sqlite3.Connection) -> tuple[int, int, set[str]]:
        """Application, version and the names of what there is: as of one moment."""
        db.execute("BEGIN")
        application, version = (
            int(db.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("application_id", "user_version")
        )
        names = (
            "SELECT iif(type IN ('table', 'index'), name, '<' || type || '>') FROM sqlite_master"
        )
        tables = {row[0] for row in db.execute(names)}
        db.execute("COMMIT")
        return application, version, tables

    def _create(self, db: sqlite3.Connection) -> None:
        with contextlib.suppress(sqlite3.OperationalError):  # a file system without shared memory
            db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        if not db.execute("PRAGMA user_version").fetchone()[0]:
            for statement in _statements():
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("COMMIT")

    def _aside(self, why: str) -> None:
        """Keep a file that is not ours to read, and say so; the index is built anew.

        Nothing is done when another process has put a new one there meanwhile.
        """
        try:
            if _inode(self.path) != self._seen:
                return
        except FileNotFoundError:
            return
        kept = self.path.with_name(f"{self.path.name}.aside-{time.time_ns()}")
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{self.path}{suffix}", f"{kept}{suffix}")
        self.notes.append(f"the index was {why}: moved to {kept.name} and built anew")

    def repair(self, error: sqlite3.DatabaseError) -> None:
        """Move a file that turned out damaged aside and start over."""
        with contextlib.suppress(sqlite3.Error):
            self.db.close()
        self._aside(f"damaged ({error})")
        self.db = self._open()

    def integrity(self) -> str:
        """What SQLite finds wrong with the file, "" when nothing."""
        found = str(self.db.execute("PRAGMA quick_check(1)").fetchone()[0])
        return "" if found == "ok" else " ".join(found.split())

    # --- files

    def files(self) -> dict[str, FileRow]:
        """Every indexed file by its path."""
        found = {}
        for row in self.db.execute(
            "SELECT id, path, place, mtime, size, hash, entries, problems FROM file_meta ORDER BY path"
        ):
            try:
                place, work_tree = _placed(row[2])
                problems = _problems(row[1], row[7]) if row[7] != "[]" else ()
            except (TypeError, ValueError, RecursionError):
                raise sqlite3.DatabaseError(FORGED) from None
            found[row[1]] = FileRow(
                row[0], row[1], place, work_tree, row[3], row[4], row[5], row[6], problems
            )
        return found

    def stale(self, found: Sequence[Found]) -> tuple[list[Found], list[str]]:
        """Files that look changed (by mtime, size or place), and indexed ones that are gone."""
        known = {
            row[0]: row[1:]
            for row in self.db.execute("SELECT path, mtime, size, place FROM file_meta")
        }
        changed = []
        for file in found:
            row = known.pop(file.name, None)
            if row is None or row[0] != file.mtime or row[1] != file.size or row[2] != _place(file):
                changed.append(file)
        return changed, list(known)

    def changed(self, found: Sequence[Found]) -> tuple[list[str], list[str]]:
        """Names of the files whose content differs from the index, and of those that are gone."""
        suspects, gone = self.stale(found)
        known = {row.path: row.hash for row in self.files().values()}
        return [file.name for file in suspects if not _same(file, known.get(file.name))], gone

    def refresh(
        self,
        found: Sequence[Found],
        *,
        wait: float,
        progress: Callable[[int], None] = lambda done: None,
        rebuild: bool = False,
    ) -> Refreshed:
        """Bring the index to the state of the files. Waits at most `wait` seconds for another
        writer.

        `rebuild` starts over from the files; only embedded vectors are kept.
        """
        changed, gone = self.stale(found)
        if not changed and not gone and not rebuild:
            return Refreshed()
        if not self._begin(wait):
            return Refreshed(busy=True)
        try:
            if rebuild:
                self._clear()
            changed, gone = self.stale(found)  # another process may have done it meanwhile
            done = self._write(changed, gone, progress)
            self.db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self.db.execute("ROLLBACK")
            raise
        return done

    def _clear(self) -> None:
        self.db.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('delete-all')")
        for table in ("chunks", "relations", "file_meta"):
            self.db.execute(f"DELETE FROM {table}")
        self.vectors.clear()

    def _begin(self, wait: float) -> bool:
        self.db.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
        try:
            self.db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                return False
            raise
        return True

    def empty(self) -> bool:
        """Whether nothing has been indexed yet."""
        return self.db.execute("SELECT 1 FROM file_meta LIMIT 1").fetchone() is None

    def _write(
        self, changed: Sequence[Found], gone: Sequence[str], progress: Callable[[int], None]
    ) -> Refreshed:
        first = self.empty()
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

    def _write_file(self, file: Found, *, fts: bool) -> bool | None:
        """None: not readable; False: same content; True: chunked anew."""
        known = self.db.execute(
            "SELECT id, hash, place FROM file_meta WHERE path = ?", (file.name,)
        ).fetchone()
        identity, mtime, size = "", 0, file.size
        try:
            data, mtime, size = levels_on_disk.read_bytes(file.path)
            identity = levels_on_disk.digest(data)
            if known and known[1] == identity and known[2] == _place(file):
                self.db.execute(
                    "UPDATE file_meta SET mtime = ?, size = ? WHERE id = ?", (mtime, size, known[0])
                )
                return False
            text = levels_on_disk.decode(data)
        except levels_on_disk.Unreadable as error:
            self._forget(file.name)
            problem = Problem(file.name, error.line, str(error), "unreadable")
            self._meta(None, file, (identity, mtime, size), 0, [problem])
            return None
        from memcli.memory.parser import parse
        from memcli.memory.prose import sections  # not loaded while nothing has changed

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
        file: Found,
        state: tuple[str, int, int],
        entries: int,
        problems: Iterable[Problem],
    ) -> int:
        identity, mtime, size = state
        listed = json.dumps([item[1:] for item in problems])
        values = (_place(file), mtime, size, identity, entries, listed)
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
        prose: Sequence[Any],
        live: bool,
        *,
        fts: bool,
        fresh: bool,
    ) -> None:
        """Write the rows of a file; rows that are there already only learn their new place."""
        from memcli.index.chunks import rows

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
        if fts:
            self.db.execute(
                "INSERT INTO chunks_fts (rowid, title, text, tags, date, parts)"
                " SELECT id, title, text, tags, date, parts FROM chunks WHERE id > ?",
                (top,),
            )

    def _keep(self, source: int, wanted: list[Row]) -> list[Row]:
        """Drop the rows that are no longer wanted; return those that are not there yet."""
        known: dict[tuple[bytes, str, str], list[tuple[int, int, int]]] = {}
        for rowid, digest, type_, kind, offset, line in self.db.execute(
            "SELECT id, digest, type, kind, offset, line FROM chunks WHERE source = ?", (source,)
        ):
            known.setdefault((digest, type_, kind), []).append((rowid, offset, line))
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
        self.db.execute(f"DELETE FROM chunks WHERE {where}", values)

    def _relate(self, source: int, memory: MemoryFile) -> None:
        self.db.execute(
            "DELETE FROM relations WHERE source = ? AND relation != 'similar'", (source,)
        )
        edges = [
            (clean(entry.id), clean(str(other)), relation, source)
            for entry in memory.entries
            for relation in ("supports", "contradicts")
            for other in entry.extra.get(relation, ())
        ]
        self.db.executemany("INSERT OR IGNORE INTO relations VALUES (?, ?, ?, 1.0, ?)", edges)

    # --- searching

    def lexical(
        self,
        terms: Sequence[str],
        allowed: frozenset[int] | None,
        denied: frozenset[int],
        pool: int = bm25.POOL,
    ) -> dict[int, float]:
        """BM25 of the best-matching chunks, and of all that tie with the last of them.

        FTS5's bm25 is additive over terms, so it is asked term by term. That allows an idf that
        stays positive, ln(1 + (N - n + .5)/(n + .5)), where FTS5 floors that of a word in more
        than half of the rows. `allowed` None: all chunks but the `denied` ones.
        """
        total = self.size()
        counted = sorted((n, term) for term in dict.fromkeys(terms) if (n := self._matching(term)))
        among = self._leaders(counted, total, allowed, denied)
        scores: dict[int, float] = {}
        covered: dict[int, float] = {}
        for n, term in counted:
            idf = bm25.idf(n, total)
            factor = idf / _fts_idf(n, total)
            for rowid, points in self._postings(term, among):
                if (allowed is None or rowid in allowed) and rowid not in denied:
                    scores[rowid] = scores.get(rowid, 0.0) + points * factor
                    covered[rowid] = covered.get(rowid, 0.0) + idf
        every = sum(bm25.idf(n, total) for n, _ in counted)
        return bm25.best({i: bm25.covered(s, covered[i], every) for i, s in scores.items()}, pool)

    def _leaders(
        self,
        counted: Sequence[tuple[int, str]],
        total: int,
        allowed: frozenset[int] | None,
        denied: frozenset[int],
    ) -> str | None:
        """The chunks worth scoring when common words match very many: those that cover most of the
        query.

        Reading row ids is ten times cheaper than scoring. Which are chosen depends on what they
        cover alone, not on how the index was built. None: all that match.
        """
        if sum(n for n, _ in counted) <= bm25.SCORED:
            return None
        common = min(bm25.idf(n, total) for n, _ in counted)
        covered: Counter[int] = Counter()
        for n, term in counted:
            found = self._rowids(term)
            for _ in range(min(round(bm25.idf(n, total) / common), MOST_WEIGHT)):
                covered.update(found)  # counting whole numbers is done in C
        seen: Mapping[int, int] = covered
        if allowed is not None or denied:
            seen = {
                i: c
                for i, c in covered.items()
                if (allowed is None or i in allowed) and i not in denied
            }
        return json.dumps(_foremost(seen))

    def _rowids(self, term: str) -> list[int]:
        """The chunks with a term; as one text, since a row for each would cost three times as much."""
        row = self.db.execute(
            "SELECT json_group_array(rowid) FROM chunks_fts WHERE chunks_fts MATCH ?",
            (quoted(term),),
        ).fetchone()
        return cast("list[int]", json.loads(row[0]))

    def denied(self, sources: Collection[int]) -> frozenset[int]:
        """Chunks that no plain search shows: not live, or of a file that is not in view."""
        rows = self.db.execute("SELECT id FROM chunks WHERE live = 0").fetchall()
        seen = frozenset(sources)
        hidden = [
            row[0] for row in self.db.execute("SELECT id FROM file_meta") if row[0] not in seen
        ]
        if hidden:
            rows += self.db.execute(
                "SELECT id FROM chunks WHERE live = 1 AND source IN (SELECT value FROM json_each(?))",
                (json.dumps(hidden),),
            ).fetchall()
        return frozenset(row[0] for row in rows)

    def size(self) -> int:
        """How many chunks there are."""
        return int(self.db.execute("SELECT count(*) FROM chunks").fetchone()[0])

    def _matching(self, term: str) -> int:
        row = self.db.execute(
            "SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?", (quoted(term),)
        ).fetchone()
        return int(row[0])

    def counts(self, words: Sequence[str]) -> list[int]:
        """In how many chunks each word stands."""
        return [self._matching(word) for word in words]

    def standing(self, terms: Sequence[str], among: Iterable[int]) -> dict[int, list[int]]:
        """For each of these chunks the numbers of the terms that stand in it."""
        rowids = json.dumps(list(among))
        found: dict[int, list[int]] = {}
        for number, term in enumerate(terms):
            rows = self.db.execute(
                "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?"
                " AND +rowid IN (SELECT value FROM json_each(?))",
                (quoted(term), rowids),
            )
            for row in rows:
                found.setdefault(row[0], []).append(number)
        return found

    def rarities(self, counts: Iterable[int]) -> list[float]:
        """The idf of words that stand in so many chunks."""
        total = self.size()
        return [bm25.idf(n, total) for n in counts]

    def chunks_of(self, entries: Iterable[str]) -> list[tuple[int, str]]:
        """(id, entry) of every chunk of these entries."""
        return self.db.execute(
            "SELECT id, entry FROM chunks WHERE entry IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(entries)),),
        ).fetchall()

    def idf(self, words: Sequence[str]) -> list[float]:
        """How rare each word is: ln(1 + (N - n + .5)/(n + .5)), above 0."""
        total = self.size()
        return [bm25.idf(n, total) for n in self.counts(words)]

    def _postings(self, term: str, among: str | None) -> Iterator[tuple[int, float]]:
        """(rowid, bm25 > 0) of the chunks with a term, or of those in the JSON list `among`."""
        weights = ", ".join(map(str, bm25.COLUMN_WEIGHTS))
        select = (
            f"SELECT rowid, -bm25(chunks_fts, {weights}) FROM chunks_fts WHERE chunks_fts MATCH ?"
        )
        if among is None:
            return self.db.execute(select, (quoted(term),))
        # The plus keeps SQLite from asking FTS5 anew for each row.
        return self.db.execute(
            f"{select} AND +rowid IN (SELECT value FROM json_each(?))", (quoted(term), among)
        )

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

    def matching(
        self, scope: Scope, test: Callable[[str | None, str | None, str], bool]
    ) -> list[Candidate]:
        """Of the entries that pass, those whose (paths, commands, text) pass a test, too."""
        self.define("passes", 3, test)
        where, values = self._condition(scope)
        return self._candidates(
            f"part = 0 AND {where} AND"
            " passes(json_extract(metadata, '$.paths'), json_extract(metadata, '$.commands'), text)",
            values,
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
        """(entry, relation, other) of every edge from or to `entry`."""
        return self.db.execute(
            "SELECT entry, relation, other FROM relations WHERE entry = ? OR other = ? ORDER BY 2, 1, 3",
            (entry, entry),
        ).fetchall()

    def edges(self, entries: Iterable[str]) -> list[tuple[str, str, float]]:
        """(entry, other, weight) of every edge from or to these entries that says they belong
        together.
        """
        return self.db.execute(
            "WITH given AS (SELECT value FROM json_each(?))"
            " SELECT entry, other, weight FROM relations WHERE relation IN ('similar', 'supports')"
            " AND (entry IN given OR other IN given) ORDER BY 1, 2, 3",
            (json.dumps(sorted(entries)),),
        ).fetchall()

    def similar(self) -> list[tuple[str, str]]:
        """Every edge (entry, other) between entries whose vectors are near."""
        return self.db.execute(
            "SELECT entry, other FROM relations WHERE relation = 'similar' ORDER BY 1, 2"
        ).fetchall()

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


# --- terms


def quoted(term: str) -> str:
    """One term or phrase as FTS5 takes it; a trailing `*` asks for a prefix."""
    if term.endswith("*"):
        return '"' + term[:-1].replace('"', '""') + '"*'
    return '"' + term.replace('"', '""') + '"'


def _fts_idf(n: int, total: int) -> float:
    """The idf inside FTS5's bm25: floored where a term stands in more than half of the rows."""
    share = (total - n + 0.5) / (n + 0.5)  # not above 0 where rows were lost that FTS5 still has
    return math.log(share) if share > 1 else 1e-6


def _foremost(covered: Mapping[int, int]) -> list[int]:
    """About `LEADERS` chunks that cover most: all that cover as much, or more where those are
    enough.
    """
    if len(covered) <= bm25.LEADERS:
        return list(covered)
    last = nlargest(bm25.LEADERS, covered.values())[-1]
    above = [i for i, count in covered.items() if count > last]
    return (
        above if len(above) >= bm25.POOL else [i for i, count in covered.items() if count >= last]
    )


def _same(file: Found, identity: str | None) -> bool:
    try:
        return levels_on_disk.digest(levels_on_disk.read_bytes(file.path).data) == identity
    except levels_on_disk.Unreadable:
        return identity == ""


def _inode(path: Path) -> tuple[int, int]:
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def _place(file: Found) -> str:
    return _place_text(file.place, file.tree)


@lru_cache(maxsize=1024)  # thousands of files stand in a few places
def _place_text(place: Place, work_tree: str) -> str:
    return json.dumps([*place, work_tree], ensure_ascii=False)


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


def _problems(path: str, text: str) -> tuple[Problem, ...]:
    """The problems of a file as they were written. Raises TypeError, ValueError."""
    found = tuple(Problem(path, *item) for item in json.loads(text))
    if any((type(line), type(message)) != (int, str) for _, line, message, _ in found):
        raise ValueError(FORGED)
    return found


@lru_cache(maxsize=1024)
def _placed(text: str) -> tuple[Place, str]:
    *where, work_tree = json.loads(text)
    return Place(*where), work_tree


def _statements() -> list[str]:
    text = (Path(__file__).parent / "schema.sql").read_text(encoding="utf-8")
    return [part for part in text.split(";\n") if part.strip()]
