"""mem forget ID: an entry's words leave every file of ours on this machine."""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.commands.edit import refresh_found, writable
from memcli.errors import DataError, UsageError
from memcli.history import record_of
from memcli.history.record import opened
from memcli.memory.parser import KnownFile
from memcli.memory.tombstones import digest_of, fold
from memcli.memory.values import Entry, Patch, plain_id
from memcli.memory.words import body_of
from memcli.project import git
from memcli.project.context import read_known
from memcli.storage.files import cache_dir, read_text

RULE_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".claude/rules")
"""Where exports of memory may stand."""
LEAST = 12
"""Characters of a line by which its words are looked for elsewhere."""


class ForgottenReport(NamedTuple):
    """The entries that are gone, as (id, path, title); how much of history went with
    them; what still holds the words and the command for it; and the patches."""

    entries: tuple[tuple[str, str, str], ...]
    exchanges: int
    left: tuple[str, ...]
    dry_run: bool
    patches: tuple[Patch, ...] = ()


class _Removed(NamedTuple):
    """An entry that goes, the file it stands in, and its words."""

    entry: Entry
    file: KnownFile

    @property
    def words(self) -> list[str]:
        """Its title and the lines of its body that are long enough to be told by."""
        body = body_of(self.entry.body, self.entry.title)
        lines = [self.entry.title, *body.splitlines()]
        return [line.strip() for line in lines if len(line.strip()) >= LEAST]


def forget(app: App, ids: Sequence[str], *, dry_run: bool = False) -> ForgottenReport:
    """Remove entries from live files and archives, and their words from index, vectors,
    history, undo, state and page. Raises UsageError for an id that is not there."""
    refresh_found(app)
    wanted = {plain_id(writable(app, each, archived=None).entry) for each in ids}
    removed: list[_Removed] = []

    def plan() -> ForgottenReport:
        removed.clear()
        patches = []
        for file in read_known(app.project, app.project.listing.files, []):
            gone = [entry for entry in file.memory.entries if entry.id in wanted]
            if not gone:
                continue
            if not file.writable:
                what = f"{file.path}: stands in another work tree; nothing is written"
                raise DataError(what, "run it there")
            removed.extend(_Removed(entry, file) for entry in gone)
            patches.append(_without(app, file, gone))
        if not removed:
            raise UsageError("a section of prose is yours: take it out", "mem edit ID")
        rows = tuple((one.entry.id, one.file.path, one.entry.title) for one in removed)
        return ForgottenReport(
            entries=rows, exchanges=0, left=(), dry_run=dry_run, patches=tuple(patches)
        )

    report = app.write(plan, "forget", dry_run=dry_run)
    lines = [line for one in removed for line in one.words]
    exchanges = _from_history(app, lines, dry_run=dry_run)
    if not dry_run:
        _from_state(app, removed, lines)
        _from_index(app)
        _from_page(app)
    left = tuple(_left(app, removed, lines))
    return report._replace(exchanges=exchanges, left=left)


def _without(app: App, file: KnownFile, gone: Sequence[Entry]) -> Patch:
    text = file.memory.text
    for entry in sorted(gone, key=lambda entry: -entry.start):
        text = text[: entry.start] + text[entry.end :]
    path = app.project.path_of(file.path)
    known = app.project.found(file.path)
    return Patch(known.path if known else path, file.memory.text, text)


def _from_history(app: App, lines: Sequence[str], *, dry_run: bool) -> int:
    """Delete the exchanges that hold these words; how many there were."""
    path = record_of(app.project)
    if path is None or not lines:
        return 0
    folded = [fold(line) for line in lines]
    with opened(path) as record:
        if record is None:
            return 0
        ids = [
            number
            for number, doc in record.select("source = 'session'")
            if any(line in fold(doc.text) for line in folded)
        ]
        if ids and not dry_run:
            record.forget_docs(ids)
    return len(ids)


def _from_state(app: App, removed: Sequence[_Removed], lines: Sequence[str]) -> None:
    """Nothing of the words in what hooks told, in proposals and in undo; a digest stays,
    by which the words are known again."""
    salt = secrets.token_hex(16)
    texts = {text for one in removed for text in (one.entry.title, one.entry.body)}
    digests = [digest_of(text, salt) for text in texts]
    ids = [one.entry.id for one in removed]
    with app.state() as state:
        state.forget_entries(ids, lines)
        state.add_tombstones(salt, digests, app.project.now.isoformat())
    app.workspace.forget_undo(ids)


def _from_index(app: App) -> None:
    """The index is derived: it is made anew, so that no page of it has the words."""
    path = app.index.path
    app.kept.close()
    for ending in ("", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)
    app.refresh()


def _from_page(app: App) -> None:
    """The page is written anew when it is asked for."""
    for path in (cache_dir() / "browse").glob("*.html"):
        with suppress(OSError):
            path.unlink()


def _left(app: App, removed: Sequence[_Removed], lines: Sequence[str]) -> Iterator[str]:
    """What still holds the words, each with the command for it."""
    root = app.project.root
    if root is None:
        return
    for name in RULE_FILES:
        with suppress(OSError):  # none there, or none that can be read
            text = fold(read_text(root / name, root))
            if any(fold(line) in text for line in lines):
                yield f"{name} has the words: edit it, or mem export --remove --out {name}"
    paths = {one.file.path for one in removed if not one.file.path.startswith("~/")}
    tracked = [path for path in sorted(paths) if _is_tracked(app, path)]
    if tracked:
        names = " ".join(tracked)
        yield (
            f"git's history has {names}: git filter-repo --replace-text FILE, then push"
            " --force; other clones fetch it anew"
        )
    yield "a shared index that was pushed: mem index --push"


def _is_tracked(app: App, name: str) -> bool:
    root = app.project.root
    if root is None or git.work_tree(root) is None:
        return False
    path = app.project.path_of(name)
    return os.path.exists(path) and not git.own_files(root, [path])
