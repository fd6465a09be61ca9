"""Which of many files are the newest, by their names and by git."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from memcli.memory.dates import date_in_path
from memcli.project.git import ask, log_format, parse_log, work_tree

GIT_WAITS = 2.0  # seconds for the days of files


def newest_first(names: Iterable[str], changed: Mapping[str, str]) -> list[str]:
    """Names of files by the date in name or path, else by the day when git last
    `changed` them. Numbered ones count upward: the highest has the newest day of those
    beside it."""
    days = {}
    numbers = {}
    numbered = defaultdict(list)
    for name in names:
        dated = date_in_path(name)
        days[name] = dated or changed.get(name, "")
        folder, _, base = name.rpartition("/")
        number = re.match(r"\d{1,9}(?=\D)", base)
        if number and not dated:
            numbers[name] = int(number[0])
            numbered[folder].append(name)
    for beside in numbered.values():
        upward = sorted(beside, key=lambda name: (numbers[name], name))
        in_order = sorted(days[name] for name in beside)
        days.update(zip(upward, in_order, strict=True))

    def rank(name: str) -> tuple[str, int]:
        return days[name], numbers.get(name, 0)

    return sorted(days, key=rank, reverse=True)


def changed_on(base: str) -> dict[str, str]:
    """The day on which git last changed each file below a folder, by its name there;
    nothing where git does not say."""
    last_days: dict[str, str] = {}
    tree_top = Path(base)
    if work_tree(tree_top) is None:
        return last_days
    asked = ("--relative", "--diff-filter=AM", "--", "*.md")
    said = ask(tree_top, "log", *log_format("%cs"), *asked, timeout=GIT_WAITS)
    for commit in parse_log(said or "", 1):
        for name in commit.names:
            last_days.setdefault(name, commit.fields[0])
    return last_days
