"""Of hits of history that say one thing, one; of two about one thing, which leads."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations

from memcli.index import weights
from memcli.index.change import removes, says_so, versions
from memcli.index.fulltext import idf
from memcli.index.lexical import content_stems
from memcli.index.record import RecordContents
from memcli.memory.docs import Doc, DocPlace, PastStretch, Rarity
from memcli.memory.words import stem
from memcli.storage.files import ONE_OF

COMPARED_TEXT = 3000  # characters of a hit that are compared
COMPARED = 6  # how many of the best hits are compared with each other
_NUMBER = re.compile(r"\s*\(#\d+\)\Z|\W+")  # of a pull request; between words
_JOINT = re.compile(r"(?<=\w)[/.](?=\w)")  # what a path or a dotted name is made of
Replaced = Mapping[str, Collection[str]]
Pairs = Iterable[tuple[int, int]]


def said_once(hits: Sequence[PastStretch]) -> list[PastStretch]:
    """The hits; of commits with one subject, of a merge and its branch, the one that
    says all."""
    subjects = {hit.doc.unit: _NUMBER.sub("", hit.doc.title.lower()) for hit in hits}
    merges = {
        tip: hit.doc.unit for hit in hits for tip in hit.doc.about.get("merged", ())
    }
    merged = {*merges, *merges.values()}
    by_name: dict[str, PastStretch] = {}
    for hit in hits:
        unit = hit.doc.unit
        name = hit.doc.handle
        if hit.doc.source == "commit":
            name = subjects[merges.get(unit, unit)]
        known = by_name.setdefault(name, hit)
        if known is hit:
            continue
        before = _without_numbers(known)
        mine = _without_numbers(hit)
        nested = mine <= before or before <= mine
        if not nested and not {unit, known.doc.unit} & merged:
            by_name[hit.doc.handle] = hit
        elif len(mine) > len(before):
            by_name[name] = hit
    return list(by_name.values())


def _without_numbers(hit: PastStretch) -> set[str]:
    return {word for word in content_stems(_text(hit)) if not word.isdigit()}


def newer_first(
    record: RecordContents,
    hits: Sequence[PastStretch],
    asked: Rarity,
    replaced: Replaced,
    keep: Callable[[DocPlace], bool] | None,
) -> list[PastStretch]:
    """The hits, and what changes them by git or by `replaced`; what changes another
    leads it."""
    gone = record.superseding([hit.doc for hit in hits])
    common = record.common()
    every = [*hits, *_later(record, hits, gone.values(), replaced, keep)]
    places = {hit.doc.unit: at for at, hit in enumerate(every)}
    by_git = ((places[old], places[new]) for old, new in gone.items() if new in places)
    pairs = [
        *_by_words(hits, common, asked, record.naming(places)),
        *by_git,
        *_by_entries(every, replaced),
    ]
    return _in_order(every, dict.fromkeys(pairs))


def _later(
    record: RecordContents,
    hits: Sequence[PastStretch],
    commits: Iterable[str],
    replaced: Replaced,
    keep: Callable[[DocPlace], bool] | None,
) -> Iterator[PastStretch]:
    """What changes the hits and is none of them: these commits, and the events by
    which they are `replaced`."""
    units = set(commits) - {hit.doc.unit for hit in hits}
    events = chain.from_iterable(replaced.get(hit.doc.event, ()) for hit in hits)
    keys = {f"s:{event}" for event in events} - {hit.doc.key for hit in hits}
    where = f"(unit {ONE_OF} OR key {ONE_OF})"
    for number, doc in record.select(where, json.dumps([*units]), json.dumps([*keys])):
        if keep is None or any(map(keep, record.places([number]))):
            yield PastStretch(docs=(doc,), best=0, score=0.0, met=0)


def _by_words(
    hits: Sequence[PastStretch],
    common: Mapping[str, int],
    asked: Rarity,
    naming: Collection[str],
) -> Iterator[tuple[int, int]]:
    """(older, newer) of hits about one thing, which the newer says that it changes; of
    commits one that is `naming` another changes that one alone."""
    near = hits[:COMPARED]
    total = common.get("", 1)
    least = max(total // 1000, 1)
    rarity = lru_cache(None)(
        lambda word: idf(min(common.get(word, least), total), total)
    )
    # a name of several words, in which they meet, is one thing
    words = [content_stems(_JOINT.sub("", _text(hit))) for hit in near]
    sizes = [math.hypot(*map(rarity, each)) for each in words]
    task = set(map(stem, asked))
    dated = sorted(range(len(near)), key=lambda at: near[at].doc.date)
    for at, other in combinations(dated, 2):
        older = near[at].doc
        newer = near[other].doc
        if not _may_change(older, newer, naming) or _leaves(older, newer):
            continue
        both = words[at] & words[other]
        shared = sum(rarity(word) ** 2 for word in both)
        alike = shared >= weights.LIKENESS * sizes[at] * sizes[other]
        # A chat goes on from what was said, a message of a commit stands by itself.
        answers = near[other].score >= weights.WORTH * near[at].score
        is_about = answers or newer.source == "session"
        if alike and is_about and says_so(_text(near[other]), both, task):
            yield at, other


def _may_change(older: Doc, newer: Doc, naming: Collection[str]) -> bool:
    """Whether the words of the newer may tell that it changes the older: git tells of
    a commit."""
    by_git = older.source == "commit" and newer.unit in naming
    return newer.date != older.date and newer.unit != older.unit and not by_git


def _leaves(older: Doc, newer: Doc) -> bool:
    """Whether a commit that takes something out leaves an older one as it is, which
    takes something out, too, or names a version that the newer does not: support of
    Python 3.5 stays dropped when that of 3.7 is."""
    if {older.source, newer.source} != {"commit"} or not removes(newer.title):
        return False
    about = versions(older.title)
    names_another = bool(about) and about.isdisjoint(versions(newer.text))
    return removes(older.title) or names_another


def _by_entries(
    hits: Sequence[PastStretch], replaced: Replaced
) -> Iterator[tuple[int, int]]:
    """(older, newer) of exchanges from which an entry and the one that takes its place
    were learned."""
    at = {hit.doc.event: number for number, hit in enumerate(hits)}
    for event in at.keys() & replaced.keys():
        for by in replaced[event]:
            if at.get(by, at[event]) != at[event]:
                yield at[event], at[by]


def _in_order(hits: Sequence[PastStretch], pairs: Pairs) -> list[PastStretch]:
    """The hits, before each what changes it, which bears on all that it does."""
    later: dict[int, list[int]] = {at: [] for at in range(len(hits))}
    for older, newer in pairs:
        later[older].append(newer)
    placed: dict[int, PastStretch] = {}
    for at, hit in enumerate(hits):
        newest = sorted(later[at], key=lambda it: hits[it].doc.date, reverse=True)
        before = [other for other in newest if at not in placed and other not in placed]
        placed.update((other, hits[other]) for other in before)
        handle = hits[newest[0]].doc.handle if newest else ""
        placed[at] = placed.get(at, hit)._replace(newer=handle)
    return list(placed.values())


def _text(hit: PastStretch) -> str:
    """What a hit says, and what follows it."""
    return "\n".join(doc.text for doc in hit.docs[hit.best :])[:COMPARED_TEXT]
