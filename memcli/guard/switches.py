"""The tracked files that git puts back or takes away: `switch`, `checkout`, `stash`,
`reset`. Git knows them, and is asked."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from memcli.guard.pushes import takes_value
from memcli.project import git
from memcli.text.shell import Words

SWITCHES = frozenset({"switch", "checkout", "stash", "reset"})
SAVES = frozenset({"push", "save"})
STASH = "stash@{0}"
QUESTION = ("diff", "--name-only", "--no-renames", "-z")


def is_switch(command: Words) -> bool:
    """Whether a command may put other states of files in their place."""
    return command[:1] == ("git",) and not SWITCHES.isdisjoint(command[1:2])


def switched_files(root: Path, commands: Iterable[Words]) -> list[str]:
    """The files below the root that such commands may change."""
    tree_top = git.work_tree(root)
    if tree_top is None:
        return []
    names: dict[str, None] = {}
    for states in map(_states, commands):
        for words in states:
            listed = git.ask(tree_top, *QUESTION, *words, "--", timeout=1) or ""
            paths = (tree_top / name for name in listed.split("\0") if name)
            names.update(dict.fromkeys(os.path.relpath(path, root) for path in paths))
    return list(names)


def _states(command: Words) -> Iterator[Sequence[str]]:
    """What git compares to know what a command changes: one state with the files as
    they are, or two."""
    if not is_switch(command):
        return
    _, verb, *rest = command
    operands = [word for word in rest if not word.startswith("-")]
    if verb == "stash":
        name = operands[0] if operands else "push"
        saved = operands[1] if len(operands) > 1 else STASH
        if name in SAVES:
            yield ("HEAD",)
        elif name in ("pop", "apply"):
            yield (f"{saved}^1", saved)
    elif verb == "reset":
        if not {"--hard", "--merge", "--keep"}.isdisjoint(rest):
            yield (operands[0] if operands else "HEAD",)
    else:
        is_new = any(takes_value().fullmatch(word) for word in rest)
        start = operands[1:2] if is_new else operands[:1]
        for name in ["@{-1}"] if "-" in rest else start:
            yield (name,)
            yield (f"origin/{name}",)
