"""Prose as it is indexed: what a bullet stands among, and decisions that hold no
more."""

import re
from collections.abc import Sequence

from memcli.index.view import AROUND
from memcli.memory.values import Entry
from memcli.memory.words import clean, sub_words

PASSAGE = 1200  # characters of bullets that are searched and shown together
_LINKED = re.compile(r"[-*+] +\[[^\]\n]*\]\([^)\n]*\.md")
_RECORDS = frozenset({"adr", "adrs", "decisions", "decision-records"})
_STATUS = re.compile(
    r"(?im)^(?:[-*+|] {1,4})?(?:#{1,6} {1,4})?[*_]{0,2}status[*_:]{0,4}[ |\t]{0,8}\r?\n?\r?\n?"
    r"[ \t]{0,8}(?:~~[^~\n]{1,40}~~[ \t]{0,4})?[\"'*_~\[]{0,4}(superseded|rejected|deprecated)\b"
)


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


def ruled_out(path: str, text: str) -> str:
    """Of the record of a decision, the word of its status by which it does not hold;
    else ""."""
    folder, _, name = path.lower().rpartition("/")
    if not _RECORDS.isdisjoint(folder.split("/")) or name.startswith("adr"):
        status = _STATUS.search(text[:4000])
        return status[1].lower() if status else ""
    return ""
