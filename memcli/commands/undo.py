"""mem undo: take back the last write."""

from typing import NamedTuple

from memcli.app import App
from memcli.memory.values import Patch


class UndoReport(NamedTuple):
    """The write taken back (`verb` "" for none), its files, and the verb that is
    `earlier`."""

    verb: str
    time: str
    files: tuple[str, ...]
    patches: tuple[Patch, ...]
    earlier: str = ""


def undo(app: App, *, dry_run: bool = False) -> UndoReport:
    """Undo the last write. Raises RefusedError, with nothing changed, when a file
    changed since."""
    last = app.workspace.last_write(certain=dry_run)
    if last is None:
        return UndoReport(verb="", time="", files=(), patches=())
    files = [patch.path for patch in last.patches]
    earlier = ""
    if not dry_run:
        files = list(app.workspace.undo())
        before = app.workspace.last_write()
        earlier = before.verb if before else ""
    return UndoReport(
        verb=last.verb,
        time=last.time,
        files=tuple(files),
        patches=last.patches,
        earlier=earlier,
    )
