"""mem export: the memory for tools that read a file."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.commands.show import standing
from memcli.errors import DataError, UsageError, one_of
from memcli.exchange import exporter as handout
from memcli.exchange import importers, rule_places
from memcli.exchange.exporter import ExportNote, Handout
from memcli.exchange.path_rules import (
    FILES,
    PathNote,
    RuleFile,
    rule_files,
    without_rules,
)
from memcli.index import view
from memcli.install import git_hooks
from memcli.memory.filters import Filters
from memcli.memory.parser import KnownFile, sections
from memcli.memory.values import OUTERMOST, Entry, Patch, Problem
from memcli.memory.words import body_of
from memcli.project import globs
from memcli.project.config import user_file
from memcli.project.context import Project, base_of, nothing_written, read_known
from memcli.project.levels_on_disk import is_ours
from memcli.project.listing import PRIVATE, FoundFile, marks
from memcli.storage.durable import write_output
from memcli.storage.files import read_text, refuse_links
from memcli.text.matching import verbose

RULES_TARGET = "claude-rules"
TARGETS = ("claude", RULES_TARGET, "agents-md", "json")
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
    of them, for claude-rules the text of each file by its name."""

    target: str
    kept: tuple[Exported, ...]
    handout: Handout
    problems: tuple[Problem, ...]
    rules: Mapping[str, RuleFile]


@verbose
def _include() -> str:
    """The sign by which a file for Claude Code includes another, and its path."""
    return r"(?<!\S) @ ( [\w~./-]+ )"


def export(
    app: App, target: str, out: str = "", *, lines: int = 200, size: int = 25_000
) -> ExportReport:
    """What is live in view, no proxy store; for the repository no global level either.
    Nothing goes into the file `out` that it says by itself."""
    one_of("target", target, TARGETS)
    files, problems = _files(app.project, Filters(no_global=target != "json"))
    nearest = {}  # each id once, from the nearest file
    for file, entries in files:
        for entry in entries if file.place.store == "memory" else ():
            if entry.id not in nearest:
                score = standing(app.project, entry, file.place.level).score
                nearest[entry.id] = Exported(entry, file, round(score, 6))
    exported = [each for each in nearest.values() if each.entry.status != "retired"]
    exported.sort(key=lambda each: (-each.weight, each.file.path, each.entry.start))
    notes = []
    if target not in ("json", RULES_TARGET):
        notes = [*_norms(files), *_lessons(_from_elsewhere(app.project, exported, out))]
    section = handout.compose(notes, lines=lines, size=size)
    rules = rule_files(_about_paths(exported)) if target == RULES_TARGET else {}
    return ExportReport(
        target=target,
        kept=tuple(exported),
        handout=section,
        problems=tuple(problems),
        rules=rules,
    )


def _files(project: Project, filters: Filters) -> tuple[_Read, list[Problem]]:
    """The files in view with their entries, the nearest first, and what is wrong with
    them. Where a task's own tree has another entry of an id, its id says so."""
    visible = view.visible(project.listing.files, project.view, filters)
    files = [
        file
        for file in visible
        if file.place.store in ("memory", "institutional") and file.tree != PRIVATE
    ]
    files.sort(key=lambda file: _distance(project, file))
    problems = list(project.listing.problems)
    trees = marks(project.listing.files)
    first: dict[str, str] = {}
    read = []
    for file in read_known(project, files, problems):
        tree = trees.get(file.path, "")
        entries = []
        for entry in (*file.memory.entries, *sections(file.memory)):
            own = first.setdefault(entry.id, tree) == tree
            entries.append(entry if own else entry._replace(id=tree + entry.id))
        read.append((file, entries))
    return read, problems


def _distance(project: Project, file: FoundFile) -> tuple[bool, int, str]:
    place = file.place
    in_job = place.job in ("", project.view.job)
    in_task = place.task in ("", project.view.task)
    depth = OUTERMOST[place.level]
    if in_job and in_task:
        return False, -depth, file.name
    return True, depth, file.name


def _norms(files: _Read) -> Iterator[ExportNote]:
    """The institutional files, the outermost first, equal texts once."""
    texts: dict[str, str] = {}
    for file, _ in sorted(files, key=lambda read: OUTERMOST[read[0].place.level]):
        place = file.place
        is_common = place.level in ("global", "project")
        if is_common and place.store == "institutional" and file.memory.text.strip():
            texts.setdefault(file.memory.text, file.path)
    for text, name in texts.items():
        body = text.strip("\ufeff\r\n \t")
        yield ExportNote(group="norms", title=name, facts="", text=body)


def _lessons(kept: Sequence[Exported]) -> Iterator[ExportNote]:
    """Rules and lessons, best first; no episodes."""
    return (_note(each.entry) for each in kept if each.entry.kind != "episode")


def _from_elsewhere(
    project: Project, kept: Sequence[Exported], out: str
) -> list[Exported]:
    """The entries that do not stand in the file `out` outside our section."""
    exported = set()
    with nothing_written(out):
        places = _with_included(_written_path(project, out)) if out else ()
        for file in filter(Path.is_file, places):
            drafts = importers.rules(file.name, read_text(file))
            exported |= {_words(draft.title, draft.text) for draft in drafts}
    return [
        each
        for each in kept
        if _words(each.entry.title, each.entry.body) not in exported
    ]


def _words(title: str, text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", f"{title} {body_of(text, title)}"))


def _with_included(path: Path) -> list[Path]:
    """A file, and the files with rules for agents that it includes."""
    with nothing_written(path.name):
        text = read_text(path) if path.is_file() else ""
    named = [path.parent / name.rstrip(".") for name in _include().findall(text)]
    included = [each for each in named if rule_places.is_rule_file(each, each.name)]
    return [path, *filter(Path.is_file, included)]


def _place_of(project: Project, out: str) -> str:
    """Where the section of the file `out` stands: in it, or in one that it includes, so
    that agents which read that one find it, too."""
    own, *included = _with_included(_written_path(project, out))
    for file in (own, *included) if included else ():
        if git_hooks.EXPORTED in read_text(file):
            return str(file)
    return str(included[-1]) if included else out


def _note(entry: Entry) -> ExportNote:
    return ExportNote(
        group="rules" if entry.kind in RULES else "lessons",
        title=entry.title,
        facts=f"{entry.kind or entry.type}, id {entry.id[:8]}",
        text=entry.body,
    )


def _about_paths(kept: Sequence[Exported]) -> Iterator[PathNote]:
    """The rules and lessons that name the files they are about."""
    for entry, _, _ in kept:
        paths = entry.extra.get("paths") or ()
        usable = tuple(path for path in paths if globs.usable(path))
        if usable and entry.kind != "episode":
            yield PathNote(note=_note(entry), paths=usable)


def in_file(
    project: Project, out: str, text: str | None, *, whole: bool = False
) -> list[Patch]:
    """What makes `text` the `whole` of the file `out`, or our section in it, which goes
    with None; nothing where it is so already."""

    def put(before: str | None) -> str | None:
        return f"{text}\n" if text and whole else _with_section(before, text)

    place = out if whole else _place_of(project, out)
    return _changed(project, place, put)


def in_folder(project: Project, out: str, rules: Mapping[str, RuleFile]) -> list[Patch]:
    """What makes these the rules of ours in the folder `out`, and takes out of it what
    else of ours stands there."""
    folder = Path(os.path.abspath(project.cwd / os.path.expanduser(out)))
    if folder.is_file():
        raise UsageError(f"{out}: is a file", "name a folder: --out .claude/rules")
    if rules:
        _written_path(project, str(folder / "rule.md"))
    names = {*rules, *(path.name for path in folder.glob(FILES))}
    patches = []
    for name in sorted(names):
        put = rules[name].put if name in rules else without_rules
        patches += _changed(project, str(folder / name), put)
    return patches


def write(
    project: Project, patches: Sequence[Patch], *, makes_folder: bool = False
) -> None:
    """Write each file whole or not at all; one without a text goes."""
    for path, _, after in patches:
        if after is None:
            os.unlink(path)
            continue
        if makes_folder:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        write_output(Path(path), after, root=project.root)


def _changed(
    project: Project, out: str, put: Callable[[str | None], str | None]
) -> list[Patch]:
    """What `put`, which makes the new text of a file, changes in it."""
    path = _written_path(project, out)
    with nothing_written(out):
        before = read_text(path, base_of(project, path)) if path.is_file() else None
    try:
        after = put(before)
    except UsageError as error:
        raise DataError(f"{out}:{error.what}; nothing is written", error.hint) from None
    return [Patch(str(path), before, after)] if after != before else []


def _written_path(project: Project, out: str) -> Path:
    """Where an export goes: a link inside the root is followed (`CLAUDE.md` is often
    one to `AGENTS.md`). Raises for a memory file, and for a link that leaves."""
    path = Path(os.path.abspath(project.cwd / os.path.expanduser(out)))
    path = _followed(path, project.root) if project.root else path
    memory_files = {os.path.realpath(file.path) for file in project.listing.files}
    what = ""
    if os.path.realpath(path) in memory_files or is_ours(path.name):
        what = "a memory file, or an index"
    own_settings = os.path.realpath(user_file(project.home, project.environ))
    is_settings = path.name == ".mem.toml" or os.path.realpath(path) == own_settings
    if is_settings or ".git" in path.parts:
        what = "a file of mem's settings or of git"
    if what:
        raise UsageError(f"{out}: is {what}", "name another file with --out")
    top = path.parent
    if project.root is not None and path.is_relative_to(project.root):
        top = project.root
    refuse_links(path, top)
    return path


def _followed(path: Path, root: Path) -> Path:
    """Where a path below the root leads, if that is below it, too, and none of git's;
    else the path itself."""
    if not path.is_relative_to(root):
        return path
    real = Path(os.path.realpath(path))
    top = Path(os.path.realpath(root))
    if not real.is_relative_to(top) or ".git" in real.relative_to(top).parts:
        return path
    return root / real.relative_to(top)


def _with_section(before: str | None, text: str | None) -> str | None:
    """A file's text with our section, or without one; None: there is no file."""
    if text is not None:
        lines = text.split("\n")[1:-1]
        return git_hooks.put(before, lines, git_hooks.EXPORT, blank=True)
    return git_hooks.drop(before, git_hooks.EXPORT) if before else before
