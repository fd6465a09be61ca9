"""The record of one repository: exchanges of sessions and commits, compressed, with a
full text.

It is private and no index: agents delete their transcripts, it may be all that is
left."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memcli.index.record import (
    APPLICATION,
    VERSION,
    RecordContents,
    connected,
    storable,
)
from memcli.memory.docs import PARTS, Doc, parts_of, unpacked
from memcli.memory.tombstones import Forgotten
from memcli.memory.words import stem
from memcli.sessions.taking_back import taken_back
from memcli.storage.files import make_private, private_dir, transaction
from memcli.text.matching import table

_PAGE = 8192  # bytes: of 4096 a quarter is lost behind the ends of exchanges
_VOCABULARY = 4000
BATCH = 1000
"""Parts of docs that are indexed together: between other statements SQLite starts anew
for each."""
_Words = tuple[int, str, str]
"""The number of a part, and the words of a person and of others in it."""


def says(doc: Doc, forgotten: Forgotten) -> bool:
    """Whether a doc says what was forgotten on its day or later."""
    return forgotten.is_said(doc.words, doc.date)


def _takes_back(doc: Doc) -> bool:
    """Whether a person takes something back in it: its words would tell it on."""
    spoken = (text for speaker, text in doc.said if speaker == "person")
    return any(taken_back(text) is not None for text in spoken)


@contextmanager
def opened(
    path: Path | None,
    *,
    make: bool = False,
    wait: float = 10.0,
    forgotten: Callable[[], Forgotten] = Forgotten,
) -> Iterator[HistoryRecord | None]:
    """The record, or None where there is none and none is to be made; what says what
    was `forgotten` is not added. Raises DataError."""
    if path is None or not (make or path.exists()):
        yield None
        return
    if make:
        private_dir(path.parent)
        make_private(path)
    with connected(path, HistoryRecord, wait) as record:
        record.words_forgotten = forgotten
        yield record


class HistoryRecord(RecordContents):
    """An open record. Everything that is stored has been redacted before."""

    words_forgotten: Callable[[], Forgotten] = Forgotten

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        super().__init__(db, path)
        db.execute("PRAGMA secure_delete = ON")
        if not self.is_made:
            db.execute(f"PRAGMA page_size = {_PAGE}")
            db.execute("PRAGMA journal_mode = WAL")
            with transaction(db):
                self._make()

    def _make(self) -> None:
        if not self.rows("SELECT 1 FROM sqlite_master"):
            head = (
                f"PRAGMA application_id = {APPLICATION}",
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
        before = self.note("forgotten_before")
        until = self.note("forgotten_all")
        again = self.note("commits_again")
        pruned = self.note("pruned_before")
        words = self.words_forgotten()
        pending: list[_Words] = []
        count = 0
        for doc in docs:
            is_session = doc.source == "session"
            is_old = doc.date < before or doc.date <= until
            is_out = (is_session or not again) and is_old
            is_pruned = is_session and doc.date < pruned
            gone = self.rows("SELECT 1 FROM forgotten WHERE unit = ?", doc.unit)
            if not (is_out or is_pruned or gone or says(doc, words)):
                count += self._put(doc, pending)
            if len(pending) > BATCH:
                self._index(pending)
        self._index(pending)
        return count

    def _index(self, pending: list[_Words]) -> None:
        """Make what is pending found by its words."""
        self.db.executemany(
            "INSERT INTO words (rowid, person, agent) VALUES (?, ?, ?)", pending
        )
        pending.clear()

    def _put(self, doc: Doc, pending: list[_Words]) -> bool:
        """Keep a doc, whose words are pending from then on."""
        known = self.rows("SELECT id, size FROM docs WHERE key = ?", doc.key)
        size = sum(len(text) for _, text in doc.said)
        if known and known[0][1] >= size:
            return False
        turn = doc.turn
        if known:  # an exchange that went on
            self._index(pending)
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
        row["about"] = storable(json.dumps(doc.about, ensure_ascii=False))
        row["body"] = zlib.compress(
            json.dumps(doc.said, ensure_ascii=False).encode(), 4
        )
        into = (
            f"INSERT INTO docs ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
        )
        rowid = self.db.execute(into, list(row.values())).lastrowid
        assert rowid is not None
        first = rowid * PARTS
        pending += [(first + place, *part) for place, part in enumerate(parts)]
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
        query = f"SELECT id, unit, source FROM docs WHERE {where}"
        rows = self.rows(query, unit or before)
        units = {row[1]: row[2] for row in rows}
        with transaction(self.db):
            if unit:
                self.db.execute("INSERT OR IGNORE INTO forgotten VALUES (?)", (unit,))
            else:
                self.keep(
                    "forgotten_before", max(self.note("forgotten_before"), before)
                )
                self.keep("forgotten_all", max(self.note("forgotten_all"), all_until))
                self.keep("commits_again", "")
            for source, number in Counter(units.values()).items():
                self.keep(f"forgotten_{source}", str(self.forgotten(source) + number))
        self.forget_docs([row[0] for row in rows])
        return list(units)

    def forgotten(self, source: str) -> int:
        """How many sessions, or commits, were forgotten and are not read again."""
        return int(self.note(f"forgotten_{source}") or 0)

    def read_commits_again(self) -> None:
        """Let commits come back that were forgotten by their day: git has them."""
        with transaction(self.db):
            self.keep("commits_again", "yes")
            self.keep("forgotten_commit", "")
            self.keep("head", "")

    def forget_docs(self, ids: Collection[int]) -> None:
        """Delete some exchanges and commits for good, with their words."""
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
        total = self.parts()
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
