"""Rules 1 and 2 of docs/security.md: reading and writing go through one door."""

import os
import shutil
import stat

import pytest

from memcli.sessions import stores
from tests.commands.talk import held

SECRET = "open sesame 7391"


@pytest.fixture
def outside(project):
    """A file of the user's outside of the repository."""
    return project.write(
        "private.md", f"# Private\n\n{SECRET}\n", at=project.root.parent
    )


READ = (
    "MEMORY.md",
    "institutional.md",
    "tasks/a.md",
    "memory/a.md",
    ".mem/jobs/j/MEMORY.md",
)


@pytest.mark.parametrize("name", [*READ, ".mem.toml", ".current-stage", "INTENT.md"])
def test_nothing_waits_at_a_pipe_or_reads_a_device(project, name):
    for make in (os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
        path = project.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)
        for command in (["recall", "x"], ["retire-stage", "--check"], ["doctor"]):
            assert project.mem(*command).code in (0, 1, 2, 3, 5)
        path.unlink()


@pytest.mark.parametrize("name", ["info/exclude", "packed-refs"])
def test_no_file_of_gits_is_waited_for_or_read_without_end(project, name):
    """In a `.git` that somebody packed."""
    project.remembers("Zebra", "zebra `a.py`")
    path = project.root / ".git" / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert project.mem("recall", "zebra").code == project.mem("index").code == 0
    path.unlink()
    os.truncate(project.write(f".git/{name}", ""), 1 << 33)
    assert (
        project.mem("recall", "zebra").code
        == project.mem("index", "--rebuild").code
        == 0
    )


@pytest.mark.parametrize(
    "goal", ["{outside}", ".git/config", ".git/notes.md", "script.sh", "../other.md"]
)
def test_add_writes_through_no_link_that_leads_away(project, outside, goal):
    """Out of the root, into git's own folder, to what is no markdown."""
    aim = project.root / goal.format(outside=outside)
    before = aim.read_text() if aim.exists() else None
    project.memory_file.symlink_to(goal.format(outside=outside))
    for command in (["add", "Words"], ["extract", "-", "--format", "text"]):
        result = project.mem(
            *command, input="User: Never log the password.\nAssistant: Ok."
        )
        assert result.code in (3, 5), result.err
        assert "link" in result.err or "read" in result.err
    assert (aim.read_text() if aim.exists() else None) == before


def test_every_writer_writes_through_a_link_inside_the_root(project):
    """As dotfile managers make them: the link stays, what it leads to is written, and
    `init` and `doctor` say so."""
    target = project.write("dot/memory.md", "")
    link = project.memory_file
    link.symlink_to("dot/memory.md")
    assert (
        "MEMORY.md is a link to dot/memory.md, mem writes there"
        in project.mem("init").out
    )
    added = project.mem("add", "--kind", "fact", "The clock is UTC.", "--json").json[
        "id"
    ]
    said = "User: Never log the proxy password, not even in debug builds.\nAssistant: Understood."
    project.ok("extract", "-", input=said)
    project.ok("edit", added, "--title", "Clocks")
    project.ok("reinforce", added)
    project.ok("retire", added)
    assert "retired" in project.mem("compact").out
    assert (project.root / "MEMORY.archive.md").is_file()
    project.ok("restore", added)
    project.ok("undo")
    project.ok("retire-stage", "design")
    assert link.is_symlink() and "proxy password" in target.read_text()
    told = {row["name"]: row for row in project.checks()}
    assert (told["link"]["status"], told["link"]["path"]) == ("INFO", "MEMORY.md")


@pytest.mark.parametrize("goal", ["nowhere.md", "/etc/hostname", ".git/config"])
def test_init_and_doctor_name_a_link_that_nothing_is_written_through(project, goal):
    project.memory_file.symlink_to(goal)
    assert f"MEMORY.md is a link to {goal}, " in project.mem("init").out
    result = project.mem("doctor", "--json")
    failed = [row for row in result.json["checks"] if row["status"] == "FAIL"]
    assert result.code == 1 and [row["path"] for row in failed] == ["MEMORY.md"]


@pytest.mark.parametrize(
    "command",
    [
        ["health", "--out", "page.html"],
        ["browse", "--out", "browse.html"],
        ["export", "json", "--out", "x.json"],
    ],
)
def test_named_output_is_written_through_no_link(project, outside, command):
    project.remembers("x")
    (project.root / command[-1]).symlink_to(outside)
    result = project.ends(5, *command)
    assert command[-1] in result.err
    assert SECRET in outside.read_text()


def test_a_state_folder_that_others_may_write_is_not_used(project, world):
    shared = world / "shared" / "mem"
    shared.mkdir(parents=True)
    shared.chmod(0o777)
    env = {"XDG_STATE_HOME": str(shared.parent)}
    project.remembers("x")
    result = project.ok("add", "Some words to keep", env=env)
    assert "can be written by others" in result.err
    assert list(shared.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a link to another user")
@pytest.mark.parametrize("part", ["mem", "share", "own"])
def test_a_state_folder_behind_the_link_of_another_user_is_not_used(
    project, world, part
):
    """Whoever owns the link can turn it elsewhere: the folder itself, one above it, and
    one that a link of the person's own leads to."""
    (world / "kept/mem").mkdir(parents=True, mode=0o700)
    share = world / "share"
    if part == "mem":
        share.mkdir()
        link = share / "mem"
        link.symlink_to(world / "kept/mem")
    else:
        link = share
        link.symlink_to(world / "kept")
    if part == "own":
        (world / "mine").symlink_to(link)
        share = world / "mine"
    env = {"XDG_STATE_HOME": str(share)}
    assert project.mem("add", "Some words to keep", env=env).err == ""
    assert list((world / "kept/mem").iterdir())
    shutil.rmtree(world / "kept/mem")
    (world / "kept/mem").mkdir(mode=0o700)
    os.lchown(link, 4321, 4321)
    result = project.ok("add", "Other words to keep", env=env)
    assert "can be written by others" in result.err
    assert list((world / "kept/mem").iterdir()) == []


@pytest.mark.parametrize("seconds", [10_000_000_000, -1, -10_000_000_000])
def test_a_file_may_be_changed_at_any_time(project, seconds):
    """No database holds a year past 2262; what was written within it is still seen."""
    names = ("memory/a.md", "tasks/b.md", ".claude/memory/c.md")
    for word in ("zebra", "okapi"):
        for name in names:
            path = project.write(name, f"# Notes\n\nThe {word} sleeps at noon.\n")
            os.utime(path, (seconds, seconds))
        session = project.home / ".claude/projects/x/s.jsonl"
        held(session, "s", project.root, [("user", "Hi")], day="2026-03-04")
        os.utime(session, (seconds, seconds))
        project.ok("index", "--history")
        assert word in project.ok("recall", f"when sleeps the {word}").out
    project.ok("add", "The gnu sleeps at night")
    project.ok("extract")
    assert project.mem("doctor").code in (0, 1)


def test_a_relative_xdg_folder_leads_into_no_repository(project, monkeypatch):
    """It is ignored, as its specification says, and named by doctor."""
    for kind in ("STATE", "CACHE", "DATA", "CONFIG"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", "mine")
    project.write("mine/mem/config.toml", "limit = 3\n")
    project.write("mine/opencode/storage/x.json", "{}")
    project.ok("add", "The build needs node 20")
    project.ok("index")
    assert sorted(os.listdir(project.root / "mine/mem")) == ["config.toml"]
    said = project.mem("doctor").out
    assert "XDG_STATE_HOME is a relative path, and is ignored" in said
    assert "limit = 3" not in said
    opencode = stores(os.environ)["opencode"]
    assert opencode.is_relative_to(project.home)


@pytest.mark.parametrize("name", ["MEMORY.md", "~/MEMORY.md"])
def test_the_archive_of_a_private_file_is_private(project, name):
    """What leaves a file is as private as the file was."""
    path = project.write(name, project.entry("Zebra one", id="a" * 8))
    path.chmod(0o600)
    project.ok("retire", "a" * 8)
    project.ok("compact", "--level", "global" if name.startswith("~") else "project")
    archive = path.with_name("MEMORY.archive.md")
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600


def test_init_says_that_git_cannot_write_its_settings(project):
    """What the merge driver keeps would not hold, and nobody would know."""
    project.git("init", "-q")
    project.write(".git/config.lock", "")
    refused = project.ends(5, "init")
    assert "config" in refused.err and "registered" not in refused.out
    os.unlink(project.root / ".git/config.lock")
    assert "registered the merge driver" in project.ok("init").out
