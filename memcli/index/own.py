"""The index of this machine, as a search asks it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from memcli.errors import ProviderError, UsageError
from memcli.index.fulltext import Passing
from memcli.index.lexical import Query
from memcli.index.passages import passage
from memcli.index.view import Candidate, Lane, Passage, Scope, words_alone

if TYPE_CHECKING:
    from memcli.index.database import Index
    from memcli.project.config import Config
    from memcli.providers.embed import Embedder


class OwnIndex:
    """The index of this machine as a source: what passes the filters of one search."""

    def __init__(
        self,
        index: Index,
        where: Scope,
        *,
        config: Config,
        embedder: Callable[[], Embedder | None],
        notes: list[str],
    ) -> None:
        self.index = index
        self.files = where.files
        self.config = config
        self.embedder = embedder
        self.notes = notes
        # The chunks that may be hits; None when the files in view say it all.
        self._allowed = None if where.plain else index.entries.allowed(where)
        words = index.words
        self.counts = words.counts
        self.size = words.size
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
        return passage(self.index.entries, candidate)

    def lane(
        self, task: str, asked: Query, lexical: Mapping[int, float]
    ) -> Lane | None:
        """What the vectors of the index say; it loads nothing where words alone are
        wanted, and notes why where there are none."""
        if self.config.fusion == "bm25" or self.config.embedder == "none":
            return None
        try:
            embedder = self.embedder()
            if embedder is None:
                return None
            from memcli.index.vector_lane import look

            passing = self._passing
            return look(
                self.index, self.config, embedder, (task, asked, lexical, passing)
            )
        except (ProviderError, UsageError) as error:
            self.notes.append(words_alone(error))
            return None

    def places(self, entries: Collection[str]) -> list[tuple[int, int]]:
        """(chunk, file) of the first chunk of every place in view of these entries."""
        places = self.index.entries.places(entries)
        return [(rowid, source) for rowid, source in places if source in self.files]

    def passes(self, candidate: Candidate) -> bool:
        """Whether a chunk passes the filters."""
        if self._allowed is not None:
            return candidate.rowid in self._allowed
        return candidate.values.get("status") != "retired"

    def beside(self, candidates: Sequence[Candidate]) -> list[Sequence[Sequence[str]]]:
        """For each, the entries before it in its file and after, nearest first."""
        return [
            self.index.entries.beside(candidate.source, candidate.offset)
            for candidate in candidates
        ]

    def gone(
        self, entries: Collection[str], *, shown: bool = False
    ) -> Mapping[str, str]:
        """What each of these entries names that the code has no more."""
        lost = self.index.entries.gone(entries, shown=shown)
        return {entry: each.text for entry, each in lost.items()}

    def origin(self, candidate: Candidate) -> tuple[str, str]:
        """All of it stands in the project at hand."""
        return "", ""
