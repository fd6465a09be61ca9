"""What was taken back, and which entry is meant by words about it. Pure.

A retired entry, or one in an archive for another reason than a stage or its age, is a
tombstone: what says the same is not written again by itself."""

import datetime
import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain, islice
from typing import Any, TypeVar

from memcli.memory.values import Entry, Place
from memcli.memory.words import full_pairs, normalized, spaceless_runs, stem
from memcli.named import NamedTuple
from memcli.text.lookalikes import LOOKALIKES
from memcli.text.matching import table, verbose

MOST_LIKELY = 3
_UNSEEN = frozenset("\u115f\u1160\u2800") | set(map(chr, range(0xFE00, 0xFE10)))
"""Letters and marks that show nothing; the others are of a category of their own."""
LEAST = 12
"""Only a line of so many characters is recognised elsewhere by its words."""
_HEADING_MARK = re.compile(r"\A\s*#{1,6}[ \t]+(?:\[\d{4}-\d\d-\d\d\][ \t]*)?")


T = TypeVar("T")
StoneKey = tuple[str, str, str]
"""A work tree, "" or a level of it, and an id."""


class Bounds(NamedTuple):
    """From the score `clear` on an entry is surely meant, if it is so far `apart` from
    the next one; from `likely` on a person is asked."""

    clear: float
    apart: float
    likely: float


BY_WORDS = Bounds(clear=0.5, apart=0.2, likely=0.34)
"""The score is the share of the words asked for that a text has, weighted by their
rarity."""
BOTH = Bounds(clear=0.3, apart=0.1, likely=0.2)
"""The score is half that share and half the cosine."""
REPLACED = Bounds(clear=0.2, apart=0.05, likely=0.15)
"""Who says what holds instead has told the old before: less is enough (chosen on the
development half of a public suite, so fitted there)."""


class Meant(NamedTuple):
    """The places (in the sequence asked about) of the entries that are surely meant,
    and of those that may be."""

    clear: tuple[int, ...] = ()
    likely: tuple[int, ...] = ()


def fold(text: str) -> str:
    """Remove from a text what only looks different: case, width, spaces, characters
    that are not seen, marks on Latin letters, letters that look alike. Words of another
    alphabet stay as they are, unless the text is in Latin letters."""
    letters: list[str] = []
    for letter in normalized("NFKD", text):
        is_mark = unicodedata.combining(letter) and letters and letters[-1].isascii()
        is_seen = unicodedata.category(letter) not in ("Cf", "Cc") or letter in "\n\t"
        if is_seen and not is_mark and letter not in _UNSEEN:
            letters.append(letter)
    plain = normalized("NFC", "".join(letters)).casefold()
    is_latin = 2 * len(re.findall("[a-z]", plain)) > len(plain)
    words = (_latin(word, is_latin=is_latin) for word in plain.split())
    return " ".join(words)


def _latin(word: str, *, is_latin: bool) -> str:
    """A word that mixes alphabets, or stands among Latin ones, as the one that it
    imitates."""
    if word.isascii() or not (is_latin or re.search("[a-z]", word)):
        return word
    return word.translate(LOOKALIKES)


def is_tombstone(entry: Entry, *, archived: bool) -> bool:
    """Whether a person or a newer value took an entry back. A stage, age and a merge
    (in which its words live on) do not count, nor does an entry that was restored."""
    if not archived and entry.is_live:
        return False
    return takes_back(entry.extra, archived=archived)


def takes_back(values: Mapping[str, Any], *, archived: bool) -> bool:
    """The same, by the values of an entry that is not live."""
    because = str(values.get("archived_because") or "retired")
    if archived and because in ("stale", "merged", "restored"):
        return False
    stage = str(values.get("retired_because") or "").startswith("stage ")
    return not stage or bool(values.get("superseded_by"))


def reach_of(place: Place, tree: str) -> tuple[str, str]:
    """Where an id that was taken back in a file is no longer live: an archive speaks
    for its work tree, another file for its level, since the nearest copy counts."""
    if place.store == "archive":
        return tree, ""
    return tree, f"{place.level}/{place.job}/{place.task}"


def stone_of(
    id: str, place: Place, tree: str, stones: Mapping[StoneKey, T]
) -> T | None:
    """The tombstone of an id in a file that is not an archive."""
    by_archive = stones.get((tree, "", id))
    return by_archive or stones.get((*reach_of(place, tree), id))


_HEAD = 8  # letters of a forgotten line by which it is looked for within a text
_TOKEN = re.compile(r"[a-z0-9_]+|\w")  # a letter of another alphabet is one by itself


def mark_of(text: str, salt: str) -> str:
    """The mark that a forgotten text leaves, without its words: twelve bits of how it
    begins, how long it is, and a digest."""
    return _mark("".join(_TOKEN.findall(fold(text))), salt)


def _mark(letters: str, salt: str) -> str:
    import hashlib  # it loads OpenSSL, which no start needs

    whole = hashlib.sha256(f"{salt}\n{letters}".encode("utf-8", "replace"))
    return f"{_hint(letters)}:{len(letters)}:{whole.hexdigest()}"


def _hint(letters: str) -> str:
    return f"{zlib.crc32(letters[:_HEAD].encode('utf-8', 'replace')) & 0xFFF:x}"


def id_line(entry_id: str) -> str:
    """The line by which a forgotten entry is recognised by its id."""
    return f"id: {entry_id}"


class Forgotten:
    """What was forgotten on this machine, recognised by its marks: (salt, mark,
    day)."""

    def __init__(self, marks: Iterable[tuple[str, str, str]] = ()) -> None:
        self.marks = [*marks]
        self._by_hint: dict[str, list[tuple[str, str, str]]] = {}
        for salt, mark, day in self.marks:
            hint = mark.partition(":")[0]
            self._by_hint.setdefault(hint, []).append((salt, mark, day))

    def day_of(self, line: str) -> str:
        """The day on which a line was forgotten, "" for one that was not."""
        days = (day for salt, mark, day in self.marks if mark == mark_of(line, salt))
        return next(days, "")

    def is_said(self, text: str, date: str = "") -> bool:
        """Whether a text holds a line that was forgotten, a short one by itself. What
        is said on a later `date` counts anew; a day is left for the zones of time."""
        pieces = [text, *text.splitlines()] if self.marks else []
        days = chain.from_iterable(map(self._days, pieces))
        return any(date[:10] <= _day_after(day) for day in days)

    def _days(self, text: str) -> Iterator[str]:
        """When what a text says was forgotten."""
        tokens = _TOKEN.findall(fold(text))
        letters = "".join(tokens)
        for start in accumulate(map(len, tokens), initial=0):
            hint = _hint(letters[start : start + _HEAD])
            for salt, mark, day in self._by_hint.get(hint, ()):
                length = int(mark.split(":")[1])
                fits = length >= _HEAD or length == len(letters)
                if fits and _mark(letters[start : start + length], salt) == mark:
                    yield day


def _day_after(day: str) -> str:
    after = datetime.date.fromisoformat(day) + datetime.timedelta(days=1)
    return after.isoformat()


def lines_of(body: str) -> list[str]:
    """The lines of an entry, its title included, that are long enough to be recognised
    (all if none is), without the mark and date of a heading."""
    bare = [_HEADING_MARK.sub("", line).strip() for line in body.splitlines()]
    long = [line for line in bare if len(line) >= LEAST]
    return long or list(filter(None, bare))


@verbose
def identifier() -> str:
    """A word that names one thing: with a digit, or a sign within. It begins where a
    word does: a long one would be looked at anew from each of its letters."""
    return r"""
        (?: [#@] | (?<! \w ) ) \w* \d [\w./:@#+-]*
      | (?<! \w ) \w+ (?: [./:@#+_-] \w+ )+ | [#@] \w+
    """


def words_of(text: str) -> list[str]:
    """The words by which a text is compared: stems, pairs of characters in scripts
    without spaces, identifiers whole; common words are left out."""
    folded = fold(text)
    idle = _idle()
    words = _identifiers(folded)
    for word in re.findall(r"[^\W_]+(?:['’][^\W_]+)?", folded):
        if word not in idle and len(word) > 1:
            words.append(stem(word))
    for run in spaceless_runs(folded):
        words += full_pairs(run)
    return list(dict.fromkeys(words))


def _identifiers(folded: str) -> list[str]:
    """What names one thing in a folded text."""
    return [match[0].strip(".:-/") for match in identifier().finditer(folded)]


@cache
def _idle() -> frozenset[str]:
    return frozenset(table("index/stop_words.txt").split()) | _ABOUT


_ABOUT = frozenset(
    """user users user's thing things said told rule note notes fact facts entry memory
    everything anything old new now current mine about what forget remember""".split()
)
"""Words of a request that name nothing."""


def meant(
    about: str,
    texts: Sequence[str],
    *,
    every: bool = False,
    instead: str = "",
    likeness: Sequence[float] = (),
) -> Meant:
    """Which of these texts are meant by words about them and by what holds `instead`.
    `every`: all that have what is named. A text that lacks an identifier of the words
    is never meant. `likeness` holds the cosines of the words with the texts, if there
    are vectors: they count half."""
    wanted = words_of(f"{about} {instead}")
    if not wanted or not texts:
        return Meant()
    shares = _shares(wanted, texts)
    bounds = BY_WORDS
    if likeness:
        shares = _means(shares, [max(0.0, cosine) for cosine in likeness])
        bounds = REPLACED if instead else BOTH
    elif instead and (asked := words_of(about)):
        # the new value has words of its own
        shares = _means(shares, _shares(asked, texts))
    # What is named must be there.
    wanted_words = _Named.of(about)
    for place, text in enumerate(texts):
        if not wanted_words.stands_in(text):
            shares[place] = 0.0
    return _decided(shares, bounds, every=every, is_named=bool(wanted_words.all))


def _means(scores: Sequence[float], others: Sequence[float]) -> list[float]:
    return [(score + other) / 2 for score, other in zip(scores, others, strict=True)]


def _shares(wanted: Sequence[str], texts: Sequence[str]) -> list[float]:
    """How much of the words each text has, by their rarity among the texts."""
    word_sets = [frozenset(words_of(text)) for text in texts]
    counts = Counter(chain.from_iterable(word_sets))
    rarity = {}
    for word in wanted:
        rarity[word] = math.log(1 + len(texts) / (0.5 + counts[word]))
    whole = sum(rarity.values())
    met = (sum(rarity[word] for word in wanted if word in words) for words in word_sets)
    return [weight / whole for weight in met]


class _Named(NamedTuple):
    """What words name: identifiers, and people or products."""

    identifiers: frozenset[str]
    people: tuple[str, ...]

    @classmethod
    def of(cls, about: str) -> "_Named":
        people = proper_name().findall(about)
        return cls(frozenset(_identifiers(fold(about))), tuple(people))

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.identifiers, *self.people)

    def stands_in(self, text: str) -> bool:
        """Whether a text has all that is named."""
        folded = fold(text)
        has_names = all(name in folded for name in self.identifiers)
        return has_names and all(_has_name(text, name) for name in self.people)


@verbose
def proper_name() -> str:
    """A capitalised word within a request, which is no beginning of a sentence."""
    return r"(?<![\w.]) [A-ZÀ-ÞА-Я] [^\W\d_]+ (?=['’]s\b | (?!\w))"


def _has_name(text: str, name: str) -> bool:
    """Whether a text has a name as a name: a raven is no Raven."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _decided(
    shares: Sequence[float], bounds: Bounds, *, every: bool, is_named: bool
) -> Meant:
    order = sorted(range(len(shares)), key=lambda place: -shares[place])
    if every:
        least = 0.0 if is_named else bounds.clear
        return Meant(clear=tuple(place for place in order if shares[place] > least))
    best = shares[order[0]]
    second = shares[order[1]] if len(order) > 1 else 0.0
    if best >= bounds.clear and best - second >= bounds.apart:
        return Meant(clear=(order[0],))
    likely = (place for place in order if shares[place] >= bounds.likely)
    return Meant(likely=tuple(islice(likely, MOST_LIKELY)))


def reason_of(entry: Entry) -> str:
    """When and why an entry was taken back, in words."""
    extra = entry.extra
    when = extra.get("archived_at") or entry.last_reinforced
    because = extra.get("retired_because") or extra.get("archived_because") or ""
    if extra.get("superseded_by"):
        newer = str(extra["superseded_by"])[:8]
        because = f"superseded by {newer}"
    return ", ".join(str(part) for part in (when, because) if part)
