"""What a run would do, found out by doing it where nothing lasts.

A rehearsal is the app itself, but what it writes stands in memory: the texts of files,
which it reads back, and a copy of the state."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memcli.app import App
from memcli.memory.values import Patch
from memcli.project import levels_on_disk
from memcli.project.context import Project
from memcli.project.listing import Files, FoundFile, Listing, shown
from memcli.storage.files import state_dir
from memcli.storage.state import State, StateCopy

if TYPE_CHECKING:
    from memcli.storage.workspace import Workspace

T = TypeVar("T")


class RehearsedProject(Project):
    """A project whose files are as a run would leave them."""

    def __init__(self, real: Project) -> None:
        self.__dict__.update(real.__dict__)
        self.before: dict[str, str | None] = {}
        self.written = {}

    def take(self, patches: Sequence[Patch]) -> None:
        """Let the files be as patches make them."""
        for patch in patches:
            if patch.after is not None and patch.after != patch.before:
                self.before.setdefault(patch.path, patch.before)
                self.written[patch.path] = patch.after
        self.relist()

    @property
    def patches(self) -> tuple[Patch, ...]:
        """What has become of each file in all."""
        every = (
            Patch(path, self.before[path], text)
            for path, text in sorted(self.written.items())
        )
        return tuple(patch for patch in every if patch.before != patch.after)

    @cached_property
    def listing(self) -> Listing:
        """The files that are there, and those that the run has made."""
        real = levels_on_disk.list_files(
            self.root,
            self.home,
            self.jobs_dirs,
            self.config.memory_files,
            self.environ if self.config.found else None,
        )
        fresh = [path for path in self.written if not os.path.lexists(path)]
        added = list(self._made(fresh)) if fresh else []
        return Listing(Files([list(real.files.rows()), added]), real.problems)

    def _made(self, paths: Sequence[str]) -> Iterator[tuple[FoundFile, Any]]:
        """The files that a run makes, as they would be listed: found in a tree that
        holds nothing else."""
        with tempfile.TemporaryDirectory(prefix="mem-rehearsal-") as folder:
            root = Path(folder, "root")
            home = Path(folder, "home")
            for path in paths:
                in_root = path.startswith(f"{self.root}{os.sep}")
                inner = os.path.relpath(path, self.root if in_root else self.home)
                copy = (root if in_root else home) / inner
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.touch()
            listing = levels_on_disk.list_files(
                root, home, self.jobs_dirs, self.config.memory_files
            )
            for file in listing.files:
                path = self.path_of(file.name)
                everywhere = file.tree == "~"
                tree = "~" if everywhere else self._tree_of(path)
                real = file._replace(
                    path=path,
                    base=str(self.home if everywhere else self.root),
                    tree=tree,
                )
                yield real, (0, path, tree)

    def _tree_of(self, path: str) -> str:
        """The git work tree below the root that a file lies in, "" for the root's."""
        root = str(self.root)
        folder = os.path.dirname(path)
        while folder != root:
            if os.path.lexists(f"{folder}/.git"):
                return shown(os.path.relpath(folder, root))
            folder = os.path.dirname(folder)
        return ""


class Rehearsal(App):
    """An app whose writes stand in memory; the index is that of the real one."""

    is_rehearsal = True

    def __init__(self, real: App) -> None:
        self.__dict__.update(real.__dict__)
        self.real = real
        self.options = real.options._replace(dry_run=False)
        self.project: RehearsedProject = RehearsedProject(real.project)
        self.providers = real.providers
        self._state = StateCopy(state_dir(), real.project.key)

    def __exit__(self, *_: object) -> None:
        self._state.close()

    @cached_property
    def workspace(self) -> "Workspace":
        """One that keeps nobody out, and lets the files be so in memory alone."""
        return _NoWriter(self.real.workspace, self.project)  # type: ignore[return-value]

    @contextmanager
    def state(
        self, wait: float = 10.0, best_effort: str | None = None
    ) -> Iterator[State]:
        """The copy of the state."""
        yield self._state

    def from_state(
        self,
        work: Callable[[State], T],
        otherwise: T,
        why: str = "",
        *,
        make: bool = True,
    ) -> T:
        """What `work` finds in the copy of the state."""
        return work(self._state)


class _NoWriter:
    """A workspace that keeps nobody out: nothing is written."""

    def __init__(self, real: "Workspace", project: RehearsedProject) -> None:
        self.notes = real.notes
        self.project = project

    def hold(self, verb: str) -> AbstractContextManager[None]:
        return nullcontext()

    def write(
        self, patches: Sequence[Patch], verb: str, note: Sequence[str]
    ) -> list[str]:
        self.project.take(patches)
        return []
