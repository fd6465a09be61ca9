"""The merge driver in real git: merge, rebase, cherry-pick, stash, work trees,
failures."""

import subprocess
import sys
from pathlib import Path

import pytest

from memcli.commands import merge_driver
from memcli.memory.changes import EntryChange, edited, render_entry
from memcli.memory.grammar import derived_id
from memcli.memory.parser import parse
from tests.programs import finished

NAMES = ["MEMORY.md", 'tasks/a b — ünï\'s "q".md']
HEAD = "# Memory\n\nWhat we know.\n\n"
DRIVER = f"'{sys.executable}' -m memcli merge-driver %O %A %B %P %L"


def entry(id, body="The body.", **values):
    keys = {
        "id": id,
        "type": "procedural",
        "status": "active",
        "reinforcement_count": 1,
        **values,
    }
    return render_entry(keys, body) + "\n"


BASE = HEAD + "".join(map(entry, "abcdef"))


def change(text, id, body=None, *, remove=False, **values):
    file = parse(text, "")
    at = [found.id for found in file.entries].index(id)
    return edited(
        file, [EntryChange(at=at, values=values, body=body, remove=remove)]
    ).text


def side_one(text):
    text = change(text, "a", reinforcement_count=3)
    text = change(text, "b", body="An edit that is long.")
    text = change(text, "c", status="retired", retired_because="by hand")
    return change(text, "d", remove=True) + entry("one")


def side_two(text):
    text = change(text, "a", reinforcement_count=2, tags=["x"])
    text = change(text, "b", body="An edit.")
    text = change(text, "c", reinforcement_count=5)
    return change(text, "e", remove=True) + entry("two")


def check(text):
    """What the two sides come to."""
    file = parse(text, "")
    assert not file.problems
    found = {entry.id: entry for entry in file.entries}
    assert len(found) == len(file.entries)
    other = derived_id("b", "An edit.")
    assert set(found) == {"a", "b", other, "c", "f", "one", "two"}
    assert found["a"].reinforcement_count == 4
    assert found["a"].extra["tags"] == ["x"]
    assert found["b"].body == "An edit that is long."
    assert found[other].body == "An edit."
    assert found[other].extra["contradicts"] == ["b"]
    assert found["c"].status == "retired"
    assert found["c"].reinforcement_count == 5
    assert text.startswith(HEAD)


@pytest.fixture
def repo(project):
    """A repository with the driver; `one` and `two` are branches off `main`."""
    project.git("config", "merge.mem.driver", DRIVER)
    project.write(".gitattributes", "*.md merge=mem\n")
    return project


def branches(repo, name, one=side_one, two=side_two):
    repo.write(name, BASE)
    repo.commit()
    for branch, plan in (("one", one), ("two", two)):
        repo.git("checkout", "-q", "-b", branch, "main")
        repo.write(name, plan(BASE))
        repo.commit(branch)


def text_of(repo, name):
    return repo.data(name).decode()


def fails(repo, *args):
    command = ["git", *args]
    process = subprocess.run(
        command, cwd=repo.root, capture_output=True, text=True, check=False
    )
    assert process.returncode != 0
    return process.stdout + process.stderr


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("into", "other"), [("one", "two"), ("two", "one")])
def test_a_merge_in_each_direction(repo, name, into, other):
    """Counts add up, lists unite, retired wins, of two edits of a body both stand."""
    branches(repo, name)
    repo.git("checkout", "-q", into)
    repo.git("merge", "-q", "--no-edit", other)
    check(text_of(repo, name))
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("driver", ["mem", "union"])
def test_what_two_branches_archive_stands_once(project, driver):
    """After the merge, by the driver; what git's own union left twice, after the next
    compaction, which finds nothing more to do."""
    project.git("config", "merge.mem.driver", DRIVER)
    project.write(".gitattributes", f"*.archive.md merge={driver}\n")
    kept = "".join(
        project.entry(f"Kept {number}", f"About {number}.") for number in range(8)
    )
    project.memory(kept + entry("gone", status="retired"))
    project.commit()
    for branch, day in (("one", "2026-11-21"), ("two", "2026-11-22")):
        project.git("checkout", "-q", "-b", branch, "main")
        project.ok("compact", env={"MEM_NOW": day})
        if driver == "union":  # another line between keeps git from joining the two
            project.write(
                "MEMORY.archive.md",
                f"{branch}\n\n" + text_of(project, "MEMORY.archive.md"),
            )
        project.commit(branch)
    project.git("merge", "-q", "--no-edit", "one")
    if driver == "union":
        project.ok("compact")
    text = text_of(project, "MEMORY.archive.md")
    assert text.count("id: gone") == 1
    assert "2026-11-22" in text
    project.ok("compact", "--check")


def rebase(repo, name):
    repo.git("rebase", "-q", "one")
    return repo.root


def cherry_pick(repo, name):
    repo.git("cherry-pick", "one")
    return repo.root


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", [rebase, cherry_pick])
def test_other_ways_to_merge(repo, how, name):
    """Rebase and cherry-pick come to the same."""
    branches(repo, name)
    check((how(repo, name) / name).read_text())


@pytest.mark.parametrize("style", ["merge", "diff3"])
def test_prose_that_both_changed_conflicts_as_in_git(repo, style):
    """The conflict is git's own, byte for byte, and the entries below it are merged."""
    repo.git("config", "merge.conflictStyle", style)
    old, mine, other = (
        HEAD.replace("What we", f"What {who}") for who in ("we", "two", "one")
    )
    branches(
        repo,
        "MEMORY.md",
        lambda text: side_one(text).replace(HEAD, other),
        lambda text: side_two(text).replace(HEAD, mine),
    )
    assert "CONFLICT" in fails(repo, "merge", "one")
    text = text_of(repo, "MEMORY.md")
    files = [
        repo.write(f"~/{n}", t)
        for n, t in (("mine", mine), ("old", old), ("other", other))
    ]
    labels = ["-L", "ours", "-L", "base", "-L", "theirs"]
    command = ["git", "merge-file", "-p", *labels, *map(str, files)]
    by_git = finished(*command, code=1, cwd=repo.root)
    assert text.startswith(by_git.stdout)
    check(HEAD + text[len(by_git.stdout) :])


@pytest.mark.parametrize(
    "program", ["/nonexistent/python -m memcli", "false", "kill -9 $$;"]
)
def test_a_driver_that_cannot_run_leaves_a_conflict_to_git(repo, program):
    """Ours stays as it was."""
    branches(repo, "MEMORY.md")
    repo.git("config", "merge.mem.driver", f"{program} merge-driver %O %A %B %P")
    fails(repo, "merge", "one")
    assert text_of(repo, "MEMORY.md") == side_two(BASE)


SIDES = [text.encode() for text in (BASE, side_one(BASE), side_two(BASE))]


def files(folder, texts):
    """Base, ours and theirs."""
    folder.mkdir(exist_ok=True)
    paths = [folder / name for name in ("base", "ours", "theirs")]
    for path, data in zip(paths, texts, strict=True):
        path.write_bytes(data)
    return list(map(str, paths))


def merged_as_by_git(tmp_path, texts):
    """Merge, and compare the outcome with that of git alone."""
    given = files(tmp_path / "mem", texts)
    code = merge_driver.main([*given, "MEMORY.md", "9"])
    old, mine, other = files(tmp_path / "git", texts)
    labels = ["-L", "ours", "-L", "base", "-L", "theirs", "--marker-size", "9"]
    command = ["git", "merge-file", "-p", *labels, mine, old, other]
    process = subprocess.run(command, capture_output=True, check=False)
    assert (code, Path(given[1]).read_bytes()) == (process.returncode, process.stdout)
    return code


DAMAGED = {
    "not utf-8": b"\xff\n" + BASE.encode(),
    "damaged front matter": BASE.encode() + b"---\nid: x\ntags: [\n---\nBody.\n",
    "an id twice": (BASE + entry("a")).encode(),
}


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_cannot_be_read_is_merged_as_git_does(tmp_path, damage, place):
    """Base, ours or theirs is damaged: git's own merge, its marks and its exit code."""
    texts = list(SIDES)
    texts[place] = DAMAGED[damage]
    merged_as_by_git(tmp_path, texts)


def test_prose_alone_is_merged_as_by_git(tmp_path, monkeypatch):
    """And what is no text, or takes git too long, is a conflict that keeps ours."""
    assert merged_as_by_git(tmp_path, [b"# M\n", b"# O\n", b"# T\n"]) == 1
    given = files(tmp_path / "binary", [BASE.encode(), b"\0\1binary", b"other\0"])
    assert merge_driver.main([*given, "MEMORY.md"]) > 0
    assert Path(given[1]).read_bytes() == b"\0\1binary"
    slow = files(tmp_path / "slow", [b"# M\n", b"# O\n", b"# T\n"])
    late = subprocess.CompletedProcess([], 124, "", "")
    monkeypatch.setattr("memcli.project.git.run", lambda *_, **__: late)
    assert merge_driver.main([*slow, "MEMORY.md"]) > 0
    assert Path(slow[1]).read_bytes() == b"# O\n"


def test_a_bug_of_ours_is_merged_as_git_does(tmp_path, monkeypatch):
    """Whatever is raised, the person gets a conflict to resolve and both sides."""

    def broken(*_, **__):
        raise RecursionError

    monkeypatch.setattr("memcli.commands.merge_driver.merge", broken)
    assert merged_as_by_git(tmp_path, SIDES) > 0


def test_the_mode_stays_and_nothing_is_left(tmp_path, capsys):
    """No file beside the three; a missing one is an error that git takes for no
    merge."""
    given = files(tmp_path / "mem", SIDES)
    Path(given[1]).chmod(0o640)
    assert merge_driver.main([*given, "MEMORY.md"]) == 0
    check(Path(given[1]).read_text())
    assert Path(given[1]).stat().st_mode & 0o777 == 0o640
    assert len(list((tmp_path / "mem").iterdir())) == 3
    Path(given[1]).unlink()
    capsys.readouterr()
    assert merge_driver.main(given) > 128
    assert capsys.readouterr().err == f"mem: {given[1]}: no such file\n"
    assert merge_driver.main(["a"]) == 2
    assert merge_driver.main(["/dev/null", *given[1:]]) == 2  # nor is a pipe waited for


def test_no_link_is_written_through(tmp_path):
    """git hands over files of its own; what a link leads to stays as it is."""
    for name in ("base", "theirs", "target"):
        (tmp_path / name).write_text(f"# Memory\n\n{name}\n")
    (tmp_path / "ours").symlink_to("target")
    files = [str(tmp_path / name) for name in ("base", "ours", "theirs")]
    assert merge_driver.main([*files, "MEMORY.md", "7"]) == 2
    assert (tmp_path / "target").read_text() == "# Memory\n\ntarget\n"


def test_it_starts_without_typer(tmp_path):
    """A merge of many files waits for no more than it needs."""
    given = files(tmp_path / "mem", SIDES)
    code = (
        "import sys; sys.argv[1:] = ['merge-driver', *sys.argv[1:], 'MEMORY.md', '7']\n"
        "import atexit; atexit.register(lambda: print(*sys.modules))\n"
        "from memcli.__main__ import main; main()"
    )
    command = [sys.executable, "-c", code, *given]
    process = finished(*command)
    loaded = set(process.stdout.split())
    assert "memcli.compaction.merge" in loaded
    assert not loaded & {"typer", "rich", "numpy", "anthropic", "memcli.cli.program"}


@pytest.mark.parametrize("merging", ["one", "two"])
def test_what_was_forgotten_comes_back_by_no_merge(repo, merging):
    """One branch forgets an entry, the other has changed it: it stays forgotten, and
    all else of both branches is there."""

    def changed(text):
        text = change(text, "b", body="Another word, and more.")
        return text + entry("two", "What two has to say.")

    def added(text):
        return text + entry("one", "What one has to say.")

    branches(repo, "MEMORY.md", added, changed)
    repo.git("checkout", "-q", "one")
    repo.ok("forget", "b")
    repo.commit("forgotten")
    repo.git("checkout", "-q", merging)
    other = "two" if merging == "one" else "one"
    repo.git("merge", "-q", "--no-edit", other)
    found = [each.id for each in parse(text_of(repo, "MEMORY.md"), "").entries]
    assert sorted(found) == ["a", "c", "d", "e", "f", "one", "two"]


def test_a_change_of_what_the_other_side_removed_stays(repo):
    """Removed by hand is not forgotten: the changed entry is kept."""
    branches(
        repo,
        "MEMORY.md",
        lambda text: change(text, "b", remove=True),
        lambda text: change(text, "b", body="Another word, and more."),
    )
    repo.git("checkout", "-q", "one")
    repo.git("merge", "-q", "--no-edit", "two")
    assert "Another word" in text_of(repo, "MEMORY.md")
