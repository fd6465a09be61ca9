"""Every command answers on a terminal, not only in a pipe."""

import shutil
import sys

import pytest

from memcli.cli.program import commands
from tests.docs.console import EXAMPLE
from tests.terminal import read_terminal

# One process for all of them, which says how each ended.
RUN = """
import shlex
import sys
from memcli.cli.program import run
for line in sys.argv[1:]:
    print(f"exit {run(shlex.split(line))} of {line}", flush=True)
"""
LINES = """
add 'The till rounds down' --kind pitfall
add 'The till rounds down' --kind pitfall
list
list --explain
list --archived
list --at HEAD
list --kind policy --limit 1
edit {id} --importance 0.4
show {id}
log {id}
recall clock
recall clock --explain
why MEMORY.md
told
diff
diff HEAD
browse
inbox
extract --show sessions
extract talk.md
inbox
eval
reinforce {id}
reinforce {id}=remember
retire {id} --because gone
restore {id}
undo
health
health --history
doctor
doctor --stale
doctor MEMORY.md
doctor -v
guard
guard --suggest
guard {id} --command 'git push --force*'
guard --try 'git push'
guard --replay
compact --check
compact
retire-stage --check
sync
export claude
import notes.md --from agents-md
index
index --history
forget --all --dry-run
forget {id}
keep 1
drop 1
init --claude
init --claude --remove
init --remove
completion bash
help
help list
hook stop
"""
SILENT = {"mcp", "merge-driver"}  # what programs call


@pytest.fixture
def shop(project):
    """The example of the guide, committed."""
    shutil.copytree(EXAMPLE / "shop", project.root, dirs_exist_ok=True)
    talk = (
        "User: No, never round VAT on the sum.\n\nAssistant: I round once per line.\n"
    )
    project.write("talk.md", talk)
    project.write(
        "notes.md", "# Notes\n\n## The till is opened at nine\n\nNot before.\n"
    )
    project.commit("shop")
    return project


@pytest.mark.parametrize("width", [80, 40])
def test_no_view_fails_on_a_terminal_alone(shop, width):
    """Whatever a command says, it is no internal error."""
    added = shop.mem("add", "The clock of the shop is frozen", "--json").json["id"]
    lines = LINES.format(id=added).strip().splitlines()
    assert {line.split()[0] for line in lines} == {*commands()} - SILENT
    env = {"PAGER": "cat", "BROWSER": "true"}
    command = [sys.executable, "-c", RUN, *lines]
    said = read_terminal(command, shop.root, width=width, env=env)
    assert said.count("\nexit ") == len(lines), said
    assert "internal error" not in said
