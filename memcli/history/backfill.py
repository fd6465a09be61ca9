"""What agents and git still have of a repository, into its record; what is there is not
read."""

import datetime
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from memcli.errors import DataError
from memcli.history.commits import add_commits
from memcli.history.mends import error_line, mends
from memcli.history.record import HistoryRecord
from memcli.index.database import Progress
from memcli.memory.docs import TITLE, Doc
from memcli.project.config import Config
from memcli.sessions.discover import FoundSession
from memcli.sessions.model import Session, Turn
from memcli.sessions.reader import Position, read_all
from memcli.sessions.speakers import clean_texts, flat, key_of, line
from memcli.sessions.tools import changed_by, shell_line
from memcli.storage.files import transaction
from memcli.text.injections import neutralise

ERROR = 200  # characters of an error line that are kept
SAID = (6000, 10_000)
"""Characters of an answer that are kept, of its beginning and of its end."""
_FACETS = 30


def exchanges(session: Session) -> Iterator[Doc]:
    """The exchanges of a session, redacted, without what nobody said and what tools
    gave back."""
    for turns in in_exchanges(session.turns):
        yield from _exchange(session, turns)


def in_exchanges(turns: Iterable[Turn]) -> Iterator[list[Turn]]:
    """Turns by exchange: each goes up to the next turn of the person."""
    kept: list[Turn] = []
    for turn in turns:
        if turn.human and any(earlier.human for earlier in kept):
            yield kept
            kept = []
        kept.append(turn)
    yield kept


def _exchange(session: Session, turns: Sequence[Turn]) -> Iterator[Doc]:
    spoken, about = _cleaned(turns)
    asked = [text for speaker, text in spoken if speaker == "person"]
    if not asked and sum(len(text) for _, text in spoken) < ERROR:
        return
    first = next((turn for turn in turns if turn.human), turns[0])
    unit = key_of(session.id)
    # The event's own name, so that a fork is not counted twice; a position is one of
    # its session.
    is_position = first.key.startswith("@")
    event = f"{unit}{first.key}" if is_position else key_of(first.key)
    yield Doc(
        source="session",
        unit=unit,
        turn=0,
        key=f"s:{event}",
        who=session.format,
        date=first.time or session.started,
        title=_titled(asked[0] if asked else spoken[0][1]),
        said=tuple(spoken),
        about=about,
    )


def _titled(text: str) -> str:
    """The title of an exchange that begins with this text."""
    head = text[:250]
    safe = neutralise(head)
    return flat(head, TITLE) if safe == head else line(safe, TITLE)


def _cleaned(
    turns: Sequence[Turn],
) -> tuple[list[tuple[str, str]], dict[str, list[str]]]:
    """What was said, and paths, commands and mends, by one look at all."""
    written = [*said_by(turns), *dict.fromkeys(_about(turns))]
    spoken = []
    about: dict[str, dict[str, None]] = {}
    texts = clean_texts([text for _, text in written])
    for (name, _), text in zip(written, map(str.strip, texts), strict=True):
        if name in ("paths", "commands", "mended"):
            facet = "\n".join(flat(part, ERROR) for part in text.split("\n"))
            about.setdefault(name, {})[facet] = None
        elif text:
            spoken.append((name, _shortened(text)))
    return spoken, {name: list(facets)[:_FACETS] for name, facets in about.items()}


def _shortened(text: str) -> str:
    """What was said, without the middle of what is very long."""
    first, last = SAID
    if len(text) <= first + last:
        return text
    return f"{text[:first]}\n[…]\n{text[-last:]}"


def said_by(turns: Iterable[Turn]) -> Iterator[tuple[str, str]]:
    """(speaker, text) as they stand there, with what one speaker says in a row as one
    text."""
    spoken = [(speaker, text) for speaker, text in map(_words, turns) if text]
    for speaker, run in groupby(spoken, itemgetter(0)):
        if speaker == "error":
            yield from run
        else:
            yield speaker, "\n".join(text for _, text in run)


def _words(turn: Turn) -> tuple[str, str]:
    if turn.human:
        return "person", turn.text
    if turn.origin in ("assistant", "agent") and not turn.tool:
        return "agent", turn.text
    if turn.error and turn.role == "tool":
        return "error", error_line(turn.text)[:ERROR]
    return "", ""


def _about(turns: Sequence[Turn]) -> Iterator[tuple[str, str]]:
    """The files edited, the commands run, as they stand there, and how those that
    failed came to work."""
    for turn in turns:
        if turn.role == "assistant" and turn.tool:
            files = changed_by(turn)
            yield from (("paths", name) for name in files)
            if not files and (text := shell_line(turn.input).strip()):
                yield "commands", text
    for mend in mends(turns):
        yield "mended", "\n".join(" ".join(part.split()) for part in mend)


LARGEST = 2 << 30  # bytes of the largest session file that is read
TOGETHER = 4 << 20
"""Of so many bytes the session files are written at once: each commit waits for the
disk."""


class BackfillReport(NamedTuple):
    """What was added, and what could not be read."""

    sessions: int
    agents: tuple[str, ...]
    exchanges: int
    commits: int
    bytes: int
    problems: tuple[tuple[str, str], ...]


Read = Mapping[
    str, Sequence[Session]
]  # by path, the sessions of a file that was just read


def backfill(
    record: HistoryRecord,
    root: Path,
    found_sessions: Sequence[FoundSession],
    config: Config,
    today: datetime.date,
    read: Read,
    progress: Progress,
) -> BackfillReport:
    """Add every session that is new or has grown, and the new commits; goes on where it
    stopped."""
    problems: list[tuple[str, str]] = []
    sessions: Counter[str] = Counter()
    exchanges = 0
    oldest = (today - datetime.timedelta(days=config.history_days)).isoformat()
    fresh = [
        file for file in found_sessions if not file.parent and _has_grown(record, file)
    ]
    for together in _in_batches(fresh, progress):
        # All of a batch is read first: while one writes, nobody else can.
        parts = [(file, _part(record, file, root, oldest, read)) for file in together]
        problems += _problems_of(parts)
        with transaction(record.db):
            for file, part in parts:
                if part.until:
                    added = record.add(part.docs)
                    record.read_until(*part.until)
                    exchanges += added
                    sessions[file.format] += bool(added)
    most_commits = config.history_commits
    new, why = add_commits(record, root, most_commits, progress=progress)
    if why:
        problems.append(("commits", why))
    if exchanges or new:
        record.settle()
    record.prune(oldest, most_commits, config.history_mb)
    return BackfillReport(
        sessions=sessions.total(),
        agents=tuple(sorted(+sessions)),
        exchanges=exchanges,
        commits=new,
        bytes=record.bytes(),
        problems=tuple(problems),
    )


def _in_batches(
    files: Sequence[FoundSession], progress: Progress
) -> Iterator[Iterator[FoundSession]]:
    """The files of sessions, as many together as are added at once; each is counted
    when it is asked for."""
    read_so_far = accumulate(file.size for file in files)
    numbered = zip(itertools.count(1), files, read_so_far, strict=False)

    def counted(number: int, file: FoundSession) -> FoundSession:
        progress("sessions", number, len(files))
        return file

    for _, together in groupby(numbered, lambda row: row[2] // TOGETHER):
        yield (counted(number, file) for number, file, _ in together)


class _SessionPart(NamedTuple):
    """What is read of a session file: its exchanges, how far it goes, and why it could
    not be read."""

    docs: Sequence[Doc] = ()
    until: tuple[Any, ...] = ()
    why: str = ""


def _problems_of(
    parts: Iterable[tuple[FoundSession, _SessionPart]],
) -> Iterator[tuple[str, str]]:
    """The paths of the files that could not be read, each with the reason."""
    for file, part in parts:
        if part.why:
            path = str(file.path)
            yield path, part.why.removeprefix(f"{path}: ")


def _part(
    record: HistoryRecord, file: FoundSession, root: Path, oldest: str, read: Read
) -> _SessionPart:
    try:
        return _read(record, file, root, oldest, read)
    except DataError as error:
        return _SessionPart(why=error.what)
    except OSError as error:
        return _SessionPart(why=(error.strerror or str(error)).lower())


def _has_grown(record: HistoryRecord, file: FoundSession) -> bool:
    """Whether a session file is not as it was when it was read, or never was."""
    known = record.position(str(file.path))
    return known is None or known[:2] != (file.size, file.mtime)


def _read(
    record: HistoryRecord, file: FoundSession, root: Path, oldest: str, read: Read
) -> _SessionPart:
    """The exchanges of one session file, read on from its last one."""
    path = str(file.path)
    day = datetime.date.fromtimestamp(file.mtime / 1e9).isoformat()
    if file.size > LARGEST or day < oldest:
        why = f"larger than {LARGEST >> 30} GB" if file.size > LARGEST else ""
        return _SessionPart(until=(path, file.size, file.mtime, 0, ""), why=why)
    start = _read_on(record, file)
    sessions = read.get(path, ())
    state = (file.size, file.mtime)
    if not sessions or (sessions[-1].size, sessions[-1].mtime) != state:
        sessions = read_all(path, start=start, folders=[str(root)], brief=2)
    turns = chain.from_iterable(session.turns for session in sessions)
    asked = (turn.offset for turn in turns if turn.human)
    end = max(asked, default=start.offset)
    until = (path, file.size, file.mtime, end, sessions[-1].head)
    return _SessionPart([*chain.from_iterable(map(exchanges, sessions))], until)


def _read_on(record: HistoryRecord, file: FoundSession) -> Position:
    """Where to read on in a session file that was read before, else its beginning."""
    known = record.position(str(file.path))
    goes_on = bool(known and known[2]) and file.format != "opencode"
    return Position(*known) if known and goes_on else Position()


def add_named(record: HistoryRecord, paths: Iterable[Path], read: Read) -> int:
    """Add sessions that were named, wherever they lie; how many exchanges are new."""
    added = 0
    for path in paths:
        sessions = read.get(str(path)) or read_all(path, brief=2)
        docs = [*chain.from_iterable(map(exchanges, sessions))]
        with transaction(record.db):
            added += record.add(docs)
    return added
