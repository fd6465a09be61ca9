"""The merge driver in real git: merges in both directions, rebase, cherry-pick, stash, work trees."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.commands import merge_driver
from memcli.memory.editor import EntryChange, edited, render_entry
from memcli.memory.grammar import derived_id
from memcli.memory.parser import parse
from tests.conftest import Project

NAMES = ["MEMORY.md", 'tasks/a b — ünï\'s "q".md', "MEMORY.archive.md"]
HEAD = "# Memory\n\nWhat we know.\n\n"
DRIVER = f"'{sys.executable}' -m memcli merge-driver %O %A %B %P %L"


def entry(id: str, body: str = "The body.", **values: object) -> str:
    keys = {"id": id, "type": "procedural", "status": "active", "reinforcement_count": 1, **values}
    return render_entry(keys, body) + "\n"


BASE = HEAD + "".join(map(entry, "abcdef"))


def change(
    text: str, id: str, body: str | None = None, *, remove: bool = False, **values: object
) -> str:
    file = parse(text, "")
    at = [found.id for found in file.entries].index(id)
    return edited(file, [EntryChange(at, values, body, remove)]).text


def side_one(text: str) -> str:
    text = change(text, "a", reinforcement_count=3)
    text = change(text, "b", body="An edit that is long.")
    text = change(text, "c", status="retired", retired_because="by hand")
    return change(text, "d", remove=True) + entry("one")


def side_two(text: str) -> str:
    text = change(text, "a", reinforcement_count=2, tags=["x"])
    text = change(text, "b", body="An edit.")
    text = change(text, "c", reinforcement_count=5)
    return change(text, "e", remove=True) + entry("two")


def check(text: str) -> None:
    """What the two sides come to."""
    file = parse(text, "")
    assert not file.problems
    found = {it.id: it for it in file.entries}
    assert len(found) == len(file.entries)
    other = derived_id("b", "An edit.")
    assert set(found) == {"a", "b", other, "c", "f", "one", "two"}
    assert found["a"].reinforcement_count == 4 and found["a"].extra["tags"] == ["x"]
    assert found["b"].body == "An edit that is long." and found[other].body == "An edit."
    assert found[other].extra["contradicts"] == ["b"]
    assert found["c"].status == "retired" and found["c"].reinforcement_count == 5
    assert text.startswith(HEAD)


@pytest.fixture
def repo(project: Project) -> Project:
    """A repository with the driver; `one` and `two` are branches off `main`."""
    project.git("config", "merge.mem.driver", DRIVER)
    project.write(".gitattributes", "*.md merge=mem\n")
    return project


def branches(
    repo: Project,
    name: str,
    one: Callable[[str], str] = side_one,
    two: Callable[[str], str] = side_two,
) -> None:
    repo.write(name, BASE)
    repo.commit()
    for branch, plan in (("one", one), ("two", two)):
        repo.git("checkout", "-q", "-b", branch, "main")
        repo.write(name, plan(BASE))
        repo.commit(branch)


def text_of(repo: Project, name: str) -> str:
    return (repo.root / name).read_bytes().decode()


def fails(repo: Project, *args: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        ["git", *args], cwd=cwd or repo.root, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES[:2])
@pytest.mark.parametrize(("into", "other"), [("one", "two"), ("two", "one")])
def test_a_merge_in_each_direction(repo: Project, name: str, into: str, other: str) -> None:
    branches(repo, name)
    repo.git("checkout", "-q", into)
    repo.git("merge", "-q", "--no-edit", other)
    check(text_of(repo, name))
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("name", NAMES[:2])
def test_a_rebase(repo: Project, name: str) -> None:
    branches(repo, name)
    repo.git("rebase", "-q", "one")
    check(text_of(repo, name))


# --- prose


def prose_sides(repo: Project, style: str = "") -> None:
    if style:
        repo.git("config", "merge.conflictStyle", style)
    branches(
        repo,
        "MEMORY.md",
        lambda text: side_one(text).replace("What we know.", "What one knows."),
        lambda text: side_two(text).replace("What we know.", "What two know."),
    )


@pytest.mark.parametrize("style", ["", "diff3"])
def test_prose_that_both_changed_conflicts_as_in_git(repo: Project, style: str) -> None:
    prose_sides(repo, style)
    assert "CONFLICT" in fails(repo, "merge", "one")
    text = text_of(repo, "MEMORY.md")
    repo.git("merge", "--abort")
    repo.write(".gitattributes", "")
    for branch, words in (
        ("main", "What we know."),
        ("one", "What one knows."),
        ("two", "What two know."),
    ):
        repo.git("checkout", "-q", "-f", branch)
        repo.write("prose.md", HEAD.replace("What we know.", words))
    (old, mine, other) = (
        HEAD.replace("What we know.", w)
        for w in ("What we know.", "What two know.", "What one knows.")
    )
    files = [repo.write(f"~/{n}", t) for n, t in (("mine", mine), ("old", old), ("other", other))]
    labels = ["-L", "ours", "-L", "base", "-L", "theirs"]
    command = ["git", "merge-file", "-p", *labels, *map(str, files)]
    by_git = subprocess.run(command, cwd=repo.root, capture_output=True, text=True, check=False)
    assert by_git.returncode == 1 and text.startswith(by_git.stdout)
    check(HEAD + text[len(by_git.stdout) :])


# --- failure


@pytest.mark.parametrize("program", ["/nonexistent/python -m memcli", "false", "kill -9 $$;"])
def test_a_driver_that_cannot_run_leaves_a_conflict_to_git(repo: Project, program: str) -> None:
    branches(repo, "MEMORY.md")
    repo.git("config", "merge.mem.driver", f"{program} merge-driver %O %A %B %P")
    fails(repo, "merge", "one")
    assert text_of(repo, "MEMORY.md") == side_two(BASE)


def files(tmp_path: Path, base: bytes, ours: bytes, theirs: bytes) -> list[str]:
    paths = [tmp_path / name for name in ("base", "ours", "theirs")]
    for path, data in zip(paths, (base, ours, theirs), strict=True):
        path.write_bytes(data)
    return list(map(str, paths))


def git_alone(tmp_path: Path, base: bytes, ours: bytes, theirs: bytes) -> tuple[int, bytes]:
    (tmp_path / "git").mkdir(exist_ok=True)
    old, mine, other = files(tmp_path / "git", base, ours, theirs)
    labels = ["-L", "ours", "-L", "base", "-L", "theirs", "--marker-size", "9"]
    done = subprocess.run(
        ["git", "merge-file", "-p", *labels, mine, old, other], capture_output=True, check=False
    )
    return done.returncode, done.stdout


DAMAGED = {
    "not utf-8": b"\xff\n" + BASE.encode(),
    "damaged front matter": BASE.encode() + b"---\nid: x\ntags: [\n---\nBody.\n",
    "an id twice": (BASE + entry("a")).encode(),
    "prose": b"# M\n",
}


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_cannot_be_read_is_merged_as_git_does(tmp_path: Path, damage: str, place: int) -> None:
    texts = [BASE.encode(), side_one(BASE).encode(), side_two(BASE).encode()]
    texts[place] = DAMAGED[damage]
    if damage == "prose":
        texts = [DAMAGED[damage], b"# O\n", b"# T\n"]
    given = files(tmp_path, texts[0], texts[1], texts[2])
    code = merge_driver.main([*given, "MEMORY.md", "9"])
    assert (code, Path(given[1]).read_bytes()) == git_alone(tmp_path, texts[0], texts[1], texts[2])


def test_a_bug_of_ours_is_merged_as_git_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr("memcli.compaction.merge.merge", broken)
    texts = [BASE.encode(), side_one(BASE).encode(), side_two(BASE).encode()]
    given = files(tmp_path, texts[0], texts[1], texts[2])
    code = merge_driver.main([*given, "MEMORY.md", "9"])
    assert (code, Path(given[1]).read_bytes()) == git_alone(tmp_path, texts[0], texts[1], texts[2])
    assert code > 0


def test_it_starts_without_typer(tmp_path: Path) -> None:
    given = files(tmp_path, BASE.encode(), side_one(BASE).encode(), side_two(BASE).encode())
    code = (
        "import sys; sys.argv[1:] = ['merge-driver', *sys.argv[1:], 'MEMORY.md', '7']\n"
        "import atexit; atexit.register(lambda: print(*sys.modules))\n"
        "from memcli.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *given], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "memcli.compaction.merge" in loaded
    assert not loaded & {"typer", "rich", "numpy", "sqlite3", "anthropic", "memcli.cli.program"}
