"""The values that travel between modules: frozen, without behaviour of their own."""

import re
import typing
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
    """specification planning design implementation review maintenance unknown""".split()
)
HOME = "global"  # the level of the home folder
LEVEL_WEIGHTS = {HOME: 1.0, "project": 1.2, "job": 1.2, "task": 1.5}
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


# Of an index each entry is made by name: `typing` has a class do so five times as fast.
class Segment(typing.NamedTuple):
    """A stretch `text[start:end]` of a memory file: an "entry" or "prose", which may be
    front matter that cannot be read (`damaged`)."""

    kind: str
    start: int
    end: int
    damaged: bool = False


class Entry(typing.NamedTuple):
    """One memory: an entry with front matter, or a section of prose (`written` is
    False).

    Values are the effective ones, dates YYYY-MM-DD or ""; `identified`: the id stands
    in the file; `touched`: a person edited the body since `mem` wrote it; `shared_id`:
    the id in the file, where an entry above has it and says something else."""

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
    shared_id: str = ""

    @property
    def stated_id(self) -> str:
        """The id that stands in the file; "" for none."""
        return self.id if self.identified else self.shared_id

    @property
    def is_live(self) -> bool:
        """Whether it was not retired."""
        return self.status != "retired"

    @property
    def is_episode(self) -> bool:
        """Whether it tells of a stretch of a session."""
        return self.kind == "episode"


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
# Before an id: from the home folder, Claude Code's own memory, a root below this one.
_MARK_OF_ANOTHER = re.compile(r"\A(?:[gp]|r\d+):")


def plain_id(key: str) -> str:
    """The id in the file, without the mark of another repository; no id begins with
    such a mark by itself."""
    return _MARK_OF_ANOTHER.sub("", key, count=1)


class Place(NamedTuple):
    """Where a memory file belongs; `of` is the store whose leavings an archive keeps,
    else the same as `store`."""

    level: str
    store: str
    job: str = ""
    task: str = ""
    of: str = "memory"

    def is_around(self, level: str, job: str, task: str) -> bool:
        """Whether readers at a level see what stands here: on that level or further
        out, and of no other job or task."""
        is_same = self.job in ("", job) and self.task in ("", task)
        return is_same and OUTERMOST[self.level] <= OUTERMOST[level]


def place(
    level: str, name: str, *, folder: str = "", job: str = "", task: str = ""
) -> Place:
    """The place of a file in one of the folders that are looked at."""
    stem = name.removesuffix(ARCHIVE).removesuffix(".md")
    store = "memory"
    if folder == "proxy-tasks":
        store = "proxy"
    elif not folder and stem in ("institutional", "proxy"):
        store = stem
    return Place(
        level=level,
        store="archive" if name.endswith(ARCHIVE) else store,
        job=job,
        task=task,
        of=store,
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
    items = value if isinstance(value, (list, tuple)) else (value,)
    return [str(item) for item in items]


def sessions_of(entry: Entry) -> set[str]:
    """The sessions that an entry was learned in: `session_id`, and those named in
    `source`."""
    names = {name.partition("#")[0] for name in listed(entry, "source")}
    names.add(str(entry.extra.get("session_id") or ""))
    return names - {""}
