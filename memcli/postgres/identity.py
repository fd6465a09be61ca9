"""Which project of the shared index a folder is."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from memcli.errors import UsageError
from memcli.project import git

_USER = re.compile(r"^([a-z+]+://)[^/@]*@")


class Identity(NamedTuple):
    """A project at a commit; `root_commit` and `path` distinguish it within its team;
    without a remote `remote` is ""."""

    name: str
    root_commit: str
    path: str
    commit: str
    remote: str


def identify(root: Path) -> Identity:
    """The identity of the project at `root`. Raises UsageError if it has none."""
    tree_top = git.work_tree(root)
    if not tree_top:
        message = "the shared index knows projects by their first commit"
        hint = "run it in a repository"
        raise UsageError(f"{message}: {root} is in no git repository", hint)

    def ask(*arguments: str) -> str:
        return (git.ask(tree_top, *arguments) or "").strip()

    if ask("rev-parse", "--is-shallow-repository") == "true":
        message = (
            f"the history of {tree_top} is cut off, so its first commit is not known"
        )
        hint = "git fetch --unshallow (in CI: fetch the whole history)"
        raise UsageError(message, hint)
    commit = ask("rev-parse", "--verify", "--quiet", "HEAD")
    firsts = ask("rev-list", "--max-parents=0", "--first-parent", "HEAD").split("\n")
    if not commit or not firsts[-1]:
        raise UsageError(
            f"{tree_top} has no commit yet", "commit the memory files first"
        )
    real_top = os.path.realpath(tree_top)
    path = Path(os.path.relpath(os.path.realpath(root), real_top)).as_posix()
    remote = _USER.sub(r"\1", ask("remote", "get-url", "origin"))
    name = _last_parts(remote) or os.path.basename(real_top)
    return Identity(
        name=name if path == "." else f"{name}/{path}",
        root_commit=firsts[-1],
        path=path,
        commit=commit,
        remote=remote,
    )


def _last_parts(remote: str) -> str:
    """`owner/name` of a remote with a host, the last folder of any other."""
    place = remote.removesuffix("/").removesuffix(".git")
    parts = [part for part in re.split(r"[/:\\]", place) if part]
    return "/".join(parts[-2:] if ":" in remote else parts[-1:])
