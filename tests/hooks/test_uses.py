"""Which entries a session used: what it says of them in rare words, within one turn."""

import datetime

import pytest

from memcli.hooks.uses import SessionWords
from memcli.sessions.model import Turn

pytestmark = pytest.mark.unit
SINCE = datetime.datetime(2026, 11, 20, tzinfo=datetime.UTC)
IDLE = "I looked at the module and changed two functions in it, the tests are green."

TAKEN_UP = [
    ("Freeze the clock in cart tests\nAround midnight UTC fixture and assertion fall on different days.",
     "The cart assertion fails around midnight, so I freeze the clock in the fixture."),
    ("Round VAT once per invoice line\nRounding the sum drifts from the ledger by a cent.",
     "VAT is now rounded once per line, as rounding the sum drifted from the ledger."),
    ("Use pnpm, the lockfile of npm breaks the monorepo workspaces",
     "I installed it with pnpm, since npm's lockfile breaks the workspaces of the monorepo."),
    ("Webhooks of the payment provider arrive twice\nDeduplicate them by their idempotency key.",
     "As webhooks may arrive twice I deduplicate by the idempotency key."),
    ("The staging database is wiped each night\nSeed it from the snapshot bucket.",
     "Staging gets wiped nightly, so I seed it from the snapshot bucket before the run."),
    ("Avatars are resized by the thumbnailer, never upload originals",
     "I route the avatars through the thumbnailer instead of uploading originals."),
    ("Migrations must be reversible\nWrite the downgrade beside the upgrade, the canary rolls back.",
     "I wrote the downgrade as well, because the canary may roll the migration back."),
    ("Feature flags live in Unleash, a flag is removed two releases later",
     "The Unleash flag stays for two releases and is removed after that."),
    ("Exports are streamed as gzip\nBuffering the spreadsheet exhausts the worker's memory.",
     "I stream the export as gzip, buffering the spreadsheet would exhaust the worker."),
    ("Die Zeitzone der Filialen steht im Mandanten, nie in der Sitzung",
     "Ich nehme die Zeitzone der Filialen aus dem Mandanten statt aus der Sitzung."),
]  # fmt: skip


def agent(text):
    return Turn(role="assistant", text=text, origin="assistant", key="a")


def human(text):
    return Turn(role="user", text=text, origin="user", key="u")


def words(*turns):
    return SessionWords(turns, [entry for entry, _ in TAKEN_UP])


def test_what_is_taken_up_counts():
    """At least eight of ten."""
    found = [
        words(human("Please go on."), agent(IDLE), agent(said)).take_up(entry, SINCE)
        for entry, said in TAKEN_UP
    ]
    assert sum(found) >= 8


def test_what_others_say_does_not():
    """Ninety notes, each against a session about something else."""
    found = [
        words(human("Please go on."), agent(IDLE), agent(said)).take_up(entry, SINCE)
        for number, (_, said) in enumerate(TAKEN_UP)
        for other, (entry, _) in enumerate(TAKEN_UP)
        if number != other
    ]
    assert sum(found) == 0


def test_what_stood_in_the_prompt_does_not():
    """Nor what was said before the entry was told."""
    entry, said = TAKEN_UP[0]
    asked = human("Why does the cart assertion fail around midnight? Freeze the clock?")
    assert not words(asked, agent(said)).take_up(entry, SINCE)
    early = agent(said)._replace(time="2026-11-19T10:00:00Z")
    assert not words(early).take_up(entry, SINCE)


def test_common_words_do_not():
    """A rule of everyday words is not used by everyday talk, in one turn or in many."""
    entry = "I never got that email"
    assert not words(agent("I follow that.")).take_up(entry, SINCE)
    rest = [agent(part) for part in TAKEN_UP[0][1].split(", ")]
    assert not words(*rest).take_up("Never change that email, I got it.", SINCE)
