"""Where sessions lie, and which of them are about a repository: by the folder named in their
records.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from memcli.errors import DataError
from memcli.project.config import home_of
from memcli.sessions import speakers
from memcli.sessions.lines import Line, Lines, parse
from memcli.sessions.reader import open_plain

FAR: Final = 1 << 20
"""Bytes at the head of a file in which the folder is looked for; mostly the first few thousand do.
"""
_AGENT = re.compile(r"agent-[\w-]{1,100}\.jsonl")
_ROLLOUT = re.compile(r"rollout-.{1,200}\.jsonl(?:\.zst)?")


class Found(NamedTuple):
    """A session file. `mtime` is in nanoseconds, as in `Position`; `parent` is the session of a
    sub-agent.
    """

    path: Path
    format: str
    session: str
    cwd: str
    mtime: int
    size: int
    parent: str = ""


class Discovery(NamedTuple):
    """Session files, newest first but sub-agents after their parent; those that could not be looked
    into.
    """

    found: tuple[Found, ...]
    unread: tuple[tuple[Path, str], ...]


def discover(environ: Mapping[str, str], folders: Sequence[Path], *, newer: int = 0) -> Discovery:
    """The sessions of Claude Code and Codex whose folder is one of `folders` or below one.

    `newer` leaves out what was last written before that time (ns) without opening it. Names of
    folders are never decoded: two paths may have the same one.
    """
    wanted = tuple(
        {
            os.path.normpath(path)
            for folder in folders
            for path in (folder, os.path.realpath(folder))
        }
    )
    found, unread = [], []
    for path, format in _files(environ):
        try:
            state = path.stat()
            if state.st_mtime_ns < newer:
                continue
            session, cwd, parent = _about(path, format)
        except DataError as error:
            unread.append((path, error.what.removeprefix(f"{path}: ")))
            continue
        except OSError as error:
            unread.append((path, (error.strerror or str(error)).lower()))
            continue
        if cwd and _inside(cwd, wanted):
            found.append(
                Found(path, format, session, cwd, state.st_mtime_ns, state.st_size, parent)
            )
    return Discovery(tuple(_ordered(found)), tuple(unread))


def claude_home(environ: Mapping[str, str]) -> Path:
    """Claude Code's folder."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or home_of(environ) / ".claude")


def codex_home(environ: Mapping[str, str]) -> Path:
    """Codex's folder."""
    return Path(environ.get("CODEX_HOME") or home_of(environ) / ".codex")


def agents_of(path: Path, session: str) -> list[Path]:
    """The files of Claude Code's sub-agents whose records name `session`, for the session's file
    `path`.
    """
    below = path.with_suffix("")
    folders = (below / "subagents", below, path.parent)
    near = [each for folder in folders for each in folder.glob("agent-*.jsonl")]
    return [
        each
        for each in sorted(near)
        if each != path and is_agent(each) and _parent(each) == session
    ]


def is_agent(path: Path) -> bool:
    """Whether a file is, by its name, that of a sub-agent."""
    return _AGENT.fullmatch(path.name) is not None


def _parent(path: Path) -> str:
    try:
        return _about(path, "claude")[2]
    except (DataError, OSError):
        return ""


def _files(environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Every file that by its place is a session, with its format."""
    projects = claude_home(environ) / "projects"
    for pattern in ("*/*.jsonl", "*/*/agent-*.jsonl", "*/*/subagents/*.jsonl"):
        yield from ((path, "claude") for path in projects.glob(pattern) if path.is_file())
    rollouts = codex_home(environ)
    for below in ("sessions", "archived_sessions"):
        files = sorted((rollouts / below).glob("**/rollout-*"))
        names = {str(path) for path in files}
        for path in files:
            twin = str(path).removesuffix(".zst") in names and path.suffix == ".zst"
            if _ROLLOUT.fullmatch(path.name) and not twin and path.is_file():
                yield path, "codex"


def _about(path: Path, format: str) -> tuple[str, str, str]:
    """(session, cwd, parent) as the first records say; cwd is "" when none does."""
    told = _codex if format == "codex" else _claude
    session = cwd = parent = ""
    with open_plain(path) as file:
        for record in _records(Lines(file)):
            name, cwd, above = told(record, path.name)
            session, parent = session or name, parent or above
            if cwd:
                break
    return session, cwd, parent


def _claude(record: Mapping[str, Any], name: str) -> tuple[str, str, str]:
    session, agent = speakers.name(record.get("sessionId")), speakers.name(record.get("agentId"))
    cwd = speakers.line(record.get("cwd"))
    return (agent, cwd, session) if agent and _AGENT.fullmatch(name) else (session, cwd, "")


def _codex(record: Mapping[str, Any], name: str) -> tuple[str, str, str]:
    """A session that was forked is no sub-agent: it has no parent here."""
    about = record.get("payload")
    if not isinstance(about, dict):
        return "", "", ""
    session = (
        about.get("id") or about.get("session_id") if record.get("type") == "session_meta" else ""
    )
    return speakers.name(session), speakers.line(about.get("cwd")), ""


def _records(lines: Iterable[Line]) -> Iterator[Mapping[str, Any]]:
    """The first records that may name a folder."""
    for line in lines:
        if line.offset > FAR:
            return
        try:
            record = parse(line.data) if b'"cwd"' in line.data else None
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def _inside(cwd: str, folders: Sequence[str]) -> bool:
    """Whether a folder, as written or as it really is, is one of these or below one."""
    ways = {os.path.normpath(cwd), os.path.realpath(cwd)} if os.path.isabs(cwd) else set()
    return any(Path(way).is_relative_to(folder) for way in ways for folder in folders)


def _ordered(found: list[Found]) -> Iterator[Found]:
    """Newest first; a sub-agent's file follows its parent's, where that was found."""
    newest = sorted(found, key=lambda each: (-each.mtime, str(each.path)))
    parents = {each.session for each in found if not each.parent}
    for each in newest:
        if each.parent not in parents or not each.parent:
            yield each
            yield from (child for child in newest if each.session and child.parent == each.session)
