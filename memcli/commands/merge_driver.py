"""mem merge-driver: what git calls to merge two versions of a memory file."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from shlex import quote

from memcli.app import App, Options
from memcli.compaction.arrivals import without_forgotten
from memcli.compaction.merge import Asked, Merged, merge
from memcli.errors import DataError, MemError
from memcli.memory.binding import Binding, loosened
from memcli.memory.grammar import conflict_lines
from memcli.memory.parser import parse
from memcli.memory.values import archive_of
from memcli.project import git, globs
from memcli.project.context import Project
from memcli.project.text_merge import merge_texts
from memcli.similarity.opposites import PlacedEntry, opposites
from memcli.storage.durable import write_output
from memcli.text.controls import strip_controls
from memcli.text.matching import verbose

ERROR = 255  # above 128 git takes the driver for failed; 1 to 127 are conflicts
USAGE = (
    "usage: mem merge-driver BASE OURS THEIRS [PATH [SIZE]] (git passes %O %A %B %P %L)"
)


@verbose
def memory_name() -> str:
    """The name of a memory file, whatever the configuration says."""
    return r"""
        (?: ^ | / ) (?: MEMORY | institutional | proxy ) \.md $
      | \.archive\.md $
      | (?: ^ | / ) (?: proxy- )? tasks / [^/]+ \.md $
    """


def main(arguments: Sequence[str]) -> int:
    """Merge into the second file. Returns git's exit codes; never raises."""
    for name in arguments[:3]:
        is_other = os.path.exists(name) and not os.path.isfile(name)
        if is_other or os.path.islink(name):
            print(f"mem: {name}: not a regular file", file=sys.stderr)
            return 2
    if not 3 <= len(arguments) <= 5:
        print(USAGE, file=sys.stderr)
        return 2
    if missing := [name for name in arguments[:3] if not os.path.exists(name)]:
        print(strip_controls(f"mem: {missing[0]}: no such file"), file=sys.stderr)
        return ERROR
    files = [Path(argument).absolute() for argument in arguments[:3]]
    name, size = [*arguments[3:], "", ""][:2]
    try:
        return merge_driver(files, name, size if size.isdecimal() else "7")
    except KeyboardInterrupt:
        return 130


def merge_driver(files: Sequence[Path], name: str, size: str) -> int:
    """Merge by entry, or as git does where that cannot be done; the conflicts, at most
    127."""
    ours = files[1]
    try:
        merged = _merged(files, name, size)
        opposed = _opposed(merged.text, [_read(path) for path in files[1:]])
        if merged.text != _read(ours):
            write_output(ours, merged.text)
        _say(name or ours.name, *merged.notes, *opposed)
        return min(merged.conflicts, 127)
    except Exception as error:  # git can merge, and a driver that dies stops a rebase
        _explain(name or ours.name, error)
    try:
        return _merged_by_git(files, name or ours.name, size)
    except Exception as error:
        return 1 if isinstance(error, DataError) else _explain(name or ours.name, error)


def _merged_by_git(files: Sequence[Path], name: str, size: str) -> int:
    """Merge as git does without a driver; the conflicts. Of what it cannot merge, such
    as binary content, ours stays, and where a guard would be lifted with no marker
    around it."""
    sides = [_read(path, "surrogateescape") for path in files]
    text, code = _as_git(size, *sides)
    # A guard inside of the markers stands in the choice of one side.
    choices = ("--ours", "--theirs") if code else ()
    outcomes = [merge_texts(*sides, choice)[0] for choice in choices] or [text]
    if lifted := _lifted(sides[1:], outcomes):
        guards = ", ".join(repr(guard.title) for guard in lifted)
        other = f"your side stands, git show {quote(f':3:{name}')} has the other"
        _say(name, f"would lift {guards}: merge it by hand; {other}")
        return 1
    files[1].write_bytes(text.encode("utf-8", "surrogateescape"))
    return code


def _say(name: str, *lines: str) -> None:
    for line in lines:
        print(strip_controls(f"mem: {name}: {line}"), file=sys.stderr)


def _lifted(sides: Sequence[str], outcomes: Sequence[str]) -> list[Binding]:
    """The guards of either side that bind less in each outcome of the merge, though
    neither side retired them."""
    entries = (entry for side in sides for entry in parse(side, "").entries)
    retired = {entry.id for entry in entries if not entry.is_live}
    first, *others = (loosened(sides, [text]) for text in outcomes)
    return [
        guard
        for guard in first
        if guard.entry not in retired and all(guard in lost for lost in others)
    ]


def _merged(files: Sequence[Path], name: str, size: str) -> Merged:
    """The merged text. Raises for what is not a memory file: an attribute must not
    merge code."""
    if name and not memory_name().search(name):
        path = Path.cwd() / name
        project = Project(os.environ, path.parent)
        inner = project.relative(str(path))
        if project.root is None or not globs.named(project.config.memory_files, inner):
            raise DataError("is no memory file")
    texts = [_read(path) for path in files]
    for text in texts:
        for line in conflict_lines(text):
            raise DataError(
                f"has conflict markers ({name}:{line})", "resolve them first"
            )
    asked = Asked(partial(_as_git, size), partial(_archive_beside, name))
    merged = merge(*texts, path=name, asked=asked)
    return merged._replace(text=_without_forgotten(merged.text, name, texts[1:]))


def _archive_beside(name: str, side: str) -> str:
    """The archive of the newest commit that brought this text of a file, "" where
    there is none: git tells a driver of one file alone."""
    top = Path.cwd()
    blob = (git.ask(top, "hash-object", "--stdin", given=side) or "").strip()
    options = ("--all", "--full-history", "-m", "--raw", "--no-abbrev", "--format=%H")
    wanted = (f"--find-object={blob}", "--", f":(top,literal){name}")
    commit = ""
    for line in (git.ask(top, "log", *options, *wanted) or "").splitlines():
        if not line.startswith(":"):
            commit = line or commit
        elif line.split()[3] == blob:
            return git.ask(top, "show", f"{commit}:{archive_of(name)}") or ""
    return ""


def _without_forgotten(merged: str, name: str, sides: Sequence[str]) -> str:
    """The merged text without what was forgotten on this machine and one side alone
    has; a line says so. All of it where what was forgotten cannot be told."""
    with suppress(OSError, MemError), App(Options(), os.environ, Path.cwd()) as app:
        text = without_forgotten(merged, name, sides, app.forgotten())
        if text != merged:
            said = f"mem: {name}: left out what was forgotten on this machine"
            print(strip_controls(said), file=sys.stderr)
            print("hint: mem add --again writes it anyway", file=sys.stderr)
        return text
    return merged


def _opposed(text: str, sides: Sequence[str]) -> list[str]:
    """The pairs that say the opposite, one of each side."""
    sets = [{entry.id for entry in parse(side, "").entries} for side in sides]
    mixed = []
    for pair in opposites(PlacedEntry("", entry) for entry in parse(text, "").entries):
        if not any(known.issuperset(pair.ids) for known in sets):
            titles = " and ".join(repr(side.entry.title) for side in pair[:2])
            mixed.append(f"{titles} contradict each other: mem compact --check")
    return mixed


def _read(path: Path, otherwise: str = "strict") -> str:
    return path.read_bytes().decode("utf-8", otherwise)


def _as_git(size: str, base: str, ours: str, theirs: str) -> tuple[str, int]:
    labels = ("-L", "ours", "-L", "base", "-L", "theirs", "--marker-size", size)
    return merge_texts(base, ours, theirs, *labels)


def _explain(name: str, error: Exception) -> int:
    if os.environ.get("MEM_DEBUG") == "1":
        sys.excepthook(type(error), error, error.__traceback__)
    elif str(error):
        why = " ".join(str(error).split())
        print(strip_controls(f"mem: {name}: merged as text: {why}"), file=sys.stderr)
    return ERROR
