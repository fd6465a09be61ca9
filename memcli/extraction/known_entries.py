"""What memory has that a finding may say again: its entries, archived ones too, and its
norms. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from memcli.extraction.rules.words import rough
from memcli.memory.parser import KnownFile
from memcli.memory.values import Entry, listed


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
