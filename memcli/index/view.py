"""What a search asks of a store, and which files and entries a command looks at."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from memcli.errors import MemError, UsageError
from memcli.index.lexical import Query
from memcli.memory.filters import Filters
from memcli.memory.values import LEVELS, OUTERMOST, Place, Problem
from memcli.named import NamedTuple
from memcli.project.context import View
from memcli.storage.files import ONE_OF

BULLETS = ("- ", "* ", "+ ", "• ")
AROUND = "\f"  # stands between the text of a passage and its sub-words


class FileRow(NamedTuple):
    """What a store knows of a file."""

    id: int
    path: str
    place: Place
    tree: str
    mtime: int
    size: int
    hash: str
    entries: int
    problems: tuple[Problem, ...]


class Placed(NamedTuple):
    """Of a place as the index keeps it: how many files are there, and entries in
    them."""

    text: str
    place: Place
    files: int
    entries: int


ReadFile = Callable[[int], FileRow | None]


class IndexedFiles(Mapping[int, FileRow]):
    """The indexed files of some of `every` place, by number, each read when it is asked
    for."""

    def __init__(
        self,
        db: sqlite3.Connection,
        file: ReadFile,
        every: list[Placed],
        shown: list[Placed],
    ) -> None:
        self.db = db
        self.file = file
        self.every = every
        self.shown = shown
        self._places = {placed.place for placed in shown}
        self._read = dict[int, FileRow | None]()

    def __getitem__(self, number: int) -> FileRow:
        if number not in self._read:
            row = self.file(number)
            self._read[number] = (
                row if row is not None and row.place in self._places else None
            )
        if (file_row := self._read[number]) is None:
            raise KeyError(number)
        return file_row

    def __iter__(self) -> Iterator[int]:
        texts = json.dumps([placed.text for placed in self.shown])
        select = f"SELECT id FROM file_meta WHERE place {ONE_OF}"
        return (row[0] for row in self.db.execute(select, (texts,)).fetchall())

    def __len__(self) -> int:
        return sum(placed.files for placed in self.shown)

    @property
    def entries(self) -> int:
        """How many entries and sections are in them."""
        return sum(placed.entries for placed in self.shown)

    def only(self, wanted: Callable[[Place], bool]) -> "IndexedFiles":
        """Those at some places."""
        kept = [placed for placed in self.shown if wanted(placed.place)]
        return IndexedFiles(self.db, self.file, self.every, kept)

    def of(self, *stores: str) -> "IndexedFiles":
        """Those of some stores."""
        return self.only(lambda place: place.store in stores)

    def hidden(self) -> "IndexedFiles":
        """All others."""
        left = [placed for placed in self.every if placed.place not in self._places]
        return IndexedFiles(self.db, self.file, self.every, left)


class Candidate(NamedTuple):
    """A chunk that may become a hit; `values` are the entry's metadata."""

    rowid: int
    source: int
    entry: str
    part: int
    offset: int
    line: int
    type: str
    kind: str
    date: str
    title: str
    text: str
    values: Mapping[str, Any]
    around: str = ""  # of a bullet, the words of those that it stands among


class Passage(NamedTuple):
    """A text, or a part of it: whether there is more ahead of it and behind, and how
    many lines are left out; the `project` and URL where it stands, "" for the project
    at hand."""

    text: str
    ahead: bool = False
    behind: bool = False
    lines: int = 0
    project: str = ""
    url: str = ""


class Signals(NamedTuple):
    """Scores by candidate, none scaled: `lexical` BM25; `cosine` of whole texts;
    `words` how well each word of the task is met."""

    lexical: Mapping[int, float]
    cosine: Mapping[int, float]
    words: Mapping[int, float] = {}


class Lane(NamedTuple):
    """What vectors say: the fusion in effect, the cosine that counts alone, and the
    signals."""

    mode: str
    floor: float
    signals: Signals


def words_alone(error: MemError) -> str:
    """What to say where vectors cannot be used."""
    return f"words alone were searched: {error.what}{error.advice}"


VectorLane = Callable[[str, Query, Mapping[int, float]], Lane | None]
"""(task, its words, their BM25) -> what vectors say of the chunks; None for words
alone."""


class Source(Protocol):
    """A store, seen through the filters of one search, for which its numbers hold."""

    @property
    def files(self) -> Mapping[int, FileRow]:
        """The files in view, by number."""

    def counts(self, words: Sequence[str]) -> list[int]:
        """In how many chunks each word stands."""

    def size(self) -> int:
        """How many chunks there are."""

    def lexical(self, terms: Sequence[str], pool: int) -> dict[int, float]:
        """BM25 of the best-matching chunks that pass, and of all that tie with the last
        of them."""

    def candidates(self, rowids: Iterable[int]) -> list[Candidate]:
        """The chunks with these numbers."""

    def places(self, entries: Collection[str]) -> list[tuple[int, int]]:
        """(chunk, file) of the first chunk of every place in view where these entries
        stand."""

    def passes(self, candidate: Candidate) -> bool:
        """Whether a chunk passes the filters."""

    def beside(self, candidates: Sequence[Candidate]) -> list[Sequence[Sequence[str]]]:
        """For each, the two entries before it in its file and the two after, nearest
        first."""

    def edges(self, entries: Collection[str]) -> list[tuple[str, str, float]]:
        """(entry, other, weight) of every edge by which others belong to these
        entries."""

    def passage(self, candidate: Candidate) -> Passage:
        """The indexed text of the entry that a chunk belongs to, of a long one so much
        about the chunk."""

    def gone(
        self, entries: Collection[str], *, shown: bool = False
    ) -> Mapping[str, str]:
        """In words, what each of these entries names that the code has no more; with
        `shown`, or else a bullet that is shown with it."""


About = Callable[[str | None, str], bool]
"""Does one of an entry's globs (a JSON list) match one of these files (another)?"""


class Scope(NamedTuple):
    """The files in view, by number, and filters; `plain`: none is by values of
    entries."""

    files: IndexedFiles
    filters: Filters
    plain: bool
    about: About


class _AtPlace(Protocol):
    @property
    def place(self) -> Place: ...


F = TypeVar("F", bound=_AtPlace)


def visible(files: Iterable[F], view: View, filters: Filters) -> list[F]:
    """The files in view of a working directory that pass the filters on files."""
    files = list(files)
    inside = [row for row in files if not filters.job or row.place.job in filters.job]
    _require_known("job", filters.job, {row.place.job for row in files})
    _require_known("task", filters.task, {row.place.task for row in inside})
    jobs, tasks = _chosen(files, view, filters)

    def seen(place: Place) -> bool:
        if place.level in ("global", "project"):
            return not (place.level == "global" and filters.no_global)
        return (not jobs or place.job in jobs) and (
            place.level == "job" or not tasks or place.task in tasks
        )

    levels = filters.level or LEVELS
    return [row for row in files if seen(row.place) and row.place.level in levels]


def _require_known(what: str, names: Iterable[str], known: set[str]) -> None:
    """Raises UsageError for a job or task that no memory file has."""
    for name in names:
        if name not in known:
            listed = ", ".join(sorted(known - {""})) or "there is none here"
            why = f"--{what} {name}: no such {what} with memory files"
            raise UsageError(why, f"{what}s: {listed}")


def _chosen(
    files: Sequence[Any], view: View, filters: Filters
) -> tuple[set[str], set[str]]:
    here = {view.job} if view.inside else set()
    if filters.job:
        return set(filters.job), set(filters.task)
    if filters.task:
        jobs = {row.place.job for row in files if row.place.task in filters.task}
        return jobs & here or jobs, set(filters.task)
    return here, {view.task} if view.task else set()


def select(
    files: IndexedFiles,
    filters: Filters,
    relative: Callable[[str], str] = lambda path: path,
) -> Scope:
    """The scope of a search over files in view; `relative` as in `path_matcher`."""
    stores = set(filters.store) or {"memory"}
    stores |= {
        name
        for name, on in (("proxy", filters.proxy), ("archive", filters.archived))
        if on
    }

    def wanted(place: Place) -> bool:
        private = place.store == "archive" and place.of == "proxy"
        return place.store in stores and not (private and "proxy" not in stores)

    plain = stores == {"memory"} and not filters.by_entry
    return Scope(
        files=files.only(wanted),
        filters=filters,
        plain=plain,
        about=path_matcher(relative),
    )


def path_matcher(relative: Callable[[str], str]) -> About:
    """The test of a filter by path; `relative` makes a path relative to the root."""
    from memcli.project.globs import covers  # few searches have one

    def about_path(globs: str | None, paths: str) -> bool:
        patterns = json.loads(globs or "[]")
        return any(covers(patterns, relative(path)) for path in json.loads(paths))

    return about_path


def nearest(
    copies: Sequence[Candidate], files: Mapping[int, FileRow], view: View
) -> Candidate:
    """The copy whose file is nearest to the working directory: the levels one is in,
    inside out. Of copies at one level, as a merge may leave them, what was retired
    stays so."""

    def distance(copy: Candidate) -> tuple[Any, ...]:
        path = files[copy.source].path
        place = files[copy.source].place
        depth = OUTERMOST[place.level]
        around = place.job in ("", view.job) and place.task in ("", view.task)
        elsewhere = "/worktree/" not in path  # a task is written to in its worktree
        kept = place.store == "archive"
        return (
            not around,
            -depth if around else depth,
            kept,
            copy.values.get("status") != "retired",
            elsewhere,
            path,
            copy.offset,
        )

    return min(copies, key=distance)
