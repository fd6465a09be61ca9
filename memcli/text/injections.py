"""Sentences that try to command the agent that reads them, and text without them."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cache

from memcli.text import matching
from memcli.text.foreign_orders import FOREIGN_ORDERS
from memcli.text.injection_rules import COMMANDS, PARTS
from memcli.text.lookalikes import LOOKALIKES
from memcli.text.matching import (
    Hints,
    Literals,
    Span,
    due,
    lowered,
    regex,
    settle,
    verbose,
)
from memcli.text.sentences import sentence_ends

INJECTION_NOTICE = "[removed: reads like an instruction to the agent]"


@verbose
def _list_marks() -> str:
    """The marks of a list or a quotation before a sentence."""
    return r"\s*+ (?> (?: (?: [-*+>\#]{1,6} | \d{1,3}[.)] ) \s++ )* )"


@verbose
def _single_letters() -> str:
    """Two letters that stand alone, one after the other."""
    return r" [^\w\n] (?<=\W\w\W) \w (?=\W) "


@verbose
def _spaced() -> str:
    """A run of letters that stand alone: `i g n o r e  a l l …`."""
    return r" (?<!\w) (?> (?: \w [^\w\n]{1,3} ){12,} ) \w? "


@verbose(ignore_case=True)
def _squeezed() -> str:
    """What such a run says when it is drawn together."""
    return r"""
        (?: ignore | disregard | forget )
        (?: all | any | of | the | your | my ){0,3}
        (?: previous | prior | above | earlier )
        (?: instructions? | prompts? | rules | directives )
      | (?: reveal | print | show ) (?: me )? (?: your | the ) systemprompt
    """


def neutralise(text: str) -> str:
    """`text` with each sentence that tries to command the agent replaced by a
    notice."""
    return settle(neutralise_once, text)


def neutralise_once(text: str) -> str:
    """`neutralise` without a second look at what the notices joined."""
    notices = [
        (span.start, span.end, INJECTION_NOTICE) for span in find_injections(text)
    ]
    return matching.replaced(text, notices)


def find_injections(text: str) -> list[Span]:
    """The sentences of `text` that try to command the reading agent: ascending and
    disjoint."""
    commands = list(_commands(text))
    plain = _without_imitations(text)
    if plain != text:
        commands += _commands(plain)
    return _sentences(text, sorted(commands, key=lambda span: span.start))


def _without_imitations(text: str) -> str:
    """`text` with the characters that are imitated: one for one, so that places hold."""
    if text.isascii():
        return text
    unusual = (char for char in set(text) if not char.isascii())
    return text.translate({ord(char): _shape(char) for char in unusual})


@cache
def _shape(char: str) -> str:
    """The ASCII character that another imitates, itself when none."""
    import unicodedata

    if ord(char) in LOOKALIKES:
        return chr(LOOKALIKES[ord(char)])
    shape = unicodedata.normalize("NFKD", char)[0]
    return shape if shape.isascii() else char


@cache
def _rules() -> Hints:
    """The rules by their hints, those in English first."""
    return matching.indexed(COMMANDS + FOREIGN_ORDERS)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    for name, meaning in PARTS.items():
        pattern = pattern.replace(name, meaning)
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.VERBOSE)


@cache
def _sought() -> Literals:
    return Literals((), _rules().at)


def _commands(text: str) -> Iterator[Span]:
    there = _sought().within(text)
    for kind, rule, _ in due(_rules(), lowered(text), there):
        for match in _compiled(rule).finditer(text):
            yield Span(kind, match.start(), match.end())
    if _single_letters().search(text):
        yield from _spaced_commands(text)


def _spaced_commands(text: str) -> Iterator[Span]:
    """The runs of single letters that say a command."""
    for run in _spaced().finditer(text):
        letters = regex(r"[\W_]++").sub("", run[0])
        if _squeezed().search(letters):
            yield Span("override", run.start(), run.end())


def _sentences(text: str, commands: list[Span]) -> list[Span]:
    """The spans widened to their sentences, or lines; list and quote marks before them
    stay."""
    if not commands:
        return []
    lines = (newline.end() for newline in re.finditer("\n", text))
    stops = sorted({*sentence_ends(text), *lines})
    result: list[Span] = []
    for span in commands:
        if result and span.start < result[-1].end:
            start = result.pop().start
        else:
            before = bisect_right(stops, span.start)
            start = stops[before - 1] if before else 0
            marks = _list_marks().match(text, start, span.start)
            start = marks.end() if marks else start
        after = bisect_left(stops, span.end)
        end = stops[after] if after < len(stops) else len(text)
        end = max(span.end, start + len(text[start:end].rstrip()))
        result.append(Span(span.kind, start, end))
    return result
