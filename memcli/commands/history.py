"""mem index --history, mem show HANDLE, mem forget: the record of what was said and
committed."""

import datetime
import os
import re
import shlex
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.errors import DataError, UsageError
from memcli.history import backfill as history
from memcli.history.backfill import BackfillReport
from memcli.history.commits import add_commits
from memcli.history.record import HistoryRecord, opened
from memcli.memory.docs import Doc
from memcli.memory.words import is_day
from memcli.project import git, roots
from memcli.project.context import need_root, read_all
from memcli.project.record import FOLDER, record_path
from memcli.project.roots import need_repository
from memcli.sessions.discover import Discovery, discover
from memcli.storage.files import cache_dir, state_dir, why
from memcli.storage.inbox import Inbox

HANDLES = "mem recall --history only TASK"
_SOURCES = {"s:": "session", "c:": "commit"}
"""What a handle begins with, and what it then names."""
AGAIN = "mem index --history --rebuild"
_WITHOUT = "run it inside one, or give it with --root"


class HistoryReport(NamedTuple):
    """What was added, where it is, how long it took, and what could not be read."""

    added: BackfillReport
    exchanges: int
    sessions: int
    commits: int
    path: str
    seconds: float
    looked: Discovery
    forgotten: int
    """How many sessions and commits are not read again."""


class ForgetReport(NamedTuple):
    """The sessions and commits that are gone; (id, path, title) of what was learned
    from them."""

    units: tuple[str, ...]
    entries: tuple[tuple[str, str, str], ...]
    dry_run: bool
    commits: int = 0
    """How many of the units are commits."""
    again: str = ""
    """The command that reads the commits again; without it nothing is."""


class Correction(NamedTuple):
    """What a person said to put the agent right; the heading of an exchange or commit
    that said it before that session, "" for none; that of the `rule` that says it now,
    and whether hooks would have `told` it there, had it stood."""

    date: str
    session: str
    said: str
    history: str
    rule: str
    told: bool


class ToldPrompts(NamedTuple):
    """The other side: of so many prompts, how many the prompt hook would have answered,
    after how many of these the agent says what it was told, and the tokens in all."""

    prompts: int
    answered: int
    used: int
    tokens: int


class ReplayReport(NamedTuple):
    """How many of so many sessions were replayed, the newest first, and how many were
    corrected; `telling` is of all prompts that were tried."""

    sessions: int
    replayed: int
    corrected: int
    enough: bool
    seconds: float
    corrections: tuple[Correction, ...]
    telling: ToldPrompts


def add_history(app: App, *, again: bool = False) -> HistoryReport:
    """Add all that agents and git still have of this repository, `again` the commits
    that were forgotten by their day. Raises UsageError."""
    path = _need_record(app)
    root = need_root(app.project)
    begun = time.monotonic()
    with _record(app, make=True) as record:
        if again:
            record.read_commits_again()
        looked = _discovered(app, root, record)
        config = app.project.config
        today = app.project.now
        added = history.backfill(
            record, root, looked.found, config, today, {}, app.count
        )
        counts = record.counts()
        forgotten = record.forgotten("session") + record.forgotten("commit")
    return HistoryReport(
        added=added,
        exchanges=counts["exchanges"],
        sessions=counts["sessions"],
        commits=counts["commits"],
        path=str(path),
        seconds=round(time.monotonic() - begun, 1),
        looked=looked,
        forgotten=forgotten,
    )


def _discovered(app: App, root: Path, record: HistoryRecord) -> Discovery:
    """Sessions in all work trees of the repository, also in those that are gone."""
    known = filter(None, record.note("trees").split("\n"))
    gone = [Path(path) for path in known if not os.path.lexists(path)]
    trees = [*work_trees(root), *gone]
    record.keep("trees", "\n".join(dict.fromkeys(map(str, trees))))
    return discover(app.project.environ, [root, *trees])


def work_trees(root: Path) -> list[Path]:
    """The work trees of the repository that `root` is one of."""
    top = git.work_tree(root)
    return [tree for tree, _ in roots.work_trees(top)] if top is not None else []


def note_sessions(app: App, named: Sequence[str], read: history.Read) -> None:
    """Add what `mem extract` reads, these sessions or all, and commits; failing is a
    note."""
    project = app.project
    root = app.project.root
    if record_path(app.project) is None or root is None:
        return
    try:
        with _record(app, make=True) as record:
            if named:
                files = [project.cwd / name for name in named if name != "-"]
                paths = [Path(os.path.abspath(file)) for file in files]
                history.add_named(record, paths, read)
                add_commits(record, root, project.config.history_commits)
                record.settle()
            else:
                found = _discovered(app, root, record).found
                history.backfill(
                    record, root, found, project.config, project.now, read, app.count
                )
    except (DataError, OSError) as error:
        what = error.what if isinstance(error, DataError) else why(error)
        app.notes.append(f"history: {what}")


@contextmanager
def _record(app: App, *, make: bool = False) -> Iterator[HistoryRecord]:
    path = record_path(app.project)
    if path is None or not (make or path.exists()):
        raise UsageError("no history is kept here", "mem index --history")
    with opened(path, make=make, forgotten=app.forgotten) as record:
        assert record is not None
        if make:
            record.keep("root", str(app.project.root))
        yield record


def show_handle(app: App, handle: str) -> Doc:
    """The exchange or commit that a handle names. Raises UsageError for none or
    several."""
    with _record(app) as record:
        turn = _turn(record, handle)
        unit = _session(record, handle)
        docs = [doc for _, doc in record.select("unit = ? ORDER BY turn", unit)]
    docs = [doc for doc in docs if turn in ("", str(doc.turn))]
    if not docs:
        raise UsageError(f"{handle}: nothing of that name", HANDLES)
    said = chain.from_iterable(doc.said for doc in docs)
    return docs[0]._replace(said=tuple(said))


def forget(
    app: App,
    *,
    session: str = "",
    before: str = "",
    all: bool = False,
) -> ForgetReport:
    """Delete a session, what is older than a day, or everything; later readings pass
    over it."""
    if sum(map(bool, (session, before, all))) != 1:
        what = "give what to forget: an ID, --session ID, --before DATE or --all"
        raise UsageError(what, "mem forget --help")
    is_past = is_day(before) and before <= app.today
    if before and not is_past:
        raise UsageError(
            f"--before {before}: is not a past date", "write it like 2026-03-01"
        )
    until = datetime.datetime.now(datetime.UTC).isoformat() if all else ""
    with _record(app) as record:
        units = [_session(record, session)] if session else record.units(before=before)
        committed = record.rows(
            "SELECT DISTINCT unit FROM docs WHERE source = 'commit'"
        )
        commits = {row[0] for row in committed}.intersection(units)
        if not app.dry_run:
            record.forget(
                unit=units[0] if session else "", before=before, all_until=until
            )
            with app.state() as state:
                Inbox(state).forget_sessions(units, every=all)
            forget_pages()
    return ForgetReport(
        units=tuple(units),
        entries=tuple(_learned(app, units)),
        dry_run=app.dry_run,
        commits=len(commits),
        again="" if session else AGAIN,
    )


def forget_pages() -> None:
    """Delete the pages and the files of past commits; they are made again on request."""
    for folder in ("browse", "at"):
        shutil.rmtree(cache_dir() / folder, ignore_errors=True)


def _units(record: HistoryRecord, named: str) -> list[str]:
    """The sessions and commits that a handle may mean: `s:` one of the first, `c:` one
    of the others."""
    source = _SOURCES.get(named[:2], "")
    return record.units(named[2:] if source else named, source=source)


def _handle_of(record: HistoryRecord, unit: str) -> str:
    """The handle of a whole session or commit."""
    _, doc = next(iter(record.select("unit = ? LIMIT 1", unit, every=True)))
    return doc.handle.rpartition(".")[0] or doc.handle


def _turn(record: HistoryRecord, handle: str) -> str:
    """The number of a turn at the end of a handle, "" where it names a whole unit: the
    name of a session may have dots and digits, too."""
    number = handle.rpartition(".")[2]
    names_turn = number.isdecimal() and number != handle
    return number if names_turn and not _units(record, handle) else ""


def _session(record: HistoryRecord, named: str) -> str:
    """The one session or commit that is meant; one that is not there is forgotten
    beforehand."""
    turn = _turn(record, named)
    whole = named.removesuffix(f".{turn}") if turn else named
    units = _units(record, whole)
    if len(units) > 1:
        some = ", ".join(_handle_of(record, unit) for unit in units[:4])
        more = ", …" if len(units) > 4 else ""
        what = f"{named}: {len(units)} match: {some}{more}"
        raise UsageError(what, "give more characters of one")
    name = whole[2:] if whole[:2] in _SOURCES else whole
    if not units and len(name) < 32:
        raise UsageError(f"{named}: nothing of that name", HANDLES)
    return units[0] if units else name


def _learned(app: App, units: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for file in read_all(app.project):
        for entry in file.memory.entries:
            if str(entry.extra.get("session_id", "")) in units:
                yield entry.id, file.path, entry.title


def _need_record(app: App) -> Path:
    """Where the history of this repository is kept. Raises UsageError if nowhere."""
    if path := record_path(app.project):
        return path
    if not app.project.config.history:
        what = "history = false: no history is kept"
        raise UsageError(what, "mem index --help")
    top = (
        git.work_tree(need_repository(app.project.root, app.project.cwd, _WITHOUT))
        or Path()
    )
    what = f"{top / '.git'}: names a repository that does not name it back"
    place = shlex.quote(str(top))
    hint = f"if that repository is yours: git config core.worktree {place}"
    raise UsageError(what, hint)


def take_over(app: App, key: str) -> int:
    """Take over the record of a repository that was moved; how much was said and
    committed."""
    path = _need_record(app)
    folder = state_dir() / FOLDER
    name = key.removesuffix(".db")
    source = folder / f"{name}.db"
    if not re.fullmatch(r"[0-9a-f]{24}", name) or not source.is_file():
        known = ", ".join(map(_told, sorted(folder.glob("*.db")))) or "none"
        raise UsageError(f"--from {key}: no such record", f"records: {known}")
    if source == path:
        raise UsageError(
            f"--from {key}: that is this repository's own", "mem index --history"
        )
    with (
        opened(source) as old,
        opened(path, make=True, forgotten=app.forgotten) as record,
    ):
        assert old is not None and record is not None
        return record.take(old)


def _told(path: Path) -> str:
    """A record by its name and the work tree that it is of, as far as it can be read."""
    with suppress(DataError, OSError), opened(path) as record:
        trees = record.note("trees").split("\n") if record is not None else []
        if trees and trees[0]:
            return f"{path.stem} (of {trees[0]})"
    return path.stem
