"""What a project is, wherever it is checked out: its first commit and the path of its root."""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from uuid import UUID

from memcli.errors import UsageError
from memcli.project import git


class Identity(NamedTuple):
    """A project at a commit. `key` depends on `root_commit` and `path` alone; `remote` is ""
    without one.
    """

    key: UUID
    name: str
    root_commit: str
    path: str
    commit: str
    remote: str


def identify(root: Path) -> Identity:
    """The identity of the project at `root`. Raises UsageError where it has none."""
    top = git.work_tree(root)
    if top is None:
        raise UsageError(
            f"the shared index knows projects by their first commit: {root} is in no git repository",
            "run it in a repository",
        )
    if _ask(top, "rev-parse", "--is-shallow-repository") == "true":
        raise UsageError(
            f"the history of {top} is cut off, so its first commit is not known",
            "git fetch --unshallow (in CI: fetch the whole history)",
        )
    commit = _ask(top, "rev-parse", "--verify", "--quiet", "HEAD")
    first = _ask(top, "rev-list", "--max-parents=0", "--first-parent", "HEAD").split("\n")[-1]
    if not commit or not first:
        raise UsageError(f"{top} has no commit yet", "commit the memory files first")
    path = Path(os.path.relpath(os.path.realpath(root), os.path.realpath(top))).as_posix()
    remote = without_secrets(_ask(top, "remote", "get-url", "origin"))
    named = short_name(remote) if remote else os.path.basename(os.path.realpath(top))
    name = named if path == "." else f"{named}/{path}"
    return Identity(key_of(first, path), name, first, path, commit, remote)


def key_of(root_commit: str, path: str) -> UUID:
    """The key of a project."""
    return UUID(bytes=blake2b(f"{root_commit}\0{path}".encode(), digest_size=16).digest())


def short_name(remote: str) -> str:
    """owner/name of a remote, as far as it has them."""
    parts = [
        part for part in re.split(r"[/:\\]", remote.removesuffix("/").removesuffix(".git")) if part
    ]
    return (
        "/".join(parts[-2:]) if "://" in remote or ":" in remote else parts[-1] if parts else remote
    )


def _ask(top: Path, *arguments: str) -> str:
    done = git.run(arguments, top)
    return done.stdout.strip() if done.returncode == 0 else ""


def without_secrets(url: str) -> str:
    """A remote's URL without user and password."""
    return re.sub(r"^([a-z+]+://)[^/@]*@", r"\1", url)


def blob_url(remote: str, commit: str, path: str, line: int) -> str:
    """Where a file can be read at a commit: a page of the remote where it has such, else
    `path@commit`.
    """
    found = re.match(
        r"(?:https?://|ssh://(?:[^@/]*@)?|(?:[\w.-]+@))([\w.-]+(?::\d+)?)[:/](.+?)(?:\.git)?/?$",
        remote,
    )
    if not found or remote.startswith("file:"):
        return f"{path}@{commit[:12]}"
    host, name = found[1], found[2]
    if remote.startswith("ssh://"):
        host = host.split(":")[0]
    scheme = "http" if remote.startswith("http://") else "https"
    page = f"{scheme}://{host}/{quote(name)}"
    if "bitbucket" in host:
        return f"{page}/src/{commit}/{quote(path)}#lines-{line}"
    middle = (
        "-/blob"
        if "gitlab" in host
        else "src/commit"
        if "gitea" in host or "codeberg" in host
        else "blob"
    )
    return f"{page}/{middle}/{commit}/{quote(path)}#L{line}"
