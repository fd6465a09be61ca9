"""What `mem doctor --fix` mends: all of it is derived, or can be undone."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.diagnostics.installation import abandoned, unfinished
from memcli.diagnostics.repository import driver_fault
from memcli.diagnostics.scene import (
    FAIL,
    MALFORMED,
    TO_COME,
    WARN,
    Check,
    Document,
    IndexState,
    Scene,
    count,
    named_files,
    read_document,
)
from memcli.errors import DataError, MemError, RefusedError
from memcli.memory.conflicts import conflict_lines
from memcli.memory.editor import EntryChange, edited
from memcli.memory.grammar import derived_id
from memcli.memory.values import Patch
from memcli.project import git
from memcli.storage import durable
from memcli.storage.files import Unreadable
from memcli.text.secrets import find_secrets


class Mended(NamedTuple):
    """What was mended, one line each, the patches of it, and a row for each attempt that failed."""

    done: Sequence[str] = ()
    patches: Sequence[Patch] = ()
    failed: Sequence[Check] = ()


Remedy = Callable[[Scene, bool], Mended]


def mend(
    app: App, files: Sequence[str], remedies: Mapping[str, Remedy], *, dry_run: bool
) -> Mended:
    """Try every remedy; one that fails is a row and does not keep the others from being tried."""
    done: list[str] = []
    patches: list[Patch] = []
    failed: list[Check] = []
    for name, remedy in remedies.items():
        try:
            one = remedy(Scene(app, files), dry_run)
        except MemError as error:
            failed.append(Check(name, _gravity(name), f"not mended: {error.what}", error.hint))
        except Exception as error:  # of the system or of SQLite
            failed.append(Check(name, _gravity(name), f"not mended: {error}", "mend what it names"))
        else:
            done += one.done
            patches += one.patches
            failed += one.failed
    return Mended(done, patches, failed)


def _gravity(name: str) -> str:
    return FAIL if name == "index" else WARN


def mend_leftovers(scene: Scene, dry_run: bool) -> Mended:
    """Finish interrupted writes, and remove what their writers left."""
    app = scene.app
    journals, temps = unfinished(app), abandoned(app)
    if not journals and not temps:
        return Mended()
    if dry_run:
        return Mended(
            [
                *["finish an interrupted write" for _ in journals],
                *(f"remove {temp}" for temp in temps),
            ]
        )
    report = app.workspace.recover()
    with app.workspace.hold("doctor"):
        durable.sweep({Path(temp).parent for temp in temps})
    app.project.relist()
    done = [f"finished an interrupted write of {name}" for name in report.recovered]
    done += [
        f"set aside what was meant for {kept.path}: {kept.copy}"
        for kept in report.kept
        if kept.copy
    ]
    done += [
        "moved a journal aside that cannot be read"
        for path in journals
        if not path.exists() and not done
    ]
    return Mended([*done, *(f"removed {temp}" for temp in temps if not os.path.exists(temp))])


def mend_ids(scene: Scene, dry_run: bool) -> Mended:
    """Give every entry without an id the one it goes by."""
    return scene.app.write(lambda: _plan_ids(scene), "doctor", dry_run=dry_run)


def _plan_ids(scene: Scene) -> Mended:
    app = scene.app
    found = named_files(app, scene.files) if scene.files else app.project.listing.files
    files = [
        file for file in found if file.place.store != "archive" and app.project.may_write(file)
    ]
    done, patches, failed = [], [], []
    for file in files:
        try:
            document = read_document(file)
            after = edited(document.memory, _changes(document)).text
        except Unreadable:
            continue  # a row of its own says so
        except DataError as error:
            failed.append(Check("ids", WARN, f"not mended: {error.what}", error.hint, file.name))
            continue
        if after != document.memory.text:
            missing = sum(not entry.identified for entry in document.memory.entries)
            done.append(f"wrote {count(missing, 'id')} into {file.name}")
            patches.append(Patch(file.path, document.memory.text, after))
    return Mended(done, patches, failed)


def _changes(document: Document) -> list[EntryChange]:
    """The id of each entry without one.

    A file with a conflict is left alone, and one with a secret: undo would keep a copy of it.
    """
    memory = document.memory
    missing = [(at, entry) for at, entry in enumerate(memory.entries) if not entry.identified]
    if not missing or conflict_lines(memory.text) or find_secrets(memory.text):
        return []
    taken = {entry.id for entry in memory.entries if entry.identified}
    changes = []
    for at, entry in missing:
        name = entry.id
        while name in taken:
            name = derived_id(memory.path, name)
        taken.add(name)
        changes.append(EntryChange(at, {"id": name}))
    return changes


def mend_ignored(scene: Scene, dry_run: bool) -> Mended:
    """Let git ignore derived and private files, through .git/info/exclude."""
    repository, root = scene.repository, scene.app.project.root
    if root is None or repository.top is None or not repository.bare:
        return Mended()
    names = [name for name in repository.bare if name not in TO_COME]
    own = [
        _pattern(os.path.normpath(os.path.relpath(root / name, repository.top))) for name in names
    ]
    ours = (*git.EXCLUDED, *git.MOMENTS) if len(names) < len(repository.bare) else ()
    if not dry_run:
        git.exclude(repository.top, (*ours, *own))
    return Mended([f"let git ignore {', '.join(repository.bare)} (.git/info/exclude)"])


def _pattern(name: str) -> str:
    """A line of an exclude file that means this one path; the whole folder of private tasks."""
    folder = os.path.dirname(name)
    whole = folder + "/" if os.path.basename(folder) == "proxy-tasks" else name
    return "/" + re.sub(r"([*?\[\\])", r"\\\1", whole)


def mend_merge_driver(scene: Scene, dry_run: bool) -> Mended:
    """Make the merge driver that .gitattributes names known to git."""
    repository = scene.repository
    if repository.top is None or not driver_fault(repository):
        return Mended()
    return Mended(git.register_driver(repository.top, dry_run=dry_run))


def mend_index(scene: Scene, dry_run: bool) -> Mended:
    """Build a broken index anew, bring a stale one up."""
    app, state = scene.app, scene.index
    if not state.there or state.busy or not (state.broken or state.behind):
        return Mended()
    what = "built the index anew" if state.broken else "brought the index up to date"
    if not dry_run:
        _rebuild(app, state)
    return Mended([f"{what} ({state.path})"])


def _rebuild(app: App, state: IndexState) -> None:
    told, index = (
        len(app.notes),
        app.index,
    )  # opening it moves aside what is no index of ours, with a note
    if MALFORMED in state.broken and len(app.notes) == told:
        index.repair(index.db.DatabaseError(state.broken))
    if app.refresh().busy:
        raise RefusedError(f"the index is busy ({state.path})", "run mem doctor --fix again")


def mend_state(scene: Scene, dry_run: bool) -> Mended:
    """Move a damaged state file aside: what it held is only who was told what, and what waits."""
    from memcli.storage.folders import state_dir
    from memcli.storage.state import is_sound, set_aside

    if is_sound(state_dir() / "state.db"):
        return Mended()
    kept = None if dry_run else set_aside(state_dir())
    return Mended([f"moved a damaged state file aside ({kept or state_dir() / 'state.db'})"])


REMEDIES: dict[str, Remedy] = {
    "leftovers": mend_leftovers,
    "ids": mend_ids,
    "ignored": mend_ignored,
    "index": mend_index,
    "merge-driver": mend_merge_driver,
    "state": mend_state,
}
