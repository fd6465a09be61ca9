"""Prose as it is indexed: what a bullet stands among."""

import re
from collections.abc import Sequence

from memcli.index import weights
from memcli.index.view import AROUND, BULLETS
from memcli.memory.grammar import CROWDED, is_crowded
from memcli.memory.values import Entry, Place
from memcli.memory.words import clean, sub_words
from memcli.project.listing import UNLISTED
from memcli.project.unlisted import OutOfView
from memcli.storage.files import Unreadable, decode

_LINKED = re.compile(r"[-*+] +\[[^\]\n]*\]\([^)\n]*\.md")


def passages(units: Sequence[Entry]) -> dict[str, str]:
    """Id of a bullet -> what it stands among, itself included, as it is searched and
    shown."""
    around: dict[str, str] = {}
    for run in _runs(units):
        if len(run) > 1:
            text = clean("\n".join(unit.body for unit in run))
            passage = f"{text}{AROUND}{sub_words(text)}"
            for unit in run:  # a lead itself stands among the first
                around.setdefault(unit.id, passage)
    return around


def _runs(units: Sequence[Entry]) -> list[list[Entry]]:
    """Units that are shown together; a long list goes on below the line that leads to
    it."""
    runs: list[list[Entry]] = [[]]
    for unit in units:
        last = runs[-1]
        if not last or not _joins(last[-1], unit):
            runs.append([unit])
        elif sum(len(each.body) for each in (*last, unit)) <= weights.PASSAGE:
            last.append(unit)
        else:
            runs.append([*filter(_leads, last[:1]), unit])
    return runs


def _leads(unit: Entry) -> bool:
    """Whether it is no bullet, and short enough to be said again."""
    return 4 * len(unit.body) <= weights.PASSAGE and not unit.body.startswith(BULLETS)


def _joins(before: Entry, unit: Entry) -> bool:
    same = (before.end, before.date, before.extra.get("title"))
    if same != (unit.start, unit.date, unit.extra.get("title")) or unit.body.startswith(
        "#"
    ):
        return False
    return not _LINKED.match(before.body) and not _LINKED.match(unit.body)


def indexable(data: bytes, place: Place) -> str:
    """The text of a file of which all is indexed. Raises `Unreadable`."""
    if place.of == UNLISTED:
        raise OutOfView
    text = decode(data)
    if "\0" in text[:2]:  # as UTF-16 without its mark begins
        raise Unreadable("is not UTF-8 text (byte 0)", 1)
    if is_crowded(text):
        raise Unreadable(CROWDED)
    return text
