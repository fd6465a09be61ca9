"""Which sentences of a session become lessons, and with which of their neighbours. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

from memcli.extraction.rules import weights, words
from memcli.extraction.rules.evidence import Candidate, Heard, Session, by_words, hear
from memcli.extraction.rules.sentences import LONGEST, Sentence
from memcli.sessions.model import Turn

JUDGED = 80
"""Sentences of each voice that the session is asked about, the best by their own words."""
GOES_ON = {True: -1.0, False: -2.0}
"""What a neighbour must be worth to go with a sentence that is kept."""
BODY = 480
TOGETHER = 4
"""Sentences of a lesson at most."""
TWICE = 0.7
"""Share of words from which two sentences say one lesson."""

Worth = Callable[[Candidate], float]


class Lesson(NamedTuple):
    """A lesson in the session's own words: what it is about, where it stands, what speaks for it."""

    title: str
    body: str
    found: Candidate
    worth: float


def candidates(turns: Sequence[Turn]) -> tuple[list[Candidate], list[Heard]]:
    """The sentences that may be lessons, with all evidence, in order."""
    heard = hear(turns)
    session = Session(turns, heard)
    voices: dict[bool, list[Candidate]] = {True: [], False: []}
    for one in by_words(heard):
        voices[one.human].append(one)
    best = [one for voice in voices.values() for one in nlargest(JUDGED, voice, key=by_weights)]
    return [session.judged(one) for one in sorted(best, key=lambda c: (c.turn, c.at))], heard


def by_weights(found: Candidate) -> float:
    """What the evidence for a sentence is worth."""
    return weights.worth(found.evidence, human=found.human)


def chosen(
    turns: Sequence[Turn], worth: Worth = by_weights, used: Collection[tuple[int, int]] = ()
) -> list[Lesson]:
    """The lessons of a session, the best first, none twice and none of sentences (turn, place) that
    are `used` already.
    """
    found, heard = candidates(turns)
    values = {(one.turn, one.at): worth(one) for one in found}
    near: defaultdict[int, dict[int, Candidate]] = defaultdict(dict)
    for one in found:
        near[one.turn][one.at] = one
    used = set(used)
    kept: list[Lesson] = []
    places = {one.turn: i for i, one in enumerate(heard)}
    for one in sorted(found, key=lambda c: (-values[c.turn, c.at], c.turn, c.at)):
        value = values[one.turn, one.at]
        if value < 0:
            break
        if (one.turn, one.at) in used or any(_same(one, lesson.found) for lesson in kept):
            continue
        at = places[one.turn]
        first, last = _span(one, near[one.turn], values, used)
        used |= {(one.turn, i) for i in range(first, last + 1)}
        said = [near[one.turn][i].sentence.text for i in range(first, last + 1)]
        lead = _lead(near[one.turn][first], heard, at)
        if lead is not None:
            kept.append(Lesson(one.sentence.text, " ".join([*lead, *said])[:LONGEST], one, value))
    return kept


def _same(one: Candidate, other: Candidate) -> bool:
    both = len(one.content & other.content)
    return both >= TWICE * min(len(one.content), len(other.content) or 1) and both > 2


def _span(
    one: Candidate,
    near: Mapping[int, Candidate],
    values: Mapping[tuple[int, int], float],
    used: set[tuple[int, int]],
) -> tuple[int, int]:
    """The first and the last sentence that go with one: both halves of "don't … . Use … .", and
    neighbours in the same paragraph that are worth something themselves.
    """
    size = len(one.sentence.text)

    def goes(at: int, beside: int) -> bool:
        other = near.get(at)
        if other is None or (one.turn, at) in used:
            return False
        halves = {at: other, beside: near[beside]}
        if _halves(*(halves[i] for i in sorted(halves))):
            return True
        plain = other.sentence.mark == one.sentence.mark == ""
        return plain and values[one.turn, at] > GOES_ON[one.human]

    first = last = one.at
    while last - first + 1 < TOGETHER and size < BODY and goes(last + 1, last):
        last += 1
        size += len(near[last].sentence.text)
    while last - first + 1 < TOGETHER and size < BODY and goes(first - 1, first):
        first -= 1
        size += len(near[first].sentence.text)
    return first, last


def _halves(first: Candidate, second: Candidate) -> bool:
    """Whether two sentences say what not to do and what to do instead."""
    forbids = {"forbid", "begins: corrects"} & first.evidence
    return bool(forbids) and "begins: uses" in second.evidence


def _lead(first: Candidate, heard: Sequence[Heard], at: int) -> list[str] | None:
    """What must stand before a lesson that points back: the question it answers, or the sentence
    before. None when it points at nothing.
    """
    before = heard[at - 1].said if at else []
    if "chosen" in first.evidence:
        return [one.text for one in before if one.text.rstrip("*_ ").endswith(("?", "？"))][-1:]
    if "begins: points" not in first.evidence:
        return []
    own = heard[at].said[: first.at]
    meant = [one for one in own or before if len(words.content(one.low)) >= 3]
    if meant:
        return [_last(meant).text]
    return [] if len(first.content) >= 5 else None


def _last(said: Sequence[Sentence]) -> Sentence:
    return said[-1]
