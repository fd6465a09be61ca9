"""Find the root, list the memory files below it and in the home folder, and read them.

Only the folders named in docs/memory-format.md are looked at, so other files cost nothing.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from memcli.levels import ARCHIVE, JOBS_DIRS, Place, place
from memcli.model import Problem

RACY_NS = 50_000_000
"""A file changed this short before it was read may change again without a new mtime."""


class Found(NamedTuple):
    """A memory file: absolute `path`, `name` relative to the root (or `~/…`), and its stat.

    `tree` is the git work tree it lies in: "" for the root's own, else the folder of the task's.
    """

    path: str
    name: str
    place: Place
    tree: str
    mtime: int
    size: int


class Listing(NamedTuple):
    files: list[Found]
    problems: list[Problem]


class View(NamedTuple):
    """Which jobs and tasks the working directory is in; "" at the root."""

    job: str = ""
    task: str = ""
    inside: str = ""  # the folder of that job or task, relative to the root


class Unreadable(Exception):
    """A file whose text cannot be had; `line` is that of the first bad byte, 1 when unknown."""

    def __init__(self, why: str, line: int = 1) -> None:
        super().__init__(why)
        self.line = line


# --- the root


def find_root(cwd: Path, home: Path, jobs_dirs: Sequence[str] = ()) -> Path | None:
    """The root for a working directory, None where only the global level is in view."""
    chain = [folder for folder in (cwd, *cwd.parents) if folder != home]
    for folder in reversed(chain):
        if _holds_job(folder, cwd, (*JOBS_DIRS, *jobs_dirs)):
            return folder
    marks = (".mem.toml", ".git", "MEMORY.md")
    return next((folder for mark in marks for folder in chain if os.path.lexists(folder / mark)), None)


def _holds_job(folder: Path, cwd: Path, jobs_dirs: Sequence[str]) -> bool:
    """Whether `cwd` is at or below `<folder>/<jobs>/<job>` or `<folder>/.sessions/<ts>`."""
    parts = cwd.parts[len(folder.parts) :]
    if len(parts) < 2:
        return False
    if parts[0] == ".sessions":
        return True
    own: tuple[str, ...] = ()
    if os.path.exists(folder / ".mem.toml"):
        own = project_jobs_dir(folder)
    for jobs in (*jobs_dirs, *own):
        names = tuple(Path(jobs).parts)
        if parts[: len(names)] == names and len(parts) > len(names):
            return True
    return False


def project_jobs_dir(folder: Path) -> tuple[str, ...]:
    """`jobs_dir` of the project file in `folder`, when it has a usable one."""
    from memcli.config import KEYS, read_file

    value = read_file(folder / ".mem.toml")[0].get("jobs_dir")
    try:
        return (KEYS["jobs_dir"].check(value),) if value else ()
    except ValueError:
        return ()


def view_of(cwd: Path, root: Path, jobs_dirs: Sequence[str]) -> View:
    """The job and task that `cwd` is in."""
    try:
        parts = cwd.relative_to(root).parts
    except ValueError:
        return View()
    if len(parts) >= 2 and parts[0] == ".sessions":
        return View("", parts[1], "/".join(parts[:2]))
    if len(parts) >= 4 and parts[0] == "projects" and parts[2] == ".sessions":
        return View("", parts[3], "/".join(parts[:4]))
    for jobs in jobs_dirs:
        names = tuple(Path(jobs).parts)
        if parts[: len(names)] == names and len(parts) > len(names):
            return _inside(parts, len(names), root)
    return View()


def _inside(parts: tuple[str, ...], at: int, root: Path) -> View:
    job, rest = parts[at], parts[at + 1 :]
    if len(rest) >= 2 and rest[0] == "tasks" and (root.joinpath(*parts[: at + 3])).is_dir():
        return View(job, rest[1], "/".join(parts[: at + 3]))
    return View(job, "", "/".join(parts[: at + 1]))


# --- listing


def list_files(
    root: Path | None, home: Path, jobs_dirs: Sequence[str] = (), globs: Sequence[str] = ()
) -> Listing:
    """Every memory file, of the root first, then of its jobs and tasks, then the global ones."""
    walk = _Walk(root, home)
    if root is not None:
        walk.level(str(root), "", "project", folders=("tasks", "proxy-tasks"), names=_PROJECT)
        for jobs in dict.fromkeys((*JOBS_DIRS, *jobs_dirs)):
            walk.jobs(str(root), jobs)
        walk.sessions(str(root), ".sessions")
        for project in walk.folders(f"{root}/projects", "projects"):
            walk.sessions(str(root), f"projects/{project}/.sessions")
        if globs:
            walk.globs(str(root), globs)
    walk.level(str(home), "~/", "global")
    return Listing(walk.files, walk.problems)


_NAMES = ("MEMORY", "institutional")
_PROJECT = ("MEMORY", "institutional", "proxy")


class _Walk:
    def __init__(self, root: Path | None, home: Path) -> None:
        self.base = os.path.realpath(root) if root is not None else ""
        self.home = os.path.realpath(home)
        self.files: list[Found] = []
        self.problems: list[Problem] = []
        self.names: set[str] = set()

    def level(
        self,
        folder: str,
        prefix: str,
        level: str,
        *,
        job: str = "",
        task: str = "",
        folders: Sequence[str] = (),
        names: Sequence[str] = _NAMES,
        tree: str = "",
    ) -> None:
        """The files of one level: those called `names`, and the markdown in its `folders`."""
        for name in names:
            for file in (f"{name}.md", f"{name}{ARCHIVE}"):
                self.add(f"{folder}/{file}", prefix + file, place(level, file, job=job, task=task), tree)
        for sub in folders:
            for entry in self.markdown(f"{folder}/{sub}", f"{prefix}{sub}/"):
                where = place(level, entry.name, folder=sub, job=job, task=task)
                self.add(entry.path, f"{prefix}{sub}/{entry.name}", where, tree)

    def jobs(self, root: str, jobs: str) -> None:
        for job in self.folders(f"{root}/{jobs}", jobs):
            base = f"{jobs}/{job}"
            self.level(f"{root}/{base}", f"{base}/", "job", job=job, folders=("tasks",))
            for task in self.folders(f"{root}/{base}/tasks", f"{base}/tasks"):
                inner = f"{base}/tasks/{task}"
                self.level(f"{root}/{inner}", f"{inner}/", "task", job=job, task=task)
                if self.inside(f"{root}/{inner}/worktree", f"{inner}/worktree"):
                    inner += "/worktree"
                    tree = inner if os.path.lexists(f"{root}/{inner}/.git") else ""
                    self.level(f"{root}/{inner}", f"{inner}/", "task", job=job, task=task, tree=tree)

    def sessions(self, root: str, sessions: str) -> None:
        for name in self.folders(f"{root}/{sessions}", sessions):
            base = f"{sessions}/{name}"
            self.level(f"{root}/{base}", f"{base}/", "task", task=name, folders=("tasks",))

    def globs(self, root: str, globs: Sequence[str]) -> None:
        for pattern in globs:
            for path in sorted(Path(root).glob(pattern)):
                name = path.relative_to(root).as_posix()
                if path.suffix == ".md" and name not in self.names and ".git" not in path.parts:
                    self.add(str(path), name, place("project", path.name, folder=""), "")

    def folders(self, path: str, name: str) -> list[str]:
        """Names of the folders in `path`, sorted; those that leave the root are reported."""
        if not self.inside(path, name):
            return []
        try:
            with os.scandir(path) as entries:
                found = sorted((e.name, e.is_symlink(), e.is_dir()) for e in entries)
        except OSError:
            return []
        return [
            n
            for n, link, is_dir in found
            if is_dir and (not link or self.inside(f"{path}/{n}", f"{name}/{n}"))
        ]

    def markdown(self, path: str, name: str) -> Iterator[os.DirEntry[str]]:
        if not self.inside(path, name):
            return
        try:
            with os.scandir(path) as entries:
                found = sorted((e for e in entries if e.name.endswith(".md")), key=lambda e: e.name)
        except OSError:
            return
        yield from found

    def inside(self, path: str, name: str) -> bool:
        """Whether a folder exists and, being a link, stays in the root."""
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            return False
        if stat.S_ISLNK(mode) and os.path.isdir(path):
            return self.allowed(path, name)
        return stat.S_ISDIR(mode)

    def allowed(self, path: str, name: str) -> bool:
        base = self.home if name.startswith("~/") else self.base
        real = os.path.realpath(path)
        if real == base or real.startswith(base.rstrip("/") + "/"):
            return True
        self.problems.append(
            Problem(name, 1, "is a link that leaves the root; it is not followed", "unreadable")
        )
        return False

    def add(self, path: str, name: str, where: Place, tree: str) -> None:
        try:
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                if not self.allowed(path, name):
                    return
                status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ValueError) as error:
            self.problems.append(Problem(name, 1, f"cannot be read: {_why(error)}", "unreadable"))
            return
        if not stat.S_ISREG(status.st_mode):
            if not stat.S_ISDIR(status.st_mode):
                self.problems.append(Problem(name, 1, "is no regular file", "unreadable"))
            return
        self.names.add(name)
        self.files.append(Found(path, name, where, tree, status.st_mtime_ns, status.st_size))


# --- reading


class Bytes(NamedTuple):
    """The content of a file; `mtime` is 0 when the file is too fresh to be told from its next edit."""

    data: bytes
    mtime: int
    size: int


def read_bytes(path: str) -> Bytes:
    """The content with the stat it belongs to. Raises `Unreadable`."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            data = file.read()
    except OSError as error:
        raise Unreadable(f"cannot be read: {_why(error)}") from None
    fresh = time.time_ns() - status.st_mtime_ns < RACY_NS
    return Bytes(data, 0 if fresh else status.st_mtime_ns, len(data))


def decode(data: bytes) -> str:
    """UTF-8 text with BOM and line endings as they are. Raises `Unreadable` at the first bad byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"is not UTF-8 text (byte {error.start})", line) from None


def digest(data: bytes) -> str:
    """The identity of a file's content."""
    from hashlib import blake2b

    return blake2b(data, digest_size=16).hexdigest()


def _why(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
