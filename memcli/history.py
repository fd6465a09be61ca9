"""The state file: history that is neither truth nor index. One SQLite file for a user's projects.

Deleting it changes no memory file; what it keeps is only who recalled what and when.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS recalls (
  project TEXT NOT NULL, session TEXT NOT NULL, entry TEXT NOT NULL, layer TEXT NOT NULL,
  place INTEGER NOT NULL, score REAL, day TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS recalls_session ON recalls (project, session);
CREATE TABLE IF NOT EXISTS reinforced (
  project TEXT NOT NULL, session TEXT NOT NULL, entry TEXT NOT NULL,
  PRIMARY KEY (project, session, entry)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS health (
  project TEXT NOT NULL, day TEXT NOT NULL, score REAL NOT NULL, entries INTEGER NOT NULL,
  tokens INTEGER NOT NULL, metrics TEXT NOT NULL, -- JSON {name: value or null}
  PRIMARY KEY (project, day)
) WITHOUT ROWID;
"""
Failed = sqlite3.Error
"""What every method may raise, for those who can go on without the state file."""
LOG_WAIT = 0.2
"""Seconds a log entry may wait for another process; then it is skipped."""


def state_dir() -> Path:
    """The user's state folder for mem (made when something is written)."""
    import platformdirs

    return Path(platformdirs.user_state_path("mem"))


def cache_dir() -> Path:
    """The user's cache folder for mem."""
    import platformdirs

    return Path(platformdirs.user_cache_path("mem"))


def private_dir(path: Path) -> Path:
    """`path`, made with access for its owner alone."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


class History:
    """The state of one project (git common directory and root)."""

    def __init__(self, folder: Path, project: str, *, wait: float = 10.0) -> None:
        path = private_dir(folder) / "state.db"
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        self.project = _plain(project)
        self.db = sqlite3.connect(path, timeout=wait, isolation_level=None)
        try:
            self.db.executescript(_SCHEMA)
        except sqlite3.DatabaseError:
            self.db.close()
            raise

    def close(self) -> None:
        self.db.close()

    def log_recall(self, session: str, shown: Iterable[tuple[str, str, int, float | None]], day: str) -> None:
        """Remember what a session was shown: (entry, layer, place from 1, score)."""
        with self.db:
            self.db.execute("BEGIN IMMEDIATE")
            self.db.executemany(
                "INSERT INTO recalls VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(self.project, _plain(session), *item, day) for item in shown],
            )

    def recalled(self, session: str) -> list[str]:
        """The ids that a session was shown, in the order of first showing."""
        rows = self.db.execute(
            "SELECT entry FROM recalls WHERE project = ? AND session = ? GROUP BY entry ORDER BY min(rowid)",
            (self.project, _plain(session)),
        )
        return [row[0] for row in rows]

    def recalls(self) -> list[tuple[str, str, str, int, float | None, str]]:
        """All that was shown, in order: (session, entry, layer, place from 1 in its layer, score, day)."""
        return self.db.execute(
            "SELECT session, entry, layer, place, score, day FROM recalls WHERE project = ? ORDER BY rowid",
            (self.project,),
        ).fetchall()

    def keep_snapshot(
        self, day: str, score: float, entries: int, tokens: int, metrics: Mapping[str, float | None]
    ) -> None:
        """Remember a day's health; the last one of a day counts."""
        self.db.execute(
            "INSERT OR REPLACE INTO health VALUES (?, ?, ?, ?, ?, ?)",
            (self.project, day, score, entries, tokens, json.dumps(metrics)),
        )

    def snapshots(self) -> list[tuple[str, float, int, int, dict[str, float | None]]]:
        """(day, score, entries, tokens, metrics) of every day that was remembered, the oldest first."""
        rows = self.db.execute(
            "SELECT day, score, entries, tokens, metrics FROM health WHERE project = ? ORDER BY day",
            (self.project,),
        )
        return [(*row[:4], json.loads(row[4])) for row in rows]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is remembered inside, or nothing of it."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def reinforced(self, session: str) -> list[str]:
        """The ids that a session has reinforced already."""
        rows = self.db.execute(
            "SELECT entry FROM reinforced WHERE project = ? AND session = ?", (self.project, _plain(session))
        )
        return [row[0] for row in rows]

    def remember_reinforced(self, session: str, entries: Iterable[str]) -> None:
        """Remember, in the running transaction, what a session has reinforced."""
        self.db.executemany(
            "INSERT OR IGNORE INTO reinforced VALUES (?, ?, ?)",
            [(self.project, _plain(session), entry) for entry in entries],
        )


def _plain(text: str) -> str:
    """`text` as SQLite can keep it: bytes that are no UTF-8 are written as `\\xff`."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "backslashreplace")
