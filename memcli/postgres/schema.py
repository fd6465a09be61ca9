"""The tables of the shared index: which version a server has, and making them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memcli.errors import ProviderError

if TYPE_CHECKING:
    import psycopg
    from sqlalchemy import Connection as SqlConnection

VERSION = "0002"
"""The version that this program reads and writes."""
MIGRATE = "mem index --push --migrate, as the owner of the tables"
_LOCK = 0x6D656D


def version(connection: psycopg.Connection[Any]) -> str:
    """The version of the tables, "" without any."""
    there = connection.execute("SELECT to_regclass('mem.version') IS NOT NULL").fetchone()
    if there is None or not there[0]:
        return ""
    row = connection.execute("SELECT version_num FROM mem.version").fetchone()
    return str(row[0]) if row else ""


def require(found: str) -> None:
    """Raises ProviderError unless `found` is the version that this program knows."""
    if found == VERSION:
        return
    if not found:
        raise ProviderError("the server has no shared index yet", f"make its tables: {MIGRATE}")
    if found < VERSION:
        raise ProviderError(
            f"the shared index is of version {found}, older than {VERSION}",
            f"bring it up to date: {MIGRATE}",
        )
    raise ProviderError(
        f"the shared index is of version {found}, newer than {VERSION}",
        "upgrade mem: pip install -U memcli",
    )


def migrate(connect: Callable[[], psycopg.Connection[Any]]) -> str:
    """Make the tables or bring them up to date, all or nothing; the version they had.

    `connect` gives a connection of its own, without autocommit; it is closed.
    """
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    engine = create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)
    with engine.begin() as bound:
        connection = cast("psycopg.Connection[Any]", bound.connection.driver_connection)
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        before = version(connection)
        if before > VERSION:
            require(before)
        if before != VERSION:
            _extension(connection)
            connection.execute("CREATE SCHEMA IF NOT EXISTS mem")
            _upgrade(bound)
    return before


def _extension(connection: psycopg.Connection[Any]) -> None:
    """pgvector, from 0.7 on: older ones have no half vectors."""
    row = connection.execute(
        "SELECT default_version, installed_version FROM pg_available_extensions WHERE name = 'vector'"
    ).fetchone()
    if row is None:
        raise ProviderError(
            "the server lacks the extension vector (pgvector)",
            "install pgvector 0.8 or later on the server",
        )
    have = row[1] or row[0]
    if tuple(int(part) for part in re.findall(r"\d+", have)[:2]) < (0, 7):
        raise ProviderError(
            f"pgvector {have} is too old", "install pgvector 0.8 or later on the server"
        )
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")


def _upgrade(bound: SqlConnection) -> None:
    """Run the migrations in the open transaction of `bound`."""
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from alembic.script import ScriptDirectory

    folder = str(Path(__file__).parent / "migrations")
    script = ScriptDirectory(folder, version_locations=[folder])
    options = {
        "fn": lambda revision, _: script._upgrade_revs(VERSION, revision),
        "version_table": "version",
        "version_table_schema": "mem",
    }
    context = MigrationContext.configure(bound, opts=options)
    with Operations.context(context):
        context.run_migrations()


def index_vectors(connection: psycopg.Connection[Any], model: str, dim: int) -> None:
    """An HNSW index over the vectors of one model; nothing where there is one."""
    from hashlib import blake2b

    from psycopg import sql

    name = f"chunks_near_{blake2b(f'{model}/{dim}'.encode(), digest_size=6).hexdigest()}"
    connection.execute(
        sql.SQL(
            "CREATE INDEX IF NOT EXISTS {} ON mem.chunks"
            " USING hnsw ((vector::halfvec({})) halfvec_cosine_ops)"
            " WHERE model = {} AND dim = {}"
        ).format(sql.Identifier(name), sql.Literal(dim), sql.Literal(model), sql.Literal(dim))
    )
