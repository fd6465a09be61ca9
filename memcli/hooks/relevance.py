"""When memory is brought up unasked: what a prompt, a file or a command must have in common with
it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memcli.index import occasions
from memcli.project import globs

RARE = 0.5
"""A single word opens memory when it is so rare, measured by a word that stands in one entry alone.
"""

ALONE = 0.15
"""And when it is so large a share of what the prompt is about: in a small memory every word is
rare.
"""

TALK = frozenset(
    """
    lovely weather thanks thank thx ok okay yeah yep nope sure fine great good better best worse nice cool
    awesome perfect excellent wonderful amazing well done right wrong correct hi hello hey bye goodbye
    morning night evening afternoon day today tomorrow yesterday tonight weekend week friday monday later
    soon now go going goes gone went ahead continue continued proceed carry keep left leave stop wait hold
    pause moment minute minutes second seconds back away start over begin scratch resume again once time
    times try tried retry redo undo revert rollback repeat last first next previous earlier before another
    option options version way one two three ten run runs running rerun execute test tests tested testing
    suite pass passes passing passed fail fails failing failed failure green red linter lint show tell see
    look looks looking check checking double verify review read open list print find search give get take
    make made let lets doing use using used apply want wanted need needed like liked prefer think thought
    know mean means understand explain explained say said ask asked asking answer question summarize
    summarise summary short shorter long longer simple simpler simply term terms word words detail details
    bit lot thing things stuff something anything everything nothing everywhere change changes changed
    changing fix fixes fixed fixing add adds added adding remove removes removed removing delete rename
    update updated edit edited clean cleanup format formatted formatting typo comment comments statement
    statements move refactor improve rewrite write code codebase file files function variable line lines
    work works working worked job repo repository project task branch diff commit commits committed push
    pushed pull merge please sorry help happy tired lol hmm haha wow oh ah um interesting almost quite
    enough whole still already really actually maybe perhaps even though else instead sounds sound far
    forget remember mind never new bitte danke gut weiter nochmal gracias merci
    """.split()
)
"""Words of any conversation with an agent: they say nothing of what the work is about."""


# --- prompts


def content(terms: Sequence[str]) -> list[str]:
    """The terms of a query that say what it is about; small numbers do not."""
    return [term for term in terms if term not in TALK and not (term.isdigit() and len(term) < 3)]


class Cover(NamedTuple):
    """How much of what a prompt is about an entry has: the share by rarity, and whether it is
    evidence.

    One common word in common is no evidence; two words are, or a rare one that is much of the
    prompt.
    """

    share: float
    evident: bool


def cover(rarity: Sequence[float], numbers: Sequence[int], rarest: float) -> Cover:
    """The cover of a text that has the terms with these `numbers`; `rarity` is the idf of every
    term.
    """
    met = [rarity[number] for number in numbers]
    share = sum(met) / (sum(rarity) or 1.0)
    return Cover(share, is_evident(met, rarest) and (len(met) > 1 or share >= ALONE))


def is_evident(met: Sequence[float], rarest: float) -> bool:
    """Whether terms of such rarity say more than chance: two do, or one that is rare."""
    return len(met) > 1 or sum(met) >= RARE * rarest


# --- commands

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
