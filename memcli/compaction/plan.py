"""The memory files of a compaction run, and the state of their entries between
steps."""

import datetime
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memcli.compaction.losses import is_loss
from memcli.errors import RefusedError, UsageError
from memcli.index import view
from memcli.memory.adoption import adopted
from memcli.memory.binding import binds
from memcli.memory.changes import ChangeSet, Event, Spot, new_values
from memcli.memory.filters import Filters
from memcli.memory.grammar import conflict_lines, derived_id, longer_first
from memcli.memory.parser import KnownFile, MemoryFile, parse, sections
from memcli.memory.tombstones import StoneKey
from memcli.memory.values import (
    ARCHIVE,
    Entry,
    Patch,
    Place,
    Problem,
    archive_of,
    place,
    source_of,
)
from memcli.project.context import Project, parsed, text_of, unread
from memcli.project.listing import FoundFile
from memcli.similarity.opposites import Opposite
from memcli.storage.files import Conflicted, Unreadable

EVERYWHERE = "~/MEMORY.md"
# of a file's live entries, and of how many at least
LOSS_LEAST = 4  # live entries of a file; of fewer a run may archive all that is due
EDITED = "edited by hand since mem wrote it: left in place (mem retire takes it)"
Meanings = Mapping[tuple[str, str], bytes]
"""Vectors of entries by title and body, see memcli/memory/arithmetic.py."""


class StageEnd(NamedTuple):
    """A stage that ended according to INTENT.md ("" for none), and the patch of
    `.current-stage`."""

    job: str
    ended: str
    current: str
    patch: Patch


class CompactRequest(NamedTuple):
    """What to compact, and how: `files`, else what is in view of `levels`, `jobs` and
    `tasks`.

    `check` asks no model; `uses` counts what agents used and no memory file counts yet;
    `units` are the only sections to adopt, `renamed` the new names of files by entry;
    `standing` are the opposites to name, where they are known; `stones` is what was
    taken back, by work tree and id."""

    files: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    stale: bool = False
    promote: bool = False
    contradictions: str = "flag"
    adopt: bool = False
    allow_loss: bool = False
    consolidate: bool = False
    promote_global: bool = False
    check: bool = False
    semantic: bool = False
    uses: bool = False
    units: tuple[str, ...] = ()
    ended: tuple[StageEnd, ...] = ()
    renamed: Mapping[str, Mapping[str, str]] = {}
    standing: Sequence[Opposite] | None = None
    stones: Mapping[StoneKey, Entry] = {}

    @property
    def asks(self) -> str:
        """The first option that needs a language model, or ""."""
        if self.check:
            return ""
        if self.consolidate:
            return "consolidate"
        if self.contradictions == "resolve":
            return "contradictions = resolve"
        return "promote_global" if self.promote_global else ""


class CompactFiles(NamedTuple):
    """The files of a run by name: sources, archive texts, absolute paths, original
    texts; and problems."""

    project: Project
    sources: list[KnownFile]
    archives: dict[str, str]
    paths: dict[str, str]
    before: dict[str, str]
    skipped: list[Problem]

    def patches(self, texts: dict[str, str]) -> tuple[Patch, ...]:
        """The patches that change the files to these texts."""
        return tuple(
            Patch(path=self.paths[name], before=self.before.get(name), after=text)
            for name, text in sorted(texts.items())
        )

    def memory(self, name: str, path: str) -> MemoryFile | None:
        """Read a file (empty if missing) and its archive; None and a problem if
        unusable."""
        archive = archive_of(name)
        paths = {name: path, archive: archive_of(path)}
        texts = {}
        for file_name in paths:
            try:
                text = text_of(self.project, paths[file_name])
            except Unreadable as error:
                if file_name not in {problem.path for problem in self.skipped}:
                    self.skipped.append(unread(file_name, error))
                return None
            if text is not None:
                texts[file_name] = text
        for line in conflict_lines(texts.get(name, "")):
            self.skipped.append(unread(name, Conflicted(line)))
            return None
        self.paths.update(paths)
        self.before.update(texts)
        if archive in texts:
            self.archives[archive] = texts[archive]
        return parsed(self.project, texts.get(name, ""), name)


def read_files(project: Project, wanted: CompactRequest) -> CompactFiles:
    """Read the requested files. Raises UsageError for a name that is not a memory
    file."""
    files = CompactFiles(
        project=project,
        sources=[],
        archives={},
        paths={},
        before={},
        skipped=list(project.listing.problems),
    )
    for file in _chosen(project, wanted):
        memory = files.memory(file.name, file.path)
        if memory is not None:
            known_file = KnownFile(
                memory=memory,
                place=file.place,
                writable=project.may_write(file, wanted.tasks),
                found=file.found,
                tree=file.tree,
            )
            files.sources.append(known_file)
    _take_project_file(files, wanted)
    for source in files.sources:
        problems = source.memory.problems
        files.skipped.extend(
            problem for problem in problems if problem.severity == "unreadable"
        )
    return files


def _take_project_file(files: CompactFiles, wanted: CompactRequest) -> None:
    """Add the project's own file if it was not requested: to promote to it, or to see
    which sections it already has."""
    project = files.project
    name = "MEMORY.md"
    is_new = wanted.promote and not wanted.files and project.found(name) is None
    is_unread = bool(wanted.units) and name not in files.paths
    if project.root and (is_new or is_unread):
        memory = files.memory(name, project.path_of(name))
        if memory is not None:
            known_file = KnownFile(
                memory=memory,
                place=place("project", name),
                writable=is_new and project.tree == "",
            )
            files.sources.append(known_file)


def _chosen(project: Project, wanted: CompactRequest) -> list[FoundFile]:
    files = [file for file in project.listing.files if file.place.store != "archive"]
    if wanted.files:
        return _named(project, files, wanted.files)
    levels = wanted.levels or ("project", "job", "task")
    visible = view.visible(
        files, project.view, Filters(job=wanted.jobs, task=wanted.tasks)
    )
    return [file for file in visible if file.place.level in levels]


def _named(
    project: Project, files: Sequence[FoundFile], names: Sequence[str]
) -> list[FoundFile]:
    """The files with these names; an archive stands for the file it belongs to."""
    by_path = {os.path.realpath(file.path): file for file in files}
    chosen = []
    for name in names:
        path = os.path.realpath(project.cwd / name)
        if path.endswith(ARCHIVE):
            path = source_of(path)
        if path not in by_path:
            listed = ", ".join(file.name for file in files[:5]) or "there is none"
            message = f"{name}: not a memory file of this project"
            raise UsageError(message, f"memory files: {listed}")
        if by_path[path] not in chosen:
            chosen.append(by_path[path])
    return chosen


class CompactOutcome(NamedTuple):
    """New texts by path (including archives), what was done, what was found, and losses
    to confirm."""

    texts: Mapping[str, str]
    done: tuple[Event, ...] = ()
    found: tuple[Event, ...] = ()
    losses: tuple[Event, ...] = ()


class Member(NamedTuple):
    """An entry in the run: as read (`original`), and as the steps so far left it."""

    changes: ChangeSet
    source: KnownFile
    spot: Spot

    @property
    def place(self) -> Place:
        return self.source.place

    @property
    def writable(self) -> bool:
        """Whether a run may change it; guards are left to the person."""
        return self.source.writable and not binds(self.original)

    @property
    def original(self) -> Entry:
        return self.changes.original(self.spot)

    @property
    def entry(self) -> Entry:
        return self.changes.entry(self.spot)

    @property
    def leaves(self) -> str:
        return self.changes.leaves(self.spot)

    @property
    def live(self) -> bool:
        return not self.leaves and self.entry.is_live

    def set(self, **values: Any) -> None:
        self.changes.set(self.spot, **values)

    def grow(self, key: str, value: Any) -> None:
        """Set a value unless it is empty or the same."""
        if value and value != getattr(self.entry, key):
            self.set(**{key: value})

    def names(self, key: str) -> Sequence[str]:
        return self.entry.extra.get(key) or ()


class Compaction:
    """The files of a run, their entries, and the effects of the steps."""

    def __init__(
        self,
        sources: Sequence[KnownFile],
        archives: Mapping[str, str],
        now: datetime.date,
        meanings: Meanings | None = None,
    ) -> None:
        self.sources = sorted(sources, key=lambda source: source.path)
        self.now = now
        self.meanings = meanings or {}
        archived = (parse(text, path) for path, text in archives.items())
        self.changes = ChangeSet(
            (*(known.memory for known in self.sources), *archived), now.isoformat()
        )
        self._collect()

    def _collect(self) -> None:
        self.members = [
            Member(self.changes, source, (source.path, place))
            for source in self.sources
            for place in range(len(source.memory.entries))
        ]

    def adopt(self, units: Sequence[str]) -> None:
        """Turn prose sections into entries with the same ids; copy sections from found
        places instead."""
        number_wanted = 0
        for number, source in enumerate(self.sources):
            if not source.writable or source.place.store == "institutional":
                continue
            wanted = [
                unit for unit in sections(source.memory) if _is_named(unit, units)
            ]
            number_wanted += len(wanted)
            if not source.found:
                self.sources[number] = self._adopted(source, wanted)
            elif units:
                for section in wanted:
                    self._copy_unit(source, section)
        if units and not number_wanted:
            message = f"{', '.join(units)}: no such prose heading there"
            raise UsageError(message, "mem list shows all sections")
        self._collect()

    def _adopted(self, source: KnownFile, wanted: Sequence[Entry]) -> KnownFile:
        """The file with these sections as entries."""
        if not wanted:
            return source
        ids = {section.id for section in wanted}
        after, adopted_ids = adopted(source.memory, self.changes.today, ids)
        self.changes.hold(after, changed=bool(adopted_ids))
        self.changes.note("adopted", source.path, adopted_ids)
        return source._replace(memory=after)

    def _copy_unit(self, source: KnownFile, section: Entry) -> None:
        """Copy a section into the project's own file, once."""
        new_id = derived_id("adopted", section.id)
        title = section.title.rpartition(" > ")[2]
        project_file = self.changes.files.get("MEMORY.md")
        if project_file is None:
            return
        if any(entry.id == new_id for entry in project_file.entries):
            return
        values = new_values(
            new_id,
            self.changes.today,
            type=section.type,
            domain=section.domain,
            source=[source.path],
            created_at=section.date or self.changes.today,
        )
        has_heading = section.body.startswith("#")
        body = section.body if has_heading else f"## {title}\n{section.body}"
        self.changes.add("MEMORY.md", values, body)
        self.changes.note("adopted", "MEMORY.md", [new_id])

    def groups(self, key: Callable[[Member], Any]) -> list[list[Member]]:
        """The live entries that may be changed, except episodes, grouped by key."""
        groups = defaultdict[Any, list[Member]](list)
        for member in self.members:
            may_change = member.live and member.source.writable
            if may_change and not member.entry.is_episode:
                groups[key(member)].append(member)
        return [groups[name] for name in sorted(groups)]

    def edited(self, members: Sequence[Member]) -> bool:
        """Whether a person edited one of these bodies; it is then reported and left
        unchanged."""
        touched = [member for member in members if member.original.touched]
        for member in touched:
            self.tell("skipped", [member], EDITED)
        return bool(touched)

    def leave(self, members: Iterable[Member], because: str, **more: Any) -> None:
        for member in members:
            self.changes.archive(member.spot, because, **more)

    def note(self, what: str, members: Sequence[Member], detail: str = "") -> None:
        entry_ids = [member.original.id for member in members]
        self.changes.note(what, members[0].source.path, entry_ids, detail)

    def tell(self, what: str, members: Sequence[Member], detail: str = "") -> None:
        entry_ids = [member.original.id for member in members]
        self.changes.tell(what, members[0].source.path, entry_ids, detail)


def _is_named(section: Entry, units: Sequence[str]) -> bool:
    """Whether a section is one of `units`, by heading or id prefix; true for all if
    none is named."""
    names = (section.title, section.title.rpartition(" > ")[2])
    for unit in units:
        is_beginning = len(unit) >= 4 and section.id.startswith(unit)
        if is_beginning or unit in names:
            return True
    return not units


def outcome_of(changes: ChangeSet) -> CompactOutcome:
    """The new texts, what was done and found, and a loss to confirm for each file that
    loses too many entries."""
    losses = []
    for path, file in sorted(changes.files.items()):
        live = 0
        gone_ids = []
        for number, entry in enumerate(file.entries):
            if entry.is_live:
                live += 1
                if _is_lost(changes, (path, number)):
                    gone_ids.append(entry.id)
        if live >= LOSS_LEAST and is_loss(len(gone_ids), live):
            detail = f"{len(gone_ids)} of {live} live entries"
            losses.append(Event("loss", path, tuple(gone_ids), detail))
    return CompactOutcome(
        texts=changes.texts(),
        done=tuple(changes.done),
        found=tuple(changes.found),
        losses=tuple(losses),
    )


def _is_lost(changes: ChangeSet, spot: Spot) -> bool:
    """Whether a live entry goes without a survivor: by age, with a stage, or
    superseded."""
    reason = changes.leaves(spot)
    return reason in ("stale", "superseded") or not changes.entry(spot).is_live


def lost(loss: Event) -> RefusedError:
    """The error for a file that would lose too much at once."""
    message = f"{loss.detail} would leave {loss.path}; nothing was written"
    hint = (
        "check with --dry-run; --allow-loss continues (the archive keeps what leaves)"
    )
    return RefusedError(message, hint)


def importance_order(entry: Entry) -> tuple[Any, ...]:
    """The more important first; ties: larger count, earlier creation, smaller id."""
    return (
        -entry.importance,
        -entry.reinforcement_count,
        entry.created_at or "9999",
        entry.id,
    )


def body_order(entry: Entry) -> tuple[Any, ...]:
    """The longer body first; ties: smaller SHA-256."""
    return longer_first(entry.body)
