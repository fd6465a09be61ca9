"""What a text asserts: its phrases, and the words and values that are compared."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from memcli.similarity import tokens as lexer
from memcli.similarity.tokens import EQUIVALENTS, GOVERNORS, WORDS, Token, canonical

_LIGHT = WORDS["light"]
_RESUME = WORDS["resume"]
_PARTICLES = WORDS["particles"]
_REFUSALS = WORDS["refusals"]


class Phrase(NamedTuple):
    """Content terms under a preposition, conjunction or "not": the governor, "" where
    is none."""

    clause: int
    governor: str
    negated: bool
    terms: tuple[str, ...]

    @property
    def said(self) -> tuple[str, bool, tuple[str, ...]]:
        """What it says, wherever in the text it stands."""
        return self.governor, self.negated, self.terms


class _Phrases:
    """Collects phrases while the tokens of one body pass by."""

    clause = 0
    governor = joined = head = ""
    negated = trailing = False

    def __init__(self) -> None:
        self.done: list[Phrase] = []
        self.terms: list[str] = []
        self.commas: set[int] = set()
        self.joins: set[int] = set()

    def add(self, term: str) -> None:
        """Append a content term; "and" followed by the negated verb again ends the
        negation."""
        again = term == self.head or term in _RESUME
        if self.joined and self.negated and not self.terms and again:
            self.governor = ""
            self.negated = False
        if self.negated and not self.head and term not in _LIGHT:
            self.head = term
        self.joined = ""
        self.terms.append(term)

    def close(self) -> None:
        if self.terms:
            self.done.append(
                Phrase(
                    clause=self.clause,
                    governor=self.governor,
                    negated=self.negated,
                    terms=tuple(self.terms),
                )
            )
        self.terms = []

    def govern(self, governor: str) -> None:
        """Open a phrase under a preposition or conjunction; "not in", "instead of"
        stay."""
        bare = self.governor == "not" and not self.terms
        ends = governor in WORDS["scope ends"] or (self.trailing and bare)
        if not ends and not self.terms and self.governor in WORDS["sticky"]:
            return
        if ends:
            self.settle()
        self.close()
        self.governor, self.negated = governor, self.negated and not ends

    def join(self, word: str) -> None:
        """Open a new clause under the same governor, as "and" and "or" do."""
        self.close()
        self.clause += 1
        self.joins.add(len(self.done))
        self.joined = word

    def negate(self, *, refusal: bool = False, trailing: bool = False) -> None:
        """Open a negated phrase; "never avoid", "not without" cancel out."""
        if refusal and self.negated and not self.terms and self.governor == "not":
            self.governor = ""
            self.negated = False
            return
        self.close()
        self.governor = "not"
        self.negated = True
        self.head = ""
        self.trailing = trailing

    def settle(self) -> None:
        """A negation with nothing after it belongs to the phrase before it ("Verwende X
        nicht")."""
        if self.negated and self.governor == "not" and not self.terms:
            last = self.done[-1] if self.done else None
            if last is not None and last.clause == self.clause and not last.negated:
                self.done[-1] = last._replace(governor="not", negated=True)
            else:
                self.done.append(Phrase(self.clause, "not", negated=True, terms=()))
            self.governor = ""

    def stop(self) -> None:
        self.settle()
        self.close()
        self.clause += 1
        self.governor = self.joined = self.head = ""
        self.negated = self.trailing = False

    def word(self, token: Token, previous: str, following: str) -> None:
        word = token.text
        if token.code:
            self.add(canonical(word))
        elif _negates(word, previous, following):
            self.negate(
                refusal=word not in _PARTICLES, trailing=word in WORDS["trailing"]
            )
        elif word in WORDS["joiners"]:
            self.join(word)
        elif word in GOVERNORS:
            self.govern(GOVERNORS[word])
        elif word in WORDS[
            "transparent"
        ] or (  # or an English adverb, whose place is free
            len(word) > 6 and word.endswith("ly") and word not in WORDS["not adverbs"]
        ):
            if self.joined and word in _RESUME:
                self.governor = ""
                self.negated = False
        else:
            self.add(canonical(word))

    def run(self, run: str) -> None:
        """Take a run without blanks: pairs of characters, and what negates between
        them."""
        negators = [
            m
            for m in lexer.pattern("unspaced").finditer(run)
            if m.lastgroup == "negator"
        ]
        starts = [0, *(m.end() for m in negators)]
        for i, stop in enumerate([*(m.start() for m in negators), len(run)]):
            if i:
                self.negate()
            for term in (
                lexer.pairs_of(run[starts[i] : stop]) if starts[i] < stop else ()
            ):
                self.add(term)

    def lists(self) -> tuple[Phrase, ...]:
        """In "never commit A, B or C" the items after a comma stand under the governor
        of A."""
        phrases = self.done
        for at in sorted(at for at in self.commas if 0 < at < len(phrases)):
            last = self._list_end(at)
            if last > at and last in self.joins:
                _, governor, negated, _ = phrases[at - 1]
                for i in range(at, min(last + 1, len(phrases))):
                    phrases[i] = phrases[i]._replace(governor=governor, negated=negated)
        return tuple(phrases)

    def _list_end(self, at: int) -> int:
        """The first phrase from `at` on that is no item of the list headed by the one
        before."""
        head = self.done[at - 1]
        last = at
        known = _LIGHT | _RESUME | set(head.terms)
        while head.governor and last in self.commas and last < len(self.done):
            item = self.done[last]
            if item.governor or len(item.terms) not in (1, 2) or item.terms[0] in known:
                break
            last += 1
        return last


def _phrases_of(tokens: Sequence[Token]) -> tuple[Phrase, ...]:
    state = _Phrases()
    for i, token in enumerate(tokens):
        if token.kind == "word":
            following = tokens[i + 1].text if i + 1 < len(tokens) else ""
            state.word(token, tokens[i - 1].text if i else "", following)
        elif token.kind == "run":
            state.run(token.text)
        elif token.kind in ("stop", "comma"):
            state.stop()
            if token.kind == "comma":
                state.commas.add(len(state.done))
        elif token.kind == "step":
            state.govern(token.text)
        elif token.kind != "gap":
            state.add(token.text)
    state.stop()
    return state.lists()


def _negates(word: str, previous: str, following: str) -> bool:
    if word == "stop":
        return following.endswith("ing")
    negative = word in _PARTICLES or word in _REFUSALS
    return (
        negative
        and following not in WORDS["not negated"]
        and previous not in ("or", "no")
    )


class Claim(NamedTuple):
    """What one body asserts: `words`, equivalents as one, for Jaccard, the rest for the
    guard."""

    words: frozenset[str]
    spoken: frozenset[str]
    phrases: tuple[Phrase, ...]
    numbers: frozenset[str]
    paths: frozenset[str]
    flags: frozenset[str]
    names: frozenset[str]  # identifiers and operators
    code: frozenset[str]  # the plain words of code spans
    proper: frozenset[str]  # terms with a capital inside a sentence
    limits: frozenset[str]  # "only", "except", "exactly", "optional" ("need not")


def claim(text: str) -> Claim:
    """What `text` asserts; heading marks, dates of headings and bullets, emphasis do
    not count."""
    tokens = list(lexer.tokenize(text))
    found: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for kind in {token.kind for token in tokens}:
        found[kind] = frozenset(token.text for token in tokens if token.kind == kind)
    runs = found["run"]
    words = set[str]().union(*map(lexer.pairs_of, runs))
    for token, after in pairwise([*tokens, Token("", "")]):
        if token.kind == "word" and (
            token.code or (token.text, after.text) != ("do", "not")
        ):
            words.add(
                token.text if token.code else EQUIVALENTS.get(token.text, token.text)
            )
    for kind in found.keys() - {"word", "run", "stop", "comma", "gap", "step"}:
        words.update(map(str.casefold, found[kind]))
    return Claim(
        words=frozenset(words),
        spoken=found["word"],
        phrases=_phrases_of(tokens),
        numbers=found["number"] | found["date"],
        paths=found["path"] | found["url"],
        flags=found["flag"],
        names=found["name"],
        code=frozenset(
            token.text for token in tokens if token.code and token.kind == "word"
        ),
        proper=frozenset(canonical(token.text) for token in tokens if token.proper),
        limits=_limits([token.text for token in tokens if token.kind == "word"], runs),
    )


def _limits(words: list[str], runs: frozenset[str]) -> frozenset[str]:
    spoken = {"only": "only", "except": "except", "unless": "except"}
    found = {spoken.get(GOVERNORS[word], "") for word in words if word in GOVERNORS}
    if "not" in words and lexer.pattern("optional").search(" ".join(words)):
        found.add("optional")
    found.update({"exactly"}.intersection(words))
    marks = (("只", "only"), ("仅", "only"), ("除", "except"))
    found.update(limit for mark, limit in marks if any(mark in run for run in runs))
    return frozenset(found - {""})


def literals_of(a: Claim) -> tuple[frozenset[str], ...]:
    """What must be equal in near-duplicates: numbers, paths, flags and names."""
    return (a.numbers, a.paths, a.flags, a.names)


def content_terms(a: Claim) -> list[str]:
    """The terms of all phrases, in the order of the text."""
    return [term for phrase in a.phrases for term in phrase.terms]
