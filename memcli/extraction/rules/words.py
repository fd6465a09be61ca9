"""What the words of a sentence show, and what it is about. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from memcli.extraction.rules.cues import BEGINS, CUES, FILLERS, STOP

_SPACELESS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_WORD = re.compile(r"\w{3,}")


class _Table(NamedTuple):
    words: dict[str, frozenset[str]]
    phrases: dict[str, list[tuple[str, str]]]
    """By their first word: the phrase between blanks, and what it shows."""
    stems: dict[str, list[tuple[str, str]]]
    """By their first three letters."""
    parts: list[tuple[str, str]]


def _cues(tables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for kind, text in tables.items():
        for cue in text.replace("\n", "|").split("|"):
            if cue:
                yield kind, cue


@cache
def _table() -> _Table:
    words: defaultdict[str, set[str]] = defaultdict(set)
    table = _Table({}, {}, {}, [])
    for kind, cue in _cues(CUES):
        if _SPACELESS.search(cue):
            table.parts.append((cue, kind))
        elif cue.endswith("*"):
            table.stems.setdefault(cue[:3], []).append((cue[:-1], kind))
        elif " " in cue:
            table.phrases.setdefault(cue.split(" ", 1)[0], []).append((f" {cue} ", kind))
        else:
            words[cue].add(kind)
    for cue, kinds in list(words.items()):
        for slip in _slips(cue) if len(cue) > 5 else ():
            if slip not in words and slip not in STOP:
                table.words[slip] = frozenset(kinds)
    table.words.update({cue: frozenset(kinds) for cue, kinds in words.items()})
    return table


def _slips(word: str) -> Iterator[str]:
    """The word with a letter left out or two exchanged, behind the first."""
    for i in range(1, len(word)):
        yield word[:i] + word[i + 1 :]
        yield word[:i] + word[i + 1 : i + 2] + word[i] + word[i + 2 :]


def kinds_of(low: str) -> set[str]:
    """What the words of a folded sentence show."""
    table = _table()
    found: set[str] = set()
    for word in low.split():
        if kinds := table.words.get(word):
            found |= kinds
        if word in table.phrases:
            found.update(kind for cue, kind in table.phrases[word] if cue in low)
        if word[:3] in table.stems:
            found.update(kind for cue, kind in table.stems[word[:3]] if word.startswith(cue))
    if not low.isascii() and _SPACELESS.search(low):
        found.update(kind for cue, kind in table.parts if cue in low)
    return found


@cache
def _beginnings() -> dict[str, re.Pattern[str]]:
    made: defaultdict[str, list[str]] = defaultdict(list)
    for kind, cue in _cues(BEGINS):
        end = "" if _SPACELESS.search(cue) else r"\w*(?=[ ?])" if cue[-1] == "*" else "(?=[ ?])"
        made[kind].append(re.escape(cue.rstrip("*")) + end)
    return {kind: re.compile("|".join(cues)) for kind, cues in made.items()}


def begins(low: str) -> set[str]:
    """What a folded sentence begins with, after fillers: a kind of `cues.BEGINS`."""
    words = low.split()
    at = next((i for i, word in enumerate(words[:8]) if word not in FILLERS), 0)
    rest = " ".join(words[at : at + 6]) + " "
    return {kind for kind, pattern in _beginnings().items() if pattern.match(rest)}


def content(low: str) -> frozenset[str]:
    """The words of a folded text that say what it is about; of scripts without spaces, pairs."""
    found = {word.rstrip("s") for word in _WORD.findall(low) if word not in STOP}
    if not low.isascii() and _SPACELESS.search(low):
        run = "".join(_SPACELESS.findall(low))
        found |= {run[i : i + 2] for i in range(len(run) - 1)}
    return frozenset(found)
