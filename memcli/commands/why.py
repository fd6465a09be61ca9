"""mem why and mem log: what is known of a file, and the life of an entry."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.commands.show import list_entries
from memcli.errors import UsageError
from memcli.exchange import branch_diff
from memcli.history import record_of
from memcli.history.backfill import read_commits
from memcli.history.docs import Doc
from memcli.history.record import opened
from memcli.index import anchors
from memcli.index.upkeep import the_one
from memcli.index.view import Filters
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.words import body_of
from memcli.project import git
from memcli.project.context import Project, need_root
from memcli.storage.files import SMALL_BYTES, Unreadable, read_text
from memcli.text.matching import pattern

MOST = 6  # so many of each: one screen


class WhyRow(NamedTuple):
    """One thing that is known. `source` is memory, session or commit; `id` is what mem
    show takes.

    `line` says that this commit was the last to touch the line that was asked about."""

    source: str
    id: str
    date: str
    who: str
    title: str
    text: str
    line: bool = False


class WhyReport(NamedTuple):
    """`within` are the names that are defined around the line, the innermost first."""

    path: str
    line: int
    within: tuple[str, ...]
    rows: tuple[WhyRow, ...]


def why(app: App, place: str) -> WhyReport:
    """All that is known of FILE or FILE:LINE, the newest first. Raises UsageError."""
    root = need_root(app.project)
    name, _, number = (
        place.rpartition(":") if re.search(r":\d+$", place) else (place, "", "0")
    )
    path = app.project.relative(name)
    line = int(number)
    existed = ["log", "-1", "--format=%h", "--", f":(literal){path}"]
    if not (root / path).exists() and not git.run(existed, root).stdout:
        raise UsageError(f"{name}: there is no such file", "name it from where you are")
    within = _around(root, path, line) if line else ()
    top = git.work_tree(root)
    rows = [*_memory(app, path, within)]
    if top is not None:
        rows += _committed(top, os.path.relpath(root / path, top), line)
    rows += _said(app, path)
    found = sorted(rows, key=lambda row: (row.line, row.date), reverse=True)
    return WhyReport(path=path, line=line, within=within, rows=tuple(found))


def _around(root: Path, path: str, line: int) -> tuple[str, ...]:
    """The names defined around a line: of what is indented less than all that comes
    between."""
    try:
        lines = read_text(root / path, str(root), most=SMALL_BYTES).splitlines()
    except Unreadable:
        return ()
    names = []
    depth = 1_000
    for text in reversed(lines[:line]):
        found = pattern("commands/why", "definition").match(text)
        if found and len(found[1]) < depth:
            names.append(found[2])
        if text.strip():
            depth = min(depth, len(text) - len(text.lstrip()))
    return tuple(names)


def _memory(app: App, path: str, within: tuple[str, ...]) -> Iterator[WhyRow]:
    if not app.project.listing.files:
        return
    root = need_root(app.project)
    rows = list(list_entries(app, Filters(path=(path,))).rows)
    app.guarded(lambda: anchors.update(app.index, root))
    naming = set[str]()
    for entry, kind, name in app.index.db.execute(
        "SELECT entry, kind, name FROM anchored"
    ):
        end = "/" + name.removeprefix("./")
        if (kind == "name" and name in within) or (
            kind == "path" and f"/{path}".endswith(end)
        ):
            naming.add(entry)
    if naming := naming - {row.id for row in rows}:
        rows += [row for row in list_entries(app, Filters()).rows if row.id in naming]
        rows.sort(key=lambda row: row.date, reverse=True)
    texts = {
        one.entry: one.text for one in app.index.entries.copies(row.id for row in rows)
    }
    for row in rows[: 2 * MOST]:
        text = body_of(texts[row.id], row.title)
        yield WhyRow(
            source="memory",
            id=row.id[:8],
            date=row.date,
            who=row.kind or row.type,
            title=row.title,
            text=text,
        )


def _committed(top: Path, path: str, line: int) -> Iterator[WhyRow]:
    blame = ["blame", "--porcelain", "-L", f"{line},{line}", "--", path]
    last = git.run(blame, top).stdout.split(" ", 1)[0] if line else ""
    if last.strip("0"):
        yield from (_commit(doc, line=True) for doc in read_commits(top, "-1", last))
    docs = read_commits(top, "--max-count=60", "--follow", "HEAD", "--", path)
    yield from islice((_commit(doc) for doc in docs if doc.unit != last), MOST)


def _commit(doc: Doc, *, line: bool = False) -> WhyRow:
    text = doc.text.removeprefix(doc.title).strip()
    return WhyRow(
        source="commit",
        id=doc.handle,
        date=doc.date[:10],
        who=doc.who,
        title=doc.title,
        text=text,
        line=line,
    )


def _said(app: App, path: str) -> Iterator[WhyRow]:
    place = record_of(app.project)
    if place is None:
        return
    with opened(place) as record:
        for doc in record.about(path, MOST) if record is not None else ():
            wanted = next((text for who, text in doc.said if who == "person"), "")
            yield WhyRow(
                source="session",
                id=doc.handle,
                date=doc.date[:10],
                who=doc.who,
                title=doc.title,
                text=wanted,
            )


COMMITS = 2000  # commits that are looked at
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
    """The life of an entry, the newest first."""

    id: str
    title: str
    rows: tuple[LogRow, ...]


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
    rows = lives(app.project, name)[name]
    if not rows:
        raise UsageError(f"{prefix}: no entry had that id", "mem list shows ids")
    return LogReport(
        name, next((row.title for row in rows if row.title), ""), tuple(rows)
    )


# characters of versions of memory files that are read for all lives together
READ = 12_000_000


def lives(project: Project, name: str = "") -> dict[str, list[LogRow]]:
    """What was done to every entry (to that one) of the repository's files, newest
    first."""
    root = project.root
    found = defaultdict[str, list[LogRow]](list)
    files = [
        file.name
        for file in project.listing.files
        if not file.name.startswith(("~", "/"))
    ]
    if root is None or git.work_tree(root) is None:
        return found
    if name:  # wherever it stood
        words = [
            "log",
            f"-S{name}",
            "--format=",
            "--name-only",
            "-z",
            "--relative",
            "--",
        ]
        out = git.run([*words, ":(glob)**/*.md"], root).stdout
        files += sorted({path.strip("\n") for path in out.split("\0")} - {"", *files})
    size = sum(os.path.getsize(root / path) for path in files if (root / path).exists())
    most = COMMITS if name else min(COMMITS, max(1, READ // (1 + size)))
    now = dict[str, MemoryFile]()
    versions = list(_versions(root, files, name, most)) if files else []
    for commit, texts in versions:
        after = {path: parse(text, path) for path, text in texts.items()}
        # What stood there before the first commit that was read is not new in it.
        known = [path for path in texts if path in now or len(versions) <= most]
        before = {path: now.get(path, parse("", path)) for path in known}
        sides = (before, {path: after[path] for path in known})
        for done in branch_diff.changes(
            *(branch_diff.version_of(project, one) for one in sides)
        ):
            if name in ("", done.id):
                row = LogRow(*commit, done.what, done.detail, done.path, done.title)
                found[done.id].insert(0, row)
        now |= after
    return found


Commit = tuple[str, str, str]


def _versions(
    root: Path, files: list[str], name: str, most: int = COMMITS
) -> Iterator[tuple[Commit, dict[str, str]]]:
    """Each commit of the files, the oldest first, and what stood in those it touched;
    then now."""
    shape = git.log_format("%H", "%h", "%cs", "%an")
    bounds = f"--max-count={most}", "--reverse", "--no-renames", "--relative"
    done = git.run(["log", *bounds, *shape, "--", *files], root)
    touched = list(git.parse_log(done.stdout, 4))
    pairs = ((each.fields[0], path) for each in touched for path in each.names)
    wanted = [(commit, path) for commit, path in pairs if "\n" not in path]
    texts = dict(zip(wanted, branch_diff.blobs(root, wanted), strict=False))
    by_commit = defaultdict[str, dict[str, str]](dict)
    for (commit, path), text in texts.items():
        by_commit[commit][path] = _piece(text, name)
    for each in touched:
        commit, short, day, author = each.fields
        yield (short, day, author), by_commit[commit]
    now = defaultdict[str, str](str)
    for path in files:
        with suppress(Unreadable):
            now[path] = (
                read_text(root / path, str(root))
                if os.path.lexists(root / path)
                else ""
            )
    yield ("", "", NOT_YET), {path: _piece(now[path], name) for path in files}


def _piece(text: str, name: str) -> str:
    """The entry of that id (all for "") and what follows up to the next: no more need
    be parsed."""
    if not name:
        return text
    text = text.replace("\r\n", "\n")
    at = text.find(name)
    while at >= 0 and not text[:at].rpartition("\n")[2].lstrip().startswith("id:"):
        at = text.find(name, at + 1)
    if at < 0:
        return ""
    start = text.rfind("---\n", 0, at)
    closed = text.find("\n---", at)
    follows = text.find("\n---\n", closed + 4) if closed >= 0 else -1
    return text[max(start, 0) : follows if follows >= 0 else len(text)]
