"""mem why, log and browse: what is known of a file, the life of an entry, and all to look at."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from memcli.app import App
from memcli.commands.show import PROVENANCE, ListRow, list_entries, standing
from memcli.compaction.compact import compact
from memcli.compaction.plan import CompactRequest
from memcli.diagnostics.health import HealthReport, health
from memcli.errors import MemError, UsageError
from memcli.exchange import branch_diff
from memcli.history import record_of
from memcli.history.backfill import read_commits
from memcli.history.docs import Doc
from memcli.history.record import opened
from memcli.index import anchors, vectors
from memcli.index.upkeep import the_one
from memcli.index.view import Filters
from memcli.memory.parser import MemoryFile, parse, sections
from memcli.memory.values import LEVELS, Entry, listed, plain_id
from memcli.memory.words import body_of, clean
from memcli.project import git
from memcli.project.context import Project, need_root
from memcli.storage.files import SMALL_BYTES, Unreadable, read_text
from memcli.storage.state import SessionLog, State
from memcli.text.matching import pattern

MOST = 6  # so many of each: one screen


class WhyRow(NamedTuple):
    """One thing that is known. `source` is memory, session or commit; `id` is what mem show takes.

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
    name, _, number = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", "0")
    path, line = app.project.relative(name), int(number)
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
    return WhyReport(path, line, within, tuple(found))


def _around(root: Path, path: str, line: int) -> tuple[str, ...]:
    """The names defined around a line: of what is indented less than all that comes between."""
    try:
        lines = read_text(root / path, str(root), most=SMALL_BYTES).splitlines()
    except Unreadable:
        return ()
    names, depth = [], 1_000
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
    root, rows = need_root(app.project), list(list_entries(app, Filters(path=(path,))).rows)
    app.guarded(lambda: anchors.update(app.index, root))
    naming = set[str]()
    for entry, kind, name in app.index.db.execute("SELECT entry, kind, name FROM anchored"):
        end = "/" + name.removeprefix("./")
        if (kind == "name" and name in within) or (kind == "path" and f"/{path}".endswith(end)):
            naming.add(entry)
    if naming := naming - {row.id for row in rows}:
        rows += [row for row in list_entries(app, Filters()).rows if row.id in naming]
        rows.sort(key=lambda row: row.date, reverse=True)
    texts = {one.entry: one.text for one in app.index.entries.copies(row.id for row in rows)}
    for row in rows[: 2 * MOST]:
        text = body_of(texts[row.id], row.title)
        yield WhyRow("memory", row.id[:8], row.date, row.kind or row.type, row.title, text)


def _committed(top: Path, path: str, line: int) -> Iterator[WhyRow]:
    blame = ["blame", "--porcelain", "-L", f"{line},{line}", "--", path]
    last = git.run(blame, top).stdout.split(" ", 1)[0] if line else ""
    if last.strip("0"):
        yield from (_commit(doc, line=True) for doc in read_commits(top, "-1", last))
    docs = read_commits(top, "--max-count=60", "--follow", "HEAD", "--", path)
    yield from islice((_commit(doc) for doc in docs if doc.unit != last), MOST)


def _commit(doc: Doc, *, line: bool = False) -> WhyRow:
    text = doc.text.removeprefix(doc.title).strip()
    return WhyRow("commit", doc.handle, doc.date[:10], doc.who, doc.title, text, line)


def _said(app: App, path: str) -> Iterator[WhyRow]:
    place = record_of(app.project)
    if place is None:
        return
    with opened(place) as record:
        for doc in record.about(path, MOST) if record is not None else ():
            wanted = next((text for who, text in doc.said if who == "person"), "")
            yield WhyRow("session", doc.handle, doc.date[:10], doc.who, doc.title, wanted)


COMMITS = 2000  # commits that are looked at
NOT_YET = "not committed"


class LogRow(NamedTuple):
    """One thing that happened: `what` as in mem diff, `commit` "" when it is not committed yet."""

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
    """What was done to the entry whose id is or begins with `prefix`. Raises UsageError."""
    if git.work_tree(need_root(app.project)) is None:
        raise UsageError("there is no git repository here", "mem show tells what the file says")
    app.refresh(embed=False)
    known = app.index.entries.ids(prefix) if app.project.listing.files else []
    name = the_one(prefix, {entry for entry, _ in known}) if known else prefix
    rows = lives(app.project, name)[name]
    if not rows:
        raise UsageError(f"{prefix}: no entry had that id", "mem list shows ids")
    return LogReport(name, next((row.title for row in rows if row.title), ""), tuple(rows))


READ = 12_000_000  # characters of versions of memory files that are read for all lives together


def lives(project: Project, name: str = "") -> dict[str, list[LogRow]]:
    """What was done to every entry (to that one) of the repository's files, newest first."""
    root, found = project.root, defaultdict[str, list[LogRow]](list)
    files = [file.name for file in project.listing.files if not file.name.startswith(("~", "/"))]
    if root is None or git.work_tree(root) is None:
        return found
    if name:  # wherever it stood
        words = ["log", f"-S{name}", "--format=", "--name-only", "-z", "--relative", "--"]
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
        for done in branch_diff.changes(*(branch_diff.version_of(project, one) for one in sides)):
            if name in ("", done.id):
                row = LogRow(*commit, done.what, done.detail, done.path, done.title)
                found[done.id].insert(0, row)
        now |= after
    return found


Commit = tuple[str, str, str]


def _versions(
    root: Path, files: list[str], name: str, most: int = COMMITS
) -> Iterator[tuple[Commit, dict[str, str]]]:
    """Each commit of the files, the oldest first, and what stood in those it touched; then now."""
    shape = "%x1e%H%x1f%h%x1f%cs%x1f%an%x1f"
    words = ["log", f"--max-count={most}", "--reverse", f"--format={shape}", "--name-only"]
    done = git.run([*words, "--no-renames", "-z", "--relative", "--", *files], root)
    rows = (each.split("\x1f") for each in done.stdout.split("\x1e")[1:])
    touched = [row for row in rows if len(row) == 5]  # an author may be called anything
    wanted = [(row[0], path.strip("\n")) for row in touched for path in row[4].split("\0")]
    wanted = [(commit, path) for commit, path in wanted if path and "\n" not in path]
    texts = dict(zip(wanted, branch_diff.blobs(root, wanted), strict=False))
    by_commit = defaultdict[str, dict[str, str]](dict)
    for (commit, path), text in texts.items():
        by_commit[commit][path] = _piece(text, name)
    for commit, short, day, author, _ in touched:
        yield (short, day, author), by_commit[commit]
    now = defaultdict[str, str](str)
    for path in files:
        with suppress(Unreadable):
            now[path] = read_text(root / path, str(root)) if os.path.lexists(root / path) else ""
    yield ("", "", NOT_YET), {path: _piece(now[path], name) for path in files}


def _piece(text: str, name: str) -> str:
    """The entry of that id (all for "") and what follows up to the next: no more need be parsed."""
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


LONGEST = 6000  # characters of a text in the page; mem show has the rest
NEWEST = 3000  # so many exchanges and commits are in it, and so many tellings
ALIKE = 3000  # up to so many entries, each is told what it is similar to
SECONDS = 5.0  # how long the code is looked through for what entries name
RELATIONS = "supports contradicts superseded_by merged_from promoted_from promoted_to".split()
TWO = ("merged", "alike but different", "contradiction", "unsure")
"""What compaction does or finds that is about two entries, to be looked at side by side."""

Item = dict[str, Any]  # as the page reads it: what is empty is left out


class BrowseReport(NamedTuple):
    """What the page shows; `pairs` are (what, path, ids, detail), `health` is None at the start."""

    name: str
    root: str
    day: str
    items: tuple[Item, ...]
    pairs: tuple[tuple[str, str, tuple[str, ...], str], ...]
    health: Mapping[str, Any]
    start: str = "entries"


def browse(
    app: App,
    filters: Filters,
    *,
    history: bool = False,
    start: str = "entries",
    known: HealthReport | None = None,
) -> BrowseReport:
    """Everything in view, archives and retired entries too; `history`: what was said and done."""
    report = known or health(app)
    stores = filters.store or ("memory", "institutional")
    rows = list_entries(app, filters._replace(archived=True, store=stores)).rows
    items = _items(app, rows)
    pairs = _pairs(app, {row.id for row in rows}) if rows else ()
    root, found = app.project.root, report.health
    told = {
        "score": found.score, "band": found.band,
        "counts": {key: report.counts[key] for key in ("live", "files", "tokens")},
        "metrics": {name: each._asdict() for name, each in found.metrics.items()},
        "trend": [(day.day, day.score) for day in report.history],
    }  # fmt: skip
    return BrowseReport(
        root.name if root is not None else "~", str(root or app.project.home),
        app.project.now.isoformat(), (*items, *(_history(app) if history else ())),
        tuple(pairs), told, start,
    )  # fmt: skip


def _items(app: App, rows: Sequence[ListRow]) -> list[Item]:
    entries, seen = _entries(app), _seen(app)
    life = lives(app.project) if rows else {}
    ids = [row.id for row in rows]
    if rows and app.project.root is not None:
        root = app.project.root
        app.guarded(lambda: anchors.update(app.index, root, seconds=SECONDS))
    gone = app.guarded(lambda: app.index.entries.gone(ids)) if rows else {}
    near = defaultdict[str, list[tuple[str, str]]](list)
    alike = set(ids) if len(ids) <= ALIKE else set()
    for one, other, _ in app.guarded(lambda: vectors.similar(app.index.db, alike)) if alike else ():
        near[one].append(("similar", other))
    found = []
    for row in rows:
        if entry := entries.get((row.path, plain_id(row.id))):
            more = {"gone": gone[row.id].text} if row.id in gone else {}
            item = _item(app, row, entry) | more | seen.get(row.id, {})
            item["links"] += near[row.id]
            item["life"] = [each[:5] for each in life.get(row.id, ())]
            found.append({key: value for key, value in item.items() if value not in ("", [], {})})
    return found


def _entries(app: App) -> dict[tuple[str, str], Entry]:
    """Every entry and section as it stands, by file and id."""
    found = {}
    for file in app.project.listing.files:
        with suppress(Unreadable):
            memory = app.project.read(file)
            for entry in (*memory.entries, *sections(memory)):
                found[file.name, clean(entry.id)] = entry
    return found


def _item(app: App, row: ListRow, entry: Entry) -> Item:
    text, extra = body_of(entry.body, entry.title), entry.extra
    kind = "archive" if row.store == "archive" else "entry" if entry.written else "prose"
    return {
        **row._asdict(), "what": kind, "text": text[:LONGEST], "cut": text[LONGEST:].count("\n"),
        "priority": entry.priority if "priority" in extra else "", "phase": entry.phase,
        "created": entry.created_at, "used": entry.last_reinforced,
        "score": round(standing(app.project, entry, row.level).score, 4),
        **{key: listed(entry, key) for key in ("tags", "paths", "commands")},
        "from": {key: extra[key] for key in PROVENANCE if key in extra},
        "links": [(key, other) for key in RELATIONS for other in listed(entry, key)],
    }  # fmt: skip


def _seen(app: App) -> dict[str, Item]:
    """By entry, when and why hooks told it, and when a recall showed it: the newest first."""
    found = defaultdict[str, Item](lambda: {"told": [], "shown": []})
    told = app.from_state(lambda state: SessionLog(state).told(), list[Any](), make=False)
    for each in reversed(told[-NEWEST:]):
        found[each.entry]["told"].append((each.at[:16], each.event, each.why, each.session))
    recalls = app.from_state(State.recalls, list[Any](), make=False)
    for session, entry, _, _, _, day in reversed(recalls[-NEWEST:]):
        found[entry]["shown"].append((day, session))
    return found


def _pairs(app: App, known: set[str]) -> Iterable[tuple[str, str, tuple[str, ...], str]]:
    """What compaction would merge, and what it found alike or opposed."""
    try:
        report = compact(app, CompactRequest(levels=LEVELS), dry_run=True)
    except MemError as error:
        app.notes.append(f"duplicates and contradictions are not shown: {error.what}")
        return ()
    events = (*report.done, *report.found)
    return [(*each,) for each in events if each.what in TWO and len(known & {*each.ids}) > 1]


def _history(app: App) -> list[Item]:
    """The newest exchanges and commits that are kept."""
    place, found = record_of(app.project), list[Item]()
    if place is None:
        return found
    with opened(place) as record:
        where = "1 ORDER BY date DESC LIMIT ?"
        for _, doc in record.select(where, NEWEST) if record is not None else ():
            said = "\n\n".join(
                f"{who}: {text}" if doc.source == "session" else text for who, text in doc.said
            )
            found.append({
                "id": doc.handle, "what": doc.source, "title": doc.title, "text": said[:LONGEST],
                "cut": said[LONGEST:].count("\n"), "date": doc.date[:10], "who": doc.who,
                "paths": list(doc.about.get("paths", ())),
            })  # fmt: skip
    return found
