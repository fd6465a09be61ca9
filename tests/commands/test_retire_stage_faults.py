"""mem retire-stage where something is missing, damaged, or in the way."""

DESIGN = {"domain": "task", "phase": "design"}


def test_a_stage_file_that_is_no_text_stops_the_detection(project):
    """By name and line; no entry is retired on a guess."""
    project.remembers("Choice", "We chose SQLite.", **DESIGN)
    project.write("INTENT.md", "Stage: review\n")
    project.write(".current-stage", b"design\n\xff\n")
    before = project.data()
    result = project.ends(3, "retire-stage")
    assert ".current-stage:2: is not UTF-8 text" in result.err
    assert project.data() == before


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
    assert "status: retired" in project.read()
    assert "status: retired" not in torn.read_text()
