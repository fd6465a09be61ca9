"""The table of scopes: who takes part in a session, and where its lessons go."""

import pytest

from memcli.extraction import scopes
from memcli.extraction.scopes import Home, place_of, targets_of
from memcli.memory.values import place

INPUTS = {"transcript": "yes", "human turns": "yes"}


def names(**more):
    given = {"home": Home(), "llm": True, "global_on": False, **more}
    return [
        scope.name
        for scope in scopes.chosen((), given.pop("inputs", INPUTS), **given)[0]
    ]


@pytest.mark.parametrize("llm", [True, False])
def test_a_plain_session_runs_what_has_input(llm):
    """Without files and jobs: what needs only the transcript."""
    plain = ["observations", "escalation", "project", "corrective", "episode"]
    assert names(llm=llm) == plain and len(scopes.SCOPES) == 12


def test_team_needs_a_task_and_its_memories():
    """In a job alone the session scope runs, in a task the team scope, too."""
    assert "team" not in names(home=Home("j")) and "session" in names(home=Home("j"))
    assert "team" in names(home=Home("j", "t"), inputs={**INPUTS, "task memories": "x"})


def test_only_what_is_wanted_runs_and_what_is_skipped_has_a_reason():
    """Others are not even named; no scope vanishes."""
    runs, skipped = scopes.chosen(
        ["corrective"], INPUTS, Home(), llm=True, global_on=False
    )
    assert [scope.name for scope in runs] == ["corrective"] and skipped == ()
    runs, skipped = scopes.chosen((), {}, Home(), llm=False, global_on=False)
    assert len(runs) + len(skipped) == len(scopes.SCOPES) and all(
        skip.why for skip in skipped
    )


TASK = Home(
    job="j",
    task="t",
    job_folder=".mem/jobs/j",
    task_folder=".mem/jobs/j/tasks/t/worktree",
)


@pytest.mark.parametrize(("name", "home", "level", "job", "task"), [
    ("~/MEMORY.md", TASK, "global", "", ""),
    ("MEMORY.md", TASK, "project", "", ""),
    ("tasks/episodes.md", Home(), "project", "", ""),
    (".mem/jobs/j/MEMORY.md", TASK, "job", "j", ""),
    (".mem/jobs/j/tasks/episodes.md", TASK, "job", "j", ""),
    (".mem/jobs/j/tasks/t/worktree/MEMORY.md", TASK, "task", "j", "t"),
    (".mem/jobs/jane/MEMORY.md", TASK, "project", "", ""),
])  # fmt: skip
def test_a_file_that_is_not_there_yet_has_the_place_it_will_be_read_at(
    name, home, level, job, task
):
    """A job that only begins like ours is another one."""
    found = place_of(name, home)
    assert (found.level, found.job, found.task, found.store) == (
        level,
        job,
        task,
        "memory",
    )


@pytest.mark.parametrize("home", [Home(), Home("j", "", ".mem/jobs/j"), TASK])
def test_every_target_lies_where_its_place_says(home):
    """Targets and places are told by two functions; they agree."""
    for name, where in targets_of("s 1/../x", home).values():
        assert place_of(name, home) == where, name
        assert ".." not in name and " " not in name


def test_a_session_without_a_usable_id_has_a_file_all_the_same():
    """And no letter of an id becomes a part of a path."""
    assert targets_of("", Home())["proxy-tasks"][0] == "proxy-tasks/session.md"
    assert targets_of("../a b/é", Home())["proxy-tasks"] == (
        "proxy-tasks/---a-b--.md",
        place("project", "---a-b--.md", folder="proxy-tasks"),
    )
