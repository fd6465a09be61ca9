"""What a text asserts: its phrases, and the words and values that are compared."""

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from memcli.memory.words import full_pairs
from memcli.similarity import tokens as lexer
from memcli.similarity.tokens import EQUIVALENTS, GOVERNORS, WORDS, Token, canonical
from memcli.text.matching import verbose

_LIGHT = WORDS["light"]
_RESUME = WORDS["resume"]
_PARTICLES = WORDS["particles"]
_REFUSALS = WORDS["refusals"]
_NEGATING = frozenset({"stop"}) | WORDS["free"] | _PARTICLES | _REFUSALS
_JOINING = WORDS["joiners"] | GOVERNORS.keys() | WORDS["transparent"]
_STRUCTURAL = _NEGATING | _JOINING
"""The words that are not simply terms."""


class Phrase(NamedTuple):
    """Content terms under a preposition, conjunction or "not": the governor, "" for
    none."""

    clause: int
    governor: str
    negated: bool
    terms: tuple[str, ...]

    @property
    def said(self) -> tuple[str, bool, tuple[str, ...]]:
        """What it says, wherever it stands in the text."""
        return self.governor, self.negated, self.terms


class _Phrases:
    """Collects the phrases of a body, token by token."""

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
        if self.negated:
            again = term == self.head or term in _RESUME
            if self.joined and not self.terms and again:
                self.governor = ""
                self.negated = False
            elif not self.head and term not in _LIGHT:
                self.head = term
        self.joined = ""
        self.terms.append(term)

    def close(self) -> None:
        """End the phrase."""
        if self.terms:
            phrase = Phrase(
                clause=self.clause,
                governor=self.governor,
                negated=self.negated,
                terms=tuple(self.terms),
            )
            self.done.append(phrase)
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
        self.governor = governor
        self.negated = self.negated and not ends

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

    def lack(self, term: str) -> None:
        """Take a word that says what is missing: the state of "stateless"; "not
        stateless" cancels out."""
        is_denied = self.negated and not self.terms and self.governor == "not"
        self.close()
        if is_denied:
            self.governor = ""
            self.negated = False
        phrase = Phrase(
            clause=self.clause,
            governor="" if is_denied else "not",
            negated=not is_denied,
            terms=(term,),
        )
        self.done.append(phrase)

    def settle(self) -> None:
        """A negation with nothing after it belongs to the phrase before it ("Verwende X
        nicht")."""
        if self.terms or not self.negated or self.governor != "not":
            return
        self.governor = ""
        last = self.done[-1] if self.done else None
        if last is not None and last.clause == self.clause and not last.negated:
            self.done[-1] = last._replace(governor="not", negated=True)
        else:
            self.done.append(Phrase(self.clause, "not", negated=True, terms=()))

    def stop(self) -> None:
        """End the clause."""
        self.settle()
        self.close()
        self.clause += 1
        self.governor = self.joined = self.head = ""
        self.negated = self.trailing = False

    def word(self, token: Token, previous: str, following: str) -> None:
        """Take a word: it negates, joins, governs, says nothing, or is a term."""
        word = token.text
        term = canonical(word) if token.code else _term(word)
        if term:
            self.add(term)
        elif lacking := _lacking(word):
            self.lack(canonical(lacking))
        elif _negates(word, previous, following):
            is_refusal = word not in _PARTICLES
            self.negate(refusal=is_refusal, trailing=word in WORDS["trailing"])
        elif word in WORDS["joiners"]:
            self.join(word)
        elif word in GOVERNORS:
            self.govern(GOVERNORS[word])
        elif word not in WORDS["transparent"] and not _is_adverb(word):
            self.add(canonical(word))
        elif self.joined and word in _RESUME:
            self.governor = ""
            self.negated = False

    def run(self, run: str) -> None:
        """Take a run without blanks: pairs of characters, and what negates between
        them."""
        start = 0
        for matched in _idiom_or_negator().finditer(run):
            if matched.lastgroup == "negator":
                self._terms_of(run[start : matched.start()])
                self.negate()
                start = matched.end()
        self._terms_of(run[start:])

    def _terms_of(self, run: str) -> None:
        for pair in full_pairs(run) if run else ():
            self.add(pair)

    def lists(self) -> tuple[Phrase, ...]:
        """Put list items under the governor of the first: in "never commit A, B or C",
        B and C are under that of A."""
        phrases = self.done
        for comma in sorted(comma for comma in self.commas if 0 < comma < len(phrases)):
            last = self._list_end(comma)
            if last > comma and last in self.joins:
                head = phrases[comma - 1]
                for place in range(comma, min(last + 1, len(phrases))):
                    phrases[place] = phrases[place]._replace(
                        governor=head.governor, negated=head.negated
                    )
        return tuple(phrases)

    def _list_end(self, place: int) -> int:
        """The first phrase from `place` on that is not an item of the list which the
        phrase before it begins."""
        head = self.done[place - 1]
        last = place
        no_items = _LIGHT | _RESUME | set(head.terms)
        while head.governor and last in self.commas and last < len(self.done):
            item = self.done[last]
            is_short = len(item.terms) in (1, 2)
            if item.governor or not is_short or item.terms[0] in no_items:
                break
            last += 1
        return last


@verbose
def _idiom_or_negator() -> str:
    """What negates in Chinese, Japanese and Thai. Idioms that contain such a character
    are matched first and do not count."""
    return r"""
        (?P<idiom> 不同 | 不仅 | 不但 | 不断 | 不过 | 不管 | 不论 | 无论 | 非常 | 特别
          | 别的 | 未来 | 没错 | 区别 | 级别 | 类别 | 识别 | 个别 | 分别 | 是否 )
      | (?P<negator> 不要 | 不得 | 不能 | 不可 | 不应 | 禁止 | 切勿 | 请勿 | 避免 | 没有
          | 不 | 勿 | 别 | 没 | 未 | 无 | 莫 | ません | ない | 避け | ไม่ | อย่า | ห้าม )
    """


def _phrases_of(tokens: Sequence[Token]) -> tuple[Phrase, ...]:
    state = _Phrases()
    previous = ""
    for token, after in pairwise([*tokens, Token("", "")]):
        if token.kind == "word":
            state.word(token, previous, after.text)
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
        previous = token.text
    state.stop()
    return state.lists()


@lru_cache(maxsize=1 << 16)
def _term(word: str) -> str:
    """The term of a word of prose; "" for a word that is not simply a term."""
    if word in _STRUCTURAL or _is_adverb(word) or _lacking(word):
        return ""
    is_full = word.endswith("ful") and len(word) > 6
    return canonical(word.removesuffix("ful") if is_full else word)


def _lacking(word: str) -> str:
    """What a word says is missing by its ending: the state of "stateless"; "" for other
    words."""
    if word in _STRUCTURAL or word in WORDS["not endings"]:
        return ""
    for ending in WORDS["endings"]:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word.removesuffix(ending)
    return ""


def _is_adverb(word: str) -> bool:
    """Whether a word is an English adverb, which may stand anywhere."""
    return word.endswith("ly") and len(word) > 6 and word not in WORDS["not adverbs"]


def _negates(word: str, previous: str, following: str) -> bool:
    if word == "stop":
        return following.endswith("ing")
    if word in WORDS["free"]:
        return GOVERNORS.get(following) in ("of", "from")
    is_negative = word in _PARTICLES or word in _REFUSALS
    is_idiom = following in WORDS["not negated"] or previous in ("or", "no")
    return is_negative and not is_idiom


class Claim(NamedTuple):
    """What one body asserts. `words`, with equivalents as one, are for Jaccard, the
    rest for the guard."""

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


@lru_cache(maxsize=1 << 17)
def claim(text: str) -> Claim:
    """What a text asserts, without heading marks, dates of headings and bullets, and
    emphasis. Cached, since health, compaction and doctor ask for the same texts in one
    run."""
    tokens = lexer.tokenize(text)
    distinct = set(tokens)
    texts = defaultdict(set)
    for token in distinct:
        texts[token.kind].add(token.text)
    by_kind = defaultdict(
        frozenset[str],
        {kind: frozenset(words_of_kind) for kind, words_of_kind in texts.items()},
    )
    return Claim(
        words=_compared_words(tokens, distinct),
        spoken=by_kind["word"],
        phrases=_phrases_of(tokens),
        numbers=by_kind["number"] | by_kind["date"],
        paths=by_kind["path"] | by_kind["url"],
        flags=by_kind["flag"],
        names=by_kind["name"],
        code=frozenset(t.text for t in distinct if t.code and t.kind == "word"),
        proper=frozenset(canonical(token.text) for token in distinct if token.proper),
        limits=_limits(tokens, by_kind["word"], by_kind["run"]),
    )


def _compared_words(tokens: Sequence[Token], distinct: Set[Token]) -> frozenset[str]:
    """The words for Jaccard: one word for things with two names, pairs of characters
    for runs without blanks. "Do not" counts as "not"."""
    compared = set()
    for token in distinct:
        if token.kind == "run":
            compared.update(full_pairs(token.text))
        elif token.kind == "word":
            word = token.text
            if token.code:
                compared.add(word)
            elif word != "do" or _is_said_alone(token, tokens):
                compared.add(EQUIVALENTS.get(word, word))
        elif token.kind not in ("stop", "comma", "gap", "step"):
            compared.add(token.text.casefold())
    return frozenset(compared)


def _is_said_alone(wanted: Token, tokens: Sequence[Token]) -> bool:
    """Whether a word occurs somewhere without "not" after it."""
    following = (*tokens[1:], Token("", ""))
    pairs = zip(tokens, following, strict=True)
    return any(token == wanted and after.text != "not" for token, after in pairs)


def _limits(
    tokens: Sequence[Token], words: Set[str], runs: Iterable[str]
) -> frozenset[str]:
    limits = {_LIMITS.get(GOVERNORS.get(word, ""), "") for word in words}
    if "not" in words:
        spoken = " ".join(token.text for token in tokens if token.kind == "word")
        if _optional().search(spoken):
            limits.add("optional")
    if "exactly" in words:
        limits.add("exactly")
    unspaced = "\n".join(runs)
    for mark, limit in _UNSPACED_LIMITS.items():
        if mark in unspaced:
            limits.add(limit)
    return frozenset(limits - {""})


_LIMITS = {"only": "only", "except": "except", "unless": "except"}
_UNSPACED_LIMITS = {"只": "only", "仅": "only", "除": "except"}


@verbose
def _optional() -> str:
    return r"""
        \b (?: not[ ] (?: have | need | needed | required | necessary | mandatory | obliged )
          | need[ ]not ) \b
    """


def literals_of(claim: Claim) -> tuple[frozenset[str], ...]:
    """What near-duplicates must have in common: numbers, paths, flags and names."""
    return (claim.numbers, claim.paths, claim.flags, claim.names)


def content_terms(claim: Claim) -> list[str]:
    """The terms of all phrases, in the order of the text."""
    return [term for phrase in claim.phrases for term in phrase.terms]
