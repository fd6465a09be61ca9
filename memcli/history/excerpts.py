"""What is shown of a hit: not the words that matched, but what was concluded after
them. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Final, NamedTuple

from memcli.history.docs import Doc
from memcli.history.search import AFTER, Asked, HistoryHit
from memcli.index.lexical import STOP_WORDS
from memcli.memory.words import stem
from memcli.text import matching

LONGEST: Final = 420  # characters of the longest sentence that is shown whole

_pattern: Final = partial(matching.pattern, "history/excerpts")  # in several languages


class SaidSentence(NamedTuple):
    """A sentence of an exchange: who said it, where it stands (exchange, text, place in
    it)."""

    speaker: str
    text: str
    place: tuple[int, int, int]
    last: bool  # whether it stands at the end of what is said in one go
    recap: bool = (
        False  # whether it sums up, or follows in one go on a sentence that does
    )


def excerpt(
    hit: HistoryHit, asked: Asked, room: int, known: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """(speaker, text) of what a hit concludes that `known` does not say, in so many
    characters."""
    if hit.doc.source == "commit":
        return [("person", commit_excerpt(hit.doc, asked, room))]
    sentences = list(_sentences(hit.docs[hit.best : hit.best + AFTER + 1]))
    about = _about(asked, hit.doc)
    total = max((each.place[0] for each in sentences), default=0) + 1
    weights = ((_weight(each, about, total), each) for each in sentences)
    weighed = sorted(weights, key=lambda item: (-item[0], item[1].place))
    chosen: list[SaidSentence] = []
    seen = [_words(text) for text in known]
    used = 0
    for weight, each in weighed:
        words = _words(each.text)
        if weight <= 0 and chosen:
            break
        if used + len(each.text) > room and chosen:
            continue
        if any(len(words & other) > 0.7 * len(words) for other in seen):
            continue
        chosen.append(each)
        seen.append(words)
        used += len(each.text) + 2
        if used > 0.9 * room:
            break
    said = sorted(chosen, key=lambda each: each.place)
    runs = groupby(said, lambda each: (each.speaker, each.place[:2]))
    return [
        (speaker, " ".join(each.text for each in run)) for (speaker, _), run in runs
    ]


def commit_excerpt(doc: Doc, asked: Asked, room: int) -> str:
    """The subject of a commit, and of its message what says most about the task."""
    subject, _, body = doc.text.partition("\n")
    kept = subject.strip()
    left = room - len(subject)
    about = _about(asked, doc)
    parts = enumerate(_split(re.sub(r"(?<=\S)\n(?=[a-z(])", " ", body)))
    pieces = [
        SaidSentence("person", part, (0, 0, at), last=False) for at, part in parts
    ]
    chosen = []
    for each in sorted(pieces, key=lambda each: (-_weight(each, about, 1), each.place)):
        if len(each.text) + 1 <= left:
            chosen.append(each)
            left -= len(each.text) + 1
    text = " ".join(each.text for each in sorted(chosen, key=lambda each: each.place))
    return f"{kept}\n{text}" if text else kept[: max(room, 80)]


def _about(asked: Asked, doc: Doc) -> dict[str, float]:
    found = {
        stem(term): weight
        for term, weight in zip(asked.terms, asked.weights, strict=True)
    }
    mean = sum(asked.weights) / len(asked.weights) if asked.weights else 1.0
    for word in _words(doc.title):
        found.setdefault(word, 0.5 * mean)
    return found


def _words(text: str) -> set[str]:
    return {
        stem(word)
        for word in _pattern("word").findall(text.lower())
        if word not in STOP_WORDS
    }


def _sentences(docs: Sequence[Doc]) -> Iterator[SaidSentence]:
    for number, doc in enumerate(docs):
        for which, (speaker, text) in enumerate(doc.said):
            parts = list(_split(text))
            recap = False
            for at, part in enumerate(parts):
                recap = recap or (
                    speaker != "person" and _pattern("recap").match(part) is not None
                )
                yield SaidSentence(
                    speaker=speaker,
                    text=part,
                    place=(number, which, at),
                    last=at >= len(parts) - 2,
                    recap=recap,
                )


def _split(text: str) -> Iterator[str]:
    for part in _pattern("sentence").split(_pattern("code").sub("\n", text)):
        part = part.strip()
        if len(part) > 2 and not set(part) <= set("-=*_#|` "):
            yield (
                part
                if len(part) <= LONGEST
                else part[:LONGEST].rsplit(" ", 1)[0] + " …"
            )


def _weight(each: SaidSentence, about: Mapping[str, float], total: int) -> float:
    words = _words(each.text)
    mean = sum(about.values()) / len(about) if about else 1.0
    score = 0.5 * min(sum(about.get(word, 0.0) for word in words) / mean, 5.0)
    score += 0.7 * min(len(_pattern("settles").findall(each.text.lower())), 4)
    score += 0.35 * min(len(_pattern("marked").findall(each.text)), 4)
    score += {"person": 0.6, "error": -1.0}.get(each.speaker, 0.0) + 1.4 * each.recap
    score += 2.0 * (each.place[0] / total) + 0.4 * each.last
    score -= 0.8 * (total > 1 and each.place[:2] == (0, 0))  # what was asked is known
    score -= 1.5 * bool(_pattern("talk").match(each.text)) + 1.5 * bool(
        _pattern("question").search(each.text)
    )
    return score if len(words) >= 2 else score - 1.5
