"""Episodes: none without an effect, titles that say what was done, outcomes from evidence."""

from __future__ import annotations

import pytest

from memcli.extraction import rules
from memcli.extraction.episodes import DETAIL, EpisodeDraft, outcome, segments, told
from memcli.sessions.model import Session, Turn
from tests.extraction.turns import agent, human, ran

pytestmark = pytest.mark.unit


EDIT = Turn("assistant", "", "assistant", "c", tool="Edit", input={"file_path": "src/ledger.py"})


def tell(*turns: Turn) -> EpisodeDraft | None:
    session = Session("s", "test", "s.jsonl", turns)
    (segment,) = segments(turns)
    return told(session, segment, rules.find(session)[0])


@pytest.mark.parametrize(
    "turns", [
        (human("hi"), agent("Hello! What shall we do?")),
        (human("what does this module do?"), agent("It parses dates.")),
        (human("fix the build"), agent("API Error: no answer")) * 4,
        (human("read the code"), *ran("ls"), agent("I read all of it.")),
    ],
)  # fmt: skip
def test_what_had_no_effect_makes_none(turns: tuple[Turn, ...]) -> None:
    """Small talk, a question that was only read, an aborted start."""
    assert tell(*turns) is None


def test_the_title_says_what_was_done() -> None:
    """The subject of the commit, else the agent's report, else the request."""
    asked = human("ok please fix the rounding of refunds in the ledger, it is off by one cent")
    report = agent(
        "Done. I changed the rounding of refunds in `src/ledger.py` to half even. All 12 tests pass."
    )
    one = tell(asked, EDIT, report)
    assert one and one.title == "Changed the rounding of refunds in `src/ledger.py` to half even"
    one = tell(asked, EDIT, agent("Done, I changed the export to Decimal."))
    assert one and one.title == "Changed the export to Decimal"
    commit = ran('git commit -m "Round refunds half even in the ledger"')
    one = tell(asked, EDIT, *commit, report)
    assert one and one.title == "Round refunds half even in the ledger"
    asked_twice = human("Can you look at it?")
    one = tell(asked_twice, agent("Now I'll freeze the clock of the cart tests in conftest."), EDIT)
    assert one and one.title == "Freeze the clock of the cart tests in conftest"
    one = tell(asked_twice, EDIT, agent("Ok."))
    assert one and one.title == "Changed `src/ledger.py`"
    one = tell(human("rework it"), EDIT, agent("Reworked " + "the longwinded ledger " * 12))
    assert one and len(one.title) <= 111 and one.title.endswith(("longwinded…", "ledger…", "the…"))
    one = tell(asked, EDIT, agent("All good."))
    assert one and one.title.startswith("Fix the rounding of refunds")


def test_the_summary_holds_what_decided() -> None:
    """The closing words, and what was learned."""
    one = tell(
        human("speed up the orders page"), EDIT, agent("One query now."),
        human("No, we never cache orders, because the auditors check them."), EDIT,
        agent("Understood. The cache is removed and the orders page asks for its rows in one query."),
    )  # fmt: skip
    assert one and "asks for its rows" in one.summary and "auditors" in one.summary


def test_what_a_person_likes_stays_out_of_the_episode() -> None:
    """How somebody wants to be talked to is private; episodes are committed."""
    one = tell(
        human("Migrate the parcel events table to partitions by month, please"), EDIT,
        agent("The migration is written, it creates twelve partitions and moves the rows in batches."),
        human("Always keep your answers short and concise, please."),
    )  # fmt: skip
    assert (
        one and "concise" not in one.summary + one.key_text and "twelve partitions" in one.key_text
    )


def test_detail_is_bounded() -> None:
    """At most 2,000 characters, one line for each key turn."""
    turns = [turn for i in range(6) for turn in (human(f"{i} " + "long words " * 300), EDIT)]
    one = tell(*turns)
    assert one and len(one.key_text) <= DETAIL


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([human("do it"), agent("Done."), human("works, thanks")], "success"),
        ([human("do it"), agent("Done."), human("no, it still fails")], "failure"),
        ([human("do it"), *ran(), agent("Fixed.")], "success"),
        ([human("do it"), *ran(error=True), agent("2 passed, 0 failed")], "partial"),
        ([human("do it"), *ran(error=True), agent("3 tests failed")], "failure"),
        ([human("still fails"), *ran(), agent("Fixed now.")], "success"),
        ([human("do it"), agent("Done and finished.")], "unknown"),
        ([], "unknown"),
    ],
)
def test_the_outcome_is_the_persons_word_else_the_evidence(
    turns: list[Turn], expected: str
) -> None:
    """Tests and commits; what the agent claims is none."""
    assert outcome(turns) == expected
