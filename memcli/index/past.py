"""What of the record bears on a task: exchanges of sessions, and commits."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import partial
from heapq import nlargest
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.errors import DataError, ProviderError, UsageError
from memcli.index import fusion, lexical, weights
from memcli.index.change import GONE, asks_of_it, is_word_of_it, versions
from memcli.index.fulltext import FullText, KnownTerm, quoted
from memcli.index.record import BUSY, RecordContents, connected
from memcli.index.view import words_alone
from memcli.memory.docs import (
    PARTS,
    Doc,
    DocPlace,
    PastStretch,
    Rarity,
    events_of,
    touches,
)
from memcli.memory.words import stem, word_forms
from memcli.named import NamedTuple
from memcli.text.sentences import sentences

if TYPE_CHECKING:
    from memcli.index.database import Index
    from memcli.index.upkeep import ProjectIndex
    from memcli.index.vector_lane import Nearness, Pairs
    from memcli.memory.filters import Filters
    from memcli.project.record import KeptRecord
    from memcli.providers.embed import Embedder

AFTER = 10  # exchanges after the best one in which its conclusion is looked for
POOL = 16  # how many of the best stretches are hits
APART = 4  # exchanges on either side that are shown with the best
RAREST = 3  # so many of the rarest terms count, however common they are
NAMED = 3  # of what no gate lets pass so many are named
MEASURED = 200  # the best parts, whose length is looked at, of either order
REREAD = 8  # the best stretches, whose sentences are compared with the task
BESIDE = 1  # exchanges on either side of the best one that are reread with it
VOICE = 600  # characters of what each said in an exchange that are reread
_OF_ENTRIES = (
    "level job task type kind store tag scope".split()
)  # no exchange has these
Keep = Callable[[DocPlace], bool]


class Exchange(NamedTuple):
    """Where an exchange stands, its score, and the terms that are met there or beside
    it, a bit for each."""

    place: DocPlace
    score: float
    terms: int


def search(
    record: RecordContents,
    task: str,
    keep: Keep | None = None,
    replaced: Mapping[str, Collection[str]] = {},
    near: Nearness | None = None,
) -> tuple[Rarity, list[PastStretch]]:
    """The best hits, best first, by words alone without `near`; what changes another,
    by its words, by git or as the entry that was learned from it (`replaced`: event ->
    the later ones), leads it."""
    asked, exchanges = _matched(record, task)
    if not exchanges:
        return asked, []
    from memcli.index.amended import newer_first, said_once  # for hits alone

    apart = _apart(exchanges)
    passing = [each for each in apart if keep is None or keep(each.place)]
    hits = [_hit(record, each) for each in passing[:POOL]]
    if near is not None:
        near_task = partial(near, task, asked)
        hits = [*_by_meaning(hits[:REREAD], near_task), *hits[REREAD:]]
    return asked, newer_first(record, said_once(hits), asked, replaced, keep)


def _matched(record: RecordContents, task: str) -> tuple[Rarity, list[Exchange]]:
    """The terms of a task, and what has them, best first."""
    words = record.words()
    known = words.known(lexical.build(task, words.counts).terms)
    telling = [
        each
        for place, each in enumerate(known)
        if place < RAREST or each.texts < words.most
    ]
    gone = words.known([GONE]) if asks_of_it(task) else []
    met = _met(words, telling, gone)
    measured = dict.fromkeys((*_most(met.points), *_most(met.of_commits)))
    fair = _by_doc(words, met.points, measured)
    commits = _by_doc(words, met.of_commits, measured)
    places = record.places(fair)
    fair |= {at.id: commits[at.id] for at in places if at.source == "commit"}
    for place, rarity in _in_subjects(places, telling):
        fair[place] += rarity
    for place, rarity in _in_subjects(places, gone):
        fair[place] += rarity * weights.GONE
    asked = {each.term: each.rarity for each in known}
    return asked, _together(places, fair, met.terms)


class _Met(NamedTuple):
    """The BM25 of parts of exchanges, the points of parts of commits, and which terms
    stand in each exchange or commit, a bit for each."""

    points: Mapping[int, float]
    of_commits: Mapping[int, float]
    terms: Mapping[int, int]


def _met(
    words: FullText, telling: Sequence[KnownTerm], gone: Sequence[KnownTerm]
) -> _Met:
    """How well parts of the record meet the terms of a task, and, in commits, words for
    what is `gone`."""
    points: dict[int, float] = defaultdict(float)
    of_commits: dict[int, float] = defaultdict(float)
    has: dict[int, int] = defaultdict(int)
    # "Why is colorama no longer a dependency" is about colorama, to who reads commits.
    rare = [lexical.elsewhere(each.term) ** weights.ASKED for each in telling]
    rarest = max(rare, default=0.0) or 1.0
    for number, match in enumerate(words.matches(telling)):
        for part, score in match:
            points[part] += score
            of_commits[part] += score * rare[number] / rarest
            has[part // PARTS] |= 1 << number
    # "Removed" answers "dropped": of the words for it one counts.
    said = (at for at, each in enumerate(telling) if is_word_of_it(each.term))
    place_of_gone = next(said, len(telling))
    for part, score in chain.from_iterable(words.matches(gone)):
        if part in of_commits:
            of_commits[part] += score * weights.GONE
            has[part // PARTS] |= 1 << place_of_gone
    return _Met(points=points, of_commits=of_commits, terms=has)


def _most(points: Mapping[int, float]) -> list[int]:
    """The best parts of exchanges and commits, whose length is looked at."""
    return nlargest(MEASURED, points, key=points.__getitem__)


def _by_doc(
    words: FullText, points: Mapping[int, float], measured: Iterable[int]
) -> dict[int, float]:
    """The fair scores of exchanges and commits: of the parts of one the best counts, it
    comes last."""
    scores = words.fair({part: points[part] for part in measured})
    rising = sorted(scores.items(), key=itemgetter(1))
    return {part // PARTS: score for part, score in rising}


def _in_subjects(
    places: Iterable[DocPlace], terms: Iterable[KnownTerm]
) -> Iterator[tuple[int, float]]:
    """Commits, and how rare the terms are that stand in their subjects: a subject says
    what the commit is about, its body also names what it touches."""
    rarity = {
        _as_said(name): each.rarity
        for each in terms
        for name in each.term.split(lexical.EITHER)
    }
    for place in places:
        low = place.title.lower()
        # A stem begins its word: most subjects need not be taken apart.
        near = [word for word in rarity if word in low]
        if near and place.source == "commit":
            forms = map(stem, word_forms(place.title))
            subject = {*forms, *versions(low)}
            yield place.id, sum(rarity[word] for word in near if word in subject)


def _as_said(term: str) -> str:
    """A term as it stands in a subject: its stem, a version as it is written."""
    return term.replace(" ", ".") if lexical.is_number(term) else stem(term)


def _together(
    places: Sequence[DocPlace],
    scores: Mapping[int, float],
    has: Mapping[int, int],
) -> list[Exchange]:
    """Exchanges, best first, with what those beside them in their session lend."""
    strengths = {place.id: scores[place.id] for place in places}
    most = max(strengths.values(), default=0.0) or 1.0
    said = [place for place in places if place.source == "session"]
    at = {(place.unit, place.turn): place.id for place in said}
    beside = {place.id: _near(place, at) for place in said}
    shares = dict.fromkeys(beside, weights.SAID_BESIDE)
    lent = fusion.lend(fusion.scale(strengths), beside, shares)
    exchanges = []
    for place in places:
        terms = has[place.id]
        for other, _ in beside.get(place.id, ()):
            terms |= has[other]
        exchanges.append(Exchange(place, lent[place.id] * most, terms))
    return sorted(exchanges, key=lambda each: (-each.score, each.place.unit))


def _near(place: DocPlace, at: Mapping[tuple[str, int], int]) -> list[tuple[int, int]]:
    """(exchange, distance) of those before and after one."""
    near = {(place.unit, place.turn + away): abs(away) for away in (-2, -1, 1, 2)}
    return [(at[turn], distance) for turn, distance in near.items() if turn in at]


def _apart(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """The exchanges, best first, without those that are shown with a better one."""
    taken: dict[str, list[int]] = defaultdict(list)
    stretches = []
    for each in exchanges:
        turns = taken[each.place.unit]
        if all(abs(each.place.turn - turn) > APART for turn in turns):
            turns.append(each.place.turn)
            stretches.append(each)
    return stretches


def _by_meaning(
    hits: Sequence[PastStretch], near: Callable[[Sequence[str]], Pairs]
) -> list[PastStretch]:
    """Hits by their words, and by the sentences in them that are nearest to the task
    as a whole and word by word."""
    texts = [_reread(hit) for hit in hits]
    # asked for once, for the sentences of all hits
    likenesses = iter(near(list(chain.from_iterable(texts))))
    total = fusion.scale({place: hit.score for place, hit in enumerate(hits)})
    for place, own in enumerate(texts):
        pairs = islice(likenesses, len(own))
        # the nearest to the whole, and to its words
        total[place] += sum(map(max, zip(*pairs, strict=True)))
    ranked = sorted(total, key=total.__getitem__, reverse=True)
    return [hits[place] for place in ranked]


def _reread(hit: PastStretch) -> list[str]:
    """The sentences of the exchange that matches and of those beside it."""
    beside = hit.docs[max(hit.best - BESIDE, 0) : hit.best + BESIDE + 1]
    voices = (text[:VOICE] for doc in beside for _, text in doc.said)
    return list(chain.from_iterable(map(sentences, voices)))


def _hit(record: RecordContents, each: Exchange) -> PastStretch:
    place = each.place
    if place.source == "session":
        first = max(place.turn - 1, 0)
        docs = record.stretch(place.unit, first, place.turn + AFTER)
    else:
        docs = list(record.docs([place.id]).values())
    best = next(at for at, doc in enumerate(docs) if doc.turn == place.turn)
    return PastStretch(
        docs=tuple(docs), best=best, score=each.score, met=each.terms.bit_count()
    )


class LostEntry(NamedTuple):
    """Why an entry no longer holds, and the events from which the entry that takes its
    place was learned."""

    why: str
    by: tuple[str, ...] = ()


class FoundPast(NamedTuple):
    """What a record of so many `texts` has about a task: its terms that occur, what
    bears on it, best first, in how many of the texts each of its terms stands, and which
    entries that were learned from exchanges no longer hold, by event."""

    task: str
    asked: Rarity
    hits: Sequence[PastStretch]
    texts: int
    counts: Mapping[str, int]
    lost: Mapping[str, LostEntry] = {}

    @property
    def nearest(self) -> list[str]:
        """The handles of what shares more than a word with the task, the best
        first."""
        return [hit.doc.handle for hit in self.hits if hit.met > 1][:NAMED]


class Wanted(NamedTuple):
    """Which exchanges and commits pass: by filters, by agents, by where they stand; and
    the entries that no longer hold, by the event from which they were learned."""

    filters: Filters
    agents: Collection[str] = ()
    only: Keep | None = None
    lost: Mapping[str, LostEntry] = {}


def ask(
    path: Path, task: str, wanted: Wanted, near: Nearness | None = None
) -> FoundPast | None:
    """What a record has about a task; None without a record, or with filters that no
    exchange can pass. See `search` for `near`. Raises DataError."""
    if not path.exists() or any(getattr(wanted.filters, name) for name in _OF_ENTRIES):
        return None
    with connected(path, RecordContents, wait=BUSY) as record:
        if not record.is_made:
            return None
        by = {event: each.by for event, each in wanted.lost.items() if each.by}
        keep = partial(_passes, record, wanted)
        found = found_in(record, task, search(record, task, keep, by, near))
        return found._replace(lost=wanted.lost)


def found_in(
    record: RecordContents, task: str, ranked: tuple[Rarity, Sequence[PastStretch]]
) -> FoundPast:
    """What a search of a record found, and how often the task's terms stand there."""
    words = record.words()
    terms = lexical.build(task, words.counts).terms
    counts = dict(zip(terms, words.counts(terms), strict=True))
    if asks_of_it(task):
        # Whatever the task says for it, the record may have another word.
        gone = words.matching(quoted(GONE))
        unsaid = (term for term in terms if not counts[term] and is_word_of_it(term))
        counts |= dict.fromkeys(unsaid, gone)
    asked, hits = ranked
    return FoundPast(
        task=task, asked=asked, hits=hits, texts=words.size(), counts=counts
    )


def ask_own(
    kept: ProjectIndex, record: KeptRecord, task: str, wanted: Wanted, means: Means
) -> FoundPast | None:
    """What a project's record has about a task, compared by the vectors of this machine
    alone: what was said is sent to no provider. What keeps it from being asked, or
    compared, is noted."""
    config = kept.project.config
    if kept.project.listing.files and kept.exists:
        wanted = wanted._replace(lost=kept.looked(gone_of) or {})
    near = None
    try:
        if _is_behind(record):
            means.bring_up()
        try:
            if config.fusion != "bm25" and config.embedder != "none":
                from memcli.index.vector_lane import nearness_by

                near = nearness_by(means.embedder())
            return ask(record.path, task, wanted, near)
        except (ProviderError, UsageError) as error:
            kept.notes.append(words_alone(error))
            return ask(record.path, task, wanted)
    except DataError as error:
        kept.notes.append(f"history is left out: {error.what}")
        return None


class Means(NamedTuple):
    """What may be asked while a record is: for its new commits, and for vectors."""

    bring_up: Callable[[], object]
    embedder: Callable[[], Embedder | None]


def _is_behind(record: KeptRecord) -> bool:
    """Whether there are commits that a record has not read."""
    if not record.head:
        return False
    with connected(record.path, RecordContents, BUSY) as contents:
        return not contents.is_made or contents.note("head") != record.head


def _passes(record: RecordContents, wanted: Wanted, place: DocPlace) -> bool:
    agents = wanted.agents
    if agents and (place.source != "session" or place.who not in agents):
        return False
    if wanted.only is not None and not wanted.only(place):
        return False
    filters = wanted.filters
    if not filters.since <= place.date[:10] <= (filters.until or "9999"):
        return False
    if not filters.path:
        return True
    doc = record.docs([place.id])[place.id]
    return any(_is_about(doc, path.rstrip("/")) for path in filters.path)


def _is_about(doc: Doc, path: str) -> bool:
    """Whether a file was edited in it, or one of a folder."""
    edited = doc.about.get("paths", ())
    return touches(doc, path) or any(each.startswith(f"{path}/") for each in edited)


_LOST = """
    SELECT old.metadata, new.metadata FROM chunks old LEFT JOIN chunks new
        ON new.part = 0 AND new.entry = json_extract(old.metadata, '$.superseded_by')
    WHERE old.live = 0 AND old.part = 0 AND old.metadata LIKE '%#%'
        AND (old.metadata LIKE '%d_because%' OR old.metadata LIKE '%superseded%')
"""


def gone_of(index: Index) -> dict[str, LostEntry]:
    """Event -> how the entry that was learned from it was lost: retired,
    superseded."""
    lost_of = {}
    for old, new in index.db.execute(_LOST):
        values = json.loads(old)
        why = values.get("retired_because") or values.get("archived_because")
        why = str(why or "superseded")
        if why.startswith("stage") or why in ("stale", "merged", "old"):
            continue
        if values.get("superseded_by") or why == "superseded":
            reason = "superseded"
        else:
            reason = f"retired ({why})"
        lost = LostEntry(reason, tuple(events_of(json.loads(new or "{}"))))
        lost_of.update(dict.fromkeys(events_of(values), lost))
    return lost_of
