"""mem log: the life of an entry, commit by commit."""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.errors import UsageError
from memcli.exchange import branch_diff
from memcli.index.blobs import memory_texts
from memcli.index.filters import superseded
from memcli.index.upkeep import no_entry, the_one
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.values import plain_id
from memcli.project import context, git
from memcli.project.context import Project, need_root
from memcli.project.roots import need_repository
from memcli.storage.files import Unreadable, read_text

MOST_COMMITS = 2000  # that are looked at
# characters of versions of memory files that are read for all lives together
MOST_CHARACTERS = 12_000_000
NOT_YET = "not committed"
PARTS = (50, 400)  # so many commits are read first, and then up to so many


class LogRow(NamedTuple):
    """One thing that happened: `what` as in mem diff, `commit` "" when it is not
    committed yet."""

    commit: str
    date: str
    author: str
    what: str
    detail: str
    path: str
    title: str = ""


class LogReport(NamedTuple):
    """The life of an entry, the newest first; `related` says which value it gave way
    to, and which it replaced."""

    id: str
    title: str
    rows: Iterable[LogRow]
    related: tuple[str, ...] = ()


class Revision(NamedTuple):
    """A commit, or the files as they are now: the memory files that it touched as each
    of its parents has them, and as it has them; and those of which a parent has more
    than can be read."""

    commit: str
    date: str
    author: str
    parents: tuple[Mapping[str, MemoryFile], ...]
    files: Mapping[str, MemoryFile]
    unread: frozenset[str] = frozenset()


def log(app: App, prefix: str) -> LogReport:
    """What was done to the entry whose id is or begins with `prefix`. Raises
    UsageError."""
    story = follow(app, prefix)
    return story._replace(rows=tuple(story.rows))


def follow(app: App, prefix: str) -> LogReport:
    """The same, the newest row at once, the others one by one while git is read. Raises
    UsageError."""
    need_repository(
        app.project.root, app.project.cwd, "mem show shows what the file says"
    )
    app.refresh(embed=False)
    known = app.index.entries.ids(prefix) if app.project.listing.files else []
    name = the_one(prefix, {entry for entry, _ in known}) if known else prefix
    rows = (row for _, row in _events(app.project, name))
    newest = next(rows, None) or _standing(app, prefix, name)
    return LogReport(
        id=name,
        title=newest.title,
        rows=chain([newest], rows),
        related=tuple(replacements(app, [name]).get(plain_id(name), ())),
    )


def _standing(app: App, prefix: str, name: str) -> LogRow:
    """What an archive says of an entry that no commit had in a live file. Raises
    UsageError for what is no entry."""
    files = app.project.listing.files
    archives = [file for file in files if file.place.store == "archive"]
    for file in context.read_known(app.project, archives, []):
        for entry in file.memory.entries:
            if entry.id == name:
                return LogRow(
                    commit="",
                    date=str(entry.extra.get("archived_at", "")),
                    author=f"in {entry.extra.get('archived_from', 'an archive')} before",
                    what="archived",
                    detail=str(entry.extra.get("archived_because", "")),
                    path=file.path,
                    title=entry.title,
                )
    if app.index.entries.ids(name):
        what = f"{prefix}: is a section of prose; only git knows its history"
        raise UsageError(what, f"mem show {prefix}")
    raise no_entry(prefix)


def replacements(app: App, names: Collection[str]) -> dict[str, list[str]]:
    """By entry, which other one has another value for the same thing, in words."""
    related = defaultdict[str, list[str]](list)
    pairs = superseded(app.index.db, names) if names else []
    others = app.index.entries.copies(newer for _, newer in pairs)
    titles = {plain_id(other.entry): other.title for other in others}
    for old, newer in pairs:
        name = plain_id(old.entry)
        title = titles.get(newer, "not here")
        related[newer].append(f"supersedes {name[:8]}: {old.title}")
        related[name].append(f"superseded by {newer[:8]}: {title}")
    return related


def lives(project: Project) -> dict[str, list[LogRow]]:
    """What was done to every entry of the repository's files, newest first."""
    rows = defaultdict[str, list[LogRow]](list)
    for entry, row in _events(project, ""):
        rows[entry].append(row)
    return rows


def _events(project: Project, name: str) -> Iterator[tuple[str, LogRow]]:
    """(entry, row) of all entries or of one, newest first, each commit held against
    its parents. What a merge did is what it has that none of them had."""
    root = project.root
    if root is None or git.work_tree(root) is None:
        return
    paths = _paths(project, root, name)
    most = MOST_COMMITS if name else _affordable(root, paths)
    for revision in _revisions(project, paths, name, most) if paths else ():
        for change in _changed_here(project, revision, everywhere=bool(name)):
            if name in ("", change.id):
                yield change.id, _row(revision, change)


def _changed_here(
    project: Project, revision: Revision, *, everywhere: bool
) -> Iterator[branch_diff.EntryDiff]:
    """What a commit changed against every parent, the last in the files first; with
    `everywhere` also in files that are no memory now."""
    after = branch_diff.version_of(project, dict(revision.files), everywhere=everywhere)
    by_parent = []
    for files in revision.parents:
        before = branch_diff.version_of(project, dict(files), everywhere=everywhere)
        by_parent.append(list(branch_diff.changes(before, after)))
    changed = [{change.id for change in found} for found in by_parent]
    by_all = set.intersection(*changed)
    return (change for change in reversed(by_parent[0]) if change.id in by_all)


def _row(revision: Revision, change: branch_diff.EntryDiff) -> LogRow:
    is_doubtful = change.path in revision.unread
    how = [
        change.detail,
        "in a merge" if len(revision.parents) > 1 else "",
        "the version before is too large to be read" if is_doubtful else "",
    ]
    return LogRow(
        commit=revision.commit,
        date=revision.date,
        author=revision.author,
        what=change.what,
        detail=", ".join(filter(None, how)),
        path=change.path,
        title=change.title,
    )


def _paths(project: Project, root: Path, name: str) -> list[str]:
    """The memory files of the repository; of one entry, every file it stood in."""
    names = [file.name for file in project.listing.files]
    paths = [path for path in names if not path.startswith(("~", "/"))]
    if name:
        search = ["log", f"-S{name}", "--format=", "--name-only", "-z", "--relative"]
        others = [f":(exclude,literal){path}" for path in paths]
        listed = git.run([*search, "--", ":(glob)**/*.md", *others], root).stdout
        touched = {path.strip("\n") for path in listed.split("\0")}
        paths += sorted(touched - {"", *paths})
    return paths


def _affordable(root: Path, paths: list[str]) -> int:
    """How many commits of these files may be read for the lives of all entries."""
    size = sum(os.path.getsize(root / path) for path in paths if (root / path).exists())
    return min(MOST_COMMITS, max(1, MOST_CHARACTERS // (1 + size)))


def _revisions(
    project: Project, paths: list[str], name: str, most: int
) -> Iterator[Revision]:
    """The files as they are now; then each commit of them, the newest first."""
    root = need_root(project)
    reader = _Blobs(root, name)
    committed = {path: f"HEAD:./{path}" for path in paths}
    reader.read(committed.values())
    now = {path: _piece(_text_now(root, path), name) for path in paths}
    fresh = {
        path: context.parsed(project, text, path)
        for path, text in now.items()
        if text != reader.texts[committed[path]]
    }
    before = reader.files((path, committed[path]) for path in fresh)
    yield Revision(commit="", date="", author=NOT_YET, parents=(before,), files=fresh)
    short = len(git.run(["rev-parse", "--short", "HEAD"], root).stdout.strip())
    for commits in _logged(root, paths, most):
        reader.read(blob for commit in commits for _, blob in _blobs_of(commit))
        for commit in commits:
            day, author, commit_id = commit.fields
            unread = reader.too_large(commit)
            *parents, files = _sides(reader, commit)
            yield Revision(
                commit=commit_id[:short],
                date=day,
                author=author,
                parents=tuple(parents),
                files=files,
                unread=unread,
            )


def _logged(root: Path, paths: list[str], most: int) -> Iterator[list[git.Logged]]:
    """The commits of these files, read in parts, so that the first are told before the
    last are read."""
    shape = git.log_format("%cs", "%an", "%H")
    how = ["log", *shape, "--raw", "--no-abbrev", "-c", "--no-renames", "--relative"]
    how.remove("--name-only")
    already = 0
    for upto in (*PARTS, most):
        part = min(upto, most) - already
        if part <= 0:
            return
        bounds = (f"--max-count={part}", f"--skip={already}")
        logged = git.run([*how, *bounds, "--", *paths], root).stdout
        # Before the files of a merge git has one NUL more, and no line end.
        commits = list(git.parse_log(logged.replace("\0\0::", "\0\n::"), 3))
        yield commits
        already += part
        if len(commits) < part:
            return


class _Blobs:
    """Memory files by their blobs, of one entry (all for "") no more than its text."""

    def __init__(self, root: Path, name: str) -> None:
        self.root = root
        self.name = name
        self.texts: dict[str, str] = {}
        self.large: set[str] = set()
        self.parse = lru_cache(maxsize=256)(parse)

    def read(self, wanted: Iterable[str]) -> None:
        """Ask git for the blobs that are not known yet, all at once."""
        new = [blob for blob in dict.fromkeys(wanted) if blob not in self.texts]
        # All zeros stand for no file: git says that it has none of that name.
        texts = memory_texts(self.root, new)
        for blob, text in zip(new, texts, strict=True):
            self.texts[blob] = _piece(text or "", self.name)
            if text is None:
                self.large.add(blob)

    def too_large(self, commit: git.Logged) -> frozenset[str]:
        """The files of a commit of which a version can not be read."""
        blobs = _blobs_of(commit)
        return frozenset(path for path, blob in blobs if blob in self.large)

    def files(self, named: Iterable[tuple[str, str]]) -> dict[str, MemoryFile]:
        """By path, the file that a blob is."""
        rows = list(named)
        self.read(blob for _, blob in rows)
        return {path: self.parse(self.texts[blob], path) for path, blob in rows}


def _blobs_of(commit: git.Logged) -> Iterator[tuple[str, str]]:
    """(path, blob) of each file that a commit touched: as it was with each of its
    parents, and as it is."""
    for row, path in zip(commit.names[::2], commit.names[1::2], strict=False):
        sides = row.count(":") + 1
        for blob in row.split(" ")[sides : 2 * sides]:
            yield path, blob


def _sides(reader: _Blobs, commit: git.Logged) -> list[dict[str, MemoryFile]]:
    """The files that a commit touched, by parent, and as it left them. What says the
    same of the entry on all sides is left out, and what it left too large to be
    read."""
    blobs = defaultdict[str, list[str]](list)
    for path, blob in _blobs_of(commit):
        blobs[path].append(blob)
    changed = {
        path: row
        for path, row in blobs.items()
        if row[-1] not in reader.large and len({reader.texts[blob] for blob in row}) > 1
    }
    width = max(map(len, blobs.values()), default=2)
    return [
        reader.files((path, row[side]) for path, row in changed.items())
        for side in range(width)
    ]


def _text_now(root: Path, path: str) -> str:
    if os.path.lexists(root / path):
        with suppress(Unreadable):
            return read_text(root / path, str(root))
    return ""


def _piece(text: str, name: str) -> str:
    """The entry of that id (all for "") and what follows up to the next: no more need
    be parsed."""
    if not name:
        return text
    place = text.find(name)
    while place >= 0 and not _follows_key(text, place):
        place = text.find(name, place + 1)
    if place < 0:
        return ""
    opened = text.rfind("---", 0, text.rfind("\n", 0, place) + 1)
    text = text[max(opened, 0) :].replace("\r\n", "\n")
    closed = text.find("\n---", text.find(name))
    following = text.find("\n---\n", closed + 4) if closed >= 0 else -1
    return text[: following if following >= 0 else len(text)]


def _follows_key(text: str, place: int) -> bool:
    """Whether the line before a place says `id:`."""
    return text[:place].rpartition("\n")[2].lstrip().startswith("id:")
