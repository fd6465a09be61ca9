"""mem eval: what would have prevented a correction, was it there before, and was it
told."""

import pytest

from memcli.hooks import replay
from tests.commands.talk import Talk

RULE = "From now on always use pnpm for packages of the web shop, because the CI has no npm."


def said(project, session, day, *texts):
    talk = Talk(project.root, session, day)
    for text in texts:
        talk.user(text).agent("I changed it.")
    talk.write(project.home / ".claude" / "projects" / "x" / f"{session}.jsonl")


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("Always use pnpm in the web shop, the CI has no npm.", True),
        ("Packages\nUse pnpm.\nIn the web shop, that is.", True),
        ("Never use pnpm in the web shop.", False),
        ("Use npm. The pnpm lock is gone.\nLogs rotate.\nThe web shop is old.", False),
        ("Bump pnpm", False),
    ],
)
def test_a_sentence_says_what_a_correction_says(text, *, known):
    """By one sentence or two neighbours, never by words all over a text, and not by its
    opposite."""
    assert replay.says(text, "No, use pnpm in the web shop.") is known


def test_what_is_forbidden_is_not_known_from_what_is_done():
    """A commit about a tool is not a rule against it."""
    said = "Don't install tox here"
    assert not replay.says("tox: install it here, too", said)
    assert replay.says("Never install tox here: the CI has nox.", said)
    assert not replay.says("Use pnpm 9 in the shop.", "No, use pnpm 8 in the shop.")


def test_what_a_session_was_told_is_told_apart_from_what_it_was_not(
    project, monkeypatch
):
    """Neither session is prevented by its own words; stopped after its time and says
    so."""
    assert "mem index --history" in project.mem("eval").err
    project.mem("index", "--history")
    assert "mem extract --all" in project.mem("eval").err
    said(project, "s-old", "2026-10-01", "Look at the web shop, please.", RULE)
    assert "From now on" in project.mem("extract", "--all").out
    assert "a stated rule does not count" in project.mem("eval").out
    said(project, "s-new", "2026-11-01", "Install packages of the web shop with npm, please.",
         "No, always use pnpm for packages of the web shop.")  # fmt: skip
    said(project, "s-odd", "2026-11-02", "Sort the invoices by customer, please.",
         "No, never sort invoices on the server, sort them in the browser.",
         "No, that makes no sense.")  # fmt: skip
    project.mem("index", "--history")
    report = project.mem("eval", "--json").json
    odd, new = report["corrections"]
    assert (report["sessions"], report["corrected"], report["enough"]) == (3, 2, False)
    assert new["rule"] and new["history"] and new["told"]
    assert (odd["rule"], odd["history"], odd["told"]) == ("", "", False)
    assert report["telling"]["prompts"] == 7
    assert report["telling"]["answered"] >= 1
    assert report["telling"]["tokens"] > 0
    text = project.mem("eval").out
    assert "too little history" in text and "%" not in text and "not known" in text
    monkeypatch.setattr(replay, "SECONDS", 0.0)
    assert "of 3, the newest" in project.mem("eval").out
