"""What mem doctor examines: memory files, repository and index, each read once on first use."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from memcli.app import App
from memcli.diagnostics.document import Document
from memcli.diagnostics.facts import IndexState, Repository, read_index, read_repository
from memcli.memory.levels import place
from memcli.memory.parser import parse
from memcli.memory.values import Problem
from memcli.project import git, levels_on_disk
from memcli.project.levels_on_disk import FoundFile
from memcli.storage.files import Unreadable, decode, read_file, read_text


class Scene:
    """What is examined, read once on first use."""

    def __init__(self, app: App, files: Sequence[str] = (), *, online: bool = False) -> None:
        self.app = app
        self.files = files
        self.online = online

    @cached_property
    def _read(self) -> tuple[list[Document], list[Problem]]:
        if self.files:
            return read_documents(named_files(self.app, self.files))
        documents, problems = read_documents(self.app.project.listing.files)
        return documents, [*self.app.project.listing.problems, *problems]

    @property
    def documents(self) -> list[Document]:
        return self._read[0]

    @property
    def unreadable(self) -> list[Problem]:
        return self._read[1]

    @cached_property
    def repository(self) -> Repository:
        return read_repository(self.app)

    @cached_property
    def index(self) -> IndexState:
        return read_index(self.app)


def read_documents(files: Iterable[FoundFile]) -> tuple[list[Document], list[Problem]]:
    """The files that can be read, and the problems of the others."""
    documents, problems = [], []
    gc.disable()  # nothing here is garbage, and looking for some takes a third of the time
    try:
        for file in files:
            try:
                documents.append(read_document(file))
            except Unreadable as error:
                problems.append(Problem(file.name, error.line, str(error), "unreadable"))
    finally:
        gc.enable()
    return documents, problems


def read_document(file: FoundFile) -> Document:
    """One file; raises `Unreadable`."""
    data = read_file(file.path, file.base).data
    return Document(parse(decode(data), file.name), file.place, file.tree, len(data))


def named_files(app: App, names: Sequence[str]) -> list[FoundFile]:
    """The files named on the command line, memory files or not, each once."""
    listed = {file.path: file for file in app.project.listing.files}
    paths = dict.fromkeys(absolute(app, name) for name in names)
    return [listed.get(path) or _unlisted(app, path) for path in paths]


def absolute(app: App, name: str) -> str:
    """The path of a file that was named, its folder resolved, itself not."""
    folder, base = os.path.split(os.path.normpath(app.project.cwd / name))
    return os.path.join(os.path.realpath(folder), base)


def _unlisted(app: App, path: str) -> FoundFile:
    folder, name = os.path.split(path)
    inside = os.path.basename(folder)
    where = place("project", name, folder=inside if inside in ("tasks", "proxy-tasks") else "")
    top = git.work_tree(Path(folder))
    own = git.work_tree(app.project.root) if app.project.root is not None else None
    return FoundFile(path, shown_name(app, path), where, "" if top == own else str(top), 0, 0)


def shown_name(app: App, path: str) -> str:
    """The name of a file: relative to the root, below `~`, else absolute."""
    for base, prefix in ((app.project.root, ""), (app.project.home, "~/")):
        if base is not None and Path(path).is_relative_to(base):
            return levels_on_disk.shown(prefix + Path(path).relative_to(base).as_posix())
    return levels_on_disk.shown(path)


def text_of(path: str) -> str | None:
    """The text of a file, None where it cannot be read."""
    try:
        return read_text(path)
    except Unreadable:
        return None


def count(number: int, one: str, many: str = "") -> str:
    """`1 entry`, `2 entries`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
