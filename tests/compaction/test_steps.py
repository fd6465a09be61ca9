"""The edges of compaction: what is just enough, and what is just too little."""

import datetime

import pytest

from memcli.compaction.plan import (
    Compaction,
    CompactOutcome,
    CompactRequest,
    StageEnd,
    outcome_of,
)
from memcli.compaction.steps import is_stale, take_steps
from memcli.memory.changes import ChangeSet, render_entry
from memcli.memory.parser import KnownFile, parse
from memcli.memory.prominence import is_used
from memcli.memory.values import Patch, place

NOW = datetime.date(2026, 11, 21)
PROJECT = place("project", "MEMORY.md")
CLOCK = "Freeze the clock in every cart test, because the cart expires at midnight and the build runs at night."


def entry(id, body="", **values):
    keys = {"id": id, "type": "procedural", "domain": "task", "importance": 0.5, "status": "active",
            "reinforcement_count": 0, "created_at": "2026-11-01", **values}  # fmt: skip
    return (
        render_entry(keys, f"## A title\n{body or f'The word of {id} alone.'}") + "\n"
    )


def source(*texts, path="MEMORY.md", where=PROJECT, writable=True):
    return KnownFile(parse("".join(texts), path), where, writable)


def task(number, *texts, job="", writable=True):
    job = job or f"j{number}"
    where = place("job", "MEMORY.md", job=job)
    return source(
        *texts, path=f".mem/jobs/{job}/MEMORY.md", where=where, writable=writable
    )


def done(*sources, **steps):
    return take_steps(Compaction(sources, {}, NOW), CompactRequest(**steps))


def one(**values):
    return parse(entry("a", **values), "MEMORY.md").entries[0]


def day(back):
    return (NOW - datetime.timedelta(days=back)).isoformat()


@pytest.mark.parametrize(("back", "importance", "stale"), [
    (90, 0.1, False), (91, 0.1, True), (91, 0.19, True), (91, 0.21, False), (400, 0.9, True),
    (3000, 0.99, True), (3000, 1.0, False),
])  # fmt: skip
def test_stale_is_older_than_ninety_days_and_below_a_tenth(back, importance, stale):
    """On the ninetieth day an entry stays; at the floor of decay importance 1 weighs
    0.1 exactly, and stays."""
    assert is_stale(one(created_at=day(back), importance=importance), NOW) is stale


def test_a_stage_that_ends_takes_what_was_true_for_it_alone():
    """Task entries of that phase; what holds for the team, or of another phase,
    stays."""
    texts = [
        entry("gone", phase="design"),
        entry("team", phase="design", domain="team"),
        entry("next", phase="implementation"),
    ]
    end = StageEnd(
        job="",
        ended="design",
        current="implementation",
        patch=Patch(".current-stage", None, ""),
    )
    edited = entry("mine", phase="design").replace("alone.", "alone!")
    texts.append(edited.replace("---\n## A", "written: '00000000'\n---\n## A"))
    texts_now = done(source(*texts), ended=(end,)).texts
    assert [e.id for e in parse(texts_now["MEMORY.md"], "x").entries] == [
        "team",
        "next",
        "mine",
    ]


@pytest.mark.parametrize(("spoken", "used"), [(2, False), (3, True)])
def test_three_words_in_ten_are_use(spoken, used):
    """At the bound an entry counts as used."""
    words = "alpha bravo charlie delta echo foxtrot golf hotel india juliet".split()
    [own] = parse(render_entry({"id": "a"}, " ".join(words)), "x").entries
    assert is_used(own, " ".join(words[:spoken])) is used


@pytest.mark.parametrize(("live", "lost", "asked"), [
    (8, 2, False), (8, 3, True), (4, 1, False), (4, 2, True), (3, 3, False),
])  # fmt: skip
def test_more_than_a_quarter_of_a_file_is_a_loss_to_confirm(live, lost, asked):
    """A quarter is not; a file of fewer than four live entries is too small to tell."""
    changes = ChangeSet(
        [source(*(entry(f"e{number}") for number in range(live))).memory]
    )
    for at in range(lost):
        changes.archive(("MEMORY.md", at), "stale")
    found = outcome_of(changes).losses
    assert [loss.detail for loss in found] == [f"{lost} of {live} live entries"] * asked


def test_one_id_twice_in_a_shelf_is_no_pair_to_merge():
    """The same entry in two files of one level is a copy: git's business, not
    compaction's."""
    copies = [
        source(entry("a", CLOCK), path=path) for path in ("MEMORY.md", "tasks/cart.md")
    ]
    assert done(*copies) == CompactOutcome(texts={}, done=(), found=(), losses=())


def test_a_cluster_with_two_that_differ_is_named_and_not_merged():
    """Though a third is like both of them."""
    text = "Restart the worker after each deploy, its queue connection goes stale and jobs are lost then."
    kinds = [
        text.replace("worker", f"{name}worker") for name in ("", "billing ", "search ")
    ]
    outcome = done(
        source(*(entry(str(number), kind) for number, kind in enumerate(kinds)))
    )
    assert outcome.texts == {} and [event.what for event in outcome.found] == [
        "alike but different"
    ]


@pytest.mark.parametrize(("jobs", "promoted"), [(2, False), (3, True)])
def test_what_recurs_in_three_jobs_is_promoted_and_in_two_is_not(jobs, promoted):
    """The copy names where it came from."""
    outcome = done(
        source(),
        *(task(number, entry(f"e{number}", CLOCK)) for number in range(jobs)),
        promote=True,
    )
    assert ("MEMORY.md" in outcome.texts) is promoted
    if promoted:
        [copy] = parse(outcome.texts["MEMORY.md"], "MEMORY.md").entries
        assert copy.extra["promoted_from"] == ["e0", "e1", "e2"] and CLOCK in copy.body


@pytest.mark.parametrize(
    ("sessions", "promoted"), [("s1, s2", False), ("s1, s2, s3", True)]
)
def test_what_recurs_in_three_sessions_of_one_job_is_promoted(sessions, promoted):
    """It is sessions that count then, not entries."""
    outcome = done(
        source(), task(1, entry("a", CLOCK, source=sessions.split(", "))), promote=True
    )
    assert ("MEMORY.md" in outcome.texts) is promoted


def test_a_guarded_source_is_marked_as_promoted_and_binds_on():
    jobs = [
        task(number, entry(f"e{number}", CLOCK, guard="deny")) for number in range(3)
    ]
    texts = done(source(), *jobs, promote=True).texts
    for number in range(3):
        text = texts[f".mem/jobs/j{number}/MEMORY.md"]
        assert "promoted_to" in text and "guard: deny" in text


def test_a_job_in_another_work_tree_counts_but_is_not_marked():
    """Three jobs say it; only the two that may be written learn that it was
    promoted."""
    jobs = [
        task(number, entry(f"e{number}", CLOCK), writable=number > 0)
        for number in range(3)
    ]
    texts = done(source(), *jobs, promote=True).texts
    assert set(texts) == {
        "MEMORY.md",
        ".mem/jobs/j1/MEMORY.md",
        ".mem/jobs/j2/MEMORY.md",
    }
    assert "promoted_to" in texts[".mem/jobs/j1/MEMORY.md"]


def test_a_second_run_promotes_nothing_more():
    """What is known to come from these entries is not counted again."""
    jobs = [task(number, entry(f"e{number}", CLOCK)) for number in range(3)]
    first = done(source(), *jobs, promote=True).texts
    again = [
        source(first["MEMORY.md"]),
        *(task(number, first[f".mem/jobs/j{number}/MEMORY.md"]) for number in range(3)),
    ]
    assert done(*again, promote=True) == CompactOutcome(
        texts={}, done=(), found=(), losses=()
    )


def test_prose_of_another_work_tree_and_norms_are_not_adopted():
    """Only files that may be written, and no institutional ones."""
    prose = "# Notes\n\n## Clocks\nFreeze them in tests.\n"
    norms = source(
        prose, path="institutional.md", where=place("project", "institutional.md")
    )
    assert done(source(prose, writable=False), norms, adopt=True).texts == {}
    assert set(done(source(prose), norms, adopt=True).texts) == {"MEMORY.md"}


def test_a_body_edited_by_hand_stays_in_place_and_is_named():
    """Automatic steps neither archive nor merge what a person changed; its prose below
    stays, too."""
    old = {"importance": 0.1, "created_at": day(400), "type": "corrective"}
    text = render_entry({"id": "a", **old}, "Freeze the clock.") + "\n- mine\n"
    outcome = done(source(text), stale=True)
    assert outcome.texts["MEMORY.md"].strip() == "- mine"
    outcome = done(source(text.replace("clock.", "clock!")), stale=True)
    assert outcome.texts == {} and [event.what for event in outcome.found] == [
        "skipped"
    ]
