"""The memory files in which something binds, noted for when they are out of view: such a
file goes on to bind as long as it is there. And the archives, for when they are gone
or cannot be read: what was taken back in one is asked of git."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.errors import MemError
from memcli.memory.grammar import is_crowded, uncrowded
from memcli.memory.values import Entry, Place
from memcli.named import NamedTuple
from memcli.project import git
from memcli.project.listing import GUARDED, UNLISTED, Files, FoundFile, Part
from memcli.storage.files import (
    MEMORY_BYTES,
    Unreadable,
    decode_anyhow,
    private_dir,
    read_text,
    state_dir,
    storable,
)
from memcli.text.digests import digest

if TYPE_CHECKING:
    from memcli.memory.parser import KnownFile, MemoryFile

MOST_LOST = 20
MOST_COMMITS = 3
ARCHIVED = "\narchived_at:"
"""A line that only the front matter of an entry in an archive has."""


class OutOfView(Unreadable):
    """A file that is no memory any more, but for what binds in it."""

    severity = "defaulted"

    def __init__(self) -> None:
        why = "is out of view, and read for its guards alone: mem guard --off ID lifts one"
        super().__init__(why)


def _note(base: Path) -> Path:
    """Where it stands which files bind below a root, or in a home folder without one."""
    return state_dir() / GUARDED / f"{digest(os.fsencode(base))}.json"


def _noted(base: Path) -> list[list[str]]:
    with suppress(OSError, ValueError, TypeError, RecursionError, MemError):
        rows = [[*map(str, row)] for row in json.loads(read_text(_note(base)))]
        return [row for row in rows if len(row) == 8]
    return []


def _archives(base: Path) -> list[list[str]]:
    """The rows of the noted archives."""
    return [row for row in _noted(base) if row[3] == "archive"]


def _is_away(path: str) -> bool:
    """Whether a path leads to no file, as after `git rm`, or out by a link."""
    return os.path.islink(path) or not os.path.isfile(path)


class PresentArchive(NamedTuple):
    """An archive in the work tree: whether it is sound, and the ids it speaks for."""

    is_sound: bool
    ids: frozenset[str]


class LostArchive(NamedTuple):
    """A noted archive that is gone, cannot be read, or is not sound, so that git's copy
    speaks for it; but not of `ids`, of which the work tree has something newer."""

    path: str
    name: str
    place: Place
    tree: str
    ids: frozenset[str]


class GitCopy(NamedTuple):
    """What git has of a lost archive; `is_final`: it would say the same again, as long
    as no commit touches the archive."""

    memory: "MemoryFile | None"
    is_final: bool


def with_lost(base: Path, documents: Iterable["KnownFile"]) -> "list[KnownFile]":
    """The memory files, and what git last had of the archives that are lost, which go
    on to speak for what was taken back."""
    from memcli.memory.parser import KnownFile

    known = list(documents)
    present = {
        document.path: PresentArchive(
            is_sound=is_sound(document.memory),
            ids=frozenset(entry.id for entry in document.memory.entries),
        )
        for document in known
        if document.place.store == "archive"
    }
    for lost in lost_archives(base, present):
        if memory := copy_in_git(lost).memory:
            memory = memory._replace(
                entries=tuple(
                    entry for entry in memory.entries if entry.id not in lost.ids
                )
            )
            document = KnownFile(memory, lost.place, writable=False, tree=lost.tree)
            known.append(document)
    return known


def lost_archives(
    base: Path, present: Mapping[str, PresentArchive]
) -> Iterator[LostArchive]:
    """The noted archives that are lost; `present` are those of the work tree by name."""
    rows = (row for row in _archives(base) if _is_lost(row, present))
    for path, name, *place, tree, _ in islice(rows, MOST_LOST):
        yield LostArchive(
            path=path,
            name=name,
            place=Place(*place),
            tree=tree,
            ids=present[name].ids if name in present else frozenset(),
        )


def _is_lost(row: list[str], present: Mapping[str, PresentArchive]) -> bool:
    path, name, *_, inside = row
    if name in present:
        return not present[name].is_sound
    try:
        return is_crowded(read_text(path, inside))
    except Unreadable:
        return True


def is_sound(memory: "MemoryFile") -> bool:
    """Whether an archive has entries, and none that is only text: behind a fence, or
    in front matter that is not closed."""
    archived = [entry for entry in memory.entries if "archived_at" in entry.extra]
    spoken_for = sum(_marks_of(entry, memory.text) for entry in archived)
    return bool(archived) and spoken_for >= memory.text.count(ARCHIVED)


def _marks_of(entry: Entry, text: str) -> int:
    """How many marks an entry explains: its own, and those that its body quotes where
    its digest says that this body was archived. Any other may be a lost entry."""
    marks = text.count(ARCHIVED, entry.start, entry.end)
    is_as_written = "written" in entry.extra and not entry.touched
    return marks if is_as_written else min(marks, 1)


def copy_in_git(lost: LostArchive) -> GitCopy:
    """An archive as git last had it: of each entry the newest text, back to the newest
    revision that is sound. Where none is, the newest alone."""
    from memcli.memory.parser import parse

    top = git.work_tree(Path(lost.path).parent)
    if not top:
        return GitCopy(memory=None, is_final=False)
    is_final = not git.lacking(top)
    newest = None
    entries = list[Entry]()
    for text in _last_texts(top, lost.path):
        if text is None:
            is_final = False
            continue
        memory = parse(text, lost.name)
        known = {entry.id for entry in entries}
        entries += [entry for entry in memory.entries if entry.id not in known]
        if is_sound(memory):
            memory = memory._replace(entries=tuple(entries))
            return GitCopy(memory=memory, is_final=is_final)
        newest = newest or memory
    return GitCopy(memory=newest, is_final=is_final)


def _last_texts(top: Path, path: str) -> Iterator[str | None]:
    """A file as HEAD has it, then as the newest commits that changed it have it and as
    it was before each; None where git does not say."""
    last = ""
    for revision in _revisions(top, path):
        text = _text_at(top, revision, path) if revision else revision
        if text is None:
            yield None
        elif text and text != last:
            data = text.encode("utf-8", "surrogateescape")
            yield uncrowded(decode_anyhow(data)[:MEMORY_BYTES])
            last = text


def _revisions(top: Path, path: str) -> Iterator[str | None]:
    """Where a file may stand in history, the newest first; None if git does not say.
    Each commit may be as far away as the first: it is looked for only when the text
    after it was not enough."""
    yield "HEAD"
    for number in range(MOST_COMMITS):
        commit = _last_commit(top, path, f"--skip={number}")
        if not commit:
            yield commit
            return
        yield commit
        yield f"{commit}^"


def _text_at(top: Path, revision: str, path: str) -> str | None:
    """A file at a revision, "" if it is not there; None if git does not say."""
    with suppress(OSError):
        said = git.run(("show", f"{revision}:{os.path.relpath(path, top)}"), top)
        if said.returncode in (0, 128):
            return said.stdout
    return None


def _last_commit(top: Path, path: str, *options: str) -> str | None:
    """The newest commit that changed a file, "" if there is none; None if git does not
    say."""
    name = f":(top,literal){os.path.relpath(path, top)}"
    said = git.ask(top, "log", "-1", "--format=%H", *options, "--", name)
    return said if said is None else said.strip()


def unchanged_head(path: str, since: str) -> tuple[str, bool]:
    """The commit of HEAD, and whether no commit between it and `since` changed a file:
    what git has of it is then the same."""
    top = git.work_tree(Path(path).parent)
    head = (git.ask(top, "rev-parse", "HEAD") or "").strip() if top else ""
    if not (top and head and since):
        return head, False
    if head == since:
        return head, True
    changed_by = _last_commit(top, path, f"{head}...{since}")
    return head, changed_by == ""


def note_bound(base: Path, files: Iterable[FoundFile]) -> None:
    """Keep in mind in which files something binds, and which archives there are;
    nothing is written where that is known, or cannot be."""
    rows = [
        [file.path, file.name, *file.place[:-1], file.tree, file.base] for file in files
    ]
    names = {row[1] for row in rows}
    away = (row for row in _archives(base) if row[1] not in names and _is_away(row[0]))
    rows += islice(away, MOST_LOST)
    text = json.dumps(rows)
    with suppress(OSError, MemError):
        path = _note(base)
        if not rows and not path.exists():
            return
        if not path.exists() or read_text(path) != text:
            from memcli.storage.durable import write_output  # hooks rarely write

            private_dir(path.parent)
            write_output(path, text, mode=0o600)


def unlisted(base: Path, listed: Files) -> list[Part]:
    """The noted files that are there, but not among those that are listed."""
    rows = _noted(base)
    names = {file.name for file in listed} if rows else set()
    parts: list[Part] = []
    for row in rows:
        with suppress(OSError, ValueError):
            path, name, level, store, job, task, tree, inside = row
            if name in names or store == "archive":
                continue
            status = os.lstat(path)  # a link to itself is there, too
            place = Place(level=level, store=store, job=job, task=task, of=UNLISTED)
            file = FoundFile(
                path=path,
                name=name,
                place=place,
                tree=tree,
                mtime=storable(status.st_mtime_ns),
                size=status.st_size,
                base=inside,
                found=True,
            )
            parts.append((file, (status.st_dev, status.st_ino, tree)))
    return parts
