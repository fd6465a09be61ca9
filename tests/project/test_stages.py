"""The stage that an INTENT.md names, in the ways people write it."""

import json
from pathlib import Path

import pytest

from memcli.project.stages import stage_of

HERE = Path(__file__).parent


@pytest.mark.parametrize(("text", "found"), [
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
def test_intent_names_a_stage_or_none(text, found):
    """In its front matter, else in a line, else in today's clauses; two of today are
    none."""
    assert stage_of(text)[0] == found


def test_plain_intents_tell_their_stage_or_are_unknown():
    """Prose in nine languages, a third of it adapted from public projects: none is told
    wrongly."""
    intents = json.loads(HERE.joinpath("intents.json").read_text("utf-8"))
    told = [(stage_of(text)[0] or "unknown", wanted) for wanted, text in intents]
    assert [pair for pair in told if pair[0] not in ("unknown", pair[1])] == []
    assert sum(found == wanted for found, wanted in told) >= 0.85 * len(intents)


def test_plain_texts_in_ten_languages():
    """Front matter, lines, headings with a word below, imperatives; and texts that only
    look so. The even ones were looked at, the odd ones were kept to score."""
    texts = json.loads((HERE / "stages.json").read_text("utf-8"))
    told = [(stage_of(text)[0] or "unknown", wanted) for wanted, text in texts]
    assert [pair for pair in told if pair[0] not in ("unknown", pair[1])] == []
    kept = told[1::2]
    assert len(kept) == 20 and sum(found == wanted for found, wanted in kept) >= 16
