"""The identifiers that code had when memory was written, and has no more."""

import time
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from memcli.index.fates import GONE, NEVER, PENDING, Anchor, Fate
from memcli.index.worktree import CODE, WorkTree
from memcli.project import git

BATCH: Final = 50  # names that one question to git is about
MOST_COMMITS: Final = 2000  # of memory that are known of
SAMPLES: Final = (7, 20)
"""So many commits of memory are looked at for a lost name, then so many more."""
_INVENTED = (
    *("fixtures", "__fixtures__", "testdata", "examples", "templates"),
    *("website", "docs"),
)
LIVING: Final = (*CODE, *(f":(exclude,glob)**/{name}/**" for name in _INVENTED))
"""Where a name must have stood to be missed: not only in an example."""


def removed_words(tree: WorkTree, missing: Collection[Anchor]) -> dict[Anchor, Fate]:
    """What stood in the code at the time of some commit of a memory file."""
    left = set(missing)
    if not left:
        return {}
    of_memory = f"--max-count={MOST_COMMITS}", "--", ":(glob)**/*.md"
    logged = tree.git("log", "--format=%H", *of_memory)
    if logged is None:
        return {}
    fates = dict[Anchor, Fate]()
    for commit in _sampled(logged.split()):
        was = set(_standing(tree, commit, left))
        left -= was
        fates |= _last_seen(tree, was, commit)
    if tree.is_late:
        return fates
    return fates | {anchor: Fate(NEVER) for anchor in left}


def _sampled(commits: list[str]) -> Iterable[str]:
    """Some of the commits, spread over all, then some more; the oldest is among the
    first."""
    coarse, fine = (max(1, len(commits) // parts) for parts in SAMPLES)
    return dict.fromkeys([*commits[::coarse], *commits[-1:], *commits[::fine]])


def _standing(
    tree: WorkTree, commit: str, wanted: Collection[Anchor]
) -> Iterator[Anchor]:
    """Those of the names that the code had at a commit."""
    names = list(wanted)
    for start in range(0, len(names), BATCH):
        some = names[start : start + BATCH]
        given = [part for anchor in some for part in ("-e", anchor.text)]
        words = _words(tree, *given, commit)
        yield from (anchor for anchor in some if anchor.text in words)


def _words(tree: WorkTree, *asked: str) -> set[str]:
    """The words that a search of the code prints; a clone may lack some of it."""
    left = tree.deadline - time.monotonic()
    if left <= 0:
        return set()
    done = git.run(("grep", "-ohwFI", *asked, "--", *LIVING), tree.top, left)
    tree.has_gaps |= done.returncode > 1
    return set(done.stdout.split())


def _last_seen(tree: WorkTree, words: set[Anchor], commit: str) -> dict[Anchor, Fate]:
    """The commits that took these away after one that had them, found by halving the
    line."""
    listed = tree.git("rev-list", "--reverse", "--first-parent", f"{commit}..HEAD")
    line = (listed or "").split()
    lost = words.difference(_standing(tree, "HEAD", words))
    fates = dict.fromkeys(words, PENDING) | {anchor: Fate(GONE) for anchor in lost}
    spans = [(-1, len(line) - 1, lost)] if line else []
    while spans:
        there, gone, some = spans.pop()
        if gone - there == 1 and some and not tree.is_late:
            told = tree.git("show", "-s", "--format=%h %cs", line[gone]) or ""
            removed, _, day = told.strip().partition(" ")
            fates |= {
                anchor: Fate(state=GONE, commit=removed, day=day) for anchor in some
            }
        elif some:
            half = (there + gone) // 2
            later = set(_standing(tree, line[half], some))
            spans += [(there, half, some - later), (half, gone, later)]
    return fates
