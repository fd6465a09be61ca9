"""Where entries stand: the file of an id, and whether it may be changed from here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memcli.errors import UsageError
from memcli.index import view
from memcli.index.database import Index
from memcli.index.source import Candidate
from memcli.project.context import Project


class Located(NamedTuple):
    """Where an entry stands, and whether it may be changed from here."""

    entry: str
    path: str
    writable: bool


def locate(
    index: Index, project: Project, ids: Sequence[str], *, archived: bool | None = False
) -> dict[str, Located]:
    """Where each id stands: the nearest copy that may be written, else the nearest.

    An id that a survivor was merged from leads to the survivor. `archived` None: archives too, when
    the id stands nowhere else; True: in archives alone.
    """
    merged = index.entries.survivors(ids)
    names = {name: merged.get(name, name) for name in ids}
    files = {row.id: row for row in index.files().values()}
    writable = {file.name for file in project.listing.files if project.may_write(file)}
    copies: dict[str, list[Candidate]] = {}
    for copy in index.entries.copies([*names, *names.values()]):
        copies.setdefault(copy.entry, []).append(copy)

    def standing(name: str, *, archive: bool) -> list[Candidate]:
        same = copies.get(name, ())
        return [c for c in same if (files[c.source].place.store == "archive") == archive]

    found = {}
    for name, entry in names.items():
        there: list[Candidate] = []
        if not archived:
            there = standing(name, archive=False) or standing(entry, archive=False)
        if not there and archived is not False:
            there = standing(name, archive=True)
        own = [c for c in there if files[c.source].path in writable]
        if there:
            best = view.nearest(own or there, files, project.view)
            found[name] = Located(best.entry, files[best.source].path, bool(own))
    return found


def locate_one(
    index: Index, project: Project, prefix: str, *, archived: bool | None = False
) -> Located:
    """The one entry whose id is `prefix` or begins with it. Raises UsageError for none or several."""
    names = sorted({entry for entry, _ in index.entries.ids(prefix)})
    names = [prefix] if prefix in names else names
    places = locate(index, project, names, archived=archived)
    if len(places) != 1:
        listed = ", ".join(sorted(places)[:8])
        what = "several entries begin so" if places else "no entry has that id"
        raise UsageError(
            f"{prefix}: {what}", f"one of {listed}" if places else "mem list shows ids"
        )
    return next(iter(places.values()))
