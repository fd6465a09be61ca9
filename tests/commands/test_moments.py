"""mem extract --premortem and --checkpoint where something is missing, odd, or in the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Project

CHECKPOINT = ("extract", "--checkpoint", "design", "--assume", "complexity=low")
PREMORTEM = ("extract", "--premortem", "deploy the cache")


@pytest.mark.parametrize("verb", [CHECKPOINT, PREMORTEM])
def test_outside_of_a_project_nothing_is_written(
    project: Project, tmp_path: Path, verb: tuple[str, ...]
) -> None:
    """There is no folder that the note would belong to."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = project.mem(*verb, cwd=elsewhere)
    assert done.code == 2 and "no project here" in done.err and list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("job", ["none", "..", "../jobs/shop", ".", "shop/tasks"])
@pytest.mark.parametrize("verb", [CHECKPOINT, PREMORTEM])
def test_a_job_is_named_by_its_folder_alone(
    project: Project, verb: tuple[str, ...], job: str
) -> None:
    """A way to another place is no name, even if it leads to a folder that exists."""
    (project.root / ".mem/jobs/shop/tasks").mkdir(parents=True)
    before = sorted(project.root.rglob("*"))
    done = project.mem(*verb, "--job", job)
    why = "no such job" if job == "none" else "no name of a job"
    assert done.code == 2 and why in done.err
    written = {path.name for path in set(project.root.rglob("*")) - set(before)}
    assert not {".premortem.md", ".assumptions.jsonl"} & written


def test_a_premortem_without_a_task_is_refused(project: Project) -> None:
    """There is nothing to foresee."""
    done = project.mem("extract", "--premortem", " ")
    assert done.code == 2 and not (project.root / ".premortem.md").exists()


@pytest.mark.parametrize(
    ("name", "verb"), [(".assumptions.jsonl", CHECKPOINT), (".premortem.md", PREMORTEM)]
)
def test_a_note_that_cannot_be_read_is_not_written_over(
    project: Project, name: str, verb: tuple[str, ...]
) -> None:
    """Its line is named, and its bytes stay."""
    path = project.write(name, b"one\ntwo \xff\n")
    done = project.mem(*verb)
    assert done.code == 3 and f"{name}:2:" in done.err and path.read_bytes() == b"one\ntwo \xff\n"


def test_a_last_line_without_its_end_stays_a_line_of_its_own(project: Project) -> None:
    """Some editors take the last line end away."""
    project.write(".assumptions.jsonl", '{"milestone": "old"}')
    assert project.mem(*CHECKPOINT).code == 0
    rows = (project.root / ".assumptions.jsonl").read_text().splitlines()
    assert [json.loads(row)["milestone"] for row in rows] == ["old", "design"]


def test_a_premortem_is_written_even_if_the_model_fails(project: Project, world: Path) -> None:
    """What is known from memory is worth having; why the rest is missing is said."""
    pitfall = project.entry("Cold cache", "The cache is cold after a deploy.", type="corrective")
    project.write("MEMORY.md", pitfall)
    replies = world / "replies.jsonl"
    replies.write_text(json.dumps({"match": "premortem", "reply": {"items": "none"}}) + "\n")
    env = {"MEM_LLM": "scripted", "MEM_LLM_REPLIES": str(replies)}
    done = project.mem(*PREMORTEM, "--engine", "llm", env=env)
    text = (project.root / ".premortem.md").read_text()
    assert done.code == 4 and "Cold cache" in text and "Risks foreseen" not in text
    assert "reply is not as asked" in done.err


@pytest.mark.parametrize("verb", [CHECKPOINT, PREMORTEM])
def test_a_dry_run_of_a_note_writes_nothing(project: Project, verb: tuple[str, ...]) -> None:
    """Neither the file nor the pattern that hides it from git."""
    done = project.mem(*verb, "--dry-run")
    assert done.code == 0 and "+" in done.out
    assert not list(project.root.glob(".premortem.md")) and not list(
        project.root.glob(".assumptions.jsonl")
    )
    excluded = (project.root / ".git/info/exclude").read_text()
    assert ".premortem.md" not in excluded and ".assumptions.jsonl" not in excluded
