"""mem forget ID: an entry's words leave every file of ours on this machine."""

import glob
import os
import re
import secrets
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from memcli.app import App, Options
from memcli.commands import export as exporting
from memcli.commands.edit import refresh_found, writable
from memcli.commands.history import forget_pages, work_trees
from memcli.errors import DataError, UsageError
from memcli.history.record import HistoryRecord, opened, says
from memcli.install import git_hooks
from memcli.memory.changes import EntryChange, edited
from memcli.memory.parser import KnownFile, parse
from memcli.memory.tombstones import LEAST, Forgotten, fold, id_line, lines_of, mark_of
from memcli.memory.values import Entry, Patch, listed, plain_id
from memcli.project import git
from memcli.project.context import read_all, text_to_write
from memcli.project.record import FOLDER, path_of
from memcli.storage.files import SMALL_BYTES, read_text, state_dir

Marks = Sequence[tuple[bool, tuple[str, str, str]]]
"""(salt, mark, day) of each line that is forgotten, and whether everywhere."""
RULE_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""Where exports of memory may stand."""
FORGOTTEN = "[forgotten]"
"""What stands in the place of words in the entry of a session."""
VERB = "forget"
"""The name of the write in its undo record."""


class ForgottenReport(NamedTuple):
    """The entries that are gone, as (id, path, title); how many exchanges and
    commits of history went with them; what still holds the words and the command for it; and the patches."""

    entries: tuple[tuple[str, str, str], ...] = ()
    exchanges: int = 0
    left: tuple[str, ...] = ()
    patches: tuple[Patch, ...] = ()


class _Removed(NamedTuple):
    """An entry that goes, the file it stands in, and its words."""

    entry: Entry
    file: KnownFile

    @property
    def key(self) -> tuple[bool, str]:
        """Whose entry it is, the person's or a repository's, and its id."""
        return is_home(self.file.path), self.entry.id

    @property
    def lines(self) -> list[str]:
        """Its title and the lines of its body by which it is known again."""
        return lines_of(f"{self.entry.title}\n{self.entry.body}")


def forget(app: App, ids: Sequence[str]) -> ForgottenReport:
    """Remove entries from live files and archives, and their words from index, vectors,
    history, undo, state and page. Raises UsageError for an id that is not there."""
    finished = set() if app.dry_run else _finish(app)
    ids = [name for name in ids if not any(map(_begins_with(name), finished))]
    if finished and not ids:
        return ForgottenReport()
    refresh_found(app)
    places = [writable(app, name, archived=None) for name in ids]
    wanted_ids = {(is_home(place.path), plain_id(place.entry)) for place in places}
    removed: list[_Removed] = []
    lines: list[str] = []
    remarks: list[str] = []

    def plan() -> ForgottenReport:
        files = [*read_all(app.project)]
        everything = _with_originals(files, wanted_ids)
        removed.extend(each for each in _entries(files) if each.key in everything)
        _check_one_each(removed, files)
        if not removed:
            raise UsageError(
                "mem does not delete prose: remove the section yourself",
                f"mem edit {ids[0]}",
            )
        lines.extend(line for gone in removed for line in _words(gone.entry))
        cleared = (_cleared(app, file, removed, lines) for file in files)
        patches = (*filter(None, cleared), *_from_moments(app, lines))
        # Before the files: whoever is killed here still finds the entries, and goes on.
        marks = _marks(app, removed)
        remarks.extend(_from_history(app, marks))
        if not app.dry_run:
            _from_state(app, removed, lines, marks)
        rows = tuple((entry.id, file.path, entry.title) for entry, file in removed)
        return ForgottenReport(entries=rows, patches=patches)

    report = app.write(plan, VERB)
    if not app.dry_run:
        _from_the_rest(app, [gone.entry.id for gone in removed], lines)
        _from_exports(app, lines)
    written = {patch.path for patch in report.patches}
    left = [*_left(app, removed, lines), *_left_below(app, removed, lines, written)]
    return report._replace(exchanges=len(remarks), left=(*left, *_left_in_git(remarks)))


def _entries(files: Iterable[KnownFile]) -> Iterator[_Removed]:
    """Every entry, with its file."""
    for file in files:
        for entry in file.memory.entries:
            yield _Removed(entry, file)


def _begins_with(prefix: str) -> Callable[[str], bool]:
    return lambda entry_id: entry_id.startswith(prefix)


def _finish(app: App) -> set[str]:
    """The ids that a killed `mem forget` took out of the files, whose words are now
    gone from the rest, too. The undo record of one that ended has no texts."""
    app.workspace.recover()
    last_write = app.workspace.last_write()
    if last_write is None or last_write.verb != VERB or not last_write.patches:
        return set()
    gone: dict[str, Entry] = {}
    lines: list[str] = []
    for back in last_write.patches:
        gone |= _taken_out(back)
    for entry in gone.values():
        lines += _words(entry)
    _from_the_rest(app, list(gone), lines)
    return set(gone)


def _taken_out(back: Patch) -> dict[str, Entry]:
    """The entries of a file that only its undo brings back, by their ids."""
    now = {entry.id for entry in parse(back.before or "", "").entries}
    before = parse(back.after or "", "").entries
    return {entry.id: entry for entry in before if entry.id not in now}


def _words(entry: Entry) -> list[str]:
    """The title and the lines of the body of an entry that are long enough to be told
    by, without the mark of a list and the stop, which others leave out."""
    lines = lines_of(f"{entry.title}\n{entry.body}")
    bare = (re.sub(r"\A\W+|\W+\Z", "", line) for line in lines)
    return [line for line in bare if len(line) >= LEAST]


def _from_the_rest(app: App, ids: Sequence[str], lines: Sequence[str]) -> None:
    """Take the entries out of undo, the index and what is cached."""

    def clean(text: str) -> str:
        memory = parse(text, "")
        places = [n for n, entry in enumerate(memory.entries) if entry.id in ids]
        changes = [EntryChange(at=place, remove=True) for place in places]
        return _blotted(edited(memory, changes).text, lines)

    app.workspace.forget_undo([*ids, *lines], clean)
    _from_index(app)
    forget_pages()


def is_home(path: str) -> bool:
    """Whether a file is the person's: an id in a repository is another entry's."""
    return path.startswith("~/")


def _check_one_each(removed: Sequence[_Removed], files: Iterable[KnownFile]) -> None:
    """Check that no id stands in two live entries, as a merge without our driver or a
    copy by hand may leave them. Raises UsageError: which of them is meant is the
    person's to say."""
    wanted = {each.key for each in removed}
    places: dict[tuple[bool, str], dict[str, str]] = {}
    for entry, file in _entries(files):
        is_told = entry.is_live and file.place.store != "archive"
        ids = {entry.id, entry.shared_id} if is_told else ()
        for key in wanted.intersection((is_home(file.path), id) for id in ids):
            of_id = places.setdefault(key, {})
            of_id.setdefault(fold(entry.body), f"{file.path}:{entry.line}")
    for (_, name), found in places.items():
        if len(found) > 1:
            what = f"{name}: is the id of several entries: {', '.join(found.values())}"
            raise UsageError(what, "mem doctor shows how to fix that")


def _with_originals(
    files: Sequence[KnownFile], wanted: set[tuple[bool, str]]
) -> set[tuple[bool, str]]:
    """These ids, and those of the entries that were merged into them."""
    merged = [
        (is_home(each.file.path), original)
        for each in _entries(files)
        if each.key in wanted
        for original in listed(each.entry, "merged_from")
    ]
    return wanted.union(merged)


def _cleared(
    app: App, file: KnownFile, removed: Sequence[_Removed], lines: Sequence[str]
) -> Patch | None:
    """The file without the entries, and without their words in what mem told of
    sessions; None where it holds nothing of them."""
    keys = {gone.key for gone in removed}
    changes = []
    for number, entry in enumerate(file.memory.entries):
        if _Removed(entry, file).key in keys:
            changes.append(EntryChange(at=number, remove=True))
        elif entry.is_episode and _says(entry, lines):
            changes.append(_without_words(number, entry, lines))
    if not changes:
        return None
    if not file.writable:
        what = f"{file.path}: is in another work tree; nothing was written"
        raise DataError(what, "run it there")
    path = app.project.path_of(file.path)
    known = app.project.found(file.path)
    after = edited(file.memory, changes).text
    place = known.path if known else path
    is_kept = bool(after) or os.path.islink(place) or _is_tracked(app, file.path)
    return Patch(place, file.memory.text, after if is_kept else None)


def _from_moments(app: App, lines: Sequence[str]) -> Iterator[Patch]:
    """The notes before and in the work of each job without the words, which they took
    from what was known."""
    root = app.project.root or app.project.cwd
    places = [app.project.path_of(file.path) for file in app.project.listing.files]
    folders = dict.fromkeys([str(root), *map(os.path.dirname, places)])
    for path in (Path(folder, name) for folder in folders for name in git.MOMENTS):
        if path.is_relative_to(root) and path.exists():
            before = text_to_write(app.project, path, most=SMALL_BYTES) or ""
            if _holds(before, lines):
                yield Patch(str(path), before, _blotted(before, lines))


def _says(entry: Entry, lines: Sequence[str]) -> bool:
    """Whether an entry, its values included, has one of these lines."""
    return _holds("\n".join([entry.body, *map(str, entry.extra.values())]), lines)


def _without_words(at: int, entry: Entry, lines: Sequence[str]) -> EntryChange:
    texts = {key: value for key, value in entry.extra.items() if isinstance(value, str)}
    values = {
        key: blotted
        for key, value in texts.items()
        if (blotted := _blotted(value, lines)) != value
    }
    return EntryChange(at=at, values=values, body=_blotted(entry.body, lines))


def _blotted(text: str, lines: Sequence[str]) -> str:
    """A text without these lines."""
    for line in sorted(lines, key=len, reverse=True):
        words = r"\s+".join(map(re.escape, line.split()))
        text = re.sub(words, FORGOTTEN, text, flags=re.IGNORECASE)
    return text


def _from_history(app: App, marks: Marks) -> list[str]:
    """Delete the exchanges and commits that hold these words, in the record of this
    repository (kept on or not) or in all; their handles."""
    own_record = path_of(app.project.root)
    handles: list[str] = []
    for path in (state_dir() / FOLDER).glob("*.db"):
        gone = Forgotten(
            mark for everywhere, mark in marks if everywhere or path == own_record
        )
        with opened(path if gone.marks else None) as record:
            if record is not None:
                handles += _forgotten_docs(record, gone, dry_run=app.dry_run)
    return handles


def _forgotten_docs(
    record: HistoryRecord, gone: Forgotten, *, dry_run: bool
) -> Iterable[str]:
    """Delete what a record has of these words; its handles."""
    docs = record.select("1", every=True)
    said = {number: doc.handle for number, doc in docs if says(doc, gone)}
    if said and not dry_run:
        record.forget_docs(said)
    return said.values()


def _marks(app: App, removed: Sequence[_Removed]) -> Marks:
    """What is left of the words, by which they are known when they come back."""
    salt = next((salt for salt, *_ in app.forgotten().marks), secrets.token_hex(16))
    return [
        (gone.file.place.level == "global", (salt, mark_of(line, salt), app.today))
        for gone in removed
        for line in (*gone.lines, id_line(gone.entry.id))
    ]


def _from_state(
    app: App,
    removed: Sequence[_Removed],
    lines: Sequence[str],
    marks: Marks,
) -> None:
    """Take the words out of what hooks told and out of proposals; marks stay."""
    with app.state() as state:
        ids = [gone.entry.id for gone in removed]
        state.forget_entries(ids, lines, everywhere=any(mark[0] for mark in marks))
        state.add_tombstones(marks)


def _from_index(app: App) -> None:
    """Rebuild the index, so that no page of its file holds the words, and delete those
    that were moved aside; the indexes of other work trees are rebuilt when they are next
    used."""
    paths = [app.index.path, *(other.index.path for other in _other_trees(app))]
    app.kept.close()
    for path in paths:
        for ending in ("", "-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
        for aside in path.parent.glob(f"{glob.escape(path.name)}.aside-*"):
            aside.unlink(missing_ok=True)
    app.refresh()


def _other_trees(app: App) -> Iterator[App]:
    """The project in each other work tree of the repository."""
    root = app.project.root
    tree_top = git.work_tree(root)
    if root is None or tree_top is None:
        return
    places = (tree / root.relative_to(tree_top) for tree in work_trees(root))
    for place in map(Path, map(os.path.realpath, places)):
        if place != root and place.is_dir():
            environ = {**app.project.environ, "MEM_ROOT": str(place)}
            with App(Options(quiet=True), environ, place) as other:
                yield other


def _from_exports(app: App, lines: Sequence[str]) -> None:
    """Write our section of each file of rules again if it holds the words."""
    root = app.project.root
    if root is None:
        return
    for name, text in _rules(root):
        found = git_hooks.find(text, git_hooks.EXPORT)
        if found and _holds(text[found.start : found.end], lines):
            with suppress(OSError):  # it may not be written: it is named as left
                report = exporting.export(app, "agents-md")
                fresh = report.handout.text.rstrip("\n")
                patches = exporting.in_file(app.project, str(root / name), fresh)
                exporting.write(app.project, patches)


def _rules(root: Path) -> Iterator[tuple[str, str]]:
    """The files of rules that can be read, each with its text."""
    for name in RULE_FILES:
        with suppress(OSError):
            yield name, read_text(root / name, root)


def _holds(text: str, lines: Sequence[str]) -> bool:
    """Whether a text has one of these lines."""
    whole = fold(text)
    return any(fold(line) in whole for line in lines)


def _left(app: App, removed: Sequence[_Removed], lines: Sequence[str]) -> Iterator[str]:
    """The places that still hold the words, each with the command that clears it."""
    yield from _other_entries(app, removed, lines)
    root = app.project.root
    if root is None:
        return
    names = " ".join(dict.fromkeys(gone.entry.id for gone in removed))
    for tree, path in _files_elsewhere(app, lines):
        yield f"{tree}/{path} has the words: cd {tree}; mem forget {names}"
    for name, text in _rules(root):
        if _holds(text, lines):
            yield f"{name} has the words: edit it, or mem export --remove --out {name}"
    paths = sorted({gone.file.path for gone in removed})
    tracked = " ".join(filter(partial(_is_tracked, app), paths))
    if tracked:
        yield (
            f"git's history has {tracked}: git filter-repo --replace-text FILE, then"
            " push --force; other clones must fetch it again"
        )
    if app.project.config.store_url or app.project.environ.get("MEM_STORE_URL"):
        yield "a shared index that was pushed: mem index --shared"


def _left_in_git(handles: Sequence[str]) -> Iterator[str]:
    """The commits among what history said."""
    if commits := " ".join(name[2:] for name in handles if name.startswith("c:")):
        clearing = "git filter-repo --replace-message FILE, then push --force"
        yield f"git's history says it in {commits}: {clearing}"


def _left_below(
    app: App, removed: Sequence[_Removed], lines: Sequence[str], written: Container[str]
) -> Iterator[str]:
    """The other files below the root, ignored or not, that hold the words or an id as
    exports, pages and rules have it."""
    root = app.project.root
    if root is None:
        return
    ids = (gone.entry.id[:8] for gone in removed)
    sought = [*lines, *(name for name in ids if name[7:])]
    words = "grep --no-index -I -i -l -z -F -f -".split()
    git_said = git.GitSaid(-1, "", "")
    with suppress(OSError):  # git may not be there
        git_said = git.run(words, root, given="\n".join(sought))
    if git_said.returncode not in (0, 1):
        yield "files below the root were not searched: git grep --no-index -l WORDS"
    memory = {file.path for file in read_all(app.project)}
    names = {*git_said.stdout.split("\0")} - {"", *RULE_FILES, *memory}
    for name in sorted(name for name in names if str(root / name) not in written):
        yield f"{name} has the words: edit it, or if it is an export: rm {quote(name)}"


def _files_elsewhere(
    app: App, lines: Sequence[str]
) -> Iterator[tuple[Path | None, str]]:
    """The files with these words in other work trees, each behind its tree."""
    for other in _other_trees(app):
        for file in read_all(other.project):
            if not is_home(file.path) and _holds(file.memory.text, lines):
                yield other.project.root, file.path


def _other_entries(
    app: App, removed: Sequence[_Removed], lines: Sequence[str]
) -> Iterator[str]:
    """The other entries that say the same words."""
    keys = {gone.key for gone in removed}
    for other in _entries(read_all(app.project)):
        if other.key not in keys and _says(other.entry, lines):
            name = other.entry.id[:8]
            yield f"{other.file.path} also says it in {name}: mem forget {name}"


def _is_tracked(app: App, name: str) -> bool:
    root = app.project.root
    if root is None or git.work_tree(root) is None or name.startswith("~/"):
        return False
    path = app.project.path_of(name)
    return os.path.exists(path) and not git.own_files(root, [path])
