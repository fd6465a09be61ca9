"""Which of many files are the newest, by their names and by git."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from memcli.project.git import ask, log_format, parse_log, work_tree

GIT_WAITS = 2.0  # seconds for the days of files
_DATE = r"(?<!\d)(20\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)"


def newest_first(names: Iterable[str], changed: Mapping[str, str]) -> list[str]:
    """Names of files by the date in name or path, else by the day when git last
    `changed` them. Numbered ones count upward: the highest has the newest day of those
    beside it."""
    days: dict[str, str] = {}
    undated: list[str] = []
    for name in names:
        dates = ["-".join(parts) for parts in re.findall(_DATE, name)]
        if dates:
            days[name] = max(dates)
        else:
            undated.append(name)
    days |= {name: changed.get(name, "") for name in undated}
    numbered: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for name in undated:
        folder, _, base = name.rpartition("/")
        if number := re.match(r"\d{1,9}(?=\D)", base):
            numbered[folder].append((int(number[0]), name))
    for own in numbered.values():
        in_order = sorted(days[name] for _, name in own)
        days |= {
            name: day for (_, name), day in zip(sorted(own), in_order, strict=True)
        }
    number_of = {name: number for own in numbered.values() for number, name in own}
    return sorted(
        days, key=lambda name: (days[name], number_of.get(name, 0)), reverse=True
    )


def changed_on(base: str) -> dict[str, str]:
    """The day on which git last changed each file below a folder, by its name there;
    nothing where git does not say."""
    found: dict[str, str] = {}
    top = Path(base)
    if work_tree(top) is None:
        return found
    asked = ("--relative", "--diff-filter=AM", "--", "*.md")
    said = ask(top, "log", *log_format("%cs"), *asked, timeout=GIT_WAITS)
    for commit in parse_log(said or "", 1):
        for name in commit.names:
            found.setdefault(name, commit.fields[0])
    return found
