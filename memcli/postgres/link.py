"""The connection to the shared index, given up after a time, with errors that say what
to do."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from memcli.errors import MemError, ProviderError, RefusedError, UsageError
from memcli.project import distribution
from memcli.providers import within
from memcli.text.matching import stanzas, table

if TYPE_CHECKING:
    import psycopg


T = TypeVar("T")
PATIENCE = (
    1.5  # seconds of waiting for all calls, the driver's loading included, in a search
)
LEAST = 0.05  # seconds that any call has


class Link:
    """A connection, opened on first use; `patience` seconds for all calls, None no
    limit."""

    def __init__(
        self, url: str, environ: Mapping[str, str], patience: float | None = None
    ) -> None:
        began = time.monotonic()
        self.where = shown(url, environ)
        self.failed = False
        self._url = url
        self._left = patience
        self._connection: psycopg.Connection[Any] | None = None
        self._waited(began)

    def close(self) -> None:
        """Let the server go; one that does not answer is not waited for."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(TimeoutError):
                within(0.0 if self.failed else 1.0, connection.close)

    def ask(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """What `work` gives on the connection. Raises MemError for whatever fails."""

        def run() -> T:
            self._connection = self._connection or connect(self._url)
            return work(self._connection)

        began = time.monotonic()
        try:
            return within(self._left, run)
        except TimeoutError:
            self.failed = True
            what = f"the shared index does not answer ({self.where})"
            raise ProviderError(what, "try again, or ask the local index") from None
        except BaseException as error:
            self.failed = True
            raise explained(error, self.where) from None
        finally:
            self._waited(began)

    def _waited(self, began: float) -> None:
        if self._left is not None:
            self._left = max(self._left - (time.monotonic() - began), LEAST)


def connect(url: str) -> psycopg.Connection[Any]:
    """A connection to the server, on which bare names are those of PostgreSQL."""
    import psycopg

    logging.getLogger("psycopg").addHandler(
        logging.NullHandler()
    )  # what it logs is raised, too
    connection = psycopg.connect(
        url, autocommit=True, connect_timeout=10, application_name="mem"
    )
    # Others may have made functions and operators in the schemas of the user's path.
    connection.execute("SET search_path = pg_catalog")
    return connection


def shown(url: str, environ: Mapping[str, str]) -> str:
    """Where a URL leads, without user and password. Raises UsageError for what is no
    such URL."""
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        hint = distribution.hint("postgres")
        raise UsageError("the shared index needs the extra postgres", hint) from None
    if not url:
        hint = "set store_url in ~/.config/mem/config.toml, or MEM_STORE_URL"
        raise UsageError("no shared index is configured", hint)
    parts = None
    if url.startswith(("postgresql://", "postgres://")):
        with suppress(ProgrammingError):
            parts = conninfo_to_dict(url)
    if parts is None or not re.fullmatch(r"[\d,]*", str(parts.get("port") or "")):
        hint = (
            "write postgresql://user@host:5432/database; the password goes to ~/.pgpass"
        )
        raise UsageError("store_url is no PostgreSQL URL", hint)
    host = parts.get("host") or environ.get("PGHOST", "localhost")
    port = parts.get("port") or environ.get("PGPORT", "5432")
    return f"{host}:{port}/{parts.get('dbname') or environ.get('PGDATABASE', '')}"


def explained(error: BaseException, where: str) -> BaseException:
    """A failure of the driver as a MemError; anything else as it is."""
    import psycopg
    from psycopg import errors

    if isinstance(error, MemError) or not isinstance(error, psycopg.Error):
        return error
    text = str(error)
    name = type(error).__name__
    hint = f"bring it up to date, or report it: {name}"
    what: str = f"the shared index failed: {name}"
    if isinstance(error, (errors.LockNotAvailable, errors.DeadlockDetected)):
        return RefusedError(
            f"another push of this project is under way ({where})", "run again"
        )
    if isinstance(error, errors.InsufficientPrivilege):
        what = "this role may not do that in the shared index"
        hint = "ask for the rights of docs/shared-index.md, and check store_team"
    elif "password authentication failed" in text or "no password supplied" in text:
        what = "the server does not take the password"
        hint = "put it into ~/.pgpass (PGPASSFILE) or PGPASSWORD"
    elif isinstance(error, psycopg.OperationalError) and "does not exist" in text:
        what = "no such database or role"
        hint = "check store_url"
    elif isinstance(error, psycopg.OperationalError):
        what = "the shared index cannot be reached"
        hint = "check that the server runs, and store_url"
    return ProviderError(f"{what} ({where})", hint)


def statement(name: str) -> str:
    """A statement of `statements.sql`, by its name."""
    return stanzas("postgres/statements.sql")[f"-- {name}"]


VERSION = 3  # the version that this program reads and writes
_LOCK = 0x6D656D


def version(connection: psycopg.Connection[Any]) -> int:
    """The version of the tables, 0 without any."""
    [(there,)] = connection.execute(
        "SELECT to_regclass('mem.version') IS NOT NULL"
    ).fetchall()
    rows = (
        connection.execute("SELECT version FROM mem.version").fetchall()
        if there
        else []
    )
    return int(rows[0][0]) if rows else 0


def require(found: int) -> None:
    """Raise ProviderError unless `found` is the version that this program knows."""
    if not found:
        hint = "make its tables by a first push, by a role that may: mem index --push"
        raise ProviderError("the server has no shared index yet", hint)
    if found != VERSION:
        older = found < VERSION
        hint = "use a newer mem"
        if older:
            hint = "DROP SCHEMA mem CASCADE, as the owner, then mem index --push in each project"
        side = "older" if older else "newer"
        raise ProviderError(
            f"the shared index is of version {found}, {side} than {VERSION}", hint
        )


def make(connection: psycopg.Connection[Any]) -> bool:
    """Make the tables where there are none, all or nothing; whether they were made."""
    with connection.transaction():
        connection.execute("SET LOCAL search_path = pg_catalog")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if version(connection):
            return False
        extension = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
        if connection.execute(extension).fetchone() is None:
            hint = "install pgvector 0.8 or later on the server"
            raise ProviderError(
                "the server lacks the extension vector (pgvector)", hint
            )
        connection.execute("CREATE SCHEMA IF NOT EXISTS mem")
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA mem")
        _refuse_intruders(connection)
        tables = table("postgres/schema.sql")
        tables = tables.replace("<vector>", vector_schema(connection))
        connection.execute(tables.encode())
        connection.execute("INSERT INTO mem.version VALUES (%s)", (VERSION,))
    return True


def vector_schema(connection: psycopg.Connection[Any]) -> str:
    """The schema of pgvector, quoted."""
    [(schema,)] = connection.execute(statement("vector schema")).fetchall()
    return str(schema)


def _refuse_intruders(connection: psycopg.Connection[Any]) -> None:
    """Raise RefusedError where others could put something beside what is called with
    the rights of the tables' owner."""
    for schema, another, everybody in connection.execute(statement("schemas")):
        if another:
            what = "the schema mem is of another role"
            hint = "DROP SCHEMA mem, or push as the role that is to own the tables"
            raise RefusedError(what, hint)
        if everybody:
            what = f"everybody may create in the schema {schema}"
            hint = f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC, as its owner"
            if schema != "mem":
                hint += ", or ALTER EXTENSION vector SET SCHEMA mem"
            raise RefusedError(what, hint)


def index_vectors(connection: psycopg.Connection[Any], model: str, dim: int) -> None:
    """Make an HNSW index over the vectors of one model, once, where the role owns the
    tables."""
    from hashlib import blake2b

    from psycopg import sql

    asked = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'mem.chunks'::regclass"
    if connection.execute(asked).fetchone() != (True,):
        return
    name = (
        f"chunks_near_{blake2b(f'{model}/{dim}'.encode(), digest_size=6).hexdigest()}"
    )
    connection.execute(
        sql.SQL(statement("vectors")).format(
            name=sql.Identifier(name),
            vector=sql.SQL(vector_schema(connection)),
            dim=dim,
            model=model,
        )
    )
