"""The Python interface: what the commands do, as methods of one object,
`memcli.Memory`.

Every failure is a `memcli.errors.MemError` with `what`, a `hint` and the exit `code` it
would have."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from memcli.app import App, Options, opened
from memcli.errors import RefusedError
from memcli.memory.filters import Filters

if TYPE_CHECKING:
    from memcli.commands.add import AddReport
    from memcli.commands.drop import DropReport
    from memcli.commands.keep import KeepReport
    from memcli.commands.show import ShowReport
    from memcli.compaction.reinforce import ReinforceReport
    from memcli.diagnostics.health import HealthReport
    from memcli.extraction.extract import ExtractReport
    from memcli.extraction.proposals import Proposal
    from memcli.recall.answer import RecallReport
    from memcli.recall.hit import Hit

Names = str | Sequence[str]  # one name or several


class FilterOptions(TypedDict, total=False):
    """The filters of `mem recall`: within one any value fits, and all of them must."""

    level: Names
    job: Names
    task_name: Names
    type: Names
    kind: Names
    store: Names
    tag: Names
    scope: Names
    path: Names
    since: str
    until: str
    archived: bool
    no_global: bool


class RecallOptions(FilterOptions, total=False):
    """What a recall takes besides its task; `limit` bounds the ranked hits alone."""

    limit: int | None
    max_tokens: int | None
    ranked: bool
    session: str


class AddOptions(TypedDict, total=False):
    """What is known of a thing besides its text, as `mem add` takes it."""

    level: str
    job: str
    task: str
    type: str
    kind: str
    title: str
    tags: Sequence[str]
    paths: Sequence[str]
    commands: Sequence[str]
    importance: float | None
    priority: str
    steps: Sequence[str]
    outcome: str
    domain: str
    again: bool
    beside: bool


class Memory:
    """The memory of one project (that of the working directory without `root`) and the
    global one.

    Each call opens what it needs and closes it again; threads may share one, a call at
    a time."""

    def __init__(self, root: str | os.PathLike[str] | None = None) -> None:
        self._root = "" if root is None else os.fspath(root)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open between calls."""

    def recall(self, task: str, **options: Unpack[RecallOptions]) -> list[Hit]:
        """What was learned that bears on a task: the hits of `mem recall`, in the order
        shown."""
        return list(self._recalled(task, options).hits)

    def prompt(self, task: str, **options: Unpack[RecallOptions]) -> str:
        """The same hits as one block of untrusted hints for an agent's prompt; ""
        without any."""
        from memcli.recall.budget import write

        report = self._recalled(task, options)
        return write(report.hits, report.budget.more)

    def _recalled(self, task: str, options: RecallOptions) -> RecallReport:
        from memcli.commands import recall as command
        from memcli.recall.answer import RecallRequest

        given: dict[str, Any] = dict(options)
        sizes = {key: given.pop(key, None) for key in ("limit", "max_tokens")}
        sets = [f"{key}={size}" for key, size in sizes.items() if size is not None]
        ranked = given.pop("ranked", False)
        session = given.pop("session", "")
        filters: dict[str, Any] = {
            key: given.pop(key)
            for key in ("since", "until", "archived", "no_global")
            if key in given
        }
        for key, names in given.items():
            filters["task" if key == "task_name" else key] = _names(names)
        request = RecallRequest(
            task, Filters(**filters), ranked_only=ranked, session=session
        )
        with self._app(*sets) as app:
            return command.recall(app, request)

    def add(
        self, text: str, *, dry_run: bool = False, **options: Unpack[AddOptions]
    ) -> AddReport:
        """Write down one thing; what is known already is reinforced instead
        (`.reinforced`), another value for the same thing supersedes the old one
        (`.superseded`) unless `beside`.

        Raises RefusedError for a text with a secret in it, and, unless `again`, for
        what was taken back."""
        from memcli.commands import add as command

        lists = ("tags", "paths", "commands", "steps")
        given: dict[str, Any] = dict(options)
        values: Any = {
            key: tuple(value) if key in lists else value for key, value in given.items()
        }
        with self._app(dry_run=dry_run) as app:
            return command.add(app, command.AddRequest(text, **values))

    def reinforce(
        self, ids: Names, *, session: str = "", dry_run: bool = False
    ) -> ReinforceReport:
        """Strengthen entries that were used; with `session`, each at most once in
        it."""
        from memcli.compaction.reinforce import ReinforceRequest, reinforce

        request = ReinforceRequest(ids=_names(ids), session=session)
        with self._app(dry_run=dry_run) as app:
            return reinforce(app, request)

    def extract(
        self,
        *transcripts: str | os.PathLike[str],
        scopes: Sequence[str] = (),
        engine: str = "auto",
        dry_run: bool = False,
    ) -> ExtractReport:
        """Learn from finished sessions: those of these files, else the ones of this
        repository.

        `engine` is rules (no model), llm, or auto: what the user's configuration
        enables."""
        from memcli.extraction.extract import ExtractRequest, extract

        named = tuple(os.fspath(path) for path in transcripts)
        request = ExtractRequest(named, scopes=tuple(scopes), engine=engine)
        with self._app() as app:
            if not dry_run:
                return extract(app, request)
            from memcli.extraction.rehearsal import Rehearsal

            with Rehearsal(app) as rehearsal:
                return extract(rehearsal, request)

    def inbox(self) -> list[Proposal]:
        """What sessions proposed and waits for a yes, the newest first."""
        from memcli.commands.inbox import inbox

        with self._app() as app:
            return list(inbox(app).proposals)

    def keep(
        self,
        ids: Names,
        *,
        title: str = "",
        kind: str = "",
        level: str = "",
        dry_run: bool = False,
    ) -> KeepReport:
        """Write proposals as entries that a person has confirmed: all or none."""
        from memcli.commands.keep import KeepRequest, keep

        request = KeepRequest(ids=_names(ids), title=title, kind=kind, level=level)
        with self._app(dry_run=dry_run) as app:
            return keep(app, request)

    def drop(self, ids: Names, *, dry_run: bool = False) -> DropReport:
        """Drop proposals: they are neither proposed nor kept again."""
        from memcli.commands.drop import drop

        with self._app(dry_run=dry_run) as app:
            return drop(app, _names(ids))

    def show(self, id: str) -> ShowReport:
        """One entry with its values, provenance and relations; `id` may be the
        beginning of one."""
        from memcli.commands import show as command

        with self._app() as app:
            return command.show(app, id)

    def health(self) -> HealthReport:
        """How good the memory is, in five metrics."""
        from memcli.diagnostics import health as command

        with self._app() as app:
            return command.health(app)

    @contextmanager
    def _app(self, *sets: str, dry_run: bool = False) -> Iterator[App]:
        try:
            with opened(Options(self._root, sets, dry_run=dry_run)) as app:
                yield app
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise RefusedError(
                f"{why} ({error.filename or 'no file'})", "mem doctor"
            ) from error


def _names(given: Names) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
