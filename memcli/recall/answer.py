"""One recall: filters, search, layers and budget -> the hits that are shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from memcli.errors import ProviderError, UsageError
from memcli.index import view
from memcli.index.source import AROUND
from memcli.index.view import Filters
from memcli.memory.values import Problem
from memcli.project.context import own_tokens
from memcli.recall import budget, excerpt, gate
from memcli.recall.budget import Budget
from memcli.recall.layers import Layers
from memcli.recall.present import Hit
from memcli.recall.search import WORKFLOWS

if TYPE_CHECKING:
    from memcli.index.database import Index
    from memcli.index.source import Lane
    from memcli.project.config import Config
    from memcli.project.context import Project
    from memcli.providers.embed import Embedder
    from memcli.recall.history_layer import HistoryLayer


class RecallRequest(NamedTuple):
    """One recall. `task` is any text; the numbers come from the configuration."""

    task: str
    filters: Filters = Filters()
    ranked_only: bool = False
    refresh: bool = True
    detail: str = "auto"
    session: str = ""
    explain: bool = False
    shared: bool = False
    projects: tuple[str, ...] = ()
    history: str = "auto"
    """`only`, `off` or `auto`."""
    agents: tuple[str, ...] = ()


class RecallReport(NamedTuple):
    """The answer to one recall.

    `matched` counts the hits before layers and budget; `found` says whether there is any memory at
    all.
    """

    mode: str
    query: str
    hits: tuple[Hit, ...]
    budget: Budget
    problems: tuple[Problem, ...]
    matched: int
    found: bool


def answer(
    project: Project,
    index: Index,
    embedder: Callable[[], Embedder | None],
    notes: list[str],
    request: RecallRequest,
    history: HistoryLayer | None = None,
) -> RecallReport:
    """Answer one request, its filters checked, from the index of this machine as it is."""
    files = list(index.files().values())
    rows = view.visible(files, project.view, request.filters)
    where = view.select(rows, request.filters, project.relative)
    vectors = vectors_of(index, project.config, embedder, notes)
    layers = Layers(
        project, index, rows, where, vectors, detail=request.detail, explain=request.explain
    )
    limit = project.config.limit
    # More than the limit: other layers take some of them.
    ranked = layers.search.ranked(
        request.task, limit if request.ranked_only else 2 * limit + WORKFLOWS
    )
    pools = layers.pools(ranked, alone=request.ranked_only)
    if history is not None and request.ranked_only:
        listed = [
            (item, layers.search.chosen[item.key].values.get("session_id", ""), hit)
            for item, hit in zip(pools.ranked, ranked, strict=True)
        ]
        pools = pools._replace(ranked=history.merged(listed, project.config.max_tokens))
    elif history is not None:
        pools = pools._replace(history=history)
    shown = composed(project.config, pools, layers.own(), own_tokens(project))
    problems = (*project.listing.problems, *(item for row in files for item in row.problems))
    hits = tuple(_hits(layers, history, shown.items, ranked_only=request.ranked_only))
    return RecallReport(
        layers.search.mode, request.task, hits, shown.budget, problems, len(ranked), True
    )


def _hits(
    layers: Layers,
    history: HistoryLayer | None,
    items: Sequence[budget.Shown],
    *,
    ranked_only: bool,
) -> Iterator[Hit]:
    """What is shown, numbered: within its layer, or in one list through all of it."""
    own = iter(list(layers.hits([item for item in items if item.layer != "history"])))
    count = 0
    for place, item in enumerate(items, 1):
        if item.layer == "history" and history is not None:
            count += 1
            yield history.hit(item, place if ranked_only else count)
        else:
            hit = next(own)
            yield hit._replace(rank=place) if ranked_only else hit


def from_history(
    config: Config, request: RecallRequest, history: HistoryLayer | None
) -> RecallReport:
    """The answer of history alone."""
    pools = budget.Pools(history=history)
    shown = composed(config, pools)
    hits = (
        tuple(history.hit(item, place) for place, item in enumerate(shown.items, 1))
        if history
        else ()
    )
    return RecallReport("bm25", request.task, hits, shown.budget, (), len(hits), True)


LOOKED_AT = 12
"""How many hits are looked at for a prompt."""


def told(
    project: Project,
    index: Index,
    embedder: Callable[[], Embedder | None],
    notes: list[str],
    text: str,
) -> list[budget.Shown]:
    """The hits for a prompt each of which bears on it by itself, the best first."""
    least = project.config.inject_min
    sought = gate.focus(text, index.words.counts, index.words.size(), least * gate.NEAR_WANTS)
    if not sought.text:
        return []  # most prompts: found out before ranking
    rows = view.visible(index.files().values(), project.view, Filters())
    where = view.select(rows, Filters())
    layers = Layers(project, index, rows, where, vectors_of(index, project.config, embedder, notes))
    asked = excerpt.terms(sought.weights)
    hits = layers.search.ranked(sought.text, LOOKED_AT)
    wanted = gate.wanted([hit.vector for hit in hits])
    found = []
    for hit, share in zip(hits, wanted, strict=True):
        chosen = layers.search.chosen[hit.item.id]
        text = chosen.around.partition(AROUND)[0] or hit.item.text
        met = gate.strength(excerpt.together(chosen.title, text, asked))
        if hit.own and met >= least * share:
            found.append(layers.showing.shown(hit.item.id, "ranked", short=True))
    return found


def composed(
    config: Config, pools: budget.Pools, own: Collection[str] = (), own_limit: int = 0
) -> budget.Block:
    """What of these is shown, by the bounds of the configuration; see `compose_beside`."""
    within = partial(
        budget.compose,
        limit=config.max_tokens,
        most=config.limit,
        by_type=config.max_tokens_by_type,
    )
    return budget.compose_beside(pools, own, own_limit, within)


def vectors_of(
    index: Index, config: Config, embedder: Callable[[], Embedder | None], notes: list[str]
) -> Callable[..., Lane | None]:
    """The vector lane of searches over this index; it loads nothing where words alone are
    wanted.
    """
    if config.fusion == "bm25" or config.embedder == "none":
        return lambda *_: None

    def look(*asked: object) -> Lane | None:
        with suppress(ProviderError, UsageError):  # the lane says so
            if embedder() is None:
                return None
        from memcli.recall.vector_lane import IndexLane

        return IndexLane(index, config, embedder, notes).look(*asked)  # type: ignore[arg-type]

    return look
