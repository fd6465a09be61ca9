"""What hooks did in the sessions of a project: what was told and when, what waits to be learned.

Tables of the state file. What changes something does so in the running transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple, Protocol

SCHEMA = """
CREATE TABLE IF NOT EXISTS shown ( -- what stands in a session's context
  project TEXT NOT NULL, session TEXT NOT NULL, event TEXT NOT NULL, entry TEXT NOT NULL, day TEXT NOT NULL,
  PRIMARY KEY (project, session, event, entry)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS told ( -- what was ever told, and why
  project TEXT NOT NULL, session TEXT NOT NULL, event TEXT NOT NULL, entry TEXT NOT NULL,
  title TEXT NOT NULL, why TEXT NOT NULL, at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS told_session ON told (project, session);
CREATE TABLE IF NOT EXISTS waiting ( -- uses that no memory file counts yet
  project TEXT NOT NULL, entry TEXT NOT NULL, session TEXT NOT NULL, day TEXT NOT NULL,
  PRIMARY KEY (project, entry, session)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS news ( -- lines that a person has not seen yet
  project TEXT NOT NULL, line TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS starts (
  project TEXT NOT NULL, session TEXT NOT NULL, source TEXT NOT NULL,
  size INTEGER NOT NULL, day TEXT NOT NULL, -- size of the transcript then
  PRIMARY KEY (project, session, source)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS turns (
  project TEXT NOT NULL, session TEXT NOT NULL, count INTEGER NOT NULL, newest INTEGER NOT NULL,
  nudged INTEGER NOT NULL, day TEXT NOT NULL,
  PRIMARY KEY (project, session)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spool (
  project TEXT NOT NULL, session TEXT NOT NULL, path TEXT NOT NULL, ended INTEGER NOT NULL,
  size INTEGER NOT NULL, tries INTEGER NOT NULL,
  PRIMARY KEY (project, session, path)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS beats (
  project TEXT NOT NULL, event TEXT NOT NULL, at INTEGER NOT NULL, -- seconds since 1970
  PRIMARY KEY (project, event)
) WITHOUT ROWID;
"""


class Opened(Protocol):
    """An open state file, and the project that it is asked about."""

    @property
    def db(self) -> sqlite3.Connection: ...

    @property
    def project(self) -> str: ...


class Telling(NamedTuple):
    """One thing that a session was told: the hook's event, the entry, why it was told, and when."""

    session: str
    event: str
    entry: str
    title: str
    why: str
    at: str


class Turns(NamedTuple):
    """How many prompts a session had since memory was last written (`newest`, an mtime in ns)."""

    prompts: int = 0
    newest: int = 0
    nudged: bool = False


class Spooled(NamedTuple):
    """A session that waits to be learned from: its transcript ("" when not known), its size then.

    `ended` says that the session is over; one that is not (it was compacted) is left until it
    rests.
    """

    session: str
    path: str
    ended: bool
    size: int
    tries: int = 0


class SessionLog:
    """What the sessions of one project were told."""

    def __init__(self, state: Opened) -> None:
        self.db, self.project = state.db, state.project

    def shown(self, session: str, event: str = "") -> set[str]:
        """The ids that stand in a session's context, told on any event or on one."""
        rows = self.db.execute(
            "SELECT entry FROM shown WHERE project = ? AND session = ? AND ? IN ('', event)",
            (self.project, plain(session), event),
        )
        return {row[0] for row in rows}

    def remember_shown(self, session: str, event: str, entries: Iterable[str], day: str) -> None:
        """Remember what stands in a session's context."""
        self.db.executemany(
            "INSERT OR IGNORE INTO shown VALUES (?, ?, ?, ?, ?)",
            [(self.project, plain(session), event, entry, day) for entry in entries],
        )

    def forget_context(self, session: str) -> None:
        """The context of a session is empty again: everything counts as untold."""
        for table in ("shown", "starts"):
            self.db.execute(
                f"DELETE FROM {table} WHERE project = ? AND session = ?",
                (self.project, plain(session)),
            )

    def tell(self, tellings: Iterable[Telling]) -> None:
        """Remember what was told, why and when."""
        self.db.executemany(
            "INSERT INTO told VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(self.project, plain(each.session), *each[1:]) for each in tellings],
        )

    def told(self, session: str = "") -> list[Telling]:
        """What was told, of one session or of all, in order; a beginning of its id names one."""
        rows = self.db.execute(
            "SELECT session, event, entry, title, why, at FROM told"
            " WHERE project = ? AND substr(session, 1, ?) = ? ORDER BY rowid",
            (self.project, len(session), plain(session)),
        )
        return [Telling._make(row) for row in rows]

    def started(self, session: str, source: str) -> int | None:
        """The size of the transcript when a start was last answered, None when never."""
        row = self.db.execute(
            "SELECT size FROM starts WHERE project = ? AND session = ? AND source = ?",
            (self.project, plain(session), plain(source)),
        ).fetchone()
        return int(row[0]) if row else None

    def is_known(self, session: str) -> bool:
        """Whether a start of this session was answered."""
        row = self.db.execute(
            "SELECT 1 FROM starts WHERE project = ? AND session = ? LIMIT 1",
            (self.project, plain(session)),
        ).fetchone()
        return row is not None

    def remember_start(self, session: str, source: str, size: int, day: str) -> None:
        """Remember that a start was answered."""
        self.db.execute(
            "INSERT OR REPLACE INTO starts VALUES (?, ?, ?, ?, ?)",
            (self.project, plain(session), plain(source), size, day),
        )

    def turns(self, session: str) -> Turns:
        """The prompts of a session so far."""
        row = self.db.execute(
            "SELECT count, newest, nudged FROM turns WHERE project = ? AND session = ?",
            (self.project, plain(session)),
        ).fetchone()
        return Turns(row[0], row[1], bool(row[2])) if row else Turns()

    def prompts_since(self, newest: int) -> int:
        """The prompts of all sessions since memory was last written, at `newest` (an mtime in ns)."""
        row = self.db.execute(
            "SELECT total(count) FROM turns WHERE project = ? AND newest >= ?",
            (self.project, newest),
        ).fetchone()
        return int(row[0])

    def remember_turns(self, session: str, turns: Turns, day: str) -> None:
        """Remember the prompts of a session."""
        self.db.execute(
            "INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?, ?)",
            (self.project, plain(session), *turns, day),
        )

    def forget_sessions(self, before: str) -> None:
        """Forget what was told to sessions before a day."""
        for table, column in (
            ("shown", "day"),
            ("starts", "day"),
            ("turns", "day"),
            ("told", "at"),
        ):
            self.db.execute(
                f"DELETE FROM {table} WHERE project = ? AND {column} < ?", (self.project, before)
            )

    # --- uses that wait, and what a person is to be told once

    def wait(self, session: str, entries: Iterable[str], day: str) -> None:
        """Let uses of entries by a session wait until their file is written anyway."""
        self.db.executemany(
            "INSERT OR IGNORE INTO waiting VALUES (?, ?, ?, ?)",
            [(self.project, entry, plain(session), day) for entry in entries],
        )

    def waiting(self) -> dict[str, int]:
        """How many uses of each entry no memory file counts yet."""
        rows = self.db.execute(
            "SELECT entry, count(*) FROM waiting WHERE project = ? GROUP BY entry", (self.project,)
        )
        return dict(rows.fetchall())

    def uses(self) -> dict[str, list[str]]:
        """The entries whose use by a session no memory file counts yet, by session."""
        found: dict[str, list[str]] = {}
        for session, entry in self.db.execute(
            "SELECT session, entry FROM waiting WHERE project = ? ORDER BY session, entry",
            (self.project,),
        ):
            found.setdefault(session, []).append(entry)
        return found

    def counted(self, session: str, entries: Iterable[str]) -> None:
        """The uses of these entries by a session stand in their files now."""
        self.db.executemany(
            "DELETE FROM waiting WHERE project = ? AND session = ? AND entry = ?",
            [(self.project, plain(session), entry) for entry in entries],
        )

    def announce(self, line: str) -> None:
        """Have a line told to the person at the next start of a session."""
        self.db.execute("INSERT INTO news VALUES (?, ?)", (self.project, plain(line)))

    def take_news(self) -> list[str]:
        """The lines that wait to be told; they are told once."""
        rows = self.db.execute("SELECT line FROM news WHERE project = ?", (self.project,))
        lines = [str(row[0]) for row in rows]
        if lines:
            self.db.execute("DELETE FROM news WHERE project = ?", (self.project,))
        return lines


class Spool:
    """The sessions of one project that wait to be learned from, and when hooks were last called."""

    def __init__(self, state: Opened) -> None:
        self.db, self.project = state.db, state.project

    def add(self, item: Spooled) -> None:
        """Let a session wait to be learned from. One that has ended stays so, and is tried anew."""
        self.db.execute(
            "INSERT INTO spool VALUES (?, ?, ?, ?, ?, 0) ON CONFLICT DO UPDATE SET"
            " ended = max(ended, excluded.ended), size = excluded.size, tries = 0",
            (self.project, plain(item.session), plain(item.path), item.ended, item.size),
        )

    def waiting(self) -> list[Spooled]:
        """The sessions that wait."""
        rows = self.db.execute(
            "SELECT session, path, ended, size, tries FROM spool WHERE project = ? ORDER BY session, path",
            (self.project,),
        )
        return [Spooled(row[0], row[1], bool(row[2]), row[3], row[4]) for row in rows]

    def remove(self, item: Spooled) -> None:
        """A session no longer waits, unless it was added again meanwhile, with a larger transcript."""
        self.db.execute(
            "DELETE FROM spool WHERE project = ? AND session = ? AND path = ? AND size = ?",
            (self.project, item.session, item.path, item.size),
        )

    def count_try(self, item: Spooled) -> None:
        """A session could not be learned from."""
        self.db.execute(
            "UPDATE spool SET tries = tries + 1 WHERE project = ? AND session = ? AND path = ?",
            (self.project, item.session, item.path),
        )

    def beat(self, event: str, at: int) -> None:
        """Remember when a hook was last called (seconds since 1970)."""
        self.db.execute("INSERT OR REPLACE INTO beats VALUES (?, ?, ?)", (self.project, event, at))

    def beats(self) -> dict[str, int]:
        """When each hook was last called."""
        rows = self.db.execute("SELECT event, at FROM beats WHERE project = ?", (self.project,))
        return dict(rows.fetchall())


def plain(text: str) -> str:
    """`text` as SQLite can keep it: bytes that are no UTF-8 are written as `\\xff`."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "backslashreplace")
