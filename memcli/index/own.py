"""The index of this machine, as a search asks it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from memcli.index import filters
from memcli.index.fulltext import Passing
from memcli.index.lexical import Query
from memcli.index.view import Candidate, Lane, Passage, Scope

if TYPE_CHECKING:
    from memcli.index.database import Index


class OwnIndex:
    """The index of this machine as a source: what passes the filters of one search."""

    def __init__(
        self, index: Index, where: Scope, vectors: Callable[..., Lane | None]
    ) -> None:
        self.index = index
        self.files = where.files
        # The chunks that may be hits; None when the files in view say it all.
        self._allowed = None if where.plain else index.entries.allowed(where)
        self._look = vectors
        self.counts, self.size = (words := index.words).counts, words.size
        self.candidates = index.entries.candidates
        self.edges = index.entries.edges

    @cached_property
    def _passing(self) -> Passing:
        if self._allowed is not None:
            return Passing(self._allowed)
        return self.index.words.shown(self.files.hidden())

    def lexical(self, terms: Sequence[str], pool: int) -> dict[int, float]:
        """BM25 of the best-matching chunks that pass."""
        return self.index.words.best(terms, self._passing, pool)

    def passage(self, candidate: Candidate) -> Passage:
        """The text of a chunk's entry, of a long one so much about the chunk."""
        return filters.passage(self.index.entries, candidate)

    def lane(
        self, task: str, asked: Query, lexical: Mapping[int, float]
    ) -> Lane | None:
        """What the vectors of the index say."""
        return self._look(task, asked, lexical, self._passing)

    def places(self, entries: Collection[str]) -> list[tuple[int, int]]:
        """(chunk, file) of the first chunk of every place in view of these entries."""
        found = self.index.entries.places(entries)
        return [(rowid, source) for rowid, source in found if source in self.files]

    def passes(self, candidate: Candidate) -> bool:
        """Whether a chunk passes the filters."""
        if self._allowed is not None:
            return candidate.rowid in self._allowed
        return candidate.values.get("status") != "retired"

    def beside(self, candidates: Sequence[Candidate]) -> list[Sequence[Sequence[str]]]:
        """For each, the entries before it in its file and after, nearest first."""
        return [self.index.entries.beside(c.source, c.offset) for c in candidates]

    def gone(self, entries: Collection[str]) -> Mapping[str, str]:
        """What each of these entries names that the code has no more."""
        return {
            entry: lost.text for entry, lost in self.index.entries.gone(entries).items()
        }

    def origin(self, candidate: Candidate) -> tuple[str, str]:
        """All of it stands in the project at hand."""
        return "", ""
