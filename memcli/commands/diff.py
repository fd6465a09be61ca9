"""mem diff: what a branch adds to and takes from memory, in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from memcli.app import App
from memcli.errors import RefusedError, UsageError
from memcli.memory.entry_values import CORE_KEYS
from memcli.memory.levels import ARCHIVE, Place, archive_of, place
from memcli.memory.parser import MemoryFile, parse
from memcli.memory.prose import sections
from memcli.memory.values import Entry, Problem
from memcli.project import git
from memcli.storage.files import Unreadable, decode, read_text

WORKING = "working tree"
DEFAULTS = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
"""Where a branch is taken to have come from; the first one that exists and is not HEAD itself."""


class Change(NamedTuple):
    """One thing that happened to one entry.

    `what` is added, changed, reinforced, weakened, retired, restored, merged, archived, moved or
    removed; `detail` says which keys, from where, or why.
    """

    what: str
    id: str
    title: str
    kind: str
    path: str
    level: str
    detail: str = ""


class Prose(NamedTuple):
    """How many sections of a file's prose came, went, or have another text below the same heading."""

    path: str
    added: int
    removed: int
    changed: int


class DiffReport(NamedTuple):
    """What lies between two states; `base` is the commit compared with, `head` a commit or the
    files.
    """

    base: str
    head: str
    changes: tuple[Change, ...]
    prose: tuple[Prose, ...]
    problems: tuple[Problem, ...]

    @property
    def empty(self) -> bool:
        return not self.changes and not self.prose


class _Standing(NamedTuple):
    """An entry where it stands on one side."""

    path: str
    place: Place
    entry: Entry


class _Side(NamedTuple):
    """All changed memory files as they are on one side."""

    files: Mapping[str, MemoryFile]
    entries: Mapping[tuple[str, str], _Standing]
    archived: Mapping[str, _Standing]

    def of(self, name: str) -> list[_Standing]:
        """Every place of the entry."""
        return [one for (entry, _), one in self.entries.items() if entry == name]


def diff(app: App, revisions: str = "") -> DiffReport:
    """Compare `BASE..HEAD`, `BASE` with the files, or without either the branch with where it
    began.

    It is always the branch's own doing that is told: the base is where the two histories part. The
    proxy store is left out. Raises UsageError for a revision that is not known.
    """
    root = _work_tree(app)
    base, head = _ends(root, revisions)
    changed = [name for name in _changed(root, base, head) if _public(placed(app, name))]
    # What comes back from an archive leaves it as it is, so that no difference would show it.
    names = sorted(
        {*changed, *(archive_of(name) for name in changed if not name.endswith(ARCHIVE))}
    )
    problems: list[Problem] = []
    before = _side(app, names, lambda name: _at(root, base, name), problems)
    after = _side(
        app, names, lambda name: _at(root, head, name) if head else _now(root, name), problems
    )
    changes = sorted(
        _changes(before, after), key=lambda c: (c.path, _ORDER.index(c.what), c.title, c.id)
    )
    return DiffReport(
        _short(root, base), _short(root, head) if head else WORKING, tuple(changes),
        tuple(_prose(before, after)), tuple(dict.fromkeys(problems)),
    )  # fmt: skip


def _public(where: Place | None) -> bool:
    return where is not None and "proxy" not in (where.store, where.of)


# --- git


def _work_tree(app: App) -> Path:
    if app.project.root is None or git.work_tree(app.project.root) is None:
        raise UsageError(
            "there is no git repository here", "run it inside one, or name it with --root"
        )
    return app.project.root


def _git(root: Path, *arguments: str) -> tuple[int, str]:
    try:
        done = git.run(arguments, root)
    except OSError as error:
        raise RefusedError(f"git cannot be run: {error.strerror}", "install git") from None
    return done.returncode, done.stdout


def _commit(root: Path, revision: str) -> str:
    """The commit that a revision names, "" for none."""
    code, out = _git(
        root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    )
    return out.strip() if code == 0 else ""


def _required(root: Path, revision: str) -> str:
    found = _commit(root, revision)
    if not found:
        raise UsageError(f"{revision}: unknown revision", "git branch -a shows what there is")
    return found


def _ends(root: Path, revisions: str) -> tuple[str, str]:
    """The two commits to compare; no second one is the working tree."""
    first, dots, last = (
        revisions.partition("...") if "..." in revisions else revisions.partition("..")
    )
    head = _required(root, last or "HEAD") if dots else ""
    base = _required(root, first) if first else _origin(root)
    return _parting(root, base, head or _required(root, "HEAD")), head


def _origin(root: Path) -> str:
    here = _required(root, "HEAD")
    found = [commit for name in DEFAULTS if (commit := _commit(root, name))]
    return next((commit for commit in found if commit != here), here)


def _parting(root: Path, base: str, head: str) -> str:
    """Where the two histories part; without such a place, as in a shallow clone, the base itself."""
    code, out = _git(root, "merge-base", base, head)
    return out.split()[0] if code == 0 and out.strip() else base


def _short(root: Path, commit: str) -> str:
    return _git(root, "rev-parse", "--short", commit)[1].strip() or commit[:10]


def _changed(root: Path, base: str, head: str) -> list[str]:
    """The files below the root that differ, named relative to it; what git ignores does not count."""
    ends = [base, head] if head else [base]
    code, out = _git(
        root, "diff", "--name-only", "--no-renames", "--relative", "-z", *ends, "--", "."
    )
    if code:
        raise UsageError(f"git cannot compare {' and '.join(ends)}", "git diff says why")
    new = (
        "" if head else _git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", ".")[1]
    )
    return sorted({name for name in (out + new).split("\0") if name.endswith(".md")})


def _at(root: Path, commit: str, name: str) -> str:
    """The text of a file in a commit, "" where it is not there. Raises `Unreadable`."""
    code, out = _git(root, "show", f"{commit}:./{name}")
    if code:
        return ""
    return decode(out.encode("utf-8", "surrogateescape"))


def _now(root: Path, name: str) -> str:
    path = root / name
    if path.is_symlink() or not path.exists():
        return ""
    return read_text(path, root).replace("\r\n", "\n")


# --- which files are memory

_LEVEL = re.compile(r"(?:MEMORY|institutional)(?:\.archive)?\.md|(tasks)/[^/]+\.md")
_PROJECT = re.compile(rf"{_LEVEL.pattern}|proxy(?:\.archive)?\.md|(proxy-tasks)/[^/]+\.md")
_TASK = re.compile(
    r"([^/]+)/tasks/([^/]+)/(?:worktree/)?((?:MEMORY|institutional)(?:\.archive)?\.md)"
)
_SESSION = re.compile(r"(?:projects/[^/]+/)?\.sessions/([^/]+)/(.+)")


def placed(app: App, name: str) -> Place | None:
    """The place of a file from its name relative to the root; None when it is no memory file."""
    for jobs in app.project.jobs_dirs:
        if name.startswith(f"{jobs}/"):
            return _in_job(name.removeprefix(f"{jobs}/"))
    session = _SESSION.fullmatch(name)
    if session:
        return _of_level(_LEVEL, session[2], "task", task=session[1])
    globbed = any(_glob(pattern).fullmatch(name) for pattern in app.project.config.memory_files)
    found = _of_level(_PROJECT, name, "project")
    return found or (place("project", name.rpartition("/")[2]) if globbed else None)


def _glob(pattern: str) -> re.Pattern[str]:
    """A glob as `Path.glob` understands it, but for character classes."""
    parts = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    found = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.removeprefix("./"))
    return re.compile("".join(parts.get(part, re.escape(part)) for part in found))


def _in_job(rest: str) -> Place | None:
    task = _TASK.fullmatch(rest)
    if task:
        return place("task", task[3], job=task[1], task=task[2])
    job, _, inner = rest.partition("/")
    return _of_level(_LEVEL, inner, "job", job=job)


def _of_level(
    pattern: re.Pattern[str], name: str, level: str, *, job: str = "", task: str = ""
) -> Place | None:
    if not pattern.fullmatch(name):
        return None
    folder, _, file = name.rpartition("/")
    return place(level, file, folder=folder, job=job, task=task)


# --- what happened


def _side(
    app: App, names: Iterable[str], text_of: Callable[[str], str], problems: list[Problem]
) -> _Side:
    files: dict[str, MemoryFile] = {}
    entries: dict[tuple[str, str], _Standing] = {}
    archived: dict[str, _Standing] = {}
    for name in names:
        where = placed(app, name)
        try:
            files[name] = memory = parse(text_of(name), name)
        except Unreadable as error:
            problems.append(Problem(name, error.line, str(error), "unreadable"))
            continue
        for entry in memory.entries:
            if where is None:
                continue
            standing = _Standing(name, where, entry)
            if where.store == "archive":
                archived[entry.id] = standing
            else:
                entries[entry.id, name] = standing
    return _Side(files, entries, archived)


def _changes(before: _Side, after: _Side) -> Iterator[Change]:
    """Entries that stay in their file first; what then is left on one side came, went or moved."""
    for key in before.entries.keys() & after.entries.keys():
        yield from _kept(before.entries[key], after.entries[key])
    gone = [before.entries[key] for key in sorted(before.entries.keys() - after.entries.keys())]
    come = [after.entries[key] for key in sorted(after.entries.keys() - before.entries.keys())]
    for one in gone:
        to = next((other for other in come if other.entry.id == one.entry.id), None)
        if to is None:
            yield _gone(one, after)
        else:
            come.remove(to)
            yield _change("moved", to, f"from {one.path}")
            yield from _kept(one, to)
    for one in come:
        back = one.entry.id in before.archived
        yield _change(
            "restored" if back else "added", one, "from the archive" if back else _copy(one, before)
        )


def _copy(one: _Standing, before: _Side) -> str:
    """Where an added entry has stood already."""
    copies = [other.path for other in before.of(one.entry.id)]
    promoted = one.entry.extra.get("promoted_from")
    if copies:
        return f"copy of the one in {copies[0]}"
    return (
        f"promoted from {len(promoted)} entries" if isinstance(promoted, list) and promoted else ""
    )


def _gone(one: _Standing, after: _Side) -> Change:
    name = one.entry.id
    into = next(
        (
            other
            for other in after.entries.values()
            if name in other.entry.extra.get("merged_from", ())
        ),
        None,
    )
    if into is not None:
        return _change("merged", one, f"into {into.entry.title} (id {into.entry.id[:8]})")
    if name in after.archived:
        because = after.archived[name].entry.extra.get("archived_because", "")
        return _change("archived", one, str(because))
    return _change("removed", one, "")


def _kept(before: _Standing, after: _Standing) -> Iterator[Change]:
    """What happened to an entry that is there on both sides."""
    old, new = before.entry, after.entry
    if old.status != new.status and "retired" in (old.status, new.status):
        because = str(new.extra.get("retired_because") or "")
        yield _change(
            *(("retired", after, because) if new.status == "retired" else ("restored", after, ""))
        )
    counted = new.reinforcement_count - old.reinforcement_count
    if counted:
        detail = f"{old.reinforcement_count} → {new.reinforcement_count}"
        yield _change("reinforced" if counted > 0 else "weakened", after, detail)
    keys = list(_other_keys(old, new, counted=bool(counted)))
    if keys:
        yield _change("changed", after, ", ".join(keys))


def _other_keys(old: Entry, new: Entry, *, counted: bool) -> Iterator[str]:
    """The keys that differ beside those that say what else happened; `body` for the text."""
    retired = old.status != new.status and "retired" in (old.status, new.status)
    said = {*(("status",) if retired else ()), *(("last_reinforced",) if counted else ())}
    told = {"retired_because"} if retired else set()
    for key in (*CORE_KEYS[1:], "kind", "priority"):
        if (
            key not in said
            and key != "reinforcement_count"
            and getattr(old, key) != getattr(new, key)
        ):
            yield key
    for key in sorted({*old.extra, *new.extra} - told - {"priority"}):
        if old.extra.get(key) != new.extra.get(key):
            yield key
    if old.body.replace("\r\n", "\n") != new.body.replace("\r\n", "\n"):
        yield "body"


def _change(what: str, at: _Standing, detail: str) -> Change:
    entry = at.entry
    return Change(
        what, entry.id, entry.title, entry.kind or entry.type, at.path, at.place.level, detail
    )


_ORDER = (
    "added", "restored", "moved", "changed", "reinforced", "weakened", "retired", "merged", "archived",
    "removed",
)  # fmt: skip


def _prose(before: _Side, after: _Side) -> Iterator[Prose]:
    for name in sorted(
        name for name in {*before.files, *after.files} if not name.endswith(ARCHIVE)
    ):
        old, new = (_sections(side.files.get(name)) for side in (before, after))
        gone, come = old - new, new - old
        both = Counter(title for title, _ in gone) & Counter(title for title, _ in come)
        changed = sum(both.values())
        if gone or come:
            yield Prose(name, come.total() - changed, gone.total() - changed, changed)


def _sections(memory: MemoryFile | None) -> Counter[tuple[str, str]]:
    return (
        Counter((one.title, one.body) for one in sections(memory))
        if memory is not None
        else Counter()
    )
