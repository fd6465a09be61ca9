"""The shared index as the source of a search: the server finds candidates by full text
and by pgvector, and the ranking of the local index does the rest.

Candidates become rows of an index in memory, where an entry is called `id@project`. The
server also says in how many chunks a word occurs, which depends on the whole index."""

import json
import sqlite3
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from memcli.errors import ProviderError, UsageError
from memcli.index import refresh, vector_lane
from memcli.index.database import IN_MEMORY, Index
from memcli.index.embedding import learn
from memcli.index.fulltext import ALL, Lexical, idf
from memcli.index.lexical import Query
from memcli.index.passages import passage
from memcli.index.vectors import VectorState
from memcli.index.view import (
    About,
    Candidate,
    FileRow,
    Lane,
    Passage,
    Signals,
    words_alone,
)
from memcli.memory.arithmetic import DIM, signs
from memcli.memory.filters import Filters
from memcli.memory.values import Place
from memcli.postgres import link
from memcli.postgres.brought import (
    Brought,
    as_rows,
    checked_values,
    content_words,
    is_sound,
    literal,
    quantised,
)
from memcli.postgres.link import Link
from memcli.postgres.projects import SharedProject, blob_url, named
from memcli.postgres.words import as_query, gate
from memcli.project.config import Config
from memcli.providers.embed import name_of
from memcli.storage.files import transaction

if TYPE_CHECKING:
    import psycopg

    from memcli.providers.embed import Embedder
    from memcli.providers.embed.local import Local

COUNTED = 20_000  # no word counts as occurring in more chunks
LOOKED_AT = 5000  # the server weighs so many of the chunks that have the words
BROUGHT = 2  # entries fetched for each that the local ranking keeps
NEIGHBOURS = 2  # how many entries on each side count as beside an entry

_OPENING = """
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL jit = off;
SET LOCAL hnsw.iterative_scan = relaxed_order;
SET LOCAL hnsw.ef_search = 300;
SELECT version FROM mem.version;
SELECT project::text, name, remote, path, commit, model, dim, chunks FROM mem.projects;
"""
_CHUNKS = """
WITH asked AS MATERIALIZED (
    SELECT array_agg(project) AS projects, array_agg(entry) AS entries FROM {search}
)
SELECT c.project::text, c.id, c.entry, c.part, c.type, c.kind, c.date, c.title, c.text,
    c.tags, c.parts, c.around, c.metadata, c.model, c.dim, c.vector::text,
    p.place, f.lines[p.place], f.path, f.level, f.store, f.job, f.task, f.of
FROM asked CROSS JOIN mem.standing(asked.projects, asked.entries, %(filters)s) c
JOIN mem.files f ON f.project = c.project AND f.file = c.file
CROSS JOIN LATERAL (SELECT array_position(f.heads, c.head)) p(place)
ORDER BY c.project, f.path, p.place, c.part
"""
_BY_WORDS = """mem.lexical(
    %(gate)s, %(terms)s, %(rarity)s, %(looked_at)s, %(most)s, %(filters)s
)"""
_BY_VECTOR = "mem.nearest(%(near)s, %(model)s, %(dim)s, %(most)s, %(filters)s)"


class SharedIndex:
    """One search over the shared index (a `view.Source`). Raises MemError when the
    server cannot answer."""

    def __init__(
        self, server: Link, filters: Filters, names: Sequence[str], about: About
    ) -> None:
        self.link = server
        projects = [SharedProject._make(row) for row in server.ask(_opened)]
        self.projects = {project.key: project for project in projects}
        self.searched = named(projects, names) if names else projects
        self._about = about
        self._paths = json.dumps(filters.path)
        only = [project.key for project in self.searched] if names else None
        self._filters = as_json(filters, only)
        self._counts = dict[str, int]()
        self._index = _Candidates(self)
        self._loaded = set[tuple[str, int]]()
        self._unembedded = dict[int, Brought]()
        self._file_numbers = dict[tuple[str, str], int]()
        self._project_of = dict[int, str]()
        self.files = dict[int, FileRow]()
        self.candidates = self._index.entries.candidates
        self.places = self._index.entries.places
        self.edges = self._index.entries.edges

    def close(self) -> None:
        """Let go of the candidates."""
        self._index.close()

    def _ask(self, statement: str, **values: object) -> list[tuple[Any, ...]]:
        return self.link.ask(
            lambda connection: connection.execute(statement, values).fetchall()
        )

    # Counts over all projects that are searched

    def size(self) -> int:
        return sum(project.chunks for project in self.searched)

    def counts(self, words: Sequence[str]) -> list[int]:
        queries = [as_query(word) for word in words]
        unknown = list(set(queries) - self._counts.keys())
        if unknown:
            [(counts,)] = self._ask(
                "SELECT mem.counts(%(terms)s, %(most)s, %(filters)s)",
                terms=unknown,
                most=COUNTED,
                filters=self._filters,
            )
            self._counts |= dict(zip(unknown, counts, strict=True))
        return [self._counts[query] for query in queries]

    # What the server finds

    def lexical(self, terms: Sequence[str], pool: int) -> dict[int, float]:
        counts = zip(terms, self.counts(terms), strict=True)
        standing = {as_query(term): count for term, count in counts if count}
        if not standing:
            return {}
        self._bring(
            _BY_WORDS,
            gate=gate(standing, LOOKED_AT),
            terms=list(standing),
            rarity=[idf(count, self.size()) for count in standing.values()],
            looked_at=LOOKED_AT,
            most=BROUGHT * pool,
        )
        return self._index.words.best(terms, pool=pool)

    def lane(
        self, config: Config, embedder: "Embedder", task: str, asked: Query,
        lexical: Mapping[int, float],
    ) -> Lane:  # fmt: skip
        """The signals of the vectors of this embedder. Raises UsageError if there are
        no such vectors."""
        model = name_of(embedder)
        self._require(model)
        vectors = self._index.vectors
        vectors.keep(VectorState(embedder.provider, embedder.model, "", whole=True))
        if embedder.provider == "local":
            self._embed(embedder, DIM)
        floor = vector_lane.floor(config.min_cosine, self.size())
        fusion = vector_lane.fusion(config.fusion, embedder.provider)
        rarity = self._index.words.idf
        meaning = vector_lane.understand(vectors, rarity, embedder, task, asked)
        if not meaning.vector:
            return Lane(fusion, floor, Signals(lexical, {}))
        self._require(model, len(meaning.vector))
        self._bring(
            _BY_VECTOR,
            near=literal(meaning.vector),
            model=model,
            dim=len(meaning.vector),
            most=vector_lane.NEAREST,
        )
        self._embed(embedder, len(meaning.vector))
        signals = vector_lane.lane(
            self._index, embedder, meaning, lexical, floor / 2, ALL
        )
        return Lane(fusion, floor, signals)

    def _require(self, model: str, dimension: int = 0) -> None:
        dims = {project.dim for project in self.searched if project.model == model}
        models = sorted({project.model for project in self.searched if project.model})
        if not models:
            raise UsageError("the shared index has no vectors", "")
        if not dims:
            raise UsageError(f"its vectors are of {', '.join(models)}", "")
        if dimension and dimension not in dims:
            message = (
                f"its vectors of {model} have {min(dims)} dimensions, here {dimension}"
            )
            raise UsageError(message, f"set embed_dimensions = {min(dims)}")

    # What it becomes here

    def _bring(self, search: str, **values: object) -> None:
        """Load the chunks of the entries that a search finds into the index in
        memory."""
        statement = _CHUNKS.format(search=search)
        rows = self._ask(statement, filters=self._filters, **values)
        chunks = []
        for chunk in map(Brought._make, rows):
            key = (chunk.project, chunk.id)
            if key in self._loaded or not is_sound(chunk):
                continue
            self._loaded.add(key)
            checked = chunk._replace(metadata=checked_values(chunk.metadata))
            if self._is_asked_for(checked):
                chunks.append(checked)
        files = [self._file(chunk) for chunk in chunks]
        placed = list(zip(files, as_rows(chunks), strict=True))
        with transaction(self._index.db):
            numbers = refresh.put(self._index.db, placed)
        self._unembedded |= dict(zip(numbers, chunks, strict=True))

    def _is_asked_for(self, chunk: Brought) -> bool:
        if self._paths == "[]":
            return True
        globs = chunk.metadata.get("paths")
        return self._about(json.dumps(globs) if globs else None, self._paths)

    def _file(self, chunk: Brought) -> int:
        key = (chunk.project, chunk.path)
        number = self._file_numbers.setdefault(key, len(self._file_numbers) + 1)
        self._project_of[number] = chunk.project
        self.files[number] = FileRow(
            id=number,
            path=chunk.path,
            place=Place(**{name: getattr(chunk, name) for name in Place._fields}),
            tree="",
            mtime=0,
            size=0,
            hash="",
            entries=0,
            problems=(),
        )
        return number

    def _embed(self, embedder: "Embedder", dimension: int) -> None:
        """Give new chunks the vectors that came with them, if these have this
        dimension, and with the local embedder their words."""
        model = name_of(embedder)
        brought = {
            number: chunk
            for number, chunk in self._unembedded.items()
            if chunk.vector and chunk.model == model
        }
        self._unembedded.clear()
        vectors = self._index.vectors
        words = {}
        if embedder.provider == "local":
            words = {number: content_words(chunk) for number, chunk in brought.items()}
            learn(vectors, cast("Local", embedder), set(chain(*words.values())))
        word_vectors = vectors.words(set(chain(*words.values())))
        rows = []
        for number, chunk in brought.items():
            vector = quantised(chunk.vector or "")
            if len(vector) == dimension:
                ids = array(
                    "I", [word_vectors[word][0] for word in words.get(number, ())]
                )
                rows.append((number, vector, ids.tobytes()))
        insert = "INSERT INTO vectors (chunk, vector, words) VALUES (?, ?, ?)"
        with transaction(self._index.db):
            self._index.db.executemany(insert, rows)
            vectors.mark({number: signs(vector) for number, vector, _ in rows})

    # What else a search asks of its source

    def passes(self, candidate: Candidate) -> bool:
        return True

    def passage(self, candidate: Candidate) -> Passage:
        project = self.projects[self._project_of[candidate.source]]
        path = self.files[candidate.source].path
        whole = path if project.path == "." else f"{project.path}/{path}"
        url = blob_url(project.remote, project.commit, whole, candidate.line)
        part = passage(self._index.entries, candidate)
        return part._replace(project=project.name, url=url)

    def beside(self, candidates: Sequence[Candidate]) -> list[Sequence[Sequence[str]]]:
        select = (
            "SELECT offset, entry FROM chunks WHERE source = ? AND part = 0"
            " AND abs(offset - ?) <= ?"
        )
        sides = list[Sequence[Sequence[str]]]()
        steps = range(1, NEIGHBOURS + 1)
        for candidate in candidates:
            place = candidate.offset
            asked = (candidate.source, place, NEIGHBOURS)
            near = dict(self._index.db.execute(select, asked).fetchall())
            before = [near.get(place - step, "") for step in steps]
            after = [near.get(place + step, "") for step in steps]
            sides.append((before, after))
        return sides

    def gone(
        self, entries: Collection[str], *, shown: bool = False
    ) -> Mapping[str, str]:
        return {}


class _Candidates(Index):
    """The index in memory; words are counted as in the whole shared index."""

    def __init__(self, shared: SharedIndex) -> None:
        self._shared = shared
        super().__init__(IN_MEMORY, [])

    @property
    def words(self) -> Lexical:
        return _SharedWords(self.db, self._shared)


class _SharedWords(Lexical):
    _has_passages = True  # so that it counts what is in memory

    def __init__(self, database: sqlite3.Connection, shared: SharedIndex) -> None:
        super().__init__(database)
        self._shared = shared

    def size(self) -> int:
        return self._shared.size()

    def counts(self, words: Sequence[str]) -> list[int]:
        return self._shared.counts(words)


def lane_of(
    shared: SharedIndex,
    config: Config,
    embedder: "Callable[[], Embedder | None]",
    notes: list[str],
) -> "Callable[[str, Query, Mapping[int, float]], Lane | None]":
    """The vector lane of searches over `shared`. If only words are searched, a note
    says why."""

    def look(task: str, asked: Query, lexical: Mapping[int, float]) -> Lane | None:
        try:
            created = embedder() if config.fusion != "bm25" else None
            if created is None:
                return None
            return shared.lane(config, created, task, asked, lexical)
        except (ProviderError, UsageError) as error:
            if shared.link.failed:
                raise
            notes.append(words_alone(error))
            return None

    return look


def _opened(connection: "psycopg.Connection[Any]") -> list[tuple[Any, ...]]:
    """The projects that one may see, in the snapshot that the whole search uses."""
    from psycopg import errors

    try:
        cursor = connection.execute(_OPENING)
    except (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName):
        connection.execute("ROLLBACK")
        link.require(link.version(connection))
        raise
    while cursor.description is None:
        cursor.nextset()
    version = cursor.fetchone()
    link.require(version[0] if version else 0)
    cursor.nextset()
    return cursor.fetchall()


_SENT = "level job task type kind scope since until".split()
"""The filters that the server gets unchanged."""


def as_json(filters: Filters, projects: Sequence[str] | None) -> str:
    """The filters as the searches on the server take them; with `projects` None all
    projects are searched."""
    stores = set(filters.store or ("memory",))
    if filters.archived:
        stores.add("archive")
    fields = filters._asdict()
    values = {
        **{name: fields[name] for name in _SENT},
        "project": projects,
        "tag": [tag.lower() for tag in filters.tag],
        "path": bool(filters.path),
    }
    remaining = {key: value for key, value in values.items() if value}
    return json.dumps({"store": sorted(stores), **remaining})
