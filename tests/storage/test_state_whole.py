"""What is noted together is noted whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from memcli.storage.state import State


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """Neither for this process nor for the next; and the state can be written to afterwards."""
    history = State(tmp_path, "p")
    with pytest.raises(KeyError), history.transaction():
        history.remember_reinforced("s", ["a", "b"])
        assert history.reinforced("s") == ["a", "b"]
        raise KeyError
    assert history.reinforced("s") == []
    with history.transaction():
        history.remember_reinforced("s", ["c"])
    history.close()
    again = State(tmp_path, "p")
    assert again.reinforced("s") == ["c"] and again.reinforced("t") == []
    again.close()
    other = State(tmp_path, "q")
    assert other.reinforced("s") == []
    other.close()


def test_answers_that_cannot_all_be_kept_are_not_kept(tmp_path: Path) -> None:
    """One that SQLite refuses takes the others back: half of a lesson is asked for again."""
    history = State(tmp_path, "p")
    with pytest.raises(Exception, match="NOT NULL"):
        history.remember_judged({"q1": "yes", "q2": None})  # type: ignore[dict-item]
    assert history.judged() == {}
    history.close()
