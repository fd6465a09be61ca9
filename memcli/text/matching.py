"""Tables and rules that come with the package; a pattern is tried where one of its
hints occurs."""

import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, lru_cache, wraps
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import overload

from memcli.named import NamedTuple

PACKAGE = Path(__file__).parents[1]


def table(name: str) -> str:
    """The text of a table, by its path in the package."""
    return (PACKAGE / name).read_text("utf-8")


@cache
def stanzas(name: str) -> dict[str, str]:
    """The parts of a table by their first line; a blank line ends one."""
    parts = (stanza.partition("\n") for stanza in table(name).strip().split("\n\n"))
    return {head: text for head, _, text in parts}


@cache
def pattern(name: str, part: str, flags: int = 0) -> re.Pattern[str]:
    """A part of `NAME.patterns`, compiled; its parts that stand in `<>` are put in."""
    parts = stanzas(f"{name}.patterns")
    text = parts[part]
    for each, meaning in parts.items():
        text = text.replace(each, meaning) if each[0] == "<" else text
    return re.compile(text, flags)


class Span(NamedTuple):
    """`text[start:end]` is a credential, or a sentence that commands the agent, of that
    kind."""

    kind: str
    start: int
    end: int


Hint = tuple[str, bool, str, str]
"""A literal, whether it must begin a word, and the kind and pattern of a rule, whose
hints are in a row: flat, since there are some hundred of them."""


class Hints(NamedTuple):
    """Hints in order: the places of the `short`, and of the others by their last four
    bytes."""

    every: tuple[Hint, ...]
    short: tuple[int, ...]
    at: dict[int, list[int]]


@cache
def regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, compiled on first use."""
    return re.compile(pattern, flags)


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


@cache
def rules(name: str) -> dict[str, Hints]:
    """The hints of a file by group: stanzas of a JSON list (group, kind, hints) and a
    pattern."""
    found = dict[str, tuple[Hint, ...]]()
    for stanza in table(f"text/{name}").strip().split("\n\n"):
        head, _, pattern = stanza.partition("\n")
        group, kind, *hints = json.loads(head)
        own = (
            (hint.removeprefix("^"), hint[0] == "^", kind, pattern) for hint in hints
        )
        found[group] = (*found.get(group, ()), *own)
    return {group: _hints(every) for group, every in found.items()}


def _hints(every: Collection[Hint]) -> Hints:
    at: dict[int, list[int]] = {}
    for place, hint in enumerate(every):
        end = lowered(hint[0]).encode()[-4:]
        at.setdefault(
            int.from_bytes(end, sys.byteorder) if len(end) == 4 else -1, []
        ).append(place)
    return Hints((*every,), tuple(at.pop(-1, ())), at)


def indexed(known: Iterable[tuple[str, tuple[str, ...], str]]) -> Hints:
    """The hints of rules: kind, literals one of which must occur, pattern."""
    rows = [(hint, False, kind, text) for kind, hints, text in known for hint in hints]
    return _hints(rows)


@cache
def shapes(name: str) -> Hints:
    """The hints of a table of tokens, facts that gitleaks (MIT, docs/notices.md)
    collected."""
    found: list[Hint] = []
    for line in table(name).splitlines():
        kind, prefixes, rest = line.split(" ", 2)
        pattern = re.escape(prefixes).replace(",", "|")
        begin = "(?<![A-Za-z0-9])" if prefixes[0].isalnum() else ""
        whole = rf"{begin}(?:{pattern}){rest}(?![A-Za-z0-9])"
        found += [(start, False, kind, whole) for start in prefixes.split(",")]
    return _hints(found)


def lowered(text: str) -> str:
    """`text` in lower case, of the same length: the dotted I alone would grow."""
    return text.replace("\u0130", "I").lower()


def _begins_word(hint: str, text: str) -> bool:
    at = text.find(hint)
    while at > 0 and text[at - 1].isalnum():
        at = text.find(hint, at + 1)
    return at >= 0


@lru_cache(maxsize=8)
def _fours(low: str) -> set[int]:
    """All that stands in four bytes in a row: to look there is faster than to look for
    each hint.

    It is cast to numbers at each of the four places where one may begin."""
    data = low.encode("utf-8", "surrogatepass") + bytes(7)
    ends = [at + (len(data) - at) // 4 * 4 for at in range(4)]
    return set().union(
        *(memoryview(data)[at:end].cast("I") for at, end in enumerate(ends))
    )


def due(hints: Hints, text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Kind and pattern of the rules one of whose hints occurs in `text`, and those
    that do."""
    fours = hints.at.keys() & _fours(lowered(text))
    may = chain(hints.short, *map(hints.at.__getitem__, fours))
    there = (hints.every[place] for place in sorted(may))
    seen = (
        (kind, pattern, hint)
        for hint, begins, kind, pattern in there
        if hint in text and (not begins or _begins_word(hint, text))
    )
    for (kind, pattern), rows in groupby(seen, itemgetter(0, 1)):
        yield kind, pattern, [hint for _, _, hint in rows]


def regions(text: str, hints: Iterable[str], before: int, after: int) -> list[range]:
    """The parts of `text` around its hints, ascending and disjoint."""
    places = sorted(
        m.start() for hint in hints for m in re.finditer(re.escape(hint), text)
    )
    result: list[range] = []
    for place in places:
        start = max(0, place - before)
        end = min(len(text), place + after)
        if result and start <= result[-1].stop:
            start = result.pop().start
        result.append(range(start, end))
    return result


def settle(change: Callable[[str], str], text: str) -> str:
    """Apply `change` until nothing changes: a removal may join what then reads as
    another."""
    for _ in range(8):
        if (changed := change(text)) == text:
            break
        text = changed
    return text


def replaced(text: str, parts: list[tuple[int, int, str]]) -> str:
    """`text` with the ascending, disjoint `parts` (start, end, new) replaced."""
    pieces = []
    at = 0
    for start, end, new in parts:
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])
