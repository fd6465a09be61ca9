"""The clauses of a rule: what is forbidden, and what is right instead. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from memcli.text.matching import verbose


def parts_of(text: str) -> Iterator[tuple[str, str]]:
    """(what is forbidden, what is right instead) of each sentence that forbids."""
    before = ""
    for sentence in _sentences(text):
        pieces = _clauses(sentence)
        forbidden = [piece for kind, piece in pieces if kind == "forbidden"]
        instead = [piece for kind, piece in pieces if kind == "instead"]
        if forbidden or instead:
            named = f"{before} {instead[0] if instead else ''}"
            banned = _resolved(" \n ".join(forbidden), named)
            yield banned, " \n ".join(instead)
        before = sentence


def _resolved(forbidden: str, before: str) -> str:
    """A ban in which "it" is the first thing that was named before."""
    if not pronoun().search(forbidden) or named_thing().search(forbidden):
        return forbidden
    named = named_thing().search(before)
    return pronoun().sub(named[0], forbidden) if named else forbidden


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


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?。！？])\s+|\n+", text) if part.strip()]


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
    found = [("instead", sentence[: marks[0].start])]
    ends = [mark.start for mark in marks[1:]] + [len(sentence)]
    for mark, end in zip(marks, ends, strict=True):
        text = sentence[mark.end : end]
        if mark.kind == "forbidden":
            found += _turned(text)
        else:
            found.append((mark.kind, text))
    return found


def _marks(sentence: str) -> list[_Mark]:
    """The marks of a sentence in their order, save those in code and within a ban."""
    kinds = {"forbidden": forbidding(), "instead": allowing()}
    marks: list[_Mark] = []
    for kind, pattern in kinds.items():
        matches = pattern.finditer(sentence)
        marks += [_Mark(match.start(), match.end(), kind) for match in matches]
    hidden: set[int] = set()
    for code in span().finditer(sentence):
        hidden.update(range(*code.span()))
    seen = [mark for mark in sorted(marks) if mark.start not in hidden]
    return [mark for mark in seen if not _is_part_of_ban(sentence, mark)]


@verbose(ignore_case=True)
def forbidding() -> str:
    """Words behind which stands what must not be done."""
    return r"""
        (?<![\w-]) (?: never | don['’]?t | do \s not | does \s not | must \s not | mustn['’]t
             | should \s not | shouldn['’]t | may \s not | cannot | can['’]t | avoid
             | no \s more | stop | refrain \s from | (?:is|are) \s not \s allowed \s to
             | not \s allowed \s to | forbidden \s to | not \s to | without | instead \s of
             | rather \s than | not | no
             | leave (?= .* \b alone \b ) | hands \s off
             | nie(?:mals)? | nicht | keine? | ne (?= \s \w+ \s (?:pas|jamais) ) | jamais | nunca | jamás | não
             | mai | non | никогда | нельзя | не ) \b (?! [:=]\w )   # not "no:xdist"
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
        \b (?: instead (?!\s of) ,? | uses? (?!\s of) | always | prefer | only | unless | except (?:\s for)?
             | but | stattdessen | nur | immer | toujours | siempre | sempre | utilise[rz]?
             | usar? | всегда | используй )\b
      | 改用 | 请用 | 使用
    """


@verbose(ignore_case=True)
def turn() -> str:
    """Where a clause turns from what is forbidden to what is right."""
    return r"""
        [;；] | (?<! files ) (?<! following ) (?<! these ) (?<! folders ) : (?=\s) | \s [—–-]{1,2} \s
      | , \s (?= (?: run | use | add | prefer | call | ask | create | write | just | go
          | open | raise | send | file | make | tell | say | stop | wait | leave | let ) \b )
      | , \s (?= \w+ \s (?: goes? | happens? | comes? | belongs? ) \s )
      | , \s (?= (?: `[^`]+` | [./]\S+ | (?: it | this | that | everything | CI ) \b )
                 \s (?! files | folders | tools | commands | scripts | tests | flags
                      | options | branches | always | as \b )
                 \w{2,} s \b )
    """


def _turned(clause: str) -> list[tuple[str, str]]:
    match = turn().search(clause)
    if match is None:
        return [("forbidden", clause)]
    return [("forbidden", clause[: match.start()]), ("instead", clause[match.end() :])]


def _is_part_of_ban(sentence: str, mark: _Mark) -> bool:
    """Whether "use" stands right behind "never", or the like."""
    before = sentence[: mark.start].rstrip()
    ends = [match.end() for match in forbidding().finditer(before)]
    return mark.kind == "instead" and len(before) in ends


def _tail(text: str) -> list[tuple[str, str]]:
    match = allowing().search(text)
    return [("instead", text[match.end() :])] if match else []
