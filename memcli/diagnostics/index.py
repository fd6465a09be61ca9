"""The index: whether it can be used, is up to date, and has the vectors it should have."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from memcli.app import App
from memcli.diagnostics.scene import (
    FAIL,
    INFO,
    PASS,
    WARN,
    Check,
    IndexState,
    Scene,
    count,
    text_of,
)
from memcli.errors import MemError
from memcli.index.database import Index
from memcli.storage.files import open_file, why


def check_index(scene: Scene) -> Iterator[Check]:
    """Whether the index can be used and is up to date."""
    app, state = scene.app, scene.index
    if state.there:
        yield Check("index", INFO, _facts(state.path), path=str(state.path))
    if not state.there:
        hint = "mem index" if app.project.listing.files else ""
        yield Check("index", INFO, "no index yet: the first recall builds it", hint)
    elif state.broken:
        yield _broken(state)
    elif state.busy:
        hint = "wait for the other process to end, then run mem doctor again"
        yield Check("index", WARN, "the index is locked by another process", hint, str(state.path))
    elif state.behind and not _just_written(app, state.behind):
        names = ", ".join(state.behind[:5]) + (" …" if len(state.behind) > 5 else "")
        what = f"{count(len(state.behind), 'file')} changed since it was built: {names}"
        yield Check("index", WARN, what, "mem index (recall does it by itself)", str(state.path))
    else:
        yield Check(
            "index", PASS, "up to date" if not state.behind else "behind by the last write of mem"
        )


def _broken(state: IndexState) -> Check:
    what = f"the index cannot be used: {state.broken}"
    if os.access(state.path.parent, os.W_OK):
        return Check(
            "index", WARN, what, "mem doctor --fix (no memory is lost with it)", str(state.path)
        )
    hint = f"make {state.path.parent} writable, or name another file with MEM_DB"
    return Check("index", FAIL, what, hint, str(state.path))


def _facts(path: Path) -> str:
    """Size and journal mode, as the file's own header tells it."""
    try:
        with open_file(path) as file:
            header = file.read(20)
        size = sum(
            os.path.getsize(f"{path}{end}")
            for end in ("", "-wal")
            if os.path.exists(f"{path}{end}")
        )
    except OSError as error:
        return f"cannot be read: {why(error)}"
    known = header.startswith(b"SQLite format 3\0") and len(header) == 20
    mode = ("WAL" if header[18] == 2 else "rollback") if known else "unknown"
    return f"{size / 1e6:.1f} MB, journal mode {mode}"


def _just_written(app: App, behind: Sequence[str]) -> bool:
    """Whether the last write of mem itself is all that the index has not seen."""
    try:
        last = app.workspace.last_write()
    except MemError:
        return False
    written = {os.path.realpath(patch.path): patch.before for patch in last.patches} if last else {}
    return all(
        (path := os.path.realpath(app.project.path_of(name))) in written
        and text_of(path) == written[path]
        for name in behind
    )


def check_vectors(scene: Scene, name: str) -> Iterator[Check]:
    """Whether the vectors in the index are those of the embedder, and all there."""
    app, state = scene.app, scene.index
    if not state.there or state.broken or state.busy or not app.project.listing.files:
        return
    path = str(state.path)
    index = Index(state.path, [], look=True)
    try:
        made, (have, should) = index.vectors.state(), index.vectors.count(app.chosen)
    finally:
        index.close()
    if made is not None and made.name != name:
        what = f"the vectors in the index are of another model ({made.name})"
        yield Check("vectors", FAIL, what, "mem index makes them anew", path)
    elif have < should:
        yield Check(
            "vectors", WARN, f"{should - have} of {should} chunks have no vector", "mem index", path
        )
    else:
        yield Check("vectors", PASS, f"all of {count(should, 'chunk')}")
