"""mem recall: find what was learned that bears on a task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memcli import blend, block, query, rank, redact, scope, vector
from memcli.app import App
from memcli.blend import Signals
from memcli.block import Budget, Pools, Shown
from memcli.errors import ProviderError
from memcli.levels import OUTERMOST, Place
from memcli.model import Problem
from memcli.prominence import Rule
from memcli.rank import Item, Match, Scored
from memcli.scope import Filters, Scope
from memcli.store import POOL, Candidate, FileRow
from memcli.words import SIZE

if TYPE_CHECKING:
    from memcli.shared.store import SharedIndex
    from memcli.store import Index

BASELINE_KINDS = ("policy", "architecture", "preference")
WORKFLOWS = 3
EPISODES = 20
"""How many of the newest episodes may compete for their layer."""
LENDERS = 60
LENDS = 0.4
"""How many of the best entries lend to what stands beside them, and from which relevance on."""
WALKED = 0.5
"""What is left of a hit's score one edge of weight 1 away from it."""
KEY_MOMENT = 0.7
_PRIORITY = {"permanent": 0, "critical": 1, "high": 2, "pin": 2}


class Request(NamedTuple):
    """One recall. `task` is any text; the numbers come from the configuration."""

    task: str
    filters: Filters = Filters()
    ranked_only: bool = False
    refresh: bool = True
    detail: str = "auto"
    session: str = ""
    explain: bool = False
    shared: bool = False
    projects: tuple[str, ...] = ()


class Hit(NamedTuple):
    """One shown entry. `rank` counts from 1 within its layer; `score` is None outside ranked.

    `age_days` is None where no date is known. `head` and `note` are its first and last line in the block.
    """

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
    note: str = ""
    factors: Mapping[str, Any] | None = None
    project: str = ""
    url: str = ""


class Report(NamedTuple):
    """The answer to one recall.

    `matched` counts the hits before layers and budget; `found` says whether there is any memory at all.
    """

    mode: str
    query: str
    hits: tuple[Hit, ...]
    budget: Budget
    problems: tuple[Problem, ...]
    matched: int
    found: bool


def recall(app: App, request: Request) -> Report:
    """Answer one request. Reads files and the index, writes the index alone (and the recall log)."""
    filters = scope.check(request.filters, app.now)
    if request.shared:
        try:
            return _recall_shared(app, request, filters)
        except ProviderError as error:
            if not app.listing.files:
                raise
            app.notes.append(f"{error.what}: this answer is from here alone" + _hint(error))
    if not app.listing.files:
        problems = tuple(app.problems_of_listing)
        return Report("bm25", request.task, (), Budget(app.config.max_tokens, 0, 0), problems, 0, False)
    if app.config.query == "llm":
        from memcli.condense import condensed

        request = request._replace(task=condensed(app, request.task))
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
    return Report(search.mode, request.task, hits, shown.budget, problems, len(ranked), True)


def _hint(error: ProviderError) -> str:
    return f" ({error.hint})" if error.hint else ""


def _recall_shared(app: App, request: Request, filters: Filters) -> Report:
    """The ranked layer over every project that may be read. Raises ProviderError when the server fails."""
    from memcli.shared.link import PATIENCE, Link
    from memcli.shared.store import SharedIndex

    link = Link(app.config.store_url, app.environ, PATIENCE)
    try:
        index = SharedIndex(link, filters, request.projects, scope.path_matcher(app.relative))
        search = _SharedSearch(app, index, request._replace(ranked_only=True))
        ranked = search.ranked()
        shown = search.compose(ranked, filters)
        hits = tuple(search.hits(shown.items))
    finally:
        link.close()
    found = bool(index.projects)
    return Report(search.mode, request.task, hits, shown.budget, (), len(ranked), found)


class _Search:
    """One search: candidates, copies, weights, layers. Lives for one answer."""

    def __init__(
        self, app: App, rows: Sequence[FileRow], where: Scope, request: Request, index: Index | None = None
    ) -> None:
        self.app = app
        self.config = app.config
        self.index = index or app.index
        self.rows = rows
        self.view_files = {row.id: row for row in rows}
        self.scope = where
        self.request = request
        # The chunks that may be hits; None when the files in view say it all.
        self.allowed = None if where.plain else self.index.allowed(where.where, where.values)
        self.mode, self.floor = "bm25", 0.0
        self.chosen: dict[str, Candidate] = {}
        self.scored: dict[str, Scored] = {}
        self.heads: dict[str, tuple[str, str]] = {}

    # --- ranked

    def ranked(self) -> list[Scored]:
        """The hits, diversified: more than `limit`, since other layers take some of them."""
        limit = self.config.limit
        asked = query.build(self.request.task, self.index.counts)
        pool = max(POOL, 3 * limit)
        signals = self._signals(
            asked, self.index.lexical(asked.terms, self.allowed, self.scope.files.keys(), pool)
        )
        found = self.index.candidates(dict.fromkeys((*signals.lexical, *signals.cosine)))
        by_entry = self._copies(found)
        matches = self._matches(found, signals, asked.phrases)
        self._lend(matches)
        matches = {entry: match for entry, match in matches.items() if self._stands(match)}
        promoted = self._promoted(matches)
        weighed = [
            hit._replace(duplicates=promoted.get(hit.item.id, ()))
            for hit in rank.weigh(
                (self._item(entry, by_entry[entry]) for entry in matches), matches, self._weights()
            )
        ]
        most = limit if self.request.ranked_only else 2 * limit + WORKFLOWS
        best = [self._whole(hit) for hit in weighed[: 2 * (most + rank.SPARE)]]
        alike = _alike()
        hits = rank.diversify(best, limit=most, weight=self.config.mmr_lambda, alike=alike)
        for _ in range(self.config.walk if hits else 0):
            hits = rank.join(hits, self._walked(hits, limit), limit=most, alike=alike)
        self.scored = {hit.item.id: hit for hit in hits}
        return hits

    def _signals(self, asked: query.Query, lexical: Mapping[int, float]) -> Signals:
        """What words and vectors say of each chunk; without usable vectors, words alone."""
        denied = self.index.denied(self.scope.files.keys()) if self.allowed is None else frozenset()
        found = self.app.vector_lane(self.request.task, asked, lexical, self.allowed, denied)
        if found is None:
            return Signals(lexical, {})
        self.mode, self.floor, signals = found
        return signals

    def _copies(self, found: Iterable[Candidate]) -> dict[str, list[Candidate]]:
        """Every copy in view of the entries found. The nearest one counts: it is chosen if it passes."""
        known = {candidate.rowid: candidate for candidate in found if candidate.part == 0}
        places = self.index.places({candidate.entry for candidate in found})
        places = [(rowid, source) for rowid, source in places if source in self.scope.files]
        unread = [rowid for rowid, _ in places if rowid not in known]
        known |= {candidate.rowid: candidate for candidate in self.index.candidates(unread)}
        copies: dict[str, list[Candidate]] = {}
        for rowid, _ in places:
            copies.setdefault(known[rowid].entry, []).append(known[rowid])
        for entry, same in copies.items():
            best = scope.nearest(same, self.view_files, self.app.view)
            if self._passes(best):
                self.chosen[entry] = best
        return copies

    def _passes(self, copy: Candidate) -> bool:
        if self.allowed is not None:
            return copy.rowid in self.allowed
        return copy.values.get("status") != "retired"

    def _matches(
        self, found: Sequence[Candidate], signals: Signals, phrases: Sequence[str]
    ) -> dict[str, Match]:
        """How well the best chunk of each chosen copy matches, relative to the best of all."""
        own = [c for c in found if self._is_chosen(c)]
        lexical = {
            c.rowid: signals.lexical[c.rowid]
            * (1 + rank.PHRASE * rank.phrase_share(f"{c.title} {c.text}", phrases))
            for c in own
            if c.rowid in signals.lexical
        }
        named = [(c.rowid, c.title) for c in own] if self.mode == "blend" else []
        signals = signals.among({c.rowid for c in own})
        signals = signals._replace(lexical=lexical, title=blend.titles(self.request.task, named))
        fused = blend.scale(blend.FUSIONS[self.mode](signals))
        if not any(c.rowid in lexical or signals.cosine.get(c.rowid, 0.0) >= self.floor for c in own):
            return {}
        best: dict[str, Match] = {}
        for c in own:
            match = Match(
                fused.get(c.rowid, 0.0),
                lexical.get(c.rowid, 0.0),
                signals.cosine.get(c.rowid),
                words=signals.words.get(c.rowid),
            )
            if c.entry not in best or match.relevance > best[c.entry].relevance:
                best[c.entry] = match
        return best

    def _stands(self, match: Match) -> bool:
        """Whether an entry may be a hit: by a word, by its vector, or by what stands beside it."""
        return match.lexical > 0 or (match.cosine or 0.0) >= self.floor or match.lent > 0

    def _is_chosen(self, candidate: Candidate) -> bool:
        chosen = self.chosen.get(candidate.entry)
        return chosen is not None and (chosen.source, chosen.offset) == (candidate.source, candidate.offset)

    def _lend(self, matches: dict[str, Match]) -> None:
        """Add to `matches` what entries that stand together lend each other."""
        if not self.config.context or not matches:
            return
        rich = {entry: -match.relevance for entry, match in matches.items() if match.relevance >= LENDS}
        lenders = vector.nearest(rich, LENDERS)
        groups = {entry: self._group(self.chosen[entry]) for entry in matches}
        beside = {entry: self._beside(entry, groups) for entry in lenders}
        near = {other for others in beside.values() for other, _ in others}
        total = blend.lend(
            {entry: match.relevance for entry, match in matches.items()},
            beside,
            groups,
            blend.titles(self.request.task, [(entry, self.chosen[entry].title) for entry in near]),
            self.config.context,
        )
        best = max(total.values()) or 1.0
        for entry, relevance in total.items():
            match = matches[entry]
            lent = (relevance - match.relevance) / best
            matches[entry] = match._replace(relevance=relevance / best, lent=lent)

    def _beside(self, entry: str, groups: Mapping[str, object]) -> list[tuple[str, int]]:
        """The matches up to two places before and after one in its file that belong to its group."""
        group, own = groups[entry], self.chosen[entry]
        if group is None:
            return []
        sides = self.index.beside(own.source, own.offset)
        return [
            (other, distance)
            for side in sides
            for distance, other in enumerate(side, 1)
            if groups.get(other) == group and other != entry
        ]

    @staticmethod
    def _group(candidate: Candidate) -> object:
        """What was written together: one session, else one day in one file; None for neither."""
        session = candidate.values.get("session_id")
        if session:
            return str(session)
        return (candidate.source, candidate.date[:10]) if candidate.date else None

    def _promoted(self, matches: dict[str, Match]) -> dict[str, tuple[str, ...]]:
        """Take the sources of a promoted entry out of `matches` where that entry is a hit, too."""
        sources: dict[str, tuple[str, ...]] = {}
        for entry in list(matches):
            targets = self.chosen[entry].values.get("promoted_to", ())
            target = next((name for name in targets if name in matches and name != entry), None)
            if target is not None:
                matches[target] = max(matches[target], matches.pop(entry), key=lambda match: match.relevance)
                sources[target] = tuple(sorted((*sources.get(target, ()), entry)))
        return sources

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

    def _walked(self, hits: Sequence[Scored], most: int) -> list[Scored]:
        """What is one edge away from the first `most` hits, with the share of their score that it gets."""
        known = {hit.item.id: hit for hit in hits[:most]}
        shown = {name for hit in hits for name in (hit.item.id, *hit.duplicates)}
        ends: dict[str, tuple[float, str]] = {}
        for one, other, weight in self.index.edges(known):
            for start, end in ((one, other), (other, one)):
                if start in known and end not in shown:
                    found = (known[start].score * min(weight, 1.0) * WALKED, start)
                    ends[end] = max(ends.get(end, found), found)
        by_entry = self._copies(self.index.copies(ends))
        items = [
            self._item(entry, copies)
            for entry, copies in by_entry.items()
            if entry in self.chosen
            and entry in ends
            and shown.isdisjoint(self.chosen[entry].values.get("promoted_to", ()))
        ]
        passed = {item.id: rank.Match(known[ends[item.id][1]].relevance) for item in items}
        return [
            self._whole(hit)._replace(score=ends[hit.item.id][0], walked=ends[hit.item.id][1])
            for hit in rank.weigh(items, passed, self._weights())
        ]

    def _whole(self, hit: Scored) -> Scored:
        """The hit with its whole text: a long entry's first chunk is not all of it."""
        if len(hit.item.text) < SIZE:
            return hit
        return hit._replace(item=hit.item._replace(text=self.index.text(self.chosen[hit.item.id])))

    def _weights(self) -> rank.Weights:
        c = self.config
        rule = Rule(c.decay, c.half_life, c.half_life_by_kind, c.growth, c.use_importance)
        return rank.Weights(rule, c.prominence_weight, c.level_weights, c.kind_weights)

    # --- layers

    def compose(self, ranked: Sequence[Scored], filters: Filters) -> block.Block:
        limit, most, caps = self.config.max_tokens, self.config.limit, self.config.max_tokens_by_type
        pool = [self._shown(hit.item.id, "ranked") for hit in ranked]
        if self.request.ranked_only:
            return block.compose(Pools(ranked=pool), limit=limit, most=most, by_type=caps)
        pools = Pools(
            institutional=[] if filters.by_entry or filters.store else self._institutional(),
            baseline=[self._shown(entry, "baseline") for entry in self._baseline()],
            workflows=[self._shown(entry, "workflows") for entry in self._workflows(ranked)],
            episodes=[self._shown(entry, "episodes") for entry in self._episodes()],
            ranked=pool,
        )
        return block.compose(pools, limit=limit, most=most, by_type=caps)

    def _institutional(self) -> list[Shown]:
        """One item per file: global, project, and the job and task one is in or names; equal texts once."""
        found: dict[str, Shown] = {}
        rows = [row for row in self.rows if row.place.store == "institutional" and self._at_hand(row.place)]
        for row in sorted(rows, key=lambda row: OUTERMOST[row.place.level]):
            text = self._file_text(row)
            if text:
                found.setdefault(text, Shown(row.path, "institutional", redact.for_prompt(row.path), text))
        return list(found.values())

    def _at_hand(self, place: Place) -> bool:
        """Whether one is in the job and task of a place, or names them."""
        view, named = self.app.view, self.request.filters
        if place.task:
            return place.task in (view.task, *named.task)
        return not place.job or bool(named.task) or place.job in (view.job, *named.job)

    def _file_text(self, row: FileRow) -> str:
        from memcli import tree

        file = self.app.found(row.path)
        try:
            text = tree.decode(tree.read_bytes(file.path).data) if file else ""
        except tree.Unreadable:
            return ""
        return redact.for_prompt(text.strip("\ufeff\r\n \t"))

    def _baseline(self) -> list[str]:
        found = self._select(BASELINE_KINDS)
        places = {c.entry: _PRIORITY.get(c.values.get("priority", ""), len(_PRIORITY)) for c in found}
        high = [c for c in found if places[c.entry] <= _PRIORITY["high"]]
        return [c.entry for c in sorted(high, key=lambda c: (places[c.entry], -self._standing(c), c.entry))]

    def _workflows(self, ranked: Sequence[Scored]) -> list[str]:
        """The best workflows for the task, the proven ones first."""
        found = [self.chosen[hit.item.id] for hit in ranked if hit.item.kind == "workflow"]
        found.sort(key=lambda c: not c.values.get("success_count", 0))
        return [c.entry for c in found[:WORKFLOWS]]

    def _episodes(self) -> list[str]:
        found = self._select(("episode",))
        return [c.entry for c in sorted(found, key=lambda c: (_when(c), c.entry), reverse=True)][:EPISODES]

    def _select(self, kinds: Sequence[str]) -> list[Candidate]:
        """Every entry of these kinds whose nearest copy is in scope."""
        found = self.index.select(self.scope.where, self.scope.values, kinds)
        copies = self._copies(found)
        fit = {c.rowid for c in found}
        return [c for entry in copies if (c := self.chosen.get(entry)) and c.rowid in fit]

    def _standing(self, candidate: Candidate) -> float:
        item = self._item(candidate.entry, [candidate])
        weights = self._weights()
        hit = rank.weigh([item], {item.id: rank.Match(1.0)}, weights)[0]
        return hit.score

    # --- showing

    def _shown(self, entry: str, layer: str) -> Shown:
        candidate, hit = self.chosen[entry], self.scored.get(entry)
        title, text = self._words(candidate)
        head = redact.for_prompt(f"{title} ({', '.join(self._facts(candidate))})")
        note = _note(hit) if self.request.explain and hit and layer == "ranked" else ""
        also = hit.duplicates if hit else ()
        return Shown(entry, layer, head, text + self._detail(candidate, hit), candidate.type, note, also)

    def _facts(self, candidate: Candidate) -> Iterator[str]:
        row = self.view_files[candidate.source]
        yield candidate.kind or candidate.type
        if float(candidate.values.get("surprise", 0)) >= KEY_MOMENT:
            yield "key moment"
        yield row.place.level if row.place.store == "memory" else f"{row.place.level} {row.place.store}"
        age = self._age(candidate)
        if age is not None:
            yield age_text(age)
        yield f"{row.path}:{candidate.line}"
        yield f"id {candidate.entry[:8]}"

    def _age(self, candidate: Candidate) -> int | None:
        """Days since the entry was made or reinforced; None when no date is known."""
        values = candidate.values
        dated = any(values.get(key) for key in ("reinforced", "created", "date"))
        return rank.age_of(values, self.app.now) if dated else None

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
            top = hit is not None and hit.item.id in list(self.scored)[:2]
            if not top or float(candidate.values.get("surprise", 0)) < KEY_MOMENT:
                return ""
        return "\n" + redact.for_prompt(detail)

    def hits(self, items: Iterable[Shown]) -> Iterator[Hit]:
        counts: dict[str, int] = {}
        for item in items:
            place = counts[item.layer] = counts.get(item.layer, 0) + 1
            whole = item.layer == "institutional"
            yield self._institutional_hit(item, place) if whole else self._hit(item, place)

    def _institutional_hit(self, item: Shown, place: int) -> Hit:
        row = next(row for row in self.rows if row.path == item.key)
        return Hit(
            None, place, item.layer, None, item.head, item.text, "directive", "", row.place.level,
            "institutional", item.head, 1, None, (), item.head,
        )  # fmt: skip

    def _hit(self, item: Shown, place: int) -> Hit:
        candidate, hit = self.chosen[item.key], self.scored.get(item.key)
        row = self.view_files[candidate.source]
        ranked = hit if item.layer == "ranked" else None
        return Hit(
            id=item.key,
            rank=place,
            layer=item.layer,
            score=round(ranked.score, 6) if ranked else None,
            title=self._words(candidate)[0],
            text=item.text,
            type=candidate.type,
            kind=candidate.kind,
            level=row.place.level,
            store=row.place.store,
            path=redact.for_display(row.path),
            line=candidate.line,
            age_days=self._age(candidate),
            duplicates=item.also,
            head=item.head,
            note=item.note,
            factors=_factors(ranked) if ranked else None,
        )


class _SharedSearch(_Search):
    """The same search over the shared index; what differs is where candidates come from and their names."""

    def __init__(self, app: App, index: SharedIndex, request: Request) -> None:
        everywhere = Scope(index.files, "", (), True)
        super().__init__(app, (), everywhere, request, cast("Index", index))
        self.shared = index
        self.view_files = index.files
        self.config = app.config._replace(walk=0)

    def ranked(self) -> list[Scored]:
        hits = super().ranked()
        chosen = {hit.item.id: self.chosen[hit.item.id] for hit in hits}
        lines = self.shared.lines(chosen.values())
        self.chosen |= {entry: c._replace(line=lines[c.rowid]) for entry, c in chosen.items()}
        return hits

    def _signals(self, asked: query.Query, lexical: Mapping[int, float]) -> Signals:
        from memcli.shared.lane import lane

        found = lane(self.shared, self.config, lambda: self.app.embedder, self.request.task, asked, lexical)
        if isinstance(found, str):
            self.app.notes += [f"words alone were searched: {found}"] if found else []
            return Signals(lexical, {})
        self.mode, self.floor, signals = found
        return signals

    def _passes(self, copy: Candidate) -> bool:
        return True  # the server gives none that does not

    def _lend(self, matches: dict[str, Match]) -> None:
        rich = {entry: -match.relevance for entry, match in matches.items() if match.relevance >= LENDS}
        self.shared.gather(self.chosen[entry] for entry in vector.nearest(rich, LENDERS))
        super()._lend(matches)

    def _facts(self, candidate: Candidate) -> Iterator[str]:
        yield self.shared.project_of(candidate.source).name
        yield from super()._facts(candidate)

    def _hit(self, item: Shown, place: int) -> Hit:
        hit, candidate = super()._hit(item, place), self.chosen[item.key]
        return hit._replace(
            id=plain_id(item.key),
            duplicates=tuple(map(plain_id, hit.duplicates)),
            project=redact.for_display(self.shared.project_of(candidate.source).name),
            url=redact.for_display(self.shared.url(candidate.source, candidate.line)),
        )


def plain_id(name: str) -> str:
    """The id of an entry that is called `id@project`."""
    return name.rpartition("@")[0]


def _factors(hit: Scored) -> dict[str, Any]:
    p = hit.prominence
    values = {
        "lexical": hit.lexical,
        "vector": hit.vector,
        **({"words": hit.words} if hit.words is not None else {}),
        **({"context": hit.context} if hit.context else {}),
        "relevance": hit.relevance,
        "importance": p.importance,
        "decay": p.decay,
        "growth": p.growth,
        "prominence": p.value,
        "level": hit.level_weight,
        "kind": hit.kind_weight,
    }
    factors = {key: round(value, 6) if value is not None else None for key, value in values.items()}
    return {**factors, "walked": hit.walked} if hit.walked else factors


def _note(hit: Scored) -> str:
    """The factors as one line; of what was walked to, from where."""
    factors = _factors(hit)
    start = factors.pop("walked", "")
    walked = f"walked from {start[:8]}, " if start else ""
    return f"= {walked}" + ", ".join(f"{k} {value:.3g}" for k, value in factors.items() if value is not None)


def age_text(days: int) -> str:
    """`0` -> today, `1` -> 1 day, `58` -> 58 days."""
    return "today" if not days else "1 day" if days == 1 else f"{days} days"


def _when(candidate: Candidate) -> str:
    values = candidate.values
    return str(values.get("ended_at") or values.get("started_at") or values.get("created") or candidate.date)


def _alike() -> Callable[[str, str], bool]:
    """The near-duplicate test of one search: it reads each text once, and loads when first asked."""

    @cache
    def read(text: str) -> Any:
        from memcli.similar import claim

        return claim(text)

    def alike(a: str, b: str) -> bool:
        from memcli.similar import near_duplicate

        return near_duplicate(read(a), read(b))

    return alike


def write_ids(path: str, report: Report) -> None:
    """The shown ids, one a line, best first: ranked, workflows, then the unconditional layers."""
    from memcli.workspace import write_output

    order = ("ranked", "workflows", "baseline", "episodes")
    ids = [hit.id for layer in order for hit in report.hits if hit.layer == layer and hit.id]
    write_output(Path(path), "".join(f"{i}\n" for i in dict.fromkeys(ids)))
