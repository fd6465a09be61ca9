"""The record of what was said and committed: whether it is whole, and whose records are orphaned."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memcli.diagnostics.document import FAIL, INFO, PASS, Check
from memcli.diagnostics.scene import Scene, count
from memcli.errors import DataError
from memcli.history.record import folder_of, opened, path_of
from memcli.storage.folders import state_dir


def check_history(scene: Scene) -> Iterator[Check]:
    """This repository's record, and those of repositories that are gone."""
    app = scene.app
    path = path_of(app.project.root, state_dir()) if app.project.root is not None else None
    if not app.project.config.history:
        yield Check("history", INFO, "switched off (history = false)")
    elif path is None or not path.exists():
        hint = "mem index --history" if path is not None else ""
        yield Check("history", INFO, "nothing of what was said and committed is kept yet", hint)
    else:
        yield _record(path)
    gone = [
        name
        for name in sorted(folder_of(state_dir()).glob("*.db"))
        if name != path and _orphan(name)
    ]
    if gone:
        names = ", ".join(f"{each.stem} ({_root(each)})" for each in gone[:5])
        hint = "in the repository's new place: mem index --history --from KEY; else delete the file"
        what = f"{count(len(gone), 'record')} of repositories that are gone: {names}"
        yield Check("history", INFO, what, hint, str(gone[0]))


def _record(path: Path) -> Check:
    try:
        with opened(path, wait=2.0) as record:
            assert record is not None
            fault = record.fault()
            counts, size = record.counts(), record.bytes()
    except DataError as error:
        return Check("history", FAIL, error.what, error.hint, str(path))
    if fault:
        hint = "move it away; mem index --history reads what agents still keep"
        return Check("history", FAIL, f"the record is damaged: {fault}", hint, str(path))
    what = (
        f"{count(counts['sessions'], 'session')} and {count(counts['commits'], 'commit')},"
        f" {size / (1 << 20):.1f} MB"
    )
    return Check("history", PASS, what, path=str(path))


def _orphan(path: Path) -> bool:
    root = _root(path)
    return bool(root) and not os.path.isdir(root)


def _root(path: Path) -> str:
    try:
        with opened(path, wait=0.2) as record:
            return record.note("root") if record is not None else ""
    except DataError:
        return ""
