"""What memory has that a finding may say again: its entries, archived ones too, and its
norms. Pure."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from memcli.extraction.rules.words import rough
from memcli.memory.parser import KnownFile
from memcli.memory.values import Entry, listed
from memcli.sessions.model import Session

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")


class KnownEntry(NamedTuple):
    """An entry that may say the same, and where it stands."""

    file: KnownFile
    at: int
    entry: Entry
    archived: bool
    rough: frozenset[str]

    @property
    def merged(self) -> tuple[str, ...]:
        """The ids of the entries that it was made of."""
        return tuple(listed(self.entry, "merged_from"))


def entries_of(known: Iterable[KnownFile]) -> list[KnownEntry]:
    """All entries of the files, archived ones too."""
    return [
        KnownEntry(
            file=file,
            at=index,
            entry=entry,
            archived=file.place.store == "archive",
            rough=rough(entry.body),
        )
        for file in known
        for index, entry in enumerate(file.memory.entries)
    ]


def norms_of(known: Iterable[KnownFile]) -> list[str]:
    """The lines of the institutional files."""
    texts = (file.memory.text for file in known if file.place.store == "institutional")
    return [row for text in texts for row in text.splitlines() if row.strip()]


def receipt(session: Session, known: Iterable[KnownFile]) -> int:
    """The first turn that was not read yet, here or in a fork, by the `source` of
    entries."""
    keys = set()
    for file in known:
        for entry in file.memory.entries:
            own = str(entry.extra.get("session_id", "")) == session.id
            for named in listed(entry, "source"):
                name, _, key = named.rpartition("#")
                if name and (_UUID.match(key) or (own and session.name in (name, "-"))):
                    keys.add(key)
    read = (index for index, turn in enumerate(session.turns, 1) if turn.key in keys)
    return max(read, default=0)
