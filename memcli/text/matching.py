"""Tables and rules that come with the package. A pattern is only tried where one of
its hints occurs."""

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, wraps
from itertools import chain, filterfalse, groupby
from operator import itemgetter
from pathlib import Path
from typing import overload

from memcli.named import NamedTuple

PACKAGE = Path(__file__).parents[1]
MOST_WORDS = 100_000
"""So many words at most are remembered that hold no literal."""
LONGEST_WORD = 60
"""Characters of a word that may come back."""


def table(name: str) -> str:
    """The text of a table, by its path in the package."""
    return (PACKAGE / name).read_text("utf-8")


@cache
def stanzas(name: str) -> dict[str, str]:
    """The parts of a table by their first line; a blank line ends one."""
    parts = (stanza.partition("\n") for stanza in table(name).strip().split("\n\n"))
    return {head: text for head, _, text in parts}


class Span(NamedTuple):
    """`text[start:end]` is a credential, or a sentence that commands the agent, of that
    kind."""

    kind: str
    start: int
    end: int


class HintedRule(NamedTuple):
    """A verbose pattern, and the literals one of which a text must hold for it; a
    literal after `^` must begin a word."""

    kind: str
    hints: tuple[str, ...]
    pattern: str


def hints_of(text: str) -> tuple[str, ...]:
    """The literals in `text`, which `|` separates."""
    return tuple(text.split("|"))


Hint = tuple[str, bool, str, str]
"""A literal, whether it must begin a word, and the kind and pattern of a rule, whose
hints are in a row: flat, since there are some hundred of them."""


class Hints(NamedTuple):
    """Hints in order, and the places of each literal among them."""

    every: tuple[Hint, ...]
    at: dict[str, list[int]]


class Literals:
    """Literals that are looked for in many texts, in one pass: some as they are
    written, some in small letters.

    A text is split at blanks, and of each word it is remembered which literals it may
    be a part of: most words come back. Of a literal with blanks in it the longest part
    is looked for."""

    def __init__(self, exact: Iterable[str], small: Iterable[str]) -> None:
        self._exact = _by_part(exact)
        self._small = _by_part(small)
        self._short: set[str] = set()
        self._by_end: dict[int, list[str]] = {}
        for part in self._exact.keys() | self._small.keys():
            end = lowered(part).encode()[-4:]
            if len(end) < 4:
                self._short.add(part)
            else:
                number = int.from_bytes(end, sys.byteorder)
                self._by_end.setdefault(number, []).append(part)
        self._plain: set[str] = set()
        self._telling: dict[str, set[str]] = {}

    def within(self, text: str) -> set[str]:
        """All literals that may occur in a text; what has no blank in it does occur."""
        words = set(filterfalse(self._plain.__contains__, text.split()))
        unknown = words.difference(self._telling)
        known = map(self._telling.__getitem__, words - unknown)
        literals = set[str]().union(*known)
        if unknown:  # after what is known, which may be dropped
            literals |= self._judged(unknown)
        return literals

    def _judged(self, words: Collection[str]) -> set[str]:
        """What words that were not met before may be a part of; remembered for those
        that may come back."""
        if len(self._plain) > MOST_WORDS:
            self._plain.clear()
            self._telling.clear()
        all_words = f" {' '.join(words)} "
        lowered_words = lowered(all_words)
        ends = self._by_end.keys() & _fours(lowered_words)
        parts = self._short.union(*map(self._by_end.__getitem__, ends))
        telling = defaultdict[str, set[str]](set)
        sides = ((all_words, self._exact), (lowered_words, self._small))
        for written, by_part in sides:
            for part in parts & by_part.keys():
                end = 0
                while (place := written.find(part, end)) >= 0:
                    begin = all_words.rfind(" ", 0, place + 1) + 1
                    end = all_words.find(" ", begin)
                    telling[all_words[begin:end]] |= by_part[part]
        lasting = {word for word in words if len(word) <= LONGEST_WORD}
        self._plain |= lasting - telling.keys()
        for word in lasting & telling.keys():
            self._telling[word] = telling[word]
        return set[str]().union(*telling.values())


def _by_part(literals: Iterable[str]) -> dict[str, set[str]]:
    """Literals by the longest part between blanks, with a blank beside it where one
    is."""
    by_part: dict[str, set[str]] = {}
    for literal in literals:
        parts = regex("[ ]?[^ ]+[ ]?").findall(literal)
        by_part.setdefault(max(parts, key=len), set()).add(literal)
    return by_part


@cache
def regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, compiled on first use."""
    return re.compile(pattern, flags)


def regex_in(text: str, pattern: str) -> re.Pattern[str]:
    """The pattern as `text` needs it. Signs beyond ASCII, which stand in its classes
    beside others, are left out where the text has none of them: a class with one takes
    long to compile."""
    if text.isascii() or not any(map(text.__contains__, _signs(pattern))):
        pattern = pattern.encode("ascii", "ignore").decode()
    return regex(pattern)


@cache
def _signs(pattern: str) -> str:
    return "".join(filterfalse(str.isascii, pattern))


Source = Callable[[], str]
Compiled = Callable[[], re.Pattern[str]]


@overload
def verbose(source: Source) -> Compiled: ...
@overload
def verbose(
    *, ignore_case: bool = ..., lines: bool = ..., dot_all: bool = ...
) -> Callable[[Source], Compiled]: ...
def verbose(
    source: Source | None = None,
    *,
    ignore_case: bool = False,
    lines: bool = False,
    dot_all: bool = False,
) -> Compiled | Callable[[Source], Compiled]:
    r'''Turn a function that returns a verbose pattern into one that returns it compiled.

    It stands beside the code that uses it, and is compiled when it is first called:

        @verbose(ignore_case=True)
        def robot() -> str:
            """The name of a robot that commits."""
            return r"""
                \[bot\]               # an app of GitHub
              | \b dependabot \b
            """

        if robot().search(author): ...

    `re.VERBOSE` is always on: white space outside of classes says nothing (write
    `[ ]` or `\s`), and a `#` begins a comment (write `\#`). With `lines`, `^` and `$`
    stand at each line; with `dot_all`, `.` is any character. Parts that several
    patterns share are ordinary strings, put in with an f-string.'''
    flags = re.VERBOSE
    if ignore_case:
        flags |= re.IGNORECASE
    if lines:
        flags |= re.MULTILINE
    if dot_all:
        flags |= re.DOTALL

    def compiling(source: Source) -> Compiled:
        @cache
        @wraps(source)
        def compiled() -> re.Pattern[str]:
            return re.compile(source(), flags)

        return compiled

    return compiling if source is None else compiling(source)


def indexed(known: Iterable[HintedRule]) -> Hints:
    """The rules by their hints."""
    hints = []
    for rule in known:
        for hint in rule.hints:
            literal = hint.removeprefix("^")
            hints.append((literal, literal != hint, rule.kind, rule.pattern))
    return _hints(hints)


def _hints(every: Collection[Hint]) -> Hints:
    places: dict[str, list[int]] = {}
    for place, (literal, *_) in enumerate(every):
        places.setdefault(literal, []).append(place)
    return Hints(every=tuple(every), at=places)


@cache
def shapes(name: str) -> Hints:
    """The hints of a table of tokens, facts that gitleaks (MIT, docs/notices.md)
    collected."""
    hints = []
    for line in table(name).splitlines()[1:]:
        kind, prefixes, rest = line.split(" ", 2)
        for start in prefixes.split(","):
            # The first sign stands ahead of what looks behind it: it is found faster.
            begin = "(?<![A-Za-z0-9].)" if start[0].isalnum() else ""
            pattern = f"{re.escape(start[0])}{begin}{re.escape(start[1:])}"
            hints.append((start, False, kind, f"{pattern}{rest}(?![A-Za-z0-9])"))
    return _hints(hints)


def lowered(text: str) -> str:
    """`text` in lower case, of the same length: the dotted I alone would grow."""
    return text.replace("\u0130", "I").lower()


def _begins_word(hint: str, text: str) -> bool:
    position = text.find(hint)
    while position > 0 and text[position - 1].isalnum():
        position = text.find(hint, position + 1)
    return position >= 0


def _fours(low: str) -> set[int]:
    """All that stands in four bytes in a row: to look there is faster than to look for
    each literal.

    It is cast to numbers at each of the four places where one may begin."""
    data = low.encode("utf-8", "surrogatepass") + bytes(7)
    ends = [position + (len(data) - position) // 4 * 4 for position in range(4)]
    return set().union(
        *(memoryview(data)[position:end].cast("I") for position, end in enumerate(ends))
    )


def due(
    hints: Hints, text: str, there: Iterable[str]
) -> Iterator[tuple[str, str, list[str]]]:
    """Kind and pattern of the rules one of whose hints occurs in `text`, and those
    that do. `there` are the literals that may, see `Literals.within`."""
    may = chain.from_iterable(hints.at.get(literal, ()) for literal in there)
    hinted = (hints.every[place] for place in sorted(may))
    literals_seen = (
        (kind, pattern, hint)
        for hint, begins, kind, pattern in hinted
        if hint in text and (not begins or _begins_word(hint, text))
    )
    for (kind, pattern), rows in groupby(literals_seen, itemgetter(0, 1)):
        yield kind, pattern, [hint for _, _, hint in rows]


def places_of(literals: Iterable[str], text: str) -> list[int]:
    """Where in `text` one of the literals begins, ascending."""
    matches = (regex(re.escape(literal)).finditer(text) for literal in literals)
    return sorted(match.start() for match in chain.from_iterable(matches))


def regions(text: str, hints: Iterable[str], before: int, after: int) -> list[range]:
    """The parts of `text` around its hints, ascending and disjoint."""
    result: list[range] = []
    for place in places_of(hints, text):
        start = max(0, place - before)
        end = min(len(text), place + after)
        if result and start <= result[-1].stop:
            start = result.pop().start
        result.append(range(start, end))
    return result


def settle(change: Callable[[str], str], text: str) -> str:
    """Apply `change` until nothing changes: a removal may join parts into something
    else to remove."""
    for _ in range(8):
        if (changed := change(text)) == text:
            break
        text = changed
    return text


def replaced(text: str, parts: list[tuple[int, int, str]]) -> str:
    """`text` with the ascending, disjoint `parts` (start, end, new) replaced."""
    pieces = []
    position = 0
    for start, end, replacement in parts:
        pieces += [text[position:start], replacement]
        position = end
    return "".join([*pieces, text[position:]])
