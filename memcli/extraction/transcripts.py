"""The sessions of a run: which transcripts are read, and from where on."""

import datetime
import io
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from memcli.app import App
from memcli.errors import DataError, UsageError
from memcli.extraction import rules
from memcli.history.backfill import in_exchanges, said_by
from memcli.history.record import HistoryRecord, opened
from memcli.memory.tombstones import Forgotten
from memcli.memory.values import Problem
from memcli.project.context import need_root
from memcli.project.record import path_of
from memcli.sessions.discover import FoundSession, agents_of, discover, is_agent
from memcli.sessions.model import Session, Turn
from memcli.sessions.reader import (
    MAX_DOCUMENT,
    START,
    Position,
    joined,
    open_plain,
    read_all,
)
from memcli.sessions.speakers import key_of, task_of
from memcli.storage.state import Extraction
from memcli.text.digests import digest

# of the sessions that nobody named, so many of the last days are read
MOST = 10
DAYS = 14
# seconds until a session is finished, bytes of its sub-agents
QUIET = 1800
AGENTS = 64 << 20

_ALIKE = """
    SELECT session FROM extracted
    WHERE project = ? AND (size, head, task, last) = (?, ?, ?, ?)
"""


class Transcripts:
    """The transcripts of one run, `named` by somebody or found; without `whole` only
    with what the rules look at."""

    def __init__(
        self, app: App, form: str, stdin: bytes, *, whole: bool, named: bool
    ) -> None:
        self.app = app
        self.named = named
        self.form = form
        self.stdin = stdin
        self.brief = int(not whole)
        self.problems: list[Problem] = []
        self.whole: dict[
            str, list[Session]
        ] = {}  # path -> its sessions, if all of them was read
        self._seen: set[str] = set()

    def path(self, name: str) -> str:
        """The path of a transcript that was named. Raises UsageError when there is
        none."""
        path = os.path.abspath(self.app.project.cwd / os.path.expanduser(name))
        if name != "-" and not os.path.exists(path):
            raise UsageError(
                f"{name}: no such file", "name a transcript, or - for standard input"
            )
        return name if name == "-" else path

    def discovered(
        self, *, every: bool, finished: bool
    ) -> tuple[list[str], tuple[str, ...]]:
        """This repository's unread sessions, none of sub-agents: the latest few, and
        the rest."""
        project = self.app.project
        files, unread, _ = discover(project.environ, [need_root(project)])
        self.problems += [
            Problem(path=str(path), line=1, message=why, severity="unreadable")
            for path, why in unread
        ]
        chosen: list[str] = []
        more: list[str] = []
        for file in files:
            changed = file.mtime / 1e9
            goes_on = finished and time.time() - changed < QUIET
            if file.parent or goes_on or self._is_read(file):
                continue
            age = project.now - datetime.date.fromtimestamp(changed)
            few = len(chosen) + len(more) < MOST and age.days <= DAYS
            (chosen if every or few else more).append(str(file.path))
        return chosen[::-1], tuple(more)

    def _is_read(self, file: FoundSession) -> bool:
        known = self.position(str(file.path))
        if known is None:
            return False
        return known.size == file.size and known.mtime == file.mtime

    def read(
        self, path: str, name: str, has_receipt: Callable[[Extraction], bool]
    ) -> tuple[list[Session], Extraction | None]:
        """The sessions of a transcript, from where reading stopped when memory has the
        receipt. One whose turns are known by their place is read from its start: it may
        be another conversation by now."""
        known = self._known(path, has_receipt)
        start = START if known is None else _rest_of(known)
        # nothing is passed over that stands elsewhere
        is_alone = start == START and not self._seen
        sessions = self._read(path, name, start)
        if start == START:
            known = _still(known, sessions)
        if is_alone and not sum(session.cut for session in sessions):
            self.whole[path] = sessions
        return self._completed(path, sessions), known

    def _completed(self, path: str, sessions: list[Session]) -> list[Session]:
        """The sessions of a file with what their sub-agents did, without what was
        forgotten; the empty are left out where there are others."""
        if path != "-":
            sessions = [self._with_agents(Path(path), each) for each in sessions]
        whole = self._kept(sessions)
        return [each for each in whole if each.turns or len(whole) == 1]

    def _known(
        self, path: str, has_receipt: Callable[[Extraction], bool]
    ) -> Extraction | None:
        """How far a transcript was read, where memory has the receipt."""
        known = self.position(path) if path != "-" else None
        if known is None or not known.end:
            return None
        return known if has_receipt(known) else None

    def _read(self, path: str, name: str, start: Position) -> list[Session]:
        """The sessions of a transcript from `start` on. Raises DataError if nothing
        of it can be read."""
        try:
            sessions = read_all(
                io.BytesIO(self.stdin) if path == "-" else path,
                format=self.form,
                start=start,
                seen=self._seen,
                folders=[str(self.app.project.root)],
                brief=self.brief,
            )
        except OSError as error:
            what = f"{name}: cannot be read: {error.strerror or error}"
            raise DataError(
                what, "name a transcript, or - for standard input"
            ) from None
        if any(session.turns for session in sessions):
            return sessions
        # A file may just be in the making, standard input is not.
        if path != "-":
            if self.named:
                _refuse_torn(path, name)
        elif any(each.skipped for each in sessions):
            hint = "mem extract --show turns FILE shows what is understood of a file"
            raise DataError("-: nothing in it can be understood", hint)
        return sessions

    def _kept(self, sessions: list[Session]) -> list[Session]:
        """Sessions without what mem forget has deleted."""
        forgotten = self.app.forgotten()
        with opened(path_of(self.app.project.root)) as record:
            return [_remembered(record, forgotten, session) for session in sessions]

    def _with_agents(self, path: Path, session: Session) -> Session:
        """A session with what its sub-agents did, which lies in files of their own."""
        if session.format != "claude" or not session.turns or is_agent(path):
            return session
        room = AGENTS
        for agent in agents_of(path, session.id):
            try:
                if (room := room - agent.stat().st_size) < 0:
                    return session._replace(cut=session.cut + 1)
                theirs = read_all(
                    agent, format="claude", seen=self._seen, brief=self.brief
                )
                session = joined(session, theirs[-1])
            except (DataError, OSError) as error:
                why = getattr(error, "what", str(error))
                self.problems.append(
                    Problem(path=agent.name, line=1, message=why, severity="unreadable")
                )
        return session

    def position(self, path: str) -> Extraction | None:
        """How far a transcript was read."""
        key = digest(os.fsencode(path))
        return self.app.from_state(lambda state: state.extraction(key), None)

    def as_read_before(self, session: Session) -> Session:
        """A session from standard input by the name that it has as a file which was
        read: one as long, with the same beginning, task and last turn."""
        if session.name != "-" or not session.turns:
            return session
        last_read = (task_of(session.turns), session.turns[-1].key)
        same = (len(self.stdin), session.head, *last_read)
        known = self.app.from_state(
            lambda state: state.ask(_ALIKE, *same).fetchone(), None
        )
        return session._replace(id=known[0]) if known else session

    def keep(
        self,
        path: str,
        name: str,
        sessions: Sequence[Session],
        done: Sequence[tuple[Session, str]],
    ) -> None:
        """Remember how far was read, `done` being the sessions learned from with their
        tasks."""
        session, task = max(done, key=lambda each: each[0].ended)
        whole = sessions[-1]
        # What a person corrects in a session that goes on may lie before that.
        earlier = (turn.offset for turn in whole.turns[-rules.NEAR :])
        end = 0 if len(sessions) > 1 else min((whole.end, *earlier))
        last = session.turns[-1].key if session.turns else ""
        extraction = Extraction(
            size=whole.size,
            mtime=whole.mtime,
            end=end,
            head=whole.head,
            session=session.id,
            task=task,
            last=last,
        )
        failed = f"how far {name} was read could not be remembered"
        with self.app.state(best_effort=failed) as state:
            state.note(
                "extracted", [(digest(os.fsencode(path)), *extraction)], "OR REPLACE"
            )


def _refuse_torn(path: str, name: str) -> None:
    """Raises DataError for a document that ends or breaks in the middle. A log in which
    a line is just being written is none."""
    if path.endswith(".jsonl"):
        return
    with open_plain(Path(path)) as file:
        text = file.read(MAX_DOCUMENT).decode("utf-8-sig", "replace")
    if not text.lstrip().startswith(("{", "[")):
        return
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return  # a log under another name: each of its lines is a document
        what = f"{name}:{error.lineno}: is not valid JSON: {error.msg}"
        raise DataError(what, "export the session again") from None
    except ValueError:
        return  # JSON with a number that Python does not read: it is whole
    except RecursionError:
        what = f"{name}:1: is nested too deeply"
        raise DataError(what, "export the session again") from None


def _rest_of(known: Extraction) -> Position:
    """Where what was not read begins; the start where turns are known by their place."""
    if known.last.startswith("@"):
        return START
    return Position(
        size=known.size, mtime=known.mtime, offset=known.end, head=known.head
    )


def _still(known: Extraction | None, found: Sequence[Session]) -> Extraction | None:
    """How far a transcript was read; None where it is another conversation by now."""
    keys = {turn.key for session in found for turn in session.turns}
    return known if known is not None and known.last in keys else None


def _remembered(
    record: HistoryRecord | None, forgotten: Forgotten, session: Session
) -> Session:
    """A session without what was forgotten: the turns, or the words of an exchange. Its
    turns stay, by whose names entries say how far a session was read."""
    until = record.forgotten_until(key_of(session.id)) if record else ""
    kept = (turn for turn in session.turns if (turn.time or session.started) >= until)
    turns: list[Turn] = []
    for exchange in in_exchanges(kept):
        said = "\n".join(text for _, text in said_by(exchange))
        date = next((turn.time for turn in exchange if turn.human), session.started)
        is_gone = forgotten.is_said(said, date)
        turns += map(_without_words, exchange) if is_gone else exchange
    return session._replace(turns=tuple(turns))


def _without_words(turn: Turn) -> Turn:
    return turn._replace(text="", tool="", input={}, error=False)
