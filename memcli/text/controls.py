"""Text without what hides or steers (controls, private parts, secrets, orders), and as
a quote."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cache

from memcli.text import matching
from memcli.text.matching import (
    Span,
    due,
    lowered,
    pattern,
    regex,
    replaced,
    rules,
    settle,
)
from memcli.text.secrets import redact_once

INJECTION_NOTICE = "[removed: reads like an instruction to the agent]"
_MARKS = r"\s*+(?:(?:[-*+>#]{1,6}|\d{1,3}[.)])\s++)*+"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    for word, meaning in matching.stanzas("text/injections.words").items():
        pattern = pattern.replace(word, meaning)
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.VERBOSE)


@cache
def _shape(char: str) -> str:
    """The ASCII character that another imitates, itself when none."""
    import unicodedata

    odd, plain = matching.stanzas("text/injections.words")["<LOOKALIKES>"].split("\n")
    at = odd.find(char)
    shape = plain[at] if at >= 0 else unicodedata.normalize("NFKD", char)[0]
    return shape if shape.isascii() else char


def neutralise(text: str) -> str:
    """`text` with each sentence that tries to command the agent replaced by a
    notice."""
    return settle(neutralise_once, text)


def neutralise_once(text: str) -> str:
    """`neutralise` without a second look at what the notices joined."""
    return replaced(
        text, [(s.start, s.end, INJECTION_NOTICE) for s in find_injections(text)]
    )


def find_injections(text: str) -> list[Span]:
    """The sentences of `text` that try to command the reading agent: ascending and
    disjoint."""
    # With the characters that are imitated; one for one, so that positions hold.
    seen = () if text.isascii() else set(text)
    odd = {ord(c): new for c in seen if not c.isascii() and (new := _shape(c)) != c}
    found = [*_commands(text), *(_commands(text.translate(odd)) if odd else ())]
    return _sentences(text, sorted(found, key=lambda span: span.start)) if found else []


def _commands(text: str) -> Iterator[Span]:
    known = rules(
        "injections.rules"
    )  # the hints of what is shouted are looked for as written
    low = lowered(text)
    orders = due(
        rules("orders.rules")["orders"], low
    )  # of other languages than English
    for kind, rule, _ in (
        *due(known["commands"], low),
        *orders,
        *due(known["shouted"], text),
    ):
        for match in _compiled(rule).finditer(text):
            yield Span(kind, match.start(), match.end())
    # Single letters in a row, then the whole run of them.
    for run in (
        _compiled("<SPACED>").finditer(text)
        if _compiled("<SINGLES>").search(text)
        else ()
    ):
        if _compiled("<SQUEEZED>").search(regex(r"[\W_]++").sub("", run[0])):
            yield Span("override", run.start(), run.end())


def _sentences(text: str, found: list[Span]) -> list[Span]:
    """The spans widened to their sentences, or lines; list and quote marks before them
    stay."""
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


_BLANK = "\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u3164\uffa0"
"""Letters and marks that show nothing, though Unicode counts them as printable."""


def _is_plain(text: str) -> bool:
    """A quick look, sure when it says yes: printable, and no mark that joins or selects
    (UTF-8)."""
    if not text.replace("\n", "").replace("\t", "").isprintable():
        return False
    if text.isascii():
        return True
    data = text.encode()
    marked = any(mark in data for mark in (b"\xcd\x8f", b"\xef\xb8", b"\xf3\xa0"))
    return not marked and not any(blank in text for blank in _BLANK)


def strip_controls(text: str) -> str:
    """`text` without control, escape, bidi and zero-width characters; line ends become
    newlines."""
    if _is_plain(text) or not pattern("text/controls", "suspect").search(text):
        return text
    text = regex("\r\n?|[\u2028\u2029]").sub("\n", text)
    text = pattern("text/controls", "escape").sub("", text)
    text = pattern("text/controls", "unseen").sub("", text)
    text = pattern("text/controls", "joiner").sub(lambda m: "" if m[1] else m[0], text)
    text = regex("(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]++").sub("", text)
    return regex("[\ud800-\udfff]").sub("\ufffd", text)


for_display = strip_controls  # text that is safe to print on a terminal
PRIVATE_TAG = r"(?i)<\s{0,8}(/?)\s{0,8}private\s{0,8}>"
"""Begins a private part, or ends it where the group is not empty."""


def strip_private(text: str, *, lines: bool = False) -> str:
    """`text` without `<private>...</private>`; what is not closed is dropped to the
    end. With `lines` the line ends in it stay."""
    kept = []
    at = 0
    depth = 0
    for tag in regex(PRIVATE_TAG).finditer(text) if "<" in text else ():
        if not tag[1]:
            if depth == 0:
                kept.append(text[at : tag.start()])
                at = tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                kept.append("\n" * text.count("\n", at, tag.end()) if lines else "")
                at = tag.end()
    if not kept:
        return text
    result = "".join([*kept, text[at:]] if depth == 0 else kept)
    # Dropping a part may join halves of another tag: what follows was meant to be
    # hidden.
    again = next(
        (tag for tag in regex(PRIVATE_TAG).finditer(result) if not tag[1]), None
    )
    return result[: again.start()] if again else result


def fence_safe(text: str, tag: str = "recalled-memory") -> str:
    """`text` in which nothing opens or closes `<tag>`, letters and dashes, wide ones
    too."""
    if not any(map(text.__contains__, "<＜﹤")):
        return text
    dash = "[-_ \u2010-\u2015\u2212\ufe63\uff0d]?"
    name = "".join(
        dash if char == "-" else f"[{char}{chr(ord(char) + 0xFEE0)}]" for char in tag
    )
    # A dangling "<" at the end could open the tag together with whatever is printed
    # next.
    return regex(rf"[<＜﹤](?=[\s/\\／]*+(?:{name}|\Z))", re.IGNORECASE).sub(
        "&lt;", text
    )


MARK = "> "
_TAG = r"((?<!`)(`+)(?!`)(?:.{0,400}?[^`])\2(?!`))|(?<!\w)<(?=[A-Za-z/!|?])"
"""Code, in group 1, or where a tag begins."""
_TURN = (
    r"(?i)<(?=[\s/|?!]*(?:system|user|assistant|human|developer|tool|function|invoke|antml|im_"
    r"|command|instruction|reminder|recalled|context|result|message|output|parameter|private))"
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_UNDERLINE = r"(?=\s{0,3}(?:=+|-+)\s*$)(\s*)"


def for_prompt(text: str) -> str:
    """Text that is safe to inject: no controls, private parts, secrets, orders or
    fence."""

    def once(text: str) -> str:
        return fence_safe(neutralise_once(redact_once(strip_private(text))))

    return settle(once, strip_controls(text))


def for_pipe(text: str) -> str:
    """Text for a pipe, where an agent may read it: no controls, secrets or orders, and
    no tag that begins a turn of a conversation."""

    def once(text: str) -> str:
        return regex(_TURN).sub("&lt;", neutralise_once(redact_once(text)))

    return settle(once, strip_controls(text))


def quoted(text: str, mark: str = MARK) -> str:
    """`text` with `mark` before each line, tags escaped, and no line that underlines a
    heading."""
    return "\n".join((mark + line).rstrip() for line in _lines(text.splitlines()))


def escaped(line: str) -> str:
    """`line` whose tags are text: `<` becomes `&lt;`, but in code or after a word
    (`List<int>`), where that is done to the tags of harnesses alone."""
    if "<" not in line:
        return line
    plain = regex(_TAG).sub(lambda found: found[1] or "&lt;", line)
    return regex(_TURN).sub("&lt;", plain)


def _lines(lines: list[str]) -> Iterator[str]:
    closable = _closable(lines)
    fence = ""
    before = ""
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            fence = (
                ""
                if mark and mark[1].startswith(fence) and not mark[2].strip()
                else fence
            )
            yield regex(_TURN).sub("&lt;", line)
        else:
            if mark and len(mark[1]) <= closable[at].get(mark[1][0], 0):
                fence = mark[1]
            plain = escaped(line)
            yield (
                regex(_UNDERLINE).sub(r"\1\\", plain, count=1)
                if before.strip()
                else plain
            )
        before = line


def _closable(lines: list[str]) -> list[dict[str, int]]:
    """For each line the longest fence of either sort that a later line can close."""
    found: list[dict[str, int]] = []
    longest: dict[str, int] = {}
    for line in reversed(lines):
        found.append(longest)
        mark = _FENCE.match(line)
        if mark and not mark[2].strip() and len(mark[1]) > longest.get(mark[1][0], 0):
            longest = {**longest, mark[1][0]: len(mark[1])}
    return found[::-1]
