"""The tracked files that git puts back or takes away: `switch`, `checkout`, `stash`,
`reset`. Git knows them, and is asked."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from memcli.guard.pushes import takes_value
from memcli.project import git
from memcli.text.shell import Words

SAVES = frozenset({"push", "save"})
STASH = "stash@{0}"
QUESTION = ("diff", "--name-only", "--no-renames", "-z")


def is_switch(command: Words) -> bool:
    """Whether a command may put other states of files in their place."""
    return command[:1] == ("git",) and not STATES.keys().isdisjoint(command[1:2])


def switched_files(root: Path, commands: Iterable[Words]) -> list[str]:
    """The files below the root that such commands may change."""
    tree_top = git.work_tree(root)
    if tree_top is None:
        return []
    names: dict[str, None] = {}
    for command in filter(is_switch, commands):
        for words in STATES[command[1]](command[2:]):
            listed = git.ask(tree_top, *QUESTION, *words, "--", timeout=1) or ""
            paths = (tree_top / name for name in listed.split("\0") if name)
            names.update(dict.fromkeys(os.path.relpath(path, root) for path in paths))
    return list(names)


def _stashed(words: Words) -> Iterable[Sequence[str]]:
    """What a stash takes away or puts back."""
    operands = _operands(words)
    name = operands[0] if operands else "push"
    if name in SAVES:
        return [("HEAD",)]
    saved = operands[1] if len(operands) > 1 else STASH
    return [(f"{saved}^1", saved)] if name in ("pop", "apply") else []


def _reset(words: Words) -> Iterable[Sequence[str]]:
    """What a reset puts in the place of the files, if it touches them."""
    if {"--hard", "--merge", "--keep"}.isdisjoint(words):
        return []
    return [_operands(words)[:1] or ("HEAD",)]


def _switched(words: Words) -> Iterable[Sequence[str]]:
    """The branch that is switched to, here or as it is at the origin."""
    operands = _operands(words)
    is_new = any(takes_value().fullmatch(word) for word in words)
    start = operands[1:2] if is_new else operands[:1]
    for name in ["@{-1}"] if "-" in words else start:
        yield (name,)
        yield (f"origin/{name}",)


def _operands(words: Words) -> list[str]:
    return [word for word in words if not word.startswith("-")]


STATES = {
    "switch": _switched,
    "checkout": _switched,
    "stash": _stashed,
    "reset": _reset,
}
"""What git compares to know what a subcommand changes: one state with the files as they
are, or two."""
