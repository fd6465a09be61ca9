"""mem compact: keep memory small and true. Deterministic, no network, safe in CI."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from memcli import scope, tree
from memcli.app import App
from memcli.checks import conflict_lines
from memcli.compaction import Event, Outcome, Source, Steps, compact
from memcli.errors import RefusedError, UsageError
from memcli.levels import ARCHIVE, LEVEL_WORDS, archive_of, place, source_of
from memcli.memory_file import parse
from memcli.model import LEVELS, Patch, Problem
from memcli.tree import Found


class Request(NamedTuple):
    """What to compact: `files` names single ones; else those in view of `levels`, `jobs`, `tasks`."""

    files: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    steps: Steps = Steps()
    allow_loss: bool = False


class Report(NamedTuple):
    """What was (or would be) done, what was found, the files left alone, and the patches."""

    done: tuple[Event, ...]
    found: tuple[Event, ...]
    skipped: tuple[Problem, ...]
    patches: tuple[Patch, ...]


def run(app: App, request: Request, *, dry_run: bool = False) -> Report:
    """Compact the files asked for. Raises RefusedError (exit 5) before a loss, with nothing written."""
    levels = tuple(LEVEL_WORDS.get(name, name) for name in request.levels)
    for name in levels:
        if name not in LEVELS:
            raise UsageError(f"--level {name}: unknown level", f"one of {', '.join(LEVELS)}")
    wanted = request._replace(levels=levels, allow_loss=request.allow_loss or dry_run)
    return app.write(lambda: _plan(app, wanted), "compact", dry_run=dry_run)


def _plan(app: App, request: Request) -> Report:
    skipped: list[Problem] = list(app.listing.problems)
    sources, archives, paths = [], {}, {}
    read = set()
    for file in _chosen(app, request):
        try:
            text = tree.decode(tree.read_bytes(file.path).data)
            kept = _archive(file)
        except tree.Unreadable as error:
            skipped.append(Problem(file.name, error.line, str(error), "unreadable"))
            continue
        if lines := conflict_lines(text):
            skipped.append(Problem(file.name, lines[0], "has conflict markers", "unreadable"))
            continue
        sources.append(
            Source(file.name, file.place, parse(text, file.name), app.may_write(file, request.tasks))
        )
        paths[file.name], paths[archive_of(file.name)] = file.path, archive_of(file.path)
        read.add(file.name)
        if kept is not None:
            archives[archive_of(file.name)] = kept
    if request.steps.promote and not request.files and "MEMORY.md" not in paths and app.root is not None:
        sources.append(_project_file(app))
        paths["MEMORY.md"] = str(app.root / "MEMORY.md")
    with _no_collection():
        outcome = compact(sources, archives, request.steps, app.now)
    _guard_loss(outcome, allow=request.allow_loss)
    before = {source.path: source.memory.text for source in sources if source.path in read} | archives
    patches = tuple(
        Patch(paths[name], before.get(name), text) for name, text in sorted(outcome.texts.items())
    )
    return Report(outcome.done, (*outcome.found, *outcome.losses), tuple(skipped), patches)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Millions of small tuples and not one cycle: looking for cycles would be a fifth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _project_file(app: App) -> Source:
    """A project's MEMORY.md that is still to be made: what recurs goes there."""
    return Source("MEMORY.md", place("project", "MEMORY.md"), parse("", "MEMORY.md"), app.tree == "")


def _archive(file: Found) -> str | None:
    path = archive_of(file.path)
    return tree.decode(tree.read_bytes(path).data) if os.path.lexists(path) else None


def _chosen(app: App, request: Request) -> list[Found]:
    """The memory files asked for, archives left out (they are only added to)."""
    files = [file for file in app.listing.files if file.place.store != "archive"]
    if request.files:
        return _named(app, files, request.files)
    levels = request.levels or ("project", "job", "task")
    filters = scope.Filters(job=request.jobs, task=request.tasks)
    return [file for file in scope.visible(files, app.view, filters) if file.place.level in levels]


def _named(app: App, files: Sequence[Found], names: Sequence[str]) -> list[Found]:
    by_path = {os.path.realpath(file.path): file for file in files}
    chosen = []
    for name in names:
        path = os.path.realpath(app.cwd / name)
        path = source_of(path) if path.endswith(ARCHIVE) else path
        if path not in by_path:
            listed = ", ".join(file.name for file in files[:5]) or "there is none"
            raise UsageError(f"{name}: no memory file of this project", f"memory files: {listed}")
        chosen.append(by_path[path])
    return list(dict.fromkeys(chosen))


def _guard_loss(outcome: Outcome, *, allow: bool) -> None:
    for loss in outcome.losses:
        if not allow:
            raise RefusedError(
                f"{loss.detail} would leave {loss.path}; nothing is written",
                "look with --dry-run; --allow-loss goes ahead (what leaves is kept in the archive)",
            )
