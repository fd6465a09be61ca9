"""The drills in their short form; tests/drills has the long one."""

from __future__ import annotations

from tests.drills import crash


def test_a_killed_compact_loses_nothing_and_the_next_one_finishes() -> None:
    """Kills at random instants over a tree of 12 files."""
    outcome = crash.drill(kills=12, files=12, seed=3)
    assert outcome.failures == ()
    assert sum(outcome[:3]) == 12
