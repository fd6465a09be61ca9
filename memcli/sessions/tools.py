"""What a call of a tool is about to change: the files, and each simple command of a
shell line."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memcli.named import NamedTuple
from memcli.sessions.shell import ShellCommand, Words, simple_commands
from memcli.text.matching import verbose

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


class ToolCall(NamedTuple):
    """The files that a tool will change or show, absolute; its shell command, and each
    simple one in it; `reads` are files that a shell command shows."""

    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()


def tool_call(given: Mapping[str, Any], cwd: str) -> ToolCall:
    """What a tool's input says of files and of a command."""
    command = shell_line(given)
    for text in (command, *map(given.get, PATCHES)):
        if isinstance(text, str) and "*** Begin Patch" in text:
            return ToolCall(_absolute(cwd, _patched().findall(text)))
    files = [name for key in PATHS if isinstance(name := given.get(key), str) and name]
    if files or not command:
        return ToolCall(_absolute(cwd, files))
    simple = simple_commands(command)
    return ToolCall(
        files=_absolute(cwd, _changed(simple)),
        commands=parse_command(command, simple),
        reads=_absolute(cwd, _read(simple)),
    )


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
    """The files that an edit tool or a patch changes, with `shell` also any command,
    relative to the session's folder."""
    if not turn.input:  # no call of a tool
        return ()
    line = shell_line(turn.input)
    edits = "*** Begin Patch" in line or _edits().search(turn.tool.lower())
    files = tool_call(turn.input, turn.cwd).files if edits or (shell and line) else ()
    return _from_folder(turn, files)


def read_by(turn: "Turn") -> tuple[str, ...]:
    """The files that a tool or a shell command shows, relative to the session's
    folder."""
    call = tool_call(turn.input, turn.cwd)
    return _from_folder(turn, call.reads if call.commands else call.files)


def _from_folder(turn: "Turn", paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(path.removeprefix(f"{turn.cwd.rstrip('/')}/") for path in paths)


def _absolute(cwd: str, names: list[str]) -> tuple[str, ...]:
    known = (
        os.path.join(cwd, os.path.expanduser(name))
        for name in names
        if "\0" not in name
    )
    return tuple(dict.fromkeys(map(os.path.normpath, known)))[:MOST]


def _in_folders(commands: Sequence[ShellCommand]) -> Iterator[tuple[str, ShellCommand]]:
    """The commands other than `cd`, each with the folder in which it is called."""
    folder = ""
    for command in commands:
        words = command.words
        if words[:1] == ("cd",) and len(words) == 2:
            folder = os.path.join(folder, words[1])
        else:
            yield folder, command


def _changed(commands: Sequence[ShellCommand]) -> list[str]:
    """The files that simple commands change, as far as their words say."""
    found: list[str] = []
    for folder, command in _in_folders(commands):
        names = [*command.writes, *_written_by(command.words)]
        found += [os.path.join(folder, name) for name in names if name[:5] != "/dev/"]
    return found


GIT_WRITES = frozenset({"mv", "rm", "checkout", "restore"})
WRITERS = frozenset({"rm", "mv", "cp", "tee", "truncate", "touch", "ln", "patch"})
IN_PLACE = frozenset({"sed", "perl", "ruby"})
"""Programs that change the files they are given when an option says "in place"."""


def _written_by(words: Words) -> Sequence[str]:
    """The files among the words of a command that it changes."""
    program = words[0] if words else ""
    names = _without_options(words)
    if program == "git":
        return names[1:] if words[1:2] and words[1] in GIT_WRITES else ()
    if program in WRITERS:
        return names
    if program not in IN_PLACE or not any(map(_in_place().match, words[1:])):
        return ()
    has_script = program == "sed" or any(map(_script_option().fullmatch, words[1:]))
    return names[1:] if has_script else names


def _without_options(words: Words) -> list[str]:
    return [word for word in words[1:] if not word.startswith("-")]


def _read(commands: Sequence[ShellCommand]) -> list[str]:
    """The files at which commands look that look at one file and do nothing else."""
    found: list[str] = []
    for folder, command in _in_folders(commands):
        names = _looked_at(command.words)
        if len(names) == 1:
            found.append(os.path.join(folder, names[0]))
    return found


def _looked_at(words: Words) -> list[str]:
    """The files among the words of a command that shows them."""
    program = words[0] if words else ""
    names = _without_options(words)
    if program not in READERS:
        return []
    if program == "sed":
        return names[1:] if "-n" in words else []
    if program in ("head", "tail"):
        return [name for name in names if not name.lstrip("+").isdigit()]
    return names


READERS = frozenset(
    {"cat", "sed", "head", "tail", "nl", "bat", "batcat", "less", "more"}
)


@verbose
def _in_place() -> str:
    """The option by which an editor of streams changes its files."""
    return r"- (?: [a-zA-Z0]* i | -in-place )"


@verbose
def _script_option() -> str:
    """An option behind which the script stands."""
    return r"- [a-zA-Z0]* [ef] | -- (?: expression | file ) .*"


@verbose(lines=True)
def _patched() -> str:
    """The line of a patch that names a file."""
    return r"^ \*\*\* [ ] (?: (?:Add|Update|Delete) [ ] File | Move [ ] to ) : [ ] (.+?) \s* $"


@verbose
def _edits() -> str:
    """What the names of tools that edit have in them."""
    return r"edit | write | patch | replace | create_file | insert"


def parse_command(command: str, simple: Sequence[ShellCommand]) -> tuple[str, ...]:
    """A shell command as a whole and each simple one in it, its words joined."""
    whole = " ".join(command[:LONGEST].split())
    joined = (" ".join(part.words) for part in simple)
    return tuple(dict.fromkeys(filter(None, (whole, *joined))))
