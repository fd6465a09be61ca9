"""The memory files in which something binds, noted for when they are out of view: such a
file goes on to bind as long as it is there."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from memcli.errors import MemError
from memcli.memory.values import Place
from memcli.project.listing import GUARDED, UNLISTED, Files, FoundFile, Part
from memcli.storage.files import (
    Unreadable,
    private_dir,
    read_text,
    state_dir,
    storable,
)
from memcli.text.digests import digest


class OutOfView(Unreadable):
    """A file that is no memory any more, but for what binds in it."""

    severity = "defaulted"

    def __init__(self) -> None:
        why = "is out of view, and read for its guards alone: mem guard --off ID lifts one"
        super().__init__(why)


def _note(base: Path) -> Path:
    """Where it stands which files bind below a root, or in a home folder without one."""
    return state_dir() / GUARDED / f"{digest(os.fsencode(base))}.json"


def note_bound(base: Path, files: Iterable[FoundFile]) -> None:
    """Keep in mind in which files something binds; nothing is written where that is
    known, or cannot be."""
    rows = [
        [file.path, file.name, *file.place[:-1], file.tree, file.base] for file in files
    ]
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
    rows = []
    with suppress(OSError, ValueError, RecursionError, MemError):
        rows = json.loads(read_text(_note(base)))
    names = {file.name for file in listed} if rows else set()
    parts: list[Part] = []
    for row in rows:
        with suppress(OSError, ValueError, TypeError):
            path, name, level, store, job, task, tree, inside = map(str, row)
            if name in names:
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
