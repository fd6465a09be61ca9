"""The connection to the shared index, with a time limit and with errors that say what
to do; its tables and their version."""

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
from memcli.text.digests import digest
from memcli.text.matching import table

if TYPE_CHECKING:
    import psycopg


T = TypeVar("T")
# seconds that all calls of a search may take, including loading the driver
PATIENCE = 1.5
LEAST = 0.05  # seconds that any call has
CONNECTING = 10  # seconds until a push gives up


class Link:
    """A connection, opened on first use. All calls together may take `patience`
    seconds; None is no limit."""

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
        """Close the connection, without waiting for a server that does not answer."""
        connection = self._connection
        self._connection = None
        if connection is not None:
            with suppress(TimeoutError):
                within(0.0 if self.failed else 1.0, connection.close)

    def ask(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Run `work` on the connection and return its result. Raises MemError for any
        failure."""

        def run() -> T:
            self._connection = self._connection or connect(self._url)
            return work(self._connection)

        began = time.monotonic()
        try:
            return within(self._left, run)
        except TimeoutError:
            self.failed = True
            message = f"the shared index does not answer ({self.where})"
            raise ProviderError(message, "try again, or ask the local index") from None
        except BaseException as error:
            self.failed = True
            raise explained(error, self.where) from None
        finally:
            self._waited(began)

    def _waited(self, began: float) -> None:
        if self._left is not None:
            self._left = max(self._left - (time.monotonic() - began), LEAST)


def connect(url: str) -> psycopg.Connection[Any]:
    """Connect so that bare names are those of PostgreSQL."""
    import psycopg

    # the driver also raises what it logs
    logging.getLogger("psycopg").addHandler(logging.NullHandler())
    connection = psycopg.connect(
        url, autocommit=True, connect_timeout=CONNECTING, application_name="mem"
    )
    # Others may have made functions and operators in the schemas of the user's path.
    connection.execute("SET search_path = pg_catalog")
    return connection


def shown(url: str, environ: Mapping[str, str]) -> str:
    """Where a URL leads, without user and password. Raises UsageError unless it is a
    PostgreSQL URL."""
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        hint = distribution.hint("postgres")
        what = "the shared index (--shared, --project) needs the extra postgres"
        raise UsageError(what, hint) from None
    if not url:
        hint = "set store_url in ~/.config/mem/config.toml, or MEM_STORE_URL"
        raise UsageError("no shared index is configured", hint)
    parts = None
    if url.startswith(("postgresql://", "postgres://")):
        with suppress(ProgrammingError):
            parts = conninfo_to_dict(url)
    if parts is None or not re.fullmatch(r"[\d,]*", str(parts.get("port") or "")):
        where = "postgresql://user@host:5432/database"
        hint = f"write {where}; the password goes to ~/.pgpass"
        raise UsageError("store_url is no PostgreSQL URL", hint)
    host = parts.get("host") or environ.get("PGHOST", "localhost")
    port = parts.get("port") or environ.get("PGPORT", "5432")
    return f"{host}:{port}/{parts.get('dbname') or environ.get('PGDATABASE', '')}"


def explained(error: BaseException, where: str) -> BaseException:
    """A failure of the driver as a MemError; other errors unchanged."""
    import psycopg
    from psycopg import errors

    if isinstance(error, MemError) or not isinstance(error, psycopg.Error):
        return error
    if isinstance(error, (errors.LockNotAvailable, errors.DeadlockDetected)):
        message = f"another push of this project is under way ({where})"
        return RefusedError(message, "run again")
    message, hint = _meaning(error)
    return ProviderError(f"{message} ({where})", hint)


def _meaning(error: psycopg.Error) -> tuple[str, str]:
    """What went wrong, and what to do."""
    import psycopg
    from psycopg import errors

    name = type(error).__name__
    text = str(error)
    if isinstance(error, errors.InsufficientPrivilege):
        hint = "ask for the rights of docs/shared-index.md, and check store_team"
        return "this role may not do that in the shared index", hint
    if "password authentication failed" in text or "no password supplied" in text:
        hint = "put it into ~/.pgpass (PGPASSFILE) or PGPASSWORD"
        return "the server does not take the password", hint
    if not isinstance(error, psycopg.OperationalError):
        hint = f"bring it up to date, or report it: {name}"
        return f"the shared index failed: {name}", hint
    if "does not exist" in text:
        return "no such database or role", "check store_url"
    hint = "check that the server runs, and store_url"
    return "the shared index cannot be reached", hint


VERSION = 3  # of the tables that this program reads and writes
_LOCK = 0x6D656D

_TABLES = "SELECT to_regclass('mem.version') IS NOT NULL"
_OWNED = """
SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'mem.chunks'::regclass
"""
_VECTOR_SCHEMA = """
SELECT quote_ident(nspname) FROM pg_namespace
WHERE oid = (SELECT extnamespace FROM pg_extension WHERE extname = 'vector')
"""
_SCHEMAS = """
SELECT quote_ident(nspname), nspname = 'mem' AND NOT pg_has_role(nspowner, 'USAGE'),
    EXISTS (
        SELECT FROM aclexplode(nspacl) WHERE grantee = 0 AND privilege_type = 'CREATE'
    )
FROM pg_namespace WHERE nspname = 'mem'
    OR oid = (SELECT extnamespace FROM pg_extension WHERE extname = 'vector')
"""
_VECTORS = """
CREATE INDEX IF NOT EXISTS {name} ON mem.chunks
USING hnsw ((vector::{vector}.halfvec({dim})) {vector}.halfvec_cosine_ops)
WHERE model = {model} AND dim = {dim}
"""


def version(connection: psycopg.Connection[Any]) -> int:
    """The version of the tables, 0 if there are none."""
    [(there,)] = connection.execute(_TABLES).fetchall()
    if not there:
        return 0
    row = connection.execute("SELECT version FROM mem.version").fetchone()
    return int(row[0]) if row else 0


def require(version_there: int) -> None:
    """Raise ProviderError unless this program knows the version on the server."""
    if version_there == VERSION:
        return
    if not version_there:
        hint = "make its tables by a first push, by a role that may: mem index --shared"
        raise ProviderError("the server has no shared index yet", hint)
    side = "newer"
    hint = "use a newer mem"
    if version_there < VERSION:
        side = "older"
        steps = "DROP SCHEMA mem CASCADE, as the owner, then mem index --shared"
        hint = f"{steps} in each project"
    message = f"the shared index is of version {version_there}, {side} than {VERSION}"
    raise ProviderError(message, hint)


def make(connection: psycopg.Connection[Any]) -> bool:
    """Make the tables, all or nothing, unless they exist; return whether they were
    made."""
    with connection.transaction():
        connection.execute("SET LOCAL search_path = pg_catalog")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if version(connection):
            return False
        extension = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
        if connection.execute(extension).fetchone() is None:
            message = "the server lacks the extension vector (pgvector)"
            raise ProviderError(message, "install pgvector 0.8 or later on the server")
        connection.execute("CREATE SCHEMA IF NOT EXISTS mem")
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA mem")
        _refuse_intruders(connection)
        tables = table("postgres/schema.sql")
        tables = tables.replace("<vector>", _vector_schema(connection))
        connection.execute(tables.encode())
        connection.execute("INSERT INTO mem.version VALUES (%s)", (VERSION,))
    return True


def _vector_schema(connection: psycopg.Connection[Any]) -> str:
    """The quoted name of the schema that holds pgvector."""
    [(schema,)] = connection.execute(_VECTOR_SCHEMA).fetchall()
    return str(schema)


def _refuse_intruders(connection: psycopg.Connection[Any]) -> None:
    """Raise RefusedError if others could add something that would be called with the
    rights of the owner of the tables."""
    for schema, is_anothers, is_everybodys in connection.execute(_SCHEMAS):
        if is_anothers:
            message = "the schema mem is of another role"
            hint = "DROP SCHEMA mem, or push as the role that is to own the tables"
            raise RefusedError(message, hint)
        if is_everybodys:
            message = f"everybody may create in the schema {schema}"
            hint = f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC, as its owner"
            if schema != "mem":
                hint += ", or ALTER EXTENSION vector SET SCHEMA mem"
            raise RefusedError(message, hint)


def index_vectors(
    connection: psycopg.Connection[Any], model: str, dimension: int
) -> None:
    """Make an HNSW index over the vectors of one model, unless there is one, if the
    role owns the tables."""
    from psycopg import sql

    if connection.execute(_OWNED).fetchone() != (True,):
        return
    key = digest(f"{model}/{dimension}".encode(), 6)
    statement = sql.SQL(_VECTORS).format(
        name=sql.Identifier(f"chunks_near_{key}"),
        vector=sql.SQL(_vector_schema(connection)),
        dim=dimension,
        model=model,
    )
    connection.execute(statement)
