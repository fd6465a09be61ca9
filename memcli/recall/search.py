"""One search: candidates of a store, fused, weighed and diversified into hits."""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from typing import TYPE_CHECKING, Any

from memcli.index import weights
from memcli.index.search import Match, Matching
from memcli.index.view import Candidate
from memcli.memory.prominence import UNKNOWN_AGE
from memcli.memory.words import SIZE
from memcli.recall import ranking
from memcli.recall.ranking import RankedItem, Scored

if TYPE_CHECKING:
    import datetime

WORKFLOWS = (
    3  # how many more hits are looked for, since so many may be shown as workflows
)


class Search:
    """One search of a source, for one answer: `chosen` and `scored` are what it found
    so far."""

    def __init__(self, matching: Matching, today: datetime.date) -> None:
        self.found = matching
        self.source = matching.source
        self.config = matching.config
        self.today = today
        self.chosen = matching.chosen
        self.scored: dict[str, Scored] = {}

    def ranked(self, most: int) -> list[Scored]:
        """Up to `most` hits, diversified; `chosen` has where each stands."""
        matches = dict(self.found.matches)
        promoted = self._promoted(matches)
        items = map(self._item, matches)
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

    def _apart(self, hits: Sequence[Scored]) -> list[Scored]:
        by_text: dict[object, Scored] = {}
        for hit in hits:
            chosen = self.chosen[hit.item.id]
            by_text.setdefault(
                (chosen.source, chosen.around) if chosen.around else hit.item.id, hit
            )
        return list(by_text.values())

    def standing(self, candidates: Iterable[Candidate]) -> dict[str, float]:
        """What each of these entries would score if it met a task fully."""
        files = self.source.files
        items = [
            self._item(c.entry)._replace(level=files[c.source].place.level)
            for c in candidates
        ]
        met = dict.fromkeys((item.id for item in items), Match(1.0))
        return {
            hit.item.id: hit.score for hit in ranking.weigh(items, met, self.config)
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

    def _item(self, entry: str) -> RankedItem:
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
            level=self.found.levels[entry],
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
        for entry in self.found.copies(ends):
            if entry in self.chosen:
                promoted = self.chosen[entry].values.get("promoted_to", ())
                if shown.isdisjoint(promoted):
                    items.append(self._item(entry))
        passed = {item.id: Match(known[ends[item.id][1]].relevance) for item in items}
        walked = []
        for hit in ranking.weigh(items, passed, self.config):
            score, start = ends[hit.item.id]
            walked.append(self._whole(hit)._replace(score=score, walked=start))
        return walked

    def _ends(
        self, known: Mapping[str, Scored], shown: Collection[str]
    ) -> dict[str, tuple[float, str]]:
        """Where edges of the `known` hits lead: entry -> the best score that arrives
        there, and from which hit."""
        ends: dict[str, tuple[float, str]] = {}
        for one, other, weight in self.source.edges(known):
            for start, end in ((one, other), (other, one)):
                if start in known and end not in shown:
                    strength = (
                        known[start].score * min(weight, 1.0) * weights.WORTH,
                        start,
                    )
                    ends[end] = max(ends.get(end, strength), strength)
        return ends

    def _whole(self, hit: Scored) -> Scored:
        if len(hit.item.text) < SIZE:
            return hit
        return hit._replace(
            item=hit.item._replace(
                text=self.found.passage(self.chosen[hit.item.id]).text
            )
        )


def _alike() -> Callable[[str, str], bool]:
    known: dict[str, Any] = {}

    def alike(a: str, b: str) -> bool:
        from memcli.similarity.claims import claim
        from memcli.similarity.duplicates import near_duplicate

        known.update((text, claim(text)) for text in (a, b) if text not in known)
        return near_duplicate(known[a], known[b])

    return alike
