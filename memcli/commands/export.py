"""mem export: the memory for tools that read a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.errors import DataError, UsageError
from memcli.exchange import exporter as handout
from memcli.exchange.exporter import Handout, Note
from memcli.index import view
from memcli.memory.levels import OUTERMOST
from memcli.memory.prominence import Rule, prominence
from memcli.memory.prose import sections
from memcli.memory.values import Entry, Problem
from memcli.project.context import base_of
from memcli.project.levels_on_disk import FoundFile
from memcli.project.places import is_private
from memcli.recall import ranking
from memcli.storage.files import Unreadable, read_text, refuse_links

TARGETS = ("claude", "agents-md", "json")
RULES = ("policy", "architecture", "preference")
"""The kinds that say how things are done here, whatever their priority; all others are lessons."""


class Kept(NamedTuple):
    """A live entry or section with the file it stands in; `weight` is its prominence by level and
    kind.
    """

    entry: Entry
    file: FoundFile
    weight: float


class ExportReport(NamedTuple):
    """The live entries in view, best first, and for claude and agents-md the section made of them."""

    target: str
    kept: tuple[Kept, ...]
    handout: Handout
    problems: tuple[Problem, ...]


def export(app: App, target: str, *, lines: int = 200, size: int = 25_000) -> ExportReport:
    """Everything live in view but the proxy store, as the target wants it. Writes nothing.

    What is meant for a file of the repository leaves the global level out: that is one person's
    own.
    """
    if target not in TARGETS:
        raise UsageError(f"--target {target}: unknown target", f"one of {', '.join(TARGETS)}")
    if lines < 20 or size < 1000:
        raise UsageError(
            "there is no room for a memory", "--max-lines from 20, --max-bytes from 1000"
        )
    files, problems = _files(app, view.Filters(no_global=target != "json"))
    kept = _weighed(app, _live(files))
    notes = [*_norms(files), *_notes(kept)] if target != "json" else []
    return ExportReport(
        target, kept, handout.compose(notes, lines=lines, size=size), tuple(problems)
    )


_Read = list[tuple[FoundFile, str, list[Entry]]]


def _files(app: App, filters: view.Filters) -> tuple[_Read, list[Problem]]:
    """The files in view, the nearest first: their texts and entries."""
    found: _Read = []
    problems = list(app.project.listing.problems)
    for file in sorted(
        view.visible(app.project.listing.files, app.project.view, filters),
        key=lambda f: _far(app, f),
    ):
        if file.place.store not in ("memory", "institutional") or is_private(file):
            continue
        try:
            memory = app.project.read(file)
        except Unreadable as error:
            problems.append(Problem(file.name, error.line, str(error), "unreadable"))
        else:
            found.append((file, memory.text, [*memory.entries, *sections(memory)]))
    return found, problems


def _far(app: App, file: FoundFile) -> tuple[bool, int, str]:
    """How far a file is from the working directory: the levels one is in first, inside out."""
    place, depth = file.place, OUTERMOST[file.place.level]
    around = place.job in ("", app.project.view.job) and place.task in ("", app.project.view.task)
    return not around, -depth if around else depth, file.name


def _live(files: _Read) -> Iterator[tuple[Entry, FoundFile]]:
    """The live entries of the memory store, each id once, from the nearest file."""
    seen: set[str] = set()
    for file, _, entries in files:
        for entry in entries if file.place.store == "memory" else ():
            if entry.id not in seen:
                seen.add(entry.id)
                if entry.status != "retired":
                    yield entry, file


def _weighed(app: App, live: Iterator[tuple[Entry, FoundFile]]) -> tuple[Kept, ...]:
    kept = [Kept(entry, file, round(_weight(app, entry, file), 6)) for entry, file in live]
    return tuple(sorted(kept, key=lambda one: (-one.weight, one.file.name, one.entry.start)))


def _weight(app: App, entry: Entry, file: FoundFile) -> float:
    """What a recall would multiply an entry's relevance by."""
    c, extra = app.project.config, entry.extra
    rule = Rule(c.decay, c.half_life, c.half_life_by_kind, c.growth, c.use_importance)
    values = {"reinforced": entry.last_reinforced, "created": entry.created_at, "date": entry.date}
    found = prominence(
        entry.importance, entry.kind, ranking.age_of(values, app.project.now), entry.reinforcement_count, rule,
        extra.get("stability"), float(extra.get("surprise", 0.0)),
    )  # fmt: skip
    level, kind = c.level_weights.get(file.place.level, 1.0), c.kind_weights.get(entry.kind, 1.0)
    return float(found.value**c.prominence_weight * level * kind)


def _norms(files: _Read) -> Iterator[Note]:
    """Institutional files, the outermost first, equal texts once."""
    read = [
        (file, text)
        for file, text, _ in files
        if file.place.store == "institutional" and text.strip()
    ]
    texts: set[str] = set()
    for file, text in sorted(read, key=lambda one: OUTERMOST[one[0].place.level]):
        if file.place.level in ("global", "project") and text not in texts:
            texts.add(text)
            yield Note("norms", file.name, "", text.strip("\ufeff\r\n \t"))


def _notes(kept: tuple[Kept, ...]) -> Iterator[Note]:
    """Rules and lessons, best first. Episodes tell what was: not for a file that is read at every
    start.
    """
    for one in kept:
        entry = one.entry
        if entry.kind != "episode":
            facts = f"{entry.kind or entry.type}, id {entry.id[:8]}"
            yield Note(
                "rules" if entry.kind in RULES else "lessons", entry.title, facts, entry.body
            )


def save(app: App, report: ExportReport, text: str, out: str) -> bool:
    """Write the answer to the file named `out`; returns whether it changed anything.

    JSON makes the file; a section is put into it, and nothing else of the file changes.
    """
    from memcli.storage.durable import write_output

    path = Path(os.path.abspath(app.project.cwd / os.path.expanduser(out)))
    if any(
        os.path.realpath(path) == os.path.realpath(file.path) for file in app.project.listing.files
    ):
        raise UsageError(f"{out}: is a memory file", "name another file with --out")
    root = app.project.root
    refuse_links(path, root if root is not None and path.is_relative_to(root) else path.parent)
    before = _text(path, out, base_of(app.project, path))
    whole = text + "\n"
    after = whole if report.target == "json" else handout.placed(before, whole, out)
    if after != before:
        write_output(path, after, root=app.project.root)
    return after != before


def _text(path: Path, name: str, inside: str) -> str | None:
    if not path.exists() or not path.is_file():
        return None
    try:
        return read_text(path, inside)
    except Unreadable as error:
        raise DataError(
            f"{name}:{error.line}: {error}; nothing is written", "name another file with --out"
        ) from None
