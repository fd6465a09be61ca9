"""mem browse: all that is remembered, with where it came from and what became of it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any, NamedTuple

from memcli.app import App
from memcli.commands.log import lives
from memcli.commands.show import PROVENANCE, ListRow, list_entries, standing
from memcli.compaction.compact import compact
from memcli.compaction.plan import CompactRequest
from memcli.diagnostics.health import HealthReport, health
from memcli.diagnostics.metrics import FEW
from memcli.errors import MemError
from memcli.extraction import proposals
from memcli.history.record import opened
from memcli.index import vectors
from memcli.memory.docs import Doc
from memcli.memory.filters import Filters
from memcli.memory.parser import sections
from memcli.memory.values import LEVELS, Entry, listed, plain_id
from memcli.memory.words import body_of, clean
from memcli.project.context import read_all
from memcli.project.record import record_path
from memcli.similarity.opposites import Opposite
from memcli.storage.state import SessionLog, State

LONGEST = 6000  # characters of a text in the page; mem show has the rest
NEWEST = 3000  # so many exchanges and commits are in it, and so many tellings
ALIKE = 3000  # up to so many entries, each is told what it is similar to
PARTS = 4  # of its making, of much the same length: health, entries, pairs, the page
SECONDS = 5.0  # how long the code is looked through for what entries name
RELATIONS = """supports contradicts superseded_by merged_from promoted_from promoted_to""".split()
TWO = ("merged", "alike but different", "contradiction", "unsure")
"""What compaction does or finds that is about two entries, to be looked at side by
side."""

Item = dict[str, Any]  # as the page reads it: what is empty is left out
Pair = tuple[str, str, tuple[str, ...], str]  # what, path, ids, detail


class BrowseReport(NamedTuple):
    """What the page shows; `pairs` are (what, path, ids, detail), `health` is None at
    the start."""

    name: str
    root: str
    day: str
    items: tuple[Item, ...]
    pairs: tuple[Pair, ...]
    health: Mapping[str, Any]
    start: str = "entries"
    proposals: tuple[Item, ...] = ()
    """What sessions proposed and waits for a yes, the newest first."""


def browse(
    app: App,
    filters: Filters,
    *,
    history: bool = False,
    start: str = "entries",
    known: HealthReport | None = None,
) -> BrowseReport:
    """Everything in view, archives and retired entries too; `history`: what was said
    and done."""
    app.count("part", 0, PARTS)
    report = known or health(app)
    app.count("part", 1, PARTS)
    stores = filters.store or ("memory", "institutional")
    rows = list_entries(app, filters._replace(archived=True, store=stores)).rows
    opposites = report.opposites
    items = _items(app, rows, opposites) if rows else []
    app.count("part", 2, PARTS)
    if history:
        items += _history(app)
    pairs = _pairs(app, {row.id for row in rows}, opposites) if rows else ()
    app.count("part", 3, PARTS)
    root = app.project.root
    return BrowseReport(
        name=root.name if root is not None else "~",
        root=str(root or app.project.home),
        day=app.today,
        items=tuple(items),
        pairs=tuple(pairs),
        health=_health_item(report),
        start=start,
        proposals=tuple(_proposals(app)),
    )


def _proposals(app: App) -> list[Item]:
    waiting = proposals.known(app, why="proposals are not shown").all
    fields = "id title text around kind source since by".split()
    return [
        {field: getattr(proposal, field) for field in fields}
        for proposal in waiting
        if proposal.waits
    ]


def _health_item(report: HealthReport) -> Item:
    scored = report.health
    metrics = {name: metric._asdict() for name, metric in scored.metrics.items()}
    return {
        "score": scored.score,
        "band": scored.band,
        "counts": {key: report.counts[key] for key in ("live", "files", "tokens")},
        "few": FEW if report.counts["live"] < FEW else 0,
        "metrics": metrics,
        "trend": [(day.day, day.score) for day in report.history],
    }


def _items(
    app: App, rows: Sequence[ListRow], opposites: Sequence[Opposite]
) -> list[Item]:
    entries = _entries(app)
    uses = _seen(app)
    life = lives(app.project)
    ids = [row.id for row in rows]
    app.check_names(seconds=SECONDS)
    outdated = app.guarded(lambda: app.index.entries.gone(ids))
    beside = _beside(app, ids, opposites)
    items = []
    for row in rows:
        entry = entries.get((row.path, plain_id(row.id)))
        if entry is None:
            continue
        item = _item(app, row, entry) | uses.get(row.id, {})
        if row.id in outdated:
            item["gone"] = outdated[row.id].text
        item["links"] += beside[row.id]
        item["life"] = [event[:5] for event in life.get(row.id, ())]
        items.append(_without_empty(item))
    return items


def _without_empty(item: Item) -> Item:
    return {key: value for key, value in item.items() if value not in ("", [], {})}


def _beside(
    app: App, ids: Sequence[str], opposites: Sequence[Opposite]
) -> Mapping[str, Sequence[tuple[str, str]]]:
    """The opposites of each entry, and what else is similar to it, where there are not
    too many of them."""
    links = defaultdict[str, list[tuple[str, str]]](list)
    for pair in opposites:
        for one, other in permutations(pair.ids):
            links[one].append(("opposite", other))
    if len(ids) <= ALIKE:
        alike = app.guarded(lambda: vectors.similar(app.index.db, set(ids)))
        for entry_id, other, _ in alike:
            if ("opposite", other) not in links[entry_id]:
                links[entry_id].append(("similar", other))
    return links


def _entries(app: App) -> dict[tuple[str, str], Entry]:
    """Every entry and section as it stands, by file and id."""
    entries = {}
    for file in read_all(app.project):
        for entry in (*file.memory.entries, *sections(file.memory)):
            entries[file.path, clean(entry.id)] = entry
    return entries


def _item(app: App, row: ListRow, entry: Entry) -> Item:
    text = body_of(entry.body, entry.title)
    extra = entry.extra
    what = "entry" if entry.written else "prose"
    links = []
    for key in RELATIONS:
        links += [(key, other) for other in listed(entry, key)]
    return {
        **row._asdict(),
        "what": "archive" if row.store == "archive" else what,
        "text": text[:LONGEST],
        "cut": text[LONGEST:].count("\n"),
        "priority": entry.priority if "priority" in extra else "",
        "phase": entry.phase,
        "created": entry.created_at,
        "used": entry.last_reinforced,
        "score": round(standing(app.project, entry, row.level).score, 4),
        **{key: listed(entry, key) for key in ("tags", "paths", "commands")},
        "guard": str(extra.get("guard", "")),
        "from": {key: extra[key] for key in PROVENANCE if key in extra},
        "links": links,
    }


def _seen(app: App) -> dict[str, Item]:
    """By entry, when and why hooks told it, and when a recall showed it: the newest
    first."""
    uses = defaultdict[str, Item](lambda: {"told": [], "shown": []})
    none = list[Any]()
    tellings = app.from_state(lambda state: SessionLog(state).told(), none, make=False)
    for telling in reversed(tellings[-NEWEST:]):
        when = telling.at[:16]
        uses[telling.entry]["told"].append(
            (when, telling.event, telling.why, telling.session)
        )
    recalls = app.from_state(State.recalls, none, make=False)
    for session, entry, _, _, _, day in reversed(recalls[-NEWEST:]):
        uses[entry]["shown"].append((day, session))
    return uses


def _pairs(app: App, known: set[str], opposites: Sequence[Opposite]) -> Iterable[Pair]:
    """What compaction would merge, and what it found alike or opposed."""
    try:
        look = CompactRequest(levels=LEVELS, check=True, standing=opposites)
        report = compact(app, look)
    except MemError as error:
        app.notes.append(f"duplicates and opposites are not shown: {error.what}")
        return ()
    return [
        (event.what, event.path, event.ids, event.detail)
        for event in (*report.done, *report.found)
        if event.what in TWO and len(known.intersection(event.ids)) > 1
    ]


def _history(app: App) -> list[Item]:
    """The newest exchanges and commits that are kept."""
    with opened(record_path(app.project)) as record:
        if record is None:
            return []
        newest = record.select("1 ORDER BY date DESC LIMIT ?", NEWEST)
        return [_history_item(doc) for _, doc in newest]


def _history_item(doc: Doc) -> Item:
    text = doc.whole
    return {
        "id": doc.handle,
        "what": doc.source,
        "title": doc.title,
        "text": text[:LONGEST],
        "cut": text[LONGEST:].count("\n"),
        "date": doc.date[:10],
        "who": doc.who,
        "paths": list(doc.about.get("paths", ())),
    }
