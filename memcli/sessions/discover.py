"""Where agents keep sessions, and which of them are about a repository.

Whose a session is stands in its records or in a file of its agent's; names of folders are never
decoded, as two paths may have the same one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from memcli.errors import DataError
from memcli.project.config import home_of
from memcli.sessions import speakers
from memcli.sessions.lines import Line, Lines, parse
from memcli.sessions.reader import open_plain
from memcli.storage import sqlite
from memcli.storage.files import SMALL_BYTES, read_text
from memcli.storage.folders import state_dir
from memcli.storage.owners import Owner, Owners, remembered

FAR: Final = 1 << 20
"""Bytes at the head of a file in which the folder is looked for; mostly the first few thousand do.
"""
_AGENT = re.compile(r"agent-[\w-]{1,100}\.jsonl")
_ROLLOUT = re.compile(r"rollout-.{1,200}\.jsonl(?:\.zst)?")


class FoundSession(NamedTuple):
    """A session file. `mtime` is in nanoseconds, as in `Position`; `parent` is the session of a
    sub-agent. A database holds several: its `session` is "".
    """

    path: Path
    format: str
    session: str
    cwd: str
    mtime: int
    size: int
    parent: str = ""


class Looked(NamedTuple):
    """Where it was looked for sessions of one agent, and how many files are there and are ours."""

    agent: str
    folder: Path
    files: int
    found: int


class Discovery(NamedTuple):
    """Session files, newest first but sub-agents after their parent; those that could not be looked
    into; and where it was looked.
    """

    found: tuple[FoundSession, ...]
    unread: tuple[tuple[Path, str], ...]
    looked: tuple[Looked, ...] = ()


def discover(environ: Mapping[str, str], folders: Sequence[Path], *, newer: int = 0) -> Discovery:
    """The sessions of every agent whose folder is one of `folders` or below one.

    `newer` leaves out what was last written before that time (ns) without opening it.
    """
    wanted = tuple(
        {
            os.path.normpath(path)
            for folder in folders
            for path in (folder, os.path.realpath(folder))
        }
    )
    found: list[FoundSession] = []
    unread: list[tuple[Path, str]] = []
    looked = []
    with remembered(state_dir()) as owners:
        for agent, folder, files, told in _stores(environ, wanted):
            before, count = len(found), 0
            for path in files:
                count += 1
                try:
                    state = path.stat()
                    if state.st_mtime_ns >= newer:
                        owner = _owner(path, state, told, owners)
                        found += _ours(path, agent, state, owner, wanted)
                except DataError as error:
                    unread.append((path, error.what.removeprefix(f"{path}: ")))
                except OSError as error:
                    unread.append((path, (error.strerror or str(error)).lower()))
            looked.append(Looked(agent, folder, count, len(found) - before))
    return Discovery(tuple(_ordered(found)), tuple(unread), tuple(looked))


def _owner(path: Path, state: os.stat_result, told: Told, owners: Owners) -> Owner:
    known = owners.of(path, state.st_size, state.st_mtime_ns)
    if known is None:
        known = told(path)
        if known.cwd and path.suffix != ".db":  # a database has sessions of many folders
            owners.remember(path, state.st_size, state.st_mtime_ns, known)
    return known


def _ours(
    path: Path, agent: str, state: os.stat_result, owner: Owner, wanted: Sequence[str]
) -> Iterator[FoundSession]:
    if owner.cwd and _inside(owner.cwd, wanted):
        yield FoundSession(
            path, agent, owner.session, owner.cwd, state.st_mtime_ns, state.st_size, owner.parent
        )


Told = Callable[[Path], Owner]
Store = tuple[str, Path, Iterable[Path], Told]


def _stores(environ: Mapping[str, str], wanted: Sequence[str]) -> Iterator[Store]:
    """(agent, folder, files that by their place are sessions, what tells whose one is)."""
    home = home_of(environ)
    claude = claude_home(environ) / "projects"
    yield (
        "claude",
        claude,
        _globbed(claude, "*/*.jsonl", "*/*/agent-*.jsonl", "*/*/subagents/*.jsonl"),
        _claude_owner,
    )
    codex = codex_home(environ)
    yield "codex", codex, _rollouts(codex), _codex_owner
    gemini = Path(environ.get("GEMINI_CLI_HOME") or home) / ".gemini"
    yield "gemini", gemini / "tmp", _gemini_files(gemini), _gemini_told(gemini, wanted)
    qwen = home / ".qwen" / "projects"
    yield "qwen", qwen, _globbed(qwen, "*/chats/*.jsonl"), _claude_owner
    copilot = home / ".copilot" / "session-state"
    yield "copilot", copilot, _globbed(copilot, "*/events.jsonl"), _copilot_owner
    cursor = Path(environ.get("CURSOR_CONFIG_DIR") or home / ".cursor") / "projects"
    patterns = ("*/agent-transcripts/*.jsonl", "*/agent-transcripts/*/*.jsonl")
    yield "cursor", cursor, _globbed(cursor, *patterns), _cursor_told(cursor, wanted)
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode"
    yield "opencode", data, _globbed(data, "opencode.db"), _opencode_told(wanted)


def _globbed(folder: Path, *patterns: str) -> Iterator[Path]:
    for pattern in patterns:
        yield from (path for path in folder.glob(pattern) if path.is_file())


def _gemini_files(home: Path) -> Iterator[Path]:
    """Of a session that is kept in both forms, the lines."""
    files = sorted(_globbed(home / "tmp", "*/chats/session-*.json", "*/chats/session-*.jsonl"))
    names = {str(path) for path in files}
    yield from (path for path in files if path.suffix == ".jsonl" or f"{path}l" not in names)


def _gemini_told(home: Path, wanted: Sequence[str]) -> Told:
    """By `.project_root` beside the chats, by the list of projects, or by the digest of the path."""
    names = {hashlib.sha256(path.encode()).hexdigest(): path for path in wanted}
    with suppress(OSError, ValueError, AttributeError):
        listed = json.loads(read_text(home / "projects.json", most=SMALL_BYTES))["projects"]
        names |= {str(slug): str(path) for path, slug in listed.items()}

    def told(path: Path) -> Owner:
        folder = path.parent.parent
        try:
            root = read_text(folder / ".project_root", most=SMALL_BYTES).strip()
        except OSError:
            root = names.get(folder.name, "")
        return Owner("", root)

    return told


def _cursor_told(home: Path, wanted: Sequence[str]) -> Told:
    """Nothing in a file says it: only the name that a folder of ours would have."""
    names = {re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-"): path for path in wanted}

    def told(path: Path) -> Owner:
        slug = path.relative_to(home).parts[0].strip("-")
        return Owner(path.stem, names.get(slug, ""))

    return told


def _opencode_told(wanted: Sequence[str]) -> Told:
    """Ours if one of its sessions is; what is not known yet is asked again."""

    def told(path: Path) -> Owner:
        hint = "close opencode"
        with sqlite.opened(path, ("session", "message", "part"), kind="OpenCode", hint=hint) as db:
            rows = sqlite.all_rows(db, "SELECT DISTINCT directory FROM session", path)
        ours = (str(row[0]) for row in rows if _inside(str(row[0]), wanted))
        return Owner("", next(ours, ""))

    return told


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
        return _claude_owner(path).parent
    except (DataError, OSError):
        return ""


def _rollouts(home: Path) -> Iterator[Path]:
    """Codex's sessions; of one that is kept in both forms, the plain one."""
    for below in ("sessions", "archived_sessions"):
        files = sorted((home / below).glob("**/rollout-*"))
        names = {str(path) for path in files}
        for path in files:
            twin = str(path).removesuffix(".zst") in names and path.suffix == ".zst"
            if _ROLLOUT.fullmatch(path.name) and not twin and path.is_file():
                yield path


def _first(path: Path, told: Callable[[Mapping[str, Any], str], tuple[str, str, str]]) -> Owner:
    """(session, cwd, parent) as the first records say; cwd is "" when none does."""
    session = cwd = parent = ""
    with open_plain(path) as file:
        for record in _records(Lines(file)):
            name, cwd, above = told(record, path.name)
            session, parent = session or name, parent or above
            if cwd:
                break
    return Owner(session, cwd, parent)


def _claude_owner(path: Path) -> Owner:
    return _first(path, _claude)


def _codex_owner(path: Path) -> Owner:
    return _first(path, _codex)


def _copilot_owner(path: Path) -> Owner:
    return _first(path, _copilot)


def _copilot(record: Mapping[str, Any], name: str) -> tuple[str, str, str]:
    data = record.get("data")
    context = data.get("context") if isinstance(data, dict) else None
    if not isinstance(context, dict) or not isinstance(data, dict):
        return "", "", ""
    return speakers.name(data.get("sessionId")), speakers.line(context.get("cwd")), ""


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


def _ordered(found: list[FoundSession]) -> Iterator[FoundSession]:
    """Newest first; a sub-agent's file follows its parent's, where that was found."""
    newest = sorted(found, key=lambda each: (-each.mtime, str(each.path)))
    parents = {each.session for each in found if not each.parent}
    for each in newest:
        if each.parent not in parents or not each.parent:
            yield each
            yield from (child for child in newest if each.session and child.parent == each.session)
