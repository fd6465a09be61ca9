"""mem sync: two machines, one memory; nothing else of the home folder is ever
touched."""

import os
from pathlib import Path

import pytest

from tests.conftest import Project, Result


class Machine:
    """A home folder of its own, with `mem` in it."""

    def __init__(self, project: Project, folder: Path) -> None:
        self.project, self.home, self.folder = project, folder / "home", folder
        self.home.mkdir(parents=True)
        self.git_dir = folder / "data/mem/home.git"

    def mem(self, *words: str) -> Result:
        own = {
            f"XDG_{k.upper()}_HOME": str(self.folder / k)
            for k in ("data", "state", "cache")
        }
        env = {
            **own,
            "MEM_HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
        }
        return self.project.mem(*words, cwd=self.folder, env=env)

    def text(self, name: str = "MEMORY.md") -> str:
        return (self.home / name).read_bytes().decode()


@pytest.fixture
def remote(project: Project, tmp_path: Path) -> Path:
    project.git("init", "-q", "--bare", "-b", "main", str(tmp_path / "remote.git"))
    return tmp_path / "remote.git"


@pytest.fixture
def pair(project: Project, remote: Path, tmp_path: Path) -> tuple[Machine, Machine]:
    one, two = (Machine(project, tmp_path / name) for name in ("one", "two"))
    for each in (one, two):
        assert each.mem("init", "--home-git", str(remote)).code == 0
    return one, two


def in_step(*machines: Machine) -> None:
    for each in (*machines, *machines):
        done = each.mem("sync")
        assert done.code == 0, done.err


def test_two_machines_that_edited_at_once_hold_the_same(
    pair: tuple[Machine, Machine],
) -> None:
    """Entries by id, counts added up, prose with the lines of both; every byte, CRLF
    too."""
    one, two = pair
    one.mem("add", "--level", "global", "Deploy on Tuesdays only")
    in_step(one, two)
    (name,) = [e["id"] for e in one.mem("list", "--json").json["entries"]]
    for each, text in ((one, "Mine: a\r\n"), (two, "Mine: b\r\n")):
        each.mem("reinforce", name)
        each.mem("add", "--level", "global", f"A lesson of {each.folder.name}")
        (each.home / "institutional.md").write_bytes(f"# Norms\r\n\r\n{text}".encode())
    in_step(one, two, one)
    assert one.text() == two.text() and "reinforcement_count: 2" in one.text()
    assert one.text().count("A lesson of ") == 2
    assert one.text("institutional.md") == two.text("institutional.md")
    assert sorted(one.text("institutional.md").splitlines()) == [
        "",
        "# Norms",
        "Mine: a",
        "Mine: b",
    ]
    assert one.mem("sync").out == "in step\n"


def test_git_knows_two_files_and_the_home_folder_nothing_of_git(
    pair: tuple[Machine, Machine], project: Project
) -> None:
    """Neither other files nor the private store; a second init changes nothing."""
    one, _ = pair
    for name in ("notes.txt", "proxy.md", "MEMORY.archive.md"):
        (one.home / name).write_text("private\n")
    one.mem("add", "--level", "global", "Deploy on Tuesdays only")
    assert one.mem("init", "--home-git").code == 0
    assert "1 commit sent" in one.mem("sync").out
    named = project.git(
        "--git-dir", str(one.git_dir), "ls-tree", "-r", "--name-only", "main"
    )
    assert named == "MEMORY.md\n" and not (one.home / ".git").exists()
    assert project.git("--git-dir", str(one.git_dir), "status", "--porcelain") == ""
    assert (
        one.mem("init", "--home-git", "--remove").code == 0 and not one.git_dir.exists()
    )
    assert one.mem("sync").code == 2


def test_a_dry_run_shows_what_would_come_and_writes_nothing(
    pair: tuple[Machine, Machine],
) -> None:
    one, two = pair
    one.mem("add", "--level", "global", "Deploy on Tuesdays only")
    in_step(one)
    two.mem("add", "--level", "global", "Prefer tabs")
    before = two.text()
    assert (
        "+## [2026-11-21] Deploy on Tuesdays only" in two.mem("sync", "--dry-run").out
    )
    assert two.text() == before and one.mem("sync").out == "in step\n"


@pytest.mark.parametrize("what", ["secret", "link", "conflict"])
def test_what_may_not_leave_stops_it_before_anything_is_committed(
    pair: tuple[Machine, Machine], remote: Path, project: Project, what: str
) -> None:
    one, _ = pair
    path = one.home / "MEMORY.md"
    if what == "secret":
        path.write_text(
            "# Memory\n\nkey: ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8" + "\n"
        )
    elif what == "link":
        (one.home / "elsewhere.md").write_text("x\n")
        path.symlink_to(one.home / "elsewhere.md")
    else:
        path.write_text("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    done = one.mem("sync")
    assert done.code == 5 and "MEMORY.md" in done.err and "hint:" in done.err
    assert project.git("for-each-ref", cwd=remote) == ""


@pytest.mark.parametrize("name", [".bashrc", "notes/a.md", "institutional.md"])
def test_a_repository_that_holds_more_is_refused_and_writes_nothing(
    pair: tuple[Machine, Machine],
    remote: Path,
    project: Project,
    tmp_path: Path,
    name: str,
) -> None:
    """A strange file, one in a folder, a link in the place of a memory file."""
    one, _ = pair
    other = tmp_path / "other"
    project.git("clone", "-q", str(remote), str(other))
    (other / name).parent.mkdir(exist_ok=True)
    (other / name).symlink_to("/etc/passwd") if name[0] == "i" else (
        other / name
    ).write_text("x")
    project.commit(cwd=other)
    project.git("push", "-q", "origin", "HEAD:main", cwd=other)
    done = one.mem("sync")
    assert done.code == 5 and name in done.err
    assert list(one.home.iterdir()) == []


def test_a_failed_network_costs_nothing(
    pair: tuple[Machine, Machine], remote: Path
) -> None:
    """What is here is committed, and sent the next time."""
    one, two = pair
    one.mem("add", "--level", "global", "Deploy on Tuesdays only")
    remote.rename(remote.with_name("away"))
    done = one.mem("sync")
    assert done.code == 4 and "what is here is committed" in done.err
    remote.with_name("away").rename(remote)
    in_step(one, two)
    assert "Tuesdays" in two.text()


def test_a_file_that_is_gone_comes_back(pair: tuple[Machine, Machine]) -> None:
    """A deletion is no edit: whoever wants an empty memory empties it."""
    one, two = pair
    one.mem("add", "--level", "global", "Deploy on Tuesdays only")
    in_step(one, two)
    (one.home / "MEMORY.md").unlink()
    in_step(one, two)
    assert one.text() == two.text() and "Tuesdays" in one.text()


def test_the_users_hooks_run_and_may_refuse(pair: tuple[Machine, Machine]) -> None:
    one, _ = pair
    one.mem("add", "--level", "global", "Deploy on Tuesdays only")
    hook = one.git_dir / "hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    done = one.mem("sync")
    assert done.code == 5 and "not today" in done.err
    hook.unlink()
    assert "1 commit sent" in one.mem("sync").out


def test_a_session_that_ends_brings_it_in_step_when_that_is_wanted(
    pair: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the user's own configuration can ask for it."""
    from memcli.hooks import worker

    one, two = pair
    one.mem("add", "--level", "global", "Deploy on Tuesdays only")
    for kind in ("data", "state", "cache"):
        monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", str(one.folder / kind))
    monkeypatch.setenv("MEM_HOME", str(one.home))
    monkeypatch.setenv("MEM_SYNC", "off")
    root = str(one.project.root)
    assert "mem sync" not in worker.work(root, os.environ, wait=False)
    monkeypatch.setenv("MEM_SYNC", "session")
    assert "mem sync: 1 sent" in worker.work(root, os.environ, wait=False)
    in_step(two)
    assert "Tuesdays" in two.text()


@pytest.mark.parametrize("written", [False, True])
def test_a_sync_that_was_killed_around_its_write_is_done_again(
    pair: tuple[Machine, Machine], project: Project, written: bool
) -> None:
    """Before it, the merge is forgotten; after it, it is kept: nothing is lost or
    counted twice."""
    one, two = pair
    one.mem("add", "--level", "global", "Deploy on Tuesdays only")
    in_step(one, two)
    (name,) = [each["id"] for each in one.mem("list", "--json").json["entries"]]
    one.mem("reinforce", name)
    one.mem("add", "--level", "global", "A lesson of one")
    in_step(one)
    two.mem("reinforce", name)
    old = two.text()
    in_step(two)
    own = ("--git-dir", str(two.git_dir))
    project.git(*own, "update-ref", "refs/mem/before", "main^1")
    if not written:
        (two.home / "MEMORY.md").write_text(old)
    (two.home / "institutional.md").write_text("# Norms\n\nWritten after it.\n")
    in_step(two, one, two)
    assert one.text() == two.text() and "A lesson of one" in one.text()
    assert "reinforcement_count: 2" in one.text()
    assert one.text("institutional.md") == "# Norms\n\nWritten after it.\n"
