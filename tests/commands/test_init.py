"""mem init: in place once, and gone without a trace."""

from __future__ import annotations

import pytest

from tests.conftest import Project


def test_init_prepares_a_repository_and_twice_is_once(project: Project) -> None:
    """MEMORY.md, attributes, merge driver, ignore lines; a second run changes nothing."""
    assert project.mem("init").code == 0
    assert (project.root / "MEMORY.md").read_text() == "# Memory\n"
    attributes = (project.root / ".gitattributes").read_text()
    assert "MEMORY.md merge=mem" in attributes and "*.archive.md merge=mem" in attributes
    assert "merge-driver %O %A %B %P %L" in project.git("config", "merge.mem.driver")
    again = project.mem("init")
    assert "in place already" in again.err and (project.root / ".gitattributes").read_text() == attributes
    project.mem("index")
    assert ".memory.db" not in project.git("status", "--porcelain")


@pytest.mark.parametrize(
    "text", [None, "*.png binary\n", "*.png binary", "*.png binary\r\n*.txt text\r\n", "a b\r\nc d", ""]
)
def test_remove_restores_every_byte(project: Project, text: str | None) -> None:
    """Attributes, configuration and exclude file are what they were before."""
    path = project.root / ".gitattributes"
    if text is not None:
        path.write_bytes(text.encode())
    config = (project.root / ".git/config").read_bytes()
    exclude = (project.root / ".git/info/exclude").read_bytes()
    project.mem("init")
    project.mem("init")
    assert project.mem("init", "--remove").code == 0
    assert (path.read_bytes().decode() if path.exists() else None) == (text or None)
    assert (project.root / ".git/config").read_bytes() == config
    assert (project.root / ".git/info/exclude").read_bytes() == exclude
    assert not (project.root / "MEMORY.md").exists()


def test_remove_keeps_a_memory_that_was_written_to(project: Project) -> None:
    """Only an empty MEMORY.md goes."""
    project.mem("init")
    project.mem("add", "Use uv")
    project.mem("init", "--remove")
    assert "Use uv" in (project.root / "MEMORY.md").read_text()


def test_dry_run_changes_nothing(project: Project) -> None:
    """The diff is shown, the repository stays."""
    config = (project.root / ".git/config").read_bytes()
    shown = project.mem("init", "--dry-run")
    assert "+MEMORY.md merge=mem" in shown.out
    assert not (project.root / "MEMORY.md").exists()
    assert (project.root / ".git/config").read_bytes() == config


def test_the_driver_merges_two_branches_in_real_git(project: Project) -> None:
    """Both branches append at the same spot: git merges without a conflict."""
    project.mem("init")
    project.mem("add", "Base")
    project.commit()
    project.git("checkout", "-q", "-b", "other")
    project.mem("add", "Cache keys carry the tenant")
    project.commit()
    project.git("checkout", "-q", "main")
    project.mem("add", "Deploy only behind the flag")
    project.commit()
    project.git("merge", "-q", "other", "-m", "merge")
    text = (project.root / "MEMORY.md").read_text()
    assert "tenant" in text and "flag" in text and "<<<<" not in text
