"""One search: candidates of a store, fused, weighed and diversified into hits."""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import TYPE_CHECKING, Any

from memcli.index import fusion, lexical, weights
from memcli.index import view as scope
from memcli.index.fulltext import POOL, matched, top
from memcli.index.lexical import Query
from memcli.index.view import (
    Candidate,
    Copies,
    Lane,
    Passage,
    Signals,
    Source,
    VectorLane,
)
from memcli.memory.prominence import UNKNOWN_AGE
from memcli.memory.words import SIZE
from memcli.recall import evidence, ranking
from memcli.recall.ranking import Match, RankedItem, Scored

if TYPE_CHECKING:
    import datetime

    from memcli.project.config import Config
    from memcli.project.context import Project, View

LENDS = 0.4  # from which relevance on; for speed: ranking is the same without
LENDERS = 60  # how many of the best lend to what stands beside them
WALKED = 0.5  # what is left of a hit's score one edge of weight 1 away from it
WORKFLOWS = (
    3  # how many more hits are looked for, since so many may be shown as workflows
)


class Search:
    """One search of a source, for one answer: `chosen` and `scored` are what it found
    so far."""

    def __init__(
        self,
        source: Source,
        lane: VectorLane,
        config: Config,
        view: View,
        today: datetime.date,
    ) -> None:
        self.source = source
        self.config = config
        self.view = view
        self.today = today
        self.mode = "bm25"
        self.floor = 0.0
        self.chosen: dict[str, Candidate] = {}
        self.scored: dict[str, Scored] = {}
        self.asked = Query((), ())
        self._lane = lane
        self._copies: dict[str, Copies] = {}
        self._passages: dict[int, Passage] = {}
        self._met: dict[tuple[int, str, int], int] = {}

    @classmethod
    def of(cls, source: Source, lane: VectorLane, project: Project) -> Search:
        """A search for a project as it is configured."""
        return cls(
            source=source,
            lane=lane,
            config=project.config,
            view=project.view,
            today=project.now,
        )

    def weights(self) -> dict[str, float]:
        """What each word of the task that stands in the store says: see
        `evidence.said_by`."""
        counts = self.source.counts(self.asked.terms)
        return evidence.said_by(
            self.asked.terms, counts, max(self.source.size(), *counts, 1)
        )

    def ranked(self, task: str, most: int) -> list[Scored]:
        """Up to `most` hits, diversified; `chosen` has where each stands."""
        matches = self.matched(task)
        self._lower(matches)
        promoted = self._promoted(matches)
        items = (self._item(entry, self._copies[entry].level) for entry in matches)
        weighed = [
            hit._replace(duplicates=promoted.get(hit.item.id, hit.duplicates))
            for hit in ranking.weigh(items, matches, self.config)
        ]
        best = [
            self._whole(hit)
            for hit in self._apart(weighed)[: 2 * (most + ranking.SPARE)]
        ]
        alike = _alike()
        hits = ranking.diversify(
            best, limit=most, weight=self.config.mmr_lambda, alike=alike
        )
        for _ in range(self.config.walk if hits else 0):
            hits = ranking.join(hits, self._walked(hits), limit=most, alike=alike)
        self.scored = {hit.item.id: hit for hit in hits}
        return hits

    def matched(self, task: str) -> dict[str, Match]:
        """How well each entry that bears on a task at all meets it, by words, vectors
        and what stands beside it."""
        self.asked = asked = lexical.asked(task, self.source.counts)
        pool = max(POOL, 3 * self.config.limit)
        points = matched(self.source, asked, pool)
        # None without usable vectors: words alone
        lane = self._lane(task, asked, points) or Lane("bm25", 0.0, Signals(points, {}))
        self.mode = lane.mode
        self.floor = lane.floor
        signals = lane.signals
        found = self.source.candidates(
            dict.fromkeys((*signals.lexical, *signals.cosine))
        )
        self._copies = self.copies({candidate.entry for candidate in found}, found)
        score = signals.lexical
        for part in sorted(found, key=lambda part: score.get(part.rowid, 0.0)):
            self._met[part.source, part.entry, part.offset] = part.part
        matches = self._matches(found, signals, asked.phrases)
        self._lend(task, matches)
        return {
            entry: match
            for entry, match in matches.items()
            if self._bears(entry, match)
        }

    def _bears(self, entry: str, match: Match) -> bool:
        """Whether it is met by a word, by its vector or by what stands beside it; of
        prose about the words of a task all is."""
        if match.lexical > 0 or match.lent > 0:
            return True
        near = (match.cosine or 0.0) >= self.floor
        return near or not self.chosen[entry].values.get("written")

    def _lower(self, matches: dict[str, Match]) -> None:
        """Less for what names things that are gone, and for decisions that are ruled
        out."""
        shares = dict.fromkeys(self.source.gone(matches), weights.OUTDATED)
        for entry in matches:
            if self.chosen[entry].values.get("ruled_out"):
                shares[entry] = weights.RULED_OUT
        for entry, share in shares.items():
            match = matches[entry]
            matches[entry] = match._replace(relevance=match.relevance * share)

    def _apart(self, hits: Sequence[Scored]) -> list[Scored]:
        found: dict[object, Scored] = {}
        for hit in hits:
            chosen = self.chosen[hit.item.id]
            found.setdefault(
                (chosen.source, chosen.around) if chosen.around else hit.item.id, hit
            )
        return list(found.values())

    def copies(
        self, entries: Collection[str], found: Iterable[Candidate]
    ) -> dict[str, Copies]:
        """Every copy in view of these entries, some `found` before; the nearest is
        chosen."""
        own = scope.copies(self.source, self.view, entries, found)
        self.chosen |= {
            entry: each.best
            for entry, each in own.items()
            if self.source.passes(each.best)
        }
        return own

    def nearest(self, found: Sequence[Candidate]) -> list[Candidate]:
        """Of these candidates, those that are the nearest copy of their entry."""
        copies = self.copies({candidate.entry for candidate in found}, found)
        fit = {candidate.rowid for candidate in found}
        return [
            c for entry in copies if (c := self.chosen.get(entry)) and c.rowid in fit
        ]

    def standing(self, found: Iterable[Candidate]) -> dict[str, float]:
        """What each of these entries would score if it met a task fully."""
        files = self.source.files
        items = [self._item(c.entry, files[c.source].place.level) for c in found]
        met = dict.fromkeys((item.id for item in items), Match(1.0))
        return {
            hit.item.id: hit.score for hit in ranking.weigh(items, met, self.config)
        }

    def _matches(
        self, found: Sequence[Candidate], signals: Signals, phrases: Sequence[str]
    ) -> dict[str, Match]:
        """How well each entry meets the task, by the best chunk of its nearest copy."""
        places = {c.entry: (c.source, c.offset) for c in self.chosen.values()}
        nearest = [c for c in found if places.get(c.entry) == (c.source, c.offset)]
        lexical = _with_phrases(nearest, signals.lexical, phrases)
        rows = {chunk.rowid for chunk in nearest}
        signals = Signals._make(
            {key: scores[key] for key in scores if key in rows} for scores in signals
        )
        signals = _concise(signals._replace(lexical=lexical), nearest)
        if not lexical:  # by their vectors alone
            cosines = signals.cosine
            nearest = [c for c in nearest if cosines.get(c.rowid, 0.0) >= self.floor]
        fused = self._fused(nearest, signals)
        best: dict[str, Match] = {}
        for chunk in nearest:
            match = Match(
                relevance=fused.get(chunk.rowid, 0.0),
                lexical=lexical.get(chunk.rowid, 0.0),
                cosine=signals.cosine.get(chunk.rowid),
                words=signals.words.get(chunk.rowid),
            )
            best[chunk.entry] = max(
                best.get(chunk.entry, match), match, key=lambda each: each.relevance
            )
        return best

    def _fused(self, chunks: Iterable[Candidate], signals: Signals) -> dict[int, float]:
        """The relevance of chunks, the best 1.0; a file of prose speaks for its
        sections."""
        fused = fusion.FUSIONS[self.mode](signals)
        prose = {c.rowid: c.source for c in chunks if not c.values.get("written")}
        return fusion.scale(fusion.of_files(fused, prose))

    def _lend(self, task: str, matches: dict[str, Match]) -> None:
        if not self.config.context or not matches:
            return
        own = {entry: match.relevance for entry, match in matches.items()}
        beside = self._beside(own)
        near = {other for others in beside.values() for other, _ in others}
        titles = fusion.titles(
            task, [(entry, self.chosen[entry].title) for entry in near]
        )
        # What the task does not name by its title gains nothing.
        shares = {
            entry: self.config.context * weights.LENT * title
            for entry, title in titles.items()
        }
        total = fusion.lend(own, beside, shares)
        most = max(total.values()) or 1.0
        for entry, relevance in total.items():
            lent = (relevance - own[entry]) / most
            matches[entry] = matches[entry]._replace(
                relevance=relevance / most, lent=lent
            )

    def _beside(self, own: dict[str, float]) -> dict[str, list[tuple[str, int]]]:
        """What was written together with each of the best, and how far from it."""
        groups = {entry: _group(self.chosen[entry]) for entry in own}
        rich = {entry: value for entry, value in own.items() if value >= LENDS}
        lenders = [entry for entry in top(rich, LENDERS) if groups[entry] is not None]
        places = self.source.beside([self.chosen[entry] for entry in lenders])
        return {
            entry: [
                each for each in _near(sides) if groups.get(each[0]) == groups[entry]
            ]
            for entry, sides in zip(lenders, places, strict=True)
        }

    def _promoted(self, matches: dict[str, Match]) -> dict[str, tuple[str, ...]]:
        sources: dict[str, tuple[str, ...]] = {}
        for entry in list(matches):
            targets = self.chosen[entry].values.get("promoted_to", ())
            target = next(
                (name for name in targets if name in matches and name != entry), None
            )
            if target is not None:
                both = matches[target], matches.pop(entry)
                matches[target] = max(both, key=lambda match: match.relevance)
                sources[target] = tuple(sorted((*sources.get(target, ()), entry)))
        return sources

    def _item(self, entry: str, level: str) -> RankedItem:
        copy = self.chosen[entry]
        values = copy.values
        file = self.source.files[copy.source]
        place = (file.path, copy.offset)
        importance = float(values["importance"])
        # Nothing marks prose as used: of what a person wrote, age alone says little.
        age = (
            ranking.age_of(values, self.today) if values.get("written") else UNKNOWN_AGE
        )
        return RankedItem(
            id=entry,
            text=copy.text,
            kind=copy.kind,
            level=level,
            place=place,
            importance=importance,
            reinforced=int(values["count"]),
            age=age,
            surprise=float(values.get("surprise", 0.0)),
            stability=values.get("stability"),
        )

    def _walked(self, hits: Sequence[Scored]) -> list[Scored]:
        """What edges lead to from the hits, each with the score that is left of the
        hit it was reached from."""
        known = {hit.item.id: hit for hit in hits[: self.config.limit]}
        shown = {name for hit in hits for name in (hit.item.id, *hit.duplicates)}
        ends = self._ends(known, shown)
        items = []
        for entry, own in self.copies(ends, ()).items():
            if entry in self.chosen:
                promoted = self.chosen[entry].values.get("promoted_to", ())
                if shown.isdisjoint(promoted):
                    items.append(self._item(entry, own.level))
        passed = {item.id: Match(known[ends[item.id][1]].relevance) for item in items}
        found = []
        for hit in ranking.weigh(items, passed, self.config):
            score, start = ends[hit.item.id]
            found.append(self._whole(hit)._replace(score=score, walked=start))
        return found

    def _ends(
        self, known: Mapping[str, Scored], shown: Collection[str]
    ) -> dict[str, tuple[float, str]]:
        """Where edges of the `known` hits lead: entry -> the best score that arrives
        there, and from which hit."""
        ends: dict[str, tuple[float, str]] = {}
        for one, other, weight in self.source.edges(known):
            for start, end in ((one, other), (other, one)):
                if start in known and end not in shown:
                    found = (known[start].score * min(weight, 1.0) * WALKED, start)
                    ends[end] = max(ends.get(end, found), found)
        return ends

    def _whole(self, hit: Scored) -> Scored:
        if len(hit.item.text) < SIZE:
            return hit
        return hit._replace(
            item=hit.item._replace(text=self.passage(self.chosen[hit.item.id]).text)
        )

    def passage(self, candidate: Candidate) -> Passage:
        """The text of a candidate's entry; of a long one so much about the part that
        meets the task best."""
        if candidate.rowid not in self._passages:
            place = candidate.source, candidate.entry, candidate.offset
            part = self._met.get(place, candidate.part)
            near = self.source.passage(candidate._replace(part=part))
            self._passages[candidate.rowid] = near
        return self._passages[candidate.rowid]


def _concise(signals: Signals, chunks: Iterable[Candidate]) -> Signals:
    """The signals with less for what long entries meet by their length alone."""
    sizes = {c.rowid: len(c.text) for c in chunks if c.values.get("written")}
    return fusion.concise(signals, sizes)


def _with_phrases(
    found: Sequence[Candidate], lexical: Mapping[int, float], phrases: Sequence[str]
) -> dict[int, float]:
    """BM25 of those met by a word, more of it for phrases of the task."""
    met = [c for c in found if c.rowid in lexical]
    shares = ranking.phrase_shares((f"{c.title} {c.text}" for c in met), phrases)
    return {
        c.rowid: lexical[c.rowid] * (1 + weights.PHRASE * share)
        for c, share in zip(met, shares, strict=True)
    }


def _near(sides: Iterable[Sequence[str]]) -> Iterator[tuple[str, int]]:
    """(entry, distance) of those on either side of an entry."""
    for side in sides:
        for distance, other in enumerate(side, 1):
            yield other, distance


def _group(candidate: Candidate) -> object:
    """What was written together: a session, the prose of a file, else one day in it;
    else None."""
    if session := candidate.values.get("session_id"):
        return str(session)
    if not candidate.values.get("written"):
        return candidate.source
    return (candidate.source, candidate.date[:10]) if candidate.date else None


def _alike() -> Callable[[str, str], bool]:
    known: dict[str, Any] = {}

    def alike(a: str, b: str) -> bool:
        from memcli.similarity.claims import claim
        from memcli.similarity.duplicates import near_duplicate

        known.update((text, claim(text)) for text in (a, b) if text not in known)
        return near_duplicate(known[a], known[b])

    return alike
