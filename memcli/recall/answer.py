"""One recall: filters, search, layers and budget -> the hits that are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from memcli.index import view
from memcli.index.view import Filters
from memcli.memory.values import Problem
from memcli.recall import budget
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
    shown = composed(project.config, layers.pools(ranked, alone=request.ranked_only))
    problems = (*project.listing.problems, *(item for row in files for item in row.problems))
    hits = tuple(layers.hits(shown.items))
    return RecallReport(
        layers.search.mode, request.task, hits, shown.budget, problems, len(ranked), True
    )


def composed(config: Config, pools: budget.Pools) -> budget.Block:
    """What of these is shown, by the bounds of the configuration."""
    return budget.compose(
        pools, limit=config.max_tokens, most=config.limit, by_type=config.max_tokens_by_type
    )


def vectors_of(
    index: Index, config: Config, embedder: Callable[[], Embedder | None], notes: list[str]
) -> Callable[..., Lane | None]:
    """The vector lane of searches over this index; it loads nothing where words alone are wanted."""
    if config.fusion == "bm25" or config.embedder == "none":
        return lambda *_: None
    from memcli.recall.vector_lane import IndexLane

    return IndexLane(index, config, embedder, notes).look
