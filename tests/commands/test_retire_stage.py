"""mem retire-stage: what was true for one stage leaves with it."""

import json
import os
from pathlib import Path

from memcli.memory.parser import parse
from tests.conftest import Project


def stages(project: Project, name: str = "MEMORY.md") -> dict[str, str]:
    return {
        entry.id: entry.status
        for entry in parse((project.root / name).read_text(), name).entries
    }


def fill(project: Project, name: str = "MEMORY.md") -> None:
    project.write(
        name,
        project.entry(id="t-design", domain="task", phase="design")
        + project.entry(id="team-design", domain="team", phase="design")
        + project.entry(id="t-impl", domain="task", phase="implementation")
        + project.entry(
            id="c-design", domain="task", phase="design", status="compacted"
        ),
    )


def test_a_named_stage_retires_its_live_task_entries(project: Project) -> None:
    """Domain task and that phase, compacted ones too; team entries survive; the stage
    file is left."""
    fill(project)
    assert project.mem("retire-stage", "design").code == 0
    assert stages(project) == {
        "t-design": "retired", "team-design": "active", "t-impl": "active", "c-design": "retired",
    }  # fmt: skip
    assert not (project.root / ".current-stage").exists()
    assert "retired_because: stage design" in (project.root / "MEMORY.md").read_text()
    again = project.mem("retire-stage", "design")
    assert again.code == 0 and "retired 0 entries" in again.out


def test_unknown_never_retires_and_a_wrong_stage_is_a_usage_error(
    project: Project,
) -> None:
    """`unknown` is no stage that ends; other words list the stages."""
    project.write("MEMORY.md", project.entry(id="u", domain="task", phase="unknown"))
    assert project.mem("retire-stage", "unknown").code == 0
    assert stages(project) == {"u": "active"}
    wrong = project.mem("retire-stage", "lunch")
    assert wrong.code == 2 and "specification, planning" in wrong.err


def test_the_first_detection_only_writes_the_stage(project: Project) -> None:
    """Nothing ended yet; the second detection of another stage retires the first."""
    fill(project)
    project.write("INTENT.md", "---\nstage: design\n---\nBuild a shop.\n")
    assert project.mem("retire-stage").code == 0
    assert (project.root / ".current-stage").read_text() == "design\n"
    assert "retired" not in stages(project).values()
    project.write("INTENT.md", "---\nstage: implementation\n---\nBuild a shop.\n")
    assert project.mem("retire-stage").code == 0
    assert (project.root / ".current-stage").read_text() == "implementation\n"
    assert stages(project)["t-design"] == "retired"


def test_unknown_never_overwrites_a_known_stage(project: Project) -> None:
    """A statement that says nothing leaves the stage and the entries alone."""
    fill(project)
    project.write(".current-stage", "design\n")
    project.write("INTENT.md", "A shop sells things.")
    assert project.mem("retire-stage").code == 0
    assert (project.root / ".current-stage").read_text() == "design\n"
    assert "retired" not in stages(project).values()


def test_a_job_has_its_own_stage_and_entries(project: Project) -> None:
    """`--job` acts on that job and its tasks, and on nothing else."""
    fill(project)
    fill(project, ".mem/jobs/j/MEMORY.md")
    fill(project, ".mem/jobs/j/tasks/t/MEMORY.md")
    fill(project, ".mem/jobs/k/MEMORY.md")
    assert project.mem("retire-stage", "design", "--job", "j").code == 0
    assert stages(project, ".mem/jobs/j/MEMORY.md")["t-design"] == "retired"
    assert stages(project, ".mem/jobs/j/tasks/t/MEMORY.md")["t-design"] == "retired"
    for other in ("MEMORY.md", ".mem/jobs/k/MEMORY.md"):
        assert stages(project, other)["t-design"] == "active"


def test_a_model_is_asked_only_when_the_user_enabled_it(
    project: Project, world: object
) -> None:
    """The scripted model decides what rules cannot; a reply without a stage, or none,
    is unknown."""
    project.write("INTENT.md", "A shop sells things.")
    project.write("~/replies.jsonl", json.dumps("I would say: review.") + "\n")
    sets = (
        "--set",
        "llm=scripted",
        "--set",
        f"llm_replies={project.home / 'replies.jsonl'}",
    )
    assert project.mem("retire-stage", "--detect-only", *sets).out.strip() == "review"
    project.write("~/replies.jsonl", json.dumps("no idea") + "\n")
    assert project.mem("retire-stage", "--detect-only", *sets).out.strip() == "unknown"
    project.write("~/replies.jsonl", "not json\n")
    failed = project.mem("retire-stage", "--detect-only", *sets)
    assert failed.code == 4 or failed.out.strip() == "unknown"
    project.write(".mem.toml", 'llm = "scripted"\n')
    refused = project.mem("retire-stage", "--detect-only")
    assert refused.code == 2 and ".mem.toml:1" in refused.err


def test_a_file_whose_name_is_no_utf8_is_retired_in_its_place(project: Project) -> None:
    """Not in a copy under the name as it is printed."""
    (project.root / ".mem.toml").write_text('memory_files = ["notes/*.md"]\n')
    (project.root / "notes").mkdir()
    entry = project.entry("Alpha", phase="planning", domain="task")
    Path(os.fsdecode(bytes(project.root) + b"/notes/x\xff.md")).write_text(entry)
    assert project.mem("retire-stage", "planning").code == 0
    (name,) = os.listdir(bytes(project.root / "notes"))
    assert name == b"x\xff.md"
    assert (
        "status: retired"
        in Path(os.fsdecode(bytes(project.root / "notes") + b"/" + name)).read_text()
    )
