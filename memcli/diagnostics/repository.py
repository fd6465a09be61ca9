"""Git: what must not be tracked, what is ignored, how memory merges, and what is only
in another work tree."""

import os
import shlex
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from memcli.diagnostics.scene import (
    TEMPORARY,
    Check,
    Repository,
    Scene,
    failure,
    passed,
    remark,
    warning,
)
from memcli.memory.parser import KnownFile
from memcli.memory.values import listed
from memcli.memory.words import count
from memcli.project import git, levels_on_disk, roots
from memcli.project.context import read_known


def check_git(scene: Scene) -> Iterator[Check]:
    """The work tree: what must not be tracked, what should be ignored, how memory
    merges."""
    repository = scene.repository
    if repository.top is None:
        if roots.passed_over(scene.app.project.cwd) is None:
            detail = "no git repository: memory is not versioned"
            yield remark("git", detail, hint="git init")
    elif repository.fault:
        hint = "see git status; recall works without git"
        yield warning("git", repository.fault, hint=hint, path=str(repository.top))
    else:
        yield passed("git", f"work tree {repository.top}")
        yield from _tracked(scene)
        for name in repository.bare:
            is_temporary = name == TEMPORARY
            detail = "temporary files are" if is_temporary else "is"
            path = "" if is_temporary else name
            yield warning(
                "ignored",
                f"{detail} not ignored by git",
                hint="mem doctor --fix",
                path=path,
            )
        if not repository.bare:
            yield passed("ignored", "derived and private files are ignored")
        yield from _merge_driver(scene)


def _tracked(scene: Scene) -> Iterator[Check]:
    files = scene.app.project.listing.files
    bad = {}
    private = {file.name for file in files if file.place.of == "proxy"}
    private |= {"proxy.md", "proxy.archive.md"}
    for name in sorted(scene.repository.tracked):
        if os.path.basename(name).startswith(".memory.db"):
            bad[name] = "the index is tracked"
        elif name in private or name.startswith("proxy-tasks/"):
            bad[name] = "a proxy file, which is private, is tracked"
    for name, what in bad.items():
        yield failure(
            "tracked", what, hint=f"git rm --cached {shlex.quote(name)}", path=name
        )
    if not bad:
        yield passed("tracked", "neither the index nor a proxy file is tracked")


def _merge_driver(scene: Scene) -> Iterator[Check]:
    repository = scene.repository
    why = driver_fault(repository)
    own_files = {file.name for file in scene.app.project.listing.files if not file.tree}
    if why:
        yield warning("merge-driver", why, hint="mem init, or mem doctor --fix")
    elif not repository.attribute and not own_files.isdisjoint(repository.tracked):
        detail = "git merges the memory files line by line: .gitattributes does not name the driver"
        yield warning("merge-driver", detail, hint="mem init")
    else:
        none = "no memory file is tracked yet"
        detail = "memory files merge by entry" if repository.attribute else none
        yield passed("merge-driver", detail)


def driver_fault(repository: Repository) -> str:
    """Why the driver named in .gitattributes cannot run; "" if it can or none is
    named."""
    if not repository.attribute:
        return ""
    if not repository.driver:
        return ".gitattributes names the merge driver, but the git configuration does not define it"
    # Without mem, it falls back to git's own merge.
    if repository.driver != git.DRIVER_COMMAND:
        return "the merge driver is not the one of this mem: it may leave no conflict markers"
    if not shutil.which("mem"):
        return "the merge driver cannot find mem on your PATH"
    return ""


def check_worktrees(scene: Scene) -> Iterator[Check]:
    """Memory that is only in another work tree of this repository."""
    trees = list(_other_trees(scene))
    rows: list[Check] = []
    for tree in trees:
        rows += _only_there(scene, tree)
    yield from rows
    if trees and not rows:
        detail = f"no memory is only in {count(len(trees), 'other work tree')}"
        yield passed("worktrees", detail)


class _WorkTree(NamedTuple):
    top: Path
    branch: str


def _other_trees(scene: Scene) -> Iterator[_WorkTree]:
    """Existing work trees of the repository that are not in view."""
    root = scene.app.project.root
    top = scene.repository.top
    if root is None or top is None or scene.repository.fault:
        return
    files = scene.app.project.listing.files
    in_view = {os.path.realpath(root / file.tree) for file in files}
    in_view.add(os.path.realpath(top))
    for tree, folder in roots.work_trees(top):
        path = os.path.realpath(tree)
        if path not in in_view and os.path.isdir(path):
            head = git.read_first_line(folder / "HEAD")
            yield _WorkTree(Path(path), head.removeprefix("ref: refs/heads/"))


def _only_there(scene: Scene, tree: _WorkTree) -> Iterator[Check]:
    """A row if entries are only in that work tree."""
    project = scene.app.project
    here = os.path.relpath(str(project.root), str(scene.repository.top))
    root = tree.top / here
    known_ids = _known_ids(scene)
    lost = [
        (document.path, entry.line)
        for document in _documents(scene, root)
        for entry in document.memory.entries
        if entry.identified and entry.id not in known_ids
    ]
    if lost:
        number = count(len(lost), "entry is", "entries are")
        names = ", ".join(dict.fromkeys(path for path, _ in lost))
        path, line = lost[0]
        yield warning(
            "worktrees",
            f"{number} only in that work tree: {names}",
            hint=f"git merge {shlex.quote(tree.branch)}, before it is removed",
            path=str(root / path),
            line=line,
        )


def _known_ids(scene: Scene) -> set[str]:
    """The ids of entries here, and of those merged into them."""
    known_ids = set()
    for document in scene.documents:
        for entry in document.memory.entries:
            known_ids |= {entry.id, *listed(entry, "merged_from")}
    return known_ids


def _documents(scene: Scene, root: Path) -> Iterable[KnownFile]:
    """The memory files of another work tree."""
    project = scene.app.project
    globs = project.config.memory_files
    listing = levels_on_disk.list_files(root, project.home, project.jobs_dirs, globs)
    files = [
        file
        for file in listing.files
        if file.place.store in ("memory", "institutional") and not file.tree
    ]
    return read_known(project, files, [])
