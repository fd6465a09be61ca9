"""A project of the shared index: its identity, what of it leaves the machine, how it is
written."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID, uuid4

from memcli.errors import UsageError
from memcli.index.refresh import Row, rows
from memcli.memory.parser import MemoryFile, sections
from memcli.memory.values import Place
from memcli.memory.words import each_text
from memcli.postgres.link import statement
from memcli.project import git
from memcli.text.controls import strip_controls, strip_private
from memcli.text.secrets import redact_secrets

if TYPE_CHECKING:
    import psycopg

    from memcli.postgres.tokens import Words


class Identity(NamedTuple):
    """A project at a commit; `root_commit` and `path` tell it from others of its team;
    `remote` "" is none."""

    name: str
    root_commit: str
    path: str
    commit: str
    remote: str


def identify(root: Path) -> Identity:
    """The identity of the project at `root`. Raises UsageError where it has none."""
    top = git.work_tree(root)
    if top is None:
        what = "the shared index knows projects by their first commit"
        raise UsageError(
            f"{what}: {root} is in no git repository", "run it in a repository"
        )

    def ask(*arguments: str) -> str:
        return (git.ask(top, *arguments) or "").strip()

    if ask("rev-parse", "--is-shallow-repository") == "true":
        what = f"the history of {top} is cut off, so its first commit is not known"
        raise UsageError(what, "git fetch --unshallow (in CI: fetch the whole history)")
    commit = ask("rev-parse", "--verify", "--quiet", "HEAD")
    first = ask("rev-list", "--max-parents=0", "--first-parent", "HEAD").split("\n")[-1]
    if not commit or not first:
        raise UsageError(f"{top} has no commit yet", "commit the memory files first")
    path = Path(
        os.path.relpath(os.path.realpath(root), os.path.realpath(top))
    ).as_posix()
    remote = re.sub(r"^([a-z+]+://)[^/@]*@", r"\1", ask("remote", "get-url", "origin"))
    parts = [
        part
        for part in re.split(r"[/:\\]", remote.removesuffix("/").removesuffix(".git"))
        if part
    ]
    name = "/".join(parts[-2:] if ":" in remote else parts[-1:])
    name = name or os.path.basename(os.path.realpath(top))
    name = name if path == "." else f"{name}/{path}"
    return Identity(
        name=name,
        root_commit=first,
        path=path,
        commit=commit,
        remote=remote,
    )


class Sent(NamedTuple):
    """A chunk as it is sent; `id` is the same whenever its file and content are."""

    id: int
    head: int
    line: int
    row: Row
    begins: str
    ends: str


def leaves(place: Place, work_tree: str, *, archived: bool) -> bool:
    """Whether files of a place may be sent: no global level, no proxy, no other work
    trees."""
    if place.level == "global" or work_tree or "proxy" in (place.store, place.of):
        return False
    return archived or place.store != "archive"


def number(*parts: object) -> int:
    """A number of 64 bits from texts, the same everywhere."""
    data = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), signed=True)


def chunks(memory: MemoryFile, path: str, *, live: bool) -> list[Sent]:
    """The chunks of a file in their order, which tells equal entries apart."""
    found: list[Sent] = []
    times: Counter[str] = Counter()
    for entry in sorted(
        (*sections(memory), *memory.entries), key=lambda entry: entry.start
    ):
        head = 0
        extra = {key: each_text(value, _cleaned) for key, value in entry.extra.items()}
        public = entry._replace(
            title=_cleaned(entry.title), body=_cleaned(entry.body), extra=extra
        )
        for row in rows(public, live=live):
            weighed = "\0".join(
                map(str, (*row[:2], *row[4:11], row.metadata, row.around))
            )
            digest = blake2b(weighed.encode(), digest_size=12).hexdigest()
            values = json.loads(row.metadata)
            # jsonb knows no NUL
            plain = json.dumps(values, ensure_ascii=False).replace("\\u0000", "")
            row = row._replace(metadata=plain)
            own = number(path, digest, row.type, row.kind, times[digest])
            times[digest] += 1
            head = head if row.part else own
            begins = str(values.get("started_at") or values.get("created") or row.date)[
                :10
            ]
            ends = str(values.get("ended_at") or begins)[:10]
            found.append(
                Sent(
                    id=own, head=head, line=row.line, row=row, begins=begins, ends=ends
                )
            )
    return found


def _cleaned(text: str) -> str:
    return redact_secrets(strip_private(strip_controls(text)))


LOCK_WAIT = "20s"  # how long a push waits for another one of the same project


class Facts(NamedTuple):
    """What a project says of itself, beside its files."""

    team: str = ""
    commit: str = ""
    remote: str = ""
    name: str = ""
    model: str = ""
    dim: int = 0


class Known(NamedTuple):
    """What the server has of a project: `files` are hashes by path; `version` counts
    its pushes; `others` are further teams, of those one is in, that have it too."""

    key: UUID
    version: int = 0
    facts: Facts = Facts()
    files: Mapping[str, str] = {}
    others: Sequence[str] = ()


class FileChange(NamedTuple):
    """A file as it is now; `chunks` are all of its chunks in order."""

    number: int
    path: str
    hash: str
    place: Place
    chunks: Sequence[Sent]


class NewChunk(NamedTuple):
    """A chunk that the server does not have yet."""

    file: FileChange
    sent: Sent
    words: Words
    vector: str | None


class Change(NamedTuple):
    """All that one push does to a project; `anew`: what was there goes."""

    facts: Facts
    files: Sequence[FileChange]
    gone: Sequence[int]
    new: Sequence[NewChunk]
    dropped: Sequence[int]
    anew: bool
    archived: bool


class Stale(Exception):
    """Another push of the same project came first: look again."""


def known(connection: psycopg.Connection[Any], identity: Identity, team: str) -> Known:
    """What the server has of a team's project, as of one moment; without a `team` of
    the one that has it, else of the role. Raises UsageError where several have it."""
    asked = (identity.root_commit, identity.path)
    rows = connection.execute(statement("known"), asked).fetchall()
    by_team = {row[0]: row[2:] for row in rows if row[0] is not None}
    role = rows[0][1]
    if not team and len(by_team) > 1 and role not in by_team:
        listed = ", ".join(sorted(by_team))
        raise UsageError(f"several teams have this project: {listed}", "set store_team")
    if not team:
        team = next(iter(by_team)) if len(by_team) == 1 else role
    others = sorted(by_team.keys() - {team})
    if team not in by_team:
        return Known(key=uuid4(), facts=Facts(team=team), others=others)
    key, version, *facts, files = by_team[team]
    return Known(
        key=key,
        version=version,
        facts=Facts(team, *facts),
        files=dict(files or ()),
        others=others,
    )


def dimensions(connection: psycopg.Connection[Any], model: str) -> set[int]:
    """The dimensions that vectors of a model have in the projects one may see."""
    rows = connection.execute(
        "SELECT DISTINCT dim FROM mem.projects WHERE model = %s", (model,)
    )
    return {row[0] for row in rows}


def write(
    connection: psycopg.Connection[Any],
    identity: Identity,
    known: Known,
    change: Change,
) -> None:
    """Apply a change, all or nothing. Raises Stale when the project is not what is
    known of it."""
    key = known.key
    facts = change.facts
    new = change.new
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'")
        # The row of the project is written first: others wait for it. A lock by a
        # number anybody could hold.
        if known.version:
            cursor.execute(statement("next push"), (key, known.version))
        else:
            named = (key, facts.team, identity.root_commit, identity.path)
            cursor.execute(statement("first push"), named)
        if cursor.fetchone() is None:
            raise Stale
        removed = _remove(cursor, key, change)
        for file in change.files:
            heads = [
                (sent.id, sent.line) for sent in file.chunks if sent.id == sent.head
            ]
            ids = [number for number, _ in heads]
            lines = [line for _, line in heads]
            row = (key, file.number, facts.team, file.path, file.hash, *file.place)
            cursor.execute(statement("write file"), (*row, ids, lines))
        cursor.executemany(
            statement("write chunk"), [_chunk(key, facts, chunk) for chunk in new]
        )
        _count(cursor, key, facts.team, new, [terms for _, terms in removed])
        length = sum(chunk.words.length for chunk in new) - sum(
            own for own, _ in removed
        )
        values = (
            facts.name, facts.remote, facts.commit, change.archived, facts.model, facts.dim,
            len(new) - len(removed), length, key,
        )  # fmt: skip
        cursor.execute(statement("write project"), values)


def _remove(
    cursor: psycopg.Cursor[Any], key: UUID, change: Change
) -> list[tuple[int, list[str]]]:
    for table in ("files", "chunks", "terms") if change.anew else ():
        cursor.execute(f"DELETE FROM mem.{table} WHERE project = %s", (key,))
    if change.anew:
        cursor.execute(statement("emptied"), (key,))
    cursor.execute(statement("remove files"), (key, list(change.gone)))
    return cursor.execute(
        statement("remove chunks"), (key, list(change.dropped))
    ).fetchall()


def _chunk(key: UUID, facts: Facts, chunk: NewChunk) -> tuple[Any, ...]:
    file = chunk.file
    sent = chunk.sent
    row = chunk.sent.row
    place = chunk.file.place
    model = (facts.model, facts.dim) if chunk.vector else ("", 0)
    return (
        key, sent.id, facts.team, file.number, sent.head, row.entry, row.part, bool(row.live),
        place.store, place.level, place.job, place.task, row.type, row.kind, row.date, sent.begins,
        sent.ends, row.title, row.text, row.metadata, chunk.words.vector, chunk.words.length,
        *model, chunk.vector,
    )  # fmt: skip


def _count(
    cursor: psycopg.Cursor[Any],
    key: UUID,
    team: str,
    new: Sequence[NewChunk],
    gone: list[Any],
) -> None:
    """Add to the number of chunks that each term stands in; those in none leave."""
    terms = Counter(term for chunk in new for term in chunk.words.terms)
    terms.subtract(term for own in gone for term in own if not term.startswith("="))
    changed = [(key, term, team, n) for term, n in sorted(terms.items()) if n]
    cursor.executemany(statement("write term"), changed)
    cursor.execute(
        statement("remove terms"), (key, [term for term, n in terms.items() if n < 0])
    )
