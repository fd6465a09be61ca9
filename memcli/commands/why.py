"""mem why: what memory, sessions and commits know of a file."""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.bans.named_files import named_files
from memcli.commands.log import replacements
from memcli.commands.show import list_entries
from memcli.errors import UsageError
from memcli.history.commits import read_commits
from memcli.history.record import opened
from memcli.index.record import storable
from memcli.memory.docs import Doc
from memcli.memory.filters import Filters
from memcli.memory.values import plain_id
from memcli.memory.words import body_of, count
from memcli.project import git
from memcli.project.context import need_root
from memcli.project.record import record_path
from memcli.storage.files import SMALL_BYTES, Unreadable, read_text
from memcli.text.matching import verbose

MOST = 6  # so many of each: one screen
MOST_COMMITS = 60  # of a file, that are looked at for so many
FORMATTING = ".git-blame-ignore-revs"
"""Where repositories list the commits that only formatted, by custom."""


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
    """`within` are the names that are defined around the line, the innermost first;
    `more` commits touched the file than are shown, and there are `more_entries` and
    `more_sessions`."""

    path: str
    line: int
    within: tuple[str, ...]
    rows: tuple[WhyRow, ...]
    more: int = 0
    more_entries: int = 0
    more_sessions: int = 0


def why(app: App, place: str, most: int = MOST) -> WhyReport:
    """What is known of FILE or FILE:LINE, the newest first, at most so many of each and
    twice as many entries. Raises UsageError."""
    root = need_root(app.project)
    with_line = re.fullmatch(r"(.+):(\d+)", place, re.DOTALL)
    name = with_line[1] if with_line else place
    line = int(with_line[2]) if with_line else 0
    path = app.project.relative(name)
    existed = ["log", "-1", "--format=%h", "--", f":(literal){path}"]
    if not (root / path).exists() and not git.run(existed, root).stdout:
        _refuse(root, name, path)
    lines = _lines(root, path) if with_line else []
    if lines and not 1 <= line <= len(lines):
        what = f"{name}:{line}: the file has {count(len(lines), 'line')}"
        raise UsageError(what, f"mem why {name} asks about the whole file")
    within = _names_around(lines[:line])
    entries = list(_memory(app, path, within))
    rows = entries[: 2 * most]
    top = git.work_tree(app.project.root)
    more = 0
    if top is not None:
        in_git = os.path.relpath(root / path, top)
        commits = list(_committed(top, in_git, line, most))
        rows += commits
        if len(commits) >= most:
            all_of_file = ["log", "--follow", "--format=%h", "HEAD", "--", in_git]
            more = git.run(all_of_file, top).stdout.count("\n") - len(commits)
    sayings = list(_said(app, path))
    rows += sayings[:most]
    rows.sort(key=lambda row: (row.line, row.date), reverse=True)
    return WhyReport(
        path=path,
        line=line,
        within=within,
        rows=tuple(rows),
        more=max(0, more),
        more_entries=max(0, len(entries) - 2 * most),
        more_sessions=max(0, len(sayings) - most),
    )


def _refuse(root: Path, name: str, path: str) -> None:
    """Raises UsageError for what is no file of the project, and never was."""
    before_colon = path.rpartition(":")[0]
    if before_colon and (root / before_colon).exists():
        what = f"{name}: what follows the colon is no line"
        raise UsageError(what, f"name one line: mem why {before_colon}:1")
    if path.startswith("../") or (os.path.isabs(name) and os.path.exists(name)):
        what = f"{name}: is outside of the project"
        raise UsageError(what, "name a file of the project, or the project: --root")
    raise UsageError(f"{name}: no such file", "give its path from the current folder")


@verbose
def definition() -> str:
    """A line that defines a name, in the common languages: its indent, the name."""
    return r"""
        ^ ([ \t]*)
        (?: (?: export | default | public | private | protected | static | async | pub
              | final | abstract ) \s+ )*
        (?: def | class | func | function | fn | struct | enum | trait | interface
          | module | impl | type ) \s+
        (?: \( [^)]* \) \s* )?      # the receiver of a method in Go
        ( [A-Za-z_$] [\w$]* )
    """


def _lines(root: Path, path: str) -> list[str]:
    """The lines of a file; none of one that is no text, is large, or has gone."""
    try:
        return read_text(root / path, str(root), most=SMALL_BYTES).splitlines()
    except Unreadable:
        return []


def _names_around(lines: Sequence[str]) -> tuple[str, ...]:
    """The names defined around the last of these lines: of what is indented less than
    all that comes between."""
    names = []
    depth = 1_000
    for text in reversed(lines):
        found = definition().match(text)
        if found and len(found[1]) < depth:
            names.append(found[2])
        if text.strip():
            depth = min(depth, len(text) - len(text.lstrip()))
    return tuple(names)


def _memory(app: App, path: str, within: tuple[str, ...]) -> Iterator[WhyRow]:
    """Entries about the file, and those that name it or what is around the line."""
    if not app.project.listing.files:
        return
    rows = list(list_entries(app, Filters(path=(path,))).rows)
    naming = _naming(app, path, within) - {row.id for row in rows}
    if naming:
        rows += [row for row in list_entries(app, Filters()).rows if row.id in naming]
        rows.sort(key=lambda row: row.date, reverse=True)
    copies = app.index.entries.copies(row.id for row in rows)
    texts = {copy.entry: copy.text for copy in copies}
    related = replacements(app, [row.id for row in rows])
    for row in rows:
        lines = [*related.get(plain_id(row.id), ()), body_of(texts[row.id], row.title)]
        yield WhyRow(
            source="memory",
            id=row.id[:8],
            date=row.date,
            who=row.kind or row.type,
            title=row.title,
            text="\n".join(lines).strip(),
        )


def _naming(app: App, path: str, within: tuple[str, ...]) -> set[str]:
    """The ids of entries whose text names the file, or one of the names `within`."""
    app.check_names()
    anchored = "SELECT entry, kind, name FROM anchored"
    named = app.index.db.execute(anchored).fetchall()
    saying = "SELECT entry, text FROM chunks WHERE instr(text, ?)"
    file_name = storable(os.path.basename(path))
    for entry, text in app.index.db.execute(saying, (file_name,)):
        named += [(entry, "path", glob) for glob, _ in named_files(text)]
    naming = set()
    for entry, kind, name in named:
        ending = "/" + name.removeprefix("./")
        names_path = kind == "path" and f"/{path}".endswith(ending)
        if names_path or (kind == "name" and name in within):
            naming.add(entry)
    return naming


def _committed(top: Path, path: str, line: int, most: int) -> Iterator[WhyRow]:
    """The commit that touched the line last, and the newest that touched the file.
    Commits that the repository has listed as formatting alone touched no line."""
    last_commit = _last_touched(top, path, line) if line else ""
    if last_commit.strip("0"):
        for doc in read_commits(top, "-1", last_commit):
            yield _row("commit", doc, _message(doc))._replace(line=True)
    bounds = (
        f"--max-count={MOST_COMMITS * most // MOST}",
        "--follow",
        "HEAD",
        "--",
        path,
    )
    # A branch's commit and the one that it was merged as are one.
    others = dict[tuple[str, str], Doc]()
    for doc in read_commits(top, *bounds):
        if doc.unit != last_commit:
            others.setdefault((doc.title, doc.who), doc)
    for doc in islice(others.values(), most):
        yield _row("commit", doc, _message(doc))


def _last_touched(top: Path, path: str, line: int) -> str:
    """The commit that touched a line last; "" where git does not say."""
    words = ("--porcelain", "-L", f"{line},{line}", "--", path)
    listed = top / FORMATTING
    blamed = None
    if listed.is_file() and not listed.is_symlink():
        blamed = git.ask(top, "blame", "--ignore-revs-file", FORMATTING, *words)
    blamed = blamed or git.ask(top, "blame", *words) or ""
    return blamed.split(" ", 1)[0]


def _message(doc: Doc) -> str:
    """What a commit says below its title."""
    return doc.text.partition("\n")[2].strip()


def _row(source: str, doc: Doc, text: str) -> WhyRow:
    return WhyRow(
        source=source,
        id=doc.handle,
        date=doc.date[:10],
        who=doc.who,
        title=doc.title,
        text=text,
    )


def _said(app: App, path: str) -> Iterator[WhyRow]:
    """Exchanges about the file, with what the person wanted."""
    with opened(record_path(app.project)) as record:
        for doc in record.about(path) if record is not None else ():
            wanted = next((text for who, text in doc.said if who == "person"), "")
            yield _row("session", doc, wanted)
