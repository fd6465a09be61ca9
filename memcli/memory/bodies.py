"""A text as the body of an entry: what it may say without ending the entry early."""

from collections.abc import Sequence

from memcli.memory.grammar import HEADING, MARK, closes, is_inline


def safe_body(text: str) -> str:
    """`text` as a body that neither opens an entry, nor leaves a fence open, nor ends
    early."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
    fence = ""
    headings: list[int] = []
    for place, line in enumerate(lines):
        mark = MARK.first.match(line)
        if mark is None:
            if not fence and HEADING.first.match(line):
                headings.append(place)
        elif mark[1]:
            lines[place] = "***" if not fence else " ---"
        elif not fence:
            fence = "" if is_inline(mark) else mark[2]
        elif closes(mark, fence):
            fence = ""
    _deepen(lines, headings)
    return "\n".join([*lines, fence] if fence else lines)


def _deepen(lines: list[str], headings: Sequence[int]) -> None:
    """Put headings below the rank at which the body's own heading would end it."""
    ranks = {place: len(lines[place].split()[0]) for place in headings}
    own_rank = 2
    if headings and not "".join(lines[: headings[0]]).strip():
        own_rank = ranks.pop(headings[0])
    shift = own_rank + 1 - min(ranks.values(), default=7)
    if shift <= 0:
        return
    for place, rank in ranks.items():
        marks = "#" * max(min(rank + shift, 6), own_rank + 1)
        lines[place] = marks + lines[place].lstrip()[rank:]
