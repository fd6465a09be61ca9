"""What a call of a tool is about to change: the files, and each simple command of a
shell line."""

import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from memcli.named import NamedTuple
from memcli.text import matching

if TYPE_CHECKING:
    from memcli.sessions.model import Turn

PATHS = (
    "file_path",
    "notebook_path",
    "path",
    "filePath",
    "absolute_path",
    "target_file",
)
"""Where the edit tools of agents name their file."""
LINES = ("command", "cmd", "script")
PATCHES = ("patch", "input", "patchText")
ARGUMENTS = frozenset({*LINES, *PATHS, *PATCHES})  # all that is looked at of a call
MOST = 50  # files of one call that are looked at
LONGEST = 20_000  # characters of a command that are looked at
SHELLS = ("bash", "sh", "zsh")
_RUNNERS = ("sudo", "env", "command", "time", "exec", "xargs")
_pattern = partial(matching.pattern, "sessions/tools")


class ToolCall(NamedTuple):
    """The files that a tool will change, absolute; its shell command, and each simple
    one in it."""

    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


def tool_call(given: Mapping[str, Any], cwd: str) -> ToolCall:
    """What a tool's input says of files and of a command."""
    command = shell_line(given)
    for text in (command, *map(given.get, PATCHES)):
        if isinstance(text, str) and "*** Begin Patch" in text:
            return ToolCall(_absolute(cwd, _pattern("patched").findall(text)))
    files = [name for key in PATHS if isinstance(name := given.get(key), str) and name]
    if files or not command:
        return ToolCall(_absolute(cwd, files))
    return ToolCall(_absolute(cwd, _changed(command[:LONGEST])), parse_command(command))


def shell_line(given: Mapping[str, Any]) -> str:
    """The shell command of a call; "" for another tool."""
    for key in LINES:
        value = given.get(key)
        if isinstance(value, (list, tuple)) and value:
            wrapped = len(value) == 3 and value[1] in ("-c", "-lc")
            value = value[-1] if wrapped else " ".join(map(str, value))
        if isinstance(value, str):
            return value
    return ""


def changed_by(turn: "Turn", *, shell: bool = False) -> tuple[str, ...]:
    """The files that a tool for it or a patch changes, with `shell` any command,
    relative to the session's folder."""
    line = shell_line(turn.input)
    edits = "*** Begin Patch" in line or _pattern("edits").search(turn.tool.lower())
    files = tool_call(turn.input, turn.cwd).files if edits or (shell and line) else ()
    return tuple(path.removeprefix(f"{turn.cwd.rstrip('/')}/") for path in files)


def _absolute(cwd: str, names: list[str]) -> tuple[str, ...]:
    known = (
        os.path.join(cwd, os.path.expanduser(name))
        for name in names
        if "\0" not in name
    )
    return tuple(dict.fromkeys(map(os.path.normpath, known)))[:MOST]


def _changed(command: str) -> list[str]:
    if not _pattern("may write").search(command):
        return []
    folder = ""
    found = []
    bare = _pattern("heredoc").sub(r"\1", command) if "<<" in command else command
    for part in _parts(bare):
        words = _pattern("word").findall(part)
        if words[:1] == ["cd"] and len(words) == 2:
            folder = os.path.join(folder, _plain(words[1]))
        else:
            found += [os.path.join(folder, name) for name in _targets(words)]
    return found


def _targets(words: list[str]) -> Iterator[str]:
    left: list[str] = []
    written = False
    for word in words:
        name = _plain(word)
        arrow = _pattern("arrow").fullmatch(word) is not None
        if not (written or arrow or word.startswith("<")):
            left.append(name)
        elif (
            written
            and not arrow
            and not word.startswith("&")
            and not name.startswith("/dev/")
        ):
            yield name
        written = arrow
    while left and (left[0] in _RUNNERS or re.match(r"-|\w+=", left[0])):
        left = left[1:]
    if len(left) > 2 and left[0] in SHELLS and left[-2].endswith("c"):
        yield from _changed(left[-1])
    elif left:
        yield from _arguments(left[0].rpartition("/")[2], left[1:])


def _arguments(program: str, words: list[str]) -> list[str]:
    names = [word for word in words if not word.startswith("-")]
    if program == "git":
        return (
            names[1:]
            if words[:1] in (["mv"], ["rm"], ["checkout"], ["restore"])
            else []
        )
    if _pattern("writers").fullmatch(program):
        return names
    if not (
        _pattern("scripted").fullmatch(program)
        and any(map(_pattern("in place").match, words))
    ):
        return []
    scripted = program == "sed" or any(map(_pattern("script").fullmatch, words))
    return names[1:] if scripted else names


def _plain(word: str) -> str:
    return _pattern("piece").sub(
        lambda piece: piece[1] or piece[2] or piece[3] or "", word
    )


def parse_command(command: str) -> tuple[str, ...]:
    """A shell command as a whole and each simple one in it; what is quoted is not taken
    apart."""
    found = [
        " ".join(part.split())
        for part in (command[:LONGEST], *_parts(command[:LONGEST]))
    ]
    bare = []
    for part in found[1:]:
        while before := _pattern("before").match(part):
            part = part[before.end() :]
        bare.append(part)
    return tuple(dict.fromkeys(filter(None, (*found, *bare))))


def _parts(command: str) -> Iterator[str]:
    hidden = _pattern("quoted").sub(lambda quoted: "\0" * len(quoted[0]), command)
    at = 0
    for mark in _pattern("between").finditer(hidden):
        yield command[at : mark.start()]
        at = mark.end()
    yield command[at:]
