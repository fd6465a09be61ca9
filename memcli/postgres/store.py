"""Searching the shared index: the questions that the local one answers, asked of the
server. SQL.

An entry is called `id@project` here; chunks and files have numbers that hold for one
search."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from memcli.errors import UsageError
from memcli.index import lexical as bm25
from memcli.index.lexical import EITHER
from memcli.index.view import About, Candidate, FileRow, Filters
from memcli.memory.values import Place
from memcli.memory.words import SIZE, join
from memcli.postgres import link
from memcli.postgres.link import Link, statement
from memcli.postgres.tokens import Leader, Term, Tokenizer, frequency, gate
from memcli.providers import embed as arithmetic

if TYPE_CHECKING:
    import psycopg

MET = 20_000  # of so many that meet the words the best are taken
# the constants of BM25, as in FTS5
K1 = 1.2
B = 0.75

Key = tuple[str, int]  # (project, chunk or file)
_PAGE = r"(?:https?://|ssh://(?:[^@/]*@)?|(?:[\w.-]+@))([\w.-]+(?::\d+)?)[:/](.+?)(?:\.git)?/?$"
_PLACES = {
    "bitbucket": "src",
    "gitlab": "-/blob",
    "gitea": "src/commit",
    "codeberg": "src/commit",
}


class SharedIndex:
    """One search over the shared index. Raises MemError when the server cannot
    answer."""

    def __init__(
        self, server: Link, filters: Filters, names: Sequence[str], about: About
    ) -> None:
        self.link = server
        self._about = about
        self._paths = json.dumps(filters.path)
        self._vector, projects = self.link.ask(_opened)
        self.projects = {row[0]: SharedProject(*row) for row in projects}
        chosen = named(self.projects.values(), names)
        self.filters = as_json(filters, [p.key for p in chosen] if names else None)
        counted = chosen if names else list(self.projects.values())
        self.total = sum(p.chunks for p in counted)
        self.mean_length = (
            sum(p.length for p in counted) / self.total if self.total else 1.0
        )
        self._only = [p.key for p in chosen] if names else None
        self.files: dict[int, FileRow] = {}
        self._file_of, self._project_of = dict[Key, int](), dict[int, str]()
        self._numbers, self._keys = dict[Key, int](), dict[int, Key]()
        self._heads, self._whole = dict[int, Key](), dict[Key, str]()
        self._loaded, self._counts = dict[int, Candidate](), dict[str, int]()

    def _ask(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.link.ask(lambda c: c.execute(statement, values).fetchall())

    def size(self) -> int:
        return self.total

    def counts(self, words: Sequence[str]) -> list[int]:
        with closing(Tokenizer()) as tokenizer:
            terms = tokenizer.terms(EITHER.join(words).split(EITHER))
        self._learn(terms)
        found = {
            term.text: min(map(self._counts.__getitem__, term.words)) for term in terms
        }
        return [
            max(found.get(each, 0) for each in word.split(EITHER)) for word in words
        ]

    def idf(self, words: Sequence[str]) -> list[float]:
        """How rare each word is: see `bm25.idf`."""
        return [bm25.idf(n, self.total) for n in self.counts(words)]

    def _learn(self, terms: Sequence[Term]) -> None:
        plain = {word for term in terms for word in term.words} - self._counts.keys()
        if plain:
            asked = "SELECT * FROM mem.counts(%s, %s::uuid[])"
            rows = self._ask(asked, (sorted(plain), self._only))
            self._counts |= dict.fromkeys(plain, 0) | dict(rows)
        for head in {term.words[-1] for term in terms if term.open}:
            values = (head, head + "\U0010ffff", self._only, self._only)
            [(n,)] = self._ask(statement("prefix"), values)
            self._counts[head] = int(n)

    def lexical(self, terms: Sequence[str], pool: int) -> dict[int, float]:
        with closing(Tokenizer()) as tokenizer:
            asked = tokenizer.terms(
                list(dict.fromkeys(EITHER.join(terms).split(EITHER)))
            )
        self._learn(asked)
        bound = {
            term.text: min(map(self._counts.__getitem__, term.words)) for term in asked
        }
        asked = [term for term in asked if bound[term.text]]
        if not asked:
            return {}
        leaders = self._leaders(asked, bound)
        for term in (term for term in asked if len(term.words) > 1):
            bound[term.text] = sum(
                bool(frequency(term, each)) for each in leaders.values()
            )
        counted = sorted((bound[term.text], term) for term in asked)
        rare = [(bm25.idf(n, self.total), term) for n, term in counted if n]
        every = sum(idf for idf, _ in rare)
        scores = {
            number: self._score(leader, rare, every)
            for number, leader in leaders.items()
        }
        return bm25.top(
            {number: score for number, score in scores.items() if score > 0}, pool
        )

    def _leaders(
        self, asked: Sequence[Term], bound: Mapping[str, int]
    ) -> dict[int, Leader]:
        most = bm25.SCORED if self.total <= bm25.SCORED else bm25.LEADERS
        rows = self._ask(
            statement("lexical"),
            (
                gate(asked, bound, self.total), [term.query for term in asked],
                [bm25.idf(bound[term.text], self.total) for term in asked],
                sorted({word for term in asked for word in term.words}),
                sorted({term.words[-1] for term in asked if term.open}),
                MET, most, bm25.LEADERS, self.filters,
            ),
        )  # fmt: skip
        return {
            self._number((project, i)): Leader(
                length, dict(zip(words, zip(places, marks, strict=True), strict=True))
            )
            for project, i, length, paths, words, places, marks in rows
            if self._fits(paths)
        }

    def _fits(self, paths: Any) -> bool:
        return self._paths == "[]" or self._about(
            json.dumps(paths) if paths else None, self._paths
        )

    def _score(
        self, leader: Leader, rare: Sequence[tuple[float, Term]], every: float
    ) -> float:
        score = covered = 0.0
        norm = K1 * (1 - B + B * leader.length / self.mean_length)
        for idf, term in rare:
            often = frequency(term, leader)
            if often:
                score += idf * often * (K1 + 1) / (often + norm)
                covered += idf
        return bm25.discounted(score, covered, every)

    def models(self) -> set[tuple[str, int]]:
        """(model, dimension) of the vectors in the projects that are searched."""
        own = [
            p
            for p in self.projects.values()
            if self._only is None or p.key in self._only
        ]
        return {(p.model, p.dim) for p in own if p.model}

    def nearest(self, query: str, model: str, dim: int, most: int) -> list[int]:
        """The chunks whose vectors are nearest to a query, of one model."""
        rows = self._ask(
            "SELECT project::text, id, paths FROM mem.nearest(%s, %s, %s, %s, %s)",
            (query, model, dim, most, self.filters),
        )
        return [
            self._number((project, i))
            for project, i, paths in rows
            if self._fits(paths)
        ]

    def cosines(
        self, numbers: Collection[int], query: str, model: str, dim: int
    ) -> dict[int, float]:
        """The cosines of these chunks, as far as they have vectors of that model."""
        product = (
            "CASE WHEN c.model = %s AND c.dim = %s THEN"
            f" -(c.vector OPERATOR({self._vector}.<#>) %s::{self._vector}.halfvec) END"
        )
        found = self._load(
            map(self._keys.__getitem__, numbers), product, (model, dim, query)
        )
        return {
            i: value / arithmetic.FULL
            for i, value in found.items()
            if value is not None
        }

    def _number(self, key: Key) -> int:
        number = self._numbers.setdefault(key, len(self._numbers) + 1)
        self._keys[number] = key
        return number

    def candidates(self, rowids: Iterable[int]) -> list[Candidate]:
        wanted = list(dict.fromkeys(rowids))
        missing = [number for number in wanted if number not in self._loaded]
        if missing:
            self._load([self._keys[number] for number in missing])
        return [self._loaded[number] for number in wanted if number in self._loaded]

    def _load(
        self, keys: Iterable[Key], value: str = "NULL", values: Sequence[Any] = ()
    ) -> dict[int, float | None]:
        asked = statement("candidates").replace("<value>", value)
        rows = self._ask(asked, (*values, *_columns(keys)))
        return {self._candidate(*row[1:]): row[0] for row in rows}

    def _candidate(
        self, project: str, i: int, file: int, head: int, entry: str, part: int, type_: str,
        kind: str, date: str, title: str, text: str, values: dict[str, Any], path: str, *place: str,
    ) -> int:  # fmt: skip
        number = self._number((project, i))
        key = (project, file)
        source = self._file_of.setdefault(key, len(self._file_of) + 1)
        if source not in self.files:
            self.files[source] = FileRow(
                id=source,
                path=path,
                place=Place(*place),
                tree="",
                mtime=0,
                size=0,
                hash="",
                entries=0,
                problems=(),
            )
            self._project_of[source] = project
        self._heads[number] = (project, head)
        if "promoted_to" in values:
            values["promoted_to"] = [
                f"{other}@{project}" for other in values["promoted_to"]
            ]
        self._loaded[number] = Candidate(
            rowid=number, source=source, entry=f"{entry}@{project}", part=part, offset=head, line=0, type=type_, kind=kind, date=date, title=title, text=text,
            values=values,
        )  # fmt: skip
        return number

    def places(self, entries: Collection[str]) -> list[tuple[int, int]]:
        named = [entry.rpartition("@") for entry in entries]
        projects = [project for *_, project in named]
        names = [entry for entry, *_ in named]
        asked = "SELECT project::text, id FROM mem.standing(%s::uuid[], %s, %s)"
        rows = self._ask(asked, (projects, names, self.filters))
        return [
            (c.rowid, c.source)
            for c in self.candidates([self._number(key) for key in rows])
        ]

    def passes(self, candidate: Candidate) -> bool:
        return True

    def text(self, candidate: Candidate) -> str:
        key = self._heads[candidate.rowid]
        if candidate.part == 0 and len(candidate.text) < SIZE:
            return candidate.text
        if key not in self._whole:
            rows = self._ask(statement("whole"), (*key, *key))
            self._whole[key] = (
                join([row[0] for row in rows]) if rows else candidate.text
            )
        return self._whole[key]

    def beside(self, candidates: Sequence[Candidate]) -> list[Sequence[Sequence[str]]]:
        keys = [self._heads[c.rowid] for c in candidates]
        around: dict[Key, dict[int, str]] = {}
        for project, i, apart, entry in self._ask(statement("beside"), _columns(keys)):
            around.setdefault((project, i), {})[apart] = f"{entry}@{project}"
        return [
            [
                [own[step] for step in steps if step in own]
                for steps in ((-1, -2), (1, 2))
            ]
            for own in (around.get(key, {}) for key in keys)
        ]

    def edges(self, entries: Collection[str]) -> list[tuple[str, str, float]]:
        return []

    def located(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        heads = {c.rowid: self._heads[c.rowid] for c in candidates}
        rows = self._ask(statement("lines"), _columns(heads.values()))
        known = {(project, i): line for project, i, line in rows}
        return [c._replace(line=known.get(heads[c.rowid]) or 1) for c in candidates]

    def gone(self, entries: Collection[str]) -> Mapping[str, str]:
        return {}

    def origin(self, candidate: Candidate) -> tuple[str, str]:
        key = self._project_of[candidate.source]
        path = self.files[candidate.source].path
        project = self.projects[key]
        whole = path if project.path == "." else f"{project.path}/{path}"
        return project.name, blob_url(
            project.remote, project.commit, whole, candidate.line
        )


def _columns(keys: Iterable[Key]) -> tuple[list[str], list[int]]:
    keys = list(dict.fromkeys(keys))
    return [key[0] for key in keys], [key[1] for key in keys]


def _opened(
    connection: "psycopg.Connection[Any]",
) -> tuple[str, list[tuple[Any, ...]]]:
    """The schema of pgvector, and the projects."""
    from psycopg import errors

    try:
        cursor = connection.execute(statement("opening"))
    except (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName):
        connection.execute("ROLLBACK")
        link.require(link.version(connection))
        raise
    while cursor.description is None:
        cursor.nextset()
    row = cursor.fetchone()
    link.require(int(row[0]) if row else 0)
    cursor.nextset()
    return row[1] if row else "", cursor.fetchall()


def blob_url(remote: str, commit: str, path: str, line: int) -> str:
    """Where a file can be read at a commit: a page of the remote, else
    `path@commit`."""
    found = re.match(_PAGE, remote)
    if not found or remote.startswith("file:"):
        return f"{path}@{commit[:12]}"
    host = found[1].split(":")[0] if remote.startswith("ssh://") else found[1]
    scheme = "http" if remote.startswith("http://") else "https"
    middle = next((place for word, place in _PLACES.items() if word in host), "blob")
    mark = f"lines-{line}" if "bitbucket" in host else f"L{line}"
    return f"{scheme}://{host}/{quote(found[2])}/{middle}/{commit}/{quote(path)}#{mark}"


class SharedProject(NamedTuple):
    """What a hit says of the project it comes from."""

    key: str
    name: str
    team: str
    remote: str
    path: str
    commit: str
    model: str
    dim: int
    chunks: int
    length: int


def named(
    projects: Iterable[SharedProject], names: Sequence[str]
) -> list[SharedProject]:
    """The projects that are named: by name, by its last part, or by their key."""
    projects = list(projects)
    found: dict[str, SharedProject] = {}
    for name in names:
        fit = {
            p.key: p
            for p in projects
            if name in (p.name, p.name.rpartition("/")[2], p.key)
        }
        if not fit:
            known = ", ".join(sorted(p.name for p in projects)[:8])
            hint = f"projects: {known or 'there is none that you may read'}"
            raise UsageError(f"--project {name}: not in the shared index", hint)
        found |= fit
    return list(found.values())


def as_json(filters: Filters, projects: Sequence[str] | None) -> str:
    """The filters as the searches on the server take them."""
    stores = {
        *(filters.store or ("memory",)),
        *(("archive",) if filters.archived else ()),
    }
    given: dict[str, Any] = {
        "project": projects, "level": filters.level, "job": filters.job, "task": filters.task,
        "type": filters.type, "kind": filters.kind, "tag": [tag.lower() for tag in filters.tag],
        "scope": filters.scope, "path": bool(filters.path),
        "since": filters.since, "until": filters.until,
    }  # fmt: skip
    kept = {key: value for key, value in given.items() if value}
    return json.dumps({"store": sorted(stores), **kept})
