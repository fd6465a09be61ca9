"""The values that travel between modules: frozen, without behaviour of their own."""

import re
from collections.abc import Mapping
from typing import Any

from memcli.named import NamedTuple

TYPES = ("declarative", "procedural", "directive", "corrective")
DOMAINS = ("task", "team")
PASSING_LEVELS = ("job", "task")
"""Where entries belong to one piece of work (domain task); elsewhere they are the
team's."""
STATUSES = ("active", "retired", "compacted")
PHASES = tuple(
    "specification planning design implementation review maintenance unknown".split()
)
LEVEL_WEIGHTS = {"global": 1.0, "project": 1.2, "job": 1.2, "task": 1.5}
LEVELS = tuple(LEVEL_WEIGHTS)
OUTERMOST = {level: depth for depth, level in enumerate(LEVELS)}
LEVEL_WORDS = {"team": "task", "dispatch": "task", "session": "job"}
"""Other names people use for a level; they are accepted wherever a level is."""
STORES = ("memory", "institutional", "proxy", "archive")
KINDS = tuple(
    "policy workflow pitfall architecture decision preference fact episode".split()
)
PRIORITIES = ("permanent", "critical", "high", "pin", "medium", "normal")


class Problem(NamedTuple):
    """What could not be used; `severity` is "unreadable" (exit 3), "conflict" (5) or
    "defaulted" (0)."""

    path: str
    line: int
    message: str
    severity: str = "defaulted"

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


class Segment(NamedTuple):
    """A stretch `text[start:end]` of a memory file: an "entry" or "prose"."""

    kind: str
    start: int
    end: int


class Entry(NamedTuple):
    """One memory: an entry with front matter, or a section of prose (`written` is
    False).

    Values are the effective ones, dates YYYY-MM-DD or ""; `identified`: the id stands
    in the file;
    `touched`: a person edited the body since `mem` wrote it."""

    id: str
    type: str
    domain: str
    importance: float
    phase: str
    status: str
    reinforcement_count: int
    last_reinforced: str
    created_at: str
    kind: str
    priority: str
    title: str
    body: str
    line: int
    start: int
    end: int
    written: bool
    identified: bool
    date: str
    extra: Mapping[str, Any]
    touched: bool = False


class Edit(NamedTuple):
    """Replace `text[start:end]` of the original by `new`."""

    start: int
    end: int
    new: str


class Patch(NamedTuple):
    """The whole text of a file before and after; None is no file (only undo deletes
    one)."""

    path: str
    before: str | None
    after: str | None


JOBS_DIRS = (".teaparty/jobs", ".mem/jobs")
ARCHIVE = ".archive.md"


_ANOTHER = re.compile(
    r"\A(?:[gp]|r\d+):"
)  # home, Claude Code's own memory, below the root


def plain_id(key: str) -> str:
    """The id in the file, without the mark of another repository: no id begins so by
    itself."""
    return _ANOTHER.sub("", key, count=1)


class Place(NamedTuple):
    """`of` is the store that an archive keeps the leavings of; else it equals
    `store`."""

    level: str
    store: str
    job: str = ""
    task: str = ""
    of: str = "memory"

    def is_around(self, level: str, job: str, task: str) -> bool:
        """Whether readers of a level see what stands here: it is that or outside, of
        the same."""
        same = self.job in ("", job) and self.task in ("", task)
        return same and OUTERMOST[self.level] <= OUTERMOST[level]


def place(
    level: str, name: str, *, folder: str = "", job: str = "", task: str = ""
) -> Place:
    """The place of a file in one of the folders that are looked at."""
    stem = name.removesuffix(ARCHIVE).removesuffix(".md")
    of = "institutional" if stem == "institutional" and not folder else "memory"
    if folder == "proxy-tasks" or (stem == "proxy" and not folder):
        of = "proxy"
    return Place(
        level=level,
        store="archive" if name.endswith(ARCHIVE) else of,
        job=job,
        task=task,
        of=of,
    )


def domain_of(level: str) -> str:
    """The domain of a new entry at a level: what lies in a job or task passes with
    it."""
    return "task" if level in PASSING_LEVELS else "team"


def archive_of(path: str) -> str:
    """The archive beside a memory file: `tasks/c.md` -> `tasks/c.archive.md`."""
    return path.removesuffix(".md") + ARCHIVE


def source_of(path: str) -> str:
    """The memory file whose archive `path` is."""
    return path.removesuffix(ARCHIVE) + ".md"


def listed(entry: Entry, key: str) -> list[str]:
    """A list of the front matter as texts; one text is a list of one."""
    value = entry.extra.get(key) or ()
    return [
        str(item) for item in (value if isinstance(value, (list, tuple)) else (value,))
    ]


def sessions_of(entry: Entry) -> set[str]:
    """The sessions that an entry was learned in: `session_id`, and those named in
    `source`."""
    named = [name.partition("#")[0] for name in listed(entry, "source")]
    return {str(name) for name in (*named, entry.extra.get("session_id")) if name}
