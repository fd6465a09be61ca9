"""What interrupted writes left, and what `mem doctor --fix` mends: derived, or undone at will."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.diagnostics.installation import driver_fault
from memcli.diagnostics.scene import (
    MALFORMED,
    TO_COME,
    Check,
    Document,
    Scene,
    count,
    named_files,
    shown_name,
)
from memcli.errors import DataError, MemError, RefusedError
from memcli.memory.changes import EntryChange, edited
from memcli.memory.grammar import conflict_lines, derived_id
from memcli.memory.values import Patch
from memcli.project import git
from memcli.storage import durable, files
from memcli.storage.files import Unreadable, read_file
from memcli.text.secrets import find_secrets


def check_leftovers(scene: Scene) -> Iterator[Check]:
    """Interrupted writes, and temporary files whose writer is no more."""
    journals, temps = unfinished(scene.app), abandoned(scene.app)
    rows = [("a write was interrupted", str(journal)) for journal in journals]
    rows += [("a temporary file was left behind", shown_name(scene.app, temp)) for temp in temps]
    for what, where in rows:
        yield Check("leftovers", "WARN", what, "mem doctor --fix (so does the next write)", where)
    if not rows:
        yield Check("leftovers", "PASS", "no interrupted write")


def unfinished(app: App) -> list[Path]:
    """Journals of this root, and those that nobody can read."""
    own = str(app.project.root.resolve()) if app.project.root else ""

    def root_of(path: Path) -> str:
        with suppress(Unreadable, ValueError, KeyError, TypeError):
            return str(json.loads(read_file(path).data)["root"])
        return own

    return [p for p in sorted((files.state_dir() / "pending").glob("*.json")) if root_of(p) == own]


def abandoned(app: App) -> list[str]:
    """Temporary files beside memory files whose writer is no more."""
    project, found = app.project, list[str]()
    folders = [os.path.dirname(file.path) for file in project.listing.files]
    for folder in dict.fromkeys([*folders, *map(str, filter(None, (project.root, project.home)))]):
        with suppress(OSError):
            names = filter(durable.is_stale, sorted(os.listdir(folder)))
            found += [os.path.join(folder, name) for name in names]
    return found


class Mended(NamedTuple):
    """What was mended, one line each, the patches of it, and a row for each attempt that failed."""

    done: Sequence[str] = ()
    patches: Sequence[Patch] = ()
    failed: Sequence[Check] = ()


Remedy = Callable[[Scene, bool], Mended]


def mend(
    app: App, names: Sequence[str], remedies: Mapping[str, Remedy], *, dry_run: bool
) -> Mended:
    """Try every remedy; one that fails is a row and does not keep the others from being tried."""
    done, patches, failed = list[str](), list[Patch](), list[Check]()
    for name, remedy in remedies.items():
        try:
            mended = remedy(Scene(app, names), dry_run)
        except Exception as error:  # of the system or of SQLite, too
            what, hint = str(error), "mend what it names"
            if isinstance(error, MemError):
                what, hint = error.what, error.hint
            row = Check(name, "FAIL" if name == "index" else "WARN", f"not mended: {what}", hint)
            mended = Mended(failed=[row])
        done += mended.done
        patches += mended.patches
        failed += mended.failed
    return Mended(done, patches, failed)


def mend_leftovers(scene: Scene, dry_run: bool) -> Mended:
    """Finish interrupted writes, and remove what their writers left."""
    app = scene.app
    journals, temps = unfinished(app), abandoned(app)
    if not journals and not temps:
        return Mended()
    if dry_run:
        finish = ["finish an interrupted write"] * len(journals)
        return Mended([*finish, *(f"remove {temp}" for temp in temps)])
    report = app.workspace.recover()
    with app.workspace.hold("doctor"):
        durable.sweep({Path(temp).parent for temp in temps})
    app.project.relist()
    done = [f"finished an interrupted write of {name}" for name in report.recovered]
    done += [f"set aside what was meant for {k.path}: {k.copy}" for k in report.kept if k.copy]
    gone = [] if done else [path for path in journals if not path.exists()]
    done += ["moved a journal aside that cannot be read"] * len(gone)
    return Mended([*done, *(f"removed {temp}" for temp in temps if not os.path.exists(temp))])


def mend_ids(scene: Scene, dry_run: bool) -> Mended:
    """Give every entry without an id the one it goes by."""
    return scene.app.write(lambda: _plan_ids(scene), "doctor", dry_run=dry_run)


def _plan_ids(scene: Scene) -> Mended:
    project, failed = scene.app.project, list[Check]()
    done, patches = list[str](), list[Patch]()
    listed = {f.name: f for f in named_files(scene.app, scene.files) or project.listing.files}
    for document in scene.documents:
        file, memory, changes = listed[document.path], document.memory, _changes(document)
        if file.place.store == "archive" or not changes or not project.may_write(file):
            continue
        try:
            after = edited(memory, changes).text
        except DataError as error:
            failed.append(Check("ids", "WARN", f"not mended: {error.what}", error.hint, file.name))
        else:
            done.append(f"wrote {count(len(changes), 'id')} into {file.name}")
            patches.append(Patch(file.path, memory.text, after))
    return Mended(done, patches, failed)


def _changes(document: Document) -> list[EntryChange]:
    """The id of each entry without one; none where undo would keep a copy of a secret."""
    memory, changes = document.memory, list[EntryChange]()
    if all(entry.identified for entry in memory.entries):
        return []
    if conflict_lines(memory.text) or find_secrets(memory.text):
        return []
    taken = {entry.id for entry in memory.entries if entry.identified}
    for at, entry in enumerate(memory.entries):
        name = entry.id
        while name in taken and not entry.identified:
            name = derived_id(memory.path, name)
        if not entry.identified:
            taken.add(name)
            changes.append(EntryChange(at, {"id": name}))
    return changes


def mend_ignored(scene: Scene, dry_run: bool) -> Mended:
    """Let git ignore derived and private files, through .git/info/exclude."""
    repository, root = scene.repository, scene.app.project.root
    if root is None or repository.top is None or not repository.bare:
        return Mended()
    names = [name for name in repository.bare if name not in TO_COME]
    paths = (os.path.relpath(root / name, repository.top) for name in names)
    ours = (*git.EXCLUDED, *git.MOMENTS) if len(names) < len(repository.bare) else ()
    if not dry_run:
        git.exclude(repository.top, (*ours, *map(_pattern, paths)))
    return Mended([f"let git ignore {', '.join(repository.bare)} (.git/info/exclude)"])


def _pattern(name: str) -> str:
    folder = os.path.dirname(name)
    whole = folder + "/" if os.path.basename(folder) == "proxy-tasks" else name
    return "/" + re.sub(r"([*?\[\\])", r"\\\1", whole)


def mend_merge_driver(scene: Scene, dry_run: bool) -> Mended:
    """Make the merge driver that .gitattributes names known to git."""
    repository = scene.repository
    if repository.top is None or not driver_fault(repository):
        return Mended()
    return Mended(git.set_driver(repository.top, dry_run=dry_run))


def mend_index(scene: Scene, dry_run: bool) -> Mended:
    """Build a broken index anew, bring a stale one up."""
    app, state = scene.app, scene.index
    if not state.there or state.busy or not (state.broken or state.behind):
        return Mended()
    if not dry_run:
        told, index = len(app.notes), app.index  # what is no index of ours is moved aside, and told
        if MALFORMED in state.broken and len(app.notes) == told:
            index.repair(index.db.DatabaseError(state.broken))
        if app.refresh().busy:
            what = f"the index is busy ({state.path})"
            raise RefusedError(what, "run mem doctor --fix again")
    what = "built the index anew" if state.broken else "brought the index up to date"
    return Mended([f"{what} ({state.path})"])


def mend_state(scene: Scene, dry_run: bool) -> Mended:
    """Move a damaged state file aside: what it held is only who was told what, and what waits."""
    from memcli.storage.durable import is_sound, set_aside

    path = files.state_dir() / "state.db"
    if is_sound(path):
        return Mended()
    kept = None if dry_run else set_aside(path.parent)
    return Mended([f"moved a damaged state file aside ({kept or path})"])


REMEDIES: dict[str, Remedy] = {
    "leftovers": mend_leftovers,
    "ids": mend_ids,
    "ignored": mend_ignored,
    "index": mend_index,
    "merge-driver": mend_merge_driver,
    "state": mend_state,
}
