"""What speaks for and against learning a sentence, and which become lessons, from 0 on.
Pure.

What a piece of evidence is worth stands in `weights.txt`: `python -m
tests.bench.fit_rules`."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from heapq import nlargest
from itertools import pairwise
from math import fsum
from typing import NamedTuple

from memcli.extraction.rules import words
from memcli.extraction.rules.words import SpokenSentence, sentences
from memcli.sessions.model import Turn
from memcli.text.matching import table

SAME = (
    0.6  # share of a sentence's words in another turn from which it was said there, too
)
WEIGHTS = "extraction/rules/weights.txt"
# sentences of each voice that the session is asked about, the best by their own words
JUDGED = 40
GOES_ON = {
    True: -1.0,
    False: -2.0,
}  # what a neighbour that goes along is worth, of people, agents
# characters and sentences of a lesson at most
BODY = 480
TOGETHER = 4
TWICE = 0.7  # share of words from which two sentences say one lesson


class Remark(NamedTuple):
    """A sentence that may be a lesson: its turn, its place in it, who says it, and the
    evidence."""

    turn: int
    at: int
    human: bool
    sentence: SpokenSentence
    content: frozenset[str]
    evidence: frozenset[str]
    worth: float = 0.0


class Heard(NamedTuple):
    """A turn in words: its sentences and what each is about; the end and beginning of
    its text."""

    turn: int
    human: bool
    said: list[SpokenSentence]
    abouts: list[frozenset[str]]
    content: frozenset[str]
    tail: str
    head: str


# a person's sentences of a talk, and which part of them ask or doubt
TALK = 8
PONDERED = 0.25
_DOUBTS = {"hedge", "musing"}
_REFUSES = {"forbid", "begins: corrects"}
_BACK = {"it", "them"}
_NOBODY = Heard(
    turn=-1, human=False, said=[], abouts=[], content=frozenset(), tail="", head=""
)


def hear(turns: Sequence[Turn]) -> list[Heard]:
    """The turns that say something, in order; what tools and harnesses say is left
    out."""
    found = []
    for i, turn in enumerate(turns):
        agent = (turn.role == "assistant" and not turn.tool) or turn.origin == "agent"
        if turn.text and (turn.human or agent):
            said = sentences(turn.text, typed=turn.human)
            abouts = [words.content(one.low) for one in said]
            about = frozenset().union(*abouts)
            head = words.fold(turn.text[:300])
            tail = turn.text[-400:].rstrip("*_ \n")
            found.append(
                Heard(
                    turn=i,
                    human=turn.human,
                    said=said,
                    abouts=abouts,
                    content=about,
                    tail=tail,
                    head=head,
                )
            )
    return found


def by_words(turns: Sequence[Turn], heard: Sequence[Heard]) -> Iterator[Remark]:
    """Every sentence with the evidence of its words and its place."""
    first = next((one.turn for one in heard if one.human), -1)
    pondered = _is_pondered(turns, heard)
    for one in heard:
        count = len(one.said)
        around = {"pondered"} if pondered else set()
        around |= (
            {"long turn"} if count > 6 else {"only sentence"} if count == 1 else set()
        )
        around |= {"very long turn"} if count > 20 else set()
        around |= {"first turn"} if one.turn == first else set()
        shown = [
            _of_words(*each) | around for each in zip(one.said, one.abouts, strict=True)
        ]
        for before, after in pairwise(shown):
            if "forbid" in before and are_halves(before, after):
                before.add("both halves")
                after.add("both halves")
        rows = enumerate(zip(one.said, one.abouts, map(frozenset, shown), strict=True))
        yield from (Remark(one.turn, at, one.human, *row) for at, row in rows)


def _is_pondered(turns: Sequence[Turn], heard: Sequence[Heard]) -> bool:
    """Whether nothing was run or shown, and the person rather thinks aloud than says
    what is so."""
    if any(turn.tool or "```" in turn.text for turn in turns if not turn.human):
        return False
    said = [each for one in heard if one.human for each in one.said]
    doubts = (
        each.text[-1] in "?？" or _DOUBTS & words.kinds_of(each.low) for each in said
    )
    return len(said) >= TALK and sum(map(bool, doubts)) > PONDERED * len(said)


def are_halves(before: Collection[str], after: Collection[str]) -> bool:
    """Whether two sentences, by their evidence, say what not to do and what to do
    instead."""
    return "begins: uses" in after and (
        "forbid" in before or "begins: corrects" in before
    )


_PASSING = {"done", "symptom", "moment", "question"}
_QUOTES = {*'"“”„«»「」'}
_ENDS = (
    ("?", "question"),
    ("？", "question"),
    (":", "ends in a colon"),
    ("：", "ends in a colon"),
)
_SIGNS = (("`", "code"), ("http", "url"), ("—", "dash"), (" - ", "dash"))


def _of_words(sentence: SpokenSentence, about: frozenset[str]) -> set[str]:
    text = sentence.text.rstrip('*_)" ')
    low = sentence.low
    count = (
        len(low.split()) if low.isascii() else max(len(low.split()), len(about) // 2)
    )
    bounds = (("under 4 words", 4), ("4 to 7 words", 8), ("8 to 25 words", 26))
    found = {next((name for name, bound in bounds if count < bound), "over 25 words")}
    found |= {name for sign, name in _ENDS if text.endswith(sign)}
    found |= {name for sign, name in _SIGNS if sign in text}
    found |= {
        name
        for name in ("identifier", "place in code")
        if words.pattern(name).search(text)
    }
    found |= words.kinds_of(low) | words.begins(low)
    holds = {
        "what was done": words.pattern("what was done").match(low) is not None,
        "now": " now " in low,
        "about nothing": len(about) < 3,
        "heading": sentence.mark == "#",
        "in a list": sentence.mark == "-",
        "asks first": {"autonomy", "condition"} <= found,
        "generic": not _PASSING & found
        and words.pattern("generic").match(low) is not None,
        "quoted": bool(
            {text.lstrip("*_ ")[:1], sentence.text.rstrip("*_. ")[-1:]} & _QUOTES
        ),
        "one over another": {"begins: uses", "instead"} <= found,
        "forbids": words.pattern("forbids").match(low) is not None,
        "over another": words.pattern("over another").match(low) is not None,
        "names what fails": bool(
            {"denial", "surprise"} & found and {"code", "identifier"} & found
        ),
        "says why": "finding" in found and bool({"because", "reason"} & found),
    }
    return found | _true(holds)


class Surroundings:
    """The turns of a session, to be asked what came before and after a sentence."""

    def __init__(self, turns: Sequence[Turn], heard: Sequence[Heard]) -> None:
        self.turns = turns
        self.heard = heard
        self.at = {one.turn: i for i, one in enumerate(heard)}
        self.holding: defaultdict[str, list[int]] = defaultdict(list)
        for i, one in enumerate(heard):
            for word in one.content:
                self.holding[word].append(i)
        firsts = (
            (i, one.said[0]) for i, one in enumerate(heard) if one.human and one.said
        )
        self.corrections = {
            i for i, one in firsts if "begins: corrects" in words.begins(one.low)
        }
        self.last = max((i for i, one in enumerate(heard) if not one.human), default=-1)

    def judged(self, found: Remark) -> Remark:
        """The candidate with the evidence of the session around it."""
        at = self.at[found.turn]
        counts = Counter[int]()
        size = len(found.content)
        after = next(iter(self.heard[at + 1 : at + 2]), _NOBODY)
        near = self.turns[self.heard[at - 1].turn if at else 0 : found.turn]
        for word in found.content:
            counts.update(self.holding[word])
        # Which part of the sentence's words each other turn has, by its place.
        shares = {i: n / size for i, n in counts.items() if 3 * n >= size and i != at}
        agreed = after.human and words.pattern("agreed").match(after.head) is not None
        more = {"agreed to": agreed, "after an error": any(turn.error for turn in near)}
        more = self._to_agent(found, at) if found.human else more
        if size >= 3:
            more |= self._elsewhere(found, at, shares)
        return found._replace(evidence=found.evidence | _true(more))

    def _elsewhere(
        self, found: Remark, at: int, shares: Mapping[int, float]
    ) -> dict[str, bool]:
        same = {i for i, share in shares.items() if share >= SAME}
        agents = [i for i in same if i > at and not self.heard[i].human]
        asked = max(
            (n for i, n in shares.items() if i < at and self.heard[i].human), default=0
        )
        return {
            "said by the person elsewhere": any(self.heard[i].human for i in same),
            "said by the agent later": bool(agents),
            "said by the agent thrice": len(agents) >= 3,
            "in the closing summary": self.last != at
            and shares.get(self.last, 0) >= 0.5,
            "taken back": found.human and any(i > at for i in self.corrections & same),
            "about what was asked": not found.human and asked >= 0.34,
        }

    def _to_agent(self, found: Remark, at: int) -> dict[str, bool]:
        """Of a person's sentence: what the agent asked or did before, and said
        after."""
        before = self.heard[at - 1] if at and not self.heard[at - 1].human else _NOBODY
        after = next((one for one in self.heard[at + 1 :] if not one.human), _NOBODY)
        asked = found.at == 0 and before.tail.endswith(("?", "？"))
        offered = (
            asked
            and words.pattern("alternatives").search(before.tail.lower()) is not None
        )
        short = len(found.sentence.low.split()) <= 25
        near = self.turns[max(0, found.turn - 3) : found.turn]
        return {
            "interrupted": any(
                "interrupted by user" in turn.text[:60] for turn in near
            ),
            "after a question": "?" in before.tail,
            "chosen": offered and short and bool(found.content & before.content),
            "conceded": words.says("conceding", after.head),
        }


def _true(holds: Mapping[str, bool]) -> set[str]:
    return {name for name, is_so in holds.items() if is_so}


@cache
def _weights() -> Mapping[bool, Mapping[str, float]]:
    _, person, agent = table(WEIGHTS).replace("\n", " ").split("[")
    found = {}
    for human, text in ((True, person), (False, agent)):
        rows = (
            row.strip().rpartition(" ") for row in text.partition("]")[2].split("|")
        )
        found[human] = {name: float(weight) for name, _, weight in rows}
    return found


def by_weights(remark: Remark) -> float:
    """What the evidence for a sentence is worth, above 0 for what is to be kept."""
    weights = _weights()[remark.human]
    # Exact, as a set has no order and a hundredth decides.
    return fsum(
        (weights["base"], *(weights.get(name, 0.0) for name in remark.evidence))
    )


def remarks(turns: Sequence[Turn], heard: Sequence[Heard]) -> Iterator[Remark]:
    """The sentences that may be lessons, with all evidence."""
    around = Surroundings(turns, heard)
    voices: dict[bool, list[Remark]] = {True: [], False: []}
    for one in by_words(turns, heard):
        voices[one.human].append(one)
    for voice in voices.values():
        yield from map(around.judged, nlargest(JUDGED, voice, key=by_weights))


def chosen(
    turns: Sequence[Turn], worth: Callable[[Remark], float] = by_weights
) -> list[tuple[str, Remark]]:
    """The lessons, each with the sentence that it rests on, the best first, none
    twice."""
    heard = hear(turns)
    free = {
        (one.turn, one.at): one._replace(worth=worth(one))
        for one in remarks(turns, heard)
    }
    found = sorted(free.items(), key=lambda each: (-each[1].worth, each[0]))
    kept: list[tuple[str, Remark]] = []
    for spot, one in found:
        if (
            one.worth >= 0
            and spot in free
            and not any(_same(one, other) for _, other in kept)
        ):
            together = sorted(_together(one, free), key=lambda each: each.at)
            for each in together:
                del free[each.turn, each.at]
            if (lead := _lead(together[0], heard)) is not None:
                said = [*lead, *(each.sentence.text for each in together)]
                kept.append((" ".join(said)[: words.LONGEST], one))
    return kept


def _same(one: Remark, other: Remark) -> bool:
    both = len(one.content & other.content)
    return both > 2 and both >= TWICE * min(len(one.content), len(other.content))


def _together(one: Remark, free: Mapping[tuple[int, int], Remark]) -> list[Remark]:
    """A sentence, its other half, and neighbours in the paragraph that are worth
    something."""
    found = [one]
    for step in (1, -1):
        last = one
        while other := free.get((one.turn, last.at + step)):
            plain = other.sentence.mark == one.sentence.mark == ""
            before, after = (last, other) if step > 0 else (other, last)
            goes = plain and other.worth > GOES_ON[one.human]
            back = (
                step > 0
                and _REFUSES & before.evidence
                and _BACK & {*after.sentence.low.split()}
            )
            full = (
                sum(len(each.sentence.text) for each in found) >= BODY
                or len(found) >= TOGETHER
            )
            if full or not (
                goes or back or are_halves(before.evidence, after.evidence)
            ):
                break
            last = other
            found.append(other)
    return found


def _lead(first: Remark, heard: Sequence[Heard]) -> list[str] | None:
    """What must stand before a lesson that points back; None when it points at
    nothing."""
    at = next(i for i, one in enumerate(heard) if one.turn == first.turn)
    before = heard[at - 1].said if at else []
    if "chosen" in first.evidence:
        return [
            one.text for one in before if one.text.rstrip("*_ ").endswith(("?", "？"))
        ][-1:]
    if "begins: points" not in first.evidence:
        return []
    said = heard[at].said[: first.at] or before
    meant = [one.text for one in said if len(words.content(one.low)) >= 3]
    return meant[-1:] if meant else [] if len(first.content) >= 5 else None
