"""What the index knows of entries that were taken back: their ids are live nowhere in
their work tree, wherever a merge put them, and whether their archive is there or not."""

import json
from collections.abc import Iterator
from pathlib import Path

from memcli.index.database import Index
from memcli.index.sql import first_column, json_list
from memcli.memory.tombstones import StoneKey, reach_of, stone_of, takes_back
from memcli.memory.values import Place, plain_id
from memcli.project.unlisted import ARCHIVED, lost_archives
from memcli.storage.files import ONE_OF


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
        found = dict(self._lost())
        for source, entry, metadata in self.index.db.execute(select):
            file = files[source]
            values = json.loads(metadata)
            archived = file.place.store == "archive"
            is_out = archived or values["status"] == "retired"
            if is_out and takes_back(values, archived=archived):
                found[*reach_of(file.place, file.tree), plain_id(entry)] = entry
        return found

    def _lost(self) -> Iterator[tuple[StoneKey, str]]:
        """The same of the archives that are gone or cannot be read, which git has."""
        is_whole = (
            "SELECT source FROM chunks WHERE live = 0 GROUP BY source"
            " HAVING max(json_extract(metadata, '$.archived_at') IS NOT NULL)"
            " AND NOT max(instr(text, ?))"
        )
        whole = set(first_column(self.index.db.execute(is_whole, (ARCHIVED,))))
        files = self.index.files().values()
        archives = [row for row in files if row.place.store == "archive"]
        sound = {row.path: row.id in whole for row in archives}
        for document in lost_archives(self.base, sound):
            reach = reach_of(document.place, document.tree)
            for entry in document.memory.entries:
                if takes_back(entry.extra, archived=True):
                    yield (*reach, entry.id), entry.id
