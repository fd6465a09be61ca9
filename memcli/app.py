"""Composition root: project, index, state, workspace, providers; made on first use,
closed."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager as Opened
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from memcli.errors import MemError, ProviderError, RefusedError, UsageError
from memcli.index.database import Index, Progress, Refreshed
from memcli.index.upkeep import ProjectIndex, chosen_chunks
from memcli.memory.values import ARCHIVE, Patch, Problem
from memcli.named import NamedTuple
from memcli.project import config
from memcli.project.context import Project, moment
from memcli.storage.files import state_dir
from memcli.user_folders import folder_of

if TYPE_CHECKING:
    from memcli.index.anchors import Checked
    from memcli.index.vectors import Chosen
    from memcli.memory.tombstones import Forgotten
    from memcli.providers.configured import Providers
    from memcli.providers.llm.ledger import Call
    from memcli.similarity.taken_back import TakenBackDoor
    from memcli.storage.state import State
    from memcli.storage.workspace import Workspace

T = TypeVar("T")
LOG_WAIT = 0.2  # seconds that what can be done without waits for the state file


class Plan(Protocol):
    """What a writing command returns: its report, with the patches that make it
    true."""

    @property
    def patches(self) -> Sequence[Patch]:
        """The changes of files that it makes."""


P = TypeVar("P", bound=Plan)


class Options(NamedTuple):
    """The options that every command has; `others` are roots beside the first one.
    `may_lift`: the command names what it changes, so that a person may lift a guard."""

    root: str = ""
    sets: tuple[str, ...] = ()
    quiet: bool = False
    json: bool = False
    tasks: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    dry_run: bool = False
    may_lift: bool = False


class App:
    """Everything a command reaches the outside through. Use as a context manager."""

    is_rehearsal = False
    """Whether what is written stands in memory alone."""

    def __init__(
        self,
        options: Options,
        environ: Mapping[str, str],
        cwd: Path,
        kind: type[Project] = Project,
    ) -> None:
        self.options = options
        self.notes: list[str] = []
        self.project = kind(
            environ, cwd, root=options.root, sets=options.sets, tasks=options.tasks
        )
        self.kept = ProjectIndex(self.project, self.notes)
        self.count: Progress = lambda what, done, total: None
        self.guarded = self.kept.guarded

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: object, error: BaseException | None, trace: object
    ) -> None:
        damaged = False
        if isinstance(error, Exception) and not isinstance(error, MemError):
            damaged = self.kept.set_aside_if_damaged(error)
        self.kept.close()
        if "providers" in self.__dict__:
            self.providers.close()
        if damaged:
            raise RefusedError("the index was damaged; it is built anew", "run again")

    @cached_property
    def workspace(self) -> "Workspace":
        """The door through which files are written."""
        from memcli.storage.workspace import Workspace

        root = self.project.root
        home = self.project.home
        return Workspace(
            root,
            state_dir(),
            moment(self.project.now),
            allowed=[root] if root is not None else [],
            single=[
                home / "MEMORY.md",
                home / "MEMORY.archive.md",
                home / "institutional.md",
                home / "institutional.archive.md",
            ],
        )

    def write(
        self,
        plan: Callable[[], P],
        verb: str,
        *,
        note: Callable[[P], Sequence[str]] = lambda report: (),
    ) -> P:
        """Plan while other writers are kept out and write all of it or none. In a dry
        run nothing is written."""
        if self.dry_run:
            return plan()
        with self.workspace.hold(verb):
            self.project.relist()
            report = plan()
            if not self.options.may_lift:
                _refuse_loosening(report.patches)
            self.notes += self.workspace.write(report.patches, verb, note=note(report))
        return report

    def state(
        self, wait: float = 10.0, best_effort: str | None = None
    ) -> "Opened[State]":
        """The state of this project. With `best_effort` a failure is a note that begins
        so."""
        from memcli.storage.state import open_state

        return open_state(
            self.project.key, wait=wait, best_effort=best_effort, notes=self.notes
        )

    def from_state(
        self,
        work: "Callable[[State], T]",
        otherwise: T,
        why: str = "",
        *,
        make: bool = True,
    ) -> T:
        """What `work` finds in the state, else `otherwise` (and a note); `make` the
        file or not."""
        if make or (state_dir() / "state.db").exists():
            with self.state(wait=LOG_WAIT, best_effort=why) as state:
                return work(state)
        return otherwise  # the block may have ended early

    def taken_back(self) -> "TakenBackDoor":
        """What was taken back, to be asked before an entry enters a file."""
        from memcli.project.context import known_files
        from memcli.similarity.taken_back import TakenBackDoor, tombstones_of

        stones = tombstones_of(known_files(self.project))
        return TakenBackDoor(stones, self.forgotten())

    def forgotten(self) -> "Forgotten":
        """What was forgotten, to be asked of what is read."""
        from memcli.memory.tombstones import Forgotten

        nothing = list[tuple[str, str, str]]()
        marks = self.from_state(lambda state: state.tombstones(), nothing, make=False)
        return Forgotten(marks)

    @cached_property
    def providers(self) -> "Providers":
        """The embedder and the language model of the configuration."""
        from memcli.providers.configured import Providers

        today = self.today

        def note(call: "Call") -> None:
            lost = f"a call of {call.cost:.4f} USD is missing in the ledger"
            row = (
                today,
                call.purpose,
                call.provider,
                call.model,
                call.usage.input,
                call.usage.cache_read,
                call.usage.cache_write,
                call.usage.output,
                call.cost,
            )
            self.from_state(lambda state: state.note("ledger", [row]), None, lost)

        def spent() -> tuple[float, int]:
            why = "what was spent today is not known"
            return self.from_state(lambda state: state.spent(today), (0.0, 0), why)

        return Providers(self.project, spent, note)

    @property
    def index(self) -> Index:
        """The index of the memory files, opened on first use."""
        return self.kept.index

    @property
    def dry_run(self) -> bool:
        """Whether this command says what it would write, and writes nothing."""
        return self.options.dry_run

    @property
    def today(self) -> str:
        """This day, as YYYY-MM-DD."""
        return self.project.now.isoformat()

    @property
    def problems(self) -> list[Problem]:
        """Every problem of the files in the index and of those that were refused, in
        order."""
        problems = [*self.project.listing.problems, *self.index.problems]
        return sorted(problems, key=lambda problem: (problem.path, problem.line))

    def refresh(
        self,
        *,
        wait: float | None = None,
        rebuild: bool = False,
        embed: bool = True,
    ) -> Refreshed:
        """Bring the index up to the files, with vectors made in this process; not a
        busy one."""
        is_embedded = embed and self.embeds_here
        done = self.kept.refresh(wait, self.count, rebuild=rebuild)
        if is_embedded and not done.busy:
            providers = self.providers
            if not self.kept.embed(providers.embedder, self.count):
                providers.embedder = None
        return done

    def check_names(
        self, *, seconds: float = 20, again: bool = False
    ) -> "Checked | None":
        """Hold what entries name against the code, as far as git can tell in time; None
        without a project."""
        from memcli.index import anchors

        root = self.project.root
        if root is None:
            return None
        return self.guarded(
            lambda: anchors.update(
                self.index, root, self.count, seconds=seconds, again=again
            )
        )

    @property
    def chosen(self) -> "Chosen":
        """Which chunks are embedded."""
        return chosen_chunks(self.project.config)

    @property
    def embeds_here(self) -> bool:
        """Whether vectors are made in this process, so that a refresh may make them."""
        local = self.project.config.embedder in ("auto", "local")
        return local and self.providers.embedder is not None

    @property
    def embeds(self) -> bool:
        """Whether there is an embedder; one that cannot work is none."""
        try:
            return self.providers.embedder is not None
        except (ProviderError, UsageError):
            return False


def _refuse_loosening(patches: Sequence[Patch]) -> None:
    from memcli.memory.binding import refuse_loosening

    files = [patch for patch in patches if not patch.path.endswith(ARCHIVE)]
    before = [patch.before or "" for patch in files]
    refuse_loosening(before, [patch.after or "" for patch in files])


@contextmanager
def opened(options: Options) -> Iterator[App]:
    """An `App` for the running process."""
    try:
        cwd = Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "the working directory is gone", "change to an existing folder"
        ) from None
    with App(options, os.environ, cwd) as app:
        # judged even if nobody asks for the configuration
        flags = config.parse_flags(options.sets)
        config.require(config.resolve([("flag", flags, lambda key: f"--set {key}")]))
        app.notes += config.unknown_variables(os.environ)
        usual = folder_of("state")
        used = state_dir()
        if used != usual:
            app.notes.append(
                f"{usual} can be written by others: the state is kept in {used}"
            )
        yield app
