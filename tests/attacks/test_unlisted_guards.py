"""Guards whose file is taken out of view: it binds as long as it is there."""

import json
import os
import subprocess
import sys

import pytest

from memcli.storage.files import state_dir
from tests.commands.test_guard import FORCED, call, decided, decision, guards
from tests.conftest import Project

pytestmark = pytest.mark.process
NOTES = "docs/lessons/2020-01-01-a.md"


def rules(project: Project, name: str) -> None:
    """A guard in a file of its own, as the hooks know it."""
    values = {"type": "directive", "guard": "deny", "commands": ["git push --force *"]}
    project.write(name, project.entry("Never force", **values))
    assert decided(project) == "deny"


def unlink_it(project: Project) -> str:
    project.memory("See [rules](notes/rules.md) for it\n")
    rules(project, "notes/rules.md")
    project.memory("See rules for it\n")
    return "notes/rules.md"


def ignore_it(project: Project) -> str:
    rules(project, NOTES)
    project.write(".gitignore", "docs/lessons/\n")
    return NOTES


def exclude_it(project: Project) -> str:
    rules(project, NOTES)
    project.write(".git/info/exclude", "docs/lessons/\n")
    return NOTES


def crowd_it_out(project: Project) -> str:
    rules(project, NOTES)
    for number in range(520):
        project.write(f"docs/lessons/2026-01-01-{number}.md", "# A note\n")
    return NOTES


TAKEN = (unlink_it, ignore_it, exclude_it, crowd_it_out)


@pytest.mark.parametrize("take_out", TAKEN, ids=lambda each: each.__name__)
def test_a_file_out_of_view_goes_on_to_bind(project, take_out):
    """Also with an index that is built anew, until a person lifts its guards."""
    name = take_out(project)
    assert decided(project) == "deny"
    project.mem("index", "--rebuild")
    assert decided(project) == "deny"
    change = {"file_path": str(project.root / name), "content": "nothing"}
    asked = call(project, "", tool_name="Write", tool_input=change)
    assert decision(asked) == "ask"
    (guard,) = guards(project)
    assert guard["place"].startswith(name)
    said = "its file is not in view; the guard applies until you run mem guard --off"
    assert said in project.mem("guard").out
    assert "out of view" in project.mem("doctor").out
    project.ok("guard", "--off", guard["id"][:8])
    assert call(project, FORCED) == ""
    assert "read for its guards" not in project.mem("doctor").out


def test_only_what_binds_is_read_of_a_file_out_of_view(project):
    """No more of it is recalled, and nothing exported."""
    rules(project, NOTES)
    text = project.read(NOTES)
    project.write(NOTES, f"# Flamingo\n\nPink.\n\n{text}{project.entry('Flamingo')}")
    assert "Flamingo" in project.mem("recall", "flamingo").out
    project.write(".gitignore", "docs/lessons/\n")
    assert "lamingo" not in project.mem("recall", "flamingo").out
    exported = project.mem("export", "--stdout").out
    assert "lamingo" not in exported and "Never force" not in exported
    assert decided(project) == "deny"


def test_a_file_that_is_gone_binds_no_more(project):
    """Nor one that is out of view as it comes back."""
    project.memory("# Memory")
    ignore_it(project)
    text = project.data(NOTES)
    (project.root / NOTES).unlink()
    assert call(project, FORCED) == ""
    project.write(NOTES, text)
    assert call(project, FORCED) == ""


def _link_to_itself(path: str) -> None:
    os.symlink(os.path.basename(path), path)


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, _link_to_itself])
def test_what_is_no_file_any_more_goes_on_to_bind(project, put):
    rules(project, "MEMORY.md")
    (project.root / "MEMORY.md").unlink()
    put(str(project.root / "MEMORY.md"))
    assert decision(call(project, FORCED)) == "deny"


def test_a_call_that_does_not_come_in_time_is_asked_about(project):
    """As soon as something binds on this machine, not only when memory is open."""
    rules(project, "MEMORY.md")
    words = [sys.executable, "-m", "memcli", "hook", "pre-tool"]
    env = {**os.environ, "MEM_HOOK_SECONDS": "8"}
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, env=env) as hook:
        assert hook.stdout is not None
        assert decision(json.loads(hook.stdout.read())) == "ask"


BROKEN = """
from memcli.hooks import before_tool, protocol
def pre_tool(*_): raise RuntimeError("broken")
before_tool.pre_tool = pre_tool
protocol.main(["pre-tool"])
"""


def test_a_fault_asks_only_where_something_binds(project, tmp_path):
    """And not about the guards of another project on the machine."""
    rules(project, "MEMORY.md")
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / "MEMORY.md").write_text("# Memory\n")
    for folder, asked in ((project.root, True), (other, False)):
        said = {"session_id": "s", "cwd": str(folder), "tool_name": "Bash"}
        said["tool_input"] = {"command": "ls"}
        hook = subprocess.run(
            [sys.executable, "-c", BROKEN],
            input=json.dumps(said).encode(),
            capture_output=True,
            env={**os.environ, "MEM_HOOK_SECONDS": "600"},
        )
        assert (b"ask" in hook.stdout) == asked, hook


@pytest.mark.parametrize("note", ["", "[", "{}", "[[]]", '[["/etc/passwd"]]'])
def test_what_is_known_may_be_broken(project, note):
    """Then what is in view binds, and is noted again."""
    rules(project, NOTES)
    (path,) = (state_dir() / "guarded").iterdir()
    assert NOTES in json.dumps(json.loads(path.read_text()))
    path.write_text(note)
    assert decided(project) == "deny"
    project.write("MEMORY.md", "# Memory\n")
    assert decided(project) == "deny"
    assert NOTES in path.read_text()


def test_nothing_is_noted_where_nothing_binds(project):
    project.remembers("A note")
    project.ok("index")
    assert not os.path.lexists(state_dir() / "guarded")
