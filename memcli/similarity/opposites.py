"""Which valid entries say the opposite of each other. Everything that names opposites
asks here, so that all name the same ones. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from memcli.memory.parser import KnownFile
from memcli.memory.values import Entry, listed
from memcli.similarity.claims import claim
from memcli.similarity.differences import guard
from memcli.similarity.duplicates import contradictions, grouped


class PlacedEntry(NamedTuple):
    """An entry, with the name of the file where it stands."""

    path: str
    entry: Entry

    @property
    def spot(self) -> tuple[str, str]:
        """The file and the id."""
        return self.path, self.entry.id


def may_be_opposed(standing: PlacedEntry) -> bool:
    """Whether an entry claims something now: it is live, and neither prose nor an
    episode, which says what was."""
    entry = standing.entry
    return entry.written and entry.is_live and not entry.is_episode


class Opposite(NamedTuple):
    """Two entries that cannot both hold. `differs` says in what: "negation", "number",
    …; "marked" where one names the other."""

    first: PlacedEntry
    second: PlacedEntry
    differs: str

    @property
    def ids(self) -> tuple[str, str]:
        """The ids of the two."""
        return self.first.entry.id, self.second.entry.id


def standing_in(files: Iterable[KnownFile]) -> Iterator[PlacedEntry]:
    """The entries of memory in these files that may be opposed."""
    for file in files:
        if file.place.store == "memory":
            entries = (PlacedEntry(file.path, entry) for entry in file.memory.entries)
            yield from filter(may_be_opposed, entries)


def opposites(entries: Iterable[PlacedEntry]) -> list[Opposite]:
    """The pairs that say the opposite, whatever the order of the entries; one pair for
    two ids. A pitfall may name what went wrong, as no rule does: those are compared
    among themselves."""
    opposed = filter(may_be_opposed, entries)
    in_order = sorted(opposed, key=lambda each: (each.path, each.entry.line))
    groups = grouped(in_order, lambda each: each.entry.type == "corrective").values()
    pairs = [*chain.from_iterable(map(_by_text, groups)), *_marked(in_order)]
    one_each = {frozenset(pair.ids): pair for pair in reversed(pairs)}
    return [pair for ids, pair in reversed(one_each.items()) if len(ids) > 1]


def _by_text(entries: Sequence[PlacedEntry]) -> Iterator[Opposite]:
    claims = [claim(standing.entry.body) for standing in entries]
    for place, other in contradictions(claims):
        reason = guard(claims[place], claims[other]) or "opposite"
        yield Opposite(first=entries[place], second=entries[other], differs=reason)


def _marked(entries: Iterable[PlacedEntry]) -> Iterator[Opposite]:
    """The pairs whose entries say so themselves, as a merge leaves them."""
    by_id = {standing.entry.id: standing for standing in entries}
    for standing in by_id.values():
        for name in listed(standing.entry, "contradicts"):
            if name in by_id:
                yield Opposite(first=standing, second=by_id[name], differs="marked")
