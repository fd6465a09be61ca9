"""The projects of the shared index, as a search sees them."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import quote

from memcli.errors import UsageError
from memcli.text.matching import regex

_REMOTE = r"""
    (?: https?:// | ssh://(?:[^@/]*@)? | [\w.-]+@ )
    ( [\w.-]+ (?: : \d+ )? )        # the host, and its port
    [:/]
    ( .+? ) (?: \.git )? /?         # the path of the repository
"""
_PAGES = {
    "bitbucket": "src",
    "gitlab": "-/blob",
    "gitea": "src/commit",
    "codeberg": "src/commit",
}
"""What stands between repository and commit in the address of a file, by a word in the
host; `blob` for all others."""


class SharedProject(NamedTuple):
    """What the server says about a project that one may see."""

    key: str
    name: str
    remote: str
    path: str
    commit: str
    model: str
    dim: int
    chunks: int


def named(
    projects: Iterable[SharedProject], names: Sequence[str]
) -> list[SharedProject]:
    """The projects with these names: the whole name, its last part, or the key."""
    projects = list(projects)
    chosen = dict[str, SharedProject]()
    for name in names:
        fitting = {
            project.key: project
            for project in projects
            if name in (project.name, project.name.rpartition("/")[2], project.key)
        }
        if not fitting:
            known = ", ".join(sorted(project.name for project in projects)[:8])
            hint = f"projects: {known or 'there is none that you may read'}"
            raise UsageError(f"--project {name}: not in the shared index", hint)
        chosen |= fitting
    return list(chosen.values())


def blob_url(remote: str, commit: str, path: str, line: int) -> str:
    """Where a file can be read at a commit: a page of the remote, else
    `path@commit`."""
    parts = regex(_REMOTE, re.VERBOSE).fullmatch(remote)
    if not parts:
        return f"{path}@{commit[:12]}"
    host, repository = parts.groups()
    if remote.startswith("ssh://"):
        host = host.partition(":")[0]  # the port is that of ssh
    scheme = "http" if remote.startswith("http://") else "https"
    words = (word for word in _PAGES if word in host)
    middle = _PAGES.get(next(words, ""), "blob")
    mark = f"lines-{line}" if "bitbucket" in host else f"L{line}"
    page = f"{quote(repository)}/{middle}/{commit}/{quote(path)}"
    return f"{scheme}://{host}/{page}#{mark}"
