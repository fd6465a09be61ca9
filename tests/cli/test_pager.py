"""An answer longer than the terminal goes through the pager that git would use."""

import sys

import pytest

from tests.terminal import read_terminal

MEM = [sys.executable, "-m", "memcli"]


@pytest.fixture
def long(project):
    """Sixty entries: more than the fifty lines of the terminal."""
    entries = (
        project.entry(f"Title {number}", "zebra", id=f"{number:08}-x")
        for number in range(60)
    )
    project.memory(*entries)
    project.mem("index")
    return project


def on_terminal(project, *words, env):
    given = {"MEM_HOME": str(project.home), "GIT_PAGER": "sed s/^/PAGED/", **env}
    return read_terminal([*MEM, *words], project.root, env=given, width=100)


@pytest.mark.process
def test_a_long_answer_is_paged_and_a_short_one_is_not(long):
    """Of list, recall and help, for one; `cat` and nothing are no pager, and a missing one is passed
    over."""
    for command in ("list", "help"):
        assert on_terminal(long, command, env={}).count("PAGED") > 50
    assert "PAGED" not in on_terminal(long, "list", "--limit", "3", env={})
    assert "PAGED" not in on_terminal(long, "show", "00000001", env={})
    for pager in ("cat", "", "/nowhere/less -R"):
        shown = on_terminal(long, "list", env={"GIT_PAGER": pager})
        assert shown.count("Title") == 60, pager
    assert "PAGED" not in on_terminal(long, "list", env={"TERM": "dumb"})


@pytest.mark.process
def test_a_pipe_is_never_paged(long):
    """Nor is JSON."""
    assert "PAGED" not in long.shell("list", env={"GIT_PAGER": "sed s/^/PAGED/"}).out
    assert "PAGED" not in on_terminal(long, "list", "--json", env={})


@pytest.mark.process
def test_a_repository_names_no_pager(long):
    """core.pager counts in the person's own configuration alone."""
    long.git("config", "core.pager", "sed s/^/HOSTILE/")
    long.write("~/.gitconfig", '[core]\n\tpager = "sed s/^/OWN/"\n')
    script = f"unset GIT_PAGER; HOME={long.home} exec {' '.join(MEM)} list"
    shown = read_terminal(
        ["sh", "-c", script],
        long.root,
        env={"MEM_HOME": str(long.home), "PAGER": "sed s/^/ELSE/"},
        width=100,
    )
    assert shown.count("OWN") > 50
    assert "HOSTILE" not in shown and "ELSE" not in shown
