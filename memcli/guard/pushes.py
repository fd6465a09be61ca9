"""What a push that names no branch pushes: the branch that is checked out."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from memcli.project import git
from memcli.text.shell import Words

_ALL = {"--all", "--mirror", "--tags", "--delete", "-d", "--prune"}


def with_branches(root: Path, commands: Iterable[Words]) -> Iterator[Words]:
    """The commands; for a push without a branch one that names it stands there, too: that
    of HEAD, or the one that the line switched to before."""
    switched = ""
    for words in commands:
        yield words
        operands = [word for word in words if not word.startswith("-")]
        if operands[:2] in (["git", "checkout"], ["git", "switch"]):
            switched = operands[-1]
        is_bare = operands[:2] == ["git", "push"] and operands[3:] in ([], ["HEAD"])
        if is_bare and _ALL.isdisjoint(words):
            for branch in filter(None, {switched, git.branch_of(root)}):
                remote = operands[2:3] or ["origin"]
                options = [word for word in words if word.startswith("-")]
                yield ("git", "push", *options, *remote, branch)
