"""The stage that an INTENT.md names, in the ways people write it."""

import json
from pathlib import Path

import pytest

from memcli.project.stages import stage_of

HERE = Path(__file__).parent


@pytest.mark.parametrize(("text", "stage"), [
    ("---\nstage: Designing\n---\n", "design"),
    ("---\nstage: party\n---\n", ""),
    ("---\nstage: [broken\n---\nStage: review\n", "review"),
    ("Status: green\nPhase: **building**\n", "implementation"),
    ("Status: green\nWe are now planning.\n", "planning"),
    ("Status: green\nAll is well.\n", ""),
    ("We are designing. Currently testing.\n", ""),
    ("## Status\nNot yet testing. We are designing.\n", "design"),
    ("Stage: design → implementation\n", ""),
    ("Stage: design complete\n", ""),
    ("Next stage: review\n", ""),
    ("Stage: design\nStatus: in review\n", "design"),
    ("## Stage\n\n- **Review**, since May\n", "review"),
    ("## Goal\nReview the code before release.\n", ""),
])  # fmt: skip
def test_intent_names_a_stage_or_none(text, stage):
    """In its front matter, else in a line, else in today's clauses; two of today are
    none."""
    assert stage_of(text)[0] == stage


@pytest.mark.parametrize(
    ("name", "scored", "share"), [("intents", 0, 0.85), ("stages", 1, 0.8)]
)
def test_plain_texts_tell_their_stage_or_are_unknown(name, scored, share):
    """Prose in ten languages, a third of the intents adapted from public projects: none
    is told wrongly. Of the stages the even ones were looked at."""
    texts = json.loads((HERE / f"{name}.json").read_text("utf-8"))
    told = [(stage_of(text)[0] or "unknown", wanted) for wanted, text in texts]
    assert [pair for pair in told if pair[0] not in ("unknown", pair[1])] == []
    kept = told[scored :: 1 + scored]
    assert sum(found == wanted for found, wanted in kept) >= share * len(kept)
