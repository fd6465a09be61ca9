"""Start-up is a feature: what a plain recall and the help never import."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.programs import finished

HEAVY = "anthropic numpy rich httpx yaml frontmatter platformdirs pydantic asyncio psycopg jiter".split()


def imported(project, *args):
    """The heavy modules that a command line leaves in sys.modules of a fresh
    process."""
    script = (
        "import sys; from memcli.cli.program import run; code = run(sys.argv[1:]);"
        f" sys.stdout = sys.stderr; print(code, *(name for name in {HEAVY} if name in sys.modules))"
    )
    process = finished(sys.executable, "-c", script, *args, cwd=project.root)
    code, *names = process.stderr.strip().split("\n")[-1].split()
    assert code == "0", process.stderr
    return names


@pytest.mark.parametrize(
    "line", ["recall zebra", "recall zebra --json", "list", "--help", "recall --help"]
)
def test_nothing_heavy_is_imported(project, line):
    """Recall and list, which build the index here, and the help import none of the slow
    libraries."""
    project.remembers("Herd", "zebra", tags=["x"])
    project.write("institutional.md", "A norm.\n")
    assert imported(project, *line.split()) == []


def test_click_is_never_imported_by_name():
    """Typer brings its own copy of click from 0.29 on: no module of ours names
    click."""
    for path in (Path(__file__).parent.parent / "memcli").rglob("*.py"):
        assert (
            "import click" not in path.read_text()
            and "from click" not in path.read_text()
        ), path


SHALLOW = 6  # folders down to a root from which each further one costs so many calls
A_FOLDER = 600
FAST = {"recall zebra": 75_000, "hook prompt": 70_000, "hook pre-tool": 59_900}
"""The lines that agents wait for, and how many functions of Python and C each may call
from its first import on, with an index at hand and compiled modules."""
SLOW = "typing_extensions dataclasses inspect logging subprocess tempfile tomllib hashlib random"
COUNTED = """
import os, sys, memcli.__main__ as m
count = 0
def note(frame, event, argument):
    global count
    count += event in ("call", "c_call")
def leave(code):
    sys.setprofile(None)
    print(count, file=sys.stderr)
    os._exit(code)
m.leave = leave
sys.setprofile(note)
m.main()
"""


def said(project):
    """What an agent tells a hook."""
    return json.dumps(
        {
            "session_id": "s",
            "cwd": str(project.root),
            "prompt": "zebra herds",
            "tool_name": "Bash",
            "tool_input": {"command": "git push"},
        }
    )


@pytest.mark.parametrize("line", FAST)
def test_a_start_costs_little(project, tmp_path, line):
    """Counted in calls, which no other work on the machine changes."""
    project.remembers("Herd", "zebra herds", tags=["x"])
    environ = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "compiled")}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for _ in range(2):  # the first one makes the index, and compiles
        process = finished(
            sys.executable,
            "-c",
            COUNTED,
            *line.split(),
            cwd=project.root,
            env=environ,
            input=said(project),
        )
    count = int(process.stderr.split()[-1])
    deeper = max(len(project.root.parts) - SHALLOW, 0)
    assert 1_000 < count <= FAST[line] + deeper * A_FOLDER


@pytest.mark.parametrize("line", FAST)
def test_nothing_slow_is_loaded(project, line):
    """With an index at hand, a word that stands in memory, and words alone."""
    project.remembers("Herd", "zebra herds", tags=["x"])
    script = (
        "import os, sys, memcli.__main__ as m\n"
        "m.leave = lambda code: (print(*sys.modules, file=sys.stderr), os._exit(code))\nm.main()"
    )
    for _ in range(2):  # the first one makes the index
        command = [sys.executable, "-c", script, *line.split()]
        process = finished(*command, cwd=project.root, input=said(project))
    assert not {*HEAVY, *SLOW.split()} & {*process.stderr.split()}
