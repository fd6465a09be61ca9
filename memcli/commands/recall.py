"""mem recall: find what was learned that bears on a task."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path

from memcli.app import App
from memcli.errors import ProviderError, UsageError, one_of
from memcli.index import view
from memcli.index.own import ask
from memcli.index.search import Matching
from memcli.memory.filters import checked
from memcli.project.context import survey
from memcli.project.record import kept_record
from memcli.recall import evidence
from memcli.recall.answer import (
    Layers,
    RecallReport,
    RecallRequest,
    answer,
    composed,
    from_history,
    numbered,
)
from memcli.recall.budget import Pools
from memcli.recall.hit import Hit
from memcli.recall.present import Showing
from memcli.recall.search import Search
from memcli.text.controls import for_prompt
from memcli.text.secrets import find_secrets


def recall(app: App, request: RecallRequest) -> RecallReport:
    """Answer one request. Reads files, writes the index alone (and the recall log)."""
    _check(request)
    asks_history = request.asks_history
    project = app.project
    known = survey(project)
    filters = checked(request.filters, known.today)
    request = request._replace(filters=filters)
    shared = _shared_answer(app, request) if request.shared else None
    if shared is not None:
        return shared
    only_history = request.history == "only"
    asks_memory = bool(project.listing.files) and not only_history
    record = kept_record(project) if asks_history else None
    if asks_memory and known.config.refresh:
        # before anything looks at the index: it may have to be built anew
        app.refresh()
    embedder = lambda: app.providers.embedder  # noqa: E731
    past = None
    if record is not None:
        from memcli.index.past import Means, Wanted, ask_own

        wanted = Wanted(filters, request.agents)
        means = Means(lambda: _add_commits(app, record.path), embedder)
        past = ask_own(app.kept, record, request.task, wanted, means)
    nearest = past.nearest if past else ()
    if not asks_memory:
        report = from_history(project, request.task, past)
        found = only_history or past is not None
        return report._replace(found=found, nearest=nearest)
    if known.config.query == "llm":
        from memcli.recall.condense import condensed

        request = request._replace(task=condensed(app, request.task))
    task = request.task
    around = not request.ranked_only
    report = app.guarded(
        lambda: answer(
            ask(app.kept, filters, task, embedder, around=around),
            request,
            past,
            known.own_tokens,
        )
    )
    if request.session and not find_secrets(request.session):
        _log(app, request.session, report)
    return report._replace(nearest=nearest)


def _check(request: RecallRequest) -> None:
    """Raise UsageError for a request that asks nothing, or of an agent nobody
    knows."""
    if not request.task.strip():
        hint = 'mem recall "what you are about to do"'
        raise UsageError("the task is empty", hint)
    if request.agents:
        from memcli.sessions.formats.registry import FORMATS

        for name in request.agents:
            one_of("--agent", name, tuple(sorted(FORMATS)))


def _shared_answer(app: App, request: RecallRequest) -> RecallReport | None:
    """The answer of the shared index; None, and a note, where it cannot be asked and
    there is memory here."""
    try:
        return _recall_shared(app, request)
    except ProviderError as error:
        if not app.project.listing.files:
            raise
        here = "this answer is only from here"
        app.notes.append(f"{error.what}: {here}{error.advice}")
        return None


def _log(app: App, session: str, report: RecallReport) -> None:
    """Remember what a session was shown, for mem reinforce."""
    shown = [
        (hit.id, hit.layer, hit.rank, hit.score)
        for hit in report.hits
        if hit.id and hit.layer in ("ranked", "workflows")
    ]
    today = app.today
    why = "the recall log was skipped"
    app.from_state(lambda state: state.log_recall(session, shown, today), None, why)


def _add_commits(app: App, record: Path) -> None:
    """Add the new commits to a record where they are few."""
    from memcli.history.commits import add_few  # a record is behind now and then

    root = app.project.root
    most = app.project.config.history_commits
    if root is not None:
        app.notes += filter(None, [add_few(record, root, most, app.forgotten)])


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
        matching = Matching(index, vectors, config, project.view).look(request.task)
        search = Search(matching, project.now)
        ranked = search.ranked(config.limit)
        showing = Showing(search, detail=config.detail, explain=request.explain)
        pools = Pools(ranked=showing.each("ranked", [hit.item.id for hit in ranked]))
        shown = composed(config, pools)
    return RecallReport(
        mode=matching.mode,
        query=request.task,
        hits=numbered(shown.items),
        budget=shown.budget,
        problems=(),
        matched=len(ranked),
        found=bool(index.projects),
    )


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
    pool = list[tuple[float, Hit]]()
    modes = set[str]()
    has_memory = False
    with ExitStack() as inside:
        for number, root in enumerate(roots):
            options = app.options._replace(root=root, others=())
            opened_app = inside.enter_context(
                App(options, app.project.environ, Path.cwd())
            )
            filters = request.filters._replace(proxy=False)
            if number:
                filters = filters._replace(no_global=True)
            asked = request._replace(filters=checked(filters, opened_app.project.now))
            if opened_app.project.listing.files:
                has_memory = True
                pool += opened_app.guarded(partial(_hits, opened_app, asked, modes))
            app.notes += [f"{root}: {note}" for note in opened_app.notes]
        pool.sort(key=lambda each: (-each[0], each[1].path))
        shown = composed(app.project.config, Pools(ranked=[hit for _, hit in pool]))
    return RecallReport(
        mode=modes.pop() if len(modes) == 1 else "bm25",
        query=request.task,
        hits=numbered(shown.items),
        budget=shown.budget,
        problems=(),
        matched=len(pool),
        found=has_memory,
    )


def _hits(app: App, request: RecallRequest, modes: set[str]) -> list[tuple[float, Hit]]:
    """The hits of one root, each with how much of the task it meets."""
    if app.project.config.refresh:
        app.refresh()
    name = for_prompt((app.project.root or app.project.home).name)
    task = request.task
    matching = ask(
        app.kept, request.filters, task, lambda: app.providers.embedder, around=False
    )
    layers = Layers(matching, explain=request.explain)
    ranked = layers.search.ranked(app.project.config.limit)
    modes.add(matching.mode)
    query_terms = evidence.terms(matching.weights)
    drafts = layers.showing.each("ranked", [scored.item.id for scored in ranked])
    ranked_hits = []
    for scored, draft in zip(ranked, drafts, strict=True):
        hit = draft.made
        met = evidence.strength_in(hit.title, scored.item.text, query_terms)
        project_hit = hit._replace(
            key=f"{hit.key}@{app.project.root}",
            head=f"{name}: {hit.head}",
            project=name,
            score=round(met, 6),
        )
        ranked_hits.append((met, project_hit))
    return ranked_hits
