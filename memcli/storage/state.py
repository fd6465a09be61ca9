"""The state file of a user's projects: recalls, what hooks told, and what waits."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
    suppress,
)
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from memcli.errors import RefusedError
from memcli.named import NamedTuple
from memcli.storage.files import make_private, private_dir, state_dir, transaction
from memcli.text.matching import table

T = TypeVar("T")
Mark = tuple[str, str, str]  # (salt, mark, day) of a text that was forgotten
Failed = sqlite3.Error  # what every method may raise
CONDENSED = 1000  # how many condensed tasks are kept
LOG_WAIT = 0.2  # seconds a log entry may wait for another process; then it is skipped
TABLES = 1  # another number when state.sql changes
PAGES = 100  # of the log beside the file, from which on a writer empties it


@contextmanager
def alone(folder: Path, name: str, *, wait: float) -> Iterator[bool]:
    """Whether this is the only process holding that name; the system releases it when
    the process ends."""
    path = private_dir(folder) / f"{name}.lock.db"
    with closing(sqlite3.connect(path, timeout=wait, isolation_level=None)) as database:
        try:
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            yield False
        else:
            yield True


@contextmanager
def open_state(
    project: str, *, wait: float, best_effort: str | None, notes: list[str]
) -> "Iterator[State]":
    """Open the state of one project. Raises RefusedError; with `best_effort`, a failure
    ends the block with a note that begins with this text ("" for no note)."""
    state = State(state_dir(), project, wait=wait)
    try:
        yield state
    except (OSError, sqlite3.Error) as error:
        if best_effort is None:
            if "db" in state.__dict__ or not isinstance(error, sqlite3.Error):
                raise
            message = f"the state file cannot be used: {error} ({state.path})"
            raise RefusedError(message, "move it away: it contains no memory") from None
        if best_effort:
            reason = "another mem is writing to it" if "locked" in str(error) else error
            notes.append(f"{best_effort}: {reason}")
    finally:
        state.close()


BEGINNING = 40
"""Leading characters by which a possibly cut line is recognised."""
WORDS = {"news": "line", "told": "title || why", "proposals": "text"}
"""The tables and columns that contain words of entries."""


class Extraction(NamedTuple):
    """How far a transcript was read: its size and mtime then, and where to continue
    (`end`). `head` is the hash of its first line, `last` the key of the last turn;
    `session` and `task` are those of its last session."""

    size: int
    mtime: int
    end: int
    head: str
    session: str
    task: str
    last: str


class State:
    """The state of one project (git common directory and root). With `lasting`, writes
    are on disk before the writer continues; without, a machine failure may lose the
    last seconds, and nothing else."""

    def __init__(
        self, folder: Path, project: str, *, wait: float = 10.0, lasting: bool = True
    ) -> None:
        self.path = folder / "state.db"
        self.project = _kept(project)
        self._wait = wait
        self._lasting = lasting

    @cached_property
    def db(self) -> sqlite3.Connection:
        """The connection, opened (and the file made) on first use."""
        private_dir(self.path.parent)
        make_private(self.path)
        with ExitStack() as stack:
            database = sqlite3.connect(
                self.path, timeout=self._wait, isolation_level=None
            )
            stack.callback(database.close)
            if database.execute("PRAGMA user_version").fetchone()[0] != TABLES:
                _make_tables(database)
            database.execute(
                f"PRAGMA synchronous = {'FULL' if self._lasting else 'NORMAL'}"
            )
            database.execute(f"PRAGMA wal_autocheckpoint = {PAGES}")
            stack.pop_all()
        return database

    def close(self) -> None:
        if "db" in self.__dict__:
            self.db.close()

    def ask(self, statement: str, *values: object) -> sqlite3.Cursor:
        """Run a statement with the project as its first parameter."""
        return self.db.execute(statement, (self.project, *map(_kept, values)))

    def note(self, into: str, rows: Iterable[Iterable[object]], how: str = "") -> None:
        """Insert rows that begin with the project; `how` is OR IGNORE or OR REPLACE."""
        filled = [(self.project, *map(_kept, row)) for row in rows]
        if filled:
            marks = ", ".join("?" * len(filled[0]))
            self.db.executemany(f"INSERT {how} INTO {into} VALUES ({marks})", filled)

    def transaction(self) -> AbstractContextManager[None]:
        """Store everything inside, or nothing."""
        return transaction(self.db)

    def log_recall(
        self,
        session: str,
        shown: Iterable[tuple[str, str, int, float | None]],
        day: str,
    ) -> None:
        """Log what a session was shown: (entry, layer, place from 1, score)."""
        with transaction(self.db):
            self.note("recalls", ((session, *item, day) for item in shown))

    def recalled(self, session: str) -> list[str]:
        """The ids that a session was shown, in the order of first showing."""
        where = "project = ? AND session = ? GROUP BY entry ORDER BY min(rowid)"
        return [
            row[0]
            for row in self.ask(f"SELECT entry FROM recalls WHERE {where}", session)
        ]

    def recalls(self) -> list[tuple[str, str, str, int, float | None, str]]:
        """Everything that was shown, in order: (session, entry, layer, place from 1,
        score, day)."""
        columns = "session, entry, layer, place, score, day"
        query = f"SELECT {columns} FROM recalls WHERE project = ? ORDER BY rowid"
        return self.ask(query).fetchall()

    def snapshots(self) -> list[tuple[str, float, int, int, dict[str, float | None]]]:
        """(day, score, entries, tokens, metrics) of every stored day, oldest first."""
        columns = "day, score, entries, tokens, metrics"
        rows = self.ask(f"SELECT {columns} FROM health WHERE project = ? ORDER BY day")
        return [(*row[:4], json.loads(row[4])) for row in rows]

    def spent(self, day: str) -> tuple[float, int]:
        """The cost of a day in USD and its number of calls, over all projects."""
        query = "SELECT total(cost), count(*) FROM ledger WHERE day = ?"
        cost, calls = self.db.execute(query, (day,)).fetchone()
        return float(cost), int(calls)

    def calls(self, since: str = "") -> tuple[int, int, int, int, int, float]:
        """The calls since a day: (calls, input, cache_read, cache_write, output,
        USD)."""
        columns = ("input", "cache_read", "cache_write", "output", "cost")
        totals = ", ".join(f"total({column})" for column in columns)
        query = f"SELECT count(*), {totals} FROM ledger WHERE project = ? AND day >= ?"
        calls, *tokens, cost = self.ask(query, since).fetchone()
        read, cached, written, output = map(int, tokens)
        return calls, read, cached, written, output, cost

    def extraction(self, path: str) -> Extraction | None:
        """How far a transcript was read, None if never."""
        columns = ", ".join(Extraction._fields)
        query = f"SELECT {columns} FROM extracted WHERE project = ? AND path = ?"
        row = self.ask(query, path).fetchone()
        return Extraction._make(row) if row else None

    def condensed(self, digest: str) -> str:
        """The terms to which a model condensed a task, "" if unknown."""
        row = self.db.execute(
            "SELECT terms FROM condensed WHERE task = ?", (digest,)
        ).fetchone()
        return str(row[0]) if row else ""

    def remember_condensed(self, digest: str, terms: str) -> None:
        """Store such terms; only the newest `CONDENSED` of all projects are kept."""
        oldest = "rowid <= (SELECT max(rowid) FROM condensed) - ?"
        with transaction(self.db):
            values = (digest, _kept(terms))
            self.db.execute("INSERT OR REPLACE INTO condensed VALUES (?, ?)", values)
            self.db.execute(f"DELETE FROM condensed WHERE {oldest}", (CONDENSED,))

    def add_tombstones(self, marks: Iterable[tuple[bool, Mark]]) -> None:
        """Record that texts were forgotten, without their words, each for this project
        or, if true, for the whole machine."""
        rows = [("" if is_global else self.project, *mark) for is_global, mark in marks]
        with transaction(self.db):
            statement = "INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?)"
            self.db.executemany(statement, rows)

    def tombstones(self) -> list[Mark]:
        """(salt, mark, day) of each text that was forgotten."""
        query = "SELECT salt, digest, day FROM tombstones WHERE project IN (?, '')"
        return [(salt, digest, day) for salt, digest, day in self.ask(query)]

    def forget_entries(
        self, entry_ids: Iterable[str], lines: Iterable[str], *, everywhere: bool
    ) -> None:
        """Delete what was told and proposed about entries, in this project or
        `everywhere`, and every row with these words; the file is rewritten."""
        in_project = "? IS NOT NULL" if everywhere else "project = ?"
        with transaction(self.db):
            self.db.execute("PRAGMA secure_delete = ON")
            for name in entry_ids:
                for table_name in ("told", "shown", "recalls", "waiting", "proposals"):
                    key = "id" if table_name == "proposals" else "entry"
                    where = f"{in_project} AND {key} = ?"
                    self.ask(f"DELETE FROM {table_name} WHERE {where}", name)
            self.db.create_function("says", 1, _sayer(lines), deterministic=True)
            for table_name, text in WORDS.items():
                where = f"{in_project} AND says({text})"
                self.ask(f"DELETE FROM {table_name} WHERE {where}")
            self.ask(
                f"UPDATE extracted SET task = '' WHERE {in_project} AND says(task)"
            )
            self.db.execute("DELETE FROM condensed")  # tasks condensed by a model
        self.db.execute("VACUUM")
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def trusted(self) -> frozenset[str]:
        """The digests of guards that the person trusts."""
        digests = self.ask("SELECT digest FROM trusted WHERE project = ?")
        return frozenset(row[0] for row in digests)

    def trust(self, digests: Iterable[str], day: str) -> None:
        """Let guards refuse from now on."""
        with transaction(self.db):
            rows = ((digest, day) for digest in digests)
            self.note("trusted", rows, "OR REPLACE")

    def reinforced(self, session: str) -> list[str]:
        """The ids that a session has already reinforced."""
        query = "SELECT entry FROM reinforced WHERE project = ? AND session = ?"
        return [row[0] for row in self.ask(query, session)]


def _sayer(lines: Iterable[str]) -> Callable[[str], bool]:
    """Whether a text has one of these lines or its beginning, since titles are cut."""
    begins = [line.casefold()[:BEGINNING] for line in lines]
    return lambda text: any(begin in text.casefold() for begin in begins)


class StateCopy(State):
    """A copy of a project's state; changes to it are discarded."""

    @cached_property
    def db(self) -> sqlite3.Connection:
        """An in-memory copy of the file, empty if there is no readable one."""
        database = sqlite3.connect(":memory:", isolation_level=None)
        with suppress(sqlite3.Error, OSError):
            address = f"{self.path.as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True)) as original:
                original.backup(database)
        _make_tables(database)
        return database


def settled(state: State, work: Callable[[State], T]) -> T:
    """Run `work` in a transaction; if another process holds the file, run it on a copy
    and store nothing."""
    try:
        with state.transaction():
            return work(state)
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        with closing(StateCopy(state.path.parent, "")) as copied:
            copied.project = state.project
            return work(copied)


def _make_tables(database: sqlite3.Connection) -> None:
    with suppress(sqlite3.OperationalError):  # a file system without shared memory
        database.execute("PRAGMA journal_mode = WAL")
    tables = table("storage/state.sql")
    database.executescript(
        f"BEGIN IMMEDIATE; {tables} PRAGMA user_version = {TABLES}; COMMIT"
    )


def _kept(value: object) -> object:
    """A text that SQLite can store: bytes that are not UTF-8 become `\\xff`."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "surrogatepass").decode("utf-8", "backslashreplace")


class HookTelling(NamedTuple):
    """One thing that a hook told a session."""

    session: str
    event: str
    entry: str
    title: str
    why: str
    at: str


class Turns(NamedTuple):
    """How many prompts a session had since the last write to memory (`newest`, an mtime
    in ns)."""

    prompts: int = 0
    newest: int = 0
    nudged: bool = False


class Spooled(NamedTuple):
    """A session, ended or not, that waits to be learned from: its transcript and its
    size then."""

    session: str
    path: str
    ended: bool
    size: int
    tries: int = 0


class StatePart:
    """A part of one project's state. Changes are part of the running transaction."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.ask = state.ask
        self.note = state.note


class SessionLog(StatePart):
    """What one project's sessions were told."""

    def shown(self, session: str, event: str = "") -> set[str]:
        """The ids in a session's context, told on any event or on one."""
        query = "SELECT entry FROM shown WHERE project = ? AND session = ? AND ? IN ('', event)"
        return {row[0] for row in self.ask(query, session, event)}

    def forget_context(self, session: str) -> None:
        """Clear the context of a session: everything counts as not told."""
        for name in ("shown", "starts"):
            self.ask(f"DELETE FROM {name} WHERE project = ? AND session = ?", session)

    def take_over(self, session: str, others: list[str]) -> None:
        """Copy what other sessions were told to a session."""
        where = "WHERE project = ?1 AND session IN (SELECT value FROM json_each(?3))"
        shown = f"SELECT ?1, ?2, event, entry, day FROM shown {where}"
        starts = f"SELECT ?1, ?2, 'fork', 0, day FROM starts {where}"
        given = session, json.dumps(others)
        self.ask(f"INSERT OR IGNORE INTO shown {shown}", *given)
        self.ask(f"INSERT OR REPLACE INTO starts {starts}", *given)

    def forget_event(self, session: str, event: str) -> None:
        """Delete the notes about a session on an event."""
        where = "project = ? AND session = ? AND event = ?"
        self.ask(f"DELETE FROM shown WHERE {where}", session, event)

    def told(self, session: str = "") -> list[HookTelling]:
        """What was told to one session or to all, in order; a prefix of its id names
        one."""
        where = "project = ? AND substr(session, 1, ?) = ? ORDER BY rowid"
        query = f"SELECT {', '.join(HookTelling._fields)} FROM told WHERE {where}"
        return list(map(HookTelling._make, self.ask(query, len(session), session)))

    def started(self, session: str, source: str = "") -> int | None:
        """The size of the transcript when a start was last answered, or None."""
        query = "SELECT size FROM starts WHERE project = ? AND session = ? AND ? IN ('', source)"
        row = self.ask(query, session, source).fetchone()
        return int(row[0]) if row else None

    def started_on(self, session: str) -> str:
        """The day of a session's last answered start, or ""."""
        query = "SELECT max(day) FROM starts WHERE project = ? AND session = ?"
        return str(self.ask(query, session).fetchone()[0] or "")

    def turns(self, session: str) -> Turns:
        """The number of prompts of a session so far."""
        query = (
            "SELECT count, newest, nudged FROM turns WHERE project = ? AND session = ?"
        )
        row = self.ask(query, session).fetchone()
        return Turns(row[0], row[1], bool(row[2])) if row else Turns()

    def remember_turns(self, session: str, turns: Turns, day: str) -> None:
        """Store the number of prompts of a session."""
        self.note("turns", [(session, *turns, day)], "OR REPLACE")

    def prompts_since(self, newest: int) -> int:
        """The prompts of all sessions since the last write to memory (`newest`, an
        mtime in ns)."""
        query = "SELECT total(count) FROM turns WHERE project = ? AND newest >= ?"
        return int(self.ask(query, newest).fetchone()[0])

    def forget_sessions(self, before: str) -> None:
        """Delete what sessions were told before a day."""
        for name in ("shown", "starts", "turns"):
            self.ask(f"DELETE FROM {name} WHERE project = ? AND day < ?", before)
        self.ask("DELETE FROM told WHERE project = ? AND at < ?", before)

    def wait(self, session: str, entries: Iterable[str], day: str) -> None:
        """Queue uses of entries by a session until their file is written anyway."""
        self.note("waiting", ((entry, session, day) for entry in entries), "OR IGNORE")

    def uses(self) -> dict[str, list[str]]:
        """The entries used but not yet counted in a memory file, by session."""
        by_session: dict[str, list[str]] = {}
        query = "SELECT session, entry FROM waiting WHERE project = ? ORDER BY session, entry"
        for session, entry in self.ask(query):
            by_session.setdefault(session, []).append(entry)
        return by_session

    def counted(self, session: str, entry: str) -> None:
        """Mark the use of an entry by a session as counted in its file."""
        where = "project = ? AND session = ? AND entry = ?"
        self.ask(f"DELETE FROM waiting WHERE {where}", session, entry)

    def take_news(self) -> list[str]:
        """Take the lines that wait to be shown to the person; each is shown once."""
        lines = [
            str(row[0]) for row in self.ask("SELECT line FROM news WHERE project = ?")
        ]
        self.ask("DELETE FROM news WHERE project = ?")
        return lines


class Spool(StatePart):
    """The sessions of one project that wait to be learned from, and when hooks were
    last called."""

    def add(self, item: Spooled) -> None:
        """Queue a session to be learned from. An ended one stays ended, and is tried
        again."""
        statement = (
            "INSERT INTO spool VALUES (?, ?, ?, ?, ?, 0) ON CONFLICT DO UPDATE SET"
            " ended = max(ended, excluded.ended), size = excluded.size, tries = 0"
        )
        self.ask(statement, *item[:4])

    def waiting(self) -> list[Spooled]:
        """The sessions that wait."""
        columns = ", ".join(Spooled._fields)
        query = f"SELECT {columns} FROM spool WHERE project = ? ORDER BY session, path"
        return [
            Spooled._make(row)._replace(ended=bool(row[2])) for row in self.ask(query)
        ]

    def remove(self, item: Spooled) -> None:
        """Remove a session from the queue, unless it was added again with a larger
        transcript."""
        where = "project = ? AND session = ? AND path = ? AND size = ?"
        self.ask(f"DELETE FROM spool WHERE {where}", item.session, item.path, item.size)

    def try_again(self, item: Spooled) -> None:
        """Count a failed attempt to learn from a session."""
        where = "project = ? AND session = ? AND path = ?"
        update = f"UPDATE spool SET tries = tries + 1 WHERE {where}"
        self.ask(update, item.session, item.path)

    def beat(self, event: str, moment: int) -> None:
        """Record when a hook was last called (seconds since 1970)."""
        self.note("beats", [(event, moment)], "OR REPLACE")

    def beats(self) -> dict[str, int]:
        """When each hook was last called (seconds since 1970)."""
        return dict(
            self.ask("SELECT event, at FROM beats WHERE project = ?").fetchall()
        )
