"""The files of a work tree, or of one of its commits, and what git says of them."""

import os
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from memcli.index.database import Progress
from memcli.named import NamedTuple
from memcli.project import git, globs
from memcli.storage.files import SMALL_BYTES, Unreadable, read_file

MOST_FILES = 50_000
PROSE_ENDINGS = (".md", ".mdx", ".mdc", ".rst", ".txt", ".adoc", ".markdown")
CODE = (".", *(f":(exclude,glob)**/*{ending}" for ending in PROSE_ENDINGS))
"""Pathspecs of the code: in prose identifiers are only spoken of."""


UNKNOWN = -3
"""The place of what no commit has brought in: before all of the line. Nobody can tell
yet whether it was written about what was gone before."""
BROUGHT = -2
"""The place of what a commit only brought from other prose: its time is not told."""


class Commit(NamedTuple):
    """A commit, its day, its place on the main line, and what git lists of it."""

    name: str
    day: str
    at: int
    files: tuple[str, ...]


def is_prose(path: str) -> bool:
    """Whether a file only speaks of code."""
    return path.lower().endswith(PROSE_ENDINGS)


def literal(path: str) -> str:
    """The pathspec of exactly that path."""
    return f":(literal){path}"


class WorkTree:
    """A work tree at `top`, or a `revision` of it, asked with git until `deadline`
    (monotonic)."""

    def __init__(
        self, top: Path, root: Path, deadline: float, revision: str = ""
    ) -> None:
        self.top = top
        self.root = root
        self.deadline = deadline
        self.revision = revision
        self.questions = 0  # that git may be asked about lost names
        self.count: Progress = lambda *done: None
        self.has_gaps = False
        """Whether old versions of files were asked for that this clone has not."""

    @cached_property
    def files(self) -> frozenset[str]:
        """The tracked files, by their path from the top."""
        if not self.revision:
            return frozenset(git.tracked(self.top)[:MOST_FILES])
        listed = self.git("ls-tree", "-r", "--name-only", "-z", self.revision) or ""
        return frozenset(filter(None, listed.split("\0")[:MOST_FILES]))

    @cached_property
    def _dated(self) -> list[str]:
        """Three words for each commit of the main line of the history, the first one
        first: a heading, its name and its day."""
        how = "--first-parent", "--reverse", "--format=%cs"
        listed = self.git("rev-list", *how, self.revision or "HEAD")
        return (listed or "").split()

    @property
    def line(self) -> list[str]:
        """The commits of the main line of the history, the first one first."""
        return self._dated[1::3]

    def before(self, day: str) -> int:
        """How many commits of the main line are from before a day."""
        return sum(each < day for each in self._dated[2::3])

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each commit on the main line."""
        return {commit: place for place, commit in enumerate(self.line)}

    @cached_property
    def ends(self) -> dict[str, list[str]]:
        """The files and folders by the last part of their paths."""
        folders = {
            path[: cut.start()] for path in self.files for cut in re.finditer("/", path)
        }
        by_name = defaultdict[str, list[str]](list)
        for path in (*self.files, *folders):
            by_name[path.rpartition("/")[2]].append(path)
        return by_name

    @cached_property
    def removals(self) -> list[Commit] | None:
        """The commits that removed files, the newest first; None where git does not
        say. Git lists them all in less time than it matches many patterns."""
        return self.log("--diff-filter=D")

    def log(self, *how: str, listed: str = "--name-only") -> list[Commit] | None:
        """The commits of the main line that git lists so, the newest first."""
        line = "-m", "--first-parent", "--no-renames"
        ending, _, shape = git.log_format("%h", "%cs", "%H")
        logged = self.git("log", *line, ending, listed, shape, *how)
        if logged is None:
            return None
        return [
            Commit(commit, day, self.places.get(full, UNKNOWN), names)
            for (commit, day, full), names in git.parse_log(logged, 3)
        ]

    def ending(self, path: str) -> list[str]:
        """The files and folders whose path ends so."""
        full = self.ends.get(path.rpartition("/")[2], ())
        return [end for end in full if f"/{end}".endswith(f"/{path}")]

    def has_path(self, path: str) -> bool:
        """Whether a file or folder is there whose path ends so."""
        path = path.removeprefix("./").rstrip("/")
        top_name = self.top.name  # a path may begin with the repository's own folder
        below = path if top_name in self.ends else path.removeprefix(f"{top_name}/")
        if self.ending(path) or self.ending(below):
            return True
        return not self.revision and os.path.lexists(self.root / path)

    def has_glob(self, pattern: str) -> bool:
        """Whether a glob, as from the root, names a file."""
        below = os.path.relpath(self.root, self.top).removeprefix(".") + "/"
        below = below.removeprefix("/")
        inside = (path for path in self.files if path.startswith(below))
        return any(globs.covers([pattern], path[len(below) :]) for path in inside)

    def read(self, path: str) -> bytes:
        """The bytes of a file, none of one that is not a regular file or too large."""
        with suppress(Unreadable):
            return self.read_surely(path)
        return b""

    def read_surely(self, path: str) -> bytes:
        """The same. Raises Unreadable for a file that cannot be read."""
        if self.revision:
            text = self.git("show", f"{self.revision}:{path}") or ""
            return text.encode("utf-8", "surrogateescape")
        return read_file(self.top / path, self.top, most=SMALL_BYTES).data

    def git(self, *arguments: str, given: str | None = None) -> str | None:
        """What git says; None when it fails or the time is up."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            return None
        return git.ask(self.top, *arguments, timeout=left, given=given)

    def grep(self, *how: str, specs: Sequence[str]) -> str:
        """The rows of a search in the files of this revision."""
        revision = (self.revision,) if self.revision else ()
        return self.git("grep", *how, *revision, "--", *specs) or ""

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.deadline
