"""What is done in git's own files, and what is left alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from memcli.project import git
from tests.conftest import Project


def test_nothing_is_under_way_where_there_is_no_repository(
    tmp_path: Path, project: Project
) -> None:
    """And what git is in the middle of is said in a word."""
    assert git.under_way(tmp_path / "nowhere") == "" and git.under_way(project.root) == ""
    (project.root / ".git/MERGE_HEAD").touch()
    assert git.under_way(project.root) == "merge"


def test_the_driver_is_called_by_the_path_of_the_program(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git may be started where PATH is another one; what is no program of ours is called as a
    module.
    """
    program = project.write("bin dir/$mem/mem", "#!/bin/sh\n")
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert git.command().endswith("-m memcli")  # it cannot be executed
    program.chmod(0o755)
    assert git.command() == f'"{project.root}/bin dir/\\$mem/mem"'
    monkeypatch.setattr(sys, "argv", [str(program.with_name("pytest"))])
    assert git.command().endswith("-m memcli")


def test_the_driver_is_taken_out_once(project: Project) -> None:
    """Other sections of the configuration stay; a second time there is nothing to do."""
    project.git("config", "merge.other.driver", "true %A")
    assert len(git.register_driver(project.root)) == 1 and git.register_driver(project.root) == []
    assert (
        git.unregister_driver(project.root, dry_run=True) != []
        and git.register_driver(project.root) == []
    )
    assert (
        len(git.unregister_driver(project.root)) == 1 and git.unregister_driver(project.root) == []
    )
    assert "merge.other.driver" in project.git("config", "--local", "--list")
    assert "merge.mem" not in project.git("config", "--local", "--list")


def test_an_exclude_file_that_cannot_be_written_stops_nothing(project: Project) -> None:
    """The index then shows up as untracked; memory is recalled all the same."""
    exclude = project.root / ".git/info/exclude"
    exclude.unlink(missing_ok=True)
    exclude.mkdir(parents=True)
    project.write("MEMORY.md", project.entry("Zebra", "Zebras have stripes."))
    git.exclude(project.root)
    done = project.mem("recall", "zebra")
    assert done.code == 0 and "stripes" in done.out


def test_patterns_stand_in_the_exclude_file_once(project: Project) -> None:
    """Behind what was there, even where its last line had no end."""
    path = project.write(".git/info/exclude", b"mine\xff")
    git.exclude(project.root)
    git.exclude(project.root)
    assert path.read_bytes() == b"mine\xff\n.memory.db*\n.*.mem-tmp-*\n"
