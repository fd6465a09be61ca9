"""mem undo: take back the last write."""

from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from memcli.app import App
from memcli.commands import drop, keep
from memcli.extraction import proposals
from memcli.extraction.proposals import Proposal
from memcli.install.targets import REMOVAL, wiring_again
from memcli.memory.values import Patch
from memcli.project import git
from memcli.storage.workspace import LastWrite


class UndoReport(NamedTuple):
    """The write taken back (`verb` "" for none), or `skipped`, its files, the verb that
    is `earlier`, the ids of the proposals that wait again, and the titles of those
    that wait no more."""

    verb: str = ""
    time: str = ""
    files: tuple[str, ...] = ()
    patches: tuple[Patch, ...] = ()
    earlier: str = ""
    waiting: tuple[str, ...] = ()
    unproposed: tuple[str, ...] = ()
    skipped: bool = False


def undo(app: App) -> UndoReport:
    """Undo the last write. Raises RefusedError, with nothing changed, when a file
    changed since."""
    last_write = app.workspace.last_write(certain=app.dry_run)
    if last_write is None:
        if not app.dry_run:
            app.workspace.recover()  # of an undo that was killed at its very end
        return UndoReport()
    files = [patch.path for patch in last_write.patches]
    earlier = ""
    waiting: tuple[str, ...] = ()
    if not app.dry_run:
        with _around(app, last_write):
            files = app.workspace.undo()
        _hide_index(app)
        earlier = _next(app)
    if last_write.verb in (drop.VERB, keep.VERB):
        waiting = keep.wait_again(app, last_write.note)
    unproposed: list[Proposal] = []
    if last_write.verb == proposals.VERB and last_write.note:
        unproposed = proposals.take_back(app, last_write.note)
    return UndoReport(
        verb=last_write.verb,
        time=last_write.time,
        files=tuple(files),
        patches=last_write.patches,
        earlier=earlier,
        waiting=waiting,
        unproposed=tuple(each.title for each in unproposed),
    )


def skip(app: App) -> UndoReport:
    """Leave the last write as it is, for good: undo goes on with the one before it."""
    workspace = app.workspace
    last_write = workspace.last_write() if app.dry_run else workspace.skip()
    if last_write is None:
        return UndoReport()
    return UndoReport(
        verb=last_write.verb,
        time=last_write.time,
        files=tuple(patch.path for patch in last_write.patches),
        earlier="" if app.dry_run else _next(app),
        skipped=True,
    )


def _next(app: App) -> str:
    """What another undo would undo: the verb of a write whose texts are known, or of
    what was done to a proposal."""
    last_write = app.workspace.last_write()
    is_known = last_write and (last_write.patches or last_write.note)
    return last_write.verb if last_write and is_known else ""


def _hide_index(app: App) -> None:
    """Let git go on ignoring an index that stays when the ignore lines went."""
    root = app.project.root
    if root is not None and (root / ".memory.db").exists():
        git.exclude(root)


def _around(app: App, last: LastWrite) -> AbstractContextManager[None]:
    """What else is brought back with the files."""
    if last.verb != REMOVAL:
        return nullcontext()
    return wiring_again(app.project, last.patches, last.note)
