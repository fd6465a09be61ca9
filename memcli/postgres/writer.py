"""What the server has of a project, and how it is changed, all or nothing."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID, uuid4

from memcli.errors import UsageError
from memcli.memory.values import Place
from memcli.postgres.chunks import Sent
from memcli.postgres.identity import Identity
from memcli.postgres.words import searched

if TYPE_CHECKING:
    import psycopg

LOCK_WAIT = "20s"  # how long a push waits for another one of the same project

_KNOWN = """
SELECT current_user AS role, p.team, p.project, p.version, p.commit, p.remote, p.name,
    p.model, p.dim, p.archived,
    (
        SELECT array_agg(ARRAY[f.path, f.hash]) FROM mem.files f
        WHERE f.project = p.project
    ) AS files
FROM (SELECT) AS always
LEFT JOIN mem.projects p ON p.root_commit = %(root_commit)s AND p.path = %(path)s
"""
_FIRST_PUSH = """
INSERT INTO mem.projects (project, team, root_commit, path, name, remote, commit,
    archived, model, dim, chunks, version)
VALUES (%(project)s, %(team)s, %(root_commit)s, %(path)s, '', '', '',
    false, '', 0, 0, 1)
ON CONFLICT (team, root_commit, path) DO NOTHING RETURNING version
"""
_NEXT_PUSH = """
UPDATE mem.projects SET version = version + 1
WHERE project = %(project)s AND version = %(version)s RETURNING version
"""
_FILE = """
INSERT INTO mem.files (project, file, team, path, hash, level, store, job, task, of,
    heads, lines)
VALUES (%(project)s, %(file)s, %(team)s, %(path)s, %(hash)s, %(level)s, %(store)s,
    %(job)s, %(task)s, %(of)s, %(heads)s, %(lines)s)
ON CONFLICT (project, file) DO UPDATE SET hash = excluded.hash, level = excluded.level,
    store = excluded.store, job = excluded.job, task = excluded.task, of = excluded.of,
    heads = excluded.heads, lines = excluded.lines
"""
_CHUNK = """
INSERT INTO mem.chunks (project, id, team, file, head, entry, part, live, store, level,
    job, task, type, kind, date, begins, ends, title, text, tags, parts, around,
    metadata, model, dim, vector, words)
VALUES (%(project)s, %(id)s, %(team)s, %(file)s, %(head)s, %(entry)s, %(part)s,
    %(live)s, %(store)s, %(level)s, %(job)s, %(task)s, %(type)s, %(kind)s, %(date)s,
    %(begins)s, %(ends)s, %(title)s, %(text)s, %(tags)s, %(parts)s, %(around)s,
    %(metadata)s, %(model)s, %(dim)s, %(vector)s,
    setweight(to_tsvector('mem.words', %(words_a)s::text), 'A')
    || setweight(to_tsvector('mem.words', %(words_b)s::text), 'B')
    || setweight(to_tsvector('mem.words', %(words_c)s::text), 'C')
    || array_to_tsvector(ARRAY['=t:' || %(team)s::text, '=p:' || %(project)s::text]))
"""
_PROJECT = """
UPDATE mem.projects SET name = %(name)s, remote = %(remote)s, commit = %(commit)s,
    archived = %(archived)s, model = %(model)s, dim = %(dim)s, pushed_at = now(),
    chunks = (SELECT count(*) FROM mem.chunks c WHERE c.project = %(project)s)
WHERE project = %(project)s
"""


class Facts(NamedTuple):
    """What a project says about itself, besides its files."""

    team: str = ""
    commit: str = ""
    remote: str = ""
    name: str = ""
    model: str = ""
    dim: int = 0
    archived: bool = False


class Known(NamedTuple):
    """What the server has of a project: `files` are hashes by path, `version` counts
    its pushes, `others` are further teams of the user that have the project, too."""

    key: UUID
    facts: Facts
    version: int = 0
    files: Mapping[str, str] = {}
    others: Sequence[str] = ()


class FileChange(NamedTuple):
    """A file as it is now, with all of its chunks in order."""

    number: int
    path: str
    hash: str
    place: Place
    chunks: Sequence[Sent]


class NewChunk(NamedTuple):
    """A chunk that the server does not have yet."""

    file: FileChange
    sent: Sent
    vector: str | None


class Change(NamedTuple):
    """Everything that one push does to a project; `anew`: what was there is deleted
    first."""

    facts: Facts
    files: Sequence[FileChange]
    gone: Sequence[int]
    new: Sequence[NewChunk]
    dropped: Sequence[int]
    anew: bool


class Stale(Exception):
    """Another push of the same project came first: read again."""


def known(
    connection: "psycopg.Connection[Any]", identity: Identity, team: str
) -> Known:
    """What the server has of a team's project, in one snapshot. Without a `team` it is
    the only team that has the project, else that of the role. Raises UsageError if
    several teams have it."""
    from psycopg.rows import dict_row

    with connection.cursor(row_factory=dict_row) as cursor:
        asked = {"root_commit": identity.root_commit, "path": identity.path}
        rows = cursor.execute(_KNOWN, asked).fetchall()
    role = rows[0]["role"]
    by_team = {row["team"]: row for row in rows if row["team"] is not None}
    if not team:
        team = next(iter(by_team)) if len(by_team) == 1 else role
        if len(by_team) > 1 and role not in by_team:
            listed = ", ".join(sorted(by_team))
            message = f"several teams have this project: {listed}"
            raise UsageError(message, "set store_team")
    other_teams = sorted(by_team.keys() - {team})
    if team not in by_team:
        return Known(key=uuid4(), facts=Facts(team=team), others=other_teams)
    row = by_team[team]
    return Known(
        key=row["project"],
        facts=Facts(**{name: row[name] for name in Facts._fields}),
        version=row["version"],
        files=dict(row["files"] or ()),
        others=other_teams,
    )


def have(
    connection: "psycopg.Connection[Any]", key: UUID, files: Sequence[int]
) -> set[int]:
    """Which chunks of these files the server has."""
    select = "SELECT id FROM mem.chunks WHERE project = %s AND file = ANY (%s)"
    return {row[0] for row in connection.execute(select, (key, list(files)))}


def dimensions(connection: "psycopg.Connection[Any]", model: str) -> set[int]:
    """The dimensions of the vectors of a model in the projects that one may see."""
    select = "SELECT DISTINCT dim FROM mem.projects WHERE model = %s"
    return {row[0] for row in connection.execute(select, (model,))}


def write(
    connection: "psycopg.Connection[Any]",
    identity: Identity,
    known: Known,
    change: Change,
) -> None:
    """Apply a change, all or nothing. Raises Stale if the project has changed since it
    was read."""
    key = known.key
    facts = change.facts
    asked = {
        "project": key,
        "version": known.version,
        "team": facts.team,
        "root_commit": identity.root_commit,
        "path": identity.path,
    }
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'")
        # The row of the project is written first, so that other pushes wait for it:
        # anybody could hold an advisory lock.
        cursor.execute(_NEXT_PUSH if known.version else _FIRST_PUSH, asked)
        if cursor.fetchone() is None:
            raise Stale
        if change.anew:
            for table in ("files", "chunks"):
                cursor.execute(f"DELETE FROM mem.{table} WHERE project = %s", (key,))
        delete = "DELETE FROM mem.{} WHERE project = %s AND {} = ANY (%s)"
        cursor.execute(delete.format("files", "file"), (key, list(change.gone)))
        cursor.execute(delete.format("chunks", "id"), (key, list(change.dropped)))
        cursor.executemany(_FILE, [_file(key, facts, file) for file in change.files])
        cursor.executemany(_CHUNK, [_chunk(key, facts, chunk) for chunk in change.new])
        cursor.execute(_PROJECT, {"project": key, **facts._asdict()})


def _file(key: UUID, facts: Facts, file: FileChange) -> dict[str, Any]:
    heads = [sent for sent in file.chunks if sent.id == sent.head]
    return {
        "project": key,
        "file": file.number,
        "team": facts.team,
        "path": file.path,
        "hash": file.hash,
        **file.place._asdict(),
        "heads": [sent.id for sent in heads],
        "lines": [sent.row.line for sent in heads],
    }


def _chunk(key: UUID, facts: Facts, chunk: NewChunk) -> dict[str, Any]:
    row = chunk.sent.row
    return {
        **row._asdict(),
        **chunk.file.place._asdict(),
        **chunk.sent._asdict(),
        "project": key,
        "team": facts.team,
        "file": chunk.file.number,
        "live": bool(row.live),
        "model": facts.model if chunk.vector else "",
        "dim": facts.dim if chunk.vector else 0,
        "vector": chunk.vector,
        "words_a": searched(row.title),
        "words_b": searched(f"{row.text} {row.tags} {row.date}"),
        "words_c": searched(row.parts),
    }
