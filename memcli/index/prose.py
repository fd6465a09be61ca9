"""Prose as it is indexed: what a bullet stands among."""

import re
from collections.abc import Sequence

from memcli.index.view import AROUND, PASSAGE
from memcli.memory.values import Entry
from memcli.memory.words import clean, sub_words

_LINKED = re.compile(r"[-*+] +\[[^\]\n]*\]\([^)\n]*\.md")


def passages(units: Sequence[Entry]) -> dict[str, str]:
    """Id of a bullet -> what it stands among, itself included, as it is searched and
    shown."""
    runs: list[list[Entry]] = []
    for unit in units:
        last = runs[-1] if runs else []
        size = sum(len(other.body) for other in last) + len(unit.body)
        if last and size <= PASSAGE and _joins(last[-1], unit):
            last.append(unit)
        else:
            runs.append([unit])
    around: dict[str, str] = {}
    for run in runs:
        if len(run) > 1:
            text = clean("\n".join(unit.body for unit in run))
            around |= dict.fromkeys(
                (unit.id for unit in run), f"{text}{AROUND}{sub_words(text)}"
            )
    return around


def _joins(before: Entry, unit: Entry) -> bool:
    same = (before.end, before.date, before.extra.get("title"))
    if same != (unit.start, unit.date, unit.extra.get("title")) or unit.body.startswith(
        "#"
    ):
        return False
    return not _LINKED.match(before.body) and not _LINKED.match(unit.body)
