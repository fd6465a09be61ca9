"""The record of one repository: exchanges of sessions and commits, compressed, with a
full text.

It is private and no index: agents delete their transcripts, it may be all that is
left."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from memcli.errors import DataError
from memcli.index.fulltext import FullText
from memcli.memory.docs import PARTS, Doc, DocPlace, parts_of, touches, unpacked
from memcli.memory.words import stem
from memcli.sessions.taking_back import taken_back
from memcli.storage.files import ONE_OF, make_private, private_dir, transaction
from memcli.text.matching import table

VERSION = 1
_PAGE = 8192  # bytes: of 4096 a quarter is lost behind the ends of exchanges
_VOCABULARY = 4000
COMMON = 800  # parts from which on a word is common, or a share of all
COMMON_SHARE = 33
_APPLICATION = 0x6D656D48


def _takes_back(doc: Doc) -> bool:
    """Whether a person takes something back in it: its words would tell it on."""
    spoken = (text for speaker, text in doc.said if speaker == "person")
    return any(taken_back(text) is not None for text in spoken)


class RecordContents:
    """An open record, for reading."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def rows(self, query: str, *values: object) -> list[Any]:
        """What a query finds."""
        return self.db.execute(query, values).fetchall()

    def note(self, key: str) -> str:
        """A value that was kept under a name, "" when there is none."""
        kept = self.rows("SELECT value FROM meta WHERE key = ?", key)
        return str(kept[0][0]) if kept else ""

    def common(self) -> dict[str, int]:
        """In how many parts the stems of common words stand; "": of all."""
        return dict(json.loads(self.note("stems") or "{}"))

    def bytes(self) -> int:
        """What it takes on disk."""
        names = ("page_count", "freelist_count", "page_size")
        pages, free, size = (self.rows(f"PRAGMA {name}")[0][0] for name in names)
        return int((pages - free) * size)

    def counts(self) -> dict[str, int]:
        """How many exchanges, sessions and commits there are."""
        query = (
            "SELECT count(*), count(DISTINCT unit) FROM docs WHERE source = 'session'"
            " UNION ALL SELECT count(*), 0 FROM docs WHERE source = 'commit'"
        )
        (exchanges, sessions), (commits, _) = self.rows(query)
        return {"exchanges": exchanges, "sessions": sessions, "commits": commits}

    def sizes(self) -> list[int]:
        """How many parts are searched, and how many words each column has."""
        return _numbers(
            self.rows("SELECT block FROM words_data WHERE id = 1")[0][0]
        ) or [0]

    def lengths(self, parts: Collection[int]) -> dict[int, float]:
        """How long parts are, 1 being the mean of all."""
        count, *words = self.sizes()
        query = f"SELECT id, sz FROM words_docsize WHERE id {ONE_OF}"
        sizes = self.rows(query, json.dumps(list(parts)))
        all_words = sum(words) or 1
        long = (
            (part, size if size.isascii() else _numbers(size)) for part, size in sizes
        )
        return {part: sum(size) * count / all_words for part, size in long}

    def words(self) -> FullText:
        """The words of its parts as they are. Where many parts have a word, so many of
        them are looked at as say that it is common."""
        parts = self.sizes()[0]
        size = f"SELECT {parts}"
        common = max(COMMON, parts // COMMON_SHARE)
        return FullText(self.db, "words", (1.0, 1.0), size=size, most=common)

    def places(self, ids: Collection[int]) -> list[DocPlace]:
        """Where docs stand: those that count."""
        query = f"SELECT id, source, unit, turn, date, who FROM docs WHERE live AND id {ONE_OF}"
        return [DocPlace(*row) for row in self.rows(query, json.dumps(list(ids)))]

    def docs(self, ids: Sequence[int]) -> dict[int, Doc]:
        """Docs by number."""
        return dict(self.select(f"id {ONE_OF}", json.dumps(list(ids))))

    def stretch(self, unit: str, first: int, last: int) -> list[Doc]:
        """The exchanges of a session from one to another, in order."""
        turns = self.select(
            "unit = ? AND turn BETWEEN ? AND ? ORDER BY turn", unit, first, last
        )
        return [doc for _, doc in turns]

    def about(self, path: str, most: int) -> list[Doc]:
        """The newest exchanges in which a file was edited."""
        where = "source = 'session' AND instr(about, ?) ORDER BY date DESC"
        exchanges = (doc for _, doc in self.select(where, path.rpartition("/")[2]))
        return list(islice((doc for doc in exchanges if touches(doc, path)), most))

    def units(self, prefix: str = "", before: str = "") -> list[str]:
        """The sessions and commits whose name begins so, from before a day where one is
        given."""
        where = "substr(unit, 1, ?) = ? AND (? = '' OR date < ?)"
        query = f"SELECT DISTINCT unit FROM docs WHERE {where}"
        return [row[0] for row in self.rows(query, len(prefix), prefix, before, before)]

    def superseding(self, docs: Iterable[Doc]) -> dict[str, str]:
        """Which of these a later commit takes back or amends: its unit -> that
        commit."""
        query = (
            "SELECT s.by FROM superseded s JOIN docs d ON d.unit = s.by AND d.live"
            " WHERE (? LIKE s.unit || '%' OR s.unit = ?) AND s.by != ?"
        )
        commits = [
            (doc.unit, f'"{doc.title}') for doc in docs if doc.source == "commit"
        ]
        by_unit = {unit: self.rows(query, unit, title, unit) for unit, title in commits}
        return {unit: rows[0][0] for unit, rows in by_unit.items() if rows}

    def select(self, where: str, *values: object) -> Iterator[tuple[int, Doc]]:
        """The docs that count for which a condition holds, by number."""
        names = "id, body, about, source, unit, turn, key, who, date, title"
        query = f"SELECT {names} FROM docs WHERE live AND {where}"
        unit = ""
        short = 7
        for number, body, about, *facts in self.db.execute(query, values):
            if facts[1] != unit:
                unit = facts[1]
                short = _short(self.db, facts[1])
            yield (
                number,
                Doc._make((*facts, unpacked(body), json.loads(about), (), short)),
            )

    def forgotten_until(self, unit: str) -> str:
        """The time until which what was said in a session is not to be read again."""
        if self.rows("SELECT 1 FROM forgotten WHERE unit = ?", unit):
            return "~"
        return max(self.note("forgotten_before"), self.note("forgotten_all"))


def _short(db: sqlite3.Connection, unit: str) -> int:
    """How much of the name of a session or commit none of the others begins with, from
    7 on."""
    neighbours = (
        "SELECT max(unit) FROM docs WHERE unit < ?",
        "SELECT min(unit) FROM docs WHERE unit > ?",
    )
    others = [db.execute(query, (unit,)).fetchone()[0] or "" for query in neighbours]
    longer = (
        length
        for length in range(7, len(unit))
        if not any(other.startswith(unit[:length]) for other in others)
    )
    return next(longer, max(len(unit), 7))


def _numbers(packed: bytes) -> list[int]:
    """Numbers as FTS5 packs them: seven bits a byte, the last one without the
    eighth."""
    numbers = list[int]()
    number = 0
    for byte in packed:
        number = number << 7 | byte & 127
        if byte < 128:
            numbers.append(number)
            number = 0
    return numbers


@contextmanager
def opened(
    path: Path | None, *, make: bool = False, wait: float = 10.0
) -> Iterator[HistoryRecord | None]:
    """The record, or None where there is none and none is to be made. Raises
    DataError."""
    if path is None or not (make or path.exists()):
        yield None
        return
    if make:
        private_dir(path.parent)
        make_private(path)
    try:
        with closing(sqlite3.connect(path, timeout=wait, isolation_level=None)) as db:
            yield HistoryRecord(db, path)
    except sqlite3.Error as error:
        busy = isinstance(
            error, sqlite3.OperationalError
        )  # the disk is full, say: no damage
        hint = "move it away; mem index --history reads what agents still keep"
        hint = "mend that and try again: what is in it stays" if busy else hint
        raise DataError(f"{path}: cannot be used: {error}", hint) from None


class HistoryRecord(RecordContents):
    """An open record. Everything that is stored has been redacted before."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        super().__init__(db)
        self.path = path
        db.execute("PRAGMA secure_delete = ON")
        if self.rows("PRAGMA application_id")[0][0] != _APPLICATION:
            db.execute(f"PRAGMA page_size = {_PAGE}")
            db.execute("PRAGMA journal_mode = WAL")
            with transaction(db):
                self._make()
        elif self.rows("PRAGMA user_version")[0][0] != VERSION:
            raise DataError(f"{path}: written by another version of mem", "update mem")

    def _make(self) -> None:
        if not self.rows("SELECT 1 FROM sqlite_master"):
            head = (
                f"PRAGMA application_id = {_APPLICATION}",
                f"PRAGMA user_version = {VERSION}",
            )
            for statement in (*table("history/schema.sql").split(";\n"), *head):
                self.db.execute(statement)

    def keep(self, key: str, value: str) -> None:
        """Keep a value under a name."""
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def position(self, path: str) -> tuple[int, int, int, str] | None:
        """(size, mtime, end, head) of a file as it was when it was read."""
        query = "SELECT size, mtime, end, head FROM files WHERE path = ?"
        return next(iter(self.rows(query, path)), None)

    def read_until(self, path: str, size: int, mtime: int, end: int, head: str) -> None:
        """Remember how far a file was read."""
        row = (path, size, mtime, end, head)
        self.db.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", row)

    def add(self, docs: Iterable[Doc]) -> int:
        """Add what is not there yet and was not forgotten; how many were added."""
        forgotten = self.note("forgotten_before")
        whole = self.note("forgotten_all")
        pruned = self.note("pruned_before")
        count = 0
        for doc in docs:
            old = doc.date <= whole or (doc.source == "session" and doc.date < pruned)
            gone = self.rows("SELECT 1 FROM forgotten WHERE unit = ?", doc.unit)
            if not (old or doc.date < forgotten or gone):
                count += self._put(doc)
        return count

    def _put(self, doc: Doc) -> bool:
        known = self.rows("SELECT id, size FROM docs WHERE key = ?", doc.key)
        size = sum(len(text) for _, text in doc.said)
        if known and known[0][1] >= size:
            return False
        turn = doc.turn
        if known:  # an exchange that went on
            turn = self._drop([known[0][0]])
        elif doc.source == "session":
            last = self.rows("SELECT max(turn) FROM docs WHERE unit = ?", doc.unit)
            turn = (last[0][0] or 0) + 1
        parts = parts_of(doc.said)
        row = {
            **doc._asdict(),
            "turn": turn,
            "parts": len(parts),
            "size": size,
            "live": int(not _takes_back(doc)),
        }
        del row["said"], row["supersedes"], row["short"]
        row["about"] = json.dumps(doc.about, ensure_ascii=False)
        row["body"] = zlib.compress(
            json.dumps(doc.said, ensure_ascii=False).encode(), 4
        )
        into = (
            f"INSERT INTO docs ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
        )
        rowid = self.db.execute(into, list(row.values())).lastrowid
        assert rowid is not None
        first = rowid * PARTS
        rows = [(first + place, *part) for place, part in enumerate(parts)]
        self.db.executemany(
            "INSERT INTO words (rowid, person, agent) VALUES (?, ?, ?)", rows
        )
        marks = [(unit, doc.unit) for unit in doc.supersedes]
        self.db.executemany("INSERT OR IGNORE INTO superseded VALUES (?, ?)", marks)
        return True

    def _drop(self, ids: Collection[int]) -> int:
        """Delete docs with their words; the turn of the last one."""
        turn = 0
        gone = (
            "INSERT INTO words (words, rowid, person, agent) VALUES ('delete', ?, ?, ?)"
        )
        for number in ids:
            ((turn, body),) = self.rows(
                "SELECT turn, body FROM docs WHERE id = ?", number
            )
            parts = enumerate(parts_of(unpacked(body)))
            self.db.executemany(
                gone, [(number * PARTS + place, *part) for place, part in parts]
            )
            self.db.execute("DELETE FROM docs WHERE id = ?", (number,))
        return turn

    def reachable(self, hashes: Collection[str]) -> None:
        """Of the commits only these count; the others stay for another branch."""
        keys = [(f"c:{commit}",) for commit in hashes]
        with transaction(self.db):
            self.db.execute("UPDATE docs SET live = 0 WHERE source = 'commit'")
            self.db.executemany("UPDATE docs SET live = 1 WHERE key = ?", keys)

    def forget(
        self, *, unit: str = "", before: str = "", all_until: str = ""
    ) -> list[str]:
        """Delete for good a session or commit, what is older than a day, or all; the
        units."""
        where = "unit = ?" if unit else "date < ?" if before else "? = ''"
        with transaction(self.db):
            rows = self.rows(f"SELECT id, unit FROM docs WHERE {where}", unit or before)
            self._drop([row[0] for row in rows])
            if unit:
                self.db.execute("INSERT OR IGNORE INTO forgotten VALUES (?)", (unit,))
            else:
                self.keep(
                    "forgotten_before", max(self.note("forgotten_before"), before)
                )
                self.keep("forgotten_all", max(self.note("forgotten_all"), all_until))
            self.db.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._rewrite()
        return list(dict.fromkeys(row[1] for row in rows))

    def forget_docs(self, ids: Collection[int]) -> None:
        """Delete some exchanges for good, with their words."""
        with transaction(self.db):
            self._drop(ids)
            self.db.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._rewrite()

    def prune(self, oldest: str, commits: int, megabytes: int) -> None:
        """Keep within the bounds: no session before a day, so many commits, so much in
        all."""
        with transaction(self.db):
            self._drop(self._ids("source = 'session' AND date < ?", oldest))
            self._drop(
                self._ids(
                    "source = 'commit' ORDER BY date DESC LIMIT -1 OFFSET ?", commits
                )
            )
            self.keep("pruned_before", max(self.note("pruned_before"), oldest))
        while self.bytes() > megabytes << 20 and (
            ids := self._ids("1 ORDER BY date LIMIT ?", 500)
        ):
            with transaction(self.db):
                self._drop(ids)
            self._rewrite()

    def _ids(self, where: str, value: object) -> list[int]:
        return [
            row[0] for row in self.rows(f"SELECT id FROM docs WHERE {where}", value)
        ]

    def _rewrite(self) -> None:
        self.db.execute("VACUUM")
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def settle(self) -> None:
        """Count anew which words are common, once a tenth of the record is new."""
        total = self.sizes()[0]
        known = json.loads(self.note("stems") or "{}")
        if abs(total - known.get("", 0)) * 10 <= total:
            return
        terms = "temp.terms USING fts5vocab('main', 'words', 'row')"
        self.db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {terms}")
        query = (
            "SELECT term, doc FROM temp.terms WHERE doc >= ? ORDER BY doc DESC LIMIT ?"
        )
        by_stem = Counter({"": total})
        for term, count in self.rows(query, max(3, total // 500), _VOCABULARY):
            by_stem[stem(term)] += count
        self.keep("stems", json.dumps(by_stem, ensure_ascii=False))

    def take(self, other: HistoryRecord) -> int:
        """Take over what another record has; how many docs are new."""
        with transaction(self.db):
            for name, row in ("forgotten", "?"), ("superseded", "?, ?"):
                marks = other.rows(f"SELECT * FROM {name}")
                self.db.executemany(
                    f"INSERT OR IGNORE INTO {name} VALUES ({row})", marks
                )
            for key in ("forgotten_before", "forgotten_all"):
                self.keep(key, max(self.note(key), other.note(key)))
            added = self.add(doc for _, doc in other.select("1 ORDER BY unit, turn"))
        self.settle()
        return added
