"""Rules as data: a pattern is tried only where one of its literal hints occurs.

Clean text so costs a few substring searches. Patterns are linear: runs are possessive or bounded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

from memcli.text.tables import table


class Span(NamedTuple):
    """`text[start:end]` is a credential, or a sentence that commands the agent, of that kind."""

    kind: str
    start: int
    end: int


class TextRule(NamedTuple):
    """A pattern for texts in which a hint occurs; before a `^hint` stands no letter or digit."""

    kind: str
    hints: tuple[str, ...]
    pattern: str


@cache
def regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(pattern, flags)


@cache
def rules(name: str) -> dict[str, tuple[TextRule, ...]]:
    """The rules of a data file beside this module, by group.

    Stanzas: a JSON list of group, kind and hints, then the pattern.
    """
    found: dict[str, tuple[TextRule, ...]] = {}
    for stanza in table(f"text/{name}").strip().split("\n\n"):
        head, _, pattern = stanza.partition("\n")
        group, kind, *hints = json.loads(head)
        found[group] = (*found.get(group, ()), TextRule(kind, tuple(hints), pattern))
    return found


def lowered(text: str) -> str:
    """`text` in lower case, of the same length: the dotted I alone would grow."""
    return text.replace("\u0130", "I").lower()


def _occurs(hint: str, text: str) -> bool:
    if hint[0] != "^":
        return hint in text
    at = text.find(hint[1:])
    while at > 0 and text[at - 1].isalnum():
        at = text.find(hint[1:], at + 1)
    return at >= 0


def due(rules: Iterable[TextRule], text: str) -> Iterator[TextRule]:
    """The rules one of whose hints occurs in `text`."""
    seen: dict[str, bool] = {}
    for rule in rules:
        for hint in rule.hints:
            if hint not in seen:
                seen[hint] = _occurs(hint, text)
            if seen[hint]:
                yield rule
                break


def settle(change: Callable[[str], str], text: str) -> str:
    """Apply `change` until nothing changes: a removal may join what then reads as another."""
    for _ in range(8):
        changed = change(text)
        if changed == text:
            break
        text = changed
    return text


def replaced(text: str, parts: list[tuple[int, int, str]]) -> str:
    """`text` with the ascending, disjoint `parts` (start, end, new) replaced."""
    pieces, at = [], 0
    for start, end, new in parts:
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])
