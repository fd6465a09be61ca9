"""mem recall: find what was learned that bears on a task."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.errors import ProviderError
from memcli.index import view
from memcli.index.view import Filters
from memcli.memory.values import Problem
from memcli.recall import budget as block
from memcli.recall.budget import Budget, Pools
from memcli.recall.layers import Layers
from memcli.recall.present import Hit, Showing
from memcli.recall.search import WORKFLOWS, Search


class Request(NamedTuple):
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


class Report(NamedTuple):
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


def recall(app: App, request: Request) -> Report:
    """Answer one request. Reads files and the index, writes the index alone (and the recall log)."""
    filters = view.check(request.filters, app.now)
    if request.shared:
        try:
            return _recall_shared(app, request, filters)
        except ProviderError as error:
            if not app.listing.files:
                raise
            app.notes.append(f"{error.what}: this answer is from here alone" + _hint(error))
    if not app.listing.files:
        problems = tuple(app.problems_of_listing)
        return Report(
            "bm25", request.task, (), Budget(app.config.max_tokens, 0, 0), problems, 0, False
        )
    if app.config.query == "llm":
        from memcli.recall.condense import condensed

        request = request._replace(task=condensed(app, request.task))
    if request.refresh:
        app.refresh()
    report = app.guarded(lambda: _recall(app, request, filters))
    if request.session:
        evidence = [
            (hit.id, hit.layer, hit.rank, hit.score)
            for hit in report.hits
            if hit.id and hit.layer in ("ranked", "workflows")
        ]
        app.log_recall(request.session, evidence)
    return report


def _recall(app: App, request: Request, filters: Filters) -> Report:
    files = list(app.index.files().values())
    rows = view.visible(files, app.view, filters)
    where = view.select(rows, filters, app.relative)
    layers = Layers(app, rows, where, detail=request.detail, explain=request.explain)
    limit = app.config.limit
    # More than the limit: other layers take some of them.
    ranked = layers.search.ranked(
        request.task, limit if request.ranked_only else 2 * limit + WORKFLOWS
    )
    pools = layers.pools(ranked, alone=request.ranked_only)
    shown = _composed(app, pools)
    problems = (*app.listing.problems, *(item for row in files for item in row.problems))
    hits = tuple(layers.hits(shown.items))
    return Report(layers.search.mode, request.task, hits, shown.budget, problems, len(ranked), True)


def _composed(app: App, pools: Pools) -> block.Block:
    c = app.config
    return block.compose(pools, limit=c.max_tokens, most=c.limit, by_type=c.max_tokens_by_type)


def _hint(error: ProviderError) -> str:
    return f" ({error.hint})" if error.hint else ""


def _recall_shared(app: App, request: Request, filters: Filters) -> Report:
    """The ranked layer over every project that may be read. Raises ProviderError when the server
    fails.
    """
    from memcli.postgres.lane import lane
    from memcli.postgres.link import PATIENCE, Link
    from memcli.postgres.store import SharedIndex

    link = Link(app.config.store_url, app.environ, PATIENCE)
    try:
        index = SharedIndex(link, filters, request.projects, view.path_matcher(app.relative))
        search = Search(app, index, lane(index, app.config, lambda: app.embedder, app.notes))
        ranked = search.ranked(request.task, app.config.limit)
        showing = Showing(search, detail=request.detail, explain=request.explain)
        shown = _composed(
            app, Pools(ranked=[showing.shown(hit.item.id, "ranked") for hit in ranked])
        )
        hits = tuple(showing.hit(item, place) for place, item in enumerate(shown.items, 1))
    finally:
        link.close()
    return Report(
        search.mode, request.task, hits, shown.budget, (), len(ranked), bool(index.projects)
    )


def write_ids(path: str, report: Report) -> None:
    """The shown ids, one a line, best first: ranked, workflows, then the unconditional layers."""
    from memcli.storage.workspace import write_output

    order = ("ranked", "workflows", "baseline", "episodes")
    ids = [hit.id for layer in order for hit in report.hits if hit.layer == layer and hit.id]
    write_output(Path(path), "".join(f"{i}\n" for i in dict.fromkeys(ids)))
