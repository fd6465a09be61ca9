"""What a call of a tool is about to change: the files, and each simple command of a
shell line."""

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from memcli.named import NamedTuple
from memcli.sessions.writers import Written, written_by
from memcli.text.matching import verbose
from memcli.text.shell import ShellCommand, Words, read_line

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
LINES = ("command", "cmd", "script", "commands")
PATCH = "*** Begin Patch"
PATCHES = ("patch", "input", "patchText")
ARGUMENTS = frozenset({*LINES, *PATHS, *PATCHES})  # all that is looked at of a call
LOOKING = frozenset(
    {"read", "view", "glob", "grep", "ls", "list", "search", "fetch", "open", "get"}
)
"""What the names of tools that change no file have among their words."""
LONGEST_NAME = 1_000  # characters of what may be a path
MOST = 200  # files of one call that are looked at
LONGEST = 20_000  # characters of a command that are looked at


class ToolCall(NamedTuple):
    """The files that a tool will change or show, absolute; its shell command, and each
    simple one in it; `reads` are files that a shell command shows, `wholes` those that
    it changes with all that they hold, if they are folders, `brings` folders in which
    anything may appear, `appends` files that it only adds to, `folders` where its
    commands are called, all absolute."""

    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    wholes: tuple[str, ...] = ()
    brings: tuple[str, ...] = ()
    appends: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def tool_call(given: Mapping[str, Any], cwd: str) -> ToolCall:
    """What a tool's input says of files and of a command."""
    command = shell_line(given)
    files = [
        name
        for key, name in _within(given)
        if key in PATHS and isinstance(name, str) and name
    ]
    for text in (command, *map(given.get, PATCHES)):
        if isinstance(text, str) and PATCH in text:
            files += _patched().findall(text)
    # A line of a shell that speaks of a patch is a line all the same.
    if command.lstrip().startswith(PATCH):
        command = ""
    if not command:
        return ToolCall(_absolute(cwd, files))
    simple = read_line(command).commands
    written = _changed(simple)
    changed = _absolute(cwd, [*files, *written.files])
    appended = _absolute(cwd, _appended(simple))
    return ToolCall(
        files=tuple(dict.fromkeys((*changed, *appended))),
        appends=tuple(path for path in appended if path not in changed),
        commands=parse_command(command, simple),
        reads=_absolute(cwd, _read(simple)),
        wholes=_absolute(cwd, written.wholes),
        brings=_absolute(cwd, written.brings),
        folders=_absolute(cwd, list(chain.from_iterable(map(places, simple)))),
    )


def places(command: ShellCommand) -> tuple[str, ...]:
    """The folders about which a command works."""
    return (command.folder, *command.about)


def shell_line(given: Mapping[str, Any]) -> str:
    """The shell commands of a call, each on a line; "" for another tool."""
    lines = (_lines(key, value) for key, value in _within(given) if key in LINES)
    return "\n".join(dict.fromkeys(filter(None, chain.from_iterable(lines))))


def _lines(key: str, value: object) -> Iterator[str]:
    """A command as a line, of a list its words, or each of several."""
    if isinstance(value, str):
        yield value
    elif not isinstance(value, (list, tuple)):
        return
    elif key == "commands":
        for each in value:
            yield from _lines("", each)
    elif all(isinstance(word, str) for word in value):
        wrapped = len(value) == 3 and value[1] in ("-c", "-lc")
        yield value[-1] if wrapped else shlex.join(value)


def _within(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a tool is given by its names, then what stands in that, and so on."""
    level: list[Any] = [given]
    while level:
        below: list[Any] = []
        for value in level:
            if isinstance(value, Mapping):
                yield from value.items()
                below += value.values()
            elif isinstance(value, (list, tuple)):
                below += value
        level = below


def is_reading(tool: str, given: Mapping[str, Any]) -> bool:
    """Whether a tool changes no file: it is given no command, a word of its name says
    that it looks, and none that it writes, takes away or does something else, too. The
    name of a server is none of its words."""
    name = tool.rpartition("__")[2]
    words = {word.lower() for word in _word().findall(name)}
    acts = "and" in words or _edits().search(name.lower()) or takes_away(name)
    return not (acts or words.isdisjoint(LOOKING) or shell_line(given))


def named_paths(given: Mapping[str, Any], cwd: str) -> tuple[str, ...]:
    """All that may be the name of a file in what a tool is given, absolute: a guard of
    a file asks also about a tool that it does not know."""
    found: list[str] = []
    for _, value in _within(given):
        texts = value if isinstance(value, (list, tuple)) else [value]
        found += [text for text in texts if isinstance(text, str) and _is_name(text)]
    return _absolute(cwd, found)


def takes_away(tool: str) -> bool:
    """Whether a tool of this name moves or removes what it is given, with all that it
    holds."""
    return _taking().search(tool.lower()) is not None


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_NAME and "\n" not in text


def changed_by(turn: "Turn", *, shell: bool = False) -> tuple[str, ...]:
    """The files that an edit tool or a patch changes, with `shell` also any command,
    relative to the session's folder."""
    if not turn.input:  # no call of a tool
        return ()
    line = shell_line(turn.input)
    edits = PATCH in line or _edits().search(turn.tool.lower())
    files = tool_call(turn.input, turn.cwd).files if edits or (shell and line) else ()
    return _from_folder(turn, files)


def read_by(turn: "Turn") -> tuple[str, ...]:
    """The files that a tool or a shell command shows, relative to the session's
    folder."""
    call = tool_call(turn.input, turn.cwd)
    return _from_folder(turn, call.reads if call.commands else call.files)


def _from_folder(turn: "Turn", paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(path.removeprefix(f"{turn.cwd.rstrip('/')}/") for path in paths)


def _absolute(cwd: str, names: Sequence[str]) -> tuple[str, ...]:
    known = (
        os.path.join(cwd, os.path.expanduser(_local(name)))
        for name in names
        if "\0" not in name
    )
    return tuple(dict.fromkeys(map(os.path.normpath, known)))[:MOST]


def _local(name: str) -> str:
    """The path that a `file:` address means; any other name as it is."""
    path = name.removeprefix("file://")
    return name if path == name else unquote(path.removeprefix("localhost"))


def _changed(commands: Sequence[ShellCommand]) -> Written:
    """What simple commands change, as far as their words say."""
    files: list[str] = []
    wholes: list[str] = []
    brings: list[str] = []
    for command in commands:
        written = written_by(command.words)
        files += _in_folder(command, (*command.writes, *written.files))
        wholes += _in_folder(command, written.wholes)
        brings += _in_folder(command, written.brings)
    return Written(files=tuple(files), wholes=tuple(wholes), brings=tuple(brings))


def _in_folder(command: ShellCommand, names: Iterable[str]) -> list[str]:
    known = (name for name in names if not name.startswith("/dev/"))
    return [os.path.join(command.folder, name) for name in known]


def _appended(commands: Sequence[ShellCommand]) -> list[str]:
    """The files at whose end redirections go on."""
    return list(
        chain.from_iterable(_in_folder(each, each.appends) for each in commands)
    )


def _without_options(words: Words) -> list[str]:
    return [word for word in words[1:] if not word.startswith("-")]


def _read(commands: Sequence[ShellCommand]) -> list[str]:
    """The files at which commands look that look at one file and do nothing else."""
    read_files: list[str] = []
    for command in commands:
        names = _looked_at(command.words)
        if len(names) == 1:
            read_files.append(os.path.join(command.folder, names[0]))
    return read_files


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


@verbose(lines=True)
def _patched() -> str:
    """The line of a patch that names a file; Codex takes blanks before it."""
    return r"^ [^\S\n]* \*\*\* [ ] (?: (?:Add|Update|Delete) [ ] File | Move [ ] to ) : [ ] (.+?) \s* $"


@verbose
def _word() -> str:
    """A word in the name of a tool: `read_file`, `ReadFile`."""
    return r"[A-Z]? [a-z]+ | [A-Z]+"


@verbose
def _edits() -> str:
    """What the names of tools that edit have in them."""
    return r"edit | write | patch | replace | create_file | insert"


@verbose
def _taking() -> str:
    """What the names of tools that move or remove have in them."""
    return r"move | rename | delete | remove | trash"


def parse_command(command: str, simple: Sequence[ShellCommand]) -> tuple[str, ...]:
    """A shell command as a whole and each simple one in it, its words joined."""
    whole = " ".join(command[:LONGEST].split())
    joined = (" ".join(part.words) for part in simple)
    return tuple(dict.fromkeys(filter(None, (whole, *joined))))
