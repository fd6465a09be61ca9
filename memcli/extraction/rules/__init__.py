"""What a session teaches, found by its words alone: no model, no network, always the
same answer. Rules keep little: what a person states for good is kept, what is likely is
proposed, all else is left to history."""

import re
from collections.abc import Sequence
from itertools import chain, dropwhile, takewhile
from os.path import basename
from typing import NamedTuple

from memcli.extraction.rules import commands, words
from memcli.extraction.rules.commands import command_of, cut, family
from memcli.extraction.rules.statements import (
    LIKELY,
    TITLE,
    Statement,
    is_composed,
    own_sentences,
    stated,
)
from memcli.extraction.rules.words import (
    SpokenSentence,
    content,
    fold,
    sentences,
    spoken,
)
from memcli.sessions.model import Finding, Session, Turn
from memcli.sessions.taking_back import taken_back
from memcli.sessions.tools import changed_by, read_by
from memcli.text.matching import regex, verbose

MOST = 7  # lessons from one session
REMINDERS = 3  # "remember this" lessons from one turn
SURE = 0.7  # the importance of what rules keep, until a person confirms it
# turns before a correction in which what it is about is looked for, files
NEAR = 40
FILES = 4

# What leads into a sentence and is no part of the rule: "Ok so, ...", "No, ...", whom it
# asks, and that somebody thinks so.
_OPENING = r"""(?xi)
    (?: (?: ok(?:ay)? | so | well | btw | also | and | but | then | please | pls | hey | hi
          | wait | hm+ | oh | ah | yes | yeah | nope | (?:no+ | non | não)(?=\s*[,.!:;–—-]) | actually | nvm | sure
          | right | thanks? | cool | nice | great | wrong | incorrect
          | (?:that | this)(?:['’]?s | [ ]is)[ ](?:wrong | incorrect)
          | note(?:[ ]that)? | remember(?:[ ]that)? | lets | let['’]s
          | (?:can | could | would | will)[ ](?:you | we)
          | i(?:['’]d[ ]like | [ ]want | [ ]need)[ ]you[ ]to
          | i[ ](?:think | guess | feel | believe)(?:[ ]that | [ ]like)?
          | nein | bitte | und | aber | kannst[ ]du | ich[ ]glaube
          | por[ ]favor | vale | puedes | creo[ ]que | pouvez-vous | peux-tu | je[ ]pense[ ]que
          | да | нет | и | а | пожалуйста | 不对 | 不是 | 好的? | 请(?:你)? | 你?帮我 )
        (?![\w'’-]) [\s,.!:;–—-]{0,4}
      | [:;)(]+ \s
      | (?: @ | https?:// ) \S+ \s (?=\S+\s\S) )+
"""
# Emphasis, and the marks of a list before a word.
_MARKUP = r"(?x) \*\* | ^(?: [\s>*_.)(-] | \d+[.)] )+ (?=\w)"
# Where a clause ends: a comma ends one only before a word that begins another, else it
# stands in a list.
_CLAUSE = r"""(?xi)
    ; \s | \s [—–] \s | [，；。]
    | ,? \s (?= (?: because | so[ ]that | otherwise | which | while | weil | damit | sonst
                  | parce[ ]que | sinon | porque | para[ ]que | perché | altrimenti | senão
                  | потому[ ]что | иначе ) [ ] )
    | , \s (?= (?: since | so | but | or[ ]else | and[ ](?:the|it|we|you|i|they|not|then)
              | it | this | that | they | we | i | use | not | instead | denn | aber | car
              | mais | pero | ma | mas | но | а ) [ ] )
"""
_ORDERS = {"always", "for good", "forbids", "general", "must"}


class RuleFindings(NamedTuple):
    """What rules keep, what they propose, and the titles of what is over the most."""

    kept: list[Finding]
    proposed: list[Finding]
    more: tuple[str, ...] = ()


def find(session: Session) -> RuleFindings:
    """What is worth remembering, in order of its turns."""
    turns = session.turns
    reminders = [*_taken_back(turns), *_reminders(turns)]
    statements = stated(turns)
    sure = [_finding(statement, turns) for statement in statements if statement.is_rule]
    findings = [*reminders, *sure]
    likely = sorted(
        (
            statement
            for statement in statements
            if not statement.is_rule and statement.likeliness >= LIKELY
        ),
        key=lambda statement: -statement.likeliness,
    )
    recovered = commands.recoveries(turns)
    proposed = [*(_finding(statement, turns) for statement in likely), *recovered]
    kept = sorted(findings[:MOST], key=lambda statement: statement.turn)
    more = tuple(statement.title for statement in findings[MOST:])
    return RuleFindings(kept=kept, proposed=proposed, more=more)


def _taken_back(turns: Sequence[Turn]) -> list[Finding]:
    """What the person takes back, with what holds instead."""
    findings = []
    for index, turn in enumerate(turns):
        back = taken_back(turn.text) if turn.human else None
        if back is None or not back.about:
            continue
        if back.instead:
            finding = _reminder(back.instead, index)
            findings.append(finding._replace(retires=back.about))
        else:
            finding = Finding("observations", title(back.about), back.about, index)
            findings.append(
                finding._replace(retires=back.about, retires_all=back.every)
            )
    return findings


def _reminders(turns: Sequence[Turn]) -> list[Finding]:
    """What the person said to remember."""
    findings = []
    before = ""
    for index, turn in enumerate(turns):
        if not turn.human:
            before = turn.text if spoken(turn) else before
            continue
        if taken_back(turn.text) is not None or is_composed(turn.text):
            continue
        said = own_sentences(turn.text)
        asks = [n for n, one in enumerate(said) if not one.asks and one.reminds]
        for n in asks[:REMINDERS]:
            if text := _fact(said, n, before):
                findings.append(_reminder(text, index))
    return findings


def _reminder(text: str, turn: int) -> Finding:
    return Finding(
        scope="observations",
        title=title(text),
        body=text[:1].upper() + text[1:],
        turn=turn,
        kind="fact",
        type="declarative",
        priority="high",
    )


def _fact(spoken: Sequence[SpokenSentence], n: int, before: str) -> str:
    text = regex(words.REMEMBER).sub("", spoken[n].text)
    if about := content(text.lower()):
        return text if len(about) > 1 else ""  # a chore
    meant = [
        one for one in spoken[:n] or sentences(before) if len(content(one.low)) >= 3
    ]
    return meant[-1].text if meant else ""


def title(text: str, longest: int = TITLE) -> str:
    """`text` as a title: without what leads into it, cut at the end of a word."""
    bare = regex(_MARKUP).sub("", text).strip()
    lead = regex(_OPENING).match(bare)
    rest = bare[lead.end() :] if lead and len(bare) - lead.end() > 12 else bare
    if len(rest) > longest:
        rest = regex(r"\s\([^()]*\)").sub("", rest)
    rest = first_clauses(rest, longest)
    first = rest.partition(" ")[0].rstrip(",:;")
    if regex(r"[^\W\d_]+(?:['’][a-z]+)?").fullmatch(first):  # no path, no address
        rest = rest[:1].upper() + rest[1:]
    return cut(rest, longest).rstrip(" .!,;:。！，；")


def first_clauses(text: str, longest: int) -> str:
    """The longest beginning of a text that ends where a clause does and is not too
    long; the text itself where there is none."""
    if len(text) <= longest:
        return text
    found = (each.start() for each in regex(_CLAUSE).finditer(text))
    ends = [end for end in found if longest // 5 <= end <= longest]
    return text[: ends[-1]] if ends else text


def _finding(statement: Statement, turns: Sequence[Turn]) -> Finding:
    """A statement of a person as a finding: its scope and kind by what it shows."""
    finding = Finding(
        scope="observations",
        title=title(statement.text),
        body=statement.body,
        turn=statement.turn,
        importance=SURE,
        priority="medium",
        points=statement.likeliness,
    )
    if "manner" in statement.shows:
        return finding._replace(kind="preference", about_person=True)
    if "corrects" in statement.shows:
        paths, globs = about(turns, statement.turn, statement.body)
        return finding._replace(
            scope="corrective",
            kind="pitfall",
            type="corrective",
            paths=paths,
            commands=globs,
        )
    if statement.shows & {"language", "prefers", "wishes"}:
        return finding._replace(kind="preference")
    if statement.shows & _ORDERS:
        named = about(turns, statement.turn, statement.text, named_only=True)[1]
        return finding._replace(kind="policy", commands=named)
    if "instead" in statement.shows:
        return finding._replace(scope="project", kind="decision", type="declarative")
    return finding._replace(scope="project", kind="fact", type="declarative")


def corrections(turns: Sequence[Turn]) -> list[tuple[int, str]]:
    """(turn, sentence) of what a person said to put the agent right, the first of each
    turn."""
    return [
        (statement.turn, statement.text)
        for statement in stated(turns)
        if "corrects" in statement.shows
    ]


def of_manner(text: str) -> bool:
    """Whether a turn begins with how the person wants to be talked to, which is
    private."""
    return words.says("manner", fold(text[:300]))


def about(
    turns: Sequence[Turn], turn: int, body: str, *, named_only: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files and commands that a sentence names of what the agent did or read;
    without them, and beside a test, also the last command and the files that were
    edited in the same exchange, the latest first. A command in a code span is the one
    that is meant, whatever ran last."""
    low = fold(body)
    before = turns[max(0, turn - NEAR) : turn][::-1]
    touched = (*_edited(before), *chain.from_iterable(map(read_by, before)))
    files = [path for path in touched if _names(low, path)]
    calls = [call for call in before if _names_command(low, call)]
    names_work = files or {*map(_program, calls)} - words.listed("testing")
    if not named_only and not names_work:
        last = _last_exchange(before)
        files = _edited(last)
        calls += [call for call in last[:1] if _program(call) not in _idle()]
    commands = _quoted_commands(body) or [*map(_command, calls)]
    globs = (f"{command}*" for command in commands)
    return tuple(dict.fromkeys(files))[:FILES], tuple(dict.fromkeys(globs))


def _quoted_commands(body: str) -> list[str]:
    """The commands in the code spans of a sentence, without what is particular."""
    return list(filter(None, map(family, _quoted_command().findall(body))))


@verbose
def _quoted_command() -> str:
    """A code span of a program's name and what it is given."""
    return r"(?<!`) ` ( [a-z][\w.+-]* (?: [ ]+ [^\s`]+ )+ ) ` (?!`)"


def _edited(turns: Sequence[Turn]) -> list[str]:
    return [path for one in turns for path in changed_by(one, shell=True)]


def _last_exchange(before: Sequence[Turn]) -> list[Turn]:
    """Of turns, the latest first, those with the last work, up to a person's."""
    worked = dropwhile(lambda one: not _works(one), before)
    return [*takewhile(lambda one: not one.human, worked)]


def _idle() -> frozenset[str]:
    kinds = ("looking", "editing", "testing")
    return frozenset({""}).union(*map(words.listed, kinds))


def _command(turn: Turn) -> str:
    return family(command_of(turn))


def _program(turn: Turn) -> str:
    return _command(turn).partition(" ")[0]


def _works(turn: Turn) -> bool:
    """Whether a turn edits a file or runs what is no test and no look."""
    return bool(changed_by(turn, shell=True)) or _program(turn) not in _idle()


def _names(low: str, path: str) -> bool:
    return bool({path.lower(), basename(path).lower()} & set(low.split()))


def _names_command(low: str, turn: Turn) -> bool:
    """Whether a sentence names the program that a turn runs or, of "push --force",
    both."""
    program, _, rest = _command(turn).partition(" ")
    spoken = {word.lstrip("-") for word in low.split()}
    if program in spoken - words.listed("looking"):
        return True
    flags = set(re.findall(r"(?<=--)[\w-]+", command_of(turn)))
    return bool(rest and spoken & flags and f" {rest} " in low)
