"""Find the memory files below the root and in the home folder: those of the levels, and
those in found places."""

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import TypeVar

from memcli.memory.values import ARCHIVE, JOBS_DIRS, Place, Problem, place
from memcli.project.git import work_tree
from memcli.project.listing import (
    PRIVATE,
    Files,
    Folder,
    FoundFile,
    Listing,
    Part,
    shown,
)
from memcli.storage import files
from memcli.text.matching import stanzas

_NAMES = tuple(
    f"{name}{end}" for name in ("MEMORY", "institutional") for end in (".md", ARCHIVE)
)
_PROJECT = (*_NAMES, "proxy.md", f"proxy{ARCHIVE}")
Names = Sequence[str]
Environ = Mapping[str, str] | None
T = TypeVar("T")
_, FILES, FOLDERS, WORDS = (
    names.split() for names in stanzas("project/places.txt").values()
)
NEVER = frozenset({"readme.md", "template.md", "proxy.md", "institutional.md"})
MOST_FILES = 500
COUNTED = files.ENTRIES
"""Names beyond those that are looked at, for the number of what is left out."""
MOST_BYTES = 1 << 20


def is_ours(name: str) -> bool:
    """Whether a file of this name is always memory, or an index."""
    return name in _PROJECT or name.endswith(ARCHIVE) or name.startswith(".memory.db")


def list_files(
    root: Path | None,
    home: Path,
    jobs_dirs: Names = (),
    globs: Names = (),
    environ: Environ = None,
) -> Listing:
    """Every memory file, global ones last; with `environ`, also those in found
    places."""
    walks: list[_Walk] = []
    if root is not None:
        root_walk = _FoundWalk(str(root))
        root_walk.root(jobs_dirs, globs)
        walks.append(root_walk)
        if environ is not None:
            root_walk.found_places()
            walks += _claude_memory(root, home, environ)
    home_walk = _Walk(str(home), "~/", "~")
    home_walk.level("", Place("global", ""))
    walks.append(home_walk)
    problems = [problem for walk in walks for problem in walk.problems]
    return Listing(Files(walk.parts for walk in walks), problems)


class _Walk:
    """One listing of the files below a folder, by relative name; no file is listed
    twice."""

    def __init__(self, base: str, prefix: str = "", tree: str = "") -> None:
        self.base = base
        self.prefix = prefix
        self.tree = tree
        self.parts: list[Part] = []
        self.problems: list[Problem] = []
        self.names: set[str] = set()
        self.inodes: set[tuple[int, int, str]] = set()
        self.left = files.ENTRIES

    def root(self, jobs_dirs: Sequence[str], globs: Sequence[str]) -> None:
        folders = tuple(dict.fromkeys((*JOBS_DIRS, *jobs_dirs)))
        self.level("", Place("project", ""), "", "tasks proxy-tasks", _PROJECT)
        for jobs in folders:
            self.jobs(jobs)
        legacy = (
            f"projects/{project}/.sessions" for project in self.folders("projects")
        )
        for sessions in (".sessions", *legacy):
            for name in self.folders(sessions):
                base = f"{sessions}/{name}"
                where = Place("task", "", task=name)
                self.level(f"{base}/", where, self.work_tree(base, ""), "tasks")
        if globs:
            self.globs(globs, folders)

    def level(
        self,
        folder: str,
        where: Place,
        tree: str = "",
        folders: str = "",
        names: Names = _NAMES,
    ) -> None:
        """The files of one level: those called `names`, and the markdown in its
        `folders`."""
        level, _, job, task, _ = where
        job = shown(job)
        task = shown(task)
        for name in names:
            self.add(folder + name, place(level, name, job=job, task=task), tree)
        for subfolder in folders.split():
            memory_place = place(level, ".md", folder=subfolder, job=job, task=task)
            archive_place = place(level, ARCHIVE, folder=subfolder, job=job, task=task)
            for name in self.plain(
                f"{folder}{subfolder}", memory_place, archive_place, tree
            ):
                self.add(
                    f"{folder}{subfolder}/{name}",
                    archive_place if name.endswith(ARCHIVE) else memory_place,
                    tree,
                )

    def jobs(self, jobs: str) -> None:
        way = accumulate(jobs.split("/"), "{}/{}".format)
        if not all(map(self.is_folder, way)):
            return  # a part of the path leads out, or is not a folder
        for job in self.folders(jobs):
            base = f"{jobs}/{job}"
            tree = self.work_tree(base, "")
            self.level(f"{base}/", Place("job", "", job), tree, "tasks")
            for task in self.folders(f"{base}/tasks"):
                outer = tree
                for folder in (f"{base}/tasks/{task}", f"{base}/tasks/{task}/worktree"):
                    if self.is_folder(folder):
                        outer = self.work_tree(folder, outer)
                        self.level(
                            f"{folder}/",
                            Place(level="task", store="", job=job, task=task),
                            outer,
                        )

    def globs(self, globs: Sequence[str], jobs_dirs: Sequence[str]) -> None:
        """Files that match the globs of the configuration, except those of jobs and
        sessions."""
        from memcli.project.globs import Walk

        elsewhere = tuple(f"{jobs}/" for jobs in jobs_dirs)
        walk = Walk(self.base, files.ENTRIES)
        for pattern in globs:
            for name in walk.find(pattern):
                *folders, base = name.split("/")
                ours = base.endswith(".md") and ".sessions" not in folders
                if (
                    ours
                    and not name.startswith(elsewhere)
                    and shown(name) not in self.names
                ):
                    self.add(name, place("project", shown(base)), "")
            for name in walk.links:
                self.refuse(name, "is a link, and memory_files follows no links")
            if walk.cut:
                self.refuse(
                    pattern,
                    f"memory_files: cut after {files.ENTRIES} directory entries",
                )
                break

    def work_tree(self, folder: str, outer: str) -> str:
        """The git work tree of a folder: itself when it has a `.git`, else the one
        around it."""
        return shown(folder) if os.path.lexists(f"{self.base}/{folder}/.git") else outer

    def folders(self, name: str) -> list[str]:
        """Names of the folders in a folder, sorted, links last; links that lead out are
        reported."""
        listed_folders = self.look(
            name,
            lambda each: (
                (entry.is_symlink(), entry.name) for entry in each if _is_dir(entry)
            ),
        )
        return [
            folder
            for link, folder in sorted(listed_folders)
            if not link or self.is_folder(f"{name}/{folder}")
        ]

    def plain(
        self, name: str, memory_place: Place, left: Place, tree: str
    ) -> list[str]:
        """Take the regular files `*.md` of a folder; the other names that end so and
        are of no folders, links last."""
        path = f"{self.base}/{name}"
        called = shown(f"{self.prefix}{name}/")
        work_tree = tree or self.tree
        folder = Folder(
            path=f"{path}/",
            name=called,
            place=memory_place,
            tree=work_tree,
            base=self.base,
            archive=left,
            inner=tree,
            read=[],
        )
        irregular = self.look(name, folder.take)
        if folder.read:
            self.parts.append(folder)
        links_last = sorted(
            (os.path.islink(f"{path}/{base}"), base) for base in irregular
        )
        return [base for _, base in links_last if not os.path.isdir(f"{path}/{base}")]

    def look(
        self, name: str, work: Callable[[Iterator[os.DirEntry[str]]], Iterator[T]]
    ) -> list[T]:
        """The result of `work` on the entries of a folder, while the folder is open."""
        path = f"{self.base}/{name}"
        opened = -1
        try:
            if self.is_folder(name):
                # Then entries are examined without their full path.
                if os.scandir in os.supports_fd:
                    opened = files.open_folder(path)
                with os.scandir(path if opened < 0 else opened) as entries:
                    return list(work(entries))
        except FileNotFoundError:
            pass
        except OSError as error:
            self.refuse(name, f"cannot be read: {files.why(error)}")
        finally:
            if opened >= 0:
                os.close(opened)
        return []

    def is_folder(self, name: str) -> bool:
        status = self.status(name)
        return status is not None and stat.S_ISDIR(status.st_mode)

    def status(self, name: str) -> os.stat_result | None:
        """The stat of a file, or of the target of a link that stays in the folder."""
        path = f"{self.base}/{name}"
        # `~/MEMORY.md` is the home folder's.
        if not self.prefix and name.startswith("~"):
            self.refuse(name, "has the name of the home folder's file")
            return None
        try:
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                return os.stat(path) if self.stays(name) else None
            return status
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            self.refuse(name, f"cannot be read: {files.why(error)}")
            return None

    def stays(self, name: str) -> bool:
        """Whether the target of a link is below the folder and not inside .git;
        otherwise it is reported."""
        resolved = os.path.realpath(f"{self.base}/{name}")
        base = os.path.realpath(self.base)
        inside = resolved == base or resolved.startswith(base.rstrip("/") + "/")
        if inside and ".git" not in resolved[len(base) :].split("/"):
            return True
        self.refuse(name, files.LEAVES)
        return False

    def refuse(self, name: str, reason: str, severity: str = "unreadable") -> None:
        problem = Problem(
            path=shown(self.prefix + name).rstrip("/") or ".",
            line=1,
            message=reason,
            severity=severity,
        )
        if problem not in self.problems:
            self.problems.append(problem)

    def add(
        self, name: str, where: Place, tree: str, *, is_found: bool = False
    ) -> None:
        """List a file if it exists, is regular, and does not lead out."""
        status = self.status(name)
        if status is None:
            return
        mode, inode, device, _, _, _, size, *_ = status
        called = shown(self.prefix + name)
        known = (device, inode, tree)
        if not stat.S_ISREG(mode):
            self.refuse(name, "is not a regular file")
        elif is_found and size > MOST_BYTES:
            self.refuse(name, "is longer than 1 MB")
        elif called not in self.names and known not in self.inodes:
            self.names.add(called)
            self.inodes.add(known)
            path = f"{self.base}/{name}"
            work_tree = tree or self.tree
            mtime = files.storable(status.st_mtime_ns)
            file = FoundFile(
                path=path,
                name=called,
                place=where,
                tree=work_tree,
                mtime=mtime,
                size=size,
                base=self.base,
                found=is_found,
            )
            self.parts.append((file, known))


class _FoundWalk(_Walk):
    """A listing that also covers places where other tools keep notes for agents."""

    listed = 0  # the number of parts before this

    @cached_property
    def more(self) -> Counter[str]:
        """The number of files not in view, by folder."""
        return Counter()

    @cached_property
    def ignored(self) -> Callable[[str], bool]:
        from memcli.project.globs import Ignored

        return Ignored(self.base)

    def found_places(self) -> None:
        """Search each row of the tables, and the link targets of the indexes."""
        self.listed = len(self.parts)
        for name in (*FILES, *self._worded()):
            self.find(name)
        self.newest([*chain.from_iterable(map(self.names_in, self._places()))])
        for name in self._linked():
            self.find(name)

    def _places(self) -> list[str]:
        """The folders of the table whose first part exists."""
        top = {name.lower() for name in self._names("")}
        rows = (row for row in FOLDERS if row.partition("/")[0] in top)
        return [*chain.from_iterable(map(self.expanded, rows))]

    def _linked(self) -> Iterator[str]:
        """What the indexes of the project's folders link to."""
        for folder in self._indexed():
            from memcli.project.indexes import linked  # most have none

            for name in linked(folder, self.base):
                if not is_elsewhere(name):
                    yield name

    def _worded(self) -> Iterator[str]:
        """The files at the root and in `docs` that are named after a word of the
        table."""
        for folder in ("", "docs/"):
            there = self._names(folder)
            yield from (folder + name for name in _spelt() if name in there)

    def _names(self, folder: str) -> set[str]:
        """The names in a folder; none if it cannot be read."""
        with suppress(OSError):
            return set(os.listdir(f"{self.base}/{folder}"))
        return set()

    def _indexed(self) -> list[str]:
        """The project's folders with an index whose links are followed, up to a bound."""
        folders: dict[str, None] = {}
        for part in self.parts:
            known = part if isinstance(part, Folder) else part[0]
            folder, name = os.path.split(known.path)
            if known.place.level == "project" and name in ("", "MEMORY.md"):
                folders[folder] = None
        indexed = [name for name in folders if os.path.lexists(f"{name}/MEMORY.md")]
        return indexed[:MOST_FILES]

    def find(self, name: str) -> None:
        """List a found file unless it belongs to another store, is ignored, or is too
        large."""
        if not os.path.lexists(f"{self.base}/{name}"):
            return
        is_other = name.lower().rpartition("/")[2] in NEVER or name.endswith(ARCHIVE)
        is_listed = shown(self.prefix + name) in self.names
        if not (is_listed or is_other or self.ignored(name)):
            self.add(name, Place("project", "memory"), self.tree, is_found=True)

    def expanded(self, folder: str) -> list[str]:
        """The folders that a row of the table matches; `*` matches every folder."""
        outer, star, inner = folder.partition("/*/")
        if not star:
            return [folder]
        return [f"{outer}/{name}/{inner}" for name in self.folders(outer)]

    def names_in(self, name: str, depth: int = 2) -> list[str]:
        """The Markdown files in a folder and its subfolders; links are not followed."""
        entries = self._listed(name)
        markdown = []
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = f"{name}/{entry.name}" if name else entry.name
            enters = depth > 1 and entry.name != "proxy-tasks"
            if entry.name.endswith(".md"):
                markdown.append(path)
            elif enters and entry.is_dir(follow_symlinks=False):
                markdown += self.names_in(path, depth - 1)
        self.left -= len(entries)
        return markdown

    def _listed(self, name: str) -> list[os.DirEntry[str]]:
        """The entries of a folder that may still be looked at; the notes among others are
        counted."""
        folder = f"{self.base}/{name}"
        entries = []
        over = []
        if not name or not os.path.islink(folder):
            with suppress(OSError), os.scandir(folder) as listing:
                entries = list(islice(listing, self.left))
                left_out = islice(listing, COUNTED)
                over = [entry.name.endswith(".md") for entry in left_out]
        if over:
            self.more += Counter({name: over.count(True)})
            message = "too many directory entries: the rest was skipped"
            self.refuse(name, message, "defaulted")
        return entries

    def newest(self, names: list[str]) -> None:
        """List the newest files up to a limit; count the rest by folder."""
        if not names and not self.more:
            return
        # Most repositories have no found place, and agents wait for the start.
        from memcli.project.newest import changed_on, newest_first

        too_many = len(names) > MOST_FILES - (len(self.parts) - self.listed)
        changed = changed_on(self.base) if too_many else {}
        for name in newest_first(names, changed):
            if len(self.parts) - self.listed < MOST_FILES:
                self.find(name)
            else:
                self.more[os.path.dirname(name)] += 1
        for folder, left in sorted(self.more.items()):
            seen = len(self.parts) - self.listed
            many = f"{seen} found files are in view, the newest: {left} more are not"
            self.refuse(folder, many, "defaulted")


def _is_dir(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):  # a circular link
        return entry.is_dir()
    return False


def _spelt() -> Iterator[str]:
    for name in WORDS:
        title = "_".join(map(str.capitalize, name.split("_")))
        for stem in dict.fromkeys((name, name.lower(), name.capitalize(), title)):
            yield from dict.fromkeys((f"{stem}.md", f"{stem.replace('_', '-')}.md"))


def is_elsewhere(name: str) -> bool:
    """Whether a path belongs to another level, or to a store that links must not
    include."""
    parts = name.split("/")
    if parts[0] == "projects" and ".sessions" in parts:
        return True
    outer = (".git", ".sessions", ".teaparty", ".mem", "tasks")
    return parts[0] in outer or "proxy-tasks" in parts


def claude_folders(root: Path, home: Path, environ: Mapping[str, str]) -> list[Path]:
    """Where Claude Code keeps its own memory of a root."""
    base = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    slugs = (
        re.sub(r"[^A-Za-z0-9]", "-", str(tree_top))
        for tree_top in (root, work_tree(root))
        if tree_top
    )
    return [base / "projects" / slug / "memory" for slug in dict.fromkeys(slugs)]


def _claude_memory(
    root: Path, home: Path, environ: Mapping[str, str]
) -> Iterator[_FoundWalk]:
    for folder in claude_folders(root, home, environ):
        if folder.is_dir() and not folder.is_symlink():
            below = folder.is_relative_to(home)
            prefix = f"~/{folder.relative_to(home)}/" if below else f"{folder}/"
            walk = _FoundWalk(str(folder), prefix, PRIVATE)
            walk.ignored = lambda name: False
            walk.newest(walk.names_in(""))
            yield walk
            return
