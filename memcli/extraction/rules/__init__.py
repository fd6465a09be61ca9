"""What a session teaches, found by evidence alone: no model, no network, always the
same answer."""

import re
from collections.abc import Sequence
from os.path import basename

from memcli.extraction.rules import commands, evidence, words
from memcli.extraction.rules.commands import command_of, cut, family
from memcli.extraction.rules.evidence import Remark
from memcli.extraction.rules.words import (
    SpokenSentence,
    content,
    fold,
    sentences,
    spoken,
)
from memcli.sessions.model import Finding, Session, Turn
from memcli.sessions.tools import changed_by

# lessons of a session, sentences of a turn that are to be remembered
MOST = 7
REMINDERS = 3
TITLE = 112
# turns before a correction in which what it is about is looked for, files
NEAR = 40
FILES = 4
_NO_LESSON = {"question", "about nothing", "taken back"}
_MARKUP = re.compile(r"\*\*|__|^(?:[\s>*_.)(-]|\d+[.)])+(?=\w)")
_LED = re.compile(
    r"(?=(?:\S+\s){3})[^:`]{1,96}\b[a-z]+:\s"
)  # "The catch here is this: ..."
_CLAUSE = re.compile(r"[;:,]\s|\s[—–-]\s|\s(?=(?:because|so that|which|weil|porque) )")


def find(session: Session) -> tuple[list[Finding], tuple[str, ...]]:
    """What is worth remembering, in order of its turns, and the titles of what is over
    the most."""
    turns = session.turns
    reminders, used = _reminders(turns)
    worth = {True: lambda _: -99.0, False: evidence.by_weights}
    chosen = evidence.chosen(turns, lambda one: worth[(one.turn, one.at) in used](one))
    lessons = [_finding(*one, turns) for one in chosen]
    found = [*reminders, *lessons, *commands.recoveries(turns)]
    kept = sorted(found[:MOST], key=lambda one: one.turn)
    return kept, tuple(one.title for one in found[MOST:])


def _reminders(turns: Sequence[Turn]) -> tuple[list[Finding], set[tuple[int, int]]]:
    """What the person said to remember, and which sentences (turn, place) say so."""
    found: list[Finding] = []
    used: set[tuple[int, int]] = set()
    one = Finding(
        scope="observations",
        title="",
        body="",
        turn=0,
        kind="fact",
        type="declarative",
        priority="high",
    )
    before = ""
    reminds = words.pattern("remember")
    for i, turn in enumerate(turns):
        before = turn.text if spoken(turn) else before
        said = sentences(turn.text, typed=True) if turn.human else []
        told = [n for n, each in enumerate(said) if each.text[-1] not in "?？"]
        asks = [n for n in told if reminds.match(said[n].text)][:REMINDERS]
        facts = [text for n in asks if (text := _fact(said, n, before))]
        used |= {
            (i, n) for n, each in enumerate(said) if n in asks or each.text in facts
        }
        for text in facts:
            body = text[:1].upper() + text[1:]
            found.append(one._replace(title=title(text), body=body, turn=i))
    return found, used


def _fact(said: Sequence[SpokenSentence], n: int, before: str) -> str:
    text = words.pattern("remember").sub("", said[n].text)
    if about := content(text.lower()):
        return text if len(about) > 1 else ""  # a chore
    meant = [one for one in said[:n] or sentences(before) if len(content(one.low)) >= 3]
    return meant[-1].text if meant else ""


def title(text: str, longest: int = TITLE) -> str:
    """`text` as a title: without what leads into it, cut at the end of a word."""
    bare = _MARKUP.sub("", text).strip()
    lead = words.pattern("opening").match(bare)
    rest = bare[lead.end() :] if lead and len(bare) - lead.end() > 12 else bare
    led = _LED.match(rest)
    rest = rest[led.end() :] if led and len(rest) - led.end() > 20 else rest
    rest = rest if len(rest) <= longest else re.sub(r"\s\([^()]*\)", "", rest)
    half = words.pattern("subordinate")
    idle = words.listed("stop") | words.listed("filler")
    if len(rest) > longest and not half.match(rest):
        ends = (one.start() for one in _CLAUSE.finditer(rest))
        clauses = [
            rest[:end].rsplit(" ", 1) for end in ends if longest // 5 <= end <= longest
        ]
        whole = [
            one
            for one in clauses
            if one[-1] not in idle and not half.match(f"{one[-1]} ")
        ]
        rest = " ".join((whole or [[rest]])[-1])
    return cut(rest[:1].upper() + rest[1:], longest).rstrip(" .!,;:。！，；")


def _finding(body: str, found: Remark, turns: Sequence[Turn]) -> Finding:
    shown = found.evidence
    text = found.sentence.text
    points = "begins: points" in shown or text.rstrip(" .!").endswith(
        (" it", " that", " this")
    )
    lead = next((one.text for one in sentences(body) if points), text)
    own = lead in turns[found.turn].text and lead[-1] not in "?？:："
    one = Finding(
        scope="project", title=title(lead if own else text), body=body, turn=found.turn
    )
    if not found.human:
        if {"finding", "surprise", "denial"} & shown:
            return one._replace(kind="pitfall")
        return one._replace(
            kind="decision" if "settle" in shown else "fact", type="declarative"
        )
    if "manner" in shown and _is_manner(found.sentence.low):
        return one._replace(scope="observations", kind="preference", about_person=True)
    # "Ask me before you run migrations" is a rule of this repository, not of the
    # person.
    if "autonomy" in shown and not content(found.sentence.low) - words.listed("asking"):
        return one._replace(scope="escalation", kind="preference")
    if _corrects(shown):
        paths, names = about(turns, found.turn, body)
        one = one._replace(scope="corrective", kind="pitfall", type="corrective")
        return one._replace(paths=paths, commands=names)
    ordered = {"oblige", "forbid", "autonomy"} & shown
    wishes = "wish" in shown and "instead" not in shown
    if (
        ordered or wishes or {"durable", "preference"} & shown
    ) and "chosen" not in shown:
        names = about(turns, found.turn, body, named_only=True)[1] if ordered else ()
        kind = "policy" if ordered else "preference"
        return one._replace(scope="observations", kind=kind, commands=names)
    decided = {"settle", "instead", "chosen", "begins: tasks"} & shown
    return one._replace(kind="decision" if decided else "fact", type="declarative")


def _corrects(shown: frozenset[str]) -> bool:
    return {"conceded", "correct"} <= shown or bool(
        {"begins: corrects", "interrupted"} & shown
    )


def corrections(turns: Sequence[Turn]) -> list[tuple[int, str]]:
    """(turn, sentence) of what a person said to put the agent right, the first of each
    turn."""
    found: dict[int, str] = {}
    remarks = evidence.remarks(turns, evidence.hear(turns))
    for one in sorted(remarks, key=lambda one: (one.turn, one.at)):
        if one.human and _corrects(one.evidence) and not _NO_LESSON & one.evidence:
            found.setdefault(one.turn, one.sentence.text)
    return list(found.items())


def _is_manner(low: str) -> bool:
    """Whether a sentence is about how the agent talks, and not about words of the
    product."""
    return bool(content(low) & words.listed("manner")) or not low.isascii()


def of_manner(text: str) -> bool:
    """Whether a turn begins with how the person wants to be talked to, which is
    private."""
    low = fold(text[:300])
    return "manner" in words.kinds_of(low) and _is_manner(low)


def about(
    turns: Sequence[Turn], turn: int, body: str, *, named_only: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files and commands that a sentence names of what the agent did; without them,
    and beside a test, also the last command, or the files that were edited last in one
    go."""
    low = fold(body)
    over = False
    said = {*low.split()}
    tests = words.listed("testing")
    idle = words.listed("looking") | tests | words.listed("editing") | {""}
    files = list[str]()
    commands = list[str]()
    last: list[tuple[tuple[str, ...], str]] = []  # (files, command), the latest first
    for one in reversed(turns[max(0, turn - NEAR) : turn]):
        over = over or (one.human and bool(last))
        paths = changed_by(one, shell=True)
        command = family(command_of(one))
        program, _, rest = command.partition(" ")
        files += [
            path for path in paths if {path.lower(), basename(path).lower()} & said
        ]
        # Of "push --force" both are said.
        flagged = (
            said & {*re.findall(r"(?<=--)[\w-]+", command_of(one))}
            and f" {rest} " in low
        )
        named = program in said - words.listed("looking") or (rest and flagged)
        commands += [command] if named else []
        if not over and (paths or program not in idle):
            last.append((paths, "" if program in idle else command))
    decided = files or {command.partition(" ")[0] for command in commands} - tests
    if last and not decided and not named_only:
        files = [path for paths, _ in last for path in paths] if last[0][0] else []
        commands.append(last[0][1])
    globs = (f"{command}*" for command in dict.fromkeys(filter(None, commands)))
    return tuple(dict.fromkeys(files))[:FILES], tuple(globs)
