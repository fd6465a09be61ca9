"""The clauses of a rule: what is forbidden, and what is right instead. Pure."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from memcli.text import sentences as whole
from memcli.text.matching import verbose


def parts_of(text: str) -> Iterator[tuple[str, str]]:
    """(what is forbidden, what is right instead) of each sentence that forbids."""
    before = ""
    for sentence in sentences(text):
        pieces = _clauses(sentence) if may_rule(sentence) else []
        forbidden = [piece for kind, piece in pieces if kind == "forbidden"]
        instead = [piece for kind, piece in pieces if kind == "instead"]
        if forbidden or instead:
            nearby = (instead[0] if instead else "", before)
            banned = _resolved(" \n ".join(forbidden), nearby)
            yield banned, " \n ".join(instead)
        before = sentence


@lru_cache(maxsize=1)
def prose_of(text: str) -> str:
    """A text without its fenced blocks and tables, which show and do not forbid, and
    without the marks of emphasis."""
    lines = []
    is_fenced = False
    for line in text.splitlines():
        is_border = line.lstrip().startswith(("```", "~~~"))
        if is_border:
            is_fenced = not is_fenced
        elif not is_fenced and not line.lstrip().startswith("|"):
            lines.append(line)
    return emphasis().sub(lambda match: match["code"] or "", "\n".join(lines))


@verbose
def emphasis() -> str:
    """Marks of emphasis, or code, which keeps its own. Each begins with what it looks
    for and looks behind later: it is found faster."""
    return r"""
        (?P<code> `[^`\n]*` ) | \*\* (?<! /\*\* ) (?!/)
      | __ (?<! \w__ ) (?=\w) | __ (?<= \w__ ) (?!\w)
    """


@verbose(ignore_case=True)
def reason() -> str:
    """Where a ban ends and its condition or reason begins."""
    return r"\b (?: until | till | because | since | before | so | if | when | whenever | while ) \b"


def _resolved(forbidden: str, nearby: Iterable[str]) -> str:
    """A ban in which "it" is the one thing that was named in the same sentence, or in
    the one before; of several nobody knows which."""
    if not pronoun().search(forbidden) or named_thing().search(forbidden):
        return forbidden
    for text in nearby:
        names = {match[0] for match in named_thing().finditer(text)}
        if names:
            is_clear = len(names) == 1
            return (
                names.pop().join(pronoun().split(forbidden)) if is_clear else forbidden
            )
    return forbidden


@verbose(ignore_case=True)
def pronoun() -> str:
    """A word for what was named before."""
    return r"\b (?: it | them | these | those | one ) \b"


@verbose(ignore_case=True)
def named_thing() -> str:
    """What a later "it" may be: a file, or an object of the trade."""
    return rf"""
        {path_like().pattern}
      | \b (?: pull \s requests? | PRs? | issues? | tags? | branch(?:es)? | releases?
             | migrations? | snapshots? | lock \s? files? | packages? | dependenc(?:y|ies) ) \b
    """


@verbose
def path_like() -> str:
    """A file or folder named in a text."""
    return r"""
        (?<![\w@:/.-])
        (?: \.?/? [\w.*{}@-]+ / [\w./*{},@-]*          # a/b, src/, gen/*.py
          | \.env [\w.*-]* | \.[a-z]+rc \b
          | [\w*-]+ (?:\.[\w*-]+)* \. (?: lock | json | toml | ya?ml | py | pyi | tsx? | jsx?
              | mjs | cjs | go | rs | rb | php | java | kt | swift | c | h | cpp | cs | sql
              | md | mdx | html | css | scss | proto | xml | gradle | tf | sh | cfg | ini
              | conf | env | prisma | graphql | snap | txt | csv | key | pem ) (?!\w)
          | (?: Dockerfile | Makefile | Gemfile | Procfile | Jenkinsfile | CODEOWNERS ) \b
        ) (?<![.,])
    """


@verbose
def span() -> str:
    """A code span, or a quotation that looks like code."""
    return r"(?<!`) `+ (?P<code> [^`\n]{1,200} ) `+ | [\"“] (?P<quoted> [\w.-]+ \s [^\"”\n]{1,60} ) [\"”]"


@lru_cache(maxsize=1)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, and its lines, those that break off and go on in the
    next as one: of one text, its commands and files are read in turn."""
    joined = re.sub(r"(?<![.!?:\n])\n(?=[a-z`./_])", " ", text)
    return tuple(whole.sentences(joined))


BAN_WORDS = """
    never OR not OR "don t" OR dont OR "mustn t" OR "shouldn t" OR cannot OR "can t" OR avoid
    OR no OR stop OR refrain OR forbidden OR banned OR prohibited OR disallowed OR "off limits"
    OR "read only" OR readonly OR without OR instead OR rather OR (leave AND alone)
    OR "hands off" OR approval OR permission OR ok OR confirmation
    OR nie OR niemals OR nicht OR kein OR keine OR keinen OR ne OR jamais OR nunca OR jamás
    OR não OR mai OR non OR никогда OR нельзя OR не OR 不要* OR 禁止* OR 不能* OR 别* OR 勿*
    OR 금지* OR しない* OR 하지* OR npm OR yarn OR pnpm OR bun OR pip OR poetry OR pipenv
    OR uv OR conda"""
"""What each text has of which `suggest` makes something, as full-text search takes it:
what forbids, and programs for one thing."""


_TELLING = frozenset(
    re.findall(r"\w+", BAN_WORDS)
    + """use always prefer unless except but stattdessen nur immer toujours siempre
    sempre utilise utiliser utilisez usa usar""".split()
)
"""The words of all that forbids, and of what is right instead, as far as they have no
other letters than English."""


def may_rule(sentence: str) -> bool:
    """Whether a sentence has a word by which it may forbid something or say what is right
    instead: most have none."""
    words = re.findall(r"\w+", sentence.lower())
    return not (sentence.isascii() and _TELLING.isdisjoint(words))


def is_rule(sentence: str) -> bool:
    """Whether a sentence forbids or demands something."""
    demanded = demands().search(sentence) is not None
    return demanded or "forbidden" in dict(_clauses(sentence))


@verbose(ignore_case=True)
def demands() -> str:
    """Words that say that something is to be done: anywhere, or at the beginning."""
    return rf"\b (?: always | must ) \b | \A \W* (?: {prescribes().pattern} )"


class _Mark(NamedTuple):
    """Words that make what follows forbidden, or say what to do instead."""

    start: int
    end: int
    kind: str


def _clauses(sentence: str) -> list[tuple[str, str]]:
    """The clauses of a sentence, each "forbidden", "instead" or ""."""
    behind = forbidden_behind().search(sentence)
    if behind:
        end = behind.end()
        return [("forbidden", sentence[:end]), *_tail(sentence[end:])]
    marks = _marks(sentence)
    if not any(mark.kind == "forbidden" for mark in marks):
        return _tail(sentence) if marks else []
    clauses = [("instead", sentence[: marks[0].start])]
    ends = [mark.start for mark in marks[1:]] + [len(sentence)]
    for mark, end in zip(marks, ends, strict=True):
        text = sentence[mark.end : end]
        kind, before = clauses[-1]
        if mark.kind != "forbidden":
            clauses.append((mark.kind, text))
        elif kind == "forbidden" and not divides().search(path_like().sub("", before)):
            clauses.append(("", text))  # "never commit without running the tests"
        else:
            clauses += _turned(text)
    return clauses


@verbose(ignore_case=True)
def divides() -> str:
    """What stands between two bans of a sentence: a mark, a word that joins, nothing."""
    return r"""
        [,;:.()|、，。—–] | \s -{1,2} \s
      | \b (?: and | or | nor | und | oder | et | ou | y | o | и ) \b | \A \s* \Z
    """


def _marks(sentence: str) -> list[_Mark]:
    """The marks of a sentence in their order, save those in code and within a ban."""
    kinds = {"forbidden": forbidding(), "instead": allowing()}
    marks = []
    for kind, pattern in kinds.items():
        matches = pattern.finditer(sentence)
        marks += [_Mark(match.start(), match.end(), kind) for match in matches]
    hidden: set[int] = set()
    for code in span().finditer(sentence):
        hidden.update(range(*code.span()))
    visible = [mark for mark in sorted(marks) if mark.start not in hidden]
    return [
        mark
        for mark in visible
        if not _is_part_of_ban(sentence, mark) and _begins(sentence, mark)
    ]


def _begins(sentence: str, mark: _Mark) -> bool:
    """Whether a mark forbids where it stands: "no" at the beginning of a clause ("there
    is no fixture" does not), "without" behind something, "not" behind what is to be done
    instead ("it runs a, not b" does not)."""
    word = sentence[mark.start : mark.end].lower()
    before = sentence[: mark.start].rstrip(" \t*_`\"'✗❌🚫>#-")
    if word == "without":
        return bool(before)
    if word == "not":
        return not before or prescribes().search(span().sub(" ", before)) is not None
    if word == "no":
        is_joined = before.lower().endswith((" and", " or"))
        return not before or before[-1] in ".;:,(|—–" or is_joined
    return True


@verbose(ignore_case=True)
def prescribes() -> str:
    """A word by which something is to be done."""
    return rf"""
        {allowing().pattern}
      | \b (?: run | call | do | execute | write | make | install | edit | keep | put | stage
             | commit | push | go | add | delete | prefer | must | should | via | with
             | never | open | create | build | test | set | start ) \b
    """


BEFORE_NOT = (
    "is are was were be been does did has have had will would could can if or whether"
    " why but"
).split()
"""Words behind which "not" says how something is, not what must not be done."""
AFTER_NOT = "only just yet all every complete necessarily sure for in as on at".split()
"""Words before which it does."""


@verbose(ignore_case=True)
def forbidding() -> str:
    """Words behind which stands what must not be done."""
    says_how_it_is = "(?=not)" + "".join(rf"(?<! \b {word} \s )" for word in BEFORE_NOT)
    tells_nobody = "(?=do)" + "".join(
        rf"(?<! \b {word} \s )" for word in ("i", "they", "these")
    )
    return rf"""
        (?<![\w-]) (?: never | {tells_nobody} (?: don['’]?t | do \s not )
             | must \s not | mustn['’]t | should \s not | shouldn['’]t | may \s not | avoid
             | (?: (?<= \b you \s ) | (?<= \b agents \s ) ) (?: cannot | can['’]t )
             | no \s more | stop (?= \s \w+ ing \b ) | refrain \s from
             | (?:is|are) \s not \s allowed \s to
             | not \s allowed \s to | forbidden \s to | not \s to | without | instead \s of
             | rather \s than | no
             | {says_how_it_is} not (?! \s (?: {" | ".join(AFTER_NOT)} ) \b )
             | leave (?= .* \b alone \b ) | hands \s off
             | nie(?:mals)? | nicht | keine? | ne (?= \s \w+ \s (?:pas|jamais) ) | jamais | nunca | jamás | não
             | mai | non | никогда | нельзя | не ) \b (?! [:=-]\w )   # not "no:xdist", "non-empty"
      | 不要 | 禁止 | 不能 | 别 | 勿
    """


@verbose(ignore_case=True)
def forbidden_behind() -> str:
    """Words before which stands what must not be done ("X is forbidden")."""
    return r"""
        \b (?:is|are|being) \s (?:strictly \s)? (?: forbidden | banned | prohibited
          | not \s allowed | off[- ]limits | disallowed | never \s (?:ok|okay|allowed)
          | read-?only | not \s ok (?:ay)? )
      | \b (?:must|should|may) \s (?:never|not) \s be \s \w+ \b
      | \b (?:is|are) \s never \s [\w-]+ ed \b
      | \b (?:requires?|needs?) \s (?:my|an?|explicit|the) \s (?:\w+ \s)?
        (?:approval|permission|ok|confirmation) \b
      | しない(?:で|こと) | 금지 | 하지 \s 마
    """


@verbose(ignore_case=True)
def allowing() -> str:
    """Words behind which stands what is right instead."""
    return r"""
        \b (?: instead (?!\s of) ,? | use (?!\s of) | always | prefer | only | unless | except (?:\s for)?
             | but | stattdessen | nur | immer | toujours | siempre | sempre | utilise[rz]?
             | usar? | всегда | используй )\b
      | 改用 | 请用 | 使用
    """


@verbose(ignore_case=True)
def turn() -> str:
    """Where a clause turns from what is forbidden to what is right."""
    return r"""
        [;；] | \s [—–-]{1,2} \s
      | (?<! files ) (?<! following ) (?<! these ) (?<! folders ) (?<! artifacts )
        (?<! commands ) : (?=\s)
      | , \s (?= (?: run | use | add | prefer | call | ask | create | write | just | go
          | open | raise | send | file | make | tell | say | stop | wait | leave | let ) \b )
      | , \s (?= \w+ \s (?: goes? | happens? | comes? | belongs? ) \s )
      | , \s (?= (?: `[^`]+` | [./]\S+ | \S+\.\w+ | (?: it | this | that | everything | CI ) \b )
                 \s (?! files | folders | tools | commands | scripts | tests | flags
                      | options | branches | always | as \b )
                 \w+ s \b )
    """


def _turned(clause: str) -> list[tuple[str, str]]:
    match = turn().search(clause)
    is_list = match and match[0] == ":" and len(clause[: match.start()].split()) < 2
    if not match or is_list:  # "never commit: .env"
        return [("forbidden", clause)]
    return [("forbidden", clause[: match.start()]), ("instead", clause[match.end() :])]


def _is_part_of_ban(sentence: str, mark: _Mark) -> bool:
    """Whether "use" stands right behind "never", or the like."""
    before = sentence[: mark.start].rstrip()
    ends = [match.end() for match in forbidding().finditer(before)]
    return mark.kind == "instead" and len(before) in ends


def _tail(text: str) -> list[tuple[str, str]]:
    """What a text prescribes, nothing where it only says what to do in a case."""
    match = allowing().search(text)
    if not match or case().search(text[: match.start()]):
        return []
    return [("instead", text[match.end() :])]


@verbose(ignore_case=True)
def case() -> str:
    """Words for a case that may be."""
    return r"\b (?: if | when | whenever | can | may | wenn | si | если ) \b"
