"""mem export: the memory for tools that read a file."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.commands.show import standing
from memcli.errors import DataError, UsageError, one_of
from memcli.exchange import exporter as handout
from memcli.exchange.exporter import ExportNote, Handout
from memcli.index import view
from memcli.install import git_hooks
from memcli.memory.parser import KnownFile, sections
from memcli.memory.values import OUTERMOST, Entry, Problem
from memcli.project.context import Project, base_of, nothing_written, read_known
from memcli.project.levels_on_disk import PRIVATE, marks
from memcli.project.listing import FoundFile
from memcli.storage.files import read_text, refuse_links

TARGETS = ("claude", "agents-md", "json")
RULES = ("policy", "architecture", "preference")
"""The kinds that say how things are done here, whatever their priority; all others are
lessons."""
_Read = list[tuple[KnownFile, list[Entry]]]


class Exported(NamedTuple):
    """A live entry or section with its file; `weight` is its prominence by level and
    kind."""

    entry: Entry
    file: KnownFile
    weight: float


class ExportReport(NamedTuple):
    """The live entries in view, best first; for claude and agents-md the section made
    of them."""

    target: str
    kept: tuple[Exported, ...]
    handout: Handout
    problems: tuple[Problem, ...]


def export(
    app: App, target: str, *, lines: int = 200, size: int = 25_000
) -> ExportReport:
    """What is live in view, no proxy store; for the repository no global level
    either."""
    one_of("--target", target, TARGETS)
    files, problems = _files(app.project, view.Filters(no_global=target != "json"))
    live: dict[str, Exported] = {}  # each id once, from the nearest file
    for file, entries in files:
        for entry in entries if file.place.store == "memory" else ():
            if entry.id not in live:
                score = standing(app.project, entry, file.place.level).score
                live[entry.id] = Exported(entry, file, round(score, 6))
    kept = [one for one in live.values() if one.entry.status != "retired"]
    kept.sort(key=lambda one: (-one.weight, one.file.path, one.entry.start))
    notes = list(_notes(files, kept)) if target != "json" else []
    section = handout.compose(notes, lines=lines, size=size)
    return ExportReport(
        target=target, kept=tuple(kept), handout=section, problems=tuple(problems)
    )


def _files(project: Project, filters: view.Filters) -> tuple[_Read, list[Problem]]:
    def far(file: FoundFile) -> tuple[bool, int, str]:
        place = file.place
        depth = OUTERMOST[file.place.level]
        around = place.job in ("", project.view.job) and place.task in (
            "",
            project.view.task,
        )
        return not around, -depth if around else depth, file.name

    found = _Read()
    problems = list(project.listing.problems)
    apart = marks(project.listing.files)
    first = dict[str, str]()
    files = view.visible(project.listing.files, project.view, filters)
    files = [
        f
        for f in files
        if f.place.store in ("memory", "institutional") and f.tree != PRIVATE
    ]
    for file in read_known(project, sorted(files, key=far), problems):
        mark = apart.get(file.path, "")
        keyed = list[Entry]()
        for one in (*file.memory.entries, *sections(file.memory)):
            own = first.setdefault(one.id, mark) == mark
            keyed.append(one if own else one._replace(id=mark + one.id))
        found.append((file, keyed))
    return found, problems


def _notes(files: _Read, kept: Sequence[Exported]) -> Iterator[ExportNote]:
    """Norms, the outermost first, equal texts once; rules and lessons, best first; no
    episodes."""
    texts: dict[str, str] = {}
    for file, _ in sorted(files, key=lambda one: OUTERMOST[one[0].place.level]):
        place = file.place
        text = file.memory.text
        if (
            place.store == "institutional"
            and place.level in ("global", "project")
            and text.strip()
        ):
            texts.setdefault(text, file.path)
    for text, name in texts.items():
        yield ExportNote(
            group="norms", title=name, facts="", text=text.strip("\ufeff\r\n \t")
        )
    for entry, _, _ in kept:
        if entry.kind != "episode":
            facts = f"{entry.kind or entry.type}, id {entry.id[:8]}"
            shelf = "rules" if entry.kind in RULES else "lessons"
            yield ExportNote(
                group=shelf, title=entry.title, facts=facts, text=entry.body
            )


def save(app: App, out: str, text: str | None, *, whole: bool = False) -> bool:
    """Make `text` the `whole` of the file `out`, or our section in it, which goes with
    None; whether that changed anything."""
    from memcli.storage.durable import write_output

    project = app.project
    root = app.project.root
    path = Path(os.path.abspath(project.cwd / os.path.expanduser(out)))
    if os.path.realpath(path) in {
        os.path.realpath(file.path) for file in project.listing.files
    }:
        raise UsageError(f"{out}: is a memory file", "name another file with --out")
    refuse_links(
        path, root if root is not None and path.is_relative_to(root) else path.parent
    )
    with nothing_written(out):
        before = read_text(path, base_of(project, path)) if path.is_file() else None
    try:
        if text is None or whole:
            after = (
                f"{text}\n"
                if text
                else before and git_hooks.drop(before, git_hooks.EXPORT)
            )
        else:
            lines = text.split("\n")[1:-1]
            after = git_hooks.put(before, lines, git_hooks.EXPORT, blank=True)
    except UsageError as error:
        raise DataError(f"{out}:{error.what}; nothing is written", error.hint) from None
    if after is None and before is not None:
        path.unlink()
    elif after is not None and after != before:
        write_output(path, after, root=root)
    return after != before
