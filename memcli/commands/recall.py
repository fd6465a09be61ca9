"""mem recall: find what was learned that bears on a task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memcli.app import App
from memcli.errors import DataError, ProviderError
from memcli.index import view
from memcli.index.view import Filters
from memcli.recall.answer import RecallReport, RecallRequest, answer, composed, from_history
from memcli.recall.budget import Budget, Pools
from memcli.recall.present import Showing
from memcli.recall.search import Search

if TYPE_CHECKING:
    from memcli.recall.history_layer import HistoryLayer


def recall(app: App, request: RecallRequest) -> RecallReport:
    """Answer one request. Reads files and the index, writes the index alone (and the recall log)."""
    filters = view.check(request.filters, app.project.now)
    if request.shared:
        try:
            return _recall_shared(app, request, filters)
        except ProviderError as error:
            if not app.project.listing.files:
                raise
            app.notes.append(f"{error.what}: this answer is from here alone" + _hint(error))
    request = request._replace(filters=filters)
    history = _history(app, request)
    if request.history == "only" or (history is not None and not app.project.listing.files):
        return from_history(app.project.config, request, history)
    if not app.project.listing.files:
        problems = tuple(app.project.listing.problems)
        return RecallReport(
            "bm25",
            request.task,
            (),
            Budget(app.project.config.max_tokens, 0, 0),
            problems,
            0,
            False,
        )
    if app.project.config.query == "llm":
        from memcli.recall.condense import condensed

        request = request._replace(task=condensed(app, request.task))
    if request.refresh:
        app.refresh()
    project, embedder = app.project, lambda: app.providers.embedder
    report = app.guarded(lambda: answer(project, app.index, embedder, app.notes, request, history))
    if request.session:
        evidence = [
            (hit.id, hit.layer, hit.rank, hit.score)
            for hit in report.hits
            if hit.id and hit.layer in ("ranked", "workflows")
        ]
        today, why = app.project.now.isoformat(), "the recall log was skipped"
        app.from_state(lambda state: state.log_recall(request.session, evidence, today), None, why)
    return report


def _history(app: App, request: RecallRequest) -> HistoryLayer | None:
    """What was said and committed about the task, where there is a record of it."""
    if request.history == "off" or not app.project.config.history or app.project.root is None:
        return None
    path = history_path(app)
    if path is None or not path.exists():
        return None
    from memcli.recall import history_layer

    try:
        if request.refresh:
            history_layer.with_new_commits(
                path, app.project.root, app.project.config.history_commits
            )
        gone = (
            app.looked(lambda: history_layer.gone_of(app.index))
            if app.project.listing.files and app.kept.exists
            else None
        )
        return history_layer.ask(
            path, request.task, request.filters, agents=request.agents, gone=gone
        )
    except DataError as error:
        app.notes.append(f"history is left out: {error.what}")
        return None


def history_path(app: App) -> Path | None:
    """The record of what was said and committed here; None outside a repository."""
    from memcli.history.record import path_of
    from memcli.storage.folders import state_dir

    return path_of(app.project.root, state_dir()) if app.project.root is not None else None


def _hint(error: ProviderError) -> str:
    return f" ({error.hint})" if error.hint else ""


def _recall_shared(app: App, request: RecallRequest, filters: Filters) -> RecallReport:
    """The ranked layer over every project that may be read. Raises ProviderError when the server
    fails.
    """
    from memcli.postgres.lane import lane
    from memcli.postgres.link import PATIENCE, Link
    from memcli.postgres.store import SharedIndex

    link = Link(app.project.config.store_url, app.project.environ, PATIENCE)
    try:
        index = SharedIndex(
            link, filters, request.projects, view.path_matcher(app.project.relative)
        )
        vectors = lane(index, app.project.config, lambda: app.providers.embedder, app.notes)
        search = Search(index, vectors, app.project.config, app.project.view, app.project.now)
        ranked = search.ranked(request.task, app.project.config.limit)
        showing = Showing(search, detail=request.detail, explain=request.explain)
        shown = composed(
            app.project.config,
            Pools(ranked=[showing.shown(hit.item.id, "ranked") for hit in ranked]),
        )
        hits = tuple(showing.hit(item, place) for place, item in enumerate(shown.items, 1))
    finally:
        link.close()
    return RecallReport(
        search.mode, request.task, hits, shown.budget, (), len(ranked), bool(index.projects)
    )


def write_ids(path: str, root: Path | None, report: RecallReport) -> None:
    """The shown ids, one a line, best first: ranked, workflows, then the unconditional layers."""
    from memcli.storage.durable import write_output

    order = ("ranked", "workflows", "baseline", "episodes")
    ids = [hit.id for layer in order for hit in report.hits if hit.layer == layer and hit.id]
    write_output(Path(path), "".join(f"{i}\n" for i in dict.fromkeys(ids)), root=root)
