"""The tables of the shared index, and what many entries and a storm do to them."""

import random

import pytest

from tests.drills import shared as drill
from tests.postgres.conftest import found, push
from tests.postgres.server import Server


def test_one_entry_is_found_among_two_thousand(project, shared, vectors):
    """By a rare word and a common one; common words alone, and any words, bring a full
    answer."""
    dice = random.Random(1)

    def words(number):
        return " ".join(f"w{int(3000 ** dice.random())}" for _ in range(number))

    for number in range(20):
        project.write(
            f"tasks/m{number}.md",
            "".join(project.entry(words(6), words(40)) for _ in range(100)),
        )
    for number in range(3):
        project.write(
            f"tasks/t{number}.md", project.entry(f"Needle {number}", "w1 w2 w3 quokka")
        )
    push(project)
    assert sorted(found(project, "quokka w1")[:3]) == [
        "Needle 0",
        "Needle 1",
        "Needle 2",
    ]
    for task in ("w1 w2 w3", words(7)):
        assert len(found(project, task)) == 10
    shared.check()


@pytest.mark.process
def test_a_storm_leaves_whole_projects():
    """Pushers and readers while the server is killed: the long form is in
    tests/drills."""
    server = Server()
    try:
        server.start(fsync="on")
        outcome = drill.chaos(server, seconds=5, workers=4, entries=12, kills=1)
    finally:
        server.stop()
    assert outcome.failures == ()
    assert outcome.pushes > 3 and outcome.reads > 3
