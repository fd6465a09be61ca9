"""When a session counts as having used an entry."""

from __future__ import annotations

import pytest

from memcli.memory.parser import parse
from memcli.memory.reinforcement import is_used
from memcli.memory.values import Entry

WORDS = "alpha bravo charlie delta echo foxtrot golf hotel india juliet".split()


def entry(body: str) -> Entry:
    return parse(f"---\nid: a\ntype: procedural\n---\n{body}\n", "MEMORY.md").entries[0]


@pytest.mark.parametrize(("said", "used"), [(0, False), (2, False), (3, True), (10, True)])
def test_three_of_ten_words_are_enough_and_two_are_not(said: int, used: bool) -> None:
    """Words of four letters or more, each counted once, in whatever case and order."""
    assert len(WORDS) == 10 and all(len(word) >= 4 for word in WORDS)
    spoken = (
        " ".join(word.upper() for word in reversed(WORDS[:said])) + " and no one of the 12 we had"
    )
    assert is_used(entry(" ".join(WORDS * 2)), spoken) is used


def test_an_entry_of_short_words_alone_counts_as_used() -> None:
    """Nothing in it could tell."""
    assert is_used(entry("Do it so, or not at all."), "")
