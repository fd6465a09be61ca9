"""A real PostgreSQL server for the tests of the shared index, and a database of its own
for each."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import psycopg
import pytest

from memcli.postgres import link
from tests.conftest import Project
from tests.drills.shared import CHECKS
from tests.postgres.server import Server

TABLES = ("projects", "files", "chunks")
_names = count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for all tests, with a template that has the tables."""
    made = Server()
    try:
        made.start()
        made.database("template")
        yield made
    finally:
        made.stop()


class Shared:
    """A database with the tables of the shared index."""

    def __init__(self, server: Server, name: str):
        self.server = server
        self.name = name
        self.url = server.url(name)

    def connect(self, role: str = "") -> psycopg.Connection[Any]:
        """A connection of the owner, or of another role that logs in."""
        url = self.server.url(self.name, role, "pw") if role else self.url
        return psycopg.connect(url, autocommit=True)

    def rows(
        self, statement: str, *values: Any, role: str = ""
    ) -> list[tuple[Any, ...]]:
        """What a statement gives, as the owner or as another role."""
        with self.connect(role) as connection:
            return connection.execute(statement, values).fetchall()

    def do(self, *statements: str):
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement)

    def versions(self, table: str) -> dict[Any, str]:
        """Which transaction wrote each row of a table: an untouched row keeps it."""
        keys = {"projects": "project::text", "files": "path", "chunks": "entry"}
        return dict(self.rows(f"SELECT {keys[table]}, xmin::text FROM mem.{table}"))

    def dump(self) -> str:
        """Every value of every table as one text."""
        rows = []
        for table in TABLES:
            rows += [
                repr(row) for row in self.rows(f"SELECT t::text FROM mem.{table} t")
            ]
        return "\n".join(rows)

    def check(self):
        """What is counted is what there is."""
        for what, statement in CHECKS.items():
            assert self.rows(statement) == [], what


@pytest.fixture
def shared(server, monkeypatch) -> Iterator[Shared]:
    """A fresh shared index, configured in the environment."""
    name = f"t{next(_names)}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} TEMPLATE template STRATEGY file_copy"
        )
    made = Shared(server, name)
    monkeypatch.setenv("MEM_STORE_URL", made.url)
    yield made
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def other(project, tmp_path) -> Callable[[str], Project]:
    """Makes further repositories beside `project`, by name."""

    def make(name: str) -> Project:
        root = tmp_path / name
        root.mkdir()
        made = Project(root, project.home)
        made.git("init", "-q")
        made.git("config", "user.name", "Test")
        made.git("config", "user.email", "test@example.org")
        made._made = 1000 * (1 + sum(map(ord, name)))  # ids of its own
        return made

    return make


def push(project: Project, *options: str):
    """Commit everything and push it; fails unless that works."""
    project.commit()
    project.ok("index", "--shared", *options)


def scores(project: Project, task: str, *options: str) -> tuple[str, dict[str, float]]:
    """How a recall ranks: its mode, and the scores of its hits by title, in order."""
    explained = ("--ranked", "--json", "--explain", "--max-tokens", "0")
    answer = project.mem("recall", *explained, *options, task).json
    return answer["mode"], {hit["title"]: hit["score"] for hit in answer["hits"]}


def found(project: Project, task: str, *options: str) -> list[str]:
    """The titles that a shared recall finds."""
    # What is asked is what is found, however slowly.
    with pytest.MonkeyPatch.context() as slow:
        slow.setattr(link, "PATIENCE", 60.0)
        result = project.mem(
            "recall", "--shared", "--json", "--max-tokens", "0", *options, task
        )
    assert result.code == 0, result.err
    assert "only from here" not in result.err and "words alone" not in result.err, (
        result.err
    )
    return result.titles
