"""mem merge-driver: what git calls to merge two versions of a memory file."""

import os
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from memcli.compaction.merge import merge
from memcli.errors import DataError
from memcli.memory.grammar import conflict_lines
from memcli.project import git, globs
from memcli.project.context import Project
from memcli.storage.durable import write_output
from memcli.text.controls import strip_controls

ERROR = 255  # above 128 git takes the driver for failed; 1 to 127 are conflicts
USAGE = (
    "usage: mem merge-driver BASE OURS THEIRS [PATH [SIZE]] (git passes %O %A %B %P %L)"
)
OURS = re.compile(
    r"(?:^|/)(?:MEMORY|institutional|proxy)\.md$|\.archive\.md$|(?:^|/)(?:proxy-)?tasks/[^/]+\.md$"
)


def main(arguments: Sequence[str]) -> int:
    """Merge into the second file. Returns git's exit codes; never raises."""
    odd = [
        name
        for name in arguments[:3]
        if os.path.exists(name) and not os.path.isfile(name)
    ]
    if odd or not 3 <= len(arguments) <= 5:
        print(f"mem: {odd[0]}: not a regular file" if odd else USAGE, file=sys.stderr)
        return 2
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
        text, conflicts = _merged(files, name, size)
        if text != _read(ours):
            write_output(ours, text)
        return min(conflicts, 127)
    except Exception as error:  # git can merge, and a driver that dies stops a rebase
        _explain(name or ours.name, error)
    # as git does without a driver; of what it cannot merge, binary content say, ours
    # stays
    try:
        text, code = _as_git(size, *(_read(path, "surrogateescape") for path in files))
        ours.write_bytes(text.encode("utf-8", "surrogateescape"))
        return code
    except Exception as error:
        return 1 if isinstance(error, DataError) else _explain(name or ours.name, error)


def _merged(files: Sequence[Path], name: str, size: str) -> tuple[str, int]:
    """The merged text. Raises for what is no memory file: an attribute must not merge
    code."""
    if name and not OURS.search(name):
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
    return merge(*texts, path=name, merge_prose=partial(_as_git, size))


def _read(path: Path, otherwise: str = "strict") -> str:
    return path.read_bytes().decode("utf-8", otherwise)


def _as_git(size: str, base: str, ours: str, theirs: str) -> tuple[str, int]:
    labels = ("-L", "ours", "-L", "base", "-L", "theirs", "--marker-size", size)
    return git.merge_texts(base, ours, theirs, *labels)


def _explain(name: str, error: Exception) -> int:
    if os.environ.get("MEM_DEBUG") == "1":
        sys.excepthook(type(error), error, error.__traceback__)
    elif str(error):
        why = " ".join(str(error).split())
        print(strip_controls(f"mem: {name}: merged as text: {why}"), file=sys.stderr)
    return ERROR
