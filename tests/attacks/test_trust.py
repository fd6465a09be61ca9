"""Rule 3 of docs/security.md: whose file it is decides what it may do."""

import os
import shutil
import sys

import pytest

from memcli.project import git
from tests.programs import finished

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
STRANGER = 4321


def own(project, *names):
    paths = [str(project.root / name) for name in names]
    return {
        os.path.relpath(path, project.root)
        for path in git.own_files(project.root, paths)
    }


def test_what_is_tracked_or_cannot_be_told_is_not_the_persons_own(project):
    """Whatever is special in the name for git's own patterns."""
    names = [
        "proxy-tasks/a.md",
        "proxy-tasks/[b].md",
        "proxy-tasks/:(glob)c.md",
        "proxy.md",
    ]
    for name in names:
        project.write(name, "x")
    project.git("add", "--", ":(literal)proxy-tasks/[b].md", ":(literal)proxy.md")
    (project.root / "proxy-tasks/link.md").symlink_to("a.md")
    (project.root / os.fsdecode(b"proxy-tasks/\xff.md")).write_text("x")
    project.write("sub/proxy.md", "x")
    finished("git", "init", "-q", project.root / "sub")
    odd = ["proxy-tasks/link.md", os.fsdecode(b"proxy-tasks/\xff.md"), "sub/proxy.md"]
    assert own(project, *names, *odd) == {"proxy-tasks/a.md", "proxy-tasks/:(glob)c.md"}


@needs_root
@pytest.mark.parametrize("mark", [".mem.toml", "MEMORY.md", ".git"])
def test_what_another_user_put_above_is_no_root(project, mark):
    above = project.root.parent / "above"
    below = project.root.parent / "above/below"
    below.mkdir(parents=True)
    path = above / mark
    path.mkdir() if mark == ".git" else path.write_text("")
    os.chown(path, STRANGER, STRANGER)
    assert not git.may_be_root(above, mark)
    os.chown(path, 0, 0)
    assert git.may_be_root(above, mark)
    os.chown(above, STRANGER, STRANGER)
    assert not git.may_be_root(above, mark)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUDO_UID", str(STRANGER))
        assert git.may_be_root(above, mark)


@needs_root
def test_a_repository_that_is_passed_over_is_named(tmp_path):
    """Who owns it, or that it is bare, and what mends that; no advice to begin anew."""
    alien = tmp_path / "alien"
    finished("git", "init", "-q", alien)
    os.chown(alien, STRANGER, STRANGER)
    bare = tmp_path / "bare.git"
    finished("git", "init", "-q", "--bare", bare)
    for folder, reason, advice in (
        (alien, "belongs to another user", "safe.directory"),
        (bare, "is a bare repository", "git worktree add"),
    ):
        refused = ("add x", "init", "diff", "index --history", "log x", "guard")
        silent = ("list", "health", "inbox", "compact", "told", "recall x", "browse")
        for line in (*refused, *silent):
            code = 2 if line in refused else 0
            done = finished("mem", *line.split(), code=code, cwd=folder)
            assert done.stderr.count(reason) == 1, done.stderr
            assert done.stderr.count(advice) == 1, done.stderr
        rows = finished("mem", "doctor", cwd=folder).stdout
        assert reason in rows and "git init" not in rows
    assert "git init" in finished("mem", "add", "x y", code=2, cwd=tmp_path).stderr


def test_a_work_tree_must_be_known_to_its_repository(project, tmp_path):
    """Linked work trees and submodules are; a `.git` file that a stranger packed is
    not."""
    project.memory("# Memory\n")
    project.commit("x")
    project.git("worktree", "add", "-q", str(tmp_path / "linked"))
    assert git.points_back(project.root)
    assert git.points_back(tmp_path / "linked")
    packed = tmp_path / "packed"
    packed.mkdir()
    (packed / ".git").write_text(f"gitdir: {project.root}/.git\n")
    assert not git.points_back(packed)
    before = project.data(".git/config")
    result = project.ends(5, "init", cwd=packed)
    assert str(project.root / ".git") in result.err
    assert "mem init --trust" in result.err
    assert project.data(".git/config") == before
    assert [path.name for path in packed.iterdir()] == [".git"]
    project.ok("init", "--trust", cwd=packed)


def test_a_packed_folder_does_not_share_the_files_of_another_repository(
    project, tmp_path
):
    """`commondir` in a `.git` that was packed names it: nothing is written there."""
    project.memory("# Memory\n")
    project.commit("x")
    packed = tmp_path / "packed"
    shutil.copytree(project.root / ".git", packed / ".git")
    (packed / ".git/commondir").write_text(f"{project.root}/.git\n")
    before = project.data(".git/config")
    project.ends(5, "init", "--git", cwd=packed)
    assert project.data(".git/config") == before
    assert not project.has(".git/hooks/post-merge")


@pytest.mark.parametrize("name", ["x", "a=b"])
@pytest.mark.parametrize(
    "key", ["filter.{}.clean", "filter.{}.process", "diff.{}.textconv"]
)
def test_no_program_of_the_repository_is_run(project, key, name):
    """By commands that read files of the work tree: filters of any name, conversions to
    text."""
    project.remembers("Zebra", "see `a.py`", id="aaaa1111")
    project.write("a.py", "x = 1\n")
    project.commit("x")
    project.write("a.py", "x = 2\n")
    project.write(".gitattributes", f"*.py filter={name} diff={name}\n")
    project.git("config", key.format(name), f"touch {project.home}/ran; cat")
    for line in ("why a.py:1", "diff", "diff HEAD", "log aaaa", "doctor --stale"):
        assert project.mem(*line.split()).code in (0, 1), line
    assert not (project.home / "ran").exists()


@pytest.mark.parametrize(
    ("name", "memory"),
    [
        ("src/\x1b[31mcart.py", False), ("README.md", False), ("docs/notes.md", False),
        ("notes/deep/a.md", False), ("tasks/a.py", False), ("MEMORY.md/a.md", False),
        ("notes/a.md", True), ("MEMORY.md", True), ("sub/institutional.md", True),
        ("tasks/a.md", True), (".mem/jobs/j/tasks/a.md", True), ("tasks/a.archive.md", True),
        ("proxy.md", True), ("proxy-tasks/a.md", True),
    ],
)  # fmt: skip
def test_the_merge_driver_takes_memory_files_alone(project, name, memory):
    """By their names, or as `memory_files` names them; the rest is merged as git
    would."""
    project.write(".mem.toml", 'memory_files = ["notes/*.md"]\n')
    one, two = (project.entry(title, id=f"{title}0000000") for title in ("a", "b"))
    for side, text in (("base", ""), ("ours", one), ("theirs", two)):
        project.write(side, text)
    files = [str(project.root / side) for side in ("base", "ours", "theirs")]
    result = project.shell("merge-driver", *files, name, "7")
    assert (result.code == 0) is memory
    assert ("<<<<<<<" in project.read("ours")) is not memory
    assert ("is no memory file" in result.err) is not memory
    assert "\x1b" not in result.err


def test_python_m_takes_no_module_from_the_working_directory(tmp_path):
    for name in ("__future__", "typing", "gc", "json", "typer", "sqlite3", "datetime"):
        (tmp_path / f"{name}.py").write_text(
            "open('ran', 'w').close()\nraise SystemExit(9)\n"
        )
    command = [sys.executable, "-m", "memcli", "--version"]
    finished(*command, cwd=tmp_path)
    assert not (tmp_path / "ran").exists()


def test_a_project_bounds_its_own_part_of_the_block_alone(project, monkeypatch):
    """What the user's own files say is shown however small a block the repository
    wants."""
    monkeypatch.setenv("MEM_HOOK_SECONDS", "120")
    rule = {"kind": "policy", "priority": "critical", "type": "directive"}
    text = project.entry("Never force push", "Never force push.", **rule)
    project.write("MEMORY.md", text, at=project.home)
    project.write("institutional.md", "Own norms.\n", at=project.home)
    theirs = project.entry("Project rule", "Deploy on Fridays.", **rule)
    project.memory(theirs + project.entry("Deploy", "deploy " * 30))
    project.write(".mem.toml", "max_tokens = 1\n")
    out = project.mem("recall", "deploy", "--format", "prompt").out
    assert "Never force push" in out
    assert "Own norms" in out
    assert "Fridays" not in out
    assert "deploy deploy" not in out
    told = project.hook("session-start", source="startup").out
    assert "Never force push" in told
    assert "Fridays" not in told
    assert (
        project.mem("recall", "deploy", "--max-tokens", "1", "--format", "prompt").out
        == ""
    )
