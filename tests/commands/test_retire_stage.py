"""mem retire-stage: what was true for one stage leaves with it."""

import json
import os
from pathlib import Path

import pytest

from memcli.memory.parser import parse
from tests.commands.talk import Talk, in_job, saved


def stages(project, name="MEMORY.md"):
    return {entry.id: entry.status for entry in parse(project.read(name), name).entries}


def fill(project, name="MEMORY.md"):
    project.write(
        name,
        project.entry(id="t-design", domain="task", phase="design")
        + project.entry(id="team-design", domain="team", phase="design")
        + project.entry(id="t-impl", domain="task", phase="implementation")
        + project.entry(
            id="c-design", domain="task", phase="design", status="compacted"
        )
        + "".join(project.entry(id=f"other-{number}") for number in range(5)),
    )


def goes_on(project):
    """From the stage that was known to the next."""
    project.write(".current-stage", "design\n")
    project.write("INTENT.md", "Stage: review\n")


def none_ended(project):
    assert project.read(".current-stage") == "design\n"
    assert "retired" not in stages(project).values()


def test_a_named_stage_retires_its_live_task_entries(project):
    """Domain task and that phase, compacted ones too; team entries survive; the stage
    file is left."""
    fill(project)
    project.ok("retire-stage", "design")
    after = stages(project)
    assert [name for name in after if after[name] == "retired"] == [
        "t-design",
        "c-design",
    ]
    assert not project.has(".current-stage")
    assert "retired_because: stage design" in project.read()
    again = project.ok("retire-stage", "design")
    assert "retired 0 entries" in again.out


def test_unknown_never_retires_and_a_wrong_stage_is_a_usage_error(project):
    """`unknown` is no stage that ends; other words list the stages."""
    project.remembers(id="u", domain="task", phase="unknown")
    project.ok("retire-stage", "unknown")
    assert stages(project) == {"u": "active"}
    wrong = project.ends(2, "retire-stage", "lunch")
    assert "specification, planning" in wrong.err


def test_the_first_detection_only_writes_the_stage(project):
    """Nothing ended yet; the second detection of another stage retires the first."""
    fill(project)
    project.write("INTENT.md", "---\nstage: design\n---\nBuild a shop.\n")
    project.ok("retire-stage")
    none_ended(project)
    project.write("INTENT.md", "---\nstage: implementation\n---\nBuild a shop.\n")
    project.ok("retire-stage")
    assert project.read(".current-stage") == "implementation\n"
    assert stages(project)["t-design"] == "retired"


LASTING = {
    "policy": "Never add a permission without asking the owner.",
    "architecture": "The importer writes to a queue, the worker reads it.",
    "workflow": "Bump the version, build, then tag.",
}


def test_what_has_a_kind_at_the_project_outlasts_its_stage(project):
    """What was added in a stage that ended is live after it, and recalled."""
    project.write("INTENT.md", "---\nstage: design\n---\n")
    project.ok("retire-stage")
    for kind, text in LASTING.items():
        project.ok("add", "--kind", kind, text)
    project.write("INTENT.md", "---\nstage: implementation\n---\n")
    result = project.ok("compact", "--due")
    assert "retired" not in result.out
    assert project.read(".current-stage") == "implementation\n"
    assert set(stages(project).values()) == {"active"}
    assert "permission" in project.mem("recall", "add a permission").out


@pytest.mark.parametrize("kind", LASTING)
def test_an_entry_of_an_earlier_version_is_protected_as_it_stands(project, kind):
    """It says `domain: task`; nothing of it is rewritten, whatever ends its stage."""
    goes_on(project)
    old = project.entry(id="old", kind=kind, domain="task", phase="design")
    new = project.entry(id="new", domain="task", phase="design")
    more = "".join(project.entry(id=f"more-{number}") for number in range(4))
    path = project.memory(old + new + more)
    project.ok("retire-stage", "design")
    assert path.read_text().startswith(old)
    assert stages(project)["new"] == "retired"
    project.ok("compact", "--due")
    assert path.read_text().startswith(old)


def test_the_domain_follows_the_level_and_can_be_said(project):
    """A job's and a task's entries pass with their stage, `--domain` says otherwise."""
    in_job(project)
    for level, domain in (("project", "team"), ("global", "team"), ("job", "task")):
        job = ("--job", "shop") if level == "job" else ()
        added = project.mem("add", f"At {level}.", "--level", level, *job, "--json")
        shown = project.mem("show", added.json["id"], "--json").json
        assert shown["domain"] == domain
    added = project.mem("add", "For this stage.", "--domain", "task", "--json").json[
        "id"
    ]
    assert project.mem("show", added, "--json").json["domain"] == "task"
    edited = project.ok("edit", added, "--domain", "team", "--json")
    assert edited.json["changed"] == ["domain"]
    assert project.mem("show", added, "--json").json["domain"] == "team"
    project.ends(2, "add", "x", "--domain", "both")
    project.ends(2, "edit", added, "--domain", "both")


@pytest.mark.parametrize("args", [("retire-stage",), ("compact", "--due")])
def test_a_stage_that_would_take_too_much_is_refused(project, args):
    """More than a quarter of a file's live entries: exit 5, nothing is written, until
    it is allowed."""
    goes_on(project)
    gone = "".join(
        project.entry(f"Gone {number}", domain="task", phase="design")
        for number in range(2)
    )
    path = project.memory(gone + project.entry() + project.entry())
    before = path.read_text()
    refused = project.ends(5, *args)
    assert "2 of 4 live entries would leave MEMORY.md" in refused.err
    assert "--allow-loss" in refused.err
    assert path.read_text() == before
    assert project.read(".current-stage") == "design\n"
    project.ok(*args, "--allow-loss")
    assert project.read(".current-stage") == "review\n"
    assert path.read_text() != before


def test_a_run_never_retires_what_it_wrote(project):
    """The stage moves first; the session is learned with the stage it began in, and a
    second run finds nothing new and takes nothing away."""
    goes_on(project)
    said = Talk(project.root).user(
        "Never log the proxy password, not even in debug builds."
    )
    said.agent("Understood, it is not logged any more.")
    path = saved(project, said)
    project.ok("extract", path)
    (entry,) = [e for e in project.entries() if e.kind != "episode"]
    assert (entry.status, entry.phase, entry.domain) == ("active", "design", "team")
    assert project.read(".current-stage") == "review\n"
    again = project.mem("extract", path)
    assert "nothing new" in again.out
    assert len(project.entries()) == 1


def test_what_leaves_with_the_stage_is_learned_anew(project):
    """The stage moves before memory is read: what it retires is not reinforced."""
    rule = "Never log the proxy password, not even in debug builds."
    goes_on(project)
    passing = {"domain": "task", "phase": "design"}
    others = "".join(project.entry(id=f"other-{number}") for number in range(4))
    project.memory(project.entry(id="passes", body=rule, **passing) + others)
    said = Talk(project.root).user(rule).agent("Understood, it is not logged any more.")
    project.ok("extract", saved(project, said))
    (learned,) = [
        entry
        for entry in project.entries()
        if "proxy" in entry.body and entry.id != "passes"
    ]
    assert (learned.status, learned.reinforcement_count) == ("active", 0)


@pytest.mark.parametrize(
    "text",
    [
        b"Stage: review\n\0\1\2",
        b"Stage: review\n\xff\n",
        b"Stage: review\n" + b"x" * 10_000_000,
    ],
)
def test_an_intent_that_is_no_text_is_unknown(project, text):
    """One line says so; the stage stays, and what else is due is done."""
    project.write(".current-stage", "design\n")
    project.write("INTENT.md", text)
    fill(project)
    project.write("tasks/a.md", project.entry(id="r", status="retired"))
    told = project.ends(3, "retire-stage")
    assert "unknown" in told.out
    assert told.err.count("INTENT.md") == 1
    assert len(told.err.splitlines()) == 1
    due = project.ok("compact", "--due")
    assert "INTENT.md" in due.err
    assert "retired" in due.out
    none_ended(project)


def test_unknown_never_overwrites_a_known_stage(project):
    """A statement that says nothing leaves the stage and the entries alone."""
    fill(project)
    project.write(".current-stage", "design\n")
    project.write("INTENT.md", "A shop sells things.")
    project.ok("retire-stage")
    none_ended(project)


def test_a_job_has_its_own_stage_and_entries(project):
    """`--job` acts on that job and its tasks, and on nothing else."""
    fill(project)
    fill(project, ".mem/jobs/j/MEMORY.md")
    fill(project, ".mem/jobs/j/tasks/t/MEMORY.md")
    fill(project, ".mem/jobs/k/MEMORY.md")
    project.ok("retire-stage", "design", "--job", "j")
    assert stages(project, ".mem/jobs/j/MEMORY.md")["t-design"] == "retired"
    assert stages(project, ".mem/jobs/j/tasks/t/MEMORY.md")["t-design"] == "retired"
    for other in ("MEMORY.md", ".mem/jobs/k/MEMORY.md"):
        assert stages(project, other)["t-design"] == "active"


def test_a_model_is_asked_only_when_the_user_enabled_it(project, world):
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
    assert project.mem("retire-stage", "--check", *sets).out.strip() == "review"
    project.write("~/replies.jsonl", json.dumps("no idea") + "\n")
    assert project.mem("retire-stage", "--check", *sets).out.strip() == "unknown"
    project.write("~/replies.jsonl", "not json\n")
    failed = project.mem("retire-stage", "--check", *sets)
    assert failed.code == 4 or failed.out.strip() == "unknown"
    project.write(".mem.toml", 'llm = "scripted"\n')
    refused = project.ends(2, "retire-stage", "--check")
    assert ".mem.toml:1" in refused.err


def test_a_file_whose_name_is_no_utf8_is_retired_in_its_place(project):
    """Not in a copy under the name as it is printed."""
    (project.root / ".mem.toml").write_text('memory_files = ["notes/*.md"]\n')
    (project.root / "notes").mkdir()
    entry = project.entry("Alpha", phase="planning", domain="task")
    Path(os.fsdecode(bytes(project.root) + b"/notes/x\xff.md")).write_text(entry)
    project.ok("retire-stage", "planning")
    (name,) = os.listdir(bytes(project.root / "notes"))
    assert name == b"x\xff.md"
    assert (
        "status: retired"
        in Path(os.fsdecode(bytes(project.root / "notes") + b"/" + name)).read_text()
    )
