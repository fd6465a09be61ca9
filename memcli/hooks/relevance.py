"""Shell commands: taken apart, and what an entry must have in common with one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memcli.index import occasions
from memcli.project import globs

_QUOTED = r"(?s)'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\."
_BETWEEN = r"&&|\|\|?&?|[;&\n()]"
_BEFORE = r"(?:[A-Za-z_]\w*=\S*|sudo|env|time|nohup|exec|command|then|do|else|!|\{)\s+"
LONGEST = 20_000
"""Characters of a command that are looked at."""


class Command(NamedTuple):
    """A shell command as a whole, with single blanks, and the simple commands in it."""

    whole: str = ""
    simple: tuple[str, ...] = ()


def parse_command(command: str) -> Command:
    """A shell command and each simple command in it, also without assignments before it.

    What is quoted is not taken apart.
    """
    whole = " ".join(command[:LONGEST].split())
    found = [" ".join(part.split()) for part in parts(command[:LONGEST])]
    return Command(whole, tuple(dict.fromkeys(filter(None, (whole, *found, *map(_bare, found))))))


def parts(command: str) -> Iterator[str]:
    hidden = re.sub(_QUOTED, lambda quoted: "\0" * len(quoted[0]), command)
    at = 0
    for mark in re.finditer(_BETWEEN, hidden):
        yield command[at : mark.start()]
        at = mark.end()
    yield command[at:]


def _bare(part: str) -> str:
    while found := re.match(_BEFORE, part):
        part = part[found.end() :]
    return part


def runs(command: Command, patterns: Sequence[str], body: str) -> bool:
    """Whether an entry is about a shell command: by its globs, else by a code span of its body."""
    if patterns:
        return any(
            globs.matches(glob, each) for glob in patterns[: globs.MOST] for each in command.simple
        )
    return "`" in body and any(_stands(span, command.whole) for span in occasions.code_spans(body))


def _stands(span: str, command: str) -> bool:
    """Whether a span stands in a command and does not begin or end within a word of it."""
    return span in command and bool(re.search(rf"(?<![\w./-]){re.escape(span)}(?![\w-])", command))


_SENTENCE = r"(?<=[.!?])\s"


def one_line(title: str, body: str, most: int) -> str:
    """A title and as much of a body as fits into a line of `most` characters, cut at a sentence or
    a word.
    """
    text = f"{' '.join(title.split())}: {' '.join(body.split())}".strip(": ")
    if len(text) <= most:
        return text
    ends = [mark.start() for mark in re.finditer(_SENTENCE, text) if mark.start() <= most]
    if ends and ends[-1] > len(title) + 2:
        return text[: ends[-1]]
    return text[: most - 1].rsplit(" ", 1)[0] + "…"
