"""Find the newest of many files, by name and by git."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from memcli.memory.dates import date_in_path
from memcli.project.git import ask, log_format, parse_log, work_tree

GIT_WAITS = 2.0  # seconds for git to date files


def newest_first(names: Iterable[str], changed: Mapping[str, str]) -> list[str]:
    """File names by the date in name or path, else by the day git last `changed` them.
    Among numbered files, the highest number gets the newest day of its neighbours."""
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
    """The day of the last commit to each file below a folder, by relative name; empty
    if git does not say."""
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
