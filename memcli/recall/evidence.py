"""Which terms of a prompt are met: whether memory bears on it, and what of a text
answers it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from heapq import nlargest
from itertools import chain, dropwhile, pairwise
from math import log, log2
from operator import itemgetter

from memcli.index import lexical as query
from memcli.index import weights
from memcli.index.fulltext import said_by
from memcli.index.lexical import EITHER, is_number, is_word
from memcli.memory.words import spaceless_runs, stem, unmarked, word_forms
from memcli.named import NamedTuple
from memcli.recall.budget import cut_words, tokens
from memcli.text.matching import regex, regex_in, stanzas
from memcli.text.sentences import cut_at, sentence_parts, sentences

# what is asked is always searched
_ASKS = tuple("? ？ 吗 呢 か 吗。 呢。 か。".split())
_CLAUSE = r"[,，、:：;；()–—\n]"
_ASKING_WORD = r"[^\W_]+(?:['’-][^\W_]+)*"


Meanings = Mapping[str, tuple[str, float]]
"""By word, the one of memory that means the same, and how nearly (0 to 1)."""
TELL = "tell"  # a hit answers a prompt that did not ask
POINT = "point"  # it likely does: a line leads there, and who asks is shown it
SILENT = "silent"


def strength(said: Iterable[float]) -> float:
    """How much the terms that are met say, given what each says (0 to 1); one alone is
    nothing, and a third says no more."""
    best, second = nlargest(2, (0.0, 0.0, *said))
    return weights.BEST * best + second if second else 0.0


class Evidence(NamedTuple):
    """What speaks for a hit of either corpus: how `strong` it is for telling it
    unasked, how `likely` it is about the task, and what `share` of the task stands
    together in it (0 to 1)."""

    strong: float
    likely: float
    share: float


class Sought(NamedTuple):
    """The sentences of a prompt that are searched for, what each of their terms says,
    what all say with those that stand nowhere, whether they ask, and how much of what
    is met by chance in many texts is met in these (0 to 1)."""

    text: str
    weights: Mapping[str, float]
    whole: float
    asks: bool
    crowd: float = 1.0

    def is_about(self, share: float) -> bool:
        """Whether a text with so much of the task is about the same thing: "why does it
        not use Kafka" has no answer where nobody ever said Kafka."""
        nowhere = self.whole - sum(self.weights.values())
        return share * self.whole >= weights.WORTH * nowhere

    @property
    def chance(self) -> float:
        """How strongly a text is met by chance alone: the more terms, the more."""
        return weights.BY_CHANCE * max(log2(len(self.weights) or 1) - weights.TERMS, 0)

    def evidence(
        self, title: str, text: str, *, cosine: float = 0.0, met: int | None = None
    ) -> Evidence:
        """What speaks for a text: how many terms are met, beyond those that others have
        by chance, by the share of all that is said which stands together in it.

        In history, where everything stands that was ever said, so many are `met` in a
        hit and beside it. What stands in memory files somebody chose to keep: two rare
        terms and the `cosine` are enough there, too."""
        asked = terms(self.weights)
        met_terms = together(title, text, asked)
        share = sum(met_terms.values()) / (self.whole or 1.0)
        # What says nothing is met, too, but by chance.
        terms_met = sum(map(bool, met_terms.values())) if met is None else met
        strong = weights.EACH * share * (terms_met - weights.OTHERS * self.crowd)
        if met is not None:
            # One word alone is enough where the others say half as much at the most:
            # "why was chardet replaced".
            is_more = met > 1 or 1 - share <= weights.WORTH * share
            return Evidence(strong, share * met if is_more else 0.0, share)
        by_words = said_by_words(met_terms, asked)
        # Likeness alone is enough only for who asks, not for "go on".
        near = cosine if by_words or self.asks else 0.0
        beyond = near - self.chance
        likely = max(strong, by_words + beyond)
        # A line may lead to what one term alone speaks for.
        return Evidence(
            strong=likely if by_words else 0.0,
            likely=max(likely, self._said_alone(met_terms, share) + beyond),
            share=share,
        )

    def _said_alone(self, found: Mapping[str, float], share: float) -> float:
        """How much the best term says by itself: where few texts could have it by
        chance, the share of the task that is met stands for a second one."""
        best_said = max(found.values(), default=0.0)
        return strength((best_said, best_said * share * (1 - self.crowd)))

    def verdicts(
        self, strengths: Sequence[Evidence], least: float, likely: float
    ) -> list[str]:
        """TELL, POINT or SILENT of each hit of a search: told is what reaches `least`;
        once one is `likely`, half of that bar is enough for what stands beside it, and
        among few texts for any."""
        enough = likely - (weights.QUESTION if self.asks else 0)
        first = enough * max(weights.WORTH, self.crowd)
        answers = any(each.likely >= first for each in strengths)

        def verdict(each: Evidence) -> str:
            if each.strong >= least:
                return TELL
            is_worth = answers and each.likely >= weights.WORTH * enough
            return POINT if is_worth else SILENT

        return list(map(verdict, strengths))


def crowd_of(texts: int) -> float:
    """How much of what is met by chance in many texts is met in so many: the best of
    one is no better than any."""
    return min(log(max(texts, 1), weights.FEW), 1.0)


def sought(
    prompt: str,
    counts: Callable[..., Sequence[int]],
    total: int,
    crowd: float = 1.0,
    meant: Callable[[Sequence[str]], Meanings] | None = None,
) -> Sought:
    """What of a prompt is looked for, whose question may be about what it says before:
    the sentences that say most; nothing of one without words. A term that stands
    nowhere is read as the word that is `meant`, if there is one."""
    asks = bool(questions(prompt))
    parts = {part: query.build(part).terms for part in sentences(prompt, clauses=True)}
    also = query.concepts(prompt) if asks else []
    every = (*query.build(prompt, counts).terms, *also)
    standing = counts(every)
    meanings = meant(_foreign(prompt, every, standing)) if meant else {}
    by_nearness = sorted(meanings.values(), key=itemgetter(1))  # the nearest counts
    nearness = {word: near for word, near in by_nearness if word not in every}
    if meanings:
        parts = {part: _read(known, meanings) for part, known in parts.items()}
        every = _read(every, meanings)
        standing = counts(every)
    # As if there were some more: in a memory of five texts no word is rare.
    weighed = said_by(every, standing, total + weights.FEW)
    kept = _telling(parts, weighed)
    # A version is one word: its figures stand in most others.
    figures = chain.from_iterable(map(str.split, filter(is_number, every)))
    named = set(also).union(*map(parts.__getitem__, kept)).difference(figures)
    power = weights.ASKED if asks else weights.STATED
    rare = {
        term: query.elsewhere(term) ** power * nearness.get(term, 1.0)
        for term in every
        if term in named
    }
    stated = {term: weighed[term] * rare[term] for term in weighed if term in named}
    stands = dict(zip(every, standing, strict=True))
    nowhere = [term for term in rare if not stands[term] and is_word(term)]
    whole = sum(stated.values()) + sum(rare[term] for term in nowhere)
    return Sought(
        text="\n".join(kept), weights=stated, whole=whole, asks=asks, crowd=crowd
    )


def _foreign(prompt: str, every: Iterable[str], standing: Iterable[int]) -> list[str]:
    """The words of a prompt in another language than English that stand nowhere, in
    memory or in other projects."""
    if query.is_english(prompt.lower()):
        return []
    return [
        term
        for term, count in zip(every, standing, strict=True)
        if not count and is_word(term) and query.elsewhere(term) == 1.0
    ]


def _read(every: Iterable[str], meanings: Meanings) -> tuple[str, ...]:
    """The terms, each as the word that is meant by it."""
    read = (meanings[term][0] if term in meanings else term for term in every)
    return tuple(dict.fromkeys(read))


def _telling(
    parts: Mapping[str, Iterable[str]], weighed: Mapping[str, float]
) -> list[str]:
    """The sentences whose terms say most."""
    says = {}
    for part, terms_here in parts.items():
        known = [weighed[term] for term in terms_here if term in weighed]
        says[part] = strength(known) + weights.MORE * sum(known)
    best = max(says.values(), default=0.0)
    return [part for part in parts if says[part] >= weights.WORTH * best]


def questions(text: str) -> list[str]:
    """The sentences that ask, by a word where a clause begins or by their end."""
    return [part for part in sentences(text, clauses=True) if _asks(part)]


def _asks(sentence: str) -> bool:
    words = _question_words()
    first = set[str]()
    for clause in regex_in(sentence, _CLAUSE).split(sentence.lower()):
        spoken = regex_in(clause, _ASKING_WORD).findall(clause)
        head = list(dropwhile(words["joins"].__contains__, spoken))[:2]
        first.update((*head[:1], "-".join(head)))
    if not first.isdisjoint(words["begins"]):
        return True
    if any(word in sentence for word in words["anywhere"]):
        return True
    is_request = not first.isdisjoint(words["request"])
    return sentence.rstrip().endswith(_ASKS) and not is_request


@cache
def _question_words() -> dict[str, list[str]]:
    found = stanzas("recall/questions.txt").items()
    return {name: words.split() for name, words in found}


_ROW = r"[ \t]*\|"
_ITEM = r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]"
# blank lines, and what is nested below an item
_BELOW_ITEM = r"(?:[ \t]*\n)*(?:[ \t]{2}|\t|\Z)"
_NOTHING = r"(?!)"
_BREAK = r"\n(?=[ \t]*\n|[ \t]*(?:[-*+•]|\d{1,3}[.)]|\|)[ \t]|[ \t]{0,3}#{1,6}[ \t])"


class Terms(NamedTuple):
    """What is looked for: stems of words, and what must stand as it is, with their
    weights."""

    stems: Mapping[str, float]
    texts: Mapping[str, float]


def terms(weights: Mapping[str, float]) -> Terms:
    """The terms of a query, by how rare they are, as they are looked for in a text."""
    stems: dict[str, float] = {}
    texts = {}
    for term, weight in weights.items():
        if term.isascii() and term.isalnum():
            stems[stem(term)] = max(weight, stems.get(stem(term), 0.0))
        else:
            texts[unmarked(term.replace("*", "").lower())] = weight
    return Terms(stems, texts)


def pieces(text: str) -> list[str]:
    """The paragraphs, list items, headings and table rows that make up a text."""
    return cut_at(text, (mark.end() for mark in regex_in(text, _BREAK).finditer(text)))


def best(text: str, asked: Terms, room: int) -> tuple[str, int]:
    """The run of paragraphs, of long ones of sentences, within `room` tokens that has
    most of what is asked, below the head of its table or the lead of its list, "" when
    not even a beginning fits, and how many lines are left out."""
    parts = [
        piece
        for part in pieces(text)
        for piece in (sentence_parts(part) if 2 * tokens(part) > room else [part])
    ]
    if not parts:
        return "", 0
    sizes = list(map(tokens, parts))
    start, end = _run([_found(part, asked) for part in parts], sizes, room)
    heads = _heads(parts, start)
    left = room - sum(sizes[at] for at in heads) - sum(sizes[start:end])
    if left < 0:
        heads = []
        left = room - sum(sizes[start:end])
    start, end = _filled(sizes, start, end, left)
    above = (parts[at] for at in heads if at < start)
    shown = "".join([*above, *parts[start:end]]).strip("\n")
    shown = cut_words(shown, room) if tokens(shown) > room else shown
    return shown, max(text.strip("\n").count("\n") - shown.count("\n"), 0)


def together(title: str, text: str, asked: Terms) -> dict[str, float]:
    """The terms that stand in a title and the best two paragraphs in a row, with their
    weights."""
    head = _found(title, asked)
    parts = (cut for part in pieces(text) for cut in _cuts(part))
    found = [_found(part, asked) for part in parts]
    pairs = ({**head, **one, **two} for one, two in pairwise([*found, {}, {}]))
    return max(pairs, key=lambda met: sum(met.values()))


def strength_in(title: str, text: str, asked: Terms) -> float:
    """How much is said by the words that stand in a title and the best two paragraphs
    in a row."""
    return said_by_words(together(title, text, asked), asked)


def said_by_words(met: Mapping[str, float], asked: Terms) -> float:
    """How much the terms that are met say."""
    strengths = [weight for term, weight in met.items() if term in asked.stems]
    # Pairs of characters that overlap are parts of one word: the strongest counts.
    before = ""
    for term in asked.texts:
        weight = met.get(term, 0.0)
        if weight and before and spaceless_runs(term) and before[-1] == term[0]:
            strengths[-1] = max(strengths[-1], weight)
        else:
            strengths.append(weight)
        before = term if weight else ""
    return strength(strengths)


def _cuts(part: str) -> list[str]:
    """A paragraph, of a long one runs of sentences: what stands far apart says little
    together."""
    cuts = [""]
    for piece in sentence_parts(part) if len(part) > weights.SHORT else [part]:
        if len(cuts[-1]) + len(piece) > weights.SHORT:
            cuts.append("")
        cuts[-1] += piece
    return cuts


def bears(title: str, text: str, asked: Terms, least: float) -> bool:
    """Whether the terms that are met there are of that strength."""
    low = unmarked(f"{title}\n{text}".lower())
    every = chain(asked.stems.items(), asked.texts.items())
    most = [weight for term, weight in every if _stands(term, low)]
    # Most texts are found out at once: what stands nowhere is met nowhere.
    return strength(most) >= least and strength_in(title, text, asked) >= least


def _stands(term: str, low: str) -> bool:
    """Whether a text in small letters has a term as it is: any name of a concept, a
    number whole or as the beginning of a longer one."""
    if is_number(term):
        joined = r"[_./:+#-]".join(term.split())
        return bool(regex(rf"(?<![\d.]){joined}(?!\d)").search(low))
    return any(all(map(low.__contains__, n.split())) for n in term.split(EITHER))


def _found(part: str, asked: Terms) -> dict[str, float]:
    part = unmarked(part)
    low = part.lower()
    met = {t: weight for t, weight in asked.texts.items() if _stands(t, low)}
    # A stem keeps three letters: most texts, and most words of the others, need no
    # more.
    heads = {root[:3] for root in asked.stems if root in low}
    # An identifier as a whole.
    for word in {*word_forms(part), *word_forms(low)} if heads else ():
        if word[:3].lower() in heads and (root := stem(word)) in asked.stems:
            met[root] = asked.stems[root]
    return met


def _run(
    met_by: Sequence[Mapping[str, float]], sizes: Sequence[int], room: int
) -> tuple[int, int]:
    best_run = (0, 1)
    most = (-1.0, 0)
    for start in range(len(sizes)):
        met: dict[str, float] = {}
        used = 0
        for end in range(start, len(sizes)):
            used += sizes[end]
            if used > room and end > start:
                break
            met.update(met_by[end])
            # Of two that say as much, the shorter.
            score = round(sum(met.values()), 6), -used
            if score > most:
                best_run = (start, end + 1)
                most = score
    return best_run


def _heads(parts: Sequence[str], at: int) -> list[int]:
    """What says what a part is about: the first two rows of its table, or the line
    that leads to its list."""
    at = next((place for place in range(at, len(parts)) if parts[place].strip()), at)
    row = _first_alike(parts, at, _ROW, _NOTHING)
    if row is not None:
        return list(range(row, min(row + 2, at)))
    item = _first_alike(parts, at, _ITEM, _BELOW_ITEM)
    if item is None:
        return []
    above = range(item - 1, -1, -1)
    lead = next((head for head in above if parts[head].strip()), item)
    return list(range(lead, item))


def _first_alike(parts: Sequence[str], at: int, kind: str, between: str) -> int | None:
    """Where the table or list begins in which a part stands, None where it stands in
    none; what is `between` its rows or items does not end it."""
    first = None
    for place in range(at, -1, -1):
        if place and not parts[place - 1].endswith("\n"):
            continue  # a later sentence of its line
        if regex_in(parts[place], kind).match(parts[place]):
            first = place
        elif not regex_in(parts[place], between).match(parts[place]):
            break
    return first


def _filled(sizes: Sequence[int], start: int, end: int, room: int) -> tuple[int, int]:
    """A run with what stands around it, above it and below in turn."""
    grown = True
    while grown:
        grown = False
        for at in (start - 1, end):
            if 0 <= at < len(sizes) and sizes[at] <= room:
                room -= sizes[at]
                start = min(start, at)
                end = max(end, at + 1)
                grown = True
    return start, end
