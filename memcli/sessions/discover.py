"""Which sessions of agents are about a repository, judged by their records or by a
file beside them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memcli.errors import DataError
from memcli.sessions import resolves_inside, speakers, stores
from memcli.sessions.formats import claude
from memcli.sessions.formats.protocol import Format, Store
from memcli.sessions.formats.registry import FORMATS
from memcli.sessions.gather import Lines, mapping, parse, value_at
from memcli.sessions.reader import open_plain
from memcli.storage.files import state_dir, storable, why
from memcli.storage.sqlite import Owner, Owners, remembered

FAR = 1 << 20  # bytes at the head of a file in which the folder is looked for


class FoundSession(NamedTuple):
    """A session file; a database, which holds several, has no `session`. `mtime` is in
    ns."""

    path: Path
    format: str
    session: str
    cwd: str
    mtime: int
    size: int
    parent: str = ""


class Looked(NamedTuple):
    """Where sessions of one agent were looked for, how many files are there, and how
    many are ours."""

    agent: str
    folder: Path
    files: int
    found: int


class Discovery(NamedTuple):
    """Session files, newest first but sub-agents after their parent; unread ones; the
    stores."""

    found: tuple[FoundSession, ...]
    unread: tuple[tuple[Path, str], ...]
    looked: tuple[Looked, ...] = ()


def discover(
    environ: Mapping[str, str], folders: Sequence[Path], *, newer: int = 0
) -> Discovery:
    """The sessions of every agent in one of these folders or below, written since
    `newer` (ns)."""
    ways = (way for folder in folders for way in (folder, os.path.realpath(folder)))
    folders_wanted = tuple(set(map(os.path.normpath, ways)))
    sessions = []
    unread = []
    looked = []
    with remembered(state_dir()) as owners:
        for agent, folder in stores(environ).items():
            search = _Search(FORMATS[agent], folder, folders_wanted, owners)
            search.run(newer)
            sessions += search.sessions
            unread += search.unread
            looked.append(search.looked())
    return Discovery(tuple(_ordered(sessions)), tuple(unread), tuple(looked))


class _Search:
    """The search through the store of one agent."""

    def __init__(
        self, form: Format, folder: Path, wanted: Sequence[str], owners: Owners
    ) -> None:
        self.agent = form.name
        self.store = form.store or Store(files=())
        self.folder = folder
        self.wanted = wanted
        self.owners = owners
        self.files = _files(folder, self.store.files)
        self.sessions: list[FoundSession] = []
        self.unread: list[tuple[Path, str]] = []

    def run(self, newer: int) -> None:
        for path in self.files:
            try:
                self._look_at(path, newer)
            except DataError as error:
                self.unread.append((path, error.what.removeprefix(f"{path}: ")))
            except OSError as error:
                self.unread.append((path, why(error)))

    def looked(self) -> Looked:
        return Looked(
            agent=self.agent,
            folder=self.folder,
            files=len(self.files),
            found=len(self.sessions),
        )

    def _look_at(self, path: Path, newer: int) -> None:
        state = path.stat()
        mtime = storable(state.st_mtime_ns)
        if mtime < newer:
            return
        owner = self._owner(path, state)
        if owner.cwd and resolves_inside(owner.cwd, self.wanted):
            session = FoundSession(
                path=path,
                format=self.agent,
                session=owner.session,
                cwd=owner.cwd,
                mtime=mtime,
                size=state.st_size,
                parent=owner.parent,
            )
            self.sessions.append(session)

    def _owner(self, path: Path, state: os.stat_result) -> Owner:
        mtime = storable(state.st_mtime_ns)
        known = self.owners.of(path, state.st_size, mtime)
        if known is not None:
            return known
        if self.store.owner:
            owner = self.store.owner(path, self.folder, self.wanted)
        else:
            owner = _by_records(path, self.store)
        if owner.cwd and path.suffix != ".db":  # that has sessions of many folders
            self.owners.remember(path, state.st_size, mtime, owner)
        return owner


def agents_of(path: Path, session: str) -> list[Path]:
    """The files of Claude Code's sub-agents whose records name `session`, for its file
    `path`."""
    below = path.with_suffix("")
    store = claude.FORMAT.store or Store(files=())
    agents = []
    for folder in (below / "subagents", below, path.parent):
        for file in folder.glob("agent-*.jsonl"):
            with suppress(DataError, OSError):
                if file != path and _by_records(file, store).parent == session:
                    agents.append(file)
    return sorted(agents)


def is_agent(path: Path) -> bool:
    """Whether a file is, by its name, that of a sub-agent."""
    return path.match("agent-*.jsonl")


def _files(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """The files of a store; where a session is kept in two forms, the more complete
    one."""
    paths = [path for glob in patterns for path in folder.glob(glob)]
    files = [path for path in paths if path.is_file()]
    names = {str(path) for path in files if path.suffix == ".jsonl"}
    packed = {f"{name}.zst" for name in names}
    documents = {name.removesuffix("l") for name in names}
    return sorted(path for path in files if str(path) not in packed | documents)


def _by_records(path: Path, store: Store) -> Owner:
    """What the records at the head of a file say, up to the first that has a
    folder."""
    name = folder = parent = ""
    with open_plain(path) as file:
        for line in Lines(file):
            if line.offset > FAR or folder:
                break
            if b'"cwd"' not in line.data:
                continue
            with suppress(ValueError):
                record = mapping(parse(line.data))
                session = speakers.name(value_at(record, *store.session))
                folder = speakers.folder(value_at(record, *store.folder))
                agent = speakers.name(record.get("agentId"))
                if agent and is_agent(path):
                    name = agent
                    parent = parent or session
                name = name or session
    return Owner(name, folder, parent)


def _ordered(sessions: list[FoundSession]) -> Iterator[FoundSession]:
    newest = sorted(sessions, key=lambda session: (-session.mtime, str(session.path)))
    parents = {session.session for session in sessions if not session.parent}
    children: dict[str, list[FoundSession]] = {}
    for session in newest:
        children.setdefault(session.parent, []).append(session)
    for session in newest:
        if not session.parent or session.parent not in parents:
            yield session
            yield from children.get(session.session, ()) if session.session else ()
