"""What a call of a tool is about to change: the files, and each simple command of a
shell line."""

import os
import re
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from memcli.named import NamedTuple
from memcli.text.matching import verbose

if TYPE_CHECKING:
    from memcli.sessions.model import Turn
    from memcli.text.shell import ShellCommand, Words

LINES = ("command", "cmd", "script", "commands", "CommandLine", "cmdline", "argv")
PATCH = "*** Begin Patch"
PATCHES = ("patch", "input", "patchText")
ARGUMENTS = frozenset({
    *LINES, *PATCHES,
    "file_path", "notebook_path", "path", "filePath", "absolute_path", "target_file",
})  # fmt: skip
"""All that is kept of a call: so the edit tools of agents name their file."""
MOST = 200  # files of one call that are looked at
LONGEST = 20_000  # characters of a command that are looked at


class ToolCall(NamedTuple):
    """The files that a tool will change, absolute; its shell command, and each simple
    one in it, as texts and as they are read (`simple`; `unread` says why there may be
    more); `reads` are files that it shows, `wholes` the folders and patterns whose files
    it changes, `brings` the folders in which anything may appear, `appends` files that
    it only adds to, `takes` the names that it takes away, not what a link leads to;
    `named` what code names that may change a file."""

    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    wholes: tuple[str, ...] = ()
    brings: tuple[str, ...] = ()
    appends: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    simple: "tuple[ShellCommand, ...]" = ()
    unread: str = ""


def tool_call(given: Mapping[str, Any], cwd: str, tool: str = "") -> ToolCall:
    """What a tool's input says of files and of a command. Files that stand beside a
    command are changed where the name of the `tool` says so, or the one word that the
    command is."""
    lines = _lines_of(given)
    command = _without_patches(lines)
    operation = command if command.isidentifier() else tool
    by_use = defaultdict[str, list[str]](list)
    if places := [*_named(given, _place())]:
        is_changed = not command or is_writer(operation)
        by_use["files" if is_changed else "reads"] += _absolute(cwd, places)
    for text in (*lines, *map(given.get, PATCHES)):
        if isinstance(text, str) and PATCH in text:
            by_use["files"] += _absolute(cwd, _patched().findall(text))
    simple, unread = _read(command, given, cwd) if command else ((), "")
    for each in simple:
        for kind, names in _changed(each):
            by_use[kind] += _absolute(each.folder, names)
    files = _unique(by_use["files"])
    appends = _unique(by_use["appends"], files)
    takes = _unique(by_use["takes"], files)
    return ToolCall(
        files=(*files, *appends, *takes),
        commands=parse_command(command, simple),
        reads=_unique(by_use["reads"]),
        wholes=_unique((*by_use["wholes"], *by_use["takes"])),
        brings=_unique(by_use["brings"]),
        appends=appends,
        takes=takes,
        named=tuple(dict.fromkeys(by_use["named"])),
        simple=simple,
        unread=unread,
    )


def _read(
    command: str, given: Mapping[str, Any], cwd: str
) -> tuple[tuple["ShellCommand", ...], str]:
    """The commands of a line, which is run in the folder that a tool names, and why
    there may be others."""
    from memcli.text.shell import read_line  # most calls run none

    folders = islice(_named(given, _workplace()), 1)
    reading = read_line(command, os.path.join(cwd, *folders))
    return reading.commands, reading.unread or reading.unknown


def _unique(paths: Iterable[str], others: Collection[str] = ()) -> tuple[str, ...]:
    """Paths, each once, without those that stand among others."""
    return tuple(path for path in dict.fromkeys(paths) if path not in others)[:MOST]


def _named(given: Mapping[str, Any], key_pattern: re.Pattern[str]) -> Iterator[str]:
    """The texts that a tool is given by such names."""
    for key, value in _within(given):
        if key_pattern.fullmatch(key):
            yield from _strings(value)


def _changed(command: "ShellCommand") -> Iterator[tuple[str, Iterable[str]]]:
    """What a command changes and shows, in its words, for each field of a call."""
    from memcli.sessions.writers import named_in_code, written_by
    from memcli.text.shell import PATTERN

    yield from written_by(command.words)
    yield "named", named_in_code(command)
    yield "files", command.writes
    yield "appends", command.appends
    into = (*command.writes, *command.appends)
    yield "wholes", [name for name in into if not PATTERN.isdisjoint(name)]
    yield "reads", _looked_at(command.words)


def places(command: "ShellCommand") -> tuple[str, ...]:
    """The folders about which a command works."""
    return (command.folder, *command.about)


def shell_line(given: Mapping[str, Any]) -> str:
    """The shell commands of a call, each on a line; "" for another tool. A patch is
    none; a line that speaks of one is."""
    return _without_patches(_lines_of(given))


def _without_patches(lines: Iterable[str]) -> str:
    return "\n".join(line for line in lines if not line.lstrip().startswith(PATCH))


def _lines_of(given: Mapping[str, Any]) -> list[str]:
    lines = (_lines(key, value) for key, value in _within(given) if key in LINES)
    return list(dict.fromkeys(filter(None, chain.from_iterable(lines))))


def _strings(value: object) -> list[str]:
    """A text, or each of several; none that is empty."""
    texts = value if isinstance(value, (list, tuple)) else [value]
    return [text for text in texts if isinstance(text, str) and text]


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


def is_writer(tool: str) -> bool:
    """Whether the name of a tool says that it changes files. The name of a server is
    none of its words."""
    name = tool.rpartition("__")[2].lower()
    return _edits().search(name) is not None or takes_away(name)


def is_reader(tool: str) -> bool:
    """Whether the name of a tool says that it only looks: none that is unknown does."""
    return _looks().search(tool.rpartition("__")[2]) is not None


def takes_away(tool: str) -> bool:
    """Whether a tool of this name moves or removes what it is given, with all that it
    holds."""
    return _taking().search(tool.lower()) is not None


def changed_by(turn: "Turn", *, shell: bool = False) -> tuple[str, ...]:
    """The files that an edit tool or a patch changes, with `shell` also any command,
    relative to the session's folder."""
    if not turn.input:  # no call of a tool
        return ()
    line = shell_line(turn.input)
    edits = PATCH in line or _edits().search(turn.tool.lower())
    if not edits and not (shell and line):
        return ()
    return _from_folder(turn, tool_call(turn.input, turn.cwd, turn.tool).files)


def read_by(turn: "Turn") -> tuple[str, ...]:
    """The files that a tool or a shell command shows, relative to the session's
    folder."""
    call = tool_call(turn.input, turn.cwd)
    return _from_folder(turn, call.reads if call.commands else call.files)


def _from_folder(turn: "Turn", paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(path.removeprefix(f"{turn.cwd.rstrip('/')}/") for path in paths)


def _absolute(folder: str, names: Iterable[str]) -> Iterator[str]:
    """The paths of files as they are named in a folder; none of a device."""
    for name in names:
        if "\0" not in name and not name.startswith("/dev/"):
            path = os.path.expanduser(_local(name))
            yield os.path.normpath(os.path.join(folder, path))


def _local(name: str) -> str:
    """The path that a `file:` address means; any other name as it is."""
    path = name.removeprefix("file://")
    return name if path == name else unquote(path.removeprefix("localhost"))


def _looked_at(words: "Words") -> list[str]:
    """The file at which a command looks that looks at one and does nothing else."""
    from memcli.text.shell_values import is_option

    names = [word for word in words[1:] if not is_option(word)]
    if words[:1] == ("sed",):
        names = names[1:] if "-n" in words else []
    elif words[:1] in (("head",), ("tail",)):
        names = [name for name in names if not name.lstrip("+").isdigit()]
    return names if len(names) == 1 and words[0] in READERS else []


READERS = frozenset("cat sed head tail nl bat batcat less more".split())


@verbose(lines=True)
def _patched() -> str:
    """The line of a patch that names a file; Codex takes blanks before it."""
    return r"^ [^\S\n]* \*\*\* [ ] (?: (?:Add|Update|Delete) [ ] File | Move [ ] to ) : [ ] (.+?) \s* $"


@verbose(ignore_case=True)
def _place() -> str:
    """What tools call a file, or several."""
    return r"""
        \w* (?: path | file (?: name )? | uri ) s? | path \w*
      | source | src | destination | dest | dst | target | output | from | to
    """


@verbose(ignore_case=True)
def _workplace() -> str:
    """What tools call the folder in which they run a command."""
    return r"(?: work (?:ing)? _? )? dir (?:ectory)? (?: _? path )? | cwd"


@verbose
def _edits() -> str:
    """What the names of tools that edit have in them."""
    return r"""
        edit (?! or ) | write | patch | replace | create (?: $ | .* file ) | insert | append
      | (?: save | update | modify | copy | put | reformat ) [_-]? file
    """


@verbose(ignore_case=True)
def _looks() -> str:
    """What the names of tools that change nothing begin with, or end with."""
    return r"""
        ^ (?: read | view | cat | ls | list | search | find | grep | glob | get | fetch
            | open | show | stat | diff | query | describe | explain | check | inspect
            | analy[sz]e | count | exists | tree | outline | goto | think )
      | (?: info | overview | outline | references | symbols? | hover | definition s?
            | diagnostics | status | search | query ) $
    """


@verbose
def _taking() -> str:
    """What the names of tools that move or remove have in them."""
    return r"move | rename | delete | remove | trash"


def parse_command(command: str, simple: "Sequence[ShellCommand]") -> tuple[str, ...]:
    """A shell command as a whole and each simple one in it, its words joined."""
    whole = " ".join(command[:LONGEST].split())
    joined = (" ".join(part.words) for part in simple)
    return tuple(dict.fromkeys(filter(None, (whole, *joined))))
