"""mem recall: find what was learned that bears on a task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memcli import block, query, rank, redact, scope
from memcli.app import App
from memcli.block import Budget, Pools, Shown
from memcli.model import PRIORITIES, Problem
from memcli.prominence import Rule
from memcli.rank import Item, Scored
from memcli.scope import Filters, Scope
from memcli.store import Candidate, FileRow

BASELINE_KINDS = ("policy", "architecture", "preference")
WORKFLOWS = 3
KEY_MOMENT = 0.7


class Request(NamedTuple):
    """One recall. `task` is any text; the numbers come from the configuration."""

    task: str
    filters: Filters = Filters()
    ranked_only: bool = False
    refresh: bool = True
    detail: str = "auto"
    session: str = ""


class Hit(NamedTuple):
    """One shown entry. `rank` counts from 1 within its layer; `score` is None outside ranked."""

    id: str | None
    rank: int
    layer: str
    score: float | None
    title: str
    text: str
    type: str
    kind: str
    level: str
    store: str
    path: str
    line: int
    age_days: int | None
    duplicates: tuple[str, ...]
    head: str
    factors: Mapping[str, Any] | None = None


class Report(NamedTuple):
    """The answer to one recall; `found` says whether there is any memory at all to search."""

    mode: str
    query: str
    hits: tuple[Hit, ...]
    budget: Budget
    problems: tuple[Problem, ...]
    found: bool


def recall(app: App, request: Request) -> Report:
    """Answer one request. Reads files and the index, writes the index alone (and the recall log)."""
    filters = scope.check(request.filters, app.now)
    if request.refresh:
        app.refresh()
    report = app.guarded(lambda: _recall(app, request, filters))
    if request.session:
        evidence = [
            (hit.id, hit.layer, hit.rank, hit.score)
            for hit in report.hits
            if hit.id and hit.layer in ("ranked", "workflows")
        ]
        app.log_recall(request.session, evidence)
    return report


def _recall(app: App, request: Request, filters: Filters) -> Report:
    app.index.define("about_path", 2, scope.path_matcher(app.relative))
    files = list(app.index.files().values())
    rows = scope.visible(files, app.view, filters)
    search = _Search(app, rows, scope.select(rows, filters), request)
    ranked = search.ranked()
    shown = search.compose(ranked, filters)
    problems = (*app.listing.problems, *(item for row in files for item in row.problems))
    hits = tuple(search.hits(shown.items))
    return Report("bm25", request.task, hits, shown.budget, problems, bool(files))


class _Search:
    """One search: candidates, copies, weights, layers. Lives for one answer."""

    def __init__(self, app: App, rows: Sequence[FileRow], where: Scope, request: Request) -> None:
        self.app = app
        self.config = app.config
        self.index = app.index
        self.rows = rows
        self.view_files = {row.id: row for row in rows}
        self.scope = where
        self.request = request
        self.chosen: dict[str, Candidate] = {}
        self.scored: dict[str, Scored] = {}
        self.heads: dict[str, tuple[str, str]] = {}

    # --- ranked

    def ranked(self) -> list[Scored]:
        """The ranked hits, diversified, at most `limit`."""
        asked = query.build(self.request.task, self.index.counts)
        lexical = self.index.lexical(asked.terms, self._allowed(), self.scope.files.keys())
        found = self.index.candidates(lexical)
        by_entry = self._copies(found)
        relevance = self._relevance(found, lexical, asked.phrases)
        weighed = rank.weigh(
            (self._item(entry, by_entry[entry]) for entry in self.chosen), relevance, self._weights()
        )
        hits = rank.diversify(weighed, limit=self.config.limit, weight=self.config.mmr_lambda, alike=_alike)
        self.scored = {hit.item.id: hit for hit in hits}
        return hits

    def _allowed(self) -> frozenset[int] | None:
        """The chunks that may be hits; None when the files in view say it all."""
        if self.scope.plain:
            return None
        return self.index.allowed(self.scope.where, self.scope.values)

    def _copies(self, found: Iterable[Candidate]) -> dict[str, list[Candidate]]:
        """Every copy in view of the entries found; chooses the nearest of each, drops retired ones."""
        ids = {candidate.entry for candidate in found}
        copies: dict[str, list[Candidate]] = {}
        for copy in self.index.copies(ids):
            if copy.source in self.scope.files:
                copies.setdefault(copy.entry, []).append(copy)
        for entry, same in copies.items():
            best = scope.nearest(same, self.view_files, self.app.view)
            archived = self.view_files[best.source].place.store == "archive"
            if archived or best.values.get("status") != "retired":
                self.chosen[entry] = best
        return copies

    def _relevance(
        self, found: Sequence[Candidate], lexical: Mapping[int, float], phrases: Sequence[str]
    ) -> dict[str, float]:
        """The score of each entry's best chunk, a phrase of the task adding to it, scaled to the best."""
        best: dict[str, float] = {}
        for candidate in found:
            if candidate.entry not in self.chosen:
                continue
            text = f"{candidate.title} {candidate.text}".lower()
            bonus = sum(phrase in text for phrase in phrases) / len(phrases) if phrases else 0.0
            score = lexical[candidate.rowid] * (1 + rank.PHRASE * bonus)
            best[candidate.entry] = max(score, best.get(candidate.entry, 0.0))
        return rank.scale(best)

    def _item(self, entry: str, copies: Sequence[Candidate]) -> Item:
        copy = self.chosen[entry]
        values = copy.values
        row = self.view_files[copy.source]
        return Item(
            id=entry,
            text=copy.text,
            kind=copy.kind,
            level=scope.outermost(copies, self.view_files),
            place=(row.path, copy.offset),
            importance=float(values["importance"]),
            reinforced=int(values["count"]),
            age=rank.age_of(values, self.app.now),
            surprise=float(values.get("surprise", 0.0)),
            stability=values.get("stability"),
        )

    def _weights(self) -> rank.Weights:
        c = self.config
        rule = Rule(c.decay, c.half_life, c.half_life_by_kind, c.growth, c.use_importance)
        return rank.Weights(rule, c.prominence_weight, c.level_weights, c.kind_weights)

    # --- layers

    def compose(self, ranked: Sequence[Scored], filters: Filters) -> block.Block:
        limit = self.config.max_tokens
        caps = dict(self.config.max_tokens_by_type)
        pool = [self._shown(hit.item.id, "ranked", hit) for hit in ranked]
        if self.request.ranked_only:
            return block.compose(Pools(ranked=pool), limit=limit, by_type=caps)
        workflows = [hit for hit in ranked if self.chosen[hit.item.id].kind == "workflow"]
        workflows.sort(key=lambda hit: not self.chosen[hit.item.id].values.get("success_count", 0))
        pools = Pools(
            institutional=[] if filters.by_entry or filters.store else self._institutional(),
            baseline=[self._shown(entry, "baseline") for entry in self._baseline()],
            workflows=[self._shown(hit.item.id, "workflows") for hit in workflows[:WORKFLOWS]],
            episodes=[self._shown(entry, "episodes") for entry in self._episodes()],
            ranked=pool,
        )
        return block.compose(pools, limit=limit, by_type=caps)

    def _institutional(self) -> list[Shown]:
        """One item per file: global, project, and the job and task one is in or names; equal texts once."""
        found, seen = [], set()
        view, named = self.app.view, self.request.filters
        for row in self.rows:
            place = row.place
            if place.store != "institutional":
                continue
            if place.job and place.job != view.job and place.job not in named.job and not named.task:
                continue
            if place.task and place.task != view.task and place.task not in named.task:
                continue
            text = self._file_text(row)
            if text and text not in seen:
                seen.add(text)
                found.append(Shown(row.path, "institutional", f"{row.path}:", text))
        return sorted(found, key=lambda item: not item.key.startswith("~/"))

    def _file_text(self, row: FileRow) -> str:
        from memcli import tree

        file = self.app.found(row.path)
        try:
            text = tree.decode(tree.read_bytes(file.path).data) if file else ""
        except tree.Unreadable:
            return ""
        return redact.for_prompt(text.strip("\ufeff\r\n \t"))

    def _baseline(self) -> list[str]:
        high = set(PRIORITIES[: PRIORITIES.index("high") + 2])
        marks = ",".join("?" * len(BASELINE_KINDS))
        found = [
            c for c in self._select(f"kind IN ({marks})", BASELINE_KINDS) if c.values.get("priority") in high
        ]
        return [
            c.entry
            for c in sorted(
                found, key=lambda c: (PRIORITIES.index(c.values["priority"]), -self._standing(c), c.entry)
            )
        ]

    def _episodes(self) -> list[str]:
        found = self._select("kind = ?", ("episode",))
        return [c.entry for c in sorted(found, key=lambda c: (_when(c), c.entry), reverse=True)][:20]

    def _select(self, where: str, values: Sequence[str]) -> list[Candidate]:
        """Every entry in scope that passes `where`, its nearest copy, not retired."""
        found = self.index.select(f"{where} AND {self.scope.where}", (*values, *self.scope.values))
        copies = self._copies(found)
        return [self.chosen[entry] for entry in copies if entry in self.chosen]

    def _standing(self, candidate: Candidate) -> float:
        item = self._item(candidate.entry, [candidate])
        weights = self._weights()
        hit = rank.weigh([item], {item.id: 1.0}, weights)[0]
        return hit.score

    # --- showing

    def _shown(self, entry: str, layer: str, hit: Scored | None = None) -> Shown:
        candidate = self.chosen[entry]
        title, text = self._words(candidate)
        row = self.view_files[candidate.source]
        age = rank.age_of(candidate.values, self.app.now)
        about = [
            candidate.kind or candidate.type,
            row.place.level,
            f"{age} d",
            f"{row.path}:{candidate.line}",
        ]
        if float(candidate.values.get("surprise", 0)) >= KEY_MOMENT:
            about.insert(1, "key moment")
        head = redact.for_prompt(f"{title} ({', '.join(about)}, id {entry[:8]})")
        return Shown(entry, layer, head, text + self._detail(candidate, hit), candidate.type)

    def _words(self, candidate: Candidate) -> tuple[str, str]:
        if candidate.entry not in self.heads:
            title = redact.for_prompt(candidate.title)
            text = block.body_of(self.index.text(candidate), candidate.title)
            self.heads[candidate.entry] = (title, redact.for_prompt(text))
        return self.heads[candidate.entry]

    def _detail(self, candidate: Candidate, hit: Scored | None) -> str:
        """The detail of an episode: always (high), never (none), or for a key moment at the top (auto)."""
        detail = candidate.values.get("detail", "")
        if not detail or self.request.detail == "none":
            return ""
        if self.request.detail == "auto":
            top = hit is not None and list(self.scored)[:2].count(hit.item.id) > 0
            if not top or float(candidate.values.get("surprise", 0)) < KEY_MOMENT:
                return ""
        return "\n" + redact.for_prompt(detail)

    def hits(self, items: Iterable[Shown]) -> Iterable[Hit]:
        counts: dict[str, int] = {}
        for item in items:
            place = counts[item.layer] = counts.get(item.layer, 0) + 1
            yield (
                self._institutional_hit(item, place)
                if item.layer == "institutional"
                else self._hit(item, place)
            )

    def _institutional_hit(self, item: Shown, place: int) -> Hit:
        row = next(row for row in self.rows if row.path == item.key)
        return Hit(
            None, place, item.layer, None, item.key, item.text, "directive", "", row.place.level,
            "institutional", row.path, 1, None, (), item.head,
        )  # fmt: skip

    def _hit(self, item: Shown, place: int) -> Hit:
        candidate = self.chosen[item.key]
        row = self.view_files[candidate.source]
        hit = self.scored.get(item.key) if item.layer == "ranked" else None
        return Hit(
            id=item.key,
            rank=place,
            layer=item.layer,
            score=round(hit.score, 6) if hit else None,
            title=self._words(candidate)[0],
            text=item.text,
            type=candidate.type,
            kind=candidate.kind,
            level=row.place.level,
            store=row.place.store,
            path=row.path,
            line=candidate.line,
            age_days=rank.age_of(candidate.values, self.app.now),
            duplicates=hit.duplicates if hit else (),
            head=item.head,
            factors=_factors(hit) if hit else None,
        )


def _factors(hit: Scored) -> dict[str, Any]:
    p = hit.prominence
    values = {
        "lexical": hit.lexical,
        "vector": hit.vector,
        "relevance": hit.relevance,
        "importance": p.importance,
        "decay": p.decay,
        "growth": p.growth,
        "prominence": p.value,
        "level": hit.level_weight,
        "kind": hit.kind_weight,
    }
    return {key: round(value, 6) if value is not None else None for key, value in values.items()}


def _when(candidate: Candidate) -> str:
    values = candidate.values
    return str(values.get("ended_at") or values.get("started_at") or values.get("created") or candidate.date)


def _alike(a: str, b: str) -> bool:
    from memcli.similar import claim, near_duplicate

    return near_duplicate(claim(a), claim(b))


def write_ids(path: str, report: Report) -> None:
    """The shown ids, one a line, best first: ranked, workflows, then the unconditional layers."""
    from memcli.workspace import write_output

    order = ("ranked", "workflows", "baseline", "episodes")
    ids = [hit.id for layer in order for hit in report.hits if hit.layer == layer and hit.id]
    write_output(Path(path), "".join(f"{i}\n" for i in dict.fromkeys(ids)))
