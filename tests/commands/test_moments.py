"""mem extract --premortem and --checkpoint where something is missing, odd, or in the
way."""

import pytest

CHECKPOINT = ("extract", "--checkpoint", "design", "--assume", "complexity=low")
PREMORTEM = ("extract", "--premortem", "deploy the cache")


@pytest.mark.parametrize("job", ["none", "..", "../jobs/shop", ".", "shop/tasks"])
@pytest.mark.parametrize("verb", [CHECKPOINT, PREMORTEM])
def test_a_job_is_named_by_its_folder_alone(project, verb, job):
    """A way to another place is no name, even if it leads to a folder that exists."""
    (project.root / ".mem/jobs/shop/tasks").mkdir(parents=True)
    before = sorted(project.root.rglob("*"))
    result = project.mem(*verb, "--job", job)
    why = "no such job" if job == "none" else "not a name of a job"
    assert result.code == 2
    assert why in result.err
    written = {path.name for path in set(project.root.rglob("*")) - set(before)}
    assert not {".premortem.md", ".assumptions.jsonl"} & written


@pytest.mark.parametrize(
    ("name", "verb"), [(".assumptions.jsonl", CHECKPOINT), (".premortem.md", PREMORTEM)]
)
def test_a_note_that_cannot_be_read_is_not_written_over(project, name, verb):
    """Its line is named, and its bytes stay."""
    path = project.write(name, b"one\ntwo \xff\n")
    result = project.ends(3, *verb)
    assert f"{name}:2:" in result.err
    assert path.read_bytes() == b"one\ntwo \xff\n"
