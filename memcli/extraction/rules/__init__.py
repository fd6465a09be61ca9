"""What a session teaches, found by evidence alone: no model, no network, the same answer every time.

A false memory does more harm than a missed one: what is in doubt is left to history.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from memcli.extraction.rules import choice, commands
from memcli.extraction.rules.commands import ARGUMENTS
from memcli.extraction.rules.findings import finding, title
from memcli.extraction.rules.sentences import Sentence, sentences
from memcli.extraction.rules.words import content
from memcli.sessions.model import Finding, Session, Turn

__all__ = ["ARGUMENTS", "MOST", "Taught", "find"]

MOST = 7
"""Lessons of one session at most, the best."""
_REMEMBER = re.compile(
    r"^(?:please\s+|bitte\s+|请)?(?:remember|keep in mind|don['’]?t forget|do not forget|note for (?:later|next time)"
    r"|merke? dir|denk (?:dran|daran)|vergiss nicht|retiens|souviens[- ]toi|recuerda|ten en cuenta|no olvides"
    r"|lembre(?:-se)?|não esqueça|ricorda(?:ti)?|non dimenticare|запомни|помни|не забудь|记住|别忘了|覚えて(?:おいて)?|忘れないで|기억해)"
    r"(?:\s+(?:this|that|das|dies|dass|que|qué|esto|eso|ceci|cela|isso|isto|che|questo|это|что))?[\s,:：–—-]*",
    re.IGNORECASE,
)
"""What follows is to be remembered; when nothing does, what was said just before."""


class Taught(NamedTuple):
    """The findings of a session, and the titles of those that are over the most of a session."""

    findings: tuple[Finding, ...]
    more: tuple[str, ...] = ()


def find(session: Session, most: int = MOST) -> Taught:
    """Everything in `session` worth remembering, in order of its turns; deterministic, never raises.

    Only words of the person and the agent teach: what was pasted and what tools returned does not.
    """
    turns = session.turns
    told = list(_told(turns))
    taken = {one.turn for one in told}
    lessons = [one for one in choice.chosen(turns) if one.found.turn not in taken]
    found = [*told, *(finding(one, turns) for one in lessons), *commands.recoveries(turns)]
    kept = sorted(found[:most], key=lambda one: one.turn)
    return Taught(tuple(kept), tuple(one.title for one in found[most:]))


def _told(turns: Sequence[Turn]) -> list[Finding]:
    """What the person said to remember."""
    found, before = [], ""
    for i, turn in enumerate(turns):
        if turn.human:
            said = sentences(turn.text, typed=True)
            found += [one for n, one in enumerate(_remembered(said, before, i)) if one and n < 3]
        elif turn.role == "assistant" and turn.text and not turn.tool:
            before = turn.text
    return found


def _remembered(said: list[Sentence], before: str, turn: int) -> list[Finding | None]:
    return [_fact(said, n, before, turn) for n, one in enumerate(said) if _REMEMBER.match(one.text)]


def _fact(said: list[Sentence], n: int, before: str, turn: int) -> Finding | None:
    text = _REMEMBER.sub("", said[n].text)
    if len(content(text.lower())) < 2:
        meant = [one for one in said[:n] or sentences(before) if len(content(one.low)) >= 3]
        if not meant:
            return None
        text = meant[-1].text
    text = text[:1].upper() + text[1:]
    return Finding(
        "observations", title(text), text, turn, "fact", type="declarative", priority="high"
    )
