"""The tables of the shared index, and what many projects and a storm do to them."""

from __future__ import annotations

import random

from memcli.embed.local import MODEL
from tests.conftest import Project
from tests.drills import shared as drill
from tests.shared.conftest import Shared, found, push
from tests.shared.server import Server


def test_every_key_begins_with_the_project(shared: Shared) -> None:
    """What Citus asks of a table that is spread by project: it stands first in every unique index."""
    keys = shared.rows(
        "SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
        " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
        " WHERE i.indisunique AND c.relnamespace = 'mem'::regnamespace AND c.relname <> 'version' ORDER BY 1"
    )
    assert keys == [(name, "project") for name in ("chunks", "files", "projects", "terms")]


def test_nothing_refers_across_tables(shared: Shared) -> None:
    """No foreign keys, sequences or triggers, no subquery in a policy: tables can be spread as they are."""
    assert shared.rows("SELECT conname FROM pg_constraint WHERE contype = 'f'") == []
    assert shared.rows("SELECT sequencename FROM pg_sequences WHERE schemaname = 'mem'") == []
    assert shared.rows("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal") == []
    policies = shared.rows("SELECT tablename, qual FROM pg_policies WHERE schemaname = 'mem' ORDER BY 1")
    assert [name for name, _ in policies] == ["chunks", "files", "projects", "terms"]
    assert not any("select" in qual.lower() for _, qual in policies)


def test_fifty_projects(project: Project, shared: Shared, vectors: None) -> None:
    """One entry is found among thousands, by rare words, by common ones, and in its project alone."""
    drill.load(shared.url, 50, 60, f"local/{MODEL}")
    for number in range(3):
        project.write(f"tasks/t{number}.md", project.entry(f"Needle {number}", "w1 w2 w3 quokka"))
    push(project)
    assert sorted(found(project, "quokka w1")[:3]) == ["Needle 0", "Needle 1", "Needle 2"]
    assert found(project, "w1 w2 w3")
    assert len(found(project, drill.words(random.Random(1), 7))) == 10
    [title, *_] = found(project, "w17 w250 w3000", "--project", "acme/project-7")
    hits = project.mem("recall", "--project", "project-7", "--json", "w17 w250").json["hits"]
    assert title and {hit["project"] for hit in hits} == {"acme/project-7"}
    for what, statement in drill.CHECKS.items():
        assert shared.rows(statement) == [], what


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
