"""mem recall: find what was learned that bears on a task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memcli.app import App
from memcli.errors import DataError, ProviderError
from memcli.index import view
from memcli.recall.answer import Own, RecallReport, RecallRequest, answer, composed, from_history
from memcli.recall.budget import Budget, Pools
from memcli.recall.present import Showing
from memcli.recall.search import Search

if TYPE_CHECKING:
    from memcli.recall.history_layer import HistoryLayer


def recall(app: App, request: RecallRequest) -> RecallReport:
    """Answer one request. Reads files, writes the index alone (and the recall log)."""
    project, filters = app.project, view.check(request.filters, app.project.now)
    request = request._replace(filters=filters)
    if request.shared:
        try:
            return _recall_shared(app, request)
        except ProviderError as error:
            if not project.listing.files:
                raise
            hint = f" ({error.hint})" if error.hint else ""
            app.notes.append(f"{error.what}: this answer is from here alone{hint}")
    if project.listing.files and request.refresh and request.history != "only":
        app.refresh()  # before anything looks at the index: it may have to be built anew
    history = _history(app, request)
    if request.history == "only" or (history is not None and not project.listing.files):
        return from_history(project.config, request.task, history)
    if not project.listing.files:
        problems, budget = tuple(project.listing.problems), Budget(project.config.max_tokens, 0, 0)
        return RecallReport("bm25", request.task, (), budget, problems, 0, False)
    if project.config.query == "llm":
        from memcli.recall.condense import condensed

        request = request._replace(task=condensed(app, request.task))
    report = app.guarded(
        lambda: answer(
            Own(project, app.index, lambda: app.providers.embedder, app.notes), request, history
        )
    )
    if request.session:  # what it was shown, for mem reinforce
        evidence = [
            (hit.id, hit.layer, hit.rank, hit.score)
            for hit in report.hits
            if hit.id and hit.layer in ("ranked", "workflows")
        ]
        today, why = project.now.isoformat(), "the recall log was skipped"
        app.from_state(lambda state: state.log_recall(request.session, evidence, today), None, why)
    return report


def _history(app: App, request: RecallRequest) -> HistoryLayer | None:
    """What was said and committed about the task, where there is a record of it."""
    project, root = app.project, app.project.root
    left_out = request.history == "off" or (request.history == "auto" and request.filters.by_value)
    if left_out or not project.config.history or root is None:
        return None
    from memcli.history import path_of
    from memcli.storage.files import state_dir

    path = path_of(root, state_dir())
    if path is None or not path.exists():
        return None
    from memcli.recall import history_layer

    try:
        if request.refresh:
            history_layer.with_new_commits(path, root, project.config.history_commits)
        gone = None
        if project.listing.files and app.kept.exists:
            gone = app.kept.looked(lambda: history_layer.gone_of(app.index))
        return history_layer.ask(
            path, request.task, request.filters, agents=request.agents, gone=gone
        )
    except DataError as error:
        app.notes.append(f"history is left out: {error.what}")
        return None


def _recall_shared(app: App, request: RecallRequest) -> RecallReport:
    """The ranked layer over every project that may be read. Raises ProviderError."""
    from memcli.postgres.lane import lane
    from memcli.postgres.link import PATIENCE, Link
    from memcli.postgres.store import SharedIndex

    project = app.project
    link = Link(project.config.store_url, project.environ, PATIENCE)
    try:
        matcher = view.path_matcher(project.relative)
        index = SharedIndex(link, request.filters, request.projects, matcher)
        vectors = lane(index, project.config, lambda: app.providers.embedder, app.notes)
        search = Search(index, vectors, project.config, project.view, project.now)
        ranked = search.ranked(request.task, project.config.limit)
        showing = Showing(search, detail=request.detail, explain=request.explain)
        pools = Pools(ranked=showing.each("ranked", [hit.item.id for hit in ranked]))
        shown = composed(project.config, pools)
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


def is_empty(app: App) -> bool:
    """Whether no memory file in view holds an entry or a section of prose."""
    if not app.project.listing.files:
        return True
    return not app.guarded(lambda: any(row.entries for row in app.index.files().values()))
