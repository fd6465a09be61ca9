"""What a lesson is: its kind, its title, where it belongs, and the files and commands it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memcli.extraction.rules import words
from memcli.extraction.rules.choice import Lesson
from memcli.extraction.rules.commands import LOOKING, command_of, edited_by, family
from memcli.extraction.rules.sentences import Sentence, fold
from memcli.sessions.model import Finding, Turn

TITLE = 100
NEAR = 12
"""Turns before a correction in which the edit or command it speaks of is looked for."""
_MARKUP = re.compile(r"\*\*|__|^[\s>*_\d.)(-]+(?=\w)")
_OPENING = re.compile(
    r"(?:(?:ok(?:ay)?|so|well|btw|also|and|but|please|pls|hey|hi|wait|hm+|oh|ah|yes|yeah|no+|nope|actually|nvm|sure"
    r"|right|thanks?|cool|nice|great|note(?: that)?|remember(?: that)?|nein|bitte|und|aber|also|por favor|vale"
    r"|no|да|нет|и|а|пожалуйста|不对|不是|好的?|请)(?![\w'’-])[\s,.!:;–—-]{0,4}|[:;)(]+\s)+",
    re.IGNORECASE,
)
_MANNER_OF = frozenset(
    "answer reply response respond explanation explain tone emoji talk summary praise".split()
)
_ASKING = frozenset(
    """ask asking first check confirm before dont without need again every time always just want youre
    sure please question thing anything something everything go ahead own stop do doing""".split()
)


def title(text: str, longest: int = TITLE) -> str:
    """`text` as a title: without what leads into it, cut at the end of a word."""
    bare = _MARKUP.sub("", text).strip()
    lead = _OPENING.match(bare)
    rest = bare[lead.end() :] if lead and len(bare) - lead.end() > 12 else bare
    rest = rest[:1].upper() + rest[1:]
    if len(rest) > longest:
        blank = rest.rfind(" ", longest // 2, longest)
        rest = rest[: blank if blank > 0 else longest - 1].rstrip(" ,;:.(") + "…"
    return rest.rstrip(" .!,;:。！，；")


def finding(lesson: Lesson, turns: Sequence[Turn]) -> Finding:
    """The lesson as a finding of the scope that it belongs to."""
    found, evidence = lesson.found, lesson.found.evidence
    one = Finding("project", title(lesson.title), lesson.body, found.turn)
    if not found.human:
        pitfall = {"finding", "surprise", "denial"} & evidence
        return one._replace(kind="pitfall" if pitfall else "decision" if "settle" in evidence else "fact",
                            type="" if pitfall else "declarative")  # fmt: skip
    if "manner" in evidence and _of_manner(found.sentence):
        return one._replace(scope="observations", kind="preference", about_person=True)
    if "autonomy" in evidence and _of_autonomy(found.sentence):
        return one._replace(scope="escalation", kind="preference")
    if is_correction(evidence):
        paths, commands = _about(turns, found.turn, lesson.body)
        return one._replace(
            scope="corrective", kind="pitfall", type="corrective", paths=paths, commands=commands
        )
    return _of_person(one, evidence)


def _of_person(one: Finding, evidence: frozenset[str]) -> Finding:
    ordered = {"durable", "oblige", "forbid", "autonomy"} & evidence
    if ordered and "chosen" not in evidence:
        kind = "policy" if {"oblige", "forbid", "autonomy"} & evidence else "preference"
        return one._replace(scope="observations", kind=kind)
    prefers = "preference" in evidence or ("wish" in evidence and "instead" not in evidence)
    if prefers and "chosen" not in evidence:
        return one._replace(scope="observations", kind="preference")
    decided = {"settle", "instead", "chosen", "begins: tasks"} & evidence
    return one._replace(kind="decision" if decided else "fact", type="declarative")


def is_correction(evidence: frozenset[str]) -> bool:
    """Whether a person says that the agent went wrong."""
    return "begins: corrects" in evidence or bool({"conceded", "interrupted"} & evidence)


def _of_manner(sentence: Sentence) -> bool:
    """Whether a sentence is about how the agent talks, and not about words of the product."""
    return bool(words.content(sentence.low) & _MANNER_OF) or not sentence.low.isascii()


def _of_autonomy(sentence: Sentence) -> bool:
    """Whether a sentence says when to ask in general. "Ask me before you run migrations" is a rule
    of this repository.
    """
    return not words.content(sentence.low) - _ASKING


def of_manner(text: str) -> bool:
    """Whether a turn begins with how the person wants to be talked to, which is private."""
    low = fold(text[:300])
    return "manner" in words.kinds_of(low) and _of_manner(Sentence(text, low))


def _about(turns: Sequence[Turn], turn: int, body: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files and commands that a correction is about: what it names of what the agent just did,
    else the last thing that was done.
    """
    paths: list[str] = []
    commands: list[str] = []
    last = ""
    for one in reversed(turns[max(0, turn - NEAR) : turn]):
        if one.human:
            break
        path, name = edited_by(one), family(command_of(one))
        if path:
            paths.append(path)
        elif name and name.split()[0] not in LOOKING:
            commands.append(f"{name}*")
        last = last or path or (name and f"{name}*")
    spoken = fold(body)
    named = [
        p for p in paths if f" {p.rpartition('/')[2].lower()} " in spoken or p.lower() in spoken
    ]
    called = [c for c in commands if f" {c.split()[0].rstrip('*')} " in spoken]
    if named or called:
        return tuple(dict.fromkeys(named)), tuple(dict.fromkeys(called))
    return tuple(p for p in paths[:1] if p == last), tuple(c for c in commands[:1] if c == last)
