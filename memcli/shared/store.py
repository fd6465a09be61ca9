"""Searching the shared index: the same questions that `store.Index` answers, asked of the server. SQL.

An entry is called `id@project` here, since a section of prose may have the same id in two projects.
Chunks have numbers that count from 1 and hold for one search; so do files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from memcli import bm25, vector
from memcli.levels import Place
from memcli.scope import Filters
from memcli.shared import schema
from memcli.shared.identity import blob_url
from memcli.shared.link import Link
from memcli.shared.tokens import WEIGHTS, Term, Tokenizer
from memcli.source import Candidate, FileRow
from memcli.words import SIZE, join

if TYPE_CHECKING:
    import psycopg

GATE = 20_000
"""How many chunks may meet the words that bring candidates; commoner words only add to scores."""
K1, B = 1.2, 0.75
"""The constants of BM25, as in FTS5."""

Key = tuple[UUID, int]


class Project(NamedTuple):
    """What a hit says of the project it comes from."""

    key: UUID
    name: str
    team: str
    remote: str
    path: str
    commit: str
    model: str
    dim: int
    chunks: int
    length: int


class SharedFile(NamedTuple):
    """A file of a project, with a number that holds for one search."""

    project: UUID
    row: FileRow


class Leader(NamedTuple):
    """A chunk that is scored: its length and where the words of the query stand in it."""

    length: int
    words: Mapping[str, tuple[str, str]]


class SharedIndex:
    """One search over the shared index. Raises MemError when the server cannot answer."""

    def __init__(
        self,
        link: Link,
        filters: Filters,
        names: Sequence[str],
        about: Callable[[str | None, str], bool],
    ) -> None:
        self.link = link
        self._about = about
        self._paths = json.dumps(filters.path)
        self.projects = self._projects()
        chosen = _named(self.projects.values(), names)
        self.filters = _as_json(filters, [str(p.key) for p in chosen] if names else None)
        counted = chosen if names else list(self.projects.values())
        self.total = sum(p.chunks for p in counted)
        self.mean_length = sum(p.length for p in counted) / self.total if self.total else 1.0
        self._only = [p.key for p in chosen] if names else None
        self.files: dict[int, FileRow] = {}
        self._file_of: dict[tuple[UUID, int], int] = {}
        self._project_of: dict[int, UUID] = {}
        self._numbers: dict[Key, int] = {}
        self._keys: dict[int, Key] = {}
        self._heads: dict[int, Key] = {}
        self._whole: dict[Key, str] = {}
        self._loaded: dict[int, Candidate] = {}
        self._counts: dict[str, int] = {}
        self.truncated = False

    def _ask(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.link.ask(lambda c: c.execute(statement, values).fetchall())

    def _projects(self) -> dict[UUID, Project]:
        def look(connection: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
            connection.execute(
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            )  # one state for all questions
            schema.require(schema.version(connection))
            connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
            connection.execute("SET LOCAL hnsw.ef_search = 300")
            return connection.execute(
                "SELECT project, name, team, remote, path, commit, model, dim, chunks, length"
                " FROM mem.projects"
            ).fetchall()

        return {row[0]: Project(*row) for row in self.link.ask(look)}

    # --- words

    def counts(self, words: Sequence[str]) -> list[int]:
        """In how many chunks each word stands; a phrase, in at most so many."""
        tokenizer = Tokenizer()
        try:
            terms = tokenizer.terms(words)
        finally:
            tokenizer.close()
        known = self._known(terms)
        found = {term.text: min((known.get(word, 0) for word in term.words), default=0) for term in terms}
        return [found.get(word, 0) for word in words]

    def idf(self, words: Sequence[str]) -> list[float]:
        """How rare each word is, as `store.Index.idf`."""
        return [bm25.idf(n, self.total) for n in self.counts(words)]

    def _known(self, terms: Iterable[Term]) -> dict[str, int]:
        """In how many chunks each word of these terms stands; that of an open one counts all it begins."""
        terms = list(terms)
        plain = {word for term in terms for word in term.words} - self._counts.keys()
        if plain:
            only = "" if self._only is None else " AND project = ANY (%s)"
            values = (sorted(plain), *(() if self._only is None else (self._only,)))
            rows = self._ask(
                f"SELECT term, sum(n) FROM mem.terms WHERE term = ANY (%s){only} GROUP BY term", values
            )
            self._counts |= dict.fromkeys(plain, 0) | {term: int(n) for term, n in rows}
        for head in {term.words[-1] for term in terms if term.open}:
            [(n,)] = self._ask(
                "SELECT coalesce(sum(n), 0) FROM mem.terms WHERE term >= %s AND term < %s",
                (head, head + "\U0010ffff"),
            )
            self._counts[head] = int(n)
        return self._counts

    def lexical(self, terms: Sequence[str], pool: int) -> dict[int, float]:
        """BM25 of the best-matching chunks, the same sum over terms as `store.Index.lexical`."""
        tokenizer = Tokenizer()
        try:
            asked = tokenizer.terms(list(dict.fromkeys(terms)))
        finally:
            tokenizer.close()
        known = self._known(asked)
        asked = [term for term in asked if all(known[word] for word in term.words)]
        if not asked:
            return {}
        bound = {term.text: min(known[word] for word in term.words) for term in asked}
        leaders = self._leaders(asked, bound)
        counted = sorted((self._count(term, bound, leaders), term) for term in asked)
        counted = [(n, term) for n, term in counted if n]
        every = sum(bm25.idf(n, self.total) for n, _ in counted)
        scores = {number: self._score(leader, counted, every) for number, leader in leaders.items()}
        return bm25.best({number: score for number, score in scores.items() if score > 0}, pool)

    def _leaders(self, asked: Sequence[Term], bound: Mapping[str, int]) -> dict[int, Leader]:
        rows = self._ask(
            "SELECT * FROM mem.lexical(%s::tsquery, %s::tsquery[], %s, %s, %s, %s, %s, %s, %s)",
            (
                gate(asked, bound, self.total), [term.query for term in asked],
                [bm25.idf(bound[term.text], self.total) for term in asked],
                sorted({word for term in asked for word in term.words}),
                sorted({term.words[-1] for term in asked if term.open}),
                GATE, bm25.SCORED, bm25.LEADERS, self.filters,
            ),
        )  # fmt: skip
        self.truncated = len(rows) >= bm25.LEADERS
        return {
            self._number((project, i)): Leader(
                length, dict(zip(words, zip(places, marks, strict=True), strict=True))
            )
            for project, i, length, paths, words, places, marks in sorted(rows, key=lambda row: row[:2])
            if self._fits(paths)
        }

    def _fits(self, paths: Any) -> bool:
        return self._paths == "[]" or self._about(json.dumps(paths) if paths else None, self._paths)

    def _count(self, term: Term, bound: Mapping[str, int], leaders: Mapping[int, Leader]) -> int:
        """In how many chunks a term stands; a phrase, in those that were looked at."""
        if len(term.words) == 1:
            return bound[term.text]
        return sum(bool(frequency(term, leader)) for leader in leaders.values())

    def _score(self, leader: Leader, counted: Sequence[tuple[int, Term]], every: float) -> float:
        score = covered = 0.0
        norm = K1 * (1 - B + B * leader.length / self.mean_length)
        for n, term in counted:
            often = frequency(term, leader)
            if often:
                idf = bm25.idf(n, self.total)
                score += idf * often * (K1 + 1) / (often + norm)
                covered += idf
        return bm25.covered(score, covered, every)

    # --- vectors

    def models(self) -> set[tuple[str, int]]:
        """(model, dimension) of the vectors in the projects that are searched."""
        keys = self._only if self._only is not None else list(self.projects)
        return {(self.projects[k].model, self.projects[k].dim) for k in keys if self.projects[k].model}

    def nearest(self, query: str, model: str, dim: int, most: int) -> list[int]:
        """The chunks whose vectors are nearest to a query, of one model."""
        rows = self._ask(
            "SELECT * FROM mem.nearest(%s, %s, %s, %s, %s)", (query, model, dim, most, self.filters)
        )
        return [self._number((project, i)) for project, i, paths in rows if self._fits(paths)]

    def cosines(self, numbers: Collection[int], query: str, model: str, dim: int) -> dict[int, float]:
        """The cosine of each of these chunks, as far as it has a vector of that model."""
        rows = self._ask(
            "SELECT c.project, c.id, -(c.vector <#> %s::halfvec) FROM mem.chunks c"
            " WHERE c.project = ANY (%s) AND c.id = ANY (%s) AND c.model = %s AND c.dim = %s",
            (query, *_columns(map(self._keys.__getitem__, numbers)), model, dim),
        )
        found = {(project, i): value / vector._FULL for project, i, value in rows}
        wanted = {self._keys[number]: number for number in numbers}
        return {number: found[key] for key, number in wanted.items() if key in found}

    def texts(self, numbers: Collection[int]) -> dict[int, tuple[str, str]]:
        """(title, text) of these chunks."""
        return {c.rowid: (c.title, c.text) for c in self.candidates(numbers)}

    # --- chunks

    def _number(self, key: Key) -> int:
        number = self._numbers.setdefault(key, len(self._numbers) + 1)
        self._keys[number] = key
        return number

    def candidates(self, rowids: Iterable[int]) -> list[Candidate]:
        """The chunks with these numbers."""
        wanted = list(dict.fromkeys(rowids))
        missing = [number for number in wanted if number not in self._loaded]
        if missing:
            self._load([self._keys[number] for number in missing])
        return [self._loaded[number] for number in wanted if number in self._loaded]

    def _load(self, keys: Sequence[Key]) -> list[Candidate]:
        wanted = set(keys)
        rows = self._ask(
            "SELECT c.project, c.id, c.file, c.head, c.entry, c.part, c.type, c.kind, c.date, c.title,"
            " c.text, c.metadata FROM mem.chunks c WHERE c.project = ANY (%s) AND c.id = ANY (%s)",
            _columns(keys),
        )
        rows = [row for row in rows if row[:2] in wanted]
        self._know_files({(row[0], row[2]) for row in rows})
        return [self._candidate(*row) for row in rows if (row[0], row[2]) in self._file_of]

    def _candidate(
        self, project: UUID, i: int, file: int, head: int, entry: str, part: int, type_: str, kind: str,
        date: str, title: str, text: str, values: dict[str, Any],
    ) -> Candidate:  # fmt: skip
        number, source = self._number((project, i)), self._file_of[project, file]
        self._heads[number] = (project, head)
        if "promoted_to" in values:
            values["promoted_to"] = [_name(str(other), project) for other in values["promoted_to"]]
        made = Candidate(
            number, source, _name(entry, project), part, head, 0, type_, kind, date, title, text, values
        )
        self._loaded[number] = made
        return made

    def _know_files(self, keys: Collection[tuple[UUID, int]]) -> None:
        new = [key for key in keys if key not in self._file_of]
        if not new:
            return
        rows = self._ask(
            "SELECT f.project, f.file, f.path, f.level, f.store, f.job, f.task, f.of FROM mem.files f"
            " WHERE f.project = ANY (%s) AND f.file = ANY (%s)",
            _columns(new),
        )
        for project, file, path, *place in rows:
            if (project, file) not in new:  # a file of the same path in another project
                continue
            source = self._file_of[project, file] = len(self._file_of) + 1
            self.files[source] = FileRow(source, path, Place(*place), "", 0, 0, "", 0, ())
            self._project_of[source] = project

    def places(self, entries: Collection[str]) -> list[tuple[int, int]]:
        """(chunk, file) of the first chunk of every place where these entries stand, if it passes."""
        named = {_split(entry) for entry in entries}
        rows = self._ask(
            "SELECT * FROM mem.standing(%s, %s, %s)",
            (list({key for _, key in named}), sorted({entry for entry, _ in named}), self.filters),
        )
        found = [self._number((project, i)) for project, i, entry in rows if (entry, project) in named]
        return [(c.rowid, c.source) for c in self.candidates(found)]

    def passes(self, candidate: Candidate) -> bool:
        """Always: the server gives none that does not."""
        return True

    def text(self, candidate: Candidate) -> str:
        """The whole indexed text of the entry that a chunk belongs to."""
        key = self._heads[candidate.rowid]
        if candidate.part == 0 and len(candidate.text) < SIZE:
            return candidate.text
        if key not in self._whole:
            rows = self._ask(
                "SELECT text FROM mem.chunks WHERE project = %s AND head = %s"
                " AND file = (SELECT file FROM mem.chunks WHERE project = %s AND id = %s) ORDER BY part",
                (*key, *key),
            )
            self._whole[key] = join([row[0] for row in rows]) if rows else candidate.text
        return self._whole[key]

    # --- places

    def beside(self, candidates: Sequence[Candidate]) -> list[Sequence[Sequence[str]]]:
        """For each, the entries up to two places before it in its file and those after it, nearest first."""
        keys = [self._heads[c.rowid] for c in candidates]
        at = "array_position(f.heads, c.id)"
        rows = self._ask(
            f"SELECT c.project, c.id, f.heads[greatest({at} - 2, 1) : {at} - 1],"
            f" f.heads[{at} + 1 : {at} + 2]"
            " FROM mem.chunks c JOIN mem.files f ON f.project = c.project AND f.file = c.file"
            f" WHERE c.project = ANY (%s) AND c.id = ANY (%s) AND {at} IS NOT NULL",
            _columns(keys),
        )
        around = {(project, i): (before[::-1], after) for project, i, before, after in rows}
        names = self._entries({(key[0], i) for key, sides in around.items() for side in sides for i in side})

        def named(key: Key) -> list[list[str]]:
            sides = around.get(key, ((), ()))
            return [[names[key[0], i] for i in side if (key[0], i) in names] for side in sides]

        return [named(key) for key in keys]

    def _entries(self, keys: Collection[Key]) -> dict[Key, str]:
        rows = self._ask(
            "SELECT c.project, c.id, c.entry FROM mem.chunks c"
            " WHERE c.project = ANY (%s) AND c.id = ANY (%s)",
            _columns(keys),
        )
        return {(project, i): _name(entry, project) for project, i, entry in rows}

    def edges(self, entries: Collection[str]) -> list[tuple[str, str, float]]:
        """None: what belongs together is not sent to the server."""
        return []

    def located(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The same, with the first body line of each known."""
        heads = {c.rowid: self._heads[c.rowid] for c in candidates}
        rows = self._ask(
            "SELECT c.project, c.id, f.lines[array_position(f.heads, c.id)]"
            " FROM mem.chunks c JOIN mem.files f ON f.project = c.project AND f.file = c.file"
            " WHERE c.project = ANY (%s) AND c.id = ANY (%s)",
            _columns(heads.values()),
        )
        known = {(project, i): line for project, i, line in rows}
        return [c._replace(line=known.get(heads[c.rowid]) or 1) for c in candidates]

    def origin(self, candidate: Candidate) -> tuple[str, str]:
        """(name of the project, where the line can be read as of the commit that was pushed)."""
        key, path = self._project_of[candidate.source], self.files[candidate.source].path
        project = self.projects[key]
        whole = path if project.path == "." else f"{project.path}/{path}"
        return project.name, blob_url(project.remote, project.commit, whole, candidate.line)


def _columns(keys: Iterable[Key]) -> tuple[list[UUID], list[int]]:
    """Keys as two lists to look up; what fits both but is none of them is for the caller to leave out.

    A join with a list of pairs is planned badly as long as the server has no statistics.
    """
    keys = list(keys)
    return list(dict.fromkeys(key[0] for key in keys)), [key[1] for key in keys]


def gate(asked: Sequence[Term], bound: Mapping[str, int], total: int) -> str:
    """The tsquery that brings candidates: any of the rarest terms, as long as not too many chunks have them.

    Where even the rarest is too common, several must stand together: as many as make it rare enough
    if they were independent.
    """
    single = [term for term in asked if len(term.words) == 1 or term.open] or list(asked)
    single.sort(key=lambda term: bound[term.text])
    chosen: list[Term] = []
    room = GATE
    for term in single:
        if bound[term.text] > room:
            break
        room -= bound[term.text]
        chosen.append(term)
    if chosen:
        return " | ".join(f"({term.query})" for term in chosen)
    expected = float(total)
    for term in single:
        chosen.append(term)
        expected *= bound[term.text] / total
        if expected <= GATE / 2:
            break
    return " & ".join(f"({term.query})" for term in chosen)


def frequency(term: Term, leader: Leader) -> float:
    """How often a term stands in a chunk, weighed by the columns it stands in."""
    if term.open:
        return sum(
            WEIGHTS[mark]
            for word, (_, marks) in leader.words.items()
            if word.startswith(term.words[-1])
            for mark in marks
        )
    if any(word not in leader.words for word in term.words):
        return 0.0
    places, marks = leader.words[term.words[0]]
    if len(term.words) == 1:
        return sum(WEIGHTS[mark] for mark in marks)
    rest = [frozenset(map(int, leader.words[word][0].split(","))) for word in term.words[1:]]
    return sum(
        WEIGHTS[mark]
        for place, mark in zip(map(int, places.split(",")), marks, strict=True)
        if all(place + step in own for step, own in enumerate(rest, 1))
    )


def _name(entry: str, project: UUID) -> str:
    return f"{entry}@{project.hex}"


def _split(name: str) -> tuple[str, UUID]:
    entry, _, project = name.rpartition("@")
    return entry, UUID(project)


def _named(projects: Iterable[Project], names: Sequence[str]) -> list[Project]:
    """The projects that are named: by name, by its last part, or by their key."""
    from memcli.errors import UsageError

    projects = list(projects)
    found: dict[UUID, Project] = {}
    for name in names:
        fit = [p for p in projects if name in (p.name, p.name.rpartition("/")[2], str(p.key))]
        if not fit:
            known = ", ".join(sorted(p.name for p in projects)[:8]) or "there is none that you may read"
            raise UsageError(f"--project {name}: not in the shared index", f"projects: {known}")
        found |= {p.key: p for p in fit}
    return list(found.values())


def _as_json(filters: Filters, projects: Sequence[str] | None) -> str:
    """The filters as the searches on the server take them."""
    stores = set(filters.store) or {"memory"}
    if filters.archived:
        stores.add("archive")
    given: dict[str, Any] = {
        "store": sorted(stores), "project": projects, "level": filters.level, "job": filters.job,
        "task": filters.task, "type": filters.type, "kind": filters.kind,
        "tag": [tag.lower() for tag in filters.tag], "path": bool(filters.path),
        "since": filters.since, "until": filters.until,
    }  # fmt: skip
    return json.dumps({key: value for key, value in given.items() if value or key == "store"})
