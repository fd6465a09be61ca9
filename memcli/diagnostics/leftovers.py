"""What an interrupted write left behind."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from memcli.app import App
from memcli.diagnostics.document import PASS, WARN, Check
from memcli.diagnostics.scene import Scene, shown_name
from memcli.storage import durable, folders
from memcli.storage.files import Unreadable, read_file


def check_leftovers(scene: Scene) -> Iterator[Check]:
    """Interrupted writes, and temporary files whose writer is no more."""
    journals, temps = unfinished(scene.app), abandoned(scene.app)
    for journal in journals:
        what = "a write was interrupted"
        yield Check(
            "leftovers", WARN, what, "mem doctor --fix (so does the next write)", str(journal)
        )
    for temp in temps:
        what = "a temporary file was left behind"
        yield Check("leftovers", WARN, what, "mem doctor --fix", shown_name(scene.app, temp))
    if not journals and not temps:
        yield Check("leftovers", PASS, "no interrupted write")


def unfinished(app: App) -> list[Path]:
    """Journals of this root, and those that nobody can read."""
    own = str(app.project.root.resolve()) if app.project.root else ""
    folder = folders.state_dir() / "pending"
    return [path for path in sorted(folder.glob("*.json")) if _journal_root(path) in (own, None)]


def _journal_root(path: Path) -> str | None:
    try:
        return str(json.loads(read_file(path).data)["root"])
    except (Unreadable, ValueError, KeyError, TypeError):
        return None


def abandoned(app: App) -> list[str]:
    """Temporary files beside memory files whose writer is no more."""
    folders = dict.fromkeys(os.path.dirname(file.path) for file in app.project.listing.files)
    folders |= dict.fromkeys(
        str(folder) for folder in (app.project.root, app.project.home) if folder is not None
    )
    return [
        os.path.join(folder, name)
        for folder in folders
        for name in _names(folder)
        if durable.is_stale(name)
    ]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
