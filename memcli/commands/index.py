"""mem index: bring the index to the state of the files, and say what is in it."""

from collections.abc import Mapping
from typing import NamedTuple

from memcli.app import App
from memcli.errors import ProviderError, RefusedError, UsageError
from memcli.index import anchors, database, upkeep
from memcli.index.view import FileRow
from memcli.memory.values import Problem
from memcli.providers.embed import name_of


class Embedded(NamedTuple):
    """How many of the chosen chunks have vectors of which model; why the rest
    `failed`."""

    model: str
    have: int
    chosen: int
    failed: str
    hint: str


class IndexReport(NamedTuple):
    """`stale` are files that `--check` found changed or gone; `where` is "" without an
    index."""

    where: str = ""
    files: Mapping[int, FileRow] = {}
    entries: int = 0
    read: int = 0
    changed: int = 0
    removed: int = 0
    stale: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    repeated: tuple[Problem, ...] = ()
    vectors: Embedded | None = None
    names: anchors.Checked | None = None


def index(app: App, *, rebuild: bool = False) -> IndexReport:
    """Refresh index and vectors, and report a provider that fails. Raises
    RefusedError."""
    if not app.project.listing.files:
        return _nothing(app)
    refreshed = app.refresh(wait=upkeep.BUILD_WAIT, rebuild=rebuild, embed=False)
    if refreshed.busy:
        what = f"the index is busy: another process is writing to it ({app.index.path})"
        raise RefusedError(what, "run again")
    vectors = _embed(app)
    names = app.check_names()
    report = app.guarded(lambda: _report(app, refreshed))
    return report._replace(vectors=vectors, names=names)


def _embed(app: App) -> Embedded | None:
    model = app.project.config.embedder
    failed = ""
    hint = ""
    try:
        embedder = app.providers.embedder if model != "none" else None
        if embedder is None or app.index.path == database.IN_MEMORY:
            return None
        model = name_of(embedder)
        chosen = app.chosen
        app.guarded(
            lambda: upkeep.embed_chosen(
                app.index, embedder, chosen, app.count, wait=upkeep.BUILD_WAIT
            )
        )
    except (ProviderError, UsageError) as error:
        failed = error.what
        hint = error.hint
    have, chosen_count = app.index.vectors.count(app.chosen)
    return Embedded(
        model=model, have=have, chosen=chosen_count, failed=failed, hint=hint
    )


def check(app: App) -> IndexReport:
    """What is stale, without writing anything."""
    from memcli.index import refresh

    def compare(index: database.Index) -> IndexReport:
        changed, gone = refresh.differing(index, app.project.listing.files)
        return _report(app, database.Refreshed(), (*changed, *gone))

    report = app.kept.looked(compare) if app.kept.exists else None
    if report is None:
        stale = tuple(file.name for file in app.project.listing.files)
        return _nothing(app)._replace(stale=stale)
    return report


def _nothing(app: App) -> IndexReport:
    return IndexReport(problems=tuple(app.project.listing.problems))


def _report(
    app: App, done: database.Refreshed, stale: tuple[str, ...] = ()
) -> IndexReport:
    files = app.index.everywhere()
    return IndexReport(
        where=str(app.index.path),
        files=files,
        entries=files.entries,
        read=done.read,
        changed=done.changed,
        removed=done.removed,
        stale=stale,
        problems=tuple(app.problems),
        repeated=repeated(app, files),
    )


def repeated(app: App, files: Mapping[int, FileRow]) -> tuple[Problem, ...]:
    """Ids that stand twice within one git work tree; the first in view counts."""
    first: dict[tuple[str, str], str] = {}
    problems = []
    for entry, source, line in app.index.entries.repeated():
        row = files[source]
        here = f"{row.path}:{line}"
        if row.place.store != "archive":
            there = first.setdefault((entry, row.tree), here)
            if there != here:
                what = f"id {entry} is also in {there}"
                problems.append(Problem(row.path, line, what))
    return tuple(problems)
