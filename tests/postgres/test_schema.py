"""The tables of the shared index, and what many projects and a storm do to them."""

import random
from collections.abc import Iterator

import psycopg
import pytest

from memcli.providers.embed.local import MODEL
from tests.conftest import Project
from tests.drills import shared as drill
from tests.postgres.conftest import Shared, found, push
from tests.postgres.server import Server


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


@pytest.mark.process
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
