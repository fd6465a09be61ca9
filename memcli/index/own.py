"""The index of this machine, as a search asks it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from heapq import nlargest
from typing import TYPE_CHECKING

from memcli.errors import ProviderError, UsageError
from memcli.index.fulltext import Passing
from memcli.index.lexical import Query
from memcli.index.passages import passage
from memcli.index.search import Matching
from memcli.index.view import (
    Candidate,
    FileRow,
    Lane,
    Passage,
    Scope,
    select,
    words_alone,
)
from memcli.memory.filters import Filters
from memcli.memory.values import OUTERMOST, Problem
from memcli.named import NamedTuple

if TYPE_CHECKING:
    from memcli.index.upkeep import ProjectIndex
    from memcli.providers.embed import Embedder


BASELINE_KINDS = ("policy", "architecture", "preference")
BASELINE = 60  # how many standing entries are weighed: more never fit
EPISODES = 20  # how many of the newest episodes may compete for their layer


Embeds = Callable[[], "Embedder | None"]


class OwnIndex:
    """The index of this machine as a source: what passes the filters of one search."""

    def __init__(self, kept: ProjectIndex, where: Scope, embedder: Embeds) -> None:
        index = kept.index
        self.index = index
        self.files = where.files
        self.config = kept.project.config
        self.embedder = embedder
        self.notes = kept.notes
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

    def meanings(self, words: Sequence[str]) -> dict[str, tuple[str, float]]:
        """For words that stand nowhere here what means the same and does, and how
        nearly; nothing where the vectors of this machine do not say it."""
        embedder = None if self.config.embedder == "none" else self.embedder()
        if embedder is None or not words:
            return {}
        from memcli.index.vector_lane import meanings
        from memcli.index.vectors import Damaged

        with suppress(Damaged, ProviderError, UsageError):
            return meanings(self.index, embedder, words)
        return {}

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


class Standing(NamedTuple):
    """What stands regardless of a task: entries of high priority, the most pressing
    first, and the newest episodes."""

    pressing: list[Candidate]
    episodes: list[Candidate]


class OwnMatching(Matching):
    """What a search of the index of this machine finds, and what stands there
    regardless of a task."""

    def __init__(
        self, kept: ProjectIndex, filters: Filters, embedder: Embeds = lambda: None
    ) -> None:
        project = kept.project
        self.project = project
        self.memory = kept.index
        self.in_view = self.memory.in_view(project.view, filters)
        self.scope = select(self.in_view, filters, project.relative)
        self.own_index = OwnIndex(kept, self.scope, embedder)
        lane = self.own_index.lane
        super().__init__(self.own_index, lane, project.config, project.view)

    @cached_property
    def problems(self) -> list[Problem]:
        """What was found wrong with the files."""
        return self.memory.problems

    @cached_property
    def norms(self) -> dict[str, FileRow]:
        """The institutional files in view by path, the outermost first."""
        rows = sorted(
            self.in_view.of("institutional").values(),
            key=lambda row: (OUTERMOST[row.place.level], row.path),
        )
        return {row.path: row for row in rows}

    @cached_property
    def standing(self) -> Standing:
        """What stands regardless of a task, each by the nearest copy."""
        entries = self.memory.entries
        pressing = entries.pressing(self.scope, BASELINE_KINDS, BASELINE)
        latest = entries.latest(self.scope, 3 * EPISODES)
        return Standing(self.nearest(pressing), self.nearest(latest))

    def look_around(self) -> tuple[object, ...]:
        """Read at once what an answer may show beside the matches, which is known from
        then on: problems, norms, what stands, and the texts of the best."""
        best = nlargest(
            self.config.limit,
            self.matches,
            key=lambda entry: self.matches[entry].relevance,
        )
        texts = [self.passage(self.chosen[entry]) for entry in best]
        return self.problems, self.norms, self.standing, texts


def ask(
    kept: ProjectIndex, filters: Filters, task: str, embedder: Embeds, *, around: bool
) -> OwnMatching:
    """What the index of this machine has about a task, and `around` it: asked once for
    all that an answer shows."""
    found = OwnMatching(kept, filters, embedder).look(task)
    if around:
        found.look_around()
    return found
