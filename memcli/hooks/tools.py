"""What a tool of an agent is about to change or run. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from memcli.hooks import relevance

KEYS = ("file_path", "notebook_path", "path", "filePath", "absolute_path")
"""Where the edit tools of agents name their file."""
MOST = 50
"""Files of one call that are looked at."""
# Most calls need none of these: what is used is compiled then.
_PATCHED = r"(?m)^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$"
_HEREDOC = r"(?sm)(<<-?\s*(['\"]?)(\w+)\2[^\n]*\n)(?:.*?\n)??[ \t]*\3[ \t]*$"
_ARROW = r"[0-9&]?>>?\|?"
_WORD = rf"""(?s){_ARROW}|(?:[^\s'"\\>]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+"""
_PIECE = r"""(?s)'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)"""
WRITERS = ("rm", "mv", "cp", "tee", "truncate", "touch", "ln")
"""Programs whose arguments are files that they change."""
SCRIPTED = ("sed", "perl", "ruby")
"""Programs that change files in place (-i) by a script."""


class ToolCall(NamedTuple):
    """The files that a tool will change, absolute, and the shell command that it will run."""

    files: tuple[str, ...] = ()
    command: relevance.Command = relevance.Command()


def tool_call(given: Mapping[str, Any], cwd: str) -> ToolCall:
    """What a tool's input says of files and of a command."""
    command = given.get("command")
    if isinstance(command, list):
        command = " ".join(word for word in command if isinstance(word, str))
    texts = [command, given.get("patch"), given.get("input"), given.get("patchText")]
    patch = next(
        (each for each in texts if isinstance(each, str) and "*** Begin Patch" in each), ""
    )
    if patch:
        return ToolCall(_absolute(cwd, re.findall(_PATCHED, patch)))
    named = [given.get(key) for key in KEYS]
    files = [name for name in named if isinstance(name, str) and name]
    if files or not isinstance(command, str):
        return ToolCall(_absolute(cwd, files))
    run = relevance.parse_command(command)
    return ToolCall(_absolute(cwd, _changed(command[: relevance.LONGEST])), run)


def _absolute(cwd: str, names: list[str]) -> tuple[str, ...]:
    known = (os.path.join(cwd, os.path.expanduser(name)) for name in names if "\0" not in name)
    return tuple(dict.fromkeys(map(os.path.normpath, known)))[:MOST]


def _changed(command: str) -> list[str]:
    """The files that a shell command plainly changes, below the folders that it enters."""
    if not re.search(r">|\b(?:rm|mv|cp|tee|truncate|touch|ln|sed|perl|ruby|cd)\b", command):
        return []
    folder, found = "", []
    bare = re.sub(_HEREDOC, r"\1", command) if "<<" in command else command
    for part in relevance.parts(bare):
        words = re.findall(_WORD, part)
        if words[:1] == ["cd"] and len(words) == 2:
            folder = os.path.join(folder, _plain(words[1]))
        else:
            found += [os.path.join(folder, name) for name in _targets(words)]
    return found


def _targets(words: list[str]) -> Iterator[str]:
    """The files that a simple command writes to: by redirection, and by what its program does."""
    left: list[str] = []
    written = False
    for word in words:
        if re.fullmatch(_ARROW, word):
            written = True
            continue
        name = _plain(word)
        if not written and not word.startswith("<"):
            left.append(name)
        elif written and not word.startswith("&") and not name.startswith("/dev/"):
            yield name
        written = False
    yield from _arguments(left)


def _arguments(words: list[str]) -> list[str]:
    while words and ("=" in words[0] or words[0] in ("sudo", "env", "command", "time", "exec")):
        words = words[1:]
    if words[:1] == ["git"] and words[1:2] in (["mv"], ["rm"], ["checkout"], ["restore"]):
        words = words[1:]
        return [word for word in words[1:] if not word.startswith("-")]
    program = words[0].rpartition("/")[2] if words else ""
    plain = [word for word in words[1:] if not word.startswith("-")]
    if program in WRITERS:
        return plain
    options = [word for word in words[1:] if word.startswith("-")]
    if program in SCRIPTED and any(
        re.match(r"-(?:[a-zA-Z0]*i|-in-place)", each) for each in options
    ):
        given = any(
            re.fullmatch(r"-[a-zA-Z0]*[ef]|--(?:expression|file).*", each) for each in options
        )
        return plain[1:] if given or program == "sed" else plain
    return []


def _plain(word: str) -> str:
    """A word of the shell without its quotes."""
    return re.sub(_PIECE, lambda piece: piece[1] or piece[2] or piece[3] or "", word)
