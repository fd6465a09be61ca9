"""One recall: filters, search, layers and budget -> the hits that are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from memcli.index import weights
from memcli.index.own import EPISODES, OwnMatching
from memcli.index.view import AROUND, Candidate
from memcli.memory.filters import Filters
from memcli.memory.values import HOME, Place
from memcli.named import NamedTuple
from memcli.recall import budget, evidence
from memcli.recall.budget import Budget, Pools, tokens
from memcli.recall.hit import Hit
from memcli.recall.present import Showing, without_edges
from memcli.recall.search import WORKFLOWS, Search
from memcli.storage.files import Unreadable, read_text
from memcli.text.controls import for_prompt, strip_private

if TYPE_CHECKING:
    from memcli.index.past import FoundPast
    from memcli.memory.values import Problem
    from memcli.project.config import Config
    from memcli.project.context import Project
    from memcli.recall.history_layer import HistoryLayer
    from memcli.recall.ranking import Scored

# so many of the best hits bear on a prompt or on none; among them one must be strong for
# standing entries to give way
TOP = 3
NORMS = 100_000
"""Characters of a file of norms that are looked at for one answer."""
_PRIORITY = {"permanent": 0, "critical": 1, "high": 2, "pin": 2}


class RecallRequest(NamedTuple):
    """One recall. `task` is any text; `history` is only, off or auto."""

    task: str
    filters: Filters = Filters()
    ranked_only: bool = False
    session: str = ""
    explain: bool = False
    shared: bool = False
    projects: tuple[str, ...] = ()
    history: str = "auto"
    agents: tuple[str, ...] = ()

    @property
    def asks_history(self) -> bool:
        """Whether history is asked, too; by itself not beside filters that ask for
        entries."""
        if self.history == "auto":
            return not self.filters.by_value
        return self.history != "off"


class RecallReport(NamedTuple):
    """The answer; `matched` hits before layers and budget, `found`: there is memory at
    all, `nearest`: handles in history, whether or not they are shown."""

    mode: str
    query: str
    hits: tuple[Hit, ...]
    budget: Budget
    problems: tuple[Problem, ...]
    matched: int
    found: bool
    nearest: Sequence[str] = ()


class Bearing(NamedTuple):
    """What bears on a prompt, best first: `clear` is told, `likely` is pointed at."""

    clear: list[Hit]
    likely: list[Hit]


class Layers:
    """The layers of one answer: beside the ranked one, what stands regardless of the
    task."""

    def __init__(self, matching: OwnMatching, *, explain: bool = False) -> None:
        self.project = matching.project
        self.found = matching
        self.search = Search(matching, self.project.now)
        self.showing = Showing(
            self.search, detail=matching.config.detail, explain=explain
        )

    def pools(self, ranked: Sequence[Scored], *, alone: bool = False) -> Pools:
        """Everything that may be shown with these hits; `alone`: they and nothing
        else."""
        hits = self.showing.each("ranked", [hit.item.id for hit in ranked])
        if alone:
            return Pools(ranked=hits)
        filters = self.found.scope.filters
        bears = self._bearing()
        norms = [] if filters.by_entry or filters.store else self.institutional()
        flows = [
            self.search.chosen[hit.item.id]
            for hit in ranked
            if hit.item.kind == "workflow"
        ]
        flows.sort(
            key=lambda c: not c.values.get("success_count", 0)
        )  # the proven ones first
        workflows = self.showing.each("workflows", [c.entry for c in flows[:WORKFLOWS]])
        return Pools(
            institutional=norms,
            baseline=self.baseline(self._standing(ranked, bears)),
            workflows=workflows,
            episodes=self.episodes(lambda c: bears(c.title, c.text)),
            ranked=hits,
        )

    def _bearing(self) -> Callable[[str, str], bool]:
        """Whether a title and a text bear on the task by their words."""
        asked = evidence.terms(self.found.weights)
        if len(self.found.asked.terms) < 2:
            # One word alone is no evidence; here it is all that there is.
            return lambda title, text: any(evidence.together(title, text, asked))
        return lambda title, text: evidence.bears(title, text, asked, weights.LIKELY)

    def _standing(
        self, ranked: Sequence[Scored], bears: Callable[[str, str], bool]
    ) -> Callable[[Candidate], bool]:
        """Which standing entries are shown: all; where one of the best hits bears on the
        task, the pressing ones and those that bear on it, too."""
        if not any(
            bears(self.search.chosen[hit.item.id].title, hit.item.text)
            for hit in ranked[:TOP]
        ):
            return lambda candidate: True
        return lambda c: bool(c.values.get("pressing")) or bears(c.title, c.text)

    def institutional(self) -> list[Hit]:
        """The norms of global, project, and the job and task one is in or names; equals
        once."""
        items = {}
        for row in self.found.norms.values():
            text = self._file_text(row.path) if self._at_hand(row.place) else ""
            if text and text not in items:
                path = for_prompt(row.path)
                items[text] = Hit(
                    key=row.path,
                    layer="institutional",
                    head=path,
                    text=text,
                    title=path,
                    type="directive",
                    level=row.place.level,
                    store="institutional",
                    path=path,
                    line=1,
                )
        return list(items.values())

    def _at_hand(self, place: Place) -> bool:
        here = self.project.view
        named = self.found.scope.filters
        if place.task:
            return place.task in (here.task, *named.task)
        return not place.job or bool(named.task) or place.job in (here.job, *named.job)

    def _file_text(self, path: str) -> str:
        file = self.project.found(path)
        text = ""
        with suppress(Unreadable):
            text = read_text(file.path, file.base) if file else ""
        text = text.strip("\ufeff\r\n \t")
        if len(text) <= NORMS:
            return for_prompt(text)
        whole = strip_private(text)
        kept = without_edges(for_prompt(whole[:NORMS]), behind=True)
        return f"{kept}\n({path}: {tokens(whole) - tokens(kept)} tokens more)"

    def baseline(
        self, bears: Callable[[Candidate], bool] = lambda c: True
    ) -> list[Hit]:
        """Policies, architecture and preferences of high priority, the most pressing
        first; among those the person's own."""
        near = list(filter(bears, self.found.standing.pressing))
        score = self.search.standing(near)
        own_entries = self.own()

        def place(c: Candidate) -> tuple[int, bool, float, str]:
            is_others = c.entry not in own_entries
            return _PRIORITY[c.values["priority"]], is_others, -score[c.entry], c.entry

        ordered = (each.entry for each in sorted(near, key=place))
        return self.showing.each("baseline", budget.in_turns(ordered, own_entries))

    def episodes(
        self, bears: Callable[[Candidate], bool] = lambda c: True
    ) -> list[Hit]:
        """The newest episodes of those that bear on the task."""

        def when(candidate: Candidate) -> tuple[str, str]:
            values = candidate.values
            begun = values.get("started_at") or values.get("created")
            moment = values.get("ended_at") or begun or candidate.date
            return str(moment), candidate.entry

        bearing = filter(bears, self.found.standing.episodes)
        newest = sorted(bearing, key=when, reverse=True)[:EPISODES]
        return self.showing.each("episodes", [c.entry for c in newest])

    def own(self) -> set[str]:
        """The keys of what lies at the global level: the user's own norms and
        entries."""
        files = self.found.source.files
        chosen = self.found.chosen.items()
        entries = {key for key, c in chosen if files[c.source].place.level == HOME}
        return entries | {
            row.path for row in self.found.norms.values() if row.place.level == HOME
        }


def answer(
    matching: OwnMatching,
    request: RecallRequest,
    past: FoundPast | None,
    own_tokens: int,
) -> RecallReport:
    """Answer one request from what the index of this machine and the record have; the
    user's own part is bounded by `own_tokens`."""
    project = matching.project
    layers = Layers(matching, explain=request.explain)
    limit = project.config.limit
    alone = request.ranked_only
    # More than the limit: other layers take some of them.
    most = limit if alone else 2 * limit + WORKFLOWS
    ranked = layers.search.ranked(most)
    pools = layers.pools(ranked, alone=alone)
    if past is not None:
        history = _layer(past, project)
        history.learned(matching.chosen)
        if alone:
            room = project.config.max_tokens
            merged = history.merged(pools.ranked, layers.search, room)
            pools = Pools(ranked=[hit._replace(listed=True) for hit in merged])
        else:
            pools = pools._replace(history=history)
    shown = composed(project.config, pools, layers.own(), own_tokens)
    return RecallReport(
        mode=matching.mode,
        query=request.task,
        hits=numbered(shown.items, listed=alone),
        budget=shown.budget,
        problems=(*project.listing.problems, *matching.problems),
        matched=len(ranked),
        found=True,
    )


def _layer(past: FoundPast, project: Project) -> HistoryLayer:
    from memcli.recall.history_layer import HistoryLayer  # few have a record

    return HistoryLayer(past, project.config.inject_min)


def numbered(hits: Iterable[Hit], *, listed: bool = False) -> tuple[Hit, ...]:
    """What is shown, each with its rank: within its layer, or within all that is
    `listed` as one."""
    counts: Counter[str] = Counter()
    numbered_hits = []
    for hit in hits:
        layer = "" if listed else hit.layer
        counts[layer] += 1
        numbered_hits.append(
            hit._replace(rank=counts[layer], listed=listed, brief=None)
        )
    return tuple(numbered_hits)


def from_history(project: Project, task: str, past: FoundPast | None) -> RecallReport:
    """The answer of history alone, up to the limit of hits where none of tokens is
    set; nothing where there is none."""
    history = _layer(past, project) if past else None
    pools = Pools(history=history)
    if history is not None and not project.config.max_tokens:
        pools = Pools(ranked=history.listed())
    shown = composed(project.config, pools)
    hits = numbered(shown.items)
    return RecallReport(
        mode="bm25",
        query=task,
        hits=hits,
        budget=shown.budget,
        problems=tuple(project.listing.problems),
        matched=len(hits),
        found=True,
    )


def told(matching: OwnMatching, text: str, amended: Collection[str] = ()) -> Bearing:
    """What of a search bears on a prompt by itself, by its evidence, but what was
    learned in a session among the `amended`."""
    words = matching.source
    texts = words.size()
    sought = evidence.sought(
        text,
        words.counts,
        texts,
        evidence.crowd_of(texts),
        meant=matching.own_index.meanings,
    )
    if not sought.text:
        return Bearing([], [])
    matching.look(sought.text)
    layers = Layers(matching)
    met = dict[str, evidence.Evidence]()
    for hit in layers.search.ranked(TOP):
        chosen = matching.chosen[hit.item.id]
        if str(chosen.values.get("session_id", "")) not in amended:
            part = chosen.around.partition(AROUND)[0] or hit.item.text
            speaks = sought.evidence(chosen.title, part, cosine=hit.vector or 0.0)
            # What only stands beside a match is not told by itself.
            met[hit.item.id] = speaks if hit.own else speaks._replace(strong=0.0)
    # One bar: told is what reaches it by words, too, pointed at what does by both.
    bar = matching.config.inject_min
    verdicts = sought.verdicts([*met.values()], bar, bar)
    # In the order of the search: by strength alone the right one is first less often.
    verdict_of = dict(zip(met, verdicts, strict=True))

    def shown(verdict: str) -> list[Hit]:
        entries = [entry for entry in met if verdict_of[entry] == verdict]
        return layers.showing.each("ranked", entries, short=True)

    return Bearing(clear=shown(evidence.TELL), likely=shown(evidence.POINT))


def composed(
    config: Config, pools: Pools, own_entries: Collection[str] = (), own_limit: int = 0
) -> budget.Block:
    """What of these is shown, by the bounds of the configuration; see
    `compose_beside`."""
    limit = config.max_tokens
    most = config.limit
    by_type = config.max_tokens_by_type
    within = partial(budget.compose, limit=limit, most=most, by_type=by_type)
    return budget.compose_beside(pools, own_entries, own_limit, within)
