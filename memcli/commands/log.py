"""mem log: the life of an entry, commit by commit."""

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.errors import UsageError
from memcli.exchange import branch_diff
from memcli.guard.stops import Stop, stops
from memcli.index.filters import superseded
from memcli.index.upkeep import the_one
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.values import plain_id
from memcli.project import git
from memcli.project.context import Project, need_root
from memcli.storage.files import Unreadable, read_text

MOST_COMMITS = 2000  # that are looked at
# characters of versions of memory files that are read for all lives together
MOST_CHARACTERS = 12_000_000
NOT_YET = "not committed"


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
    rows: tuple[LogRow, ...]
    related: tuple[str, ...] = ()


class Revision(NamedTuple):
    """The texts of the memory files that a commit touched, or as they are now."""

    commit: str
    date: str
    author: str
    texts: Mapping[str, str]


def log(app: App, prefix: str) -> LogReport:
    """What was done to the entry whose id is or begins with `prefix`. Raises
    UsageError."""
    if git.work_tree(need_root(app.project)) is None:
        raise UsageError(
            "there is no git repository here", "mem show tells what the file says"
        )
    app.refresh(embed=False)
    known = app.index.entries.ids(prefix) if app.project.listing.files else []
    name = the_one(prefix, {entry for entry, _ in known}) if known else prefix
    stopped = [_stop_row(stop) for stop in stops(app) if stop.entry == name]
    rows = [*reversed(stopped), *lives(app.project, name)[name]]
    # what is not committed yet before all else
    rows.sort(key=lambda row: row.date or "9999", reverse=True)
    if not rows:
        raise UsageError(f"{prefix}: no entry had that id", "mem list shows ids")
    titles = [row.title for row in rows if row.title]
    return LogReport(
        id=name,
        title="".join(titles[:1]),
        rows=tuple(rows),
        related=tuple(replacements(app, [name]).get(plain_id(name), ())),
    )


def replacements(app: App, names: Collection[str]) -> dict[str, list[str]]:
    """By entry, which other one has another value for the same thing, in words."""
    related = defaultdict[str, list[str]](list)
    pairs = superseded(app.index.db, names) if names else []
    others = app.index.entries.copies(new for _, new in pairs)
    titles = {plain_id(each.entry): each.title for each in others}
    for old, new in pairs:
        name = plain_id(old.entry)
        title = titles.get(new, "not here")
        related[new].append(f"supersedes {name[:8]}: {old.title}")
        related[name].append(f"superseded by {new[:8]}: {title}")
    return related


def _stop_row(stop: Stop) -> LogRow:
    return LogRow(
        commit="",
        date=stop.at[:10],
        author=f"session {stop.session[:8]}",
        what="stopped",
        detail=stop.said,
        path="",
        title=stop.title,
    )


def lives(project: Project, name: str = "") -> dict[str, list[LogRow]]:
    """What was done to every entry (to that one) of the repository's files, newest
    first."""
    rows = defaultdict[str, list[LogRow]](list)
    root = project.root
    if root is None or git.work_tree(root) is None:
        return rows
    paths = _paths(project, root, name)
    most = MOST_COMMITS if name else _affordable(root, paths)
    revisions = list(_revisions(root, paths, name, most)) if paths else []
    # What stood there before the first commit that was read is not new in it.
    current: dict[str, MemoryFile] = {}
    if len(revisions) <= most:
        current = {path: parse("", path) for path in paths}
    for revision in revisions:
        after = {path: parse(text, path) for path, text in revision.texts.items()}
        known = current.keys() & after.keys()
        changes = branch_diff.changes(
            branch_diff.version_of(project, {path: current[path] for path in known}),
            branch_diff.version_of(project, {path: after[path] for path in known}),
        )
        for change in changes:
            if name in ("", change.id):
                rows[change.id].insert(0, _row(revision, change))
        current |= after
    return rows


def _row(revision: Revision, change: branch_diff.EntryDiff) -> LogRow:
    return LogRow(
        commit=revision.commit,
        date=revision.date,
        author=revision.author,
        what=change.what,
        detail=change.detail,
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
    root: Path, paths: list[str], name: str, most: int
) -> Iterator[Revision]:
    """Each commit of the files, the oldest first, and what stood in those it touched;
    then now."""
    shape = git.log_format("%H", "%h", "%cs", "%an")
    bounds = (f"--max-count={most}", "--reverse", "--no-renames", "--relative")
    logged = git.run(["log", *bounds, *shape, "--", *paths], root).stdout
    commits = list(git.parse_log(logged, 4))

    wanted = []
    for commit in commits:
        names = [path for path in commit.names if "\n" not in path]
        wanted += [(commit.fields[0], path) for path in names]
    texts = defaultdict[str, dict[str, str]](dict)
    blobs = branch_diff.blobs(root, wanted)
    last = dict[str, str]()
    for (commit_id, path), text in zip(wanted, blobs, strict=True):
        piece = _piece(text, name)
        if not name or piece != last.get(path, ""):
            texts[commit_id][path] = last[path] = piece

    for commit in commits:
        commit_id, short, day, author = commit.fields
        yield Revision(commit=short, date=day, author=author, texts=texts[commit_id])
    current = {path: _piece(_text_now(root, path), name) for path in paths}
    yield Revision(commit="", date="", author=NOT_YET, texts=current)


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
    text = text.replace("\r\n", "\n")
    place = text.find(name)
    while place >= 0 and not _follows_key(text, place):
        place = text.find(name, place + 1)
    if place < 0:
        return ""
    start = text.rfind("---\n", 0, place)
    closed = text.find("\n---", place)
    following = text.find("\n---\n", closed + 4) if closed >= 0 else -1
    return text[max(start, 0) : following if following >= 0 else len(text)]


def _follows_key(text: str, place: int) -> bool:
    """Whether the line before a place says `id:`."""
    return text[:place].rpartition("\n")[2].lstrip().startswith("id:")
