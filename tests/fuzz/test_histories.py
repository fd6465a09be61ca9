"""Whole repositories with random histories: no merge of real git loses what nobody deleted."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.histories import History


@pytest.mark.parametrize("seed", [2, 7])
def test_no_text_is_lost_in_a_random_history(tmp_path: Path, seed: int) -> None:
    """Three branches change, rename, archive and drop files, and cross; no text is missing."""
    tally = History(tmp_path / "repo", random.Random(seed)).run(3)
    assert tally.failures == () and tally.merges >= 3


def test_a_driver_that_drops_a_side_is_caught(tmp_path: Path) -> None:
    """What the histories look for can be seen: a driver that takes ours for the merge loses texts."""
    tally = History(tmp_path / "repo", random.Random(2), driver="true").run(1)
    assert any(failure.startswith("lost in") for failure in tally.failures)
