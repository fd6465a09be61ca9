"""mem extract where something it reads or remembers is damaged, missing or in the
way."""

from tests.commands.talk import in_job, saved, state, talk

RULES = ("--engine", "rules")


def test_a_task_that_is_not_there_is_named(project):
    """With the folder it would have; nothing is learned into the job instead."""
    in_job(project)
    before = state(project)
    result = project.ends(
        2,
        "extract",
        saved(project, talk(project)),
        *RULES,
        "--job",
        "shop",
        "--task",
        "none",
    )
    assert "--task none: no such task" in result.err
    assert "tasks/none" in result.err
    assert state(project) == before


def test_a_memory_file_that_is_no_text_is_named_and_the_session_learned_from(
    project,
):
    """What it knows cannot be looked at; it is not written to either."""
    bad = project.write("tasks/broken.md", b"---\nid: x\n---\n\xff\n")
    result = project.ends(3, "extract", saved(project, talk(project)), *RULES)
    assert "tasks/broken.md:4" in result.err
    assert any(
        "imperative mood" in entry.body
        for entry in project.entries("proxy.md") + project.entries()
    )
    assert bad.read_bytes() == b"---\nid: x\n---\n\xff\n"


def test_a_state_file_that_is_no_database_is_said_and_costs_nothing(project, world):
    """The session is read from its start, and nothing in it is learned again."""
    path = saved(project, talk(project))
    project.ok("extract", path, *RULES)
    before = state(project)
    for database in (world / "state").rglob("state.db*"):
        database.write_bytes(b"no database" * 100)
    result = project.ok("extract", path, *RULES)
    assert "could not be remembered" in result.err
    assert state(project) == before
