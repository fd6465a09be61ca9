"""Compare memory with the code: entries that name what is gone or moved. For fading by
age see `compaction.steps.has_faded`."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from memcli.compaction.plan import CompactFiles, Compaction, CompactRequest, read_files
from memcli.compaction.steps import follow_renames
from memcli.diagnostics.scene import Check, Mended, Scene, passed, remark, warning
from memcli.index import anchors
from memcli.index.fates import LOST, Anchor, Fate, gone_text
from memcli.memory.values import LEVELS
from memcli.memory.words import count
from memcli.project import git
from memcli.storage.files import ONE_OF

_UNTOLD = "SELECT count(*), sum(witness != '') FROM anchors WHERE state = 'untold'"
_LOOKED = f"""SELECT (
    SELECT count(DISTINCT entry) FROM anchors JOIN anchored USING (kind, name)
    WHERE {LOST}
), EXISTS (
    SELECT 1 FROM meta WHERE key = 'anchors' AND json_extract(value, '$.head') = ?
    AND json_extract(value, '$.chunk') >= (SELECT coalesce(max(id), 0) FROM chunks)
) AND NOT EXISTS (SELECT 1 FROM anchors WHERE state = 'untold')"""
"""How many entries name what is gone, and whether the last check was at this commit, of
every entry, and complete."""
_Gone = Mapping[str, Sequence[tuple[Anchor, Fate]]]


def check_names(scene: Scene) -> Iterator[Check]:
    """One row for all entries checked so far, as part of the whole report."""
    head = _head(scene)
    if not head:
        return
    kept = scene.app.kept if scene.index.there else None
    looked = kept and kept.looked(
        lambda index: index.db.execute(_LOOKED, (head,)).fetchone()
    )
    gone, is_all = looked or (0, 0)
    if gone:
        yield warning(
            "stale",
            count(
                gone,
                "entry names or rests on code that is gone",
                "entries name or rest on code that is gone",
            ),
            hint="mem doctor --stale",
        )
    elif is_all and not scene.index.behind:
        yield passed("stale", "no entry names code that is gone")
    else:
        yield remark(
            "stale",
            "not all names in entries have been compared with the current code",
            hint="mem doctor --stale",
        )


def check_stale(scene: Scene) -> Iterator[Check]:
    """A row for each entry that names what is gone or moved."""
    findings = _gone(scene)
    if findings is None:
        yield remark("stale", "there is no git history here to compare memory with")
        return
    _, work = _followed(scene)
    mendable = {entry for event in work.changes.done for entry in event.ids}
    for entry, path, line, title in _standing(scene, findings):
        fates = [
            gone_text(anchor.kind, anchor.text, fate.commit, fate.now)
            for anchor, fate in findings[entry]
        ]
        detail = f"{title}: {'; '.join(fates)}"
        hint = _way_on(entry, findings[entry])
        if entry in mendable:
            hint = "mem doctor --fix"
        yield warning("stale", detail, hint=hint, path=path, line=line)
    unread = anchors.unread(scene.app.index)
    for path, reason in unread:
        detail = f"{path} cannot be read, so its targets are unknown: {reason}"
        yield remark("stale", detail, hint=f"fix {path}")
    number, uncommitted = scene.app.index.db.execute(_UNTOLD).fetchone()
    if number:
        names = f"could not find out what became of {count(number, 'name')}"
        is_in_none = uncommitted == number
        why, hint = _why_untold(
            scene, [path for path, _ in unread], is_in_none=is_in_none
        )
        yield remark("stale", f"{names}: {why}", hint=hint)
    elif not findings:
        yield passed("stale", "no entry names code that is gone")


def _way_on(entry: str, gone: Sequence[tuple[Anchor, Fate]]) -> str:
    """The command for an entry; if only the code it rests on has changed, it may be
    confirmed as it is."""
    rests_alone = all(anchor.kind == "lines" for anchor, _ in gone)
    return f"mem edit {entry[:8]}{' --confirm' if rests_alone else ''}"


def _why_untold(
    scene: Scene, unread: Sequence[str], *, is_in_none: bool
) -> tuple[str, str]:
    """Why it is unknown what became of names, and the command that helps; `is_in_none`:
    no commit removed any of them."""
    top = scene.repository.top
    if lacking := git.lacking(top) if top is not None else "":
        return "this clone has only part of the history", lacking
    if unread:
        return f"{unread[0]} may still declare it", f"fix {unread[0]}"
    why = "git took too long; it will be asked again"
    if is_in_none:
        why = "no commit has removed it yet"
    return why, "mem doctor --stale"


def _head(scene: Scene) -> str:
    """The commit that memory is compared with; "" if there is none, or no memory."""
    top = scene.repository.top
    return git.head_of(top) if top and scene.app.project.listing.files else ""


def _gone(scene: Scene) -> _Gone | None:
    """For each entry, its names that are gone, from an updated index; None without
    git."""
    app = scene.app
    if app.project.root is None or not _head(scene):
        return None
    app.refresh(embed=False)
    app.check_names(seconds=60, again=True)
    return anchors.gone(app.index)


def _standing(
    scene: Scene, entries: Iterable[str]
) -> Iterator[tuple[str, str, int, str]]:
    yield from scene.app.index.db.execute(
        "SELECT entry, path, line, title FROM chunks"
        f" JOIN file_meta ON file_meta.id = source WHERE part = 0 AND live = 1 AND entry"
        f" {ONE_OF} GROUP BY entry ORDER BY path, line",
        (json.dumps(list(entries)),),
    )


def mend_names(scene: Scene) -> Mended:
    """Write the new name of a renamed file into `paths`, `rests_on` and the code spans
    of what mem wrote."""

    def plan() -> Mended:
        read, work = _followed(scene)
        done = [f"{event.path}: {event.detail}" for event in work.changes.done]
        return Mended(done, read.patches(work.changes.texts()))

    mended = scene.app.write(plan, "doctor") if _gone(scene) else Mended()
    if mended.done and not scene.app.dry_run:
        scene.app.project.relist()
        _gone(scene)  # the rows describe the current text
    return mended


def _followed(scene: Scene) -> tuple[CompactFiles, Compaction]:
    """The memory files, and their texts with the new names."""
    project = scene.app.project
    read = read_files(project, CompactRequest(levels=LEVELS))
    work = Compaction(read.sources, read.archives, project.now)
    follow_renames(work, anchors.moves(scene.app.index))
    return read, work
