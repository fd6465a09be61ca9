"""The tables of the shared index, and what many projects and a storm do to them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from memcli.postgres import migrations, schema
from memcli.providers.embed.local import MODEL
from tests.conftest import Project
from tests.drills import shared as drill
from tests.postgres.conftest import Shared, found, push
from tests.postgres.server import Server


def test_every_key_begins_with_the_project(shared: Shared) -> None:
    """What Citus asks of a table that is spread by project: it stands first in every unique index."""
    keys = shared.rows(
        "SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
        " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
        " WHERE i.indisunique AND c.relnamespace = 'mem'::regnamespace AND c.relname <> 'version' ORDER BY 1"
    )
    assert keys == [(name, "project") for name in ("chunks", "files", "projects", "terms")]


def test_nothing_refers_across_tables(shared: Shared) -> None:
    """No foreign keys, sequences or triggers, no subquery in a policy: tables can be spread as they
    are.
    """
    assert shared.rows("SELECT conname FROM pg_constraint WHERE contype = 'f'") == []
    assert shared.rows("SELECT sequencename FROM pg_sequences WHERE schemaname = 'mem'") == []
    assert shared.rows("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal") == []
    policies = shared.rows(
        "SELECT tablename, qual FROM pg_policies WHERE schemaname = 'mem' ORDER BY 1"
    )
    assert [name for name, _ in policies] == ["chunks", "files", "projects", "terms"]
    assert not any("select" in qual.lower() for _, qual in policies)


# --- from version to version


@pytest.fixture
def first(
    project: Project, server: Server, monkeypatch: pytest.MonkeyPatch, vectors: None
) -> Iterator[Shared]:
    """A database as the first version made it, with what `project` has pushed there."""
    with monkeypatch.context() as old:
        old.setattr(schema, "VERSION", "0001")
        monkeypatch.setenv("MEM_STORE_URL", server.database("first"))
        project.write(
            "MEMORY.md", project.entry("Herds", "zebra") + project.entry("Birds", "heron")
        )
        push(project, "--migrate")
    shared = Shared(server, "first")
    assert shared.rows("SELECT version_num FROM mem.version") == [("0001",)]
    yield shared
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE first WITH (FORCE)")


def functions(shared: Shared) -> list[tuple[str, str]]:
    """Name and text of every function."""
    return shared.rows(
        "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'mem'::regnamespace ORDER BY 1, 2"
    )


def test_the_last_migration_makes_the_version_that_is_read() -> None:
    """Versions count from 0001 without a gap, each file has its own, and the program reads the
    last.
    """
    folder = Path(migrations.__file__).parent
    names = sorted(path.stem for path in folder.glob("v*.py"))
    assert names == [f"v{number:04}" for number in range(1, len(names) + 1)]
    assert names[-1] == f"v{schema.VERSION}"


def test_a_database_of_the_first_version_is_brought_up_to_date(
    project: Project, first: Shared
) -> None:
    """An older index is told in one line and left alone; --migrate makes of it what a new one is."""
    before, rows = first.dump(), [first.versions(table) for table in ("chunks", "files", "terms")]
    asked = project.mem("recall", "--shared", "--json", "zebra")
    assert (asked.code, [hit["title"] for hit in asked.json["hits"]]) == (0, ["Herds"])
    assert "of version 0001, older than" in asked.err and "--migrate" in asked.err
    assert len(asked.err.strip().split("\n")) == 1
    refused = project.mem("index", "--push")
    assert (refused.code, "--migrate" in refused.err, first.dump()) == (4, True, before)
    push(project, "--migrate")
    assert first.rows("SELECT version_num FROM mem.version") == [(schema.VERSION,)]
    assert [first.versions(table) for table in ("chunks", "files", "terms")] == rows
    assert functions(first) == functions(Shared(first.server, "template"))
    assert found(project, "zebra")[0] == "Herds"
    done = project.mem("index", "--push", "--migrate")
    assert done.code == 0, done.err


def test_an_update_that_fails_leaves_the_older_version(project: Project, first: Shared) -> None:
    """Something in the way of the next version: exit 4 in one line, and all is as it was, readable
    by those who have the older program.
    """
    first.do("CREATE FUNCTION mem.counts(text[], uuid[]) RETURNS int LANGUAGE sql AS 'SELECT 1'")
    before = functions(first)
    done = project.mem("index", "--push", "--migrate")
    assert done.code == 4 and "Traceback" not in done.err, done.err
    assert first.rows("SELECT version_num FROM mem.version") == [("0001",)]
    assert functions(first) == before


# --- many projects


@pytest.fixture(scope="module")
def fifty(server: Server) -> Iterator[Shared]:
    """Fifty projects of two hundred entries each."""
    shared = Shared(server, "fifty")
    drill.load(server.database("fifty"), 50, 200, f"local/{MODEL}")
    yield shared
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE fifty WITH (FORCE)")


@pytest.fixture
def among(
    project: Project, fifty: Shared, vectors: None, monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with that index configured."""
    monkeypatch.setenv("MEM_STORE_URL", fifty.url)
    return project


def test_one_entry_is_found_among_ten_thousand(among: Project, fifty: Shared) -> None:
    """By a rare word and a common one; common words alone, and any words, bring a full answer."""
    for number in range(3):
        among.write(f"tasks/t{number}.md", among.entry(f"Needle {number}", "w1 w2 w3 quokka"))
    push(among)
    assert sorted(found(among, "quokka w1")[:3]) == ["Needle 0", "Needle 1", "Needle 2"]
    for task in ("w1 w2 w3", drill.words(random.Random(1), 7)):
        assert len(found(among, task)) == 10
    fifty.check()


def test_one_project_among_fifty(among: Project) -> None:
    """--project shows entries of that project alone, and as many as there are."""
    hits = among.mem("recall", "--project", "project-7", "--json", "w17 w250 w3000").json["hits"]
    assert len(hits) == 10
    assert {hit["project"] for hit in hits} == {"acme/project-7"}


def test_a_storm_leaves_whole_projects() -> None:
    """Pushers and readers while the server is killed: the long form is in tests/drills."""
    server = Server()
    try:
        server.start(fsync="on")
        outcome = drill.chaos(server, seconds=5, workers=4, entries=12, kills=1)
    finally:
        server.stop()
    assert outcome.failures == ()
    assert outcome.pushes > 3 and outcome.reads > 3
