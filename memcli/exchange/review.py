"""What a branch does to what memory rests on, and what it adds that nobody should
want."""

import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from memcli.index.anchors import anchors_of
from memcli.index.codebase import MANIFESTS, Anchor, Codebase, has_target, is_prose
from memcli.memory.values import Entry
from memcli.memory.words import body_of
from memcli.project import git
from memcli.similarity.claims import claim
from memcli.similarity.duplicates import contradictions
from memcli.text.controls import find_injections
from memcli.text.secrets import find_secrets

SECONDS = 20
REWRITTEN = 0.5


class Resting(NamedTuple):
    """An entry, where it stands."""

    id: str
    title: str
    path: str
    line: int


class BranchFinding(NamedTuple):
    """`what` is removes, moves, rewrites, untold, opposes, secret or order, of these
    `entries`.

    `name` is what the branch removes, `detail` its new name or the share of new
    lines."""

    what: str
    name: str
    detail: str
    entries: tuple[Resting, ...]


Standing = Sequence[tuple[str, Entry]]  # entries with the file that each stands in


def review(
    root: Path, base: str, head: str, entries: Standing, fresh: frozenset[str]
) -> tuple[BranchFinding, ...]:
    """What a reviewer should know of a branch, beside its changes. `fresh` are the ids
    it writes.

    `head` is "" for the work tree. Time is bounded: what git cannot tell by then is not
    told."""
    top = git.work_tree(root)
    if top is None:
        return ()
    named = defaultdict[Anchor, list[tuple[str, Entry]]](list)
    for path, entry in entries:
        if entry.status != "retired":
            for anchor in anchors_of(entry.extra, entry.body):
                named[anchor].append((path, entry))
    tree = Codebase(top, root, time.monotonic() + SECONDS, head)
    found = [
        BranchFinding(
            what=what,
            name=anchor.text,
            detail=detail,
            entries=tuple(_resting(named[anchor])),
        )
        for anchor, what, detail in _taken(tree, base, head, sorted(named))
    ]
    if time.monotonic() > tree.deadline:
        found.append(
            BranchFinding(what="untold", name="", detail=f"{SECONDS}", entries=())
        )
    return (*found, *_opposed(entries, fresh), *_unwanted(entries, fresh))


def _resting(entries: Iterable[tuple[str, Entry]]) -> Iterator[Resting]:
    return (
        Resting(id=entry.id, title=entry.title, path=path, line=entry.line)
        for path, entry in entries
    )


def _taken(
    tree: Codebase, base: str, head: str, anchors: Sequence[Anchor]
) -> Iterator[tuple[Anchor, str, str]]:
    ends = [base, head] if head else [base]
    status = (tree.git("diff", "--name-status", "-M70%", "-z", *ends) or "").split("\0")
    moved = dict[str, str]()
    gone = set[str]()
    at = 0
    while at + 1 < len(status):
        if status[at][:1] == "R":
            moved[status[at + 1]] = status[at + 2]
            at += 1
        elif status[at] == "D":
            gone.add(status[at + 1])
        at += 2
    shares = {p: s for p, s in tree.shares(*ends) if s >= REWRITTEN and not is_prose(p)}
    words = _removed_words(tree, ends)
    for anchor in anchors:
        if anchor.kind == "name":
            if anchor.text in words and not tree.holds(anchor.text):
                yield anchor, "removes", ""
        elif anchor.kind == "script":
            if _had_target(tree, base, anchor) and not tree.has(anchor):
                yield anchor, "removes", ""
        else:
            old = next((p for p in (*gone, *moved) if _is(anchor, p)), "")
            if old and not tree.has(anchor):
                yield anchor, "moves" if old in moved else "removes", moved.get(old, "")
            elif share := max(
                (s for p, s in shares.items() if _is(anchor, p)), default=0
            ):
                yield anchor, "rewrites", f"{share:.0%}"


def _is(anchor: Anchor, path: str) -> bool:
    end = anchor.text.removeprefix("./").rstrip("/")
    return anchor.kind == "path" and f"/{path}".endswith(f"/{end}")


def _removed_words(tree: Codebase, ends: Sequence[str]) -> set[str]:
    out = tree.git("diff", "-U0", "--no-renames", *ends) or ""
    words = set[str]()
    prose = False
    for line in out.splitlines():
        if line.startswith("--- "):
            prose = is_prose(line)
        elif line.startswith("-") and not prose:
            words.update(re.findall(r"[A-Za-z_$][\w$]{3,}", line))
    return words


def _had_target(tree: Codebase, base: str, anchor: Anchor) -> bool:
    names = MANIFESTS[anchor.text.split(" ", 1)[0]][0]
    inner = os.path.relpath(tree.root, tree.top)
    paths = (os.path.normpath(os.path.join(inner, name)) for name in names)
    return any(
        has_target(anchor.text, tree.git("show", f"{base}:{p}") or "") for p in paths
    )


def _opposed(entries: Standing, fresh: frozenset[str]) -> Iterator[BranchFinding]:
    live = [(path, entry) for path, entry in entries if entry.status != "retired"]
    # a heading that only names the entry is no part of what it claims
    said = [claim(body_of(one.body, one.title).strip() or one.body) for _, one in live]
    for i, j in contradictions(said):
        pair = sorted((live[i], live[j]), key=lambda one: one[1].id not in fresh)
        (_, new), (_, old) = pair
        if new.id in fresh and new.id != old.id and new.type == old.type:
            yield BranchFinding(
                what="opposes", name="", detail="", entries=tuple(_resting(pair))
            )


def _unwanted(entries: Standing, fresh: frozenset[str]) -> Iterator[BranchFinding]:
    for path, entry in entries:
        if entry.id in fresh:
            for what, find in (("secret", find_secrets), ("order", find_injections)):
                if spans := find(entry.body):
                    kinds = ", ".join(sorted({span.kind for span in spans}))
                    yield BranchFinding(
                        what=what,
                        name="",
                        detail=kinds,
                        entries=tuple(_resting([(path, entry)])),
                    )
