"""What the index knows of entries that were taken back: their ids are live nowhere in
their work tree, wherever a merge put them, and whether their archive is there or not."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from memcli.index.database import Index
from memcli.index.sql import first_column, json_list
from memcli.memory.tombstones import StoneKey, reach_of, stone_of, takes_back
from memcli.memory.values import Place, plain_id
from memcli.project.unlisted import (
    LostArchive,
    PresentArchive,
    copy_in_git,
    lost_archives,
    unchanged_head,
)
from memcli.storage.files import ONE_OF

Kept = dict[str, tuple[str, list[str]]]
"""By the path of a lost archive a commit, and the ids that git's copy there takes back."""


class Stones:
    """The ids that were taken back, before and after files are read anew."""

    def __init__(self, index: Index, base: Path) -> None:
        self.index = index
        self.base = base  # the root, or the home folder without one
        self.noted: dict[StoneKey, str] | None = None

    def note(self) -> None:
        """Look them up before the first change."""
        if self.noted is None:
            self.noted = self._found()

    def has(self, id: str, place: Place, tree: str) -> bool:
        """Whether an id of a file was taken back, as noted."""
        return stone_of(id, place, tree, self.noted or {}) is not None

    def outdated(self) -> list[str]:
        """The names of the memory files in which other entries are live by now."""
        if self.noted is None:
            return []
        before = self.noted
        self.noted = self._found()
        known = {**before, **self.noted}
        entries = [known[key] for key in before.keys() ^ self.noted.keys()]
        select = (
            f"SELECT DISTINCT source FROM chunks WHERE entry {ONE_OF}"
            " AND json_extract(metadata, '$.status') != 'retired'"
        )
        sources = first_column(self.index.db.execute(select, (json_list(entries),)))
        files = {row.id: row for row in self.index.files().values()}
        rows = (files[source] for source in sources)
        return [row.path for row in rows if row.place.store == "memory"]

    def _found(self) -> dict[StoneKey, str]:
        """What was taken back, with its id as the index has it."""
        files = {row.id: row for row in self.index.files().values()}
        select = (
            "SELECT source, entry, metadata FROM chunks WHERE live = 0 AND part = 0"
        )
        stones = dict[StoneKey, str]()
        ids = defaultdict[str, set[str]](set)  # by the name of the archive
        for source, entry, metadata in self.index.db.execute(select):
            file = files[source]
            values = json.loads(metadata)
            archived = file.place.store == "archive"
            if archived:
                ids[file.path].add(plain_id(entry))
            is_out = archived or values["status"] == "retired"
            if is_out and takes_back(values, archived=archived):
                stones[*reach_of(file.place, file.tree), plain_id(entry)] = entry
        return dict(self._lost(ids)) | stones

    def _lost(self, ids: Mapping[str, set[str]]) -> Iterator[tuple[StoneKey, str]]:
        """The same of the archives that are gone or cannot be read, which git has."""
        select = (
            "SELECT path, sound FROM file_meta"
            " WHERE json_extract(place, '$[1]') = 'archive'"
        )
        present = {
            path: PresentArchive(is_sound=bool(sound), ids=frozenset(ids.get(path, ())))
            for path, sound in self.index.db.execute(select)
        }
        noted = self.index.db.execute("SELECT value FROM meta WHERE key = 'lost'")
        kept = "".join(first_column(noted)) or "{}"
        known: Kept = {}
        now: Kept = {}
        with suppress(TypeError, ValueError, RecursionError):
            known = dict(json.loads(kept))
        for lost in lost_archives(self.base, present):
            reach = reach_of(lost.place, lost.tree)
            head, taken_back = _in_git(lost, *known.get(lost.path, ("", [])))
            now[lost.path] = (head, taken_back)
            for id in taken_back:
                if id not in lost.ids:
                    yield (*reach, id), id
        if (text := json.dumps(now)) != kept:
            insert = "INSERT OR REPLACE INTO meta VALUES ('lost', ?)"
            self.index.db.execute(insert, (text,))


def _in_git(lost: LostArchive, since: str, kept: list[str]) -> tuple[str, list[str]]:
    """The ids that git's copy of an archive takes back, and the commit of which that is
    known, if it need not be asked again. To look for the copy may walk all of history:
    what was known stays until a commit touches the archive."""
    head, is_unchanged = unchanged_head(lost.path, since)
    if is_unchanged:
        return head, kept
    copy = copy_in_git(lost)
    entries = copy.memory.entries if copy.memory else ()
    ids = [entry.id for entry in entries if takes_back(entry.extra, archived=True)]
    return head if copy.is_final else "", ids
