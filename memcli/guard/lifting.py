"""What a call would do to the guards themselves, and the verdict on all that it does."""

import json
import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from memcli.app import App
from memcli.bans.patterns import matches, parse_pattern
from memcli.guard.guards import (
    ASK,
    Guard,
    Verdict,
    guarded_entries,
    lies_in,
    strictest,
    tool_use,
)
from memcli.memory.binding import loosened
from memcli.memory.values import plain_id
from memcli.project import globs
from memcli.project.config import user_file
from memcli.sessions.foreseen import texts_after
from memcli.sessions.tools import ToolCall
from memcli.storage.files import Unreadable, read_file
from memcli.text.matching import verbose
from memcli.text.shell import Words

LIFTING = tuple(
    parse_pattern(text)
    for text in (
        "mem guard * --off*",
        "mem guard * --ask*",
        "mem guard * --trust*",
        "mem undo*",
        "mem forget*",
        "mem merge-driver*",
        "mem init * --remove*",
    )
)
"""Commands of mem that may lift any guard."""
PIPED = frozenset((".", "{}"))
"""What stands in a line as it is read for words that xargs is given."""
CHANGING = ("guard", "edit", "retire", "drop")
"""The verbs that change or end the entry which they name."""


def decide(
    app: App, call: ToolCall, given: Mapping[str, Any], trusted: Iterable[str]
) -> Verdict | None:
    """What is said of a call of a tool with this input; None where no guard is about
    it. What would touch a guard is asked about before all else: then `pattern` is "",
    and the guard nobody's."""
    use = tool_use(app.project.root or app.project.cwd, call)
    lifted = lifts(app, use.commands, call, given)
    if not lifted:
        return strictest(app, use, trusted)
    nobodys = Guard(entry="", title=lifted, mode=ASK, place="")
    return Verdict(guard=nobodys, mode=ASK, met=lifted, pattern="")


def lifts(
    app: App, commands: Iterable[Words], call: ToolCall, given: Mapping[str, Any]
) -> str:
    """What a call would do to a guard, in words; "" when it leaves them alone."""
    for command in commands:
        for as_typed in _as_mem(command):
            if fault := _lifts(app, as_typed):
                return fault
    changes = call.files or call.wholes or call.brings
    guarded = {path for _, path in guarded_entries(app)} if changes else set()
    if not guarded:
        return ""
    # A command has no texts, whatever stands beside it.
    texts = {} if call.commands else given
    name = next(_weakened(app, guarded, call, texts), "")
    return f"this change of {name} would touch a guard" if name else ""


def _weakened(
    app: App, guarded: Iterable[str], call: ToolCall, texts: Mapping[str, Any]
) -> Iterator[str]:
    """The files by whose change a guard may bind less: what holds it, what takes memory
    out of view, and what takes its hook away."""
    path_of = app.project.path_of
    replaced = [path for path in call.files if path not in call.appends]
    for name in sorted(guarded):
        path = path_of(name)
        if _is_changed(path, replaced, call) and _may_lift(path, texts):
            yield name
    for name in (".mem.toml", str(user_file(app.project.home, app.project.environ))):
        if _is_changed(path_of(name), call.files, call):
            yield name
    yield from _unhooked(app, call, texts)


def _unhooked(app: App, call: ToolCall, texts: Mapping[str, Any]) -> Iterator[str]:
    """The files by whose change an agent may call no hook any more."""
    for path in _hooked(app):
        is_one = any(_is_file(path, each) for each in call.files)
        is_named = is_one or _is_brought(path, call)
        is_meant = is_named or _lies_within(path, call)
        if is_meant and _changes_hooks(path, texts, is_named=is_named):
            yield app.project.name_of(path)


def _hooked(app: App) -> list[str]:
    """The files by which agents call the hooks of a repository, or of a person."""
    from memcli.install.harness import all_settings  # few calls change a file here

    project = app.project
    return [str(file.path) for file in all_settings(project.root, project.environ)]


def _is_changed(path: str, files: Iterable[str], call: ToolCall) -> bool:
    """Whether a file is one of `files`, or where a call may change any."""
    return any(_is_file(path, each) for each in files) or _lies_within(path, call)


def _lies_within(path: str, call: ToolCall) -> bool:
    """Whether a file is in a folder, or meets a pattern, whose files a call changes."""
    file = os.path.realpath(path)
    return any(
        lies_in(Path(place), file) or globs.covers([place], file)
        for place in map(os.path.realpath, call.wholes)
    )


def _is_brought(path: str, call: ToolCall) -> bool:
    """Whether a file is in a folder that a call fills, or beside what it brings there."""
    folder = os.path.realpath(os.path.dirname(path))
    places = map(os.path.realpath, call.brings)
    return any(folder in (place, os.path.dirname(place)) for place in places)


def _may_lift(path: str, given: Mapping[str, Any]) -> bool:
    """Whether a guard of a file may bind less after a call, or be called otherwise than
    a person knows it."""
    try:
        before = read_file(path).data.decode("utf-8", "replace")
    except Unreadable:
        return True
    after = texts_after(before, given)
    return not after or any(loosened([before], [text], titled=True) for text in after)


def _changes_hooks(path: str, given: Mapping[str, Any], *, is_named: bool) -> bool:
    """Whether hooks may run otherwise after a call that changes their settings. A folder
    that goes takes what it has alone."""
    before = ""
    with suppress(Unreadable):
        before = read_file(path).data.decode("utf-8", "replace")
    known = _of_hooks(before)
    after = texts_after(before, given)
    if not after:
        return is_named or bool(known)
    return any(_of_hooks(text) != known for text in after)


def _of_hooks(text: str) -> dict[str, Any]:
    """What the settings of an agent say of hooks: which run, and whether; of what cannot
    be read all."""
    try:
        values = json.loads(text or "{}")
        variables = dict(values.get("env") or {})
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {"": text}
    said = {key: value for key, value in values.items() if "hook" in key.lower()}
    return said | {key: variables[key] for key in variables if key[:4] == "MEM_"}


def _is_file(path: str, other: str) -> bool:
    """Whether two names are of one file, by links too."""
    with suppress(OSError, ValueError):
        return os.path.samefile(path, other)
    return os.path.realpath(path) == os.path.realpath(other)


def _as_mem(command: Words) -> Iterator[Words]:
    """A command of mem as it is typed, whatever starts it: from each word that may be
    its name, with or without a version."""
    for place, word in enumerate(command):
        if _mem().fullmatch(posixpath.basename(word)):
            yield ("mem", *command[place + 1 :])


@verbose
def _mem() -> str:
    """The name of mem, or of its package, with a version that is asked for; or one that
    another command or a variable gives."""
    return r"mem (?:cli)? (?: \.__main__ | \.exe | [@=<>~!\[] .* )? | .* \$ .*"


def _lifts(app: App, command: Words) -> str:
    """What a command of mem would do to a guard; "" for nothing."""
    line = " ".join(command)
    if any(matches(pattern, command) for pattern in LIFTING):
        return f"`{line}` would lift or trust a guard"
    if _may_change_guard(app, command):
        return f"`{line}` would change or remove a guard"
    return ""


def _may_change_guard(app: App, command: Words) -> bool:
    """Whether a command of mem changes or ends an entry that may be a guard."""
    operands = [word for word in command[1:] if not word.startswith("-")]
    verb = next((word for word in operands if word in CHANGING), "")
    is_replay = command[1:2] == ("guard",) and command[3:] == ("--replay",)
    if not verb or is_replay:
        return False
    # What comes by a pipe to xargs, or from a variable, may be any entry.
    is_bare = operands[-1] == verb and verb != "guard"
    is_piped = is_bare or not PIPED.isdisjoint(operands)
    is_hidden = is_piped or "$" in "".join(command)
    return is_hidden or names_guard(app, operands)


def names_guard(app: App, words: Sequence[str]) -> bool:
    """Whether one of these words is the id, or the beginning of it, of a guard."""
    prefixes = [plain_id(word) for word in words if plain_id(word)]
    guarded = {plain_id(candidate.entry) for candidate, _ in guarded_entries(app)}
    return any(entry.startswith(each) for each in prefixes for entry in guarded)
