"""Find the sentences that try to command the reading agent, and replace them by a notice."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cache

from memcli.text.matching import Span, due, lowered, regex, replaced, rules, settle, stanzas

INJECTION_NOTICE = "[removed: reads like an instruction to the agent]"
_MARKS = r"\s*+(?:(?:[-*+>#]{1,6}|\d{1,3}[.)])\s++)*+"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    for word, meaning in stanzas("text/injections.words").items():
        pattern = pattern.replace(word, meaning)
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.VERBOSE)


@cache
def _shape(char: str) -> str:
    """The ASCII character that another imitates, itself when none."""
    import unicodedata

    odd, plain = stanzas("text/injections.words")["<LOOKALIKES>"].split("\n")
    at = odd.find(char)
    shape = plain[at] if at >= 0 else unicodedata.normalize("NFKD", char)[0]
    return shape if shape.isascii() else char


def neutralise(text: str) -> str:
    """`text` with each sentence that tries to command the agent replaced by a notice."""
    return settle(neutralise_once, text)


def neutralise_once(text: str) -> str:
    """`neutralise` without a second look at what the notices joined."""
    return replaced(text, [(s.start, s.end, INJECTION_NOTICE) for s in find_injections(text)])


def find_injections(text: str) -> list[Span]:
    """The sentences of `text` that try to command the reading agent: ascending and disjoint."""
    # With the characters that are imitated; one for one, so that positions hold.
    seen = () if text.isascii() else set(text)
    odd = {ord(c): new for c in seen if not c.isascii() and (new := _shape(c)) != c}
    found = [*_commands(text), *(_commands(text.translate(odd)) if odd else ())]
    return _sentences(text, sorted(found, key=lambda span: span.start)) if found else []


def _commands(text: str) -> Iterator[Span]:
    known = rules("injections.rules")  # the hints of what is shouted are looked for as written
    low = lowered(text)
    orders = due(rules("orders.rules")["orders"], low)  # of other languages than English
    for kind, rule in (*due(known["commands"], low), *orders, *due(known["shouted"], text)):
        for match in _compiled(rule).finditer(text):
            yield Span(kind, match.start(), match.end())
    # Single letters in a row, then the whole run of them.
    for run in _compiled("<SPACED>").finditer(text) if _compiled("<SINGLES>").search(text) else ():
        if _compiled("<SQUEEZED>").search(regex(r"[\W_]++").sub("", run[0])):
            yield Span("override", run.start(), run.end())


def _sentences(text: str, found: list[Span]) -> list[Span]:
    """The spans widened to their sentences, or lines; list and quote marks before them stay."""
    stops = [m.end() for m in regex(r"[.!?](?=\s)|[。！？\n]").finditer(text)]
    result: list[Span] = []
    for span in found:
        if result and span.start < result[-1].end:
            start = result.pop().start
        else:
            before = bisect_right(stops, span.start)
            start = stops[before - 1] if before else 0
            marks = regex(_MARKS).match(text, start, span.start)
            start = marks.end() if marks else start
        after = bisect_left(stops, span.end)
        end = stops[after] if after < len(stops) else len(text)
        end = max(span.end, start + len(text[start:end].rstrip()))
        result.append(Span(span.kind, start, end))
    return result
