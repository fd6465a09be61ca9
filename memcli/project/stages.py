"""Read the current stage from an INTENT.md. Pure. When in doubt the stage is unknown:
if the text names two stages, refers to another day, or may describe the purpose of the
product."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from memcli.memory import front_matter
from memcli.memory.values import PHASES
from memcli.text.matching import table, verbose
from memcli.text.sentences import sentences

STAGES = PHASES[:-1]


def stage_of(text: str) -> tuple[str, str]:
    """The stage that INTENT.md names ("" if it does not say), and where it says so."""
    front = _front().match(text)
    if front:
        if stage := _in_front_matter(front[1]):
            return stage, "front matter"
        text = text[front.end() :]
    named = _agreed(_named_lines(text))
    if named != "":
        return named or "", "rules"
    sections = _sections(text)
    stage_line = (
        _agreed(_told(sections.now, marked=False))
        or _agreed(_told(sections.other, marked=True))
        or _agreed(_ordered(sections.other))
        or ""
    )
    return stage_line, "rules"


def _agreed(stages: Iterable[str]) -> str | None:
    """The stage that all agree on, "" if there is none, None if they differ."""
    distinct = set(stages)
    if len(distinct) > 1:
        return None
    return distinct.pop() if distinct else ""


# words


@cache
def _terms() -> dict[str, list[str]]:
    """The terms of `stages.txt` by group."""
    groups: dict[str, list[str]] = {}
    terms = []
    for line in table("project/stages.txt").splitlines():
        if line.startswith("["):
            terms = groups.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            terms += line.split("|")
    return groups


def _alternatives(group: str) -> str:
    """A pattern for any term of a group, the longest first."""
    return "|".join(map(_term, sorted(_terms()[group], key=len, reverse=True)))


def _term(term: str) -> str:
    """A pattern for a term: in scripts with spaces it is made of whole words."""
    text = re.escape(term).replace(r"\ \.\.\.\ ", r"\b.*?\b").replace(r"\*", r"\w*")
    if max(term) >= "\u2e80":  # from here on scripts have no blanks
        return text
    end = "" if term.endswith("'") else r"(?!\w)"
    return rf"(?<!\w){text}{end}"


@cache
def _any(group: str) -> re.Pattern[str]:
    """A pattern for any term of a group."""
    return re.compile(_alternatives(group), re.IGNORECASE)


@cache
def _stage_names() -> dict[str, str]:
    return {name: stage for stage in STAGES for name in _terms()[stage]}


# named stages: front matter, lines, headings, table rows


@verbose(lines=True, dot_all=True)
def _front() -> str:
    """Front matter at the beginning of a text; group 1 is its content."""
    return r"""
        \A \ufeff? ---[ \t]* \r?\n
        (.*?)                       # the lines between
        ^ --- [ \t]* \r? $
    """


@verbose(ignore_case=True, lines=True)
def _line() -> str:
    """A line, table row or bold cell that names a stage, or a heading above it."""
    return rf"""
        ^ [ \t>*_\#|-]*                             # marks of lists, quotes, tables
        (?: (?: {_loose("key before")} ) [ ] )?
        (?: (?P<stage> {_loose("key")} ) | (?P<state> {_loose("state key")} ) )
        (?: [ ] (?: {_loose("key after")} ) )?
        (?:
            [ \t\xa0*_`]* (?: [:=|：] | [ ][–—-][ ] )    # "Stage:", "| Stage |"
            [ \t*_`]* (?P<value> \S .*? )
          | (?P<heading> [ \t:*_]* \n (?: [ \t]* \n )* )  # "## Stage", a word below
            [ \t>*_`-]* (?P<below> [^\s\#|] .*? )
        )
        [ \t*_`|]* $
    """


def _loose(group: str) -> str:
    """The alternatives of a group for a verbose pattern."""
    return _alternatives(group).replace(" ", "[ ]").replace(r"\[ ]", "[ ]")


def _in_front_matter(inner: str) -> str:
    try:
        values = front_matter.read(inner).values
    except front_matter.Malformed:
        return ""
    given = (str(values.get(key) or "") for key in ("stage", "phase", "status"))
    return next(filter(None, map(_named, given)), "")


def _named_lines(text: str) -> Iterator[str]:
    """The stages that lines name; a status counts only if no line names a stage."""
    lines_by_name: dict[str, list[str]] = {"stage": [], "state": []}
    for line in _line().finditer(text):
        is_heading = line[0].lstrip(" \t").startswith("#")
        value = line["value"]
        if value is None and is_heading:
            value = line["below"]
        if stage := _named(value or ""):
            lines_by_name["stage" if line["stage"] else "state"].append(stage)
    yield from lines_by_name["stage"] or lines_by_name["state"]


@verbose(ignore_case=True)
def _end_of_name() -> str:
    """The point where the name of a stage ends and a remark begins."""
    return rf"""
        [(（\[,，;；。、]              # "review (since May)"
      | [.!?:：] (?: \s | $ )
      | \s [–—-] \s
      | \s (?: {_loose("since")} ) \s
    """


@verbose(ignore_case=True)
def _between_names() -> str:
    return r"\s* [/&+|→>] \s* | \s (?: and | und | et | y | e | и | or | to ) \s"


def _named(value: str) -> str:
    """The stage that a value names, "" if none or more than one."""
    head = _end_of_name().split(value.strip(" \t*_`'\"|"), maxsplit=1)[0]
    whole = _stage_of_name(head)
    if whole:
        return whole
    parts = [_stage_of_name(part) for part in _between_names().split(head)]
    return parts[0] if len(set(parts)) == 1 else ""


def _stage_of_name(name: str) -> str:
    """The stage that is called so, with or without "in the … phase" around it."""
    names = _stage_names()
    name = " ".join(name.lower().split()).strip(" .*_`'\"")
    for _ in range(4):
        if stage := names.get(name):
            return stage
        shorter = _without_ends(name)
        if shorter == name:
            return ""
        name = shorter
    return ""


def _without_ends(name: str) -> str:
    for term in sorted(_terms()["before a name"], key=len, reverse=True):
        glue = "" if term.endswith("'") or not _any_latin(term) else " "
        if name.startswith(term + glue) and name != term:
            return name[len(term) :].strip()
    for term in sorted(_terms()["after a name"], key=len, reverse=True):
        glue = " " if _any_latin(term) else ""
        if name.endswith(glue + term) and name != term:
            return name[: -len(term)].strip()
    if name.endswith(("phase", "sphase")):  # Entwurfsphase, Planungsphase
        return name.removesuffix("phase").removesuffix("s")
    return name


def _any_latin(term: str) -> bool:
    return not re.search("[\u2e80-\u9fff\uac00-\ud7a3]", term)


# what is told in sentences


class _Sections(NamedTuple):
    """The lines of the sections that tell of today, and of those that say nothing of
    when; the others are left out."""

    now: list[str]
    other: list[str]


def _sections(text: str) -> _Sections:
    sections = _Sections(now=[], other=[])
    section_lines: list[str] | None = sections.other
    for row in text.splitlines():
        if heading := re.match(r"#{1,6}[ \t]+(.+)", row):
            section_lines = _taken(sections, heading[1])
        elif section_lines is not None and not _aside().match(row):
            section_lines.append(row)
    return sections


def _taken(sections: _Sections, heading: str) -> list[str] | None:
    if _any("later").search(heading) or _any("aims").search(heading):
        return None
    return sections.now if _any("now").search(heading) else sections.other


@verbose
def _aside() -> str:
    return r"\s* (?: \| | [-*+] [ ] \[ [ xX] \] [ ] )  # a row or an item with a box"


@verbose
def _clause() -> str:
    return r"""
        [.;:!?]\s | [。；！？，、\n] | ,\s | (?<=[\u2e80-\u9fff]),
      | [ ] (?: and | but | und | aber | et | mais | y | pero | e | mas ) [ ]
    """


def _paragraphs(lines: Sequence[str]) -> list[str]:
    """The paragraphs and list items of some lines, each in one line."""
    whole = re.sub(r"\n(?![ \t]*(?:[-*+>\n]|\Z))", " ", "\n".join(lines))
    return [part.strip(" \t*+->") for part in whole.split("\n") if part.strip()]


def _told(lines: Sequence[str], *, marked: bool) -> Iterator[str]:
    """The stages of the clauses that tell what is done; with `marked` of those that
    speak of today."""
    for paragraph in _paragraphs(lines):
        for clause in _clause().split(f"{paragraph}\n"):
            elsewhen = _any("elsewhen").search(clause) or _any("over").search(clause)
            if not elsewhen and (not marked or _any("today").search(clause)):
                yield from _doing(clause)


def _doing(clause: str) -> Iterator[str]:
    for stage in STAGES:
        if _any(f"{stage} doing").search(clause) or _in_phase(stage).search(clause):
            yield stage


@cache
def _in_phase(stage: str) -> re.Pattern[str]:
    """ "in the design phase", "en phase de conception", "在设计阶段"."""
    names = _alternatives(stage)
    after = "|".join(map(re.escape, ("phase", "stage", "阶段", "階段", "段階", "단계")))
    before = "(?:phase|étape|fase|etapa|этапе|стадии) (?:de |di |do |da |d')?"
    return re.compile(
        rf"(?:{names})[ -]?(?:{after})|{before}(?:{names})", re.IGNORECASE
    )


# imperatives


def _ordered(lines: Sequence[str]) -> Iterator[str]:
    """The stages of the sentences that tell what is to be done with the software."""
    for paragraph in _paragraphs(lines):
        for words in sentences(paragraph, clauses=True):
            stages = [stage for stage in STAGES if _begins(stage, words)]
            if len(stages) == 1 and _any("work").search(words):
                yield stages[0]


def _begins(stage: str, sentence: str) -> bool:
    """Whether a sentence is an order of a stage; in scripts without spaces its verb may
    stand anywhere."""
    order = _any(f"{stage} order")
    found = order.search(sentence)
    return found is not None and (found.start() == 0 or not _any_latin(found[0]))
