"""Compare memory at two commits, and read memory as of one commit."""

import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.errors import RefusedError, UsageError
from memcli.exchange.review import BranchFinding, review
from memcli.index.blobs import memory_texts
from memcli.memory.entry_values import CORE_KEYS
from memcli.memory.filters import day_of
from memcli.memory.parser import MemoryFile, parse, sections
from memcli.memory.values import ARCHIVE, Entry, Place, Problem, archive_of, place
from memcli.project import git, globs
from memcli.project.context import Project, unread
from memcli.project.roots import need_repository
from memcli.similarity.opposites import PlacedEntry
from memcli.storage.files import (
    Unreadable,
    cache_dir,
    decode,
    private_dir,
    read_text,
)

WORKING = "working tree"
DEFAULTS = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
"""Where a branch is taken to have come from; the first one that exists and is not HEAD
itself."""
_ORDER = """added restored moved changed reinforced weakened retired merged archived
    removed""".split()
"""In which a report tells what became of entries."""


class EntryDiff(NamedTuple):
    """One thing that happened to an entry; `detail` says which keys, from where, or
    why."""

    what: str
    id: str
    title: str
    kind: str
    path: str
    level: str
    detail: str = ""


class ProseDiff(NamedTuple):
    """How many sections of a file's prose were added, removed, or changed below their
    heading."""

    path: str
    added: int
    removed: int
    changed: int


class DiffReport(NamedTuple):
    """The difference between two states: `base` is a commit, `head` a commit or the
    files."""

    base: str
    head: str
    findings: tuple[BranchFinding, ...]
    changes: tuple[EntryDiff, ...]
    prose: tuple[ProseDiff, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the branch does not change memory."""
        return not self.changes and not self.prose and not self.findings


class BranchSide(NamedTuple):
    """An entry and its place on one side."""

    path: str
    level: str
    entry: Entry

    def is_now(self, change: str, detail: str) -> EntryDiff:
        """What became of this entry."""
        entry = self.entry
        return EntryDiff(
            what=change,
            id=entry.id,
            title=entry.title,
            kind=entry.kind or entry.type,
            path=self.path,
            level=self.level,
            detail=detail,
        )


class BranchVersion(NamedTuple):
    """All changed memory files as they are on one side."""

    files: dict[str, MemoryFile]
    entries: dict[tuple[str, str], BranchSide]
    archived: dict[str, BranchSide]


def diff(app: App, revisions: str = "") -> DiffReport:
    """What the branch changed since its merge base. Raises UsageError."""
    project = app.project
    root = need_repository(
        project.root, project.cwd, "run it inside one, or give it with --root"
    )
    base, head = _ends(root, revisions)
    names = _names(project, _changed(root, base, head))
    problems: list[Problem] = []
    before = _version(project, names, base, problems)
    after = _version(project, names, head, problems)
    entry_changes = sorted(changes(before, after), key=_place_in_report)
    fresh_ids = {
        change.id for change in entry_changes if change.what in ("added", "changed")
    }
    for name in names:
        fresh_ids |= _units(after, name) - _units(before, name)
    standing = list(_standing(project, head))
    short_names = [
        _git(root, "rev-parse", "--short", end).strip() for end in (base, head) if end
    ]
    return DiffReport(
        base=short_names[0],
        head=short_names[1] if head else WORKING,
        findings=review(root, base, head, standing, frozenset(fresh_ids)),
        changes=tuple(entry_changes),
        prose=tuple(_prose(before, after)),
        problems=tuple(dict.fromkeys(problems)),
    )


def _names(project: Project, changed: Iterable[str]) -> list[str]:
    """The changed memory files and their archives. A restored entry also stays in its
    archive, so the archive itself would show no change."""
    names = set()
    for name in changed:
        place = placed(project, name)
        if place and "proxy" not in (place.store, place.of):
            names.add(name)
            names.add(name if name.endswith(ARCHIVE) else archive_of(name))
    return sorted(names)


def _place_in_report(change: EntryDiff) -> tuple[str, int, str, str]:
    return change.path, _ORDER.index(change.what), change.title, change.id


def _units(side: BranchVersion, name: str) -> set[str]:
    memory = side.files.get(name)
    units = sections(memory) if memory and not name.endswith(ARCHIVE) else ()
    return {unit.id for unit in units}


def _standing(project: Project, head: str) -> Iterator[PlacedEntry]:
    assert project.root is not None
    for file in project.listing.files:
        if file.place.store == "memory" and not file.name.startswith(("~", "/")):
            with suppress(Unreadable):
                memory = parse(_text(project.root, head, file.name), file.name)
                for entry in (*memory.entries, *sections(memory)):
                    yield PlacedEntry(file.name, entry)


def _git(root: Path, *arguments: str) -> str:
    """The output of git, "" if it fails. Raises RefusedError if it cannot be run."""
    try:
        process = git.run(arguments, root)
    except OSError as error:
        raise RefusedError(
            f"git cannot be run: {error.strerror}", "install git"
        ) from None
    return "" if process.returncode else process.stdout


def _commit(root: Path, revision: str, *, needed: bool = True) -> str:
    name = f"{revision}^{{commit}}"
    commit = _git(
        root, "rev-parse", "--verify", "--quiet", "--end-of-options", name
    ).strip()
    if needed and not commit:
        has_commit = _git(root, "rev-parse", "--verify", "--quiet", "HEAD").strip()
        hint = "git branch -a lists the branches" if has_commit else "commit first"
        raise UsageError(f"{revision}: unknown revision", hint)
    return commit


def _ends(root: Path, revisions: str) -> tuple[str, str]:
    """The merge base (else the base), and the other end ("": the files)."""
    separator = "..." if "..." in revisions else ".."
    older, separated, newer = revisions.partition(separator)
    head = _commit(root, newer or "HEAD") if separated else ""
    base = _commit(root, older) if older else _default_base(root)
    parted = _git(root, "merge-base", base, head or _commit(root, "HEAD")).split()
    return parted[0] if parted else base, head


def _default_base(root: Path) -> str:
    """The commit of the main branch; on the main branch, the last commit."""
    last = _commit(root, "HEAD")
    known = (_commit(root, name, needed=False) for name in DEFAULTS)
    return next((commit for commit in known if commit not in ("", last)), last)


def _changed(root: Path, base: str, head: str) -> list[str]:
    ends = [base, head] if head else [base]
    options = ("--name-only", "--no-renames", "--relative", "-z")
    process = git.run(["diff", *options, *ends, "--", "."], root)
    if process.returncode:
        raise UsageError(
            f"git cannot compare {' and '.join(ends)}", "git diff says why"
        )
    listed = process.stdout
    if not head:
        listed += _git(
            root, "ls-files", "--others", "--exclude-standard", "-z", "--", "."
        )
    return sorted({name for name in listed.split("\0") if name.endswith(".md")})


def _text(root: Path, commit: str, name: str) -> str:
    if commit:
        return decode(
            _git(root, "show", f"{commit}:./{name}").encode("utf-8", "surrogateescape")
        )
    path = root / name
    is_there = path.exists() and not path.is_symlink()
    return read_text(path, root).replace("\r\n", "\n") if is_there else ""


_OWN = r"(?:MEMORY|institutional)(?:\.archive)?\.md"
_ANY = rf"(?:{_OWN}|(?P<folder>tasks)/[^/]+\.md)"


def placed(project: Project, name: str) -> Place | None:
    """The place of a file from its name relative to the root; None if it is not a
    memory file."""
    job_pattern = f"(?:{'|'.join(map(re.escape, project.jobs_dirs))})/(?P<job>[^/]+)"
    patterns = [
        ("task", rf"{job_pattern}/tasks/(?P<task>[^/]+)/(?:worktree/)?{_OWN}"),
        ("job", f"{job_pattern}/{_ANY}"),
        ("task", rf"(?:projects/[^/]+/)?\.sessions/(?P<task>[^/]+)/{_ANY}"),
        (
            "project",
            rf"{_OWN}|proxy(?:\.archive)?\.md|(?P<folder>tasks|proxy-tasks)/[^/]+\.md",
        ),
    ]
    for level, pattern in patterns:
        if matched := re.fullmatch(pattern, name):
            groups = {key: value or "" for key, value in matched.groupdict().items()}
            return place(level, name.rpartition("/")[2], **groups)
    if re.match(f"{job_pattern}/", name) or ".sessions" in name.split("/"):
        return None
    configured = globs.named(project.config.memory_files, name)
    return place("project", name.rpartition("/")[2]) if configured else None


def _version(
    project: Project, names: Iterable[str], commit: str, problems: list[Problem]
) -> BranchVersion:
    assert project.root is not None
    files = {}
    for name in names:
        try:
            files[name] = parse(_text(project.root, commit, name), name)
        except Unreadable as error:
            problems.append(unread(name, error))
    return version_of(project, files)


def version_of(
    project: Project, files: dict[str, MemoryFile], *, everywhere: bool = False
) -> BranchVersion:
    """These files, and the place of each entry in memory files, or `everywhere`."""
    side = BranchVersion(files, {}, {})
    for name, memory in files.items():
        where = placed(project, name)
        for entry in memory.entries if where or everywhere else ():
            standing = BranchSide(name, where.level if where else "", entry)
            if name.endswith(ARCHIVE):
                side.archived[entry.id] = standing
            else:
                side.entries[entry.id, name] = standing
    return side


def changes(before: BranchVersion, after: BranchVersion) -> Iterator[EntryDiff]:
    """The changes of entries. First match entries that stay in their file; the rest
    were added, removed or moved."""
    old_entries = before.entries
    new_entries = after.entries
    for key in old_entries.keys() & new_entries.keys():
        yield from _kept(old_entries[key], new_entries[key])
    arrived = [
        new_entries[key] for key in sorted(new_entries.keys() - old_entries.keys())
    ]
    for key in sorted(old_entries.keys() - new_entries.keys()):
        candidates = (side for side in arrived if side.entry.id == key[0])
        moved_to = next(candidates, None)
        if moved_to is None:
            yield _gone(old_entries[key], after)
        else:
            arrived.remove(moved_to)
            yield moved_to.is_now("moved", f"from {key[1]}")
            yield from _kept(old_entries[key], moved_to)
    for side in arrived:
        yield _came(side, before)


def _came(side: BranchSide, before: BranchVersion) -> EntryDiff:
    name = side.entry.id
    if name in before.archived:
        return side.is_now("restored", "from the archive")
    copies = [path for entry, path in before.entries if entry == name]
    if copies:
        return side.is_now("added", f"copy of the one in {copies[0]}")
    promoted = side.entry.extra.get("promoted_from")
    if promoted and isinstance(promoted, list):
        return side.is_now("added", f"promoted from {len(promoted)} entries")
    return side.is_now("added", "")


def _gone(side: BranchSide, after: BranchVersion) -> EntryDiff:
    name = side.entry.id
    for into in after.entries.values():
        if name in into.entry.extra.get("merged_from", ()):
            return side.is_now(
                "merged", f"into {into.entry.title} (id {into.entry.id[:8]})"
            )
    if name in after.archived:
        because = after.archived[name].entry.extra.get("archived_because", "")
        return side.is_now("archived", str(because))
    return side.is_now("removed", "")


def _kept(before: BranchSide, after: BranchSide) -> Iterator[EntryDiff]:
    old_entry = before.entry
    new_entry = after.entry
    reported = {"reinforcement_count", "written"}
    statuses = {old_entry.status, new_entry.status}
    if len(statuses) > 1 and "retired" in statuses:
        reported |= {"status", "retired_because"}
        if new_entry.status == "retired":
            because = str(new_entry.extra.get("retired_because") or "")
            yield after.is_now("retired", because)
        else:
            yield after.is_now("restored", "")
    old_count = old_entry.reinforcement_count
    new_count = new_entry.reinforcement_count
    if old_count != new_count:
        reported.add("last_reinforced")
        yield after.is_now(
            "reinforced" if new_count > old_count else "weakened",
            f"{old_count} → {new_count}",
        )
    if keys := _changed_keys(old_entry, new_entry, reported):
        yield after.is_now("changed", ", ".join(keys))


def _changed_keys(old_entry: Entry, new_entry: Entry, settled: set[str]) -> list[str]:
    """The keys whose values differ, except those already reported."""
    core = [key for key in (*CORE_KEYS[1:], "kind", "priority") if key not in settled]
    keys = [key for key in core if getattr(old_entry, key) != getattr(new_entry, key)]
    extra = sorted({*old_entry.extra, *new_entry.extra} - settled - {"priority"})
    keys += [
        key for key in extra if old_entry.extra.get(key) != new_entry.extra.get(key)
    ]
    if old_entry.body.replace("\r\n", "\n") != new_entry.body.replace("\r\n", "\n"):
        keys.append("body")
    return keys


def _prose(before: BranchVersion, after: BranchVersion) -> Iterator[ProseDiff]:
    for name in sorted({*before.files, *after.files}):
        if name.endswith(ARCHIVE):
            continue
        old_passages = _passages(before, name)
        new_passages = _passages(after, name)
        removed = old_passages - new_passages
        arrived = new_passages - old_passages
        changed = (_titles(removed) & _titles(arrived)).total()
        if removed or arrived:
            yield ProseDiff(
                path=name,
                added=arrived.total() - changed,
                removed=removed.total() - changed,
                changed=changed,
            )


def _passages(side: BranchVersion, name: str) -> Counter[tuple[str, str]]:
    memory = side.files.get(name) or parse("", name)
    return Counter((section.title, section.body) for section in sections(memory))


def _titles(passages: Iterable[tuple[str, str]]) -> Counter[str]:
    return Counter(title for title, _ in passages)


_MOMENT_HINT = "give a commit, a tag, a day such as 2026-03-01, or 30d"
KEPT = 8  # the most commits that stay checked out


@contextmanager
def seen_at(app: App, moment: str) -> Iterator[App]:
    """The project with the memory files of a commit, or of the last commit of a day,
    and its date. The work tree is not touched; the user's own level is as it is today.
    Raises UsageError."""
    if not moment:
        yield app
        return
    root = need_repository(app.project.root, app.project.cwd, "--at needs git history")
    commit = _commit_at(app, root, moment)
    day = _git(root, "show", "-s", "--format=%cs", commit).strip()
    folder = _laid_out(root, commit)
    options = app.options._replace(root=str(folder))
    environ = {**app.project.environ, "MEM_NOW": day}
    with App(options, environ, folder) as then:
        yield then
        app.notes += [f"as of {commit[:9]}, {day}", *then.notes]


def _commit_at(app: App, root: Path, moment: str) -> str:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d.*|\d{1,5}[dwmy]", moment):
        if commit := _commit(root, moment, needed=False):
            return commit
        raise UsageError(f"--at {moment}: unknown revision", _MOMENT_HINT)
    iso_day = day_of("at", moment, app.project.now)
    if iso_day > app.today:
        raise UsageError(f"--at {moment}: is not a past date", _MOMENT_HINT)
    # git reads days before 1970 as today
    is_known = iso_day > "1970-01-01"
    before = f"--before={iso_day}T23:59:59"
    commit = _git(root, "rev-list", "-1", before, "HEAD") if is_known else ""
    if commit:
        return commit.strip()
    days = _git(root, "log", "--max-parents=0", "--format=%cs", "HEAD").split()
    hint = f"the first commit is of {min(days)}" if days else "there is no commit yet"
    raise UsageError(f"--at {moment}: no commit is that old", hint)


def _laid_out(root: Path, commit: str) -> Path:
    """A folder with the Markdown files of a commit, created once below the root."""
    tree = _git(root, "rev-parse", f"{commit}:./").strip()
    kept_folders = private_dir(cache_dir() / "at")
    folder = kept_folders / tree
    if not tree:
        raise UsageError(f"{commit[:9]} does not have this folder", "run it at the top")
    if folder.is_dir():
        os.utime(folder)
        return folder
    unfinished = Path(tempfile.mkdtemp(prefix=".", dir=kept_folders))
    rows = _git(root, "ls-tree", "-rz", "--full-tree", tree).split("\0")
    names = (row.partition("\t")[2] for row in rows if row.startswith("100"))
    wanted_names = [name for name in names if _is_read(name)]
    blob_names = [f"{commit}:./{name}" for name in wanted_names]
    for name, text in zip(wanted_names, memory_texts(root, blob_names), strict=True):
        (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
        (unfinished / name).write_text(text or "", encoding="utf-8", newline="")
    (unfinished / ".mem.toml").touch()  # the mark of a root
    unfinished.replace(folder)
    by_age = sorted(kept_folders.iterdir(), key=lambda path: path.stat().st_mtime)
    for outdated in by_age[:-KEPT]:
        shutil.rmtree(outdated, ignore_errors=True)
    return folder


def _is_read(name: str) -> bool:
    """Whether to read a file of a commit; not if its name leads out of its folder."""
    safe = ".." not in name.split("/") and "\n" not in name and not os.path.isabs(name)
    return safe and (name.endswith(".md") or name == ".mem.toml")
