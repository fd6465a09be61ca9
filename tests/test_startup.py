"""Start-up is a feature: what a plain recall and the help never import."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Project

HEAVY = "anthropic numpy rich httpx yaml frontmatter platformdirs pydantic asyncio psycopg jiter".split()


def imported(project: Project, *args: str) -> list[str]:
    """The heavy modules that a command line leaves in sys.modules of a fresh
    process."""
    script = (
        "import sys; from memcli.cli.program import run; code = run(sys.argv[1:]);"
        f" sys.stdout = sys.stderr; print(code, *(name for name in {HEAVY} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *args],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=True,
    )
    code, *names = done.stderr.strip().split("\n")[-1].split()
    assert code == "0", done.stderr
    return names


@pytest.mark.parametrize(
    "line", ["recall zebra", "recall zebra --json", "list", "--help", "recall --help"]
)
def test_nothing_heavy_is_imported(project: Project, line: str) -> None:
    """Recall and list, which build the index here, and the help import none of the slow
    libraries."""
    project.write("MEMORY.md", project.entry("Herd", "zebra", tags=["x"]))
    project.write("institutional.md", "A norm.\n")
    assert imported(project, *line.split()) == []


def test_click_is_never_imported_by_name() -> None:
    """Typer brings its own copy of click from 0.29 on: no module of ours names
    click."""
    for path in (Path(__file__).parent.parent / "memcli").rglob("*.py"):
        assert (
            "import click" not in path.read_text()
            and "from click" not in path.read_text()
        ), path


FAST = {"recall zebra": 3.3, "hook prompt": 3.5, "hook pre-tool": 3.0}
"""The lines that agents wait for, and how often the CPU time of a bare Python with
SQLite each may cost, with an index at hand."""
BARE = "import sqlite3, json; sqlite3.connect(':memory:').execute('SELECT 1')"
SLOW = "typing_extensions dataclasses inspect logging subprocess tempfile tomllib hashlib random"
RUNS = 9


def spent(command: list[str], project: Project, environ: dict[str, str]) -> float:
    """Seconds of CPU that a process takes."""
    said = {"session_id": "s", "cwd": str(project.root), "prompt": "zebra herds"}
    said |= {"tool_name": "Bash", "tool_input": {"command": "git push"}}
    process = subprocess.Popen(
        command,
        cwd=project.root,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(said).encode())
    process.stdin.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("line", FAST)
def test_a_start_costs_little(project: Project, tmp_path: Path, line: str) -> None:
    """The least of several runs in turn: a ratio that a busy machine does not move."""
    project.write("MEMORY.md", project.entry("Herd", "zebra herds", tags=["x"]))
    environ = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "compiled")}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    ours = [sys.executable, "-m", "memcli", *line.split()]
    for _ in range(2):  # the first one makes the index, and compiles
        spent(ours, project, environ)
    bare = [sys.executable, "-c", BARE]
    times = [
        (spent(bare, project, environ), spent(ours, project, environ))
        for _ in range(RUNS)
    ]
    least = min(each for each, _ in times)
    ratio = min(each for _, each in times) / least
    assert ratio <= FAST[line], ratio


@pytest.mark.parametrize("line", FAST)
def test_nothing_slow_is_loaded(project: Project, line: str) -> None:
    """With an index at hand, a word that stands in memory, and words alone."""
    project.write("MEMORY.md", project.entry("Herd", "zebra herds", tags=["x"]))
    script = (
        "import os, sys, memcli.__main__ as m\n"
        "m.leave = lambda code: (print(*sys.modules, file=sys.stderr), os._exit(code))\nm.main()"
    )
    said = {"session_id": "s", "cwd": str(project.root), "prompt": "zebra herds"}
    said |= {"tool_name": "Bash", "tool_input": {"command": "git push"}}
    for _ in range(2):  # the first one makes the index
        command = [sys.executable, "-c", script, *line.split()]
        given = {"cwd": project.root, "input": json.dumps(said), "capture_output": True}
        done = subprocess.run(command, **given, text=True, check=True)
    assert not {*HEAVY, *SLOW.split()} & {*done.stderr.split()}
