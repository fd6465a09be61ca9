"""What mem doctor examines: memory files, repository and index, each read once on first use."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from memcli.app import App
from memcli.index.database import IN_MEMORY, Index
from memcli.index.refresh import differing
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.values import Entry, Place, Problem, place
from memcli.project import git, levels_on_disk
from memcli.project.context import base_of
from memcli.project.levels_on_disk import FoundFile
from memcli.storage import durable
from memcli.storage.files import Unreadable, decode, read_file, read_text

Status = Literal["PASS", "WARN", "FAIL", "INFO"]


class Check(NamedTuple):
    """One row: what was looked at, how it stands, what was found, the command that mends it."""

    name: str
    status: Status
    detail: str
    hint: str = ""
    path: str = ""
    line: int = 0


class Document(NamedTuple):
    """A memory file that could be read; `tree` is its git work tree."""

    memory: MemoryFile
    place: Place
    tree: str

    @property
    def path(self) -> str:
        return self.memory.path

    def row(self, name: str, status: Status, detail: str, hint: str, line: int = 0) -> Check:
        """A row about this file."""
        return Check(name, status, detail, hint, self.path, line)


def key_line(memory: MemoryFile, entry: Entry, key: str) -> int:
    """The line of a key in an entry's front matter; that of the body when it cannot be told."""
    found = re.compile(rf"(?<![^\r\n]){key}[ \t]*:").search(memory.text, entry.start, entry.end)
    return next(lines_at(memory.text, [found.start()])) if found else entry.line


def lines_at(text: str, offsets: Iterable[int]) -> Iterator[int]:
    """The line, from 1, of each of these ascending offsets; a lone CR ends a line, too."""
    scan = re.sub(r"\r(?!\n)", "\n", text) if "\r" in text else text
    at, line = 0, 1
    for offset in offsets:
        line += scan.count("\n", at, offset)
        at = max(at, offset)
        yield line


class Repository(NamedTuple):
    """What git knows here; `bare` are derived or private files that it would offer to add."""

    top: Path | None = None
    fault: str = ""
    tracked: frozenset[str] = frozenset()
    bare: tuple[str, ...] = ()
    attribute: bool = False
    driver: str = ""


def read_repository(app: App) -> Repository:
    """The state of git here; nothing is raised when it cannot be run."""
    root = app.project.root
    top = git.work_tree(root) if root is not None else None
    if root is None or top is None:
        return Repository()
    folder = git.git_dir(top)
    if folder is None or not (folder / "HEAD").is_file():
        return Repository(top, "its .git names no git directory")
    try:
        listed = git.run(["ls-files", "-z", "--", "*.md", "*.memory.db*"], root)
    except OSError as error:
        return Repository(top, f"git cannot be run: {(error.strerror or str(error)).lower()}")
    if listed.returncode:
        return Repository(top, (listed.stderr.strip() or "git ls-files failed").splitlines()[0])
    tracked = frozenset(map(levels_on_disk.shown, filter(None, listed.stdout.split("\0"))))
    merge = git.run(["check-attr", "merge", "--", "MEMORY.md"], root).stdout.strip()
    driver = git.run(["config", "--get", "merge.mem.driver"], root).stdout.strip()
    proxy = [file.name for file in app.project.listing.files if file.place.of == "proxy"]
    there = [n for n in (".memory.db", *proxy) if n not in tracked and os.path.lexists(root / n)]
    bare = [
        name
        for name in dict.fromkeys([*there, *(TO_COME if driver else ())])
        if git.run(["check-ignore", "-q", "--no-index", "--", name], root).returncode == 1
    ]
    return Repository(top, "", tracked, tuple(bare), merge.endswith(": mem"), driver)


TEMPORARY = f".MEMORY.md{durable.MARK}1-0"
TO_COME = (".memory.db", TEMPORARY, *git.MOMENTS)
MALFORMED = "malformed"  # the word, SQLite's own, for damage that opening a file does not show


class IndexState(NamedTuple):
    """How the index file stands: why it cannot be used, and which files it has not seen."""

    path: Path
    there: bool = False
    broken: str = ""
    busy: bool = False
    behind: tuple[str, ...] = ()


def read_index(app: App) -> IndexState:
    """How the index file stands, opened for a look only."""
    path = app.kept.path(make=False)
    if path == IN_MEMORY or not os.path.lexists(path):
        return IndexState(path)
    try:
        with closing(Index(path, [], look=True)) as index:
            if fault := index.integrity():
                return IndexState(path, True, f"{MALFORMED}: {fault}")
            changed, gone = differing(index, app.project.listing.files)
            return IndexState(path, True, behind=(*changed, *gone))
    except Exception as error:  # whatever SQLite says of a file: it can be built anew
        busy = bool(re.search("locked|busy", str(error)))
        return IndexState(path, True, "" if busy else str(error), busy)


class Scene:
    """What is examined, read once on first use."""

    def __init__(self, app: App, files: Sequence[str] = (), *, online: bool = False) -> None:
        self.app = app
        self.files = files
        self.online = online

    @cached_property
    def read(self) -> tuple[list[Document], list[Problem]]:
        """The documents, and the problems of files that cannot be read."""
        listing = self.app.project.listing
        named = named_files(self.app, self.files)
        documents, problems = read_documents(named or listing.files)
        return documents, problems if named else [*listing.problems, *problems]

    @property
    def documents(self) -> list[Document]:
        return self.read[0]

    @cached_property
    def repository(self) -> Repository:
        return read_repository(self.app)

    @cached_property
    def index(self) -> IndexState:
        return read_index(self.app)


def read_documents(files: Iterable[FoundFile]) -> tuple[list[Document], list[Problem]]:
    """The files that can be read, and the problems of the others."""
    documents, problems = [], []
    for file in files:
        try:
            data = read_file(file.path, file.base).data
            documents.append(Document(parse(decode(data), file.name), file.place, file.tree))
        except Unreadable as error:
            problems.append(Problem(file.name, error.line, str(error), "unreadable"))
    return documents, problems


def named_files(app: App, names: Sequence[str]) -> list[FoundFile]:
    """The files named on the command line, memory files or not, each once."""
    listed = {file.path: file for file in app.project.listing.files}
    paths = dict.fromkeys(absolute(app, name) for name in names)
    return [listed.get(path) or _unlisted(app, path) for path in paths]


def absolute(app: App, name: str) -> str:
    """The path of a file that was named, its folder resolved, itself not."""
    folder, base = os.path.split(os.path.normpath(app.project.cwd / name))
    return os.path.join(os.path.realpath(folder), base)


def _unlisted(app: App, path: str) -> FoundFile:
    folder, name = os.path.split(path)
    inside = os.path.basename(folder)
    where = place("project", name, folder=inside if inside in ("tasks", "proxy-tasks") else "")
    top = git.work_tree(Path(folder))
    own = git.work_tree(app.project.root) if app.project.root is not None else None
    tree, base = "" if top == own else str(top), base_of(app.project, path) or "/"
    return FoundFile(path, shown_name(app, path), where, tree, 0, 0, base)


def shown_name(app: App, path: str) -> str:
    """The name of a file: relative to the root, below `~`, else absolute."""
    for base, prefix in ((app.project.root, ""), (app.project.home, "~/")):
        if base is not None and Path(path).is_relative_to(base):
            return levels_on_disk.shown(prefix + Path(path).relative_to(base).as_posix())
    return levels_on_disk.shown(path)


def text_of(path: str, base: str = "") -> str | None:
    """The text of a file, None where it cannot be read."""
    with suppress(Unreadable):
        return read_text(path, base)
    return None


def count(number: int, one: str, many: str = "") -> str:
    """`1 entry`, `2 entries`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
