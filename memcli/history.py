"""The state file: history that is neither truth nor index. One SQLite file for a user's projects.

Deleting it changes no memory file; what it keeps is only who recalled what and when.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS recalls (
  project TEXT NOT NULL, session TEXT NOT NULL, entry TEXT NOT NULL, layer TEXT NOT NULL,
  place INTEGER NOT NULL, score REAL, day TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS recalls_session ON recalls (project, session);
"""
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
        self.project = project
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
                [(self.project, session, *item, day) for item in shown],
            )

    def recalled(self, session: str) -> list[str]:
        """The ids that a session was shown, in the order of first showing."""
        rows = self.db.execute(
            "SELECT entry FROM recalls WHERE project = ? AND session = ? GROUP BY entry ORDER BY min(rowid)",
            (self.project, session),
        )
        return [row[0] for row in rows]
