"""What stands for something else: links, git folders and ids that are another's."""

import shutil

import pytest

from memcli.project.record import path_of

WORDS = "Rotate the walrus logs every night."


@pytest.mark.parametrize("part", ["file", "folder", "own memory"])
def test_an_import_follows_no_link_out_of_the_root(project, world, part):
    """What is named lies in the repository, so that the repository may have made it
    a link."""
    apart = world / "apart"
    apart.mkdir()
    named = "AGENTS.md" if part == "file" else "memory"
    name = "MEMORY.md" if part == "own memory" else "AGENTS.md"
    (apart / name).write_text(f"# Rules\n\n- {WORDS}\n")
    goal = apart / name if part == "file" else apart
    (project.root / named).symlink_to(goal)
    path = f"{named}/{name}" if part == "own memory" else named
    result = project.mem("import", path)
    assert "is a link that leaves the root" in result.out + result.err
    assert not project.has("MEMORY.md")
    (project.root / named).unlink()
    shutil.move(apart, project.root / "inside")
    (project.root / named).symlink_to("inside" if part != "file" else f"inside/{name}")
    project.ok("import", path)
    assert WORDS in project.read()


@pytest.mark.parametrize("how", ["gitdir", "commondir"])
def test_the_history_of_another_repository_is_not_told(project, world, how):
    """A folder that was unpacked names a repository of this machine as its own."""
    project.commit("The walrus token rotates at night")
    packed = world / "packed"
    packed.mkdir()
    (packed / "MEMORY.md").write_text(project.entry("Cart", "It is kept in cents."))
    if how == "gitdir":
        (packed / ".git").write_text(f"gitdir: {project.root}/.git\n")
    else:
        (packed / ".git").mkdir()
        (packed / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (packed / ".git/commondir").write_text(f"{project.root}/.git\n")
    project.ok("index", "--history")
    assert "walrus" in project.mem("recall", "walrus token").out
    there = ("--root", str(packed))
    assert project.shell("index", "--history", *there).code == 2
    assert "walrus" not in project.shell("recall", "walrus token", *there).out
    assert path_of(packed) is None and path_of(project.root) is not None


def test_forget_leaves_the_entry_of_the_home_folder(project):
    """An id of the home folder that a repository copied is two entries."""
    project.write("~/MEMORY.md", project.entry("Mine", "My own words.", id="aaaa1111"))
    project.remembers("Other", "Other words.", id="aaaa1111")
    project.ok("forget", "aaaa1111")
    assert not (project.root / "MEMORY.md").exists()  # nothing else stood in it
    assert "My own words." in (project.home / "MEMORY.md").read_text()


def test_forget_asks_which_of_two_live_entries_is_meant(project):
    """A merge without the driver leaves one id to two entries; one is not known."""
    first = project.entry("First", "Zebra words.", id="aaaa1111")
    other = project.entry("Second", "Lynx words.", id="aaaa1111")
    project.memory(first + other)
    result = project.ends(2, "forget", "aaaa1111")
    assert "MEMORY.md:11, MEMORY.md:24" in result.err
    assert project.read() == first + other
    project.memory(first)
    project.write("tasks/a.md", first)
    project.ok("forget", "aaaa1111")
    assert "Zebra" not in project.mem("list").out


def test_a_copy_that_was_retired_stays_so_beside_a_live_one(project):
    """A merge may leave both; what was taken back is not told again."""
    live = project.entry("Alpha", "Walrus words.", id="aaaa1111")
    gone = project.entry("Alpha", "Walrus words.", id="aaaa1111", status="retired")
    project.memory(live)
    project.write("tasks/a.md", gone)
    assert "Walrus" not in project.mem("recall", "walrus").out
    assert "Alpha" not in project.mem("list").out
    project.write("tasks/a.md", live)
    assert "Walrus" in project.mem("recall", "walrus").out
