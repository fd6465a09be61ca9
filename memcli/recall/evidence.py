"""Which terms of a prompt are met: whether memory bears on it, and what of a text
answers it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import dropwhile, pairwise
from math import log
from operator import mul

from memcli.index import lexical as query
from memcli.index.lexical import EITHER, idf
from memcli.memory.words import stem, word_forms
from memcli.named import NamedTuple
from memcli.recall.budget import cut_words, tokens
from memcli.recall.fusion import titles
from memcli.text.matching import regex, stanzas, table

EACH = 0.12
BEARS = (0.0, 1.0, 0.5, EACH)
TELLS = (0.2, 1.0, 0.25, 0.05)
"""What the best, the second, the third and each but the best of the terms met count
for, for an entry in a block and for a hook to tell one: one term alone is nothing."""
COMMON_SHARE = 0.3
# power of a word's rarity elsewhere, in a sentence that asks and in others
ASKED = 0.5
SAID = 1.25
# rarity of no English word, of a concept; texts more, as it were
OTHER = 0.8
ELSE = 0.05
FEW = 10
# what a hook wants grows with the logarithm of this part of the terms
GROWS = 0.6
PART = 0.8
# so far from the cosine in the middle of the hits a hit must have
NEAR = 0.18
FAR = -0.08
# so much of the usual strength
NEAR_WANTS = 0.5
FAR_WANTS = 1.5
# sentences with less than this share of the best one's strength are not searched
FOCUS = 0.5
_SENTENCE = r"(?<=[.!?:;])\s+|(?<=[。！？：；])|\n+"
_END = r"(?<=[^\d\s][.!?])\s+|(?<=[。！？])"
_ASKS = (
    "?",
    "？",
    "吗",
    "呢",
    "か",
    "吗。",
    "呢。",
    "か。",
)  # what is asked is always searched
_CLAUSE = r"[,，、:：;；()–—\n]"
_ASKING_WORD = r"[^\W_]+(?:['’-][^\W_]+)*"
# what a question's heading named, lead and number change
NAMED = 0.2
AHEAD = 0.3
MORE = 0.5
COMMON = frozenset(
    table("recall/common_words.txt").split()
)  # words of any talk about code
JOINS = frozenset(
    table("recall/function_words.txt").split()
)  # and of any talk, in other languages


def strength(weights: Iterable[float], shares: tuple[float, ...] = BEARS) -> float:
    """How much the terms that are met say, given the weight (0 to 1) of each."""
    best = sorted(filter(None, weights), reverse=True)
    return (
        sum(map(mul, shares, best[:3])) + shares[3] * sum(best[1:]) if best[1:] else 0.0
    )


def wanted(cosines: Sequence[float | None]) -> list[float]:
    """The share of the usual strength that each hit must have, given its cosine, if it
    has any."""
    known = sorted(cosine for cosine in cosines if cosine is not None)
    middle = known[(len(known) - 1) // 2] if known else 0.0
    away = [0.0 if cosine is None else cosine - middle for cosine in cosines]
    return [NEAR_WANTS if d >= NEAR else FAR_WANTS if d <= FAR else 1.0 for d in away]


def weights(
    terms: Sequence[str], counts: Sequence[int], total: int
) -> dict[str, float]:
    """The weight of each term that stands in `total` texts: 1 for a rare one that
    stands in one."""
    found = {
        t: idf(n, total) / idf(1, total)
        for t, n in zip(terms, counts, strict=True)
        if n
    }
    tiny = {term for term in found if term.isascii() and len(term) < 2 + term.isdigit()}
    share = dict.fromkeys(tiny | (COMMON & found.keys()), COMMON_SHARE) | dict.fromkeys(
        JOINS, 0.0
    )
    return {
        t: w * share.get(t, 1.0)
        for t, w in found.items()
        if EITHER in t or " " not in t
    }


def focus(
    text: str,
    counts: Callable[..., Sequence[int]],
    total: int,
    least: float,
    power: float,
) -> tuple[str, dict[str, float]]:
    """The sentences of a prompt that are worth a search, "" for none; what their terms
    say."""
    parts = {
        part: query.build(part).terms
        for part in regex(_SENTENCE).split(text)
        if part.strip()
    }
    also = query.concepts(text) if power == ASKED else {}
    every = (*query.build(text, counts).terms, *also)
    weighed = weights(every, known := counts(every), total)
    own = {
        part: [weighed[t] for t in terms if t in weighed]
        for part, terms in parts.items()
    }
    said = {
        part: strength(found) + EACH * max(found, default=0.0)
        for part, found in own.items()
    }
    best = max(said.values(), default=0.0)
    if strength(weighed.values()) < least:
        return "", {}
    kept = [part for part in own if said[part] >= FOCUS * best]
    named = {*also, *(term for part in kept for term in parts[part])}
    telling = weights(every, known, total + FEW)
    words = table("recall/known_words.txt")
    return "\n".join(kept), {
        term: telling[term] * _rarity(term, words) ** power
        for term in telling.keys() & named
    }


def questions(text: str) -> list[str]:
    """The sentences that ask, by a word where a clause begins or by their end."""
    every = {
        name: part.split() for name, part in stanzas("recall/questions.txt").items()
    }
    found = []
    for part in regex(_SENTENCE).split(text):
        clauses = (
            regex(_ASKING_WORD).findall(c) for c in regex(_CLAUSE).split(part.lower())
        )
        heads = [
            list(dropwhile(every["joins"].__contains__, words))[:2] for words in clauses
        ]
        first = {head for words in heads for head in (*words[:1], "-".join(words))}
        asks = not first.isdisjoint(every["begins"]) or any(
            w in part for w in every["anywhere"]
        )
        if asks or (
            part.rstrip().endswith(_ASKS) and first.isdisjoint(every["request"])
        ):
            found.append(part)
    return found


def favour(asks: Sequence[str], title: str, ahead: float) -> float:
    """How much less a text with this title needs to answer questions, the first so far
    `ahead`."""
    named = titles("\n".join(asks), [(0, title.rpartition(" > ")[2])])[0]
    return NAMED * named + AHEAD * ahead - MORE * log(len(asks))


def _rarity(term: str, words: str) -> float:
    """0 for a word of every project, 1 for one of few; `words` has a line for each
    tenth."""
    if not (term.isascii() and term.isalpha()) or len(term) < 2:
        return (
            (ELSE if EITHER in term else OTHER)
            if len(term) > 1 + term.isdigit()
            else 0.0
        )
    at = words.find(f" {stem(term)} ")
    return 1.0 if at < 0 else (words.count("\n", 0, at) + 0.5) / 10


# characters of a paragraph taken as one; what a run's best one adds
WHOLE = 400
ONE = 0.5

_BREAK = r"\n(?=[ \t]*\n|[ \t]*(?:[-*+•]|\d{1,3}[.)]|\|)[ \t]|[ \t]{0,3}#{1,6}[ \t])"


class Terms(NamedTuple):
    """What is looked for: stems of words, and what must stand as it is, with their
    weights."""

    stems: Mapping[str, float]
    texts: Mapping[str, float]


def terms(weights: Mapping[str, float]) -> Terms:
    """The terms of a query, by how rare they are, as they are looked for in a text."""
    stems: dict[str, float] = {}
    texts: dict[str, float] = {}
    for term, weight in weights.items():
        if term.isascii() and term.isalnum():
            stems[stem(term)] = max(weight, stems.get(stem(term), 0.0))
        else:
            texts[term.replace("*", "").lower()] = weight
    return Terms(stems, texts)


def pieces(text: str, between: str = _BREAK) -> list[str]:
    """The paragraphs, list items, headings and table rows that make up a text."""
    ends = [0, *(mark.end() for mark in regex(between).finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(ends) if end > start]


def _sentences(part: str, room: int) -> list[str]:
    """Whole sentences, none from its middle on; of one that is longer than the room its
    lines."""
    return [
        piece
        for whole in pieces(part, _END)
        for piece in (pieces(whole, r"\n+") if tokens(whole) > room else [whole])
    ]


def best(text: str, asked: Terms, room: int) -> tuple[str, int]:
    """The run of paragraphs, of long ones of sentences, within `room` tokens that has
    most of what is asked, "" when not even a beginning fits, and how many lines are
    left out."""
    parts = [
        piece
        for part in pieces(text)
        for piece in (_sentences(part, room) if 2 * tokens(part) > room else [part])
    ]
    found = [_found(part, asked) for part in parts]
    start, end = _run(found, list(map(tokens, parts)), room)
    shown = "".join(parts[start:end]).strip("\n")
    shown = cut_words(shown, room) if tokens(shown) > room else shown
    return shown, max(text.strip("\n").count("\n") - shown.count("\n"), 0)


def together(title: str, text: str, asked: Terms) -> list[float]:
    """The weights of the terms that stand in a title and the best two paragraphs in a
    row."""
    head = _found(title, asked)
    parts = (cut for part in pieces(text) for cut in _cuts(part))
    found = [_found(part, asked) for part in parts]
    pairs = ({**head, **one, **two} for one, two in pairwise([*found, {}]))
    return list(max(pairs, key=lambda met: sum(met.values())).values())


def _cuts(part: str) -> list[str]:
    """A paragraph, of a long one runs of sentences: what stands far apart says little
    together."""
    cuts = [""]
    for piece in pieces(part, _END) if len(part) > WHOLE else [part]:
        if len(cuts[-1]) + len(piece) > WHOLE:
            cuts.append("")
        cuts[-1] += piece
    return cuts


def bears(title: str, text: str, asked: Terms, least: float) -> bool:
    """Whether the terms that are met there are of that strength."""
    low = f"{title}\n{text}".lower()
    every = (asked.stems, asked.texts)
    most = [weight for terms in every for term, weight in terms.items() if term in low]
    # Most texts are found out at once: what stands nowhere is met nowhere.
    return strength(most) >= least and strength(together(title, text, asked)) >= least


def _found(part: str, asked: Terms) -> dict[str, float]:
    low = part.lower()
    texts = asked.texts.items()
    has = low.__contains__
    found = {
        t: w for t, w in texts if any(all(map(has, n.split())) for n in t.split(EITHER))
    }
    # A stem keeps three letters: most texts, and most words of the others, need no
    # more.
    heads = {root[:3] for root in asked.stems if root in low}
    for word in (
        {*word_forms(part), *word_forms(low)} if heads else ()
    ):  # an identifier as a whole
        if word[:3].lower() in heads and (root := stem(word)) in asked.stems:
            found[root] = asked.stems[root]
    return found


def _run(
    found: Sequence[Mapping[str, float]], sizes: Sequence[int], room: int
) -> tuple[int, int]:
    best_run = (0, 1)
    most = -1.0
    for start in range(len(sizes)):
        met: dict[str, float] = {}
        used = 0
        alone = 0.0
        for end in range(start, len(sizes)):
            used += sizes[end]
            if used > room and end > start:
                break
            met.update(found[end])
            alone = max(alone, sum(found[end].values()))
            score = sum(met.values()) + ONE * alone
            if score > most + 1e-9:
                best_run = (start, end + 1)
                most = score
    start, end = best_run  # what is left of the room is filled with what stands around
    used = sum(sizes[start:end])
    while end < len(sizes) and used + sizes[end] <= room:
        used += sizes[end]
        end += 1
    while start and used + sizes[start - 1] <= room:
        start -= 1
        used += sizes[start]
    return start, end
