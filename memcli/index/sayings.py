"""Since when memory says a name: the commit of the main line that brought it in.

What was gone before somebody wrote a name down is not what they wrote about."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from memcli.index.fates import Anchor
from memcli.index.worktree import BROUGHT, PROSE_ENDINGS, UNKNOWN, WorkTree, literal

PROSE = tuple(f":(glob)**/*{ending}" for ending in PROSE_ENDINGS)

Pair = tuple[str, Anchor]  # an entry, and what it names
Named = tuple[str, str]  # a name as prose has it, and a file of memory that has it


def said_since(
    tree: WorkTree, names: Mapping[Pair, str], days: Mapping[str, str]
) -> dict[Pair, int]:
    """The place of the last commit before the tracked file of each pair had the name,
    and before the day of its entry: what stood there was there for whoever wrote it.
    UNKNOWN where no commit has brought the name."""
    named = {
        (entry, each): (_said(each), file) for (entry, each), file in names.items()
    }
    since = _came_in(tree, named.values())
    brought = set(_brought(tree, since))
    since_of = {}
    for pair, name in named.items():
        # of a value counts what the manifest said in that commit
        if name not in since:
            since_of[pair] = UNKNOWN
        elif name in brought and pair[1].kind != "value":
            since_of[pair] = BROUGHT
        else:
            # -1 is before the first commit
            since_of[pair] = min(since[name], tree.before(days[pair[0]])) - 1
    return since_of


def _came_in(tree: WorkTree, names: Iterable[Named]) -> dict[Named, int]:
    """The place of the last commit of the main line after which a file had a name
    that it had not before."""
    wanted = defaultdict[str, set[str]](set)
    for name, file in names:
        wanted[file].add(name)
    since = {}
    counts = Counter[Named]()
    for commit, file, rows in _changes(tree, wanted):
        place = tree.places.get(commit)
        for name, change in _counted(wanted[file], rows).items():
            before = counts[name, file]
            counts[name, file] += change
            if before <= 0 < before + change and place is not None:
                since[name, file] = place
    return since


def _brought(tree: WorkTree, since: Mapping[Named, int]) -> Iterator[Named]:
    """The names and files of what came from other prose in the same commit."""
    named_at = defaultdict[int, list[Named]](list)
    for named, place in since.items():
        named_at[place].append(named)
    how = "--first-parent", "-m", "-p", "-U0", "--no-renames", "--format="
    for place, all_named in named_at.items():
        commit = tree.line[place]
        patch = tree.git("show", *how, commit, "--", *PROSE) or ""
        names = {name for name, _ in all_named}
        added = _counted(names, _signed(patch))
        for name, file in all_named:
            if added[name] <= 0:
                yield name, file


def oldest(since: Mapping[Pair, int]) -> dict[Anchor, int]:
    """The first place at which any entry has each anchor; one that is not known comes
    before all others."""
    found = dict[Anchor, int]()
    for (_, anchor), place in since.items():
        found[anchor] = min(place, found.get(anchor, place))
    return found


def _said(anchor: Anchor) -> str:
    """An anchor's text as it stands in prose: without its tool or key, and the signs
    around it."""
    last_word = anchor.text.rpartition(" ")[2]
    return last_word.removeprefix("./").strip("/").rstrip("+")


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
    revision = tree.revision or "HEAD"
    shown = tree.git("log", *how, *shape, revision, "--", *specs) or ""
    by_heading = {f"{file} {file}": file for file in files}
    parts = shown.split("\0")
    commits = parts[1::2]
    patches = parts[2::2]
    for commit, patch in zip(commits, patches, strict=False):
        for change in re.split(r"(?m)^diff --git ", patch)[1:]:
            head, _, body = change.partition("\n@@")
            file = by_heading.get(head.partition("\n")[0])
            if file:
                yield commit, file, _signed(body)


def _signed(patch: str) -> list[str]:
    """The lines that a patch adds and takes."""
    return [row for row in patch.splitlines() if row.startswith(("+", "-"))]


def _counted(names: Collection[str], rows: Sequence[str]) -> dict[str, int]:
    """How many more of each name these changed lines make."""
    counts = dict.fromkeys(names, 0)
    longest_first = sorted(names, key=len, reverse=True)
    either = "|".join(map(re.escape, longest_first))
    # a name within a longer path is another
    within = re.compile(rf"(?<![\w-])(?<![\w-]/)v?({either})(?![\w-]|/[\w-])")
    for row in rows:
        change = 1 if row.startswith("+") else -1
        for name in within.findall(row):
            counts[name] += change
    return counts
