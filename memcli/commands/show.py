"""mem show: one entry with its values, provenance, relations and standing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from memcli.app import App
from memcli.errors import UsageError
from memcli.index import view
from memcli.index.source import FileRow
from memcli.memory.parser import parse
from memcli.memory.prominence import Rule
from memcli.memory.prose import sections
from memcli.memory.values import Entry
from memcli.memory.words import clean
from memcli.recall import ranking
from memcli.storage.files import Unreadable

PROVENANCE = (
    "source",
    "session_id",
    "session_task",
    "promoted_from",
    "promoted_at",
    "promoted_to",
    "merged_from",
    "consolidated_at",
    "superseded_by",
    "retired_because",
    "archived_at",
    "archived_from",
    "archived_because",
)


class ShowReport(NamedTuple):
    """`raw` is the segment as it stands in the file; `copies` are other places of the same id."""

    entry: Entry
    path: str
    level: str
    store: str
    age_days: int
    factors: Mapping[str, float]
    provenance: Mapping[str, Any]
    relations: tuple[tuple[str, str, str], ...]
    copies: tuple[str, ...]
    raw: str


def show(app: App, prefix: str, *, proxy: bool = False) -> ShowReport:
    """The entry whose id is `prefix` or begins with it. Raises UsageError when that is none or
    several.

    Entries of the proxy store, one person's own, are only found with `proxy`.
    """
    if not app.project.listing.files:
        raise UsageError(
            f"{prefix}: there is no memory here", 'begin with mem add "what you learned"'
        )
    app.refresh()
    return app.guarded(lambda: _show(app, prefix, proxy))


def _show(app: App, prefix: str, proxy: bool) -> ShowReport:
    rows = app.index.files().values()
    files = {row.id: row for row in rows if proxy or "proxy" not in (row.place.store, row.place.of)}
    name = _one(
        prefix,
        sorted({entry for entry, source in app.index.entries.ids(prefix) if source in files}),
    )
    copies = [copy for copy in app.index.entries.copies([name]) if copy.source in files]
    best = view.nearest(copies, files, app.project.view)
    others = tuple(f"{files[c.source].path}:{c.line}" for c in copies if c is not best)
    entry, raw = _read(app, files[best.source], name, best.offset)
    return _report(app, entry, files[best.source], raw, others)


def _one(prefix: str, names: list[str]) -> str:
    """The name that is meant, among those which begin with `prefix`."""
    if prefix in names:
        return prefix
    if len(names) != 1:
        listed = ", ".join(name[: max(13, len(prefix) + 4)] for name in names[:8])
        what = "several entries begin so" if names else "no entry has that id"
        raise UsageError(f"{prefix}: {what}", f"one of {listed}" if names else "mem list shows ids")
    return names[0]


def _read(app: App, row: FileRow, entry_id: str, offset: int) -> tuple[Entry, str]:
    file = app.project.found(row.path)
    with suppress(Unreadable):
        memory = app.project.read(file) if file is not None else parse("", row.path)
        for entry in (*memory.entries, *sections(memory)):
            if entry.start == offset and clean(entry.id) == entry_id:
                return entry, memory.text[entry.start : entry.end]
    raise UsageError(f"{entry_id}: the file changed just now ({row.path})", "run again")


def _report(app: App, entry: Entry, row: FileRow, raw: str, copies: tuple[str, ...]) -> ShowReport:
    c = app.project.config
    values = {"reinforced": entry.last_reinforced, "created": entry.created_at, "date": entry.date}
    age = ranking.age_of(values, app.project.now)
    extra = entry.extra
    item = ranking.Item(
        entry.id, entry.body, entry.kind, row.place.level, (row.path, 0), entry.importance,
        entry.reinforcement_count, age, float(extra.get("surprise", 0.0)), extra.get("stability"),
    )  # fmt: skip
    rule = Rule(c.decay, c.half_life, c.half_life_by_kind, c.growth, c.use_importance)
    weights = ranking.Weights(rule, c.prominence_weight, c.level_weights, c.kind_weights)
    hit = ranking.weigh([item], {entry.id: ranking.Match(1.0)}, weights)[0]
    p = hit.prominence
    factors = {
        "importance": p.importance, "decay": p.decay, "growth": p.growth, "prominence": p.value,
        "level": hit.level_weight, "kind": hit.kind_weight, "score": hit.score,
    }  # fmt: skip
    return ShowReport(
        entry, row.path, row.place.level, row.place.store, age,
        {key: round(value, 6) for key, value in factors.items()},
        {key: extra[key] for key in PROVENANCE if key in extra},
        tuple(app.index.entries.relations(entry.id)), copies, raw,
    )  # fmt: skip
