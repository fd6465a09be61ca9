"""What git and other places know: ignored files, merge driver, work trees, history, memory beside."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from memcli.app import App
from memcli.diagnostics.content import ids, merged_ids
from memcli.diagnostics.scene import (
    FAIL,
    INFO,
    PASS,
    TEMPORARY,
    WARN,
    Check,
    Repository,
    Scene,
    count,
    read_documents,
)
from memcli.errors import DataError
from memcli.history.record import folder_of, opened, path_of
from memcli.project import git, levels_on_disk, places
from memcli.storage.files import Unreadable, read_file
from memcli.storage.folders import state_dir


def check_git(scene: Scene) -> Iterator[Check]:
    """The work tree: what must not be tracked, what should be ignored, how memory merges."""
    repository = scene.repository
    if repository.top is None:
        yield Check(
            "git", INFO, "no git repository: what is remembered is not versioned", "git init"
        )
    elif repository.fault:
        hint = "git status says more; recall works without git"
        yield Check("git", WARN, repository.fault, hint, str(repository.top))
    else:
        yield Check("git", PASS, f"work tree {repository.top}")
        yield from _tracked(scene)
        yield from _ignored(repository)
        yield from _merge_driver(scene)


def _tracked(scene: Scene) -> Iterator[Check]:
    private = {file.name for file in scene.app.project.listing.files if file.place.of == "proxy"}
    names = [
        name
        for name in sorted(scene.repository.tracked)
        if _derived(name) or _private(name, private)
    ]
    for name in names:
        what = (
            "the index is tracked" if _derived(name) else "a proxy file is tracked: it is private"
        )
        yield Check("tracked", FAIL, what, f"git rm --cached {shlex.quote(name)}", name)
    if not names:
        yield Check("tracked", PASS, "neither the index nor a proxy file is tracked")


def _derived(name: str) -> bool:
    return os.path.basename(name).startswith(".memory.db")


def _private(name: str, listed: set[str]) -> bool:
    return (
        name in listed
        or name in ("proxy.md", "proxy.archive.md")
        or name.startswith("proxy-tasks/")
    )


def _ignored(repository: Repository) -> Iterator[Check]:
    for name in repository.bare:
        what = (
            "temporary files are not ignored by git"
            if name == TEMPORARY
            else "is not ignored by git"
        )
        yield Check("ignored", WARN, what, "mem doctor --fix", name if name != TEMPORARY else "")
    if not repository.bare:
        yield Check("ignored", PASS, "derived and private files are ignored")


def _merge_driver(scene: Scene) -> Iterator[Check]:
    repository = scene.repository
    why = driver_fault(repository)
    own = {file.name for file in scene.app.project.listing.files if not file.tree}
    if why:
        yield Check("merge-driver", WARN, why, "mem init, or mem doctor --fix")
    elif not repository.attribute and not own.isdisjoint(repository.tracked):
        what = "git merges the memory files line by line: .gitattributes does not name the driver"
        yield Check("merge-driver", WARN, what, "mem init")
    else:
        what = (
            "memory files merge by entry"
            if repository.attribute
            else "no memory file is tracked yet"
        )
        yield Check("merge-driver", PASS, what)


def driver_fault(repository: Repository) -> str:
    """Why the driver that .gitattributes names cannot run, "" when it can or none is named."""
    if not repository.attribute:
        return ""
    if not repository.driver:
        return ".gitattributes names the merge driver, the git configuration does not know it"
    if repository.driver == git.DRIVER_COMMAND:  # without mem it is git's own merge
        return "" if shutil.which("mem") else "the merge driver does not find mem on your PATH"
    try:
        program = shlex.split(repository.driver)[0]
    except (ValueError, IndexError):
        return "the merge driver is no command"
    if not shutil.which(program):
        return f"the merge driver calls a program that is not there: {program}"
    return "the merge driver is that of an older mem: it leaves no markers where mem is gone"


def check_worktrees(scene: Scene) -> Iterator[Check]:
    """Memory that stands only in another work tree of this repository."""
    repository = scene.repository
    others = list(_linked(scene)) if repository.top is not None and not repository.fault else []
    rows = [row for top, branch in others for row in _only_there(scene, top, branch)]
    yield from rows
    if others and not rows:
        yield Check(
            "worktrees", PASS, f"no memory stands only in {count(len(others), 'other work tree')}"
        )


def _linked(scene: Scene) -> Iterator[tuple[Path, str]]:
    """The other work trees of this repository and their branches, without those of jobs and tasks."""
    app, top = scene.app, scene.repository.top
    assert app.project.root is not None and top is not None
    common = git.common_dir(top)
    if common is None or not (common / "worktrees").is_dir():
        return
    listed = git.run(["worktree", "list", "--porcelain"], app.project.root).stdout
    in_view = {
        os.path.realpath(app.project.root / file.tree)
        for file in app.project.listing.files
        if file.tree not in ("", "~")
    }
    for block in listed.split("\n\n"):
        fields = dict(line.partition(" ")[::2] for line in block.splitlines())
        path = os.path.realpath(fields.get("worktree", ""))
        if (
            "bare" not in fields
            and os.path.isdir(path)
            and path not in {os.path.realpath(top), *in_view}
        ):
            branch = fields.get("branch", fields.get("HEAD", "")[:12])
            yield Path(path), branch.removeprefix("refs/heads/")


def _only_there(scene: Scene, top: Path, branch: str) -> Iterator[Check]:
    """A row when a work tree holds entries that stand in no file of ours."""
    app = scene.app
    assert app.project.root is not None and scene.repository.top is not None
    root = top / os.path.relpath(app.project.root, scene.repository.top)
    listing = levels_on_disk.list_files(
        root, app.project.home, app.project.jobs_dirs, app.project.config.memory_files
    )
    ours = {document.path: document.memory.text for document in scene.documents}
    files = [
        file
        for file in listing.files
        if not file.tree and file.place.store in ("memory", "institutional")
    ]
    found = [d for d in read_documents(files)[0] if ours.get(d.path) != d.memory.text]
    known = ids(scene.documents) | merged_ids(scene.documents) if found else set()
    lost = [(d, e) for d in found for e in d.memory.entries if e.identified and e.id not in known]
    if lost:
        names = ", ".join(dict.fromkeys(document.path for document, _ in lost))
        what = (
            f"{count(len(lost), 'entry stands', 'entries stand')} only in that work tree: {names}"
        )
        hint = f"git merge {shlex.quote(branch)}, before it is removed"
        yield Check("worktrees", WARN, what, hint, str(root / lost[0][0].path), lost[0][1].line)


def check_found(scene: Scene) -> Iterator[Check]:
    """What lies in found places, and what looks like memory and is not in view."""
    app = scene.app
    found = sum(file.found for file in app.project.listing.files)
    if found:
        what = f"{count(found, 'file')} that people or other tools keep, in view as they are"
        yield Check("found", INFO, what)
    if app.project.root is not None and (
        more := places.others(app.project.root, app.project.listing)
    ):
        what = "looks like memory and is not in view: " + ", ".join(more[:20])
        yield Check("found", INFO, what, f"in .mem.toml: {places.line_for(more)}")


def check_other_memory(scene: Scene) -> Iterator[Check]:
    """Other memory that lies beside this one."""
    app = scene.app
    for path in _claude_files(app):
        yield from _claude_memory(path)
    for folder, name, what in _NEIGHBOURS:
        base = app.project.home if folder == "~" else app.project.root
        if base is not None and (base / name).exists():
            yield Check("other-memory", INFO, what, path=f"{folder}/{name}".removeprefix("./"))


_NEIGHBOURS = (
    (".", ".memsearch", "memsearch keeps memory here, too"),
    ("~", ".memsearch", "memsearch keeps memory, too"),
    ("~", ".claude-mem", "claude-mem keeps memory, too"),
    (".", ".basic-memory", "basic-memory keeps memory here, too"),
    ("~", ".basic-memory", "basic-memory keeps memory, too"),
    (".", "CLAUDE.md", "Claude Code reads it in every session"),
    (".", "AGENTS.md", "agents read it in every session"),
)
CLAUDE_LINES, CLAUDE_BYTES = 200, 25_000
"""How much of its MEMORY.md Claude Code reads."""


def _claude_files(app: App) -> list[Path]:
    if app.project.root is None:
        return []
    folders = places.claude_folders(app.project.root, app.project.home, app.project.environ)
    return [folder / "MEMORY.md" for folder in folders]


def _claude_memory(path: Path) -> Iterator[Check]:
    try:
        data = read_file(path).data
    except Unreadable:
        return
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    what = f"Claude Code keeps auto memory, too: {count(lines, 'line')}, {len(data) / 1000:.1f} KB"
    over = lines > CLAUDE_LINES or len(data) > CLAUDE_BYTES
    hint = "Claude Code reads its first 200 lines or 25 KB only: shorten it" if over else ""
    yield Check("other-memory", INFO, what, hint, str(path))


def check_history(scene: Scene) -> Iterator[Check]:
    """This repository's record, and those of repositories that are gone."""
    app = scene.app
    path = path_of(app.project.root, state_dir()) if app.project.root is not None else None
    if not app.project.config.history:
        yield Check("history", INFO, "switched off (history = false)")
    elif path is None or not path.exists():
        hint = "mem index --history" if path is not None else ""
        yield Check("history", INFO, "nothing of what was said and committed is kept yet", hint)
    else:
        yield _record(path)
    gone = [
        name
        for name in sorted(folder_of(state_dir()).glob("*.db"))
        if name != path and _orphan(name)
    ]
    if gone:
        names = ", ".join(f"{each.stem} ({_root(each)})" for each in gone[:5])
        hint = "in the repository's new place: mem index --history --from KEY; else delete the file"
        what = f"{count(len(gone), 'record')} of repositories that are gone: {names}"
        yield Check("history", INFO, what, hint, str(gone[0]))


def _record(path: Path) -> Check:
    try:
        with opened(path, wait=2.0) as record:
            assert record is not None
            fault = record.fault()
            counts, size = record.counts(), record.bytes()
    except DataError as error:
        return Check("history", FAIL, error.what, error.hint, str(path))
    if fault:
        hint = "move it away; mem index --history reads what agents still keep"
        return Check("history", FAIL, f"the record is damaged: {fault}", hint, str(path))
    what = (
        f"{count(counts['sessions'], 'session')} and {count(counts['commits'], 'commit')},"
        f" {size / (1 << 20):.1f} MB"
    )
    return Check("history", PASS, what, path=str(path))


def _orphan(path: Path) -> bool:
    root = _root(path)
    return bool(root) and not os.path.isdir(root)


def _root(path: Path) -> str:
    try:
        with opened(path, wait=0.2) as record:
            return record.note("root") if record is not None else ""
    except DataError:
        return ""
