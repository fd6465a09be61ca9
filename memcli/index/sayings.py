"""Since when memory says a name: the commit of the main line that brought it in.

What was gone before somebody wrote a name down is not what they wrote about."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from memcli.index.fates import Anchor
from memcli.index.worktree import PROSE_ENDINGS, WorkTree, literal

UNKNOWN: Final = -1
"""The place of what no commit has brought in, or only the last one: before all of the
line. Nobody can tell yet whether it was written about what was gone before."""
BROUGHT: Final = -2
"""The place of what a commit only brought from other prose: its time is not told."""
PROSE: Final = tuple(f":(glob)**/*{ending}" for ending in PROSE_ENDINGS)

Said = tuple[Anchor, str]  # an anchor, and a file of memory that has it


def said_since(tree: WorkTree, said: Collection[Said]) -> dict[Said, int]:
    """The place of the commit since which a file of memory has had each name; UNKNOWN
    where none has brought it."""
    wanted = defaultdict[str, set[str]](set)
    for anchor, file in said:
        if file in tree.files:
            wanted[file].add(_said(anchor))
    since = dict[tuple[str, str], int]()
    counts = defaultdict[tuple[str, str], int](int)
    for commit, file, rows in _changes(tree, wanted):
        for name, change in _counted(wanted[file], rows).items():
            before = counts[name, file]
            counts[name, file] += change
            if before <= 0 < before + change and commit in tree.places:
                since[name, file] = tree.places[commit]
    brought = set(_brought(tree, since))
    last = len(tree.line) - 1
    found = dict.fromkeys(said, UNKNOWN)
    for anchor, file in said:
        row = _said(anchor), file
        # of a value counts what the manifest said in that commit
        if row in brought and anchor.kind != "value":
            found[anchor, file] = BROUGHT
        elif row in since and since[row] < last:
            found[anchor, file] = since[row]
    return found


def _brought(
    tree: WorkTree, since: Mapping[tuple[str, str], int]
) -> Iterator[tuple[str, str]]:
    """The names and files of what came from other prose in the same commit."""
    rows_at = defaultdict[int, list[tuple[str, str]]](list)
    for row, place in since.items():
        rows_at[place].append(row)
    how = "--first-parent", "-m", "-p", "-U0", "--no-renames", "--format="
    for place, rows in rows_at.items():
        patch = tree.git("show", *how, tree.line[place], "--", *PROSE) or ""
        changed = [line for line in patch.splitlines() if line.startswith(("+", "-"))]
        more = _counted({name for name, _ in rows}, changed)
        yield from (row for row in rows if more[row[0]] <= 0)


def oldest(since: Mapping[Said, int]) -> dict[Anchor, int]:
    """The first place at which any file has each anchor; one that is not known comes
    before all others."""
    found = dict[Anchor, int]()
    for (anchor, _), place in since.items():
        found[anchor] = min(place, found.get(anchor, place))
    return found


def _said(anchor: Anchor) -> str:
    """An anchor's text as it stands in prose: without its tool or key, and the signs
    around it."""
    return anchor.text.rpartition(" ")[2].removeprefix("./").strip("/").rstrip("+")


def _changes(
    tree: WorkTree, files: Collection[str]
) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Commits, the oldest first, with each of these files that they changed and the
    lines that they added and took, led by `+` and `-`."""
    if not files:
        return
    how = "--reverse", "--first-parent", "-m", "--no-renames", "-p", "-U0"
    shape = "--no-prefix", "--format=%x00%H%x00"
    specs = map(literal, sorted(files))
    shown = tree.git("log", *how, *shape, tree.revision or "HEAD", "--", *specs) or ""
    parts = shown.split("\0")
    for commit, patch in zip(parts[1::2], parts[2::2], strict=False):
        for change in re.split(r"(?m)^diff --git ", patch)[1:]:
            head, _, body = change.partition("\n@@")
            names = head.partition("\n")[0]
            file = next((each for each in files if names == f"{each} {each}"), "")
            rows = body.splitlines()
            if file:
                yield commit, file, [row for row in rows if row.startswith(("+", "-"))]


def _counted(names: Collection[str], rows: Sequence[str]) -> dict[str, int]:
    """How many more of each name these changed lines make."""
    counts = dict.fromkeys(names, 0)
    longest_first = sorted(names, key=len, reverse=True)
    either = "|".join(map(re.escape, longest_first))
    # a name within a longer path is another
    within = re.compile(rf"(?<![\w-])(?<![\w-]/)v?({either})(?![\w-]|/[\w-])")
    for row in rows:
        for name in within.findall(row):
            counts[name] += 1 if row.startswith("+") else -1
    return counts
