"""What mem doctor examines, each thing read once, and the content checks of memory
files."""

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from memcli.app import App
from memcli.index.database import IN_MEMORY, Index
from memcli.index.refresh import differing
from memcli.memory.grammar import conflict_lines
from memcli.memory.parser import KnownFile, MemoryFile
from memcli.memory.values import OUTERMOST, Entry, Problem, place
from memcli.memory.words import count
from memcli.project import git
from memcli.project.context import base_of, read_known
from memcli.project.listing import FoundFile, shown
from memcli.recall.budget import tokens
from memcli.storage import durable, sqlite
from memcli.storage.files import Unreadable, read_text
from memcli.text.controls import find_injections
from memcli.text.secrets import find_secrets

Status = Literal["PASS", "WARN", "FAIL", "INFO"]
TEMPORARY = f".MEMORY.md{durable.MARK}1-0"
TO_COME = (".memory.db", TEMPORARY, *git.MOMENTS)
MALFORMED = (
    "malformed"  # the word, SQLite's own, for damage that opening a file does not show
)
NAMES = "readable front-matter conflicts duplicate-ids secrets values dates ids".split()
NAMES += ["injections", "institutional"]
"""Every content check, in the order of its rows."""


class Check(NamedTuple):
    """One row: what was looked at, how it stands, what was found, the command that
    mends it."""

    name: str
    status: Status
    detail: str
    hint: str = ""
    path: str = ""
    line: int = 0


def key_line(memory: MemoryFile, entry: Entry, key: str) -> int:
    """The line of a key in an entry's front matter; that of the body when it cannot be
    told."""
    found = re.compile(rf"(?<![^\r\n]){key}[ \t]*:").search(
        memory.text, entry.start, entry.end
    )
    return line_at(memory.text, found.start()) if found else entry.line


def line_at(text: str, offset: int) -> int:
    """The line, from 1, of an offset; a lone CR ends a line, too."""
    return 1 + bisect_right(_line_ends(text), offset)


@lru_cache(maxsize=2)
def _line_ends(text: str) -> list[int]:
    """Where each line of a text ends: a file may have a finding in each of them."""
    return [found.end() for found in re.finditer(r"\r\n|\n|\r(?!\n)", text)]


class Repository(NamedTuple):
    """What git knows here; `bare` are derived or private files that it would offer to
    add."""

    top: Path | None = None
    fault: str = ""
    tracked: frozenset[str] = frozenset()
    bare: tuple[str, ...] = ()
    attribute: bool = False
    driver: str = ""


def _known(app: App, root: Path, known: Repository) -> Repository:
    merge = git.run(
        ["check-attr", "merge", "--", "MEMORY.md"], root, timeout=3
    ).stdout.strip()
    driver = git.run(["config", "--get", "merge.mem.driver"], root).stdout.strip()
    names = (
        ".memory.db",
        *(f.name for f in app.project.listing.files if f.place.of == "proxy"),
    )
    there = [n for n in names if n not in known.tracked and os.path.lexists(root / n)]
    asked = list(dict.fromkeys([*there, *(TO_COME if driver else ())]))
    ask = ["check-ignore", "-q", "--no-index", "--"]
    bare = tuple(name for name in asked if git.run([*ask, name], root).returncode == 1)
    return known._replace(bare=bare, attribute=merge.endswith(": mem"), driver=driver)


class IndexState(NamedTuple):
    """How the index file stands: why it cannot be used, and which files it has not
    seen."""

    path: Path
    there: bool = False
    broken: str = ""
    busy: bool = False
    behind: tuple[str, ...] = ()


class Scene:
    """What is examined, read once on first use."""

    def __init__(
        self, app: App, files: Sequence[str] = (), *, online: bool = False
    ) -> None:
        self.app = app
        self.files = files
        self.online = online

    @cached_property
    def read(self) -> tuple[list[KnownFile], list[Problem]]:
        """The documents, and the problems of files that cannot be read."""
        listing = self.app.project.listing
        named = named_files(self.app, self.files)
        problems = [] if named else list(listing.problems)
        return list(
            read_known(self.app.project, named or listing.files, problems)
        ), problems

    @property
    def documents(self) -> list[KnownFile]:
        return self.read[0]

    @cached_property
    def repository(self) -> Repository:
        root = self.app.project.root
        top = git.work_tree(root) if root is not None else None
        if root is None or top is None:
            return Repository()
        folder = git.git_dir(top)
        if folder is None or not (folder / "HEAD").is_file():
            return Repository(top, "its .git names no git directory")
        try:
            listed = git.run(["ls-files", "-z", "--", "*.md", "*.memory.db*"], root)
        except OSError as error:
            return Repository(
                top, f"git cannot be run: {(error.strerror or str(error)).lower()}"
            )
        if listed.returncode:
            return Repository(
                top, (listed.stderr.strip() or "git ls-files failed").splitlines()[0]
            )
        tracked = frozenset(map(shown, filter(None, listed.stdout.split("\0"))))
        return _known(self.app, root, Repository(top, "", tracked))

    @cached_property
    def index(self) -> IndexState:
        path = self.app.kept.path(make=False)
        if path == IN_MEMORY or not os.path.lexists(path):
            return IndexState(path)
        try:
            with closing(Index(path, [], look=True)) as index:
                if fault := sqlite.fault(index.db):
                    return IndexState(path, True, f"{MALFORMED}: {fault}")
                changed, gone = differing(index, self.app.project.listing.files)
                return IndexState(path, True, behind=(*changed, *gone))
        except (
            Exception
        ) as error:  # whatever SQLite says of a file: it can be built anew
            busy = bool(re.search("locked|busy", str(error)))
            return IndexState(
                path=path, there=True, broken="" if busy else str(error), busy=busy
            )


def named_files(app: App, names: Sequence[str]) -> list[FoundFile]:
    """The files named on the command line, memory files or not, each once."""
    listed = {file.path: file for file in app.project.listing.files}
    paths = dict.fromkeys(absolute(app, name) for name in names)
    return [listed.get(path) or _unlisted(app, path) for path in paths]


def absolute(app: App, name: str) -> str:
    """The path of a file that was named, its folder resolved, itself not."""
    folder, base = os.path.split(os.path.normpath(app.project.cwd / name))
    return os.path.join(os.path.realpath(folder), base)


def _unlisted(app: App, path: str) -> FoundFile:
    folder, name = os.path.split(path)
    inside = os.path.basename(folder)
    where = place(
        "project", name, folder=inside if inside in ("tasks", "proxy-tasks") else ""
    )
    top = git.work_tree(Path(folder))
    own = git.work_tree(app.project.root) if app.project.root is not None else None
    tree = "" if top == own else str(top)
    base = base_of(app.project, path) or "/"
    return FoundFile(
        path=path,
        name=shown_name(app, path),
        place=where,
        tree=tree,
        mtime=0,
        size=0,
        base=base,
    )


def shown_name(app: App, path: str) -> str:
    """The name of a file: relative to the root, below `~`, else absolute."""
    return shown(app.project.name_of(path))


def text_of(path: Path) -> str | None:
    """The text of a file, None where it cannot be read."""
    with suppress(Unreadable):
        return read_text(path)
    return None


def check_content(scene: Scene) -> list[Check]:
    """Every rule about content, as rows."""
    project = scene.app.project
    named = {absolute(scene.app, name) for name in scene.files}
    today = project.now.isoformat()
    budget = project.config.max_tokens
    others = [
        file for file in project.listing.files if named and file.path not in named
    ]
    known = list(read_known(project, others, []))
    return content(*scene.read, today=today, max_tokens=budget, others=known)


def content(
    documents: Sequence[KnownFile],
    unreadable: Iterable[Problem],
    *,
    today: str,
    max_tokens: int,
    others: Sequence[KnownFile] = (),
) -> list[Check]:
    """The rows of these documents, a "PASS" for each check without; ids may stand in
    `others`."""
    hints: dict[str, tuple[Status, str]] = {
        "unreadable": (
            "FAIL",
            "put a readable regular file of UTF-8 text there, or remove it",
        ),
        "defaulted": (
            "WARN",
            "move what is old to another folder: what is over is not found",
        ),
    }
    told = [(*hints[p.severity], p) for p in unreadable]
    rows = [
        Check(
            name="readable",
            status=how,
            detail=p.message,
            hint=hint,
            path=p.path,
            line=p.line,
        )
        for how, hint, p in told
    ]
    for document in documents:
        for check in (_damaged, _conflicts, _unnamed, _secrets, _injections):
            rows += check(document)
        rows += _future(document, today)
    rows += [*_duplicates(documents, others), *_institutional(documents, max_tokens)]
    clean = [name for name in NAMES if name not in {row.name for row in rows}]
    rows += [Check(name, "PASS", "nothing found") for name in clean]
    return sorted(rows, key=lambda row: (NAMES.index(row.name), row.path, row.line))


def _damaged(document: KnownFile) -> Iterator[Check]:
    """Blocks that were meant as entries and cannot be read, and values that cannot be
    used."""
    lines = ["", *re.split(r"\r\n|\n|\r", document.memory.text)]
    lost = "mend it there: until then it counts as prose, and its values as nothing"
    for problem in document.memory.problems:
        hidden = find_secrets(lines[problem.line])
        what = "cannot be used (it holds a secret)" if hidden else problem.message
        if problem.severity == "unreadable":
            yield Check(
                name="front-matter",
                status="FAIL",
                detail=what,
                hint=lost,
                path=document.path,
                line=problem.line,
            )
        else:
            yield Check(
                name="values",
                status="WARN",
                detail=what,
                hint="correct it there",
                path=document.path,
                line=problem.line,
            )


def _conflicts(document: KnownFile) -> Iterator[Check]:
    hint = "resolve it and save the file; writers leave the file alone until then"
    for line in conflict_lines(document.memory.text):
        yield Check(
            name="conflicts",
            status="FAIL",
            detail="a conflict is not resolved",
            hint=hint,
            path=document.path,
            line=line,
        )


def _unnamed(document: KnownFile) -> Iterator[Check]:
    missing = [entry for entry in document.memory.entries if not entry.identified]
    if missing and document.place.store != "archive":
        what = f"{count(len(missing), 'entry has', 'entries have')} no id"
        yield Check(
            name="ids",
            status="WARN",
            detail=what,
            hint="mem doctor --fix",
            path=document.path,
            line=missing[0].line,
        )


def _secrets(document: KnownFile) -> Iterator[Check]:
    """Credentials, by kind and place; the value is never repeated."""
    hint = "take it out and revoke it: what was committed stays in git's history"
    for secret in find_secrets(document.memory.text):
        line = line_at(document.memory.text, secret.start)
        yield Check(
            name="secrets",
            status="FAIL",
            detail=secret.kind,
            hint=hint,
            path=document.path,
            line=line,
        )


def _injections(document: KnownFile) -> Iterator[Check]:
    """Sentences that try to command the agent. An archive is never shown to it."""
    text = document.memory.text if document.place.store != "archive" else ""
    hint = "reword it or take it out; recall shows a notice in its place"
    for span in find_injections(text):
        what = f"reads like an instruction to the agent ({span.kind})"
        yield Check(
            name="injections",
            status="WARN",
            detail=what,
            hint=hint,
            path=document.path,
            line=line_at(text, span.start),
        )


def _future(document: KnownFile, today: str) -> Iterator[Check]:
    for entry in document.memory.entries:
        for key in ("created_at", "last_reinforced"):
            if (day := getattr(entry, key)) > today:
                what = f"{key}: {day} lies in the future and counts as today"
                line = key_line(document.memory, entry, key)
                yield Check(
                    name="dates",
                    status="WARN",
                    detail=what,
                    hint="correct it there",
                    path=document.path,
                    line=line,
                )


def _duplicates(
    documents: Iterable[KnownFile], others: Iterable[KnownFile]
) -> Iterator[Check]:
    """Ids that stand twice within one git work tree; an archive keeps what stood
    elsewhere."""
    first: dict[tuple[str, str], tuple[str, int]] = {}
    for document, asked in (
        *((d, False) for d in others),
        *((d, True) for d in documents),
    ):
        if document.place.store == "archive":
            continue
        for entry in document.memory.entries:
            key = (document.tree, entry.id)
            place = (document.path, entry.line)
            if entry.identified and first.setdefault(key, place) != place and asked:
                path, line = first[key]
                copy = "remove the id of the copy, then: mem doctor --fix"
                hint = "mem compact" if path == document.path else copy
                what = f"id {entry.id} stands already in {path}:{line}"
                where = key_line(document.memory, entry, "id")
                yield Check(
                    name="duplicate-ids",
                    status="FAIL",
                    detail=what,
                    hint=hint,
                    path=document.path,
                    line=where,
                )


def _institutional(documents: Iterable[KnownFile], max_tokens: int) -> Iterator[Check]:
    """Institutional text that, with that above it, does not fit into half of an
    answer."""
    norms = [
        document for document in documents if document.place.store == "institutional"
    ]
    full: list[KnownFile] = []
    fund = max_tokens // 2
    norms.sort(key=lambda document: OUTERMOST[document.place.level])
    for document in norms if max_tokens else ():
        level, _, job, task, _ = document.place
        chain = [other for other in norms if other.place.is_around(level, job, task)]
        size = sum(map(tokens, {other.memory.text.strip() for other in chain}))
        if size > fund and not any(other in full for other in chain):
            full.append(document)
            what = f"{size} tokens of institutional text, {fund} are shown (half of max_tokens)"
            yield Check(
                name="institutional",
                status="WARN",
                detail=what,
                hint="shorten it, or raise max_tokens",
                path=document.path,
                line=1,
            )
