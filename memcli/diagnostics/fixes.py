"""What mem doctor --fix fixes: what is derived or can be undone."""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from memcli.app import App
from memcli.diagnostics.repository import driver_fault
from memcli.diagnostics.scene import (
    MALFORMED,
    TO_COME,
    Check,
    Mended,
    Remedy,
    Scene,
    failure,
    named_files,
    passed,
    shown_name,
    warning,
)
from memcli.diagnostics.stale import mend_names
from memcli.errors import DataError, MemError, RefusedError
from memcli.install.repository import set_driver
from memcli.memory.changes import EntryChange, edited
from memcli.memory.grammar import conflict_lines, derived_id
from memcli.memory.parser import KnownFile
from memcli.memory.values import Patch
from memcli.memory.words import count
from memcli.project import git
from memcli.storage import durable, files
from memcli.storage.files import Unreadable, read_file
from memcli.text.secrets import find_secrets

OLD_LOCK = 600
"""Seconds after which a git lock may be left over from a dead process."""


def mend(app: App, names: Sequence[str], remedies: Mapping[str, Remedy]) -> Mended:
    """Try every remedy; one that fails becomes a row, and the others are still
    tried."""
    mended_lines: list[str] = []
    patches: list[Patch] = []
    failed: list[Check] = []
    for name, remedy in remedies.items():
        try:
            mended = remedy(Scene(app, names))
            mended_lines += mended.done
            patches += mended.patches
            failed += mended.failed
        except Exception as error:  # including errors of the system and SQLite
            detail = str(error)
            hint = "fix what it names"
            if isinstance(error, MemError):
                detail = error.what
                hint = error.hint
            row = failure if name == "index" else warning
            failed.append(row(name, f"not fixed: {detail}", hint=hint))
    return Mended(mended_lines, patches, failed)


def check_leftovers(scene: Scene) -> Iterator[Check]:
    """Interrupted writes, and temporary files whose writer has died."""
    rows = _leftovers(scene.app)
    for message, path in rows:
        where = shown_name(scene.app, path)
        hint = "mem doctor --fix (the next write does it, too)"
        yield warning("leftovers", message, hint=hint, path=where)
    lock = _lock_of_git(scene.app)
    if lock is not None:
        message = "a git lock is older than ten minutes"
        hint = f"if no git is running here: rm {lock}"
        yield warning(
            "leftovers", message, hint=hint, path=shown_name(scene.app, str(lock))
        )
    if not rows and lock is None:
        yield passed("leftovers", "no interrupted write")


def _lock_of_git(app: App) -> Path | None:
    """The index lock that a killed git left. It is only reported, since only git knows
    what it was for."""
    root = app.project.root
    folder = git.git_dir(root) if root else None
    with suppress(OSError):
        if folder is not None:
            age = time.time() - os.lstat(folder / "index.lock").st_mtime
            return folder / "index.lock" if age > OLD_LOCK else None
    return None


def _leftovers(app: App) -> list[tuple[str, str]]:
    """Journals of this root or of an unknown one, and files of dead writers beside
    memory."""
    root = app.project.root
    own_root = str(root.resolve() if root else "")
    leftovers = []
    for path in sorted((files.state_dir() / "pending").glob("*.json")):
        if _root_of(path) in (own_root, None):
            leftovers.append(("a write was interrupted", str(path)))
    folders = {os.path.dirname(file.path) for file in app.project.listing.files}
    folders |= {str(folder) for folder in (root, app.project.home) if folder}
    with suppress(OSError):
        folders |= {entry.path for entry in os.scandir(files.state_dir())}
    for folder in sorted(folders):
        with suppress(OSError):
            for name in filter(durable.is_stale, sorted(os.listdir(folder))):
                message = "a temporary file was left behind"
                leftovers.append((message, f"{folder}/{name}"))
    return leftovers


def _root_of(journal: Path) -> object:
    """The root that an interrupted write belongs to; None if unknown."""
    with suppress(Unreadable, ValueError, KeyError, TypeError):
        return json.loads(read_file(journal).data)["root"]
    return None


def _mend_leftovers(scene: Scene) -> Mended:
    app = scene.app
    rows = _leftovers(scene.app)
    if not rows or app.dry_run:
        return Mended([f"fix that {what}: {path}" for what, path in rows])
    recovered = app.workspace.recover()
    with app.workspace.hold("doctor"):
        durable.sweep({Path(path).parent for _, path in rows})
    app.project.relist()
    removed = [path for _, path in rows if not os.path.exists(path)]
    return Mended([*recovered, *(f"removed {path}" for path in removed)])


def mend_ids(scene: Scene) -> Mended:
    """Give every entry without an id the one it is known by."""
    return scene.app.write(lambda: _plan_ids(scene), "doctor")


def _plan_ids(scene: Scene) -> Mended:
    project = scene.app.project
    failed = []
    written_lines = []
    patches = []
    chosen = named_files(scene.app, scene.files) or project.listing.files
    listed = {file.name: file for file in chosen}
    for document in scene.documents:
        file = listed[document.path]
        memory = document.memory
        changes = _missing_ids(document)
        if file.place.store == "archive" or not changes or not project.may_write(file):
            continue
        try:
            patches.append(Patch(file.path, memory.text, edited(memory, changes).text))
            written_lines.append(f"wrote {count(len(changes), 'id')} into {file.name}")
        except DataError as error:
            message = f"not fixed: {error.what}"
            failed.append(warning("ids", message, hint=error.hint, path=file.name))
    return Mended(written_lines, patches, failed)


def _missing_ids(document: KnownFile) -> list[EntryChange]:
    """The id for each entry without one; none if undo would keep a copy of a secret."""
    memory = document.memory
    taken_ids = {entry.id for entry in memory.entries if entry.identified}
    if all(entry.identified for entry in memory.entries):
        return []
    if conflict_lines(memory.text) or find_secrets(memory.text):
        return []
    changes = []
    for number, entry in enumerate(memory.entries):
        if not entry.identified:
            name = entry.id
            while name in taken_ids:
                name = derived_id(memory.path, name)
            taken_ids.add(name)
            changes.append(EntryChange(number, {"id": name}))
    return changes


def _mend_ignored(scene: Scene) -> Mended:
    top = scene.repository.top
    unignored = scene.repository.bare
    root = scene.app.project.root
    if root is None or top is None or not unignored:
        return Mended()
    patterns = []
    if not set(unignored).isdisjoint(TO_COME):
        patterns += [*git.EXCLUDED, *git.MOMENTS]
    for name in unignored:
        if name not in TO_COME:
            patterns.append(_ignore_pattern(os.path.relpath(root / name, top)))
    if not scene.app.dry_run:
        git.exclude(top, patterns)
    return Mended([f"made git ignore {', '.join(unignored)} (.git/info/exclude)"])


def _ignore_pattern(path: str) -> str:
    """The ignore pattern for a private file; one covers the whole folder of tasks."""
    folder = os.path.dirname(path)
    whole = f"{folder}/" if os.path.basename(folder) == "proxy-tasks" else path
    return "/" + re.sub(r"([*?\[\\])", r"\\\1", whole)


def _mend_merge_driver(scene: Scene) -> Mended:
    top = scene.repository.top
    if top is None or not driver_fault(scene.repository):
        return Mended()
    return Mended(set_driver(top, dry_run=scene.app.dry_run))


def _mend_index(scene: Scene) -> Mended:
    app = scene.app
    state = scene.index
    is_due = state.broken or state.behind
    if not state.there or state.busy or not is_due:
        return Mended()
    if not app.dry_run:
        # a file that is not an index of mem is moved aside and reported
        notes_before = len(app.notes)
        index = app.index
        if MALFORMED in state.broken and len(app.notes) == notes_before:
            index.repair(index.db.DatabaseError(state.broken))
        if app.refresh().busy:
            message = f"the index is busy ({state.path})"
            raise RefusedError(message, "run mem doctor --fix again")
    message = "rebuilt the index" if state.broken else "brought the index up to date"
    return Mended([f"{message} ({state.path})"])


def _mend_state(scene: Scene) -> Mended:
    path = files.state_dir() / "state.db"
    if durable.is_sound(path):
        return Mended()
    kept = None if scene.app.dry_run else durable.set_aside(path.parent)
    return Mended([f"moved a damaged state file aside ({kept or path})"])


REMEDIES: dict[str, Remedy] = {
    "leftovers": _mend_leftovers,
    "ids": mend_ids,
    "ignored": _mend_ignored,
    "index": _mend_index,
    "merge-driver": _mend_merge_driver,
    "state": _mend_state,
    "stale": mend_names,
}
