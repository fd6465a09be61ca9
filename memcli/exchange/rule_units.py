"""The rules in a text for agents, and what only informs. Pure.

A rule is a unit of its own: a paragraph, or an item of a list. What introduces a list
("does NOT support:") belongs to each of its items; where it is a rule itself, it and
the list are one. What is no rule stays together, below its heading."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from textwrap import dedent
from typing import NamedTuple

from memcli.extraction.rules import words
from memcli.memory import grammar, parser, prose
from memcli.memory.dates import date_in
from memcli.text.injections import find_injections
from memcli.text.matching import verbose
from memcli.text.sentences import sentence_ends

TITLE = 100
RULE_WORDS = 4  # Prose of fewer words that forbids nothing is no rule by itself
ABOUT_WORDS = 3  # A heading of fewer words does not say what its text is about
_MARKS = "#>*-+ \t"
_MARKUP = re.compile(r"\s*(```|~~~|([-*_=])\2{2,}\s*$)")
"""A line that opens a code fence or is a rule: no title."""


class RuleUnit(NamedTuple):
    """What becomes one entry; `path` are the headings above it, `date` is of one of
    them, `begins` is its first line as it stands in the text."""

    title: str
    text: str
    kind: str
    path: tuple[str, ...] = ()
    date: str = ""
    begins: str = ""


class _RuleBlock(NamedTuple):
    """A stretch of a section: a paragraph, an item or a numbered step of a list, or
    what stands by no words of its own ("other": code, a table)."""

    sort: str
    text: str

    @property
    def leads(self) -> bool:
        """Whether it introduces what is below it."""
        text = self.text.rstrip()
        is_bold = re.fullmatch(r"\*\*[^*]+\*\*", text.strip()) is not None
        return self.sort == "prose" and (is_bold or _ends_open(text))

    @property
    def words(self) -> str:
        """What it says, without the mark of an item."""
        if self.sort in ("item", "step"):
            return dedent(_item().sub("  ", self.text, count=1))
        return self.text


def _ends_open(text: str) -> bool:
    return text.rstrip("*_ \t").endswith((":", "："))


@verbose
def _item() -> str:
    """The mark of a list item at the beginning of a line."""
    return r"\A (?: [-*+] | (?P<step> \d{1,3} [.)] ) ) [ \t]+ (?: \[[ x]\] [ \t]+ )?"


@verbose
def _paragraph_end() -> str:
    """The line behind a paragraph: a blank one, an item, code or a table."""
    return r"[ \t]* (?: $ | [-*+][ ] | \d{1,3}[.)][ ] | ``` | ~~~ | \| )"


@verbose
def _tag_line() -> str:
    """A line that is a tag alone."""
    return r"[ \t]* < /? [a-zA-Z] [^<>]* > [ \t]*"


@verbose(lines=True)
def _commands() -> str:
    """Where commands for a shell begin, by the language of their code."""
    return r"^ [ \t]* (?: ``` | ~~~ ) [ \t]* (?: (?:ba|z|fi|power)? sh (?:ell)? | console ) \b"


@verbose
def _clause_end() -> str:
    """What parts the clauses of a sentence."""
    return r"[:;(] \s+ | (?<=,) \s+ | \s [-–—]+ \s | [.!?] [*_]* \s | \s \( "


@verbose(ignore_case=True)
def _order() -> str:
    """What an order to go by begins with in English ("read, write" only lists), and a
    "should" or "ask before" anywhere."""
    return r"""
        \b (?: should | ought \s to | make \s sure | ask \s before ) \b
      | \A \W* (?: (?: and | please | then ) \s )?
        (?: prefer | use | keep | write | run | make | add | put | name | follow | ensure
          | check ) \s (?! of \b )
    """


@verbose(ignore_case=True)
def _demand() -> str:
    """The words of a demand, and an "only" that begins one."""
    return r"\b must (?:n't)? \b | \b mandatory \b | \A \W* only \b"


def units(text: str, name: str) -> Iterator[RuleUnit]:
    """What a text in the file `name` says, in order."""
    own_name = name.rpartition("/")[2]
    for titles, body in _sections(grammar.with_line_feeds(text), name):
        # A text that is titled by its own name says nothing by it.
        named = titles[1:] if titles[:1] == (own_name,) else titles
        undated = (grammar.HEAD_DATE.sub("", title) for title in named)
        path = tuple(title.rstrip(":： ") for title in undated)
        date = next(filter(None, map(date_in, reversed(titles))), "")
        for unit in _of_section(path, body):
            yield unit._replace(path=path, date=date)


def _sections(scan: str, name: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The sections of a text that say something, each with the headings above it."""
    for segment in parser.parse(scan, name).segments:
        if segment.kind != "prose":
            continue
        above, sections = prose.headed(scan, segment)
        bodies: list[tuple[tuple[str, ...], str]] = [((), above)]
        for section in sections:
            lines = scan[section.start : section.end].strip("\n").partition("\n")
            bodies.append((section.titles, lines[2].strip("\n")))
        yield from (each for each in bodies if re.search(r"\w", each[1]))


def _of_section(path: tuple[str, ...], body: str) -> Iterator[RuleUnit]:
    """All of a section that is no rule as one unit, then its rules, a unit each. Below a
    heading that is a rule nothing stands by itself."""
    heading = "".join(path[-1:])
    rules = []
    other_blocks: list[_RuleBlock] = []
    for group in _groups(body) if kind_of(heading) == "fact" else ():
        of_group, left = _parted(group, heading)
        rules += of_group
        other_blocks += left
    if other_blocks or not rules:
        remainder = (
            other_blocks[0].words if len(other_blocks) == 1 else _joined(other_blocks)
        )
        yield _whole(path, remainder if rules else body)
    yield from rules


def _parted(
    group: Sequence[_RuleBlock], heading: str
) -> tuple[list[RuleUnit], Sequence[_RuleBlock]]:
    """The rules of a group, and what is left of it."""
    first, *below = group
    if _stands(first):  # it takes along what it introduces
        return [_rule(first._replace(text=_joined(group)), heading)], ()
    lead = first if first.leads else None
    rules = [_rule(block, heading, lead) for block in below if _stands(block)]
    left = [block for block in below if not _stands(block)]
    return rules, [first, *left] if left or not below else ()


def _stands(block: _RuleBlock) -> bool:
    """Whether a block is a rule that is understood without what is around it, or tries
    to command the agent, so that it is left out alone."""
    kind = "fact" if block.sort == "other" else kind_of(block.words)
    is_whole = block.sort == "item" or len(block.words.split()) >= RULE_WORDS
    is_way = kind == "preference" and is_whole and block.sort != "step"
    return kind == "policy" or is_way or bool(find_injections(block.words))


def _rule(block: _RuleBlock, heading: str, lead: _RuleBlock | None = None) -> RuleUnit:
    """A rule, titled behind its lead; else behind its heading, but for one that says by
    itself what to do and what not."""
    kind = kind_of(block.words)
    title, remainder = headline(block.words)
    text = block.words.strip()
    before = ""
    if lead is not None:
        leading = " ".join(lead.text.split()).replace("**", "")
        before = leading.rstrip(":： ") + ": "
        text = f"{lead.text.strip()}\n\n{block.text.strip()}"
    elif heading and kind != "policy":
        before = f"{heading} > "
    full_title = before + title
    if len(full_title) <= TITLE or not before:
        text = remainder
    begins = block.text.partition("\n")[0]
    return RuleUnit(title=shortened(full_title), text=text, kind=kind, begins=begins)


def _whole(path: tuple[str, ...], text: str) -> RuleUnit:
    heading = "".join(path[-1:])
    kind = kind_of(heading)
    above = " > ".join(path[-2:])
    title = shortened(above) or opening(text)
    if above and kind == "fact" and len(heading.split()) < ABOUT_WORDS:
        title = shortened(f"{above}: {opening(text)}")
    is_title = " ".join(text.split()) == title
    if kind == "fact" and _commands().search(text):
        kind = "workflow"
    begins = text.strip().partition("\n")[0]
    text = "" if is_title else text
    return RuleUnit(title=title, text=text, kind=kind, begins=begins)


def _groups(body: str) -> list[list[_RuleBlock]]:
    """The blocks of a section, those together of which the first introduces the
    others, or that are nothing without it."""
    groups: list[list[_RuleBlock]] = []
    for block in _blocks(body):
        first = groups[-1][0] if groups else block
        is_below = first.leads and block.sort != "prose"
        shows = first.sort in ("prose", "other") and block.sort == "other"
        if groups and (is_below or shows):
            groups[-1].append(block)
        else:
            groups += [[part] for part in _before_lead(block)]
    return groups


def _before_lead(block: _RuleBlock) -> list[_RuleBlock]:
    """A paragraph that introduces something, without the sentences before that."""
    ends = sentence_ends(block.text)
    if not block.leads or not ends:
        return [block]
    before, lead = block.text[: ends[-1]], block.text[ends[-1] :]
    return [_RuleBlock("prose", before.rstrip()), _RuleBlock("prose", lead)]


def _blocks(body: str) -> Iterator[_RuleBlock]:
    for found in _block().finditer(body):
        sort = "step" if found["step"] else str(found.lastgroup)
        yield _RuleBlock(sort, found[0].rstrip())


@verbose(lines=True)
def _block() -> str:
    """Code, a table, an item of a list with what is below it, or a paragraph."""
    mark = r"(?: [-*+] | \d{1,3} [.)] ) [ \t]"
    begins = rf"[ \t]* (?: \n | \Z | `{{3}} | ~~~ | \| ) | {mark}"
    return rf"""
        ^ (?: [ ]{{0,3}} (?P<fence> `{{3,}} | ~{{3,}} ) (?s: .*? ) (?: ^ [ ]{{0,3}} (?P=fence) .* | \Z )
          | (?: [ \t]* \| .* \n? )+ ) (?P<other>)
      | ^ (?: (?P<step> \d{{1,3}} [.)] [ \t] ) | [-*+] [ \t] ) .*
          (?: \n (?! {begins} ) .+ | (?: \n [ \t]* )* \n [ \t]+ \S .* )* (?P<item>)
      | ^ .* \S .* (?: \n (?! {begins} ) .+ )* (?P<prose>)
    """


def _joined(blocks: Sequence[_RuleBlock]) -> str:
    """Blocks as one text, the items of a list line by line."""
    text = ""
    before = ""
    for block in blocks:
        is_list = block.sort in ("item", "step") and before == block.sort
        text += ("\n" if is_list else "\n\n") + block.text
        before = block.sort
    return text.strip("\n")


def kind_of(text: str) -> str:
    """A policy forbids or demands, a preference says how a thing is to be done, and
    all else is a fact. What begins with code or a link tells of that."""
    plain = re.sub(r"`[^`]*`", "`x`", text).replace("**", "")
    clauses = list(filter(str.strip, filter(None, _clause_end().split(plain))))
    lows = [words.fold(clause) for clause in clauses if not _is_compound(clause)]
    if any(map(_forbids, lows)) or any(map(_demand().search, clauses)):
        return "policy"
    if plain.lstrip(_MARKS)[:1] in ("`", "["):
        return "fact"
    asks = (
        any(words.begins("begins: prefers", low) for low in lows)
        or any(map(_order().search, clauses))
        or words.holds_letters("must", words.fold(plain))
    )
    return "preference" if asks else "fact"


def _is_compound(clause: str) -> bool:
    """Whether a clause begins with a compound: "non-null" forbids nothing."""
    return re.match(r"\W*\w+-\w", clause) is not None


def _forbids(low: str) -> bool:
    begins = words.begins("begins: forbids", low) or words.begins("begins: must", low)
    return begins or words.says("forbids", low) or words.says("always", low)


def headline(text: str) -> tuple[str, str]:
    """A title and the rest: the first paragraph without its line breaks; when that is
    too long, its first sentence; when that is, too, its beginning and the whole text."""
    first_line, *more_lines = text.strip().split("\n")
    wrapped = takewhile(lambda line: not _paragraph_end().match(line), more_lines)
    paragraph = [first_line, *wrapped]
    joined = " ".join(line.strip() for line in paragraph)
    title = joined.strip(_MARKS).replace("**", "")
    remainder = "\n".join(more_lines[len(paragraph) - 1 :]).strip("\n")
    if len(title) <= TITLE:
        return title or "Note", remainder
    ends = sentence_ends(title)
    not_number = (end for end in ends if not _item().fullmatch(title[:end]))
    first = title[: next(not_number, None)].rstrip()
    if len(first) > TITLE:
        return shortened(title), text.strip()
    return first, f"{title[len(first) :].strip()}\n{remainder}".strip("\n")


@verbose
def _closed() -> str:
    """A text in which every bracket and every span of code is closed."""
    return r"(?> (?: [^`(] | ` [^`]* ` | \( (?: [^`()] | ` [^`]* ` )* \) )* )"


def titled(text: str) -> tuple[str, str]:
    """The first line as the title, and the rest; all of the text when that line cannot
    be one."""
    first_line, _, remainder = text.partition("\n")
    title = first_line.strip().lstrip("# ").strip()
    if _MARKUP.match(first_line) or not title:
        named = (
            line.strip("#>*- \t")
            for line in text.split("\n")
            if not _MARKUP.match(line)
        )
        title = next(filter(None, named), title or "Note")
        remainder = text
    return (title, remainder) if len(title) <= TITLE else (shortened(title), text)


def shortened(title: str) -> str:
    """One line of at most `TITLE` characters: cut at a word, and in no brackets or code
    where half of it is left; "…" says that it goes on, as a colon at its end does."""
    title = " ".join(title.split())
    begin = title
    if len(title) > TITLE:
        begin = title[: max(title.rfind(" ", 0, TITLE), 0) or TITLE]
        closed = _closed().match(begin)
        if closed and closed.end() > TITLE // 2:
            begin = closed[0]
    elif not _ends_open(title):
        return title
    return begin.rstrip(" ,;:：") + " …"


def opening(text: str) -> str:
    """A title for a text: its first paragraph; a tag or a fence on a line of its own
    says nothing."""
    lines = [
        line
        for line in text.split("\n")
        if not (_tag_line().fullmatch(line) or _MARKUP.match(line))
    ]
    return shortened(headline("\n".join(lines))[0])
