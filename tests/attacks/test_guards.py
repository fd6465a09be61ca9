"""Guards under attack: too much to judge, roots that move, programs that write without
saying so."""

import json
from pathlib import Path

import pytest

from memcli.guard.guards import MOST_PATTERNS
from memcli.hooks.before_tool import MOST_ROOTS
from tests.commands.test_guard import FORCED, STOPPED, call, decision, guarded
from tests.conftest import Project

pytestmark = pytest.mark.process


def reason(answer) -> str:
    return answer["hookSpecificOutput"]["permissionDecisionReason"]


def junk(project: Project, times: int, **values) -> str:
    """Entries with patterns that each might match, 200 in each."""
    return "".join(
        project.entry(
            f"Junk {number}",
            type="directive",
            commands=[f"*x{number}y{each} *" for each in range(200)],
            **values,
        )
        for number in range(times)
    )


def test_more_patterns_than_are_judged_ask(project):
    """In the order of the files: what stands in front is judged."""
    guarded(project)
    text = project.read("MEMORY.md")
    project.write("MEMORY.md", text + junk(project, 30, guard="ask"))
    assert decision(call(project, FORCED)) == "deny"
    answer = call(project, "ls")
    assert decision(answer) == "ask"
    assert f"more than {MOST_PATTERNS:,} patterns" in reason(answer)
    project.write("MEMORY.md", text + junk(project, 30))
    assert call(project, "ls") == ""


def test_a_hook_without_time_asks_where_guards_are_in_force(project):
    project.write("MEMORY.md", junk(project, 24, guard="ask"))
    project.mem("index")
    endless = "".join(f"a{number} b c;" for number in range(1_900))
    soon = {"MEM_HOOK_SECONDS": "3"}
    assert "no time to judge" in reason(call(project, endless, env=soon))
    project.write("MEMORY.md", junk(project, 24))
    project.mem("index")
    assert call(project, endless, env=soon) == ""


def test_guards_of_files_too_large_to_index_ask(project):
    """Not indexed before, and never to be indexed whole."""
    guarded(project)
    text = project.read("MEMORY.md")
    project.write("MEMORY.md", text + project.entry("Long", body="word " * 250_000))
    answer = call(project, "ls")
    assert decision(answer) == "ask"
    assert "`MEMORY.md` has guards that are not indexed" in reason(answer)
    project.mem("index")
    assert call(project, "ls") == ""
    assert decision(call(project, FORCED)) == "deny"
    assert decision(call(project, "", tool_name="Read", tool_input={"path": "a"})) == ""
    (project.root / "MEMORY.md").unlink()
    many = text.encode() + b"x" * (17 << 20)
    (project.root / "MEMORY.md").write_bytes(many)
    project.mem("index", "--rebuild")
    assert decision(call(project, "ls")) == "ask"
    (project.root / "MEMORY.md").write_bytes(b"x" * (17 << 20))
    assert call(project, "ls") == ""


def test_patterns_that_do_not_count_are_named(project):
    guarded(project, commands=[f"git x{number}" for number in range(240)])
    assert "only the first 200 of 240 count" in project.mem("guard").out
    assert "only the first 200 of 240 count" in project.mem("doctor").out


@pytest.mark.parametrize("mark", [".mem.toml", ".git", "MEMORY.md"])
def test_a_root_made_on_the_way_lifts_no_guard(project, mark):
    guarded(project)
    guarded(project, "The client is made", commands=None, paths=["sub/gen/**"])
    project.write(f"sub/{mark}", "")
    project.write("sub/gen/api.py", "x = 1\n")
    inside = project.root / "sub"
    for line in (FORCED, "rm gen/api.py", "cd gen && echo x > api.py"):
        assert decision(call(project, line, cwd=str(inside))) == "deny", line
    answer = call(
        project,
        "",
        tool_name="Write",
        tool_input={"file_path": str(inside / "gen/api.py"), "content": ""},
    )
    assert decision(answer) == "deny"
    assert call(project, "git push", cwd=str(inside)) == ""


def test_a_root_that_the_environment_names_lifts_no_guard(project, tmp_path):
    guarded(project)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = {"MEM_ROOT": str(elsewhere)}
    assert decision(call(project, FORCED, env=moved)) == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "GIT_DIR={0}/.git git push --force",
        "env GIT_WORK_TREE={0} GIT_DIR={0}/.git git push --force",
        "cd {0} && MEM_ROOT=/tmp GIT_DIR=.git git push --force",
        "cd {0} && git --work-tree=/tmp push --force",
        "MEM_ROOT={0} mem guard --off {1}",
    ],
)
def test_a_variable_that_names_a_repository_leads_to_its_guards(
    project, tmp_path, line
):
    entry = guarded(project)
    given = line.format(project.root, entry[:8])
    assert decision(call(project, given, cwd=str(tmp_path))) in STOPPED
    harmless = "GIT_DIR=/nowhere/.git git push --force"
    assert call(project, harmless, cwd=str(tmp_path)) == ""


def test_many_projects_without_a_guard_are_no_question(project, tmp_path):
    roots = [tmp_path / f"r{number}" for number in range(MOST_ROOTS + 4)]
    for root in roots:
        (root / ".git").mkdir(parents=True)
        (root / "MEMORY.md").write_text(project.entry("Plain"))
    line = f"touch {' '.join(f'{root}/a' for root in roots)}"
    assert call(project, line) == ""
    text = project.entry("Bound", guard="ask", commands=["git push *"])
    Path(roots[-1] / "MEMORY.md").write_text(text)
    answer = call(project, line)
    assert decision(answer) == "ask"
    assert f"more than {MOST_ROOTS} projects" in json.dumps(answer)
