"""Memory held against the code: entries that name what is gone, has moved or was rewritten."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memcli.diagnostics.fixes import Mended
from memcli.diagnostics.scene import Check, Scene, count
from memcli.index import anchors, codebase
from memcli.index.codebase import MOVED, Anchor, Fate
from memcli.index.filters import gone_text
from memcli.memory.changes import EntryChange, edited
from memcli.memory.parser import MemoryFile
from memcli.memory.values import Entry, Patch
from memcli.storage.files import ONE_OF

BACKSLASH = "\\"
REWRITTEN = 0.5
"""From this share of new lines on, a file is another than the entry was written about."""


class _Named(NamedTuple):
    """Where an entry stands that names something."""

    entry: str
    path: str
    line: int
    title: str
    created: str


def check_names(scene: Scene) -> Iterator[Check]:
    """One row for all, as part of the whole report."""
    found = _seen(scene)
    if found:
        what = f"{count(len(found), 'entry names', 'entries name')} what the code has no more"
        yield Check("stale", "WARN", what, "mem doctor --stale")
    elif found is not None:
        yield Check("stale", "PASS", "no entry names what the code has no more")


def check_stale(scene: Scene) -> Iterator[Check]:
    """A row for each entry that names what is gone or moved, or a file that was rewritten since."""
    found = _gone(scene)
    if found is None:
        yield Check("stale", "INFO", "there is no git history here to hold memory against")
        return
    for one in _standing(scene, list(found)):
        fates = found[one.entry]
        detail = "; ".join(gone_text(anchor.text, fate.commit, fate.now) for anchor, fate in fates)
        moved = any(_follows(*each) for each in fates)
        hint = "mem doctor --fix" if moved else f"mem edit {one.entry[:8]}"
        yield Check("stale", "WARN", f"{one.title}: {detail}", hint, one.path, one.line)
    untold = scene.app.index.db.execute("SELECT count(*) FROM anchors WHERE state = 'untold'")
    if number := untold.fetchone()[0]:
        what = (
            f"what became of {count(number, 'name')} could not be told: git took too long, or has"
        )
        yield Check("stale", "INFO", f"{what} only a part of the history", "git fetch --unshallow")
    elif not found:
        yield Check("stale", "PASS", "no entry names what the code has no more")
    yield from _rewritten(scene, set(found))


def _seen(scene: Scene) -> dict[str, list[tuple[Anchor, Fate]]] | None:
    """The same as the index has it, without a change to it; None where there is none."""
    app = scene.app
    if scene.repository.top is None or not app.project.listing.files or not app.kept.exists:
        return None
    return app.kept.looked(lambda: anchors.gone(app.index))


def _gone(scene: Scene) -> dict[str, list[tuple[Anchor, Fate]]] | None:
    """By entry, what it names that is gone, the index brought up before; None without git."""
    app = scene.app
    if scene.repository.top is None or app.project.root is None or not app.project.listing.files:
        return None
    app.refresh(embed=False)
    root = app.project.root
    app.guarded(lambda: anchors.update(app.index, root, seconds=60, again=True))
    return anchors.gone(app.index)


def _standing(scene: Scene, entries: Sequence[str]) -> list[_Named]:
    return [
        _Named(*row)
        for row in scene.app.index.db.execute(
            "SELECT entry, path, line, title, json_extract(metadata, '$.created') FROM chunks"
            f" JOIN file_meta ON file_meta.id = source WHERE part = 0 AND live = 1 AND entry"
            f" {ONE_OF} GROUP BY entry ORDER BY path, line",
            (json.dumps(entries),),
        )
    ]


def _rewritten(scene: Scene, told: set[str]) -> Iterator[Check]:
    """Entries about files of which most lines are new since they were written."""
    top = scene.repository.top
    files = defaultdict[str, set[str]](set)
    for entry, name in scene.app.index.db.execute(
        "SELECT entry, name FROM anchored JOIN anchors USING (kind, name)"
        " WHERE kind = 'path' AND state = 'here'"
    ):
        files[entry].add(name)
    shares = dict[str, dict[str, float]]()
    for one in _standing(scene, [entry for entry in files if entry not in told]):
        if top is None or not one.created:
            continue
        if one.created not in shares:
            shares[one.created] = codebase.rewritten(top, one.created)
        for path, share in sorted(shares[one.created].items()):
            if share >= REWRITTEN and any(f"/{path}".endswith(f"/{n}") for n in files[one.entry]):
                what = f"{one.title}: {path} is new in {share:.0%} of its lines since {one.created}"
                yield Check("stale", "INFO", what, f"mem edit {one.entry[:8]}", one.path, one.line)


# --- following what was renamed


def _follows(anchor: Anchor, fate: Fate) -> bool:
    return anchor.kind == "path" and fate.state == MOVED


def follow_renames(scene: Scene, *, dry_run: bool) -> Mended:
    """Write the new name of a renamed file into `paths` and the code spans of what mem wrote."""
    found = _seen(scene) if dry_run or not scene.app.kept.exists else _gone(scene)
    moves = {
        entry: names
        for entry, fates in (found or {}).items()
        if (names := {a.text: f.now for a, f in fates if _follows(a, f)})
    }
    if not moves:
        return Mended()
    return scene.app.write(lambda: _plan(scene, moves), "doctor", dry_run=dry_run)


def _plan(scene: Scene, moves: dict[str, dict[str, str]]) -> Mended:
    project, done, patches = scene.app.project, list[str](), list[Patch]()
    for document in Scene(scene.app).documents:
        file = project.found(document.path)
        if file is None or document.place.store != "memory" or not project.may_write(file):
            continue
        changes = [
            change
            for at, entry in enumerate(document.memory.entries)
            if (change := _change(at, entry, moves.get(entry.id, {})))
        ]
        if changes:
            after = edited(document.memory, changes).text
            patches.append(Patch(file.path, document.memory.text, after))
            done += [_done(document.memory, change, moves) for change in changes]
    return Mended(done, patches)


def _done(memory: MemoryFile, change: EntryChange, moves: dict[str, dict[str, str]]) -> str:
    entry = memory.entries[change.at or 0]
    names = ", ".join(f"{old} is {new} now" for old, new in sorted(moves[entry.id].items()))
    return f"{memory.path}:{entry.line}: {names}"


def _change(at: int, entry: Entry, names: dict[str, str]) -> EntryChange | None:
    """The new values of an entry; a body that a person edited is left to them."""
    paths = entry.extra.get("paths", [])
    now = [names.get(path.strip("/"), path) for path in paths]
    body = entry.body
    for old, new in names.items():
        place = rf"(`[^`\n]*?(?<![\w./-])|\]\(){re.escape(old)}(?![\w/-]|\.\w)"
        body = re.sub(place, rf"\g<1>{new.replace(BACKSLASH, BACKSLASH * 2)}", body)
    values = {"paths": now} if now != paths else {}
    if body == entry.body or entry.touched:
        return EntryChange(at, values) if values else None
    return EntryChange(at, values, body=body)
