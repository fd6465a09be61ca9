"""What a branch does to what memory rests on, and what it adds that nobody should
want."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from memcli.index.anchors import anchors_of
from memcli.index.codebase import Codebase
from memcli.index.fates import Anchor
from memcli.index.worktree import is_prose
from memcli.project import git
from memcli.similarity.opposites import PlacedEntry, opposites
from memcli.text.injections import find_injections
from memcli.text.matching import regex
from memcli.text.secrets import find_secrets

SECONDS = 20


class Resting(NamedTuple):
    """An entry, where it stands."""

    id: str
    title: str
    path: str
    line: int


class BranchFinding(NamedTuple):
    """`what` is removes, moves, untold, opposes, secret or order, of these `entries`.

    `name` is what the branch removes, `detail` its new name."""

    what: str
    name: str = ""
    detail: str = ""
    entries: tuple[Resting, ...] = ()


def review(
    root: Path,
    base: str,
    head: str,
    entries: Sequence[PlacedEntry],
    fresh: frozenset[str],
) -> tuple[BranchFinding, ...]:
    """What a reviewer should know of a branch, beside its changes. `fresh` are the ids
    it writes.

    `head` is "" for the work tree. Time is bounded: what git cannot tell by then is not
    told."""
    tree_top = git.work_tree(root)
    if not tree_top:
        return ()
    named = defaultdict[Anchor, list[PlacedEntry]](list)
    for path, entry in entries:
        if entry.status != "retired":
            for anchor in anchors_of(entry.extra, entry.body):
                named[anchor].append(PlacedEntry(path, entry))
    tree = Codebase(tree_top, root, time.monotonic() + SECONDS, head)
    branch = _Branch(tree, base, head)
    findings = []
    for anchor in sorted(named):
        if loss := branch.loss_of(anchor):
            entries_of = tuple(_resting(named[anchor]))
            findings.append(loss._replace(entries=entries_of))
    if time.monotonic() > tree.deadline:
        findings.append(BranchFinding(what="untold", detail=f"{SECONDS}"))
    return (*findings, *_opposed(entries, fresh), *_unwanted(entries, fresh))


def _resting(entries: Iterable[PlacedEntry]) -> Iterator[Resting]:
    return (
        Resting(id=entry.id, title=entry.title, path=path, line=entry.line)
        for path, entry in entries
    )


class _Branch:
    """What a branch does to the names and files of a code base."""

    def __init__(self, tree: Codebase, base: str, head: str) -> None:
        self.tree = tree
        self.before = Codebase(tree.top, tree.root, tree.deadline, base)
        self.ends = [base, head] if head else [base]
        self.taken = dict(self._read_status())
        self.words = _removed_words(tree, self.ends)

    def loss_of(self, anchor: Anchor) -> BranchFinding | None:
        """What the branch takes from an anchor."""
        detail = ""
        if anchor.kind == "name":
            removed = anchor.text in self.words and not self.tree.holds(anchor.text)
        elif anchor.kind == "script":
            removed = self.before.has(anchor) and not self.tree.has(anchor)
        else:
            lost = [path for path in self.taken if f"/{path}/".endswith(anchor.end)]
            removed = bool(lost) and not self.tree.has(anchor)
            # one that is gone comes before one that moved
            detail = min((self.taken[path] for path in lost), default="")
        if not removed:
            return None
        what = "moves" if detail else "removes"
        return BranchFinding(what=what, name=anchor.text, detail=detail)

    def _read_status(self) -> Iterator[tuple[str, str]]:
        """The files that the branch moved, with their new path, and removed, with
        none."""
        listed = self.tree.git("diff", "--name-status", "-M70%", "-z", *self.ends) or ""
        fields = iter(listed.split("\0"))
        for status in fields:
            path = next(fields, "")
            if status.startswith("R"):
                yield path, next(fields, "")
            elif status == "D":
                yield path, ""


def _removed_words(tree: Codebase, ends: Sequence[str]) -> set[str]:
    diff = tree.git("diff", "-U0", "--no-renames", *ends) or ""
    words = set()
    prose = False
    for line in diff.splitlines():
        if line.startswith("--- "):
            prose = is_prose(line)
        elif line.startswith("-") and not prose:
            words.update(regex(r"[A-Za-z_$][\w$]{3,}").findall(line))
    return words


def _opposed(
    entries: Sequence[PlacedEntry], fresh: frozenset[str]
) -> Iterator[BranchFinding]:
    for pair in opposites(entries):
        newest_first = sorted(pair[:2], key=lambda one: one.entry.id not in fresh)
        if newest_first[0].entry.id in fresh:
            two = tuple(_resting(newest_first))
            yield BranchFinding(what="opposes", entries=two)


UNWANTED = {"secret": find_secrets, "order": find_injections}


def _unwanted(
    entries: Sequence[PlacedEntry], fresh: frozenset[str]
) -> Iterator[BranchFinding]:
    for path, entry in entries:
        for unwanted, find in UNWANTED.items() if entry.id in fresh else ():
            if spans := find(entry.body):
                kinds = ", ".join(sorted({span.kind for span in spans}))
                resting = tuple(_resting([PlacedEntry(path, entry)]))
                yield BranchFinding(what=unwanted, detail=kinds, entries=resting)
