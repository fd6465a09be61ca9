"""mem health: is the memory good, and what would make it better."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memcli.app import App
from memcli.compaction.stale import LASTING_KINDS, LASTING_PRIORITIES, STALE_BELOW, STALE_DAYS
from memcli.diagnostics import coherence, metrics
from memcli.diagnostics.metrics import EVIDENCE, Health, Indexed, Shown
from memcli.diagnostics.notes import ARCHIVED, Item, Note, Snapshot
from memcli.errors import MemError
from memcli.index import neighbours, terms, view
from memcli.index.source import Candidate, FileRow
from memcli.index.view import Filters
from memcli.memory.prominence import Rule, half_life_decay, prominence
from memcli.memory.values import LEVELS, Problem
from memcli.memory.words import SIZE
from memcli.project.levels_on_disk import View
from memcli.recall import budget, ranking
from memcli.storage.folders import state_dir
from memcli.storage.session_log import SessionLog
from memcli.storage.state import State

ASKED = 20
"""How many entries are recalled by their titles."""
LEDGER_DAYS = 30
"""How far back calls of language models are summed."""
FIRST = 12
"""How many of the best chunks are looked at for that."""
RELATIONS = {
    "supports": "supports",
    "contradicts": "contradicts",
    "merged_from": "merged",
    "promoted_from": "promoted",
    "promoted_to": "promoted",
    "superseded_by": "superseded",
}
"""Keys that name other entries, and the edges they are drawn as."""
PROVENANCE = ("session_id", "merged_from", "promoted_from", "promoted_to")


class Spent(NamedTuple):
    """What language models did for this project in the last `days` days: tokens as counted, cost in
    USD.
    """

    days: int
    calls: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        return self.input + self.cache_read + self.cache_write + self.output


class HealthReport(NamedTuple):
    """`history` has one snapshot a day, this one last; `never` is None while no recall was logged.

    `notes` are all live entries and what their edges may lead to, when the page is wanted.
    `unwritten` counts the prompts that hooks saw since memory was last written.
    """

    health: Health
    counts: Mapping[str, Any]
    history: tuple[Snapshot, ...]
    problems: tuple[Problem, ...]
    notes: tuple[Note, ...]
    never: tuple[str, ...] | None
    found: bool
    spent: Spent
    unwritten: int = 0


class _Known(NamedTuple):
    """What the index knows: entries (each id once), archived ones, and how many are missing."""

    entries: Sequence[Candidate]
    archived: Sequence[Candidate]
    files: Mapping[int, FileRow]
    indexed: Indexed

    @property
    def broken(self) -> bool:
        """Whether rows of files that were indexed are gone: a search would be wrong."""
        return self.indexed.entries + self.indexed.missing_files < self.indexed.eligible

    @property
    def live(self) -> list[Candidate]:
        return [entry for entry in self.entries if entry.values["status"] != "retired"]


def health(app: App, *, page: bool = False) -> HealthReport:
    """The health of the whole project and the global level, wherever it is asked from.

    Writes the index and one snapshot a day in the state file.
    """
    if not app.project.listing.files:
        problems = tuple(app.project.listing.problems)
        nothing = metrics.health((), Indexed(0, 0, len(problems)), (), ())
        return HealthReport(
            nothing, _counts((), (), {}, 0), (), problems, (), None, False, _spent(app)
        )
    app.refresh()
    return app.guarded(lambda: _health(app, page))


def _health(app: App, page: bool) -> HealthReport:
    known = _known(app)
    entries, live = known.entries, known.live
    texts = {entry.entry: _text(app, entry) for entry in entries}
    tokens = sum(budget.tokens(text) for text in texts.values())
    shown = _shown(app)
    ids = {entry.entry for entry in (*entries, *known.archived)}
    linked = {entry.entry for entry in live if _is_linked(entry, ids)} | _answered(live)
    alone = {entry.entry for entry in (entries if page else live)} - (set() if page else linked)
    similar = neighbours.similar(app.index.db, alone)
    items = _items(app, known, texts, linked | {edge.entry for edge in similar})
    promoted = {item.id for item in items if item.promoted}
    asked = live if len(shown) < EVIDENCE else ()
    places = None if known.broken else _places(app, asked, known.files, promoted)
    vectors = (
        app.index.vectors.of_entries(coherence.compared(texts)) if known.indexed.embedded else None
    )
    found = metrics.health(items, known.indexed, shown, places, vectors)
    history = _remember(app, found, len(live), tokens) if live else ()
    noted = (*live, *known.archived) if page else ()
    near: dict[str, list[str]] = {}
    for one, other, _ in similar:
        near.setdefault(one, []).append(other)
    notes = [
        _note(app, entry, known.files, texts.get(entry.entry, ""), near.get(entry.entry, ()))
        for entry in noted
    ]
    return HealthReport(
        found,
        _counts(entries, live, known.files, tokens),
        history,
        tuple(app.problems),
        tuple(notes),
        _never(live, shown),
        True,
        _spent(app),
        _unwritten(app),
    )


# --- reading


def _known(app: App) -> _Known:
    rows = view.visible(app.index.files().values(), View(), Filters())
    files = {row.id: row for row in rows if "proxy" not in (row.place.store, row.place.of)}
    memory: dict[str, list[Candidate]] = {}
    archive: dict[str, Candidate] = {}
    held = 0
    for candidate in app.index.entries.every():
        store = files[candidate.source].place.store if candidate.source in files else ""
        if store == "memory":
            held += 1
            memory.setdefault(candidate.entry, []).append(candidate)
        elif store == "archive":
            archive.setdefault(candidate.entry, candidate)
    entries = [view.nearest(copies, files, View()) for copies in memory.values()]
    archived = [candidate for name, candidate in archive.items() if name not in memory]
    return _Known(entries, archived, files, _indexed(app, files.values(), held))


def _indexed(app: App, rows: Iterable[FileRow], held: int) -> Indexed:
    """How many entries the index should hold: those its files had when they were read."""
    expected = sum(row.entries for row in rows if row.place.store == "memory")
    known = app.index.files()
    missing = [file for file in app.project.listing.files if file.name not in known]
    unread = [problem for problem in app.problems if problem.severity == "unreadable"]
    lost = len({file.name for file in missing} | {problem.path for problem in unread})
    return Indexed(held, expected + lost, lost, _embedded(app))


def _embedded(app: App) -> tuple[int, int] | None:
    """(chunks that have a vector of the embedder, chunks that should); None without an embedder."""
    try:
        embedder = app.providers.embedder
    except MemError as error:
        app.notes.append(f"vectors do not count: {error.what}")
        return None
    if embedder is None:
        return None
    state = app.index.vectors.state()
    have, should = app.index.vectors.count(app.chosen)
    same = state is not None and (state.provider, state.model) == (
        embedder.provider,
        embedder.model,
    )
    return (have if same else 0), should


def _text(app: App, candidate: Candidate) -> str:
    return candidate.text if len(candidate.text) < SIZE else app.index.entries.text(candidate)


def _shown(app: App) -> list[Shown]:
    """The recall log; empty, with a note, when it cannot be read."""
    none: list[Shown] = []
    why = "the recall log was not read"
    return app.from_state(
        lambda state: [Shown._make(row) for row in state.recalls()], none, why, make=False
    )


def _spent(app: App) -> Spent:
    """The ledger; empty, with a note, when it cannot be read."""
    since = (app.project.now - datetime.timedelta(days=LEDGER_DAYS - 1)).isoformat()
    none = Spent(LEDGER_DAYS)
    if not (state_dir() / "state.db").exists():
        return none
    why = "the ledger was not read"
    return app.from_state(
        lambda state: Spent(LEDGER_DAYS, *state.calls(since)), none, why, make=False
    )


def _unwritten(app: App) -> int:
    """The prompts since memory was last written, as far as hooks counted them; else 0."""
    newest = max((file.mtime for file in app.project.listing.files), default=0)
    return app.from_state(lambda state: SessionLog(state).prompts_since(newest), 0, make=False)


def _remember(app: App, found: Health, entries: int, tokens: int) -> tuple[Snapshot, ...]:
    """Keep today's snapshot; all of them, the oldest first. Without a state file, today's."""
    values = {name: metric.value for name, metric in found.metrics.items()}
    today = Snapshot(app.project.now.isoformat(), found.score, entries, tokens, values)

    def kept(state: State) -> tuple[Snapshot, ...]:
        state.keep_snapshot(*today)
        return tuple(Snapshot._make(row) for row in state.snapshots())

    return app.from_state(kept, (today,), "the snapshot was not kept")


# --- one entry


def _items(app: App, known: _Known, texts: Mapping[str, str], linked: set[str]) -> list[Item]:
    live = known.live
    rule = Rule("half-life", app.project.config.half_life, app.project.config.half_life_by_kind)
    here = {entry.entry for entry in live}
    items = (_item(entry, texts[entry.entry], rule, app.project.now) for entry in live)
    return [
        item._replace(
            linked=entry.entry in linked,
            shelf=_shelf(entry, known.files[entry.source]),
            promoted=not here.isdisjoint(_named(entry, "promoted_to")),
        )
        for item, entry in zip(items, live, strict=True)
    ]


def _item(entry: Candidate, text: str, rule: Rule, now: datetime.date) -> Item:
    age = ranking.age_of(entry.values, now)
    decay = prominence(1.0, entry.kind, age, 0, rule).decay
    return Item(entry.entry, entry.title, text, decay, age, _is_stale(entry, age), linked=False)


def _shelf(entry: Candidate, file: FileRow) -> str:
    """What compaction merges stands on one shelf; prose and episodes stand alone."""
    place = file.place
    if not entry.values["written"] or entry.kind == "episode":
        return entry.entry
    return "/".join(
        (place.store, place.level, place.job, place.task, entry.type, str(entry.values["domain"]))
    )


def _is_stale(entry: Candidate, age: int) -> bool:
    """What `mem compact --stale` archives, but for entries whose kind alone gives them a high
    priority.
    """
    values = entry.values
    if (
        not values["written"]
        or entry.kind in LASTING_KINDS
        or values["priority"] in LASTING_PRIORITIES
    ):
        return False
    weight = float(values["importance"]) * half_life_decay(age) * (1 + int(values["count"]))
    return age > STALE_DAYS and weight < STALE_BELOW


def _is_linked(entry: Candidate, ids: set[str]) -> bool:
    """Whether it names its session, what it was made from or became, or an entry that exists."""
    if any(entry.values.get(key) for key in PROVENANCE):
        return True
    return any(other in ids for key in ("supports", "contradicts") for other in _named(entry, key))


def _answered(live: Iterable[Candidate]) -> set[str]:
    """The ids that some live entry supports or contradicts."""
    return {other for e in live for key in ("supports", "contradicts") for other in _named(e, key)}


def _named(entry: Candidate, key: str) -> list[str]:
    value = entry.values.get(key) or ()
    return [str(item) for item in ((value,) if isinstance(value, str) else value)]


def _note(
    app: App, entry: Candidate, files: Mapping[int, FileRow], text: str, similar: Iterable[str]
) -> Note:
    row = files[entry.source]
    archived = row.place.store == "archive"
    links = [(edge, other) for key, edge in RELATIONS.items() for other in _named(entry, key)]
    links += [("similar", other) for other in similar]
    return Note(
        id=entry.entry,
        title=entry.title or budget.cut_words(text, 12),
        text=text,
        level=row.place.level,
        kind=entry.kind or entry.type,
        status=ARCHIVED if archived else str(entry.values["status"]),
        path=row.path,
        line=entry.line,
        age=ranking.age_of(entry.values, app.project.now),
        session="" if archived else str(entry.values.get("session_id") or ""),
        links=tuple(links),
    )


# --- recall


def _places(
    app: App, live: Sequence[Candidate], files: Mapping[int, FileRow], promoted: set[str]
) -> list[int]:
    """At which place each of a sample comes when asked for by its title; 0: not among the first.

    Whoever scores the same comes before it: two copies of one entry hide each other. What was
    promoted stands aside for the copy that it became, as in a recall.
    """
    titled = {entry.entry: entry for entry in live if entry.title and entry.entry not in promoted}
    denied = app.index.words.denied(
        [source for source, row in files.items() if row.place.store == "memory"]
    )
    return [_place(app, titled[name], denied, promoted) for name in coherence.sample(titled, ASKED)]


def _place(app: App, entry: Candidate, denied: frozenset[int], promoted: set[str]) -> int:
    scores = app.index.words.best(terms.build(entry.title).terms, None, denied, FIRST)
    best: dict[str, float] = {}
    for candidate in app.index.entries.candidates(scores):
        if candidate.entry not in promoted:
            best[candidate.entry] = max(best.get(candidate.entry, 0.0), scores[candidate.rowid])
    own = best.pop(entry.entry, None)
    return 0 if own is None else 1 + sum(score >= own * (1 - 1e-9) for score in best.values())


def _never(live: Sequence[Candidate], shown: Sequence[Shown]) -> tuple[str, ...] | None:
    """The live entries that no logged recall showed, neither them nor what they were merged from."""
    if not shown:
        return None
    seen = {row.entry for row in shown}
    return tuple(e.entry for e in live if seen.isdisjoint((e.entry, *_named(e, "merged_from"))))


# --- counts


def _counts(
    entries: Sequence[Candidate],
    live: Sequence[Candidate],
    files: Mapping[int, FileRow],
    tokens: int,
) -> dict[str, Any]:
    levels = Counter(files[entry.source].place.level for entry in entries)
    return {
        "entries": len(entries),
        "live": len(live),
        "files": sum(row.place.store == "memory" for row in files.values()),
        "tokens": tokens,
        "level": {level: levels[level] for level in LEVELS if levels[level]},
        "type": metrics.tally(entry.type for entry in entries),
        "kind": metrics.tally(entry.kind or "none" for entry in entries),
        "status": metrics.tally(str(entry.values["status"]) for entry in entries),
    }


def trend(report: HealthReport) -> Iterator[tuple[str, ...]]:
    """The snapshots as rows: day, score, the five metrics, live entries, tokens."""
    for day in report.history:
        values = [day.metrics.get(name) for name in metrics.WEIGHTS]
        shown = ["-" if value is None else f"{value:.1f}" for value in (day.score, *values)]
        yield (day.day, *shown, str(day.entries), str(day.tokens))
