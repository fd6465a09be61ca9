"""How good the memory is and how to improve it, for mem health."""

import datetime
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memcli.app import App
from memcli.compaction.steps import has_faded
from memcli.diagnostics import metrics
from memcli.diagnostics.doubts import Doubts, doubts_of
from memcli.diagnostics.metrics import EVIDENCE, Health, Indexed, LiveEntry, LoggedHit
from memcli.errors import MemError
from memcli.extraction import proposals
from memcli.index import lexical, view
from memcli.index import vectors as neighbours
from memcli.index.view import Candidate, FileRow
from memcli.memory.filters import Filters
from memcli.memory.prominence import Rule, prominence
from memcli.memory.values import LEVELS, Problem
from memcli.memory.words import SIZE
from memcli.project.context import View, read_all
from memcli.recall import budget, ranking
from memcli.similarity.opposites import Opposite, opposites, standing_in
from memcli.storage.state import SessionLog, State

ASKED = 20
FIRST = 12
"""How many entries are recalled by their titles, and how many of the best chunks are
examined."""
LOOKED = 1000  # how many entries without a reference are compared with all others
LEDGER_DAYS = 30  # days over which calls of language models are summed
PROVENANCE = ("session_id", "source", "merged_from", "promoted_from", "promoted_to")


class Snapshot(NamedTuple):
    """The health of one day."""

    day: str
    score: float
    entries: int
    tokens: int
    metrics: Mapping[str, float | None]


class Spent(NamedTuple):
    """Usage of language models here in the last `days` days: tokens, and cost in
    USD."""

    days: int
    calls: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        """All tokens of the calls, including cached ones."""
        return self.input + self.cache_read + self.cache_write + self.output


class HealthReport(NamedTuple):
    """The score, what it is made of, and one snapshot per day. `unwritten` counts the
    prompts since the last write to memory."""

    health: Health
    counts: Mapping[str, Any]
    history: tuple[Snapshot, ...]
    problems: tuple[Problem, ...]
    found: bool
    spent: Spent
    unwritten: int = 0
    doubts: Doubts = Doubts()
    opposites: tuple[Opposite, ...] = ()


class _IndexContent(NamedTuple):
    """What the index contains. It is `broken` if rows are missing, so that a search
    would be wrong."""

    entries: Sequence[Candidate] = ()
    archived: Sequence[Candidate] = ()
    files: Mapping[int, FileRow] = {}
    indexed: Indexed = Indexed(0, 0)
    texts: Mapping[str, str] = {}
    broken: bool = False

    @property
    def live(self) -> list[Candidate]:
        return [entry for entry in self.entries if entry.values["status"] != "retired"]


def health(app: App) -> HealthReport:
    """The health of the project and the global level; updates the index and stores one
    snapshot per day."""
    if app.project.listing.files:
        app.refresh()
        return app.guarded(lambda: _health(app))
    problems = tuple(app.project.listing.problems)
    nothing = metrics.health((), Indexed(0, 0, len(problems)), (), ())
    return HealthReport(
        health=nothing,
        counts=_counts(_IndexContent()),
        history=(),
        problems=problems,
        found=False,
        spent=_spent(app),
    )


def _health(app: App) -> HealthReport:
    content = _content_of(app)
    live = content.live
    none = list[Any]()
    log = app.from_state(State.recalls, none, "the recall log was not read", make=False)
    shown = list(map(LoggedHit._make, log))
    linked = _linked(
        live, {entry.entry for entry in (*content.entries, *content.archived)}
    )
    items = _items(app, content, _reached(app, live, linked))
    outdated = {item.id for item in items if item.outdated}
    opposed = tuple(opposites(standing_in(read_all(app.project))))
    doubts = doubts_of(
        live,
        opposed,
        {item.id: item.age for item in items},
        outdated,
        _proposals(app),
    )
    bounded = metrics.bounded(_measured(app, content, items, shown), doubts.most)
    counts = _counts(content)
    newest = max((file.mtime for file in app.project.listing.files), default=0)
    return HealthReport(
        health=bounded,
        counts=counts,
        history=_remember(app, bounded, counts) if live else (),
        problems=tuple(app.problems),
        found=True,
        spent=_spent(app),
        unwritten=app.from_state(
            lambda state: SessionLog(state).prompts_since(newest), 0, make=False
        ),
        doubts=doubts,
        opposites=opposed,
    )


def _proposals(app: App) -> int:
    """How many proposals wait for an answer."""

    def waiting(state: State) -> int:
        return sum(each.waits for each in proposals.read(state, app.project.now))

    return app.from_state(waiting, 0, "proposals were not read", make=False)


def _measured(
    app: App,
    content: _IndexContent,
    items: Sequence[LiveEntry],
    shown: Sequence[LoggedHit],
) -> Health:
    promoted = {item.id for item in items if item.promoted}
    places = None
    vectors = None
    if not content.broken:
        places = _places(app, content, promoted) if len(shown) < EVIDENCE else []
    if content.indexed.embedded:
        vectors = dict(
            neighbours.copies(app.index.db, metrics.sample(content.texts, metrics.POOL))
        )
    return metrics.health(items, content.indexed, shown, places, vectors)


def _content_of(app: App) -> _IndexContent:
    known = app.index.files()
    every = View()
    rows = view.visible(known.values(), every, Filters())
    files = {
        row.id: row for row in rows if "proxy" not in (row.place.store, row.place.of)
    }
    stores: dict[str, dict[str, list[Candidate]]] = {"memory": {}, "archive": {}}
    for candidate in app.index.entries.copies():
        store = files[candidate.source].place.store if candidate.source in files else ""
        if store in stores:
            stores[store].setdefault(candidate.entry, []).append(candidate)
    memory = stores["memory"]
    archive = stores["archive"]
    entries = [view.nearest(copies, files, every) for copies in memory.values()]
    archived = [copies[0] for name, copies in archive.items() if name not in memory]
    whole = app.index.entries.text
    texts = {
        entry.entry: entry.text if len(entry.text) < SIZE else whole(entry)
        for entry in entries
    }
    indexed = _indexed(app, files.values())
    count = sum(map(len, memory.values()))
    broken = count < indexed.eligible - indexed.missing_files
    return _IndexContent(
        entries=entries,
        archived=archived,
        files=files,
        indexed=indexed._replace(entries=count),
        texts=texts,
        broken=broken,
    )


def _indexed(app: App, rows: Iterable[FileRow]) -> Indexed:
    """What the index should contain: the entries of its files when they were read."""
    expected = sum(row.entries for row in rows if row.place.store == "memory")
    known = {row.path for row in app.index.files().values()}
    lost = {file.name for file in app.project.listing.files} - known
    lost |= {
        problem.path for problem in app.problems if problem.severity == "unreadable"
    }
    return Indexed(
        entries=0,
        eligible=expected + len(lost),
        missing_files=len(lost),
        embedded=_embedded(app),
    )


def _embedded(app: App) -> tuple[int, int] | None:
    """(chunks with a vector of the embedder, chunks that should have one); None without
    an embedder."""
    try:
        embedder = app.providers.embedder
    except MemError as error:
        app.notes.append(f"vectors do not count: {error.what}")
        return None
    if embedder is None:
        return None
    embedded, should = app.index.vectors.count(app.chosen)
    state = app.index.vectors.state()
    made_by = (state.provider, state.model) if state is not None else None
    if made_by != (embedder.provider, embedder.model):
        embedded = 0
    return embedded, should


def _spent(app: App) -> Spent:
    since = (app.project.now - datetime.timedelta(days=LEDGER_DAYS - 1)).isoformat()
    why = "the ledger was not read"
    none = Spent(LEDGER_DAYS)

    def spent(state: State) -> Spent:
        calls, read, cached, written, output, cost = state.calls(since)
        return Spent(
            days=LEDGER_DAYS,
            calls=calls,
            input=read,
            cache_read=cached,
            cache_write=written,
            output=output,
            cost=cost,
        )

    return app.from_state(spent, none, why, make=False)


def _remember(
    app: App, health: Health, counts: Mapping[str, Any]
) -> tuple[Snapshot, ...]:
    values = {name: metric.value for name, metric in health.metrics.items()}
    today = Snapshot(
        day=app.today,
        score=health.score,
        entries=counts["live"],
        tokens=counts["tokens"],
        metrics=values,
    )

    def kept(state: State) -> tuple[Snapshot, ...]:
        state.note("health", [(*today[:-1], json.dumps(today[-1]))], "OR REPLACE")
        return tuple(Snapshot._make(row) for row in state.snapshots())

    return app.from_state(kept, (today,), "the snapshot was not kept")


def _linked(live: Sequence[Candidate], known: set[str]) -> set[str]:
    """The entries that name their source or another entry, and the entries named."""
    linked = set()
    for entry in live:
        edges = {*_named(entry, "supports"), *_named(entry, "contradicts")}
        linked |= edges
        if any(map(entry.values.get, PROVENANCE)) or edges & known:
            linked.add(entry.entry)
    return linked


def _reached(app: App, live: Sequence[Candidate], linked: set[str]) -> dict[str, float]:
    """For each entry, how certainly it can be reached from a named or similar entry. Of
    those without a reference, a sample is compared with all others."""
    alone = {entry.entry for entry in live} - linked
    asked = metrics.sample(alone, LOOKED)
    similar = neighbours.have_similar(app.index.db, asked)
    unasked = alone - set(asked)
    share = len(similar) / len(asked) if unasked else 0.0
    reached = dict.fromkeys(unasked, share)
    return reached | dict.fromkeys(linked | similar, 1.0)


def _items(
    app: App, content: _IndexContent, reached: Mapping[str, float]
) -> list[LiveEntry]:
    live_ids = {entry.entry for entry in content.live}
    config = app.project.config
    outdated = app.index.entries.gone(live_ids)
    rule = Rule("half-life", config.half_life, config.half_life_by_kind)
    items = []
    for entry in content.live:
        name = entry.entry
        values = entry.values
        age = ranking.age_of(entry.values, app.project.now)
        faded = has_faded(
            age,
            float(values["importance"]),
            int(values["count"]),
            entry.kind,
            values["priority"],
        )
        item = LiveEntry(
            id=name,
            title=entry.title,
            text=content.texts[name],
            decay=prominence(1.0, entry.kind, age, 0, rule).decay,
            age=age,
            stale=bool(values["written"]) and faded,
            linked=reached.get(name, 0.0),
            shelf=_shelf(content, entry),
            promoted=not live_ids.isdisjoint(_named(entry, "promoted_to")),
            outdated=name in outdated,
        )
        items.append(item)
    return items


def _shelf(content: _IndexContent, entry: Candidate) -> str:
    """The entries that compaction compares this one with; none for prose and
    episodes."""
    if not entry.values["written"] or entry.kind == "episode":
        return entry.entry
    level, store, job, task, _ = content.files[entry.source].place
    domain = str(entry.values["domain"])
    return "/".join((store, level, job, task, entry.type, domain))


def _named(entry: Candidate, key: str) -> list[str]:
    value = entry.values.get(key) or ()
    return [value] if isinstance(value, str) else [str(item) for item in value]


def _places(app: App, content: _IndexContent, promoted: set[str]) -> list[int]:
    """The rank of each entry of a sample when its title is searched; 0: not among the
    first."""
    live = [entry for entry in content.live if entry.entry not in promoted]
    titles = {entry.entry: entry.title for entry in live if entry.title}
    files = app.index.files().values()
    hidden = [
        row.id
        for row in files
        if row.place.store != "memory" or row.id not in content.files
    ]
    shown = app.index.words.shown(hidden)
    places = []
    for name in metrics.sample(titles, ASKED):
        terms = lexical.build(titles[name]).terms
        scores = app.index.words.best(terms, shown, FIRST)
        best = defaultdict[str, float](float)
        for candidate in app.index.entries.candidates(scores):
            if candidate.entry not in promoted:
                score = max(best[candidate.entry], scores[candidate.rowid])
                best[candidate.entry] = score
        places.append(_place(name, best))
    return places


def _place(name: str, scores: Mapping[str, float]) -> int:
    """The rank of an entry by its score, after all ties; 0 without a score."""
    if name not in scores:
        return 0
    own = scores[name] * (1 - 1e-9)
    others = (score for entry, score in scores.items() if entry != name)
    return 1 + sum(score >= own for score in others)


def _counts(content: _IndexContent) -> dict[str, Any]:
    levels = Counter(
        content.files[entry.source].place.level for entry in content.entries
    )

    def tally(values: Iterable[str]) -> dict[str, int]:
        counts = Counter(values).items()
        return dict(sorted(counts, key=lambda pair: (-pair[1], pair[0])))

    return {
        "entries": len(content.entries),
        "live": len(content.live),
        "files": sum(row.place.store == "memory" for row in content.files.values()),
        "tokens": sum(map(budget.tokens, content.texts.values())),
        "level": {level: levels[level] for level in LEVELS if levels[level]},
        "type": tally(entry.type for entry in content.entries),
        "kind": tally(entry.kind or "none" for entry in content.entries),
        "status": tally(str(entry.values["status"]) for entry in content.entries),
    }
