"""The memory files in which something binds, noted for when they are out of view: such a
file goes on to bind as long as it is there. And the archives, for when they are gone:
what was taken back in one is asked of git."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memcli.errors import MemError
from memcli.memory.grammar import uncrowded
from memcli.memory.values import Place
from memcli.project import git
from memcli.project.listing import GUARDED, UNLISTED, Files, FoundFile, Part
from memcli.storage.files import (
    MEMORY_BYTES,
    Unreadable,
    private_dir,
    read_text,
    state_dir,
    storable,
)
from memcli.text.digests import digest

if TYPE_CHECKING:
    from memcli.memory.parser import KnownFile

MOST_LOST = 20


class OutOfView(Unreadable):
    """A file that is no memory any more, but for what binds in it."""

    severity = "defaulted"

    def __init__(self) -> None:
        why = "is out of view, and read for its guards alone: mem guard --off ID lifts one"
        super().__init__(why)


def _note(base: Path) -> Path:
    """Where it stands which files bind below a root, or in a home folder without one."""
    return state_dir() / GUARDED / f"{digest(os.fsencode(base))}.json"


def _noted(base: Path) -> list[Any]:
    with suppress(OSError, ValueError, RecursionError, MemError):
        return list(json.loads(read_text(_note(base))))
    return []


def _lost(base: Path) -> list[Any]:
    """The noted archives that are there no more."""
    with suppress(TypeError, IndexError, ValueError):
        rows = [row for row in _noted(base) if row[3] == "archive"]
        return [row for row in rows if not os.path.lexists(row[0])][:MOST_LOST]
    return []


def lost_archives(base: Path) -> "Iterator[KnownFile]":
    """The archives that were removed or renamed since they were noted, as git last had
    them."""
    from memcli.memory.parser import KnownFile, parse

    for path, name, *place, tree, _ in _lost(base):
        if text := _last_text(path):
            yield KnownFile(parse(text, name), Place(*place), writable=False, tree=tree)


def _last_text(path: str) -> str:
    """A file that is gone as the newest commit that changed it has it, or had it
    before."""
    top = git.work_tree(Path(path).parent)
    if not top:
        return ""
    name = os.path.relpath(path, top)
    asked = ("log", "-1", "--format=%H", "--", f":(top,literal){name}")
    commit = (git.ask(top, *asked) or "").strip()
    revisions = [commit, f"{commit}^"] if commit else []
    texts = (git.ask(top, "show", f"{revision}:{name}") for revision in revisions)
    text = next(filter(None, texts), "")
    return uncrowded(text[:MEMORY_BYTES])


def note_bound(base: Path, files: Iterable[FoundFile]) -> None:
    """Keep in mind in which files something binds, and which archives there are;
    nothing is written where that is known, or cannot be."""
    rows = [
        [file.path, file.name, *file.place[:-1], file.tree, file.base] for file in files
    ]
    rows += _lost(base)
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
        with suppress(OSError, ValueError, TypeError):
            path, name, level, store, job, task, tree, inside = map(str, row)
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
