"""Make a text safe as the body of an entry: nothing in it may end the entry early."""

import re
from collections.abc import Sequence

from memcli.memory.grammar import HEADING, MARK, open_behind


def safe_body(text: str) -> str:
    """Change a text so that, as a body, it opens no entry, leaves no fence open and
    does not end early."""
    lines = re.split(r"\r\n|\n|\r", text.strip("\r\n"))
    fence = ""
    headings = []
    for place, line in enumerate(lines):
        mark = MARK.first.match(line)
        if mark:
            lines[place], fence = _at_mark(line, mark, fence)
        elif not fence and HEADING.first.match(line):
            headings.append(place)
    _deepen(lines, headings)
    return "\n".join([*lines, fence] if fence else lines)


def _at_mark(line: str, mark: re.Match[str], fence: str) -> tuple[str, str]:
    """The line of a delimiter or fence as a body may contain it, and the fence that is
    open after it."""
    if mark[1]:
        return " ---" if fence else "***", fence
    return line, open_behind(mark, fence)


def _deepen(lines: list[str], headings: Sequence[int]) -> None:
    """Lower the rank of headings that would otherwise end the body."""
    ranks = {place: len(lines[place].split()[0]) for place in headings}
    own_rank = 2
    above = lines[: headings[0]] if headings else []
    if headings and not "".join(above).strip():
        own_rank = ranks.pop(headings[0])
    lowest = own_rank + 1
    shift = lowest - min(ranks.values(), default=7)
    if shift <= 0:
        return
    for place, rank in ranks.items():
        deeper = min(rank + shift, 6)
        marks = "#" * max(deeper, lowest)
        heading = lines[place].lstrip()
        lines[place] = marks + heading[rank:]
