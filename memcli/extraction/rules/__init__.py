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
    told, said = _told(turns)
    lessons = [finding(one, turns) for one in choice.chosen(turns, used=said)]
    found = [*told, *lessons, *commands.recoveries(turns)]
    kept = sorted(found[:most], key=lambda one: one.turn)
    return Taught(tuple(kept), tuple(one.title for one in found[most:]))


def _told(turns: Sequence[Turn]) -> tuple[list[Finding], set[tuple[int, int]]]:
    """What the person said to remember, and which sentences (turn, place) say so."""
    found: list[Finding] = []
    used: set[tuple[int, int]] = set()
    before = ""
    for i, turn in enumerate(turns):
        if turn.human:
            said = sentences(turn.text, typed=True)
            asks = [n for n, one in enumerate(said) if _REMEMBER.match(one.text)][:3]
            facts = [fact for n in asks if (fact := _fact(said, n, before, i))]
            bodies = {fact.body.lower() for fact in facts}
            used |= {
                (i, n) for n, one in enumerate(said) if n in asks or one.text.lower() in bodies
            }
            found += facts
        elif turn.role == "assistant" and turn.text and not turn.tool:
            before = turn.text
    return found, used


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
