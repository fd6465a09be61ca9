"""The memory files that were found; rows for a large folder are built on demand."""

import marshal
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property
from itertools import chain, islice
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import Any

from memcli.memory.values import ARCHIVE, Place, Problem
from memcli.named import NamedTuple
from memcli.project.git import common_dir, work_tree
from memcli.storage.files import storable
from memcli.text.digests import digest

GUARDED = "guarded"  # the folder of the state that notes in which files something binds
UNLISTED = "guard"  # the `of` of what is out of view, but goes on to bind
PRIVATE = "~claude"  # the `tree` of Claude Code's own memory: never leaves this machine
# how much of its MEMORY.md Claude Code reads by itself
CLAUDE_LINES = 200
CLAUDE_BYTES = 25_000
_BATCH = 500
_REGULAR = stat.S_ISREG
_STATUS = methodcaller("stat", follow_symlinks=False)
_FIELDS = attrgetter("st_ino", "st_mtime_ns", "st_size", "st_dev", "st_mode")
_Key = tuple[
    int, int, str
]  # device and inode, and the work tree: a file is listed once in each


class FoundFile(NamedTuple):
    """A memory file: absolute `path`, `name` relative to the root (or `~/…`), and its
    stat. `tree` is its git work tree: "" for the root's own, "~" for the home folder,
    else the folder of the job's or task's tree. Links on the way must not leave `base`.
    `found`: it is in a found place."""

    path: str
    name: str
    place: Place
    tree: str
    mtime: int
    size: int
    base: str
    found: bool = False


class Folder(NamedTuple):
    """The regular `*.md` files of a folder, which may be thousands, as they were
    read."""

    path: str
    name: str
    place: Place
    tree: str
    base: str
    archive: Place
    inner: str
    read: list[bytes]
    found: bool = False

    @property
    def mtime(self) -> int:
        """The time of the newest change."""
        rows = chain.from_iterable(marshal.loads(part)[1] for part in self.read)
        return storable(max(row[1] for row in rows))

    def take(self, entries: Iterator[os.DirEntry[str]]) -> Iterator[str]:
        """Read a folder in batches, without keeping an object per file; return the
        names of `*.md` entries that are not regular files."""
        while batch := list(islice(entries, _BATCH)):
            notes = [entry for entry in batch if entry.name.endswith(".md")]
            names = [entry.name for entry in notes]
            rows = _rows(notes)
            if rows is None:
                names, rows, irregular = _sorted_out(notes)
                yield from irregular
            if names:
                self.read.append(marshal.dumps((names, rows), 2))

    def files(self) -> Iterator[tuple[FoundFile, _Key]]:
        """The files by name, each with its identity (device, inode, work tree)."""
        candidates = chain.from_iterable(
            zip(*marshal.loads(part), strict=True) for part in self.read
        )
        for name, (inode, time, size, device, _) in sorted(candidates):
            file = FoundFile(
                path=self.path + name,
                name=self.name + (name if name.isascii() else shown(name)),
                place=self.archive if name.endswith(ARCHIVE) else self.place,
                tree=self.tree,
                mtime=storable(time),
                size=size,
                base=self.base,
                found=False,
            )
            yield file, (device, inode, self.inner)


def _rows(entries: Iterable[os.DirEntry[str]]) -> list[Any] | None:
    """The status of each entry; None if it is gone or not a regular file."""
    with suppress(OSError):
        rows = list(map(_FIELDS, map(_STATUS, entries)))
        if all(map(_REGULAR, {row[4] for row in rows})):
            return rows
    return None


def _sorted_out(
    entries: Iterable[os.DirEntry[str]],
) -> tuple[list[str], list[Any], list[str]]:
    """Names and status of the regular files among entries, and the names of those
    that are not regular."""
    names = []
    rows = []
    irregular = []
    for entry in entries:
        with suppress(OSError):  # it has disappeared meanwhile
            row = _FIELDS(_STATUS(entry))
            if _REGULAR(row[4]):
                names.append(entry.name)
                rows.append(row)
            else:
                irregular.append(entry.name)
    return names, rows, irregular


Part = tuple[FoundFile, _Key] | Folder


class Files:
    """Memory files in order, each once; `parts` are the groups they were found in."""

    def __init__(self, walks: Iterable[Sequence[Part]]) -> None:
        self.walks = list(walks)
        every = chain.from_iterable(self.walks)
        self.parts = [part if isinstance(part, Folder) else part[0] for part in every]

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[FoundFile]:
        return iter(self._all)

    @cached_property
    def _all(self) -> list[FoundFile]:
        return [file for file, _ in self.rows()]

    def rows(self) -> Iterator[tuple[FoundFile, _Key]]:
        """Each file with its identity."""
        for walk in self.walks:
            names = set()
            known_keys = set()
            for part in walk:
                for file, key in part.files() if isinstance(part, Folder) else (part,):
                    if file[1] not in names and key not in known_keys:
                        names.add(file[1])
                        known_keys.add(key)
                        yield file, key

    @cached_property
    def seen(self) -> str:
        """The fingerprint of all files: every field of each, and its identity."""
        parts = map(_plain_part, chain.from_iterable(self.walks))
        return digest(marshal.dumps(list(parts), 2))


def _plain_part(part: Part) -> tuple[Any, ...]:
    if isinstance(part, Folder):
        return _plain(part), ()
    file, inode = part
    return _plain(file), inode


def _plain(record: FoundFile | Folder) -> tuple[Any, ...]:
    """All fields of a record, independent of their order, in a form for `marshal`."""
    return tuple(
        tuple(field) if isinstance(field, Place) else field for field in record
    )


class Listing(NamedTuple):
    """The memory files, and what was refused."""

    files: Files
    problems: list[Problem]


def shown(name: str) -> str:
    r"""A file name as text that can be stored and printed: bytes that are not UTF-8 as `\xff`."""
    if name.isascii():
        return name
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def marks(files: Iterable[FoundFile]) -> dict[str, str]:
    """The marks that distinguish files of other repositories from the root's; see
    `plain_id`."""

    @cache
    def repository(folder: str) -> str:
        tree_top = work_tree(Path(folder))
        if not tree_top:
            return ""
        return os.path.realpath(common_dir(tree_top) or tree_top)

    marked = {}
    repositories = {}
    roots = set()
    for file in files:
        if file.tree == "~":
            marked[file.name] = "g:"
        elif file.tree == PRIVATE:
            marked[file.name] = "p:"
        else:
            repositories[file.name] = repository(os.path.dirname(file.path))
            roots.add(repository(file.base))
    other_roots = sorted(set(repositories.values()) - roots)
    for name, repository_path in repositories.items():
        if repository_path in other_roots:
            marked[name] = f"r{other_roots.index(repository_path) + 1}:"
    return marked
