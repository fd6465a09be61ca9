"""The stage that a text names."""

from __future__ import annotations

import pytest

from memcli.extraction import stage


@pytest.mark.parametrize(("text", "found"), [
    ("---\nstage: Designing\n---\n", "design"),
    ("---\nstage: party\n---\n", ""),
    ("---\nstage:\n---\n", ""),
    ("---\nother: 1\n---\n", ""),
    ("---\nstage: [broken\n---\nStage: review\n", ""),
    ("Stage: review\n", ""),
])  # fmt: skip
def test_front_matter_names_a_stage_or_none(text: str, found: str) -> None:
    """What cannot be read names none; it is no error."""
    assert stage.from_front_matter(text) == found


@pytest.mark.parametrize(("text", "found"), [
    ("Status: green\nPhase: **building**\n", "implementation"),
    ("Status: green\nWe are now planning.\n", "planning"),
    ("Status: green\nAll is well.\n", ""),
    ("We are designing. Currently testing.\n", ""),
    ("---\nstage: [broken\n---\nStage: review\n", "review"),
])  # fmt: skip
def test_a_line_that_names_no_stage_is_passed_over(text: str, found: str) -> None:
    """The next one may; two stages that are both under way are none."""
    assert stage.from_rules(text) == found


def test_a_reply_is_the_first_stage_that_it_names() -> None:
    """Whatever else a model says is unknown."""
    assert stage.from_reply("I think: Review, or design") == "review"
    assert stage.from_reply("unknown") == stage.from_reply("rm -rf /") == "unknown"
