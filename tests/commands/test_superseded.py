"""An old value is told by no layer and no hook once the new one is known."""

import json
import re
from pathlib import Path

import pytest

from tests.commands.talk import Talk, saved

VALUES = json.loads(Path(__file__).with_name("superseded.json").read_text("utf-8"))
"""The old value, the new one, and what stands in the old one alone."""
WRITTEN = "service.py"


def everything_told(project, task):
    """What recall, the start, a prompt and the moment before a tool tell of it."""
    edit = {
        "file_path": str(project.root / WRITTEN),
        "old_string": "a",
        "new_string": "b",
    }
    told = "\n".join((
        project.mem("recall", task).out,
        project.mem("recall", task, "--ranked").out,
        project.hook("session-start", "a", source="startup").out,
        project.hook("prompt", "b", prompt=f"{task}?").out,
        project.hook("pre-tool", "c", tool_name="Edit", tool_input=edit).out,
    ))  # fmt: skip
    return re.sub(r"\b[0-9a-f]{8}\b", "", told)  # an id may have the value's digits


@pytest.mark.parametrize(("old", "new", "gone"), VALUES, ids=lambda text: text[:24])
def test_the_old_value_is_told_nowhere(project, old, new, gone):
    """Control: before the new one is known the old one is told; after it the new."""
    project.write(WRITTEN, "PORT = 1\n")
    words = ("--kind", "pitfall", "--path", WRITTEN)
    project.mem("add", old, *words)
    assert gone in everything_told(project, old)
    result = project.mem("add", new, *words)
    assert "supersedes" in result.out
    told = everything_told(project, new)
    assert gone not in told
    assert new.rpartition(" ")[2] in told


@pytest.mark.parametrize(
    ("day", "live"), [("2025-01-05", "9090"), ("2026-11-21", "8080")]
)
def test_a_session_of_before_supersedes_nothing(project, day, live):
    """A backlog that is read late has the old value; of the same day the last holds."""
    project.ok("add", "The gateway listens on port 9090")
    said = Talk(project.root, "s-old", day).user(
        "Remember that the gateway listens on port 8080."
    )
    result = project.ok("extract", saved(project, said))
    entries = [one for one in project.entries() if one.status != "retired"]
    assert [live in one.body for one in entries] == [True]
    assert ("said otherwise since" in result.out) == (live == "9090")
