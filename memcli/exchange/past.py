"""Memory as it was: the memory files of a commit, laid out in the cache and asked like any."""

import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from memcli.app import App
from memcli.errors import UsageError
from memcli.exchange.branch_diff import ask_git
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
    archive = made / "files.tar"
    names = _git(root, "ls-tree", "-r", "--name-only", "-z", commit, "--", ".").split("\0")
    wanted = [name for name in names if name.endswith(".md") or name == ".mem.toml"]
    if wanted:
        specs = [f":(literal){name}" for name in wanted]
        for start in range(0, len(specs), 1000):
            _git(root, "archive", f"--output={archive}", tree, *specs[start : start + 1000])
            with tarfile.open(archive) as tar:
                for member in filter(tarfile.TarInfo.isfile, tar):
                    _write(made, member.name, tar.extractfile(member))
            archive.unlink()
    (made / ".mem.toml").touch()  # what makes it a root
    made.replace(folder)
    for old in sorted(base.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def _write(folder: Path, name: str, file: IO[bytes] | None) -> None:
    """Lay one file out below a folder; a name that leads out of it is passed over."""
    path = folder / name
    if file is not None and ".." not in path.parts and not os.path.isabs(name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.read())
