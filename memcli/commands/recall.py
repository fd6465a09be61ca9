"""mem recall: find what was learned that bears on a task."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.app import App
from memcli.errors import DataError, ProviderError
from memcli.history import record_of
from memcli.index import view
from memcli.recall import evidence
from memcli.recall.answer import (
    Layers,
    Own,
    RecallReport,
    RecallRequest,
    answer,
    composed,
)
from memcli.recall.budget import Budget, Pools, Shown
from memcli.recall.present import Hit, Showing
from memcli.recall.search import Search
from memcli.text.controls import for_prompt

if TYPE_CHECKING:
    from memcli.recall.history_layer import HistoryLayer


def recall(app: App, request: RecallRequest) -> RecallReport:
    """Answer one request. Reads files, writes the index alone (and the recall log)."""
    project = app.project
    filters = view.check(request.filters, app.project.now)
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
        # before anything looks at the index: it may have to be built anew
        app.refresh()
    history = _history(app, request)
    problems = tuple(project.listing.problems)
    if request.history == "only" or (history is not None and not project.listing.files):
        from memcli.recall.answer import from_history

        return from_history(project.config, request.task, history)._replace(
            problems=problems
        )
    if not project.listing.files:
        budget = Budget(project.config.max_tokens, 0, 0)
        return RecallReport(
            mode="bm25",
            query=request.task,
            hits=(),
            budget=budget,
            problems=problems,
            matched=0,
            found=False,
        )
    if project.config.query == "llm":
        from memcli.recall.condense import condensed

        request = request._replace(task=condensed(app, request.task))
    report = app.guarded(
        lambda: answer(
            Own(
                project=project,
                memory=app.index,
                embedder=lambda: app.providers.embedder,
                notes=app.notes,
            ),
            request,
            history,
        )
    )
    if request.session:  # what it was shown, for mem reinforce
        evidence = [
            (hit.id, hit.layer, hit.rank, hit.score)
            for hit in report.hits
            if hit.id and hit.layer in ("ranked", "workflows")
        ]
        today = project.now.isoformat()
        why = "the recall log was skipped"
        app.from_state(
            lambda state: state.log_recall(request.session, evidence, today), None, why
        )
    return report


def _history(app: App, request: RecallRequest) -> "HistoryLayer | None":
    project = app.project
    root = app.project.root
    left_out = request.history == "off" or (
        request.history == "auto" and request.filters.by_value
    )
    path = None if left_out else record_of(project)
    if path is None or root is None:
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
    from memcli.postgres.link import PATIENCE, Link
    from memcli.postgres.source import SharedIndex, lane_of

    project = app.project
    config = project.config
    with ExitStack() as opened:
        link = Link(config.store_url, project.environ, PATIENCE)
        opened.callback(link.close)
        matcher = view.path_matcher(project.relative)
        index = SharedIndex(link, request.filters, request.projects, matcher)
        opened.callback(index.close)
        vectors = lane_of(index, config, lambda: app.providers.embedder, app.notes)
        search = Search.of(index, vectors, project)
        ranked = search.ranked(request.task, config.limit)
        showing = Showing(search, detail=request.detail, explain=request.explain)
        pools = Pools(ranked=showing.each("ranked", [hit.item.id for hit in ranked]))
        shown = composed(config, pools)
        hits = tuple(
            showing.hit(item, place) for place, item in enumerate(shown.items, 1)
        )
    return RecallReport(
        mode=search.mode,
        query=request.task,
        hits=hits,
        budget=shown.budget,
        problems=(),
        matched=len(ranked),
        found=bool(index.projects),
    )


def write_ids(path: str, root: Path | None, report: RecallReport) -> None:
    """The shown ids, one a line, best first: ranked, workflows, then the unconditional
    layers."""
    from memcli.storage.durable import write_output

    order = ("ranked", "workflows", "baseline", "episodes")
    ids = [
        hit.id
        for layer in order
        for hit in report.hits
        if hit.layer == layer and hit.id
    ]
    write_output(Path(path), "".join(f"{i}\n" for i in dict.fromkeys(ids)), root=root)


def is_empty(app: App) -> bool:
    """Whether no memory file in view holds an entry or a section of prose."""
    if not app.project.listing.files:
        return True
    return not app.guarded(lambda: app.index.everywhere().entries)


def recall_across(app: App, roots: list[str], request: RecallRequest) -> RecallReport:
    """The ranked hits of all roots, by how much of the task each meets against its own
    memory.

    Memory alone: no proxy, no history; the user's own level is looked at once."""
    request = request._replace(history="off", ranked_only=True)
    pool = list[tuple[float, Shown, Hit]]()
    modes = set[str]()
    found = False
    with ExitStack() as inside:
        for number, root in enumerate(roots):
            options = app.options._replace(root=root, others=())
            one = inside.enter_context(App(options, app.project.environ, Path.cwd()))
            filters = request.filters._replace(proxy=False)
            if number:
                filters = filters._replace(no_global=True)
            own = request._replace(filters=view.check(filters, one.project.now))
            if one.project.listing.files:
                found = True
                pool += one.guarded(partial(_hits, one, own, modes))
            app.notes += [f"{root}: {note}" for note in one.notes]
        pool.sort(key=lambda each: (-each[0], each[2].path))
        by_key = {item.key: hit for _, item, hit in pool}
        shown = composed(
            app.project.config, Pools(ranked=[item for _, item, _ in pool])
        )
    hits = tuple(
        by_key[item.key]._replace(rank=rank, text=item.text, head=item.head)
        for rank, item in enumerate(shown.items, 1)
    )
    mode = modes.pop() if len(modes) == 1 else "bm25"
    return RecallReport(
        mode=mode,
        query=request.task,
        hits=hits,
        budget=shown.budget,
        problems=(),
        matched=len(pool),
        found=found,
    )


def _hits(
    app: App, request: RecallRequest, modes: set[str]
) -> list[tuple[float, Shown, Hit]]:
    if request.refresh:
        app.refresh()
    name = for_prompt((app.project.root or app.project.home).name)
    own = Own(
        project=app.project,
        memory=app.index,
        embedder=lambda: app.providers.embedder,
        notes=app.notes,
    )
    layers = Layers(own, request)
    ranked = layers.search.ranked(request.task, app.project.config.limit)
    modes.add(layers.search.mode)
    asked = evidence.terms(layers.search.weights())
    found = []
    for hit in ranked:
        item = layers.showing.each("ranked", [hit.item.id])[0].made
        met = evidence.strength(
            evidence.together(layers.hit(item, 1).title, hit.item.text, asked)
        )
        told = layers.hit(item, 1)._replace(project=name, score=round(met, 6))
        key = f"{item.key}@{app.project.root}"
        found.append((met, item._replace(key=key, head=f"{name}: {item.head}"), told))
    return found
