"""Where and when a command runs: root, home, configuration, the memory files there,
today."""

import datetime
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.errors import DataError, RefusedError, UsageError
from memcli.memory.values import JOBS_DIRS, PHASES, Patch, Problem
from memcli.named import NamedTuple
from memcli.project import config, git, levels_on_disk, roots
from memcli.project.levels_on_disk import Names
from memcli.project.listing import (
    GUARDED,
    PRIVATE,
    UNLISTED,
    Files,
    FoundFile,
    Listing,
    shown,
)
from memcli.project.roots import find_root, stands
from memcli.storage.files import (
    MEMORY_BYTES,
    SMALL_BYTES,
    Conflicted,
    Unreadable,
    read_text,
    why,
    written_at,
)
from memcli.user_folders import folder_of as user_folder

if TYPE_CHECKING:
    from memcli.memory.changes import ChangeSet
    from memcli.memory.parser import KnownFile, MemoryFile


class View(NamedTuple):
    """The job and task that the working directory is in; "" at the root."""

    job: str = ""
    task: str = ""
    inside: str = ""  # the folder of that job or task, relative to the root


class Project:
    """The repository (or the home folder alone) that a working directory is in."""

    def __init__(
        self,
        environ: Mapping[str, str],
        cwd: Path,
        root: str = "",
        sets: Names = (),
        tasks: Names = (),
    ) -> None:
        self.environ = environ
        self.cwd = cwd
        self.tasks = tuple(tasks)  # those named may be written from outside
        self.written: dict[str, str] = {}  # by path, what a rehearsal only thinks
        self.known: dict[str, MemoryFile] = {}  # by name, as it was last read
        self._given = root or environ.get("MEM_ROOT", "")
        self._flags = config.parse_flags(sets)

    @cached_property
    def home(self) -> Path:
        """The home folder, or its replacement."""
        return Path(os.path.realpath(config.home_of(self.environ)))

    @cached_property
    def now(self) -> datetime.date:
        """The current time; MEM_NOW (an ISO date) overrides it."""
        set_date = self.environ.get("MEM_NOW")
        if not set_date:
            return datetime.date.today()
        with suppress(ValueError):
            day = datetime.datetime.fromisoformat(set_date).date()
            if 1970 <= day.year < 9999:  # of which days before and after can be told
                return day
        message = f"MEM_NOW is not a date from 1970 to 9998: {set_date}"
        raise UsageError(message, "write it as 2026-03-01")

    @cached_property
    def root(self) -> Path | None:
        """The root, given or found from the working directory. Raises UsageError if it
        is not a folder."""
        if self._given:
            path = Path(os.path.realpath(self.cwd / os.path.expanduser(self._given)))
            if not path.is_dir():
                hint = "name an existing folder with --root or MEM_ROOT"
                raise UsageError(f"the root is not a folder ({path})", hint)
            return None if path == self.home else path
        user = config.read_settings(config.user_file(self.home, self.environ)).values
        configured = config.jobs_dirs(
            user, config.from_environment(self.environ), self._flags
        )
        return find_root(self.cwd, self.home, configured)

    @cached_property
    def key(self) -> str:
        """The identity of this project for the state file: git common directory and
        root."""
        if self.root is None:
            return "~"
        tree_top = git.work_tree(self.root)
        return f"{git.common_dir(tree_top) if tree_top else ''}\0{self.root}"

    @cached_property
    def settings(self) -> config.Settings:
        """Every setting with its origin and any error in it."""
        return config.load(
            home=self.home, root=self.root, environ=self.environ, flags=self._flags
        )

    @cached_property
    def config(self) -> config.Config:
        """The configuration. Raises UsageError for a faulty one."""
        return config.require(self.settings)

    def tolerate_configuration(self) -> None:
        """From now on, use the valid settings of a faulty configuration and defaults
        for the rest."""
        self.__dict__["config"] = self.settings.config

    @cached_property
    def jobs_dirs(self) -> tuple[str, ...]:
        """The folders of jobs, below the root."""
        configured = self.config.jobs_dir
        return (*JOBS_DIRS, configured) if configured else JOBS_DIRS

    @cached_property
    def listing(self) -> Listing:
        """The memory files that exist, and those that were refused."""
        found = self.environ if self.config.found else None
        listing = levels_on_disk.list_files(
            self.root, self.home, self.jobs_dirs, self.config.memory_files, found
        )
        folders = user_folder("state"), f"{user_folder('cache')}/state"
        if not any(os.path.exists(f"{folder}/{GUARDED}") for folder in folders):
            return listing
        from memcli.project.unlisted import unlisted  # where something binds

        bound = unlisted(self.root or self.home, listing.files)
        return listing._replace(files=Files([*listing.files.walks, bound]))

    @cached_property
    def _by_name(self) -> dict[str, FoundFile]:
        return {file.name: file for file in self.listing.files}

    def found(self, name: str) -> FoundFile | None:
        """The listed file of that name."""
        return self._by_name.get(name)

    def relist(self) -> None:
        """Look for the files again on the next access."""
        for name in ("listing", "_by_name"):
            self.__dict__.pop(name, None)

    @cached_property
    def view(self) -> View:
        """The job and task that the working directory is in."""
        if self.root is None:
            return View()
        return view_of(self.cwd, self.root, self.jobs_dirs)

    @cached_property
    def tree(self) -> str:
        """The git work tree of the working directory: "" for the root's own, else a
        task's folder."""
        folder = os.path.relpath(self.cwd, self.root) if self.root is not None else "."
        trees = {part.tree for part in self.listing.files.parts if part.tree}
        inside = [
            name for name in trees if folder == name or folder.startswith(name + os.sep)
        ]
        return max(inside, key=len, default="")

    def may_write(self, file: FoundFile, tasks: Sequence[str] = ()) -> bool:
        """Whether a command run here may change `file`: it is in this work tree, or in
        that of a named task."""
        return file.tree in ("~", self.tree) or file.place.task in (*self.tasks, *tasks)

    def read(self, file: FoundFile) -> "MemoryFile":
        """Read and parse a memory file. Raises `Unreadable`."""
        from memcli.memory.grammar import CROWDED, is_crowded

        text = self.written.get(file.path)
        if text is None:
            text = read_text(file.path, file.base)
        if is_crowded(text):
            raise Unreadable(CROWDED)
        return parsed(self, text, file.name)

    def read_to_write(self, file: FoundFile) -> "MemoryFile":
        """Like `read`, for a file about to be changed: also raises for conflict
        markers."""
        from memcli.memory.grammar import conflict_lines

        memory = self.read(file)
        for line in conflict_lines(memory.text):
            raise Conflicted(line)
        return memory

    def path_of(self, name: str) -> str:
        """The absolute path of a memory file from its name."""
        if name.startswith("~/"):
            return str(self.home / name[2:])
        return str((self.root or self.home) / name)

    def name_of(self, path: str | Path) -> str:
        """The name of an existing or new memory file from its absolute path."""
        for base, prefix in ((self.root, ""), (self.home, "~/")):
            if base is not None and str(path).startswith(f"{base}/"):
                return prefix + os.path.relpath(path, base)
        return str(path)

    def relative(self, path: str) -> str:
        """The path relative to the root of a file given absolutely or from the working
        directory."""
        folder, name = os.path.split(os.path.normpath(self.cwd / path))
        absolute = os.path.join(os.path.realpath(folder), name)
        root = str(self.root or self.cwd)
        if f"{absolute}{os.sep}".startswith(os.path.join(root, "")):
            return os.path.relpath(absolute, root)
        if os.path.isabs(path):
            return absolute.lstrip(os.sep)
        return os.path.normpath(path)


def parsed(project: Project, text: str, name: str) -> "MemoryFile":
    """A memory file with this text; only changed parts are parsed again."""
    from memcli.memory.parser import parse

    if name not in project.known or project.known[name].text != text:
        project.known[name] = parse(text, name)
    return project.known[name]


def read_known(
    project: Project,
    files: Iterable[FoundFile],
    problems: list[Problem],
    *,
    to_write: bool = False,
) -> "Iterator[KnownFile]":
    """Read memory files; one that cannot be read (`to_write`: or has conflict markers)
    becomes a problem."""
    from memcli.memory.parser import KnownFile

    read = project.read_to_write if to_write else project.read
    for file in files:
        try:
            if file.place.of == UNLISTED:
                from memcli.project.unlisted import OutOfView

                raise OutOfView
            yield KnownFile(
                memory=read(file),
                place=file.place,
                writable=project.may_write(file),
                found=file.found,
                tree=file.tree,
            )
        except Unreadable as error:
            problems.append(unread(file.name, error))


def read_all(project: Project) -> "Iterator[KnownFile]":
    """Every memory file that can be read."""
    return read_known(project, project.listing.files, [])


def known_files(project: Project) -> "list[KnownFile]":
    """Every memory file that can be read, and the archives that are lost, which speak
    for what was taken back."""
    from memcli.project.unlisted import with_lost

    return with_lost(project.root or project.home, read_all(project))


def unread(name: str, error: Unreadable) -> Problem:
    """The problem of a file that could not be read, or must not be written."""
    return Problem(
        path=name,
        line=error.line,
        message=str(error),
        severity=error.severity,
    )


def hold(project: Project, changes: "ChangeSet", name: str) -> "MemoryFile":
    """Load the current text of a file, empty if it does not exist. Raises
    `Unreadable`."""
    file = project.found(name)
    if name not in changes.files and file is not None:
        changes.hold(project.read_to_write(file))
    return changes.file(name)


def patches_of(project: Project, changes: "ChangeSet") -> tuple[Patch, ...]:
    """The patches that apply changes to files as they were read."""
    patches = []
    for name, text in changes.texts().items():
        file = project.found(name)
        path = file.path if file else project.path_of(name)
        before = None
        if file is not None or os.path.lexists(path):
            before = changes.file(name).text
        patches.append(Patch(path=path, before=before, after=text))
    return tuple(patches)


def own_tokens(project: Project) -> int:
    """The token limit of the user's own part of an answer if the project's file limits
    the rest."""
    settings = project.settings
    is_theirs = settings.origins["max_tokens"] == "project file"
    if not (is_theirs and settings.config.max_tokens):
        return 0
    user = config.load(home=project.home, root=None, environ=project.environ, flags={})
    return user.config.max_tokens or config.Config().max_tokens


class Survey(NamedTuple):
    """What an answer depends on besides memory: settings, place, day, fingerprint of
    the files, and the token limit of the user's own part."""

    config: config.Config
    view: View
    today: datetime.date
    seen: str
    own_tokens: int


def survey(project: Project) -> Survey:
    """Collect all of it at once and cache it."""
    return Survey(
        seen=project.listing.files.seen,
        config=project.config,
        view=project.view,
        today=project.now,
        own_tokens=own_tokens(project),
    )


def moment(today: datetime.date) -> datetime.datetime:
    """The current date and time, for journals."""
    return datetime.datetime.combine(today, datetime.datetime.now().time())


def base_of(project: Project, path: str | Path) -> str:
    """The folder that links on the way to a file must not leave: root or home, ""
    elsewhere."""
    named = os.path.abspath(path)
    for folder in filter(None, (project.root, project.home)):
        if named.startswith(os.path.join(folder, "")):
            return str(folder)
    return ""


def text_of(
    project: Project, path: str | Path, *, limit: int = MEMORY_BYTES
) -> str | None:
    """The text of a file, None if it does not exist. Raises `Unreadable`."""
    written = project.written.get(str(path))
    if written is not None:
        return written
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:  # no file can have this name, or nobody may look
        raise Unreadable(why(error)) from None
    return read_text(path, base_of(project, path), most=limit)


def text_to_write(
    project: Project, path: str | Path, *, most: int = MEMORY_BYTES
) -> str | None:
    """The text of a file to be written, or None. Raises DataError, RefusedError for a
    link."""
    written_at(Path(path), Path(base_of(project, path) or os.path.dirname(path)))
    from memcli.memory.grammar import CROWDED, is_crowded

    with nothing_written(project.name_of(path)):
        text = text_of(project, path, limit=most)
        if text is not None and is_crowded(text):
            raise Unreadable(CROWDED)
        return text


@contextmanager
def nothing_written(name: str) -> Iterator[None]:
    """The error for a memory file that cannot be read before a write: RefusedError for
    conflict markers, else DataError."""
    try:
        yield
    except Unreadable as error:
        message = f"{name}:{error.line}: {error}; nothing was written"
        if isinstance(error, Conflicted):
            raise RefusedError(message, "resolve them first") from None
        raise DataError(message, "fix the file first") from None


def need_root(project: Project, advice: str = "") -> Path:
    """The root. Raises UsageError outside of a project; `advice` adds to the hint."""
    if project.root is None:
        roots.refuse_passed_over(project.cwd)
        hint = f"git init, run it in a repository, or name one with --root{advice}"
        raise UsageError("there is no project here", hint)
    return project.root


def folder_of(project: Project, job: str) -> Path:
    """The folder of a job, or the root. Raises UsageError if there is none."""
    return need_root(project) / (job_folder(project, job) if job else "")


def job_folder(project: Project, job: str) -> str:
    """The folder of a job, relative to the root. Raises UsageError if there is none."""
    return _named(project, "job", job, [f"{jobs}/{job}" for jobs in project.jobs_dirs])


def task_folder(project: Project, job: str, task: str) -> str:
    """The folder to write a task of the job in folder `job` to. Raises UsageError if
    there is none."""
    folder = _named(project, "task", task, [f"{job}/tasks/{task}"])
    worktree = f"{folder}/worktree"
    return worktree if (need_root(project) / worktree).is_dir() else folder


def _named(project: Project, noun: str, name: str, folders: list[str]) -> str:
    root = need_root(project)
    hint = f"mkdir -p {folders[-1]} makes it"
    if name in (".", "..") or "/" in name or os.sep in name or "\0" in name:
        raise UsageError(
            f"--{noun} {name}: not a name of a {noun}", "give the name of its folder"
        )
    if found := next((folder for folder in folders if (root / folder).is_dir()), ""):
        return found
    raise UsageError(f"--{noun} {name}: no such {noun}", hint)


def current_stage(project: Project, job: str = "") -> str:
    """The stage in `.current-stage` of the job's folder, or of the root, or unknown."""
    folders = [os.path.join(jobs, job) for jobs in project.jobs_dirs if job]
    for inner in (*folders, ""):
        path = os.path.join(project.root or project.home, inner, ".current-stage")
        with suppress(Unreadable):
            word = (text_of(project, path, limit=SMALL_BYTES) or "").strip()
            if word in PHASES:
                return word
    return "unknown"


def write_blocker(project: Project) -> str:
    """Why automatic writers must wait: a git operation or a conflict; "" if they need
    not."""
    from memcli.memory.grammar import conflict_lines

    if project.root is None:
        return ""
    project.relist()
    trees = {"", *(part.tree for part in project.listing.files.parts)}
    trees -= {"~", PRIVATE}
    for tree_top in {git.work_tree(project.root / tree) for tree in trees}:
        if tree_top is not None and (word := git.under_way(tree_top)):
            return f"git is in the middle of a {word}"
    for file in project.listing.files:
        with suppress(Unreadable):
            if conflict_lines(read_text(file.path, file.base)):
                return f"{file.name} has a conflict"
    return ""


def view_of(cwd: Path, root: Path, jobs_dirs: Sequence[str]) -> View:
    """The job and task that `cwd` is in."""
    parts = cwd.relative_to(root).parts if cwd.is_relative_to(root) else ()
    kind, depth = stands(parts, jobs_dirs)
    name = shown(parts[depth - 1]) if kind else ""
    inside = "/".join(parts[:depth])
    if kind != "job":
        return View("", name, inside)
    below = parts[depth : depth + 2]
    is_named = len(below) == 2 and below[0] == "tasks"
    if is_named and root.joinpath(inside, *below).is_dir():
        return View(name, shown(below[1]), "/".join((inside, *below)))
    return View(name, "", inside)
