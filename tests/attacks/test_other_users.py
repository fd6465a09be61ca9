"""Other users of the machine: what they may write to is neither read nor written."""

import grp
import os
import pwd

import pytest

from memcli.errors import RefusedError
from memcli.storage.files import cache_dir, data_dir, refuse_others, state_dir

STRANGER = 4321
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


@pytest.fixture
def own(world):
    """The user's configuration."""
    path = world / "config/mem/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text('llm = "none"\n')
    return path


@pytest.mark.parametrize("mode", [0o646, 0o664])
@pytest.mark.parametrize("part", ["config.toml", "mem"])
def test_a_configuration_that_others_may_write_is_refused(project, own, mode, part):
    target = own if part == "config.toml" else own.parent
    target.chmod(mode | 0o100)
    result = project.ends(2, "list")
    assert f"can be written by others ({target})" in result.err
    assert f"hint: chmod go-w {target}" in result.err
    rows = project.checks()
    assert str(target) in str([row for row in rows if row["status"] == "FAIL"])
    target.chmod(0o755)
    project.ok("list")


@as_root
@pytest.mark.parametrize("how", ["file", "folder", "link", "link above"])
def test_a_configuration_of_another_user_is_refused(project, own, how):
    """Their file, their folder, or a link of theirs to a file of one's own."""
    target = own.parent if how in ("folder", "link above") else own
    if how.startswith("link"):
        kept = target.rename(target.with_name("kept"))
        target.symlink_to(kept)
    os.lchown(target, STRANGER, STRANGER)
    result = project.ends(2, "list")
    wanted = "another user's link" if "link" in how else "belongs to another user"
    hint = "put it there without a link" if "link" in how else "replace it"
    assert wanted in result.err
    assert f"hint: {hint}" in result.err


def test_a_configuration_behind_a_link_of_ones_own_is_read(project, own):
    """As dotfile managers make them."""
    kept = own.rename(own.parents[2] / "dotfiles.toml")
    kept.write_text("half_life = 12\n")
    own.symlink_to(kept)
    rows = str(project.checks())
    assert "half_life = 12" in rows


def test_a_group_of_one_is_no_other_user(own, monkeypatch):
    """Systems make a group for each user, and let it write by default."""
    own.chmod(0o664)
    group = own.stat().st_gid

    def known(name, members):
        user = pwd.struct_passwd(("ann", "x", os.geteuid(), group or 1, "", "/", ""))
        its = grp.struct_group((name, "x", group or 1, members))
        monkeypatch.setattr(pwd, "getpwuid", lambda number: user)
        monkeypatch.setattr(grp, "getgrgid", lambda number: its)

    if not group:  # that of root is not one
        os.chown(own, -1, 1)
        group = 1
    known("ann", [])
    refuse_others(own)
    for name, members in (("ann", ["ben"]), ("staff", [])):
        known(name, members)
        with pytest.raises(RefusedError, match="written by others"):
            refuse_others(own)


@pytest.mark.parametrize("folder", ["", "state"])
def test_a_cache_that_others_may_write_is_no_state_folder(project, world, folder):
    """Where the state falls back to is judged as the state is."""
    shared = [world / "state/mem", world / "cache/mem" / folder]
    for path in shared:
        path.mkdir(parents=True)
        path.chmod(0o777)
    project.remembers("Cart", "It is kept in cents.")
    result = project.ends(5, "add", "Some words to keep")
    assert f"hint: chmod go-w {shared[0]}" in result.err
    assert "Some words" not in project.read()
    assert project.hook("session-start").code == 0
    assert not list((world / "state/mem").iterdir())


def test_a_cache_that_others_may_write_holds_nothing_of_ours(world):
    """What the page and the index of a read-only tree hold goes to the state then."""
    shared = world / "cache/mem"
    shared.mkdir(parents=True)
    assert cache_dir() == shared
    shared.chmod(0o777)
    assert cache_dir() == state_dir() / "cache"


@as_root
def test_the_repository_of_the_home_folder_is_ones_own(world):
    shared = world / "data/mem"
    shared.mkdir(parents=True)
    assert data_dir() == shared
    os.chown(shared, STRANGER, STRANGER)
    with pytest.raises(RefusedError, match="belongs to another user"):
        data_dir()


@pytest.mark.parametrize(
    "line", ["index --history", "list --at HEAD", "recall otter --at HEAD"]
)
def test_folders_that_are_made_are_for_the_person_alone(project, world, line):
    """Also those above the one that a command needs, where a group may write."""
    project.memory(project.entry("Cart", "It is kept in cents."))
    project.commit("walrus")
    before = os.umask(0o002)
    try:
        assert project.mem(*line.split()).code in (0, 1)
    finally:
        os.umask(before)
    made = [*(world / "state").rglob("*"), *(world / "cache").rglob("*")]
    assert made
    folders = [path for path in made if path.is_dir()]
    assert not [path for path in folders if path.stat().st_mode & 0o022]


@as_root
def test_a_guard_in_the_file_of_another_user_asks(project):
    text = project.entry("Cart", guard="deny", commands=["ls *"], type="directive")
    path = project.write("~/MEMORY.md", text)
    said = project.mem("guard", "--try", "ls -l", "--json").json
    assert said["decision"] == "deny"
    os.chown(path, STRANGER, STRANGER)
    said = project.mem("guard", "--try", "ls -l", "--json").json
    assert said["decision"] == "ask"
