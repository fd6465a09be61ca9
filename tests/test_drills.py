"""The drills in their short form; tests/drills has the long ones.

Each runs in a process of its own: it forks, which is only safe where there are no
threads."""

import os
import sys
from pathlib import Path

import pytest

from tests.drills import crash, crowd, play
from tests.programs import finished

HERE = Path(__file__).parents[1]
QUICK = (
    "add",
    "compact",
    "undo",
    "extract",
    "merge-driver",
    "hook session-end",
)


def drilled(name, *arguments):
    """What a drill says; that it found nothing is asserted."""
    command = [sys.executable, "-m", f"tests.drills.{name}", *arguments]
    process = finished(*command, cwd=HERE, env=os.environ)
    return process.stdout


def test_a_killed_command_loses_nothing_and_the_next_one_finishes():
    """Writing verbs killed at steps of their writes and at random instants."""
    only = [word for verb in QUICK for word in ("--only", verb)]
    said = drilled("crash", "--kills", "24", "--files", "10", "--seed", "3", *only)
    assert (
        said.startswith("24 kills of 6 verbs over 10 files:") and "0 failures" in said
    )


@pytest.mark.parametrize("embedder", ["none", "local"])
def test_many_at_once_lose_nothing(embedder):
    """Processes that recall, write, commit and merge at the same time."""
    said = drilled(
        "crowd",
        "--processes",
        "6",
        "--seconds",
        "4",
        "--seed",
        "3",
        "--embedder",
        embedder,
    )
    assert said.startswith("6 processes, 4 s") and "0 failures" in said


def test_the_checker_of_crashes_sees_what_is_wrong(tmp_path):
    """A torn file, a lost entry, a temporary file, a journal and a note in the lock are
    each named."""
    crash.build(tmp_path / "world" / "root", 10)
    world = crash.World(tmp_path)
    old = world.files()
    name = "world/root/tasks/t0.md"
    whole = crash.Whole(
        old, (old,), {key: {text} for key, text in old.items()}, (), (), 0.0
    )
    torn = {**old, name: old[name][: len(old[name]) // 2]}
    assert crash.torn(whole, torn) == [f"{name} is neither the old nor the new file"]
    assert crash.torn(whole, old) == []
    gone = {key: text for key, text in old.items() if key != name}
    assert len(crash.lost(old, gone, allowed=set())) == 6
    assert crash.lost(old, gone, allowed=crash.ids(old)) == []
    assert crash.litter(world) == []
    (world.root / ".MEMORY.md.mem-tmp-1-a").touch()
    (world.state / "pending").mkdir(parents=True)
    (world.state / "pending" / "x.json").touch()
    (world.state / "write.lock").write_text("[1]", encoding="utf-8")
    assert len(crash.litter(world)) == 3


@pytest.mark.parametrize(("code", "said", "wrong"), [
    (0, "", 0), (5, "mem: busy", 0), (1, "mem: no", 1), (0, "database is locked", 1), (5, "Traceback", 1),
])  # fmt: skip
def test_the_checker_of_crowds_sees_what_is_wrong(tmp_path, code, said, wrong):
    """A failure, a traceback or a lock that is shown counts."""
    done = crowd.Done("add", code, "word", 0.1, said)
    assert len(crowd.judged([done])) == wrong
    crowd.build(tmp_path)
    assert len(crowd.missing(tmp_path, [done])) == (0 if code else 1)
    assert crowd.miscounted(tmp_path, [done]) == []
    assert (
        len(
            crowd.miscounted(
                tmp_path, [crowd.Done("reinforce", 0, "counted-1", 0.1, "")]
            )
        )
        == 1
    )


def test_a_hit_that_another_process_removes_meanwhile_is_still_shown(project):
    """Between finding and showing, the index may be brought up to date by somebody
    else."""
    project.remembers("Freeze the clock", "Checkout tests fail at midnight.", id="a")
    with project.app() as app:
        app.refresh()
        (candidate,) = app.index.entries.copies(["a"])
        assert "midnight" in app.index.entries.text(candidate)
        project.memory("# Memory\n")
        project.ok("index")
        assert app.index.entries.text(candidate) == candidate.text


def test_two_homes_that_are_killed_while_they_sync_hold_the_same():
    """Nothing that was written in either is lost, and no count is counted twice."""
    said = drilled("homes", "--edits", "8", "--syncs", "12", "--seed", "3")
    assert said.startswith("2 homes, 8 edits each, 12 syncs") and " 0 faults" in said


def test_a_play_keeps_its_lessons_and_no_idle_turn():
    """Twelve sessions over the four stages, through hooks, git and the commands."""
    said = drilled("play", "--sessions", "12")
    assert "4 of 4 lessons live, 0 idle turns kept, 0 archive blocks twice" in said


def test_the_checker_of_plays_sees_what_is_wrong(tmp_path):
    """A lesson that is gone, an idle turn that is kept, a block that stands twice."""
    stage = play.Stage(tmp_path)
    entry = "---\nid: a\ntype: directive\nstatus: active\n---\n## Email\n"
    idle = f"{entry}I never got that email.\n\n"
    (stage.root / "MEMORY.md").write_text(idle)
    (stage.root / "MEMORY.archive.md").write_text(idle * 2)
    wrong = play.faults(stage, play.LESSONS[:1])
    assert [line.partition(":")[0] for line in wrong] == [
        "kept",
        "twice",
        "1 lessons of 1 are not live",
    ]
