"""One search: candidates of a store, fused into how well each entry meets a task."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Self

from memcli.index import fusion, lexical, weights
from memcli.index.fulltext import POOL, said_by, top
from memcli.index.lexical import Query
from memcli.index.view import (
    Candidate,
    Lane,
    Passage,
    Signals,
    Source,
    VectorLane,
    nearest,
)
from memcli.memory.values import OUTERMOST
from memcli.named import NamedTuple
from memcli.project.config import Config
from memcli.project.context import View

LENDERS = 60  # how many of the best lend to what stands beside them


class Match(NamedTuple):
    """How well an entry meets a task; `relevance` is relative to the best, `lent` the
    part of it from what stands beside; `lexical` is BM25, `cosine` None without a
    vector that is at all near."""

    relevance: float
    lexical: float = 0.0
    cosine: float | None = None
    lent: float = 0.0
    words: float | None = None
    own: bool = False
    """Whether it matches in its own text."""


class Matching:
    """What a search of a source finds: `matches` are how well entries meet the task,
    `chosen` the nearest copy of each, `levels` those of the outermost, `weights` what
    each word of the task that stands in the store says: see `said_by`."""

    def __init__(
        self, source: Source, lane: VectorLane, config: Config, view: View
    ) -> None:
        self.source = source
        self.config = config
        self.view = view
        self.mode = "bm25"
        self.floor = 0.0
        self.asked = Query((), ())
        self.matches: dict[str, Match] = {}
        self.weights: Mapping[str, float] = {}
        self.chosen: dict[str, Candidate] = {}
        self.levels: dict[str, str] = {}
        self._lane = lane
        self._passages: dict[int, Passage] = {}
        self._met: dict[tuple[int, str, int], int] = {}

    def look(self, task: str) -> Self:
        """Find out how well each entry that bears on a task at all meets it, by words,
        vectors and what stands beside it."""
        self.asked = asked = lexical.asked(task, self.source.counts)
        pool = max(POOL, 3 * self.config.limit)
        points = self.source.lexical((*asked.terms, *asked.concepts), pool)
        # None without usable vectors: words alone
        lane = self._lane(task, asked, points) or Lane("bm25", 0.0, Signals(points, {}))
        self.mode = lane.mode
        self.floor = lane.floor
        signals = lane.signals
        candidates = self.source.candidates(
            dict.fromkeys((*signals.lexical, *signals.cosine))
        )
        self.copies({candidate.entry for candidate in candidates}, candidates)
        score = signals.lexical
        for part in sorted(candidates, key=lambda part: score.get(part.rowid, 0.0)):
            self._met[part.source, part.entry, part.offset] = part.part
        matches = self._matches(candidates, signals, asked.phrases)
        self._lend(task, matches)
        self.matches = {
            entry: match
            for entry, match in matches.items()
            if self._bears(entry, match)
        }
        self._lower(self.matches)
        counts = self.source.counts(asked.terms)
        total = max(self.source.size(), *counts, 1)
        self.weights = said_by(asked.terms, counts, total)
        return self

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

    def copies(
        self, entries: Collection[str], candidates: Iterable[Candidate] = ()
    ) -> list[str]:
        """Look at every copy in view of these entries, of which some chunks were
        `found` before: the nearest is chosen. Those that are in view."""
        known = {each.rowid: each for each in candidates if each.part == 0}
        places = self.source.places(entries)
        unread = [rowid for rowid, _ in places if rowid not in known]
        known |= {each.rowid: each for each in self.source.candidates(unread)}
        by_entry: dict[str, list[Candidate]] = {}
        for rowid, _ in places:
            by_entry.setdefault(known[rowid].entry, []).append(known[rowid])
        files = self.source.files
        for entry, every in by_entry.items():
            best = nearest(every, files, self.view)
            if self.source.passes(best):
                self.chosen[entry] = best
            levels = (files[copy.source].place.level for copy in every)
            self.levels[entry] = min(levels, key=OUTERMOST.__getitem__)
        return list(by_entry)

    def nearest(self, found: Sequence[Candidate]) -> list[Candidate]:
        """Of these candidates, those that are the nearest copy of their entry."""
        entries = self.copies({candidate.entry for candidate in found}, found)
        fit = {candidate.rowid for candidate in found}
        near = filter(None, map(self.chosen.get, entries))
        return [candidate for candidate in near if candidate.rowid in fit]

    def _matches(
        self, candidates: Sequence[Candidate], signals: Signals, phrases: Sequence[str]
    ) -> dict[str, Match]:
        """How well each entry meets the task, by the best chunk of its nearest copy."""
        places = {c.entry: (c.source, c.offset) for c in self.chosen.values()}
        nearest = [c for c in candidates if places.get(c.entry) == (c.source, c.offset)]
        lexical = _with_phrases(nearest, signals.lexical, phrases)
        rows = {chunk.rowid for chunk in nearest}
        signals = Signals._make(
            {key: scores[key] for key in scores if key in rows} for scores in signals
        )
        signals = _concise(signals._replace(lexical=lexical), nearest)
        if not lexical:  # by their vectors alone
            cosines = signals.cosine
            nearest = [c for c in nearest if cosines.get(c.rowid, 0.0) >= self.floor]
        fused = fusion.scale(fusion.FUSIONS[self.mode](signals))
        best: dict[str, Match] = {}
        for chunk in nearest:
            by_words = lexical.get(chunk.rowid, 0.0)
            cosine = signals.cosine.get(chunk.rowid)
            match = Match(
                relevance=fused.get(chunk.rowid, 0.0),
                lexical=by_words,
                cosine=cosine,
                words=signals.words.get(chunk.rowid),
                own=by_words > 0 or cosine is not None,
            )
            best[chunk.entry] = max(
                best.get(chunk.entry, match), match, key=lambda each: each.relevance
            )
        return best

    def _lend(self, task: str, matches: dict[str, Match]) -> None:
        if not self.config.context or not matches:
            return
        strengths = {entry: match.relevance for entry, match in matches.items()}
        beside = self._beside(strengths)
        near = {other for others in beside.values() for other, _ in others}
        titles = fusion.titles(
            task, [(entry, self.chosen[entry].title) for entry in near]
        )
        # What the task does not name by its title gains nothing.
        shares = {entry: self.config.context * title for entry, title in titles.items()}
        total = fusion.lend(strengths, beside, shares)
        most = max(total.values()) or 1.0
        for entry, relevance in total.items():
            lent = (relevance - strengths[entry]) / most
            matches[entry] = matches[entry]._replace(
                relevance=relevance / most, lent=lent
            )

    def _beside(self, own: dict[str, float]) -> dict[str, list[tuple[str, int]]]:
        """What was written together with each of the best, and how far from it."""
        groups = {entry: _group(self.chosen[entry]) for entry in own}
        rich = {entry: value for entry, value in own.items() if value >= weights.WORTH}
        lenders = [entry for entry in top(rich, LENDERS) if groups[entry] is not None]
        places = self.source.beside([self.chosen[entry] for entry in lenders])
        return {
            entry: [
                each for each in _near(sides) if groups.get(each[0]) == groups[entry]
            ]
            for entry, sides in zip(lenders, places, strict=True)
        }

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
    shares = fusion.phrase_shares((f"{c.title} {c.text}" for c in met), phrases)
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
