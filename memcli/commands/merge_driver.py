"""mem merge-driver: what git calls to merge two versions of a memory file."""

import os
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from memcli.compaction.merge import Unmergeable, merge
from memcli.errors import DataError
from memcli.memory.grammar import conflict_lines
from memcli.project import git, globs
from memcli.project.context import Project
from memcli.storage.durable import write_output
from memcli.text.controls import strip_controls

ERROR = 255  # above 128 git takes the driver for failed; 1 to 127 are conflicts
USAGE = (
    "usage: mem merge-driver BASE OURS THEIRS [PATH] [MARKER-SIZE] (git calls this: %O %A %B %P %L)"
)
OURS = re.compile(
    r"(?:^|/)(?:MEMORY|institutional|proxy)\.md$|\.archive\.md$|(?:^|/)(?:proxy-)?tasks/[^/]+\.md$"
)


class MergeRequest(NamedTuple):
    """The three files of a merge, the merged one's name, and the length of conflict markers."""

    base: Path
    ours: Path
    theirs: Path
    name: str
    marker_size: str


def main(arguments: Sequence[str]) -> int:
    """Merge into the second file. Returns git's exit codes; never raises."""
    if not 3 <= len(arguments) <= 5:
        print(USAGE, file=sys.stderr)
        return 2
    base, ours, theirs = (Path(argument).absolute() for argument in arguments[:3])
    name, size = [*arguments[3:], "", ""][:2]
    try:
        return merge_driver(
            MergeRequest(base, ours, theirs, name, size if size.isdecimal() else "7")
        )
    except KeyboardInterrupt:
        return 130


def merge_driver(request: MergeRequest) -> int:
    """Merge by entry, or as git does where that cannot be done; the conflicts, at most 127."""
    try:
        text, conflicts = _merged(request)
        if text != _read(request.ours):
            write_output(request.ours, text)
        return min(conflicts, 127)
    except Exception as error:  # git can merge, and a driver that dies stops a rebase
        _explain(request, error)
    try:  # as git does without a driver; on failure, binary content say, ours and a conflict
        before = request.ours.read_bytes()
        code = _merge_file(request)
        return 1 if code > 127 and request.ours.read_bytes() == before else code
    except Exception as error:
        _explain(request, error)
        return ERROR


def _merged(request: MergeRequest) -> tuple[str, int]:
    """The merged text. Raises for what is no memory file: an attribute must not merge code."""
    if request.name and not OURS.search(request.name):
        path = Path.cwd() / request.name
        project = Project(os.environ, path.parent)
        inner = project.relative(str(path))
        if project.root is None or not globs.named(project.config.memory_files, inner):
            raise DataError("is no memory file")
    texts = [_read(path) for path in (request.base, request.ours, request.theirs)]
    for text in texts:
        for line in conflict_lines(text):
            raise DataError(f"has conflict markers ({request.name}:{line})", "resolve them first")
    return merge(*texts, path=request.name, merge_prose=partial(_merge_prose, request))


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def _merge_prose(request: MergeRequest, *texts: str) -> tuple[str, int]:
    with TemporaryDirectory(prefix="mem-merge-") as folder:
        base, ours, theirs = (Path(folder) / name for name in ("base", "ours", "theirs"))
        for path, text in zip((base, ours, theirs), texts, strict=True):
            path.write_bytes(text.encode())
        code = _merge_file(request._replace(base=base, ours=ours, theirs=theirs))
        if code > 127:
            raise Unmergeable("git cannot merge the prose")
        return _read(ours), code


def _merge_file(request: MergeRequest) -> int:
    """git merge-file, into `ours`. It reads the work tree's merge.conflictStyle."""
    labels = ["-L", "ours", "-L", "base", "-L", "theirs"]
    files = [str(path) for path in (request.ours, request.base, request.theirs)]
    words = ["merge-file", "-q", "--marker-size", request.marker_size, *labels, "--", *files]
    code = git.run(words, Path.cwd()).returncode
    return code if code >= 0 else ERROR


def _explain(request: MergeRequest, error: Exception) -> None:
    if os.environ.get("MEM_DEBUG") == "1":
        sys.excepthook(type(error), error, error.__traceback__)
    elif str(error):
        why, name = " ".join(str(error).split()), request.name or request.ours.name
        print(strip_controls(f"mem: {name}: merged as text: {why}"), file=sys.stderr)
