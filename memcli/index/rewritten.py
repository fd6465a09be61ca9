"""How much of a file is new since something was written about it."""

import datetime
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from memcli.index.worktree import WorkTree, literal

TOGETHER = 1000  # files that one comparison names


def rewritten(
    tree: WorkTree, named: Mapping[str, Collection[str]]
) -> dict[tuple[str, str], float]:
    """The share of the lines of a file that is new since a day, by (day, file); `named`
    are the days on which something was written about a file. Only those files are
    compared, with the last commit of that day."""
    listed = tree.git("diff", "--name-only", "--no-renames", "-z", "HEAD") or ""
    lately = named.keys() & set(listed.split("\0"))
    files_of = defaultdict[str, list[str]](list)
    for file, days in named.items():
        for day in days:
            files_of[day].append(file)
    newest = _newest_commits(tree)
    shares: dict[tuple[str, str], float] = {}
    for day, files in sorted(files_of.items()):
        commit = newest(day)
        if not commit:
            continue
        # Between two commits git need not look at the work tree.
        settled = [file for file in files if file not in lately]
        changed = list(lately.intersection(files))
        for path, share in _new_in(tree, settled, commit, "HEAD"):
            shares[day, path] = share
        for path, share in _new_in(tree, changed, commit):
            shares[day, path] = share
    return shares


def _new_in(
    tree: WorkTree, files: Sequence[str], *ends: str
) -> Iterator[tuple[str, float]]:
    for start in range(0, len(files), TOGETHER):
        specs = map(literal, files[start : start + TOGETHER])
        yield from new_shares(tree, *ends, "--", *specs)


def new_shares(tree: WorkTree, *ends: str) -> Iterator[tuple[str, float]]:
    """Files that lost lines between two commits, or since one, and the share that is
    new."""
    how = "--numstat", "--no-renames", "-z"
    counted = tree.git("diff", *how, *ends) or ""
    for row in counted.split("\0"):
        added, taken, path = [*row.split("\t"), "", ""][:3]
        if not added.isdecimal() or taken == "0":
            continue
        if lines := tree.read(path).count(b"\n"):
            yield path, min(int(added) / lines, 1.0)


def _newest_commits(tree: WorkTree) -> Callable[[str], str]:
    """What tells the last commit of a day, "" where there is none."""
    listed = tree.git("rev-list", "--timestamp", "HEAD") or ""
    rows = [row.split(" ") for row in listed.splitlines()]
    times = [-int(made) for made, _ in rows]
    if times != sorted(times):  # some clock went wrong: as git walks them
        return lambda day: (
            tree.git("rev-list", "-1", f"--before={day}T23:59:59", "HEAD") or ""
        ).strip()

    def newest(day: str) -> str:
        end = datetime.datetime.fromisoformat(f"{day}T23:59:59").timestamp()
        place = bisect_left(times, -int(end))
        return rows[place][1] if place < len(rows) else ""

    return newest
