"""mem list and mem show: what is remembered, newest first; one entry with its
provenance."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from memcli.app import App
from memcli.commands.edit import refresh_found
from memcli.errors import UsageError
from memcli.index import view
from memcli.index.search import Match
from memcli.index.upkeep import the_one, twins
from memcli.index.view import FileRow
from memcli.memory import parser, words
from memcli.memory.filters import Filters, checked
from memcli.memory.values import Entry, plain_id
from memcli.project.context import Project
from memcli.recall import budget, ranking
from memcli.storage.files import Unreadable

# so many tokens of its text stand for the title of an entry that has none
UNTITLED = 12


class ListRow(NamedTuple):
    """An entry as mem list tells it."""

    id: str
    date: str
    level: str
    store: str
    type: str
    kind: str
    status: str
    importance: float
    reinforcement_count: int
    age_days: int
    decay: float
    growth: float
    prominence: float
    title: str
    path: str
    line: int


class ListReport(NamedTuple):
    """`total` counts what passed the filters; `rows` may be fewer (`--limit`)."""

    rows: tuple[ListRow, ...]
    total: int


def list_entries(app: App, filters: Filters, recent: int | None = None) -> ListReport:
    """The entries in view that pass the filters, newest first; each id once, its
    nearest copy."""
    filters = checked(filters, app.project.now)
    if not app.project.listing.files:
        return ListReport((), 0)
    app.refresh()
    listed = app.guarded(lambda: _rows(app, filters))
    # what stands later was written later
    listed.sort(key=lambda row: (row.path, -row.line))
    listed.sort(key=lambda row: row.date, reverse=True)
    return ListReport(tuple(listed[:recent]), len(listed))


def _rows(app: App, filters: Filters) -> list[ListRow]:
    files = app.index.in_view(app.project.view, filters)
    selection = view.select(files, filters, app.project.relative)
    passing = {each.rowid: each.entry for each in app.index.entries.select(selection)}
    copies: dict[str, list[view.Candidate]] = {}
    for candidate in app.index.entries.copies(passing.values()):
        if candidate.source in selection.files:
            copies.setdefault(candidate.entry, []).append(candidate)
    nearest = [view.nearest(same, files, app.project.view) for same in copies.values()]
    titles = Counter(each.title for each in nearest)
    return [
        _row(app, each, files[each.source], alone=titles[each.title] == 1)
        for each in nearest
        if each.rowid in passing
    ]


def _row(
    app: App, candidate: view.Candidate, file: view.FileRow, *, alone: bool
) -> ListRow:
    """The row of an entry; the title of prose that does not stand `alone` says more."""
    values = candidate.values
    text = words.in_one_line(words.body_of(candidate.text, candidate.title))
    begin = budget.cut_words(text, UNTITLED)
    title = candidate.title or begin
    if candidate.title and not (alone or values["written"]):
        title = f"{candidate.title}: {begin}"
    scored = _weighed(app.project, candidate.kind, file.place.level, values)
    prominence = scored.prominence
    return ListRow(
        id=candidate.entry,
        date=candidate.date,
        level=file.place.level,
        store=file.place.store,
        type=candidate.type,
        kind=candidate.kind,
        status=str(values["status"]),
        importance=float(values["importance"]),
        reinforcement_count=int(values["count"]),
        age_days=scored.item.age,
        decay=round(prominence.decay, 4),
        growth=round(prominence.growth, 4),
        prominence=round(prominence.value, 4),
        title=title,
        path=file.path,
        line=candidate.line,
    )


PROVENANCE = (
    "source session_id session_task promoted_from promoted_at promoted_to merged_from"
    " consolidated_at superseded_by retired_because archived_at archived_from archived_because"
).split()


class ShowReport(NamedTuple):
    """`raw` is the segment as it stands in the file; `around`, of a bullet, those that
    it is found and shown with; `copies` are other places of the same id; `gone` says, in
    words, what it names that the code has no more."""

    entry: Entry
    path: str
    level: str
    store: str
    age_days: int
    factors: Mapping[str, float]
    provenance: Mapping[str, Any]
    relations: tuple[tuple[str, str, str], ...]
    copies: tuple[str, ...]
    gone: str
    raw: str = ""
    around: str = ""


def show(app: App, prefix: str, *, proxy: bool = False) -> ShowReport:
    """The entry whose id is or begins with `prefix`. Raises UsageError for none or
    several."""
    refresh_found(app)
    return app.guarded(lambda: _show(app, prefix, proxy=proxy))


def _show(app: App, prefix: str, *, proxy: bool) -> ShowReport:
    index = app.index
    files = _files(app, proxy=proxy)
    ids = {entry for entry, source in index.entries.ids(prefix) if source in files}
    name = the_one(prefix, ids)
    app.notes.extend(twins(index, name))
    copies = [copy for copy in index.entries.copies([name]) if copy.source in files]
    best = view.nearest(copies, files, app.project.view)
    row = files[best.source]
    others = [copy for copy in copies if copy is not best]
    places = tuple(f"{files[copy.source].path}:{copy.line}" for copy in others)
    with suppress(Unreadable):
        memory = _read(app, row.path)
        for entry in (*memory.entries, *parser.sections(memory)):
            if entry.start == best.offset and words.clean(entry.id) == plain_id(name):
                return _report(app, entry._replace(id=name), row, places)._replace(
                    raw=memory.text[entry.start : entry.end],
                    around=best.around.partition(view.AROUND)[0],
                )
    raise UsageError(f"{name}: the file changed just now ({row.path})", "run again")


def _files(app: App, *, proxy: bool) -> dict[int, FileRow]:
    """The files in the index by number, those of the proxy store only when asked."""
    rows = app.index.files().values()
    return {
        row.id: row
        for row in rows
        if proxy or "proxy" not in (row.place.store, row.place.of)
    }


def _read(app: App, name: str) -> parser.MemoryFile:
    """A memory file as it is now, empty when it is gone."""
    file = app.project.found(name)
    return parser.parse("", name) if file is None else app.project.read(file)


def _report(
    app: App, entry: Entry, row: FileRow, copies: tuple[str, ...]
) -> ShowReport:
    scored = standing(app.project, entry, row.place.level)
    factors = {
        "importance": scored.prominence.importance,
        "decay": scored.prominence.decay,
        "growth": scored.prominence.growth,
        "prominence": scored.prominence.value,
        "level": scored.level_weight,
        "kind": scored.kind_weight,
        "score": scored.score,
    }
    extra = entry.extra
    lost = app.index.entries.gone([entry.id], shown=True).get(entry.id)
    return ShowReport(
        entry=entry,
        path=row.path,
        level=row.place.level,
        store=row.place.store,
        age_days=scored.item.age,
        factors={key: round(value, 6) for key, value in factors.items()},
        provenance={key: extra[key] for key in PROVENANCE if key in extra},
        relations=tuple(app.index.entries.relations(entry.id)),
        copies=copies,
        gone=lost.text if lost else "",
    )


def standing(project: Project, entry: Entry, level: str) -> ranking.Scored:
    """What a recall would multiply an entry's relevance by, as the score of relevance
    1."""
    values = {
        "reinforced": entry.last_reinforced,
        "created": entry.created_at,
        "date": entry.date,
        "importance": entry.importance,
        "count": entry.reinforcement_count,
    }
    return _weighed(project, entry.kind, level, {**entry.extra, **values})


def _weighed(
    project: Project, kind: str, level: str, values: Mapping[str, Any]
) -> ranking.Scored:
    """The score of relevance 1 of an entry with these values, as the index has them."""
    item = ranking.RankedItem(
        id="",
        text="",
        kind=kind,
        level=level,
        place=(),
        importance=float(values["importance"]),
        reinforced=int(values["count"]),
        age=ranking.age_of(values, project.now),
        surprise=float(values.get("surprise") or 0),
        stability=values.get("stability"),
    )
    return ranking.weigh([item], {"": Match(1.0)}, project.config)[0]
