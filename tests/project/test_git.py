"""Git as it is on disk: work trees, submodules, and what is kept out of commits."""

import os
import subprocess
from pathlib import Path

import pytest

from memcli.project import git


def test_git_and_common_dir_are_those_that_git_names(project):
    """In a checkout, a linked worktree with an odd name, and a submodule."""
    project.commit()
    linked = project.root.parent / os.fsdecode(b"lin ked \xff")
    project.git("worktree", "add", "-q", "-b", "linked", str(linked))
    outer = project.root.parent / "outer"
    outer.mkdir()
    project.git("init", "-q", cwd=outer)
    project.git("submodule", "--quiet", "add", str(project.root), "sub", cwd=outer)
    for top in (project.root, linked, outer / "sub"):
        for ours, option in (
            (git.git_dir, "--git-dir"),
            (git.common_dir, "--git-common-dir"),
        ):
            expected = Path(
                project.git(
                    "rev-parse", "--path-format=absolute", option, cwd=top
                ).strip()
            )
            found = ours(top)
            assert found is not None
            assert found.resolve() == expected.resolve()


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"gitdir:",
        b"nonsense",
        b"gitdir: /no/where\n",
        b"gitdir: .\n",
        b"\xff",
    ],
)
def test_a_broken_git_file_breaks_nothing(project, content):
    """An empty, cut, binary or dangling `.git`, or a pipe: the index is made all the
    same."""
    plain = project.root.parent / "plain"
    project.write("MEMORY.md", project.entry("Zebra"), at=plain)
    if content is None:
        os.mkfifo(plain / ".git")
    else:
        (plain / ".git").write_bytes(content)
    result = project.mem("recall", "zebra", "--session", "s", cwd=plain)
    assert (result.code, "Zebra" in result.out, result.err) == (0, True, "")
    assert sorted(path.name for path in plain.iterdir()) == [
        ".git",
        ".memory.db",
        "MEMORY.md",
    ]


def test_git_runs_without_the_variables_of_a_hook(project, monkeypatch):
    """Inside a hook GIT_DIR names another repository; ours is asked about the folder it
    is given."""
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    done = git.run(["rev-parse", "--show-toplevel"], project.root)
    assert (done.returncode, done.stdout.strip()) == (0, str(project.root))
    assert git.run(["no-such-command"], project.root).returncode == 1


def test_without_mem_the_driver_is_gits_own_merge(project):
    """Both sides of a conflict stand between markers when the program is gone."""
    project.mem("init")
    project.memory("# Memory\n\nbase\n")
    project.commit()
    for branch in ("one", "two"):
        project.git("checkout", "-q", "-b", branch, "main")
        project.memory(f"# Memory\n\n{branch}\n")
        project.commit(branch)
    process = subprocess.run(
        ["git", "merge", "one"],
        cwd=project.root,
        env={**os.environ, "PATH": "/usr/bin:/bin"},
    )
    text = project.read()
    assert (
        process.returncode == 1
        and "<<<<<<<" in text
        and "one" in text
        and "two" in text
    )


def test_an_exclude_file_that_cannot_be_written_stops_nothing(project):
    """The index then shows up as untracked; memory is recalled all the same."""
    exclude = project.root / ".git/info/exclude"
    exclude.unlink(missing_ok=True)
    exclude.mkdir(parents=True)
    project.remembers("Zebra", "Zebras have stripes.")
    git.exclude(project.root)
    result = project.ok("recall", "zebra")
    assert "stripes" in result.out


def test_what_git_prints_is_read_to_the_byte(project):
    """Line ends and bytes that are no UTF-8, too: sizes that git tells are of bytes."""
    project.write("a.md", b"one\r\ntwo\r\xff\n")
    project.commit()
    said = git.run(["cat-file", "blob", "HEAD:a.md"], project.root).stdout
    assert said.encode("utf-8", "surrogateescape") == b"one\r\ntwo\r\xff\n"
