"""mem browse: all that is remembered, with where it came from and what became of it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memcli.app import App
from memcli.commands.show import PROVENANCE, ListRow, list_entries, standing
from memcli.commands.why import lives
from memcli.compaction.compact import compact
from memcli.compaction.plan import CompactRequest
from memcli.diagnostics.health import HealthReport, health
from memcli.errors import MemError
from memcli.history import record_of
from memcli.history.record import opened
from memcli.index import anchors, vectors
from memcli.index.view import Filters
from memcli.memory.parser import sections
from memcli.memory.values import LEVELS, Entry, listed, plain_id
from memcli.memory.words import body_of, clean
from memcli.project.context import read_known
from memcli.storage.state import SessionLog, State

LONGEST = 6000  # characters of a text in the page; mem show has the rest
NEWEST = 3000  # so many exchanges and commits are in it, and so many tellings
ALIKE = 3000  # up to so many entries, each is told what it is similar to
SECONDS = 5.0  # how long the code is looked through for what entries name
RELATIONS = (
    "supports contradicts superseded_by merged_from promoted_from promoted_to".split()
)
TWO = ("merged", "alike but different", "contradiction", "unsure")
"""What compaction does or finds that is about two entries, to be looked at side by
side."""

Item = dict[str, Any]  # as the page reads it: what is empty is left out


class BrowseReport(NamedTuple):
    """What the page shows; `pairs` are (what, path, ids, detail), `health` is None at
    the start."""

    name: str
    root: str
    day: str
    items: tuple[Item, ...]
    pairs: tuple[tuple[str, str, tuple[str, ...], str], ...]
    health: Mapping[str, Any]
    start: str = "entries"


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
    report = known or health(app)
    stores = filters.store or ("memory", "institutional")
    rows = list_entries(app, filters._replace(archived=True, store=stores)).rows
    items = _items(app, rows)
    pairs = _pairs(app, {row.id for row in rows}) if rows else ()
    root = app.project.root
    found = report.health
    told = {
        "score": found.score, "band": found.band,
        "counts": {key: report.counts[key] for key in ("live", "files", "tokens")},
        "metrics": {name: each._asdict() for name, each in found.metrics.items()},
        "trend": [(day.day, day.score) for day in report.history],
    }  # fmt: skip
    return BrowseReport(
        name=root.name if root is not None else "~", root=str(root or app.project.home),
        day=app.project.now.isoformat(), items=(*items, *(_history(app) if history else ())),
        pairs=tuple(pairs), health=told, start=start,
    )  # fmt: skip


def _items(app: App, rows: Sequence[ListRow]) -> list[Item]:
    entries = _entries(app)
    seen = _seen(app)
    life = lives(app.project) if rows else {}
    ids = [row.id for row in rows]
    if rows and app.project.root is not None:
        root = app.project.root
        app.guarded(lambda: anchors.update(app.index, root, seconds=SECONDS))
    gone = app.guarded(lambda: app.index.entries.gone(ids)) if rows else {}
    near = defaultdict[str, list[tuple[str, str]]](list)
    alike = set(ids) if len(ids) <= ALIKE else set()
    for one, other, _ in (
        app.guarded(lambda: vectors.similar(app.index.db, alike)) if alike else ()
    ):
        near[one].append(("similar", other))
    found = []
    for row in rows:
        if entry := entries.get((row.path, plain_id(row.id))):
            more = {"gone": gone[row.id].text} if row.id in gone else {}
            item = _item(app, row, entry) | more | seen.get(row.id, {})
            item["links"] += near[row.id]
            item["life"] = [each[:5] for each in life.get(row.id, ())]
            found.append(
                {key: value for key, value in item.items() if value not in ("", [], {})}
            )
    return found


def _entries(app: App) -> dict[tuple[str, str], Entry]:
    """Every entry and section as it stands, by file and id."""
    return {
        (file.path, clean(entry.id)): entry
        for file in read_known(app.project, app.project.listing.files, [])
        for entry in (*file.memory.entries, *sections(file.memory))
    }


def _item(app: App, row: ListRow, entry: Entry) -> Item:
    text = body_of(entry.body, entry.title)
    extra = entry.extra
    kind = (
        "archive" if row.store == "archive" else "entry" if entry.written else "prose"
    )
    return {
        **row._asdict(), "what": kind, "text": text[:LONGEST], "cut": text[LONGEST:].count("\n"),
        "priority": entry.priority if "priority" in extra else "", "phase": entry.phase,
        "created": entry.created_at, "used": entry.last_reinforced,
        "score": round(standing(app.project, entry, row.level).score, 4),
        **{key: listed(entry, key) for key in ("tags", "paths", "commands")},
        "from": {key: extra[key] for key in PROVENANCE if key in extra},
        "links": [(key, other) for key in RELATIONS for other in listed(entry, key)],
    }  # fmt: skip


def _seen(app: App) -> dict[str, Item]:
    """By entry, when and why hooks told it, and when a recall showed it: the newest
    first."""
    found = defaultdict[str, Item](lambda: {"told": [], "shown": []})
    told = app.from_state(
        lambda state: SessionLog(state).told(), list[Any](), make=False
    )
    for each in reversed(told[-NEWEST:]):
        found[each.entry]["told"].append(
            (each.at[:16], each.event, each.why, each.session)
        )
    recalls = app.from_state(State.recalls, list[Any](), make=False)
    for session, entry, _, _, _, day in reversed(recalls[-NEWEST:]):
        found[entry]["shown"].append((day, session))
    return found


def _pairs(
    app: App, known: set[str]
) -> Iterable[tuple[str, str, tuple[str, ...], str]]:
    """What compaction would merge, and what it found alike or opposed."""
    try:
        report = compact(app, CompactRequest(levels=LEVELS), dry_run=True)
    except MemError as error:
        app.notes.append(f"duplicates and contradictions are not shown: {error.what}")
        return ()
    events = (*report.done, *report.found)
    return [
        (*each,) for each in events if each.what in TWO and len(known & {*each.ids}) > 1
    ]


def _history(app: App) -> list[Item]:
    """The newest exchanges and commits that are kept."""
    place = record_of(app.project)
    found = list[Item]()
    if place is None:
        return found
    with opened(place) as record:
        where = "1 ORDER BY date DESC LIMIT ?"
        for _, doc in record.select(where, NEWEST) if record is not None else ():
            said = doc.whole
            found.append({
                "id": doc.handle, "what": doc.source, "title": doc.title, "text": said[:LONGEST],
                "cut": said[LONGEST:].count("\n"), "date": doc.date[:10], "who": doc.who,
                "paths": list(doc.about.get("paths", ())),
            })  # fmt: skip
    return found
