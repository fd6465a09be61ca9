"""The record of one repository as it is read: exchanges of sessions and commits,
compressed, with a full text."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from memcli.errors import DataError
from memcli.index.fulltext import FullText, sizes
from memcli.memory.docs import Doc, DocPlace, touches, unpacked
from memcli.storage.files import ONE_OF

VERSION = 1
APPLICATION = 0x6D656D48
BUSY = 0.2  # seconds that one who only reads waits for a busy record
COMMON = 800  # parts from which on a word is common, or a share of all
COMMON_SHARE = 33


class RecordContents:
    """An open record, for reading. Raises DataError for one of another version."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self.db = db
        self.path = path
        if self.is_made and self.rows("PRAGMA user_version")[0][0] != VERSION:
            raise DataError(f"{path}: written by another version of mem", "update mem")

    @property
    def is_made(self) -> bool:
        """Whether the file is a record at all."""
        return bool(self.rows("PRAGMA application_id")[0][0] == APPLICATION)

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

    def parts(self) -> int:
        """How many parts are searched."""
        return sizes(self.db, "words")[0]

    def words(self) -> FullText:
        """The words of its parts as they are. Where many parts have a word, so many of
        them are looked at as say that it is common."""
        parts = self.parts()
        size = f"SELECT {parts}"
        common = max(COMMON, parts // COMMON_SHARE)
        return FullText(self.db, "words", size=size, most=common)

    def places(self, ids: Collection[int]) -> list[DocPlace]:
        """Where docs stand: those that count."""
        names = ", ".join(DocPlace._fields)
        query = f"SELECT {names} FROM docs WHERE live AND id {ONE_OF}"
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

    def about(self, path: str) -> list[Doc]:
        """The exchanges in which a file was edited, the newest first."""
        where = "source = 'session' AND instr(about, ?) ORDER BY date DESC"
        name = storable(path.rpartition("/")[2])
        exchanges = (doc for _, doc in self.select(where, name))
        return [doc for doc in exchanges if touches(doc, path)]

    def units(self, prefix: str = "", before: str = "", source: str = "") -> list[str]:
        """The sessions and commits (or those of one source) whose name begins so, from
        before a day where one is given."""
        query = (
            "SELECT DISTINCT unit FROM docs WHERE substr(unit, 1, ?) = ?"
            " AND (? = '' OR date < ?) AND (? = '' OR source = ?)"
        )
        asked = (len(prefix), prefix, before, before, source, source)
        return [row[0] for row in self.rows(query, *asked)]

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

    def naming(self, units: Iterable[str]) -> set[str]:
        """Those of these commits that name the one which they take back or amend."""
        query = f"SELECT by FROM superseded WHERE by {ONE_OF}"
        return {unit for (unit,) in self.rows(query, json.dumps([*units]))}

    def select(
        self, where: str, *values: object, every: bool = False
    ) -> Iterator[tuple[int, Doc]]:
        """The docs that count (or `every` one) for which a condition holds, by
        number."""
        names = "id, body, about, source, unit, turn, key, who, date, title"
        live = "1" if every else "live"
        query = f"SELECT {names} FROM docs WHERE {live} AND {where}"
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


def storable(text: str) -> str:
    """A text that SQLite can hold: a byte of a name that is no UTF-8 stands as JSON
    escapes it."""
    return text.encode("utf-8", "backslashreplace").decode()


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


Contents = TypeVar("Contents", bound=RecordContents)


@contextmanager
def connected(path: Path, kind: type[Contents], wait: float) -> Iterator[Contents]:
    """A record that is open as one of a `kind`. Raises DataError."""
    try:
        with closing(sqlite3.connect(path, timeout=wait, isolation_level=None)) as db:
            yield kind(db, path)
    except sqlite3.Error as error:
        busy = isinstance(
            error, sqlite3.OperationalError
        )  # the disk is full, say: no damage
        hint = "move it away; mem index --history reads what agents still have"
        hint = "mend that and try again: what is in it stays" if busy else hint
        raise DataError(f"{path}: cannot be used: {error}", hint) from None
