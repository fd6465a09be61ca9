"""Memory as it was: the memory files of a commit, laid out in the cache and asked like any."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memcli.app import App
from memcli.errors import UsageError
from memcli.exchange.branch_diff import ask_git, blobs
from memcli.index.view import day_of
from memcli.project import git
from memcli.storage.files import cache_dir

KEPT = 8  # so many commits stay laid out


@contextmanager
def seen_at(app: App, moment: str) -> Iterator[App]:
    """The project with the memory files of a commit, or of the last one of a day, and its date.

    Nothing in the work tree is touched; the level of the user is as it is today. Raises UsageError.
    """
    if not moment:
        yield app
        return
    root = app.project.root
    if root is None or git.work_tree(root) is None:
        raise UsageError("there is no git repository here", "--at takes what git remembers")
    commit = _commit(app, root, moment)
    day = _git(root, "show", "-s", "--format=%cs", commit).strip()
    folder = _laid_out(root, commit)
    options = app.options._replace(root=str(folder))
    environ = {**app.project.environ, "MEM_NOW": day}
    with App(options, environ, folder) as then:
        yield then
        app.notes += [f"as of {commit[:9]}, {day}", *then.notes]


def _commit(app: App, root: Path, moment: str) -> str:
    day = ""
    if re.fullmatch(r"\d{4}-\d\d-\d\d.*|\d{1,5}[dwmy]", moment):
        day = day_of("at", moment, app.project.now)
    name = f"{moment}^{{commit}}"
    ask = ("rev-list", "-1", f"--before={day}T23:59:59", "HEAD") if day else (
        "rev-parse", "--verify", "--quiet", "--end-of-options", name)  # fmt: skip
    commit = _git(root, *ask).strip()
    if not commit:
        why = "no commit is that old" if day else "unknown revision"
        raise UsageError(f"--at {moment}: {why}", "give a commit, a tag, 2026-03-01 or 30d")
    return commit


def _git(root: Path, *arguments: str) -> str:
    code, out = ask_git(root, *arguments)
    return "" if code else out


def _laid_out(root: Path, commit: str) -> Path:
    """A folder with the markdown files of a commit, below the root; made once."""
    tree = _git(root, "rev-parse", f"{commit}:./").strip()
    base = cache_dir() / "at"
    folder = base / tree
    if not tree:
        raise UsageError(f"{commit[:9]} does not have this folder", "run it at the top")
    if folder.is_dir():
        os.utime(folder)
        return folder
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".", dir=base))
    listed = (
        row.partition("\t") for row in _git(root, "ls-tree", "-rz", "--full-tree", tree).split("\0")
    )
    wanted = [(commit, name) for mode, _, name in listed if mode[:3] == "100" and _is_read(name)]
    for (_, name), text in zip(wanted, blobs(root, wanted), strict=True):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text, encoding="utf-8", newline="")
    (made / ".mem.toml").touch()  # what makes it a root
    made.replace(folder)
    for old in sorted(base.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def _is_read(name: str) -> bool:
    """Whether a file of a commit is looked at; none whose name leads out of its folder."""
    safe = ".." not in name.split("/") and "\n" not in name and not os.path.isabs(name)
    return safe and (name.endswith(".md") or name == ".mem.toml")
