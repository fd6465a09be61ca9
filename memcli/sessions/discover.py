"""Which sessions of agents are about a repository, by what stands in them or in a file
beside."""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial, reduce
from pathlib import Path
from typing import Any, Final, NamedTuple

from memcli.errors import DataError
from memcli.sessions import inside, speakers, stores
from memcli.sessions.formats.parts import TABLES
from memcli.sessions.gather import Lines, mapping, parse
from memcli.sessions.reader import open_plain
from memcli.storage import sqlite
from memcli.storage.files import SMALL_BYTES, read_text, state_dir
from memcli.storage.sqlite import Owner, Owners, remembered

FAR: Final = 1 << 20  # bytes at the head of a file in which the folder is looked for


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
    """Where it was looked for sessions of one agent, and how many files are there and
    are ours."""

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
    wanted = tuple(set(map(os.path.normpath, ways)))
    found: list[FoundSession] = []
    unread: list[tuple[Path, str]] = []
    looked = []
    with remembered(state_dir()) as owners:
        for agent, folder in stores(environ).items():
            files = _files(folder, _AGENTS[agent][0])
            before = len(found)
            for path in files:
                try:
                    state = path.stat()
                    known = path, state.st_size, state.st_mtime_ns
                    owner = (
                        _owner(owners, agent, known, folder, wanted)
                        if known[2] >= newer
                        else None
                    )
                except DataError as error:
                    unread.append((path, error.what.removeprefix(f"{path}: ")))
                except OSError as error:
                    unread.append((path, (error.strerror or str(error)).lower()))
                else:
                    if owner and owner.cwd and _inside(owner.cwd, wanted):
                        at = owner.session, owner.cwd, known[2], known[1], owner.parent
                        found.append(FoundSession(path, agent, *at))
            looked.append(
                Looked(
                    agent=agent,
                    folder=folder,
                    files=len(files),
                    found=len(found) - before,
                )
            )
    return Discovery(tuple(_ordered(found)), tuple(unread), tuple(looked))


def _owner(
    owners: Owners,
    agent: str,
    known: tuple[Path, int, int],
    folder: Path,
    wanted: Sequence[str],
) -> Owner:
    owner = owners.of(*known)
    if owner is None:
        owner = _AGENTS[agent][1](known[0], folder, wanted)
        if owner.cwd and known[0].suffix != ".db":  # that has sessions of many folders
            owners.remember(*known, owner)
    return owner


def agents_of(path: Path, session: str) -> list[Path]:
    """The files of Claude Code's sub-agents whose records name `session`, for its file
    `path`."""
    below = path.with_suffix("")
    found = []
    for folder in (below / "subagents", below, path.parent):
        for each in folder.glob("agent-*.jsonl"):
            with suppress(DataError, OSError):
                if each != path and is_agent(each) and _CLAUDE(each).parent == session:
                    found.append(each)
    return sorted(found)


def is_agent(path: Path) -> bool:
    """Whether a file is, by its name, that of a sub-agent."""
    return path.match("agent-*.jsonl")


def _files(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """The files of a store; of a session that is kept in two forms, the one that is
    better read."""
    found = [path for each in patterns for path in folder.glob(each) if path.is_file()]
    names = {str(path) for path in found if path.suffix == ".jsonl"}
    twins = {f"{name}.zst" for name in names} | {
        name.removesuffix("l") for name in names
    }
    return sorted(path for path in found if str(path) not in twins)


Told = Callable[[Path, Path, Sequence[str]], Owner]
Names = tuple[str, ...]


def _by_records(path: Path, *_: object, session: Names, cwd: Names = ("cwd",)) -> Owner:
    name = folder = parent = ""
    with open_plain(path) as file:
        for line in Lines(file):
            if line.offset > FAR or folder:
                break
            with suppress(ValueError):
                record = parse(line.data) if b'"cwd"' in line.data else None
                own = speakers.name(reduce(_under, session, record))
                name = name or own
                folder = speakers.folder(reduce(_under, cwd, record))
                if is_agent(path) and (
                    agent := speakers.name(mapping(record).get("agentId"))
                ):
                    name = agent
                    parent = parent or own
    return Owner(name, folder, parent)


def _under(record: Any, name: str) -> Any:
    return mapping(record).get(name)


_CLAUDE: Final = partial(_by_records, session=("sessionId",))


def _gemini(path: Path, folder: Path, wanted: Sequence[str]) -> Owner:
    above = path.parent.parent
    with suppress(OSError):
        return Owner("", read_text(above / ".project_root", most=SMALL_BYTES).strip())
    names = {hashlib.sha256(path.encode()).hexdigest(): path for path in wanted}
    return Owner("", names.get(above.name, ""))


def _cursor(path: Path, folder: Path, wanted: Sequence[str]) -> Owner:
    names = {re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-"): path for path in wanted}
    return Owner(path.stem, names.get(path.relative_to(folder).parts[0].strip("-"), ""))


def _opencode(path: Path, folder: Path, wanted: Sequence[str]) -> Owner:
    with sqlite.opened(path, TABLES, kind="OpenCode", hint="close opencode") as db:
        rows = sqlite.all_rows(db, "SELECT DISTINCT directory FROM session", path)
    return Owner(
        "", next((str(row[0]) for row in rows if _inside(str(row[0]), wanted)), "")
    )


_AGENTS: Final[dict[str, tuple[Names, Told]]] = {
    "claude": (("*/*.jsonl", "*/*/agent-*.jsonl", "*/*/subagents/*.jsonl"), _CLAUDE),
    "codex": (
        ("*sessions/**/rollout-*.jsonl", "*sessions/**/rollout-*.jsonl.zst"),
        partial(_by_records, session=("payload", "id"), cwd=("payload", "cwd")),
    ),
    "gemini": (("*/chats/session-*.json", "*/chats/session-*.jsonl"), _gemini),
    "qwen": (("*/chats/*.jsonl",), _CLAUDE),
    "copilot": (
        ("*/events.jsonl",),
        partial(
            _by_records, session=("data", "sessionId"), cwd=("data", "context", "cwd")
        ),
    ),
    "cursor": (
        ("*/agent-transcripts/*.jsonl", "*/agent-transcripts/*/*.jsonl"),
        _cursor,
    ),
    "opencode": (("opencode.db",), _opencode),
}
"""Of each agent the files that by their place are sessions, and what tells whose one
is."""


def _inside(cwd: str, folders: Sequence[str]) -> bool:
    ways = (
        {os.path.normpath(cwd), os.path.realpath(cwd)} if os.path.isabs(cwd) else set()
    )
    return any(inside(way, folders) for way in ways)


def _ordered(found: list[FoundSession]) -> Iterator[FoundSession]:
    newest = sorted(found, key=lambda each: (-each.mtime, str(each.path)))
    parents = {each.session for each in found if not each.parent}
    for each in newest:
        if each.parent not in parents or not each.parent:
            yield each
            yield from (
                child
                for child in newest
                if each.session and child.parent == each.session
            )
