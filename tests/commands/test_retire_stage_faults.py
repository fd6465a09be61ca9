"""mem retire-stage where something is missing, damaged, or in the way."""

import pytest

DESIGN = {"domain": "task", "phase": "design"}


@pytest.mark.parametrize("name", ["INTENT.md", ".current-stage"])
def test_a_file_that_is_no_text_stops_the_detection(project, name):
    """By name and line; no entry is retired on a guess."""
    project.remembers("Choice", "We chose SQLite.", **DESIGN)
    project.write("INTENT.md", "Stage: review\n")
    project.write(".current-stage", "design\n")
    project.write(name, b"Stage: review\n\xff\n")
    before = project.data("MEMORY.md")
    result = project.ends(3, "retire-stage")
    assert f"{name}:2: is not UTF-8 text" in result.err
    assert project.data("MEMORY.md") == before


def test_one_bad_file_is_named_and_the_others_are_retired(project):
    """A file that is no text and one with conflict markers are passed over; the exit
    status says so."""
    project.remembers("Choice", "We chose SQLite.", id="good", **DESIGN)
    project.write("tasks/broken.md", b"---\nid: x\n---\n\xff\n")
    conflict = "<<<<<<< ours\nA\n=======\nB\n>>>>>>> theirs\n"
    torn = project.write(
        "tasks/torn.md", project.entry("Torn", "Words.", id="torn", **DESIGN) + conflict
    )
    result = project.ends(3, "retire-stage", "design")
    assert "tasks/broken.md:4" in result.err
    assert "tasks/torn.md" in result.err
    assert "status: retired" in project.read("MEMORY.md")
    assert "status: retired" not in torn.read_text()
