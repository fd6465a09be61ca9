"""The layers of an answer beside the ranked one: what stands regardless of the task (SPEC 3.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from memcli.index.source import Candidate, FileRow, Lane
from memcli.index.view import Scope
from memcli.memory.levels import OUTERMOST, Place
from memcli.recall.budget import Pools, Shown
from memcli.recall.present import Hit, Showing
from memcli.recall.ranking import Scored
from memcli.recall.search import WORKFLOWS, OwnIndex, Search
from memcli.storage.files import Unreadable, read_text
from memcli.text.redact import for_prompt

if TYPE_CHECKING:
    from memcli.index.database import Index
    from memcli.project.context import Project

BASELINE_KINDS = ("policy", "architecture", "preference")
EPISODES = 20
"""How many of the newest episodes may compete for their layer."""
_PRIORITY = {"permanent": 0, "critical": 1, "high": 2, "pin": 2}


class Layers:
    """The layers of one answer from the index of this machine. `rows`: the files in view."""

    def __init__(
        self,
        project: Project,
        index: Index,
        rows: Sequence[FileRow],
        where: Scope,
        vectors: Callable[..., Lane | None] = lambda *_: None,
        *,
        detail: str = "auto",
        explain: bool = False,
    ) -> None:
        self.project, self.index = project, index
        self.rows = rows
        self.scope = where
        source = OwnIndex(index, where, vectors)
        self.search = Search(source, source.lane, project.config, project.view, project.now)
        self.showing = Showing(self.search, detail=detail, explain=explain)

    def pools(self, ranked: Sequence[Scored], *, alone: bool = False) -> Pools:
        """Everything that may be shown with these hits; `alone`: they and nothing else."""
        hits = self._shown("ranked", [hit.item.id for hit in ranked])
        if alone:
            return Pools(ranked=hits)
        filters = self.scope.filters
        return Pools(
            institutional=[] if filters.by_entry or filters.store else self.institutional(),
            baseline=self.baseline(),
            workflows=self._shown("workflows", self._workflows(ranked)),
            episodes=self.episodes(),
            ranked=hits,
        )

    def _shown(self, layer: str, entries: Iterable[str]) -> list[Shown]:
        return [self.showing.shown(entry, layer) for entry in entries]

    def institutional(self) -> list[Shown]:
        """One item per file: global, project, and the job and task one is in or names; equal texts
        once.
        """
        found: dict[str, Shown] = {}
        rows = [
            row
            for row in self.rows
            if row.place.store == "institutional" and self._at_hand(row.place)
        ]
        for row in sorted(rows, key=lambda row: OUTERMOST[row.place.level]):
            text = self._file_text(row)
            if text:
                found.setdefault(text, Shown(row.path, "institutional", for_prompt(row.path), text))
        return list(found.values())

    def _at_hand(self, place: Place) -> bool:
        """Whether one is in the job and task of a place, or names them."""
        view, named = self.project.view, self.scope.filters
        if place.task:
            return place.task in (view.task, *named.task)
        return not place.job or bool(named.task) or place.job in (view.job, *named.job)

    def _file_text(self, row: FileRow) -> str:

        file = self.project.found(row.path)
        try:
            text = read_text(file.path, file.base) if file else ""
        except Unreadable:
            return ""
        return for_prompt(text.strip("\ufeff\r\n \t"))

    def baseline(self) -> list[Shown]:
        """Policies, architecture and preferences of high priority, the most pressing first."""
        found = self._select(BASELINE_KINDS)
        places = {
            c.entry: _PRIORITY.get(c.values.get("priority", ""), len(_PRIORITY)) for c in found
        }
        high = [c for c in found if places[c.entry] <= _PRIORITY["high"]]
        high.sort(key=lambda c: (places[c.entry], -self.search.standing(c), c.entry))
        return self._shown("baseline", [c.entry for c in high])

    def _workflows(self, ranked: Sequence[Scored]) -> list[str]:
        """The best workflows for the task, the proven ones first."""
        found = [self.search.chosen[hit.item.id] for hit in ranked if hit.item.kind == "workflow"]
        found.sort(key=lambda c: not c.values.get("success_count", 0))
        return [c.entry for c in found[:WORKFLOWS]]

    def episodes(self) -> list[Shown]:
        """The newest episodes."""
        found = sorted(self._select(("episode",)), key=lambda c: (_when(c), c.entry), reverse=True)
        return self._shown("episodes", [c.entry for c in found[:EPISODES]])

    def _select(self, kinds: Sequence[str]) -> list[Candidate]:
        """Every entry of these kinds whose nearest copy is in scope."""
        return self.search.nearest(self.index.entries.select(self.scope, kinds))

    def hits(self, items: Iterable[Shown]) -> Iterator[Hit]:
        """What is shown, numbered within its layer."""
        counts: dict[str, int] = {}
        for item in items:
            place = counts[item.layer] = counts.get(item.layer, 0) + 1
            whole = item.layer == "institutional"
            yield self._institutional_hit(item, place) if whole else self.showing.hit(item, place)

    def _institutional_hit(self, item: Shown, place: int) -> Hit:
        row = next(row for row in self.rows if row.path == item.key)
        return Hit(
            None, place, item.layer, None, item.head, item.text, "directive", "", row.place.level,
            "institutional", item.head, 1, None, (), item.head,
        )  # fmt: skip


def _when(candidate: Candidate) -> str:
    values = candidate.values
    return str(
        values.get("ended_at")
        or values.get("started_at")
        or values.get("created")
        or candidate.date
    )
