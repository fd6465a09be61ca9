"""The door to memory: what repeats something that was taken back, and what gives
another value for the same thing. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from memcli.memory.parser import KnownFile
from memcli.memory.tombstones import (
    Forgotten,
    StoneKey,
    fold,
    id_line,
    identifier,
    is_tombstone,
    lines_of,
    reach_of,
    reason_of,
    stone_of,
    words_of,
)
from memcli.memory.values import Entry
from memcli.memory.words import overlap
from memcli.named import NamedTuple
from memcli.similarity.claims import Claim, claim, content_terms
from memcli.similarity.duplicates import near_duplicate
from memcli.text.matching import verbose

ROUGHLY = 0.5
"""From this share of common words on, two texts are compared in full."""
SUBJECT = 2
"""At least so many words must name the thing that has a value."""
ECHO = "says what was taken back"
"""Why an episode is retired with an entry."""
_TITLE = r"\A\s*#.*\n(?=\s*\S)"
"""A heading with text below it."""


Spot = tuple[str, int]
"""A file, and the place of an entry in it."""


class Refusal(NamedTuple):
    """Why something is not written: what was taken back, when and for what reason."""

    title: str
    reason: str
    is_forgotten: bool = False

    def __str__(self) -> str:
        if self.is_forgotten:
            return f"this was forgotten on {self.reason}"
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.title}: was taken back{why}"


def stones_by_id(known: Iterable[KnownFile]) -> dict[StoneKey, Entry]:
    """The entries that were taken back in a file or an archive."""
    return {(*reach, stone.id): stone for reach, stone in _stones(known)}


def _stones(known: Iterable[KnownFile]) -> Iterator[tuple[tuple[str, str], Entry]]:
    for file in known:
        archived = file.place.store == "archive"
        for entry in file.memory.entries:
            if is_tombstone(entry, archived=archived):
                yield reach_of(file.place, file.tree), entry


def tombstones_of(known_files: Iterable[KnownFile]) -> list[Entry]:
    """The entries that were taken back. One whose id is live came back, unless its work
    tree has the id as taken back."""
    files = [*known_files]
    gone = stones_by_id(files)
    back = {
        entry.id
        for file in files
        if file.place.store != "archive"
        for entry in file.memory.entries
        if entry.is_live and not stone_of(entry.id, file.place, file.tree, gone)
    }
    return [
        stone
        for _, stone in _stones(files)
        if stone.id not in back and not stone.is_episode
    ]


class TakenBackDoor:
    """What was taken back; every text that is to become an entry is checked against
    it."""

    def __init__(
        self, entries: Iterable[Entry], forgotten: Forgotten | None = None
    ) -> None:
        self._entries = [*entries]
        self._forgotten = forgotten or Forgotten()

    @cached_property
    def _tombstones(self) -> list[tuple[Entry, str, frozenset[str]]]:
        """The entries with each of their texts (body and title) and its words."""
        return [
            (entry, text, _bare_words(text))
            for entry in self._entries
            for text in dict.fromkeys((entry.body, entry.title))
        ]

    def of(self, body: str, *, id: str = "", but: str = "") -> Refusal | None:
        """Why a text, title and body, may not be written, None if it may; `id` is the
        id the entry would have, `but` that of an entry that does not count."""
        refusal = self._forgotten_before(body, id)
        if refusal is not None or not self._entries:
            return refusal
        words = _bare_words(body)
        for entry, text, its_words in self._tombstones:
            if entry.id == but or overlap(words, its_words) < ROUGHLY:
                continue
            if near_duplicate(claim(fold(body)), claim(fold(text))):
                return Refusal(title=entry.title, reason=reason_of(entry))
        return None

    def _forgotten_before(self, body: str, id: str) -> Refusal | None:
        """The refusal if a line of the text, or the id of the entry, was forgotten."""
        lines = [*lines_of(body), id_line(id)]
        day = next(filter(None, map(self._forgotten.day_of, lines)), "")
        return Refusal(title="", reason=day, is_forgotten=True) if day else None


def _bare_words(text: str) -> frozenset[str]:
    """The words of a text, without the day of its heading."""
    return frozenset(words_of("\n".join(lines_of(text))))


def echoes(gone: Entry, known_files: Iterable[KnownFile]) -> list[Spot]:
    """The live episodes with a sentence that says what a retired entry said; they are
    not told any more, either."""
    if gone.kind == "episode":
        return []
    gist = [claim(fold(text)) for text in (gone.title, gone.body)]
    words = frozenset(words_of(gone.body))
    return [
        (file.path, place)
        for file in known_files
        if file.writable and file.place.store != "archive"
        for place, entry in enumerate(file.memory.entries)
        if entry.is_episode and entry.is_live
        if any(_says_again(line, words, gist) for line in _summary(entry))
    ]


def _says_again(line: str, words: frozenset[str], gist: Sequence[Claim]) -> bool:
    """Whether a line says one of these claims, whose words are `words`."""
    if overlap(words, frozenset(words_of(line))) < ROUGHLY:
        return False
    theirs = claim(fold(line))
    return any(near_duplicate(gist_claim, theirs) for gist_claim in gist)


def says_one(lessons: Iterable[Sequence[str]], text: str) -> bool:
    """Whether a text says one of some lessons (given by their words), or a part of
    one."""
    mine = {*words_of(text)}
    shared = [(len(words), len(mine.intersection(words))) for words in lessons]
    return any(1 < both == min(len(mine), size) for size, both in shared)


def _summary(episode: Entry) -> list[str]:
    """The title and the lines of an episode's summary, without its detail."""
    return lines_of(episode.body.partition("\n### Detail")[0])


@verbose
def _value_told() -> str:
    """A thing, a word that equates, and a value of one word."""
    return r"""
        \A (?P<thing> .*\S )
        (?: \s+ (?: is | are | ist | sind | est | sont | es | son | é | è | är | jest )
              (?: \s+ (?: now | jetzt | maintenant | ahora | agora ) )? \s+
          | \s* (?: = | : | → | 是 | は | — ) \s* )
        (?P<value> [`"']? [^\s`"']+ [`"']? ) \W* \Z
    """


def _told(text: str) -> tuple[str, str]:
    """The thing and its value, if a text says nothing else."""
    equation = _value_told().search(" ".join(text.split()))
    if not equation:
        return "", ""
    return equation["thing"], equation["value"].strip(".,;`\"'").casefold()


def replaces(new: str, old: str) -> bool:
    """Whether a text gives another value for what another text is about: both are the
    same but for one number, or for what the thing is said to be. Titles count only if
    both have one."""
    bare_new = re.sub(_TITLE, "", new)
    bare_old = re.sub(_TITLE, "", old)
    if bare_new == new or bare_old == old:
        new = bare_new
        old = bare_old
    new_claim = claim(new)
    old_claim = claim(old)
    if any(phrase.negated for phrase in (*new_claim.phrases, *old_claim.phrases)):
        return False
    return _has_other_number(new_claim, old_claim) or _is_otherwise(new, old)


def _has_other_number(mine: Claim, theirs: Claim) -> bool:
    """Whether just one number differs, and it is said of a thing named before it."""
    if _frame(mine) != _frame(theirs) or mine.numbers == theirs.numbers:
        return False
    terms = content_terms(mine)
    pairs = zip(terms, content_terms(theirs), strict=False)
    places = [place for place, (term, other) in enumerate(pairs) if term != other]
    is_one = len(places) == 1 and places[0] >= SUBJECT
    return is_one and _is_said_last(terms[places[0]], mine)


def _is_said_last(number: str, side: Claim) -> bool:
    """Whether a number ends its phrase or, with at most one word after it ("3 times"),
    the text. In "customer 12 pays by invoice" it is a name."""
    ends = [phrase.terms[-1] for phrase in side.phrases if phrase.terms]
    return number in (*ends, *side.phrases[-1].terms[-2:])


def _frame(side: Claim) -> tuple[object, ...]:
    """What a claim says, with a gap for each number."""
    phrases = [
        (phrase.governor, tuple(_gap(term, side) for term in phrase.terms))
        for phrase in side.phrases
    ]
    return (phrases, side.paths, side.flags, side.names, side.limits)


def _gap(term: str, side: Claim) -> str:
    is_date = term.count("-") > 1
    is_value = term in side.numbers and not is_date
    return re.sub(r"[\d.,]+", "#", term) if is_value else term


def _is_otherwise(new: str, old: str) -> bool:
    """Whether both say "X is V" of the same X with different V of one word."""
    new_thing, new_value = _told(new)
    old_thing, old_value = _told(old)
    if not (new_thing and old_thing) or new_value == old_value:
        return False
    new_claim = claim(new_thing)
    old_claim = claim(old_thing)
    are_names = all(identifier().fullmatch(name) for name in (new_value, old_value))
    enough = 1 if are_names else SUBJECT
    if len(content_terms(new_claim)) < enough:
        return False
    return new_claim.phrases == old_claim.phrases and new_claim.names == old_claim.names
