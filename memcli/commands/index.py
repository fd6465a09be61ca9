"""mem index: bring the index to the state of the files, and say what is in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from memcli.app import App
from memcli.errors import MemError, ProviderError, RefusedError, UsageError
from memcli.index.database import IN_MEMORY, Refreshed
from memcli.index.refresh import differing
from memcli.index.source import FileRow
from memcli.index.upkeep import BUILD_WAIT, embed_chosen
from memcli.memory.values import Problem


class IndexReport(NamedTuple):
    """`stale` are files that a `--check` found changed or gone; `where` is "" when none was made."""

    where: str
    files: tuple[FileRow, ...]
    read: int
    changed: int
    removed: int
    stale: tuple[str, ...]
    problems: tuple[Problem, ...]
    repeated: tuple[Problem, ...]
    vectors: Vectors | None = None


class Vectors(NamedTuple):
    """How far the index has vectors: of which model, for how many of the chunks that are chosen.

    `failed` says why a provider did not give the rest.
    """

    model: str
    have: int
    chosen: int
    failed: str = ""
    hint: str = ""


def index(
    app: App,
    *,
    rebuild: bool = False,
    progress: Callable[[int], None] = lambda done: None,
    embedding: Callable[[int, int], None] = lambda done, total: None,
) -> IndexReport:
    """Refresh (or build anew) the index, and its vectors. Raises RefusedError when it is kept busy.

    A provider that fails is told in the report: the index itself is up to date then.
    """
    if not app.project.listing.files:
        return IndexReport("", (), 0, 0, 0, (), tuple(app.project.listing.problems), ())
    done = app.refresh(wait=BUILD_WAIT, progress=progress, rebuild=rebuild, embed=False)
    if done.busy:
        raise RefusedError(
            f"the index is busy: another process is writing it ({app.index.path})", "run again"
        )
    vectors = _embed(app, embedding)
    return app.guarded(lambda: _report(app, done))._replace(vectors=vectors)


def _embed(app: App, progress: Callable[[int, int], None]) -> Vectors | None:
    """Make the vectors that are missing; None without an embedder or a place to keep them."""
    model = app.project.config.embedder
    failed: MemError | None = None
    try:
        embedder = app.providers.embedder
        if embedder is None or app.index.path == IN_MEMORY:
            return None
        model = f"{embedder.provider}/{embedder.model}"
        app.guarded(
            lambda: embed_chosen(
                app.index, embedder, app.chosen, wait=BUILD_WAIT, progress=progress
            )
        )
    except (ProviderError, UsageError) as error:
        failed = error
    have, chosen = app.index.vectors.count(app.chosen)
    return Vectors(
        model, have, chosen, failed.what if failed else "", failed.hint if failed else ""
    )


def _report(app: App, done: Refreshed) -> IndexReport:
    files = tuple(app.index.files().values())
    where, problems = str(app.index.path), tuple(app.problems)
    return IndexReport(
        where, files, done.read, done.changed, done.removed, (), problems, repeated(app)
    )


def check(app: App) -> IndexReport:
    """What is stale, without writing anything."""
    found = app.looked(lambda: _compare(app)) if app.kept.exists else None
    if found is not None:
        return found
    names = tuple(file.name for file in app.project.listing.files)
    return IndexReport("", (), 0, 0, 0, names, tuple(app.project.listing.problems), ())


def _compare(app: App) -> IndexReport:
    changed, gone = differing(app.index, app.project.listing.files)
    files = tuple(app.index.files().values())
    return IndexReport(
        str(app.index.path), files, 0, 0, 0, (*changed, *gone), tuple(app.problems), repeated(app)
    )


def repeated(app: App) -> tuple[Problem, ...]:
    """Ids that stand twice within one git work tree; the first in view counts."""
    files = {row.id: row for row in app.index.files().values()}
    first: dict[tuple[str, str], str] = {}
    found = []
    for entry, source, line in app.index.entries.repeated():
        row = files[source]
        if row.place.store == "archive":
            continue
        key = (entry, row.tree)
        if key in first:
            found.append(Problem(row.path, line, f"id {entry} stands already in {first[key]}"))
        else:
            first[key] = f"{row.path}:{line}"
    return tuple(found)
