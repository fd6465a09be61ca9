"""What mem doctor --fix mends (derived, or undone at will), and memory held against the
code."""

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.compaction.plan import Compaction, CompactRequest, read_files
from memcli.compaction.steps import follow_renames
from memcli.diagnostics.content import (
    MALFORMED,
    TO_COME,
    Check,
    Scene,
    Status,
    named_files,
    shown_name,
)
from memcli.diagnostics.installation import driver_fault
from memcli.errors import DataError, MemError, RefusedError
from memcli.index import anchors, codebase
from memcli.index.codebase import Anchor, Fate
from memcli.index.filters import gone_text
from memcli.memory.changes import EntryChange, edited
from memcli.memory.grammar import conflict_lines, derived_id
from memcli.memory.parser import KnownFile
from memcli.memory.values import LEVELS, Patch
from memcli.memory.words import count
from memcli.project import git
from memcli.storage import durable, files
from memcli.storage.files import ONE_OF, Unreadable, read_file
from memcli.text.secrets import find_secrets

REWRITTEN = 0.5
"""From this share of new lines on, a file is another than the entry was written
about."""
_Gone = Mapping[str, Sequence[tuple[Anchor, Fate]]]


class Mended(NamedTuple):
    """What was mended, one line each, the patches of it, and a row for each attempt
    that failed."""

    done: Sequence[str] = ()
    patches: Sequence[Patch] = ()
    failed: Sequence[Check] = ()


Remedy = Callable[[Scene, bool], Mended]


def mend(
    app: App, names: Sequence[str], remedies: Mapping[str, Remedy], *, dry_run: bool
) -> Mended:
    """Try every remedy; one that fails is a row and does not keep the others from being
    tried."""
    done = list[str]()
    patches = list[Patch]()
    failed = list[Check]()
    for name, remedy in remedies.items():
        try:
            mended = remedy(Scene(app, names), dry_run)
            done = [*done, *mended.done]
            patches = [*patches, *mended.patches]
            failed += mended.failed
        except Exception as error:  # of the system or of SQLite, too
            what = str(error)
            hint = "mend what it names"
            if isinstance(error, MemError):
                what = error.what
                hint = error.hint
            status: Status = "FAIL" if name == "index" else "WARN"
            failed.append(
                Check(name=name, status=status, detail=f"not mended: {what}", hint=hint)
            )
    return Mended(done, patches, failed)


def check_leftovers(scene: Scene) -> Iterator[Check]:
    """Interrupted writes, and temporary files whose writer is no more."""
    rows = _leftovers(scene.app)
    for what, path in rows:
        where = shown_name(scene.app, path)
        hint = "mem doctor --fix (so does the next write)"
        yield Check(name="leftovers", status="WARN", detail=what, hint=hint, path=where)
    if not rows:
        yield Check("leftovers", "PASS", "no interrupted write")


def _leftovers(app: App) -> list[tuple[str, str]]:
    """Journals of this root or of nobody knows which, files of dead writers beside
    memory."""
    root = app.project.root
    found = list[tuple[str, str]]()
    for path in sorted((files.state_dir() / "pending").glob("*.json")):
        with suppress(Unreadable, ValueError, KeyError, TypeError):
            if json.loads(read_file(path).data)["root"] != str(
                root.resolve() if root else ""
            ):
                continue
        found.append(("a write was interrupted", str(path)))
    folders = {os.path.dirname(file.path) for file in app.project.listing.files}
    for folder in sorted({*folders, *map(str, filter(None, (root, app.project.home)))}):
        with suppress(OSError):
            names = filter(durable.is_stale, sorted(os.listdir(folder)))
            found += [
                ("a temporary file was left behind", f"{folder}/{name}")
                for name in names
            ]
    return found


def _mend_leftovers(scene: Scene, dry_run: bool) -> Mended:
    app = scene.app
    rows = _leftovers(scene.app)
    if not rows or dry_run:
        return Mended([f"mend that {what}: {path}" for what, path in rows])
    done = app.workspace.recover()
    with app.workspace.hold("doctor"):
        durable.sweep({Path(path).parent for _, path in rows})
    app.project.relist()
    return Mended(
        [*done, *(f"removed {path}" for _, path in rows if not os.path.exists(path))]
    )


def mend_ids(scene: Scene, dry_run: bool) -> Mended:
    """Give every entry without an id the one it goes by."""
    return scene.app.write(lambda: _plan_ids(scene), "doctor", dry_run=dry_run)


def _plan_ids(scene: Scene) -> Mended:
    project = scene.app.project
    failed = list[Check]()
    done = list[str]()
    patches = list[Patch]()
    listed = {
        f.name: f for f in named_files(scene.app, scene.files) or project.listing.files
    }
    for document in scene.documents:
        file = listed[document.path]
        memory = document.memory
        changes = _missing_ids(document)
        if file.place.store == "archive" or not changes or not project.may_write(file):
            continue
        try:
            patches.append(Patch(file.path, memory.text, edited(memory, changes).text))
            done.append(f"wrote {count(len(changes), 'id')} into {file.name}")
        except DataError as error:
            failed.append(
                Check(
                    name="ids",
                    status="WARN",
                    detail=f"not mended: {error.what}",
                    hint=error.hint,
                    path=file.name,
                )
            )
    return Mended(done, patches, failed)


def _missing_ids(document: KnownFile) -> list[EntryChange]:
    """The id of each entry without one; none where undo would keep a copy of a
    secret."""
    memory = document.memory
    changes = list[EntryChange]()
    taken = {entry.id for entry in memory.entries if entry.identified}
    without = [
        (at, entry.id)
        for at, entry in enumerate(memory.entries)
        if not entry.identified
    ]
    if not without or conflict_lines(memory.text) or find_secrets(memory.text):
        return []
    for at, name in without:
        while name in taken:
            name = derived_id(memory.path, name)
        taken.add(name)
        changes.append(EntryChange(at, {"id": name}))
    return changes


def _mend_ignored(scene: Scene, dry_run: bool) -> Mended:
    (top, _, _, bare, *_), root = scene.repository, scene.app.project.root
    if root is None or top is None or not bare:
        return Mended()
    patterns = [] if set(bare).isdisjoint(TO_COME) else [*git.EXCLUDED, *git.MOMENTS]
    for name in (
        os.path.relpath(root / name, top) for name in bare if name not in TO_COME
    ):
        folder = os.path.dirname(name)
        whole = folder + "/" if os.path.basename(folder) == "proxy-tasks" else name
        patterns.append("/" + re.sub(r"([*?\[\\])", r"\\\1", whole))
    if not dry_run:
        git.exclude(top, patterns)
    return Mended([f"let git ignore {', '.join(bare)} (.git/info/exclude)"])


def _mend_merge_driver(scene: Scene, dry_run: bool) -> Mended:
    top = scene.repository.top
    if top is None or not driver_fault(scene.repository):
        return Mended()
    return Mended(git.set_driver(top, dry_run=dry_run))


def _mend_index(scene: Scene, dry_run: bool) -> Mended:
    app = scene.app
    state = scene.index
    if not state.there or state.busy or not (state.broken or state.behind):
        return Mended()
    if not dry_run:
        # what is no index of ours is moved aside, and told
        told = len(app.notes)
        index = app.index
        if MALFORMED in state.broken and len(app.notes) == told:
            index.repair(index.db.DatabaseError(state.broken))
        if app.refresh().busy:
            what = f"the index is busy ({state.path})"
            raise RefusedError(what, "run mem doctor --fix again")
    what = "built the index anew" if state.broken else "brought the index up to date"
    return Mended([f"{what} ({state.path})"])


def _mend_state(scene: Scene, dry_run: bool) -> Mended:
    path = files.state_dir() / "state.db"
    if durable.is_sound(path):
        return Mended()
    kept = None if dry_run else durable.set_aside(path.parent)
    return Mended([f"moved a damaged state file aside ({kept or path})"])


def check_names(scene: Scene) -> Iterator[Check]:
    """One row for all, as part of the whole report."""
    found = _gone(scene)
    if found:
        what = f"{count(len(found), 'entry names', 'entries name')} what the code has no more"
        yield Check(name="stale", status="WARN", detail=what, hint="mem doctor --stale")
    elif found is not None:
        yield Check("stale", "PASS", "no entry names what the code has no more")


def check_stale(scene: Scene) -> Iterator[Check]:
    """A row for each entry that names what is gone or moved, or a file that was
    rewritten since."""
    found = _gone(scene, update=True)
    if found is None:
        yield Check(
            "stale", "INFO", "there is no git history here to hold memory against"
        )
        return
    moves = anchors.moves(found)
    for entry, path, line, title, _ in _standing(scene, found):
        detail = "; ".join(
            gone_text(a.text, fate.commit, fate.now) for a, fate in found[entry]
        )
        hint = "mem doctor --fix" if entry in moves else f"mem edit {entry[:8]}"
        yield Check(
            name="stale",
            status="WARN",
            detail=f"{title}: {detail}",
            hint=hint,
            path=path,
            line=line,
        )
    untold = scene.app.index.db.execute(
        "SELECT count(*) FROM anchors WHERE state = 'untold'"
    )
    if number := untold.fetchone()[0]:
        what = f"what became of {count(number, 'name')} could not be told: git took too long,"
        what += " or has only a part of the history"
        yield Check(
            name="stale", status="INFO", detail=what, hint="git fetch --unshallow"
        )
    elif not found:
        yield Check("stale", "PASS", "no entry names what the code has no more")
    yield from _rewritten(scene, found)


def _gone(scene: Scene, *, update: bool = False) -> _Gone | None:
    """By entry, what it names that is gone, as the index has it or brought up; None
    without git."""
    app = scene.app
    root = scene.app.project.root
    if scene.repository.top is None or root is None or not app.project.listing.files:
        return None
    if not update:
        return (
            app.kept.looked(lambda: anchors.gone(app.index))
            if app.kept.exists
            else None
        )
    app.refresh(embed=False)
    app.guarded(lambda: anchors.update(app.index, root, seconds=60, again=True))
    return anchors.gone(app.index)


def _standing(
    scene: Scene, entries: Iterable[str]
) -> Iterator[tuple[str, str, int, str, str]]:
    yield from scene.app.index.db.execute(
        "SELECT entry, path, line, title, json_extract(metadata, '$.created') FROM chunks"
        f" JOIN file_meta ON file_meta.id = source WHERE part = 0 AND live = 1 AND entry"
        f" {ONE_OF} GROUP BY entry ORDER BY path, line",
        (json.dumps(list(entries)),),
    )


def _rewritten(scene: Scene, told: Collection[str]) -> Iterator[Check]:
    """Entries about files of which most lines are new since they were written."""
    assert scene.repository.top is not None
    shares = cache(partial(codebase.rewritten, scene.repository.top))
    files = defaultdict[str, set[str]](set)
    for entry, name in scene.app.index.db.execute(
        "SELECT entry, name FROM anchored JOIN anchors USING (kind, name)"
        " WHERE kind = 'path' AND state = 'here'"
    ):
        files[entry].add(name)
    for entry, path, line, title, day in _standing(scene, files.keys() - set(told)):
        for name, share in sorted(shares(day).items()) if day else ():
            if share >= REWRITTEN and any(
                f"/{name}".endswith(f"/{n}") for n in files[entry]
            ):
                what = f"{title}: {name} is new in {share:.0%} of its lines since {day}"
                yield Check(
                    name="stale",
                    status="INFO",
                    detail=what,
                    hint=f"mem edit {entry[:8]}",
                    path=path,
                    line=line,
                )


def mend_names(scene: Scene, dry_run: bool) -> Mended:
    """Write the new name of a renamed file into `paths` and the code spans of what mem
    wrote."""
    app = scene.app
    moves = anchors.moves(_gone(scene, update=not dry_run and app.kept.exists) or {})

    def plan() -> Mended:
        read = read_files(app.project, CompactRequest(levels=LEVELS))
        work = Compaction(read.sources, read.archives, app.project.now)
        follow_renames(work, moves)
        done = [f"{event.path}: {event.detail}" for event in work.changes.done]
        return Mended(done, read.patches(work.changes.texts()))

    return app.write(plan, "doctor", dry_run=dry_run) if moves else Mended()


REMEDIES: dict[str, Remedy] = {
    "leftovers": _mend_leftovers,
    "ids": mend_ids,
    "ignored": _mend_ignored,
    "index": _mend_index,
    "merge-driver": _mend_merge_driver,
    "state": _mend_state,
    "stale": mend_names,
}
