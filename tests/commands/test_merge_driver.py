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


def test_an_archive_keeps_every_block(repo: Project) -> None:
    def block(day: int) -> str:
        return entry("a", archived_at=f"2026-03-{10 + day}")

    branches(
        repo, NAMES[2], lambda _: BASE + block(1) + block(2), lambda _: BASE + block(2) + block(3)
    )
    repo.git("merge", "-q", "--no-edit", "one")
    assert text_of(repo, NAMES[2]) == BASE + block(2) + block(3) + block(1)


def test_the_other_direction_differs_in_order_alone(repo: Project) -> None:
    branches(repo, "MEMORY.md")
    texts = []
    for into, other in (("one", "two"), ("two", "one")):
        repo.git("checkout", "-q", "--detach", into)
        repo.git("merge", "-q", "--no-edit", other)
        texts.append(text_of(repo, "MEMORY.md"))
    assert texts[0] != texts[1]
    assert sorted(texts[0].split("---\nid")) == sorted(texts[1].split("---\nid"))


@pytest.mark.parametrize("name", NAMES[:2])
def test_a_rebase(repo: Project, name: str) -> None:
    branches(repo, name)
    repo.git("rebase", "-q", "one")
    check(text_of(repo, name))


def test_a_rebase_of_many_commits(repo: Project) -> None:
    branches(repo, "MEMORY.md")
    for count in range(3, 8):
        repo.write("MEMORY.md", change(text_of(repo, "MEMORY.md"), "f", reinforcement_count=count))
        repo.commit(f"f {count}")
    repo.git("rebase", "-q", "one")
    assert {it.id: it.reinforcement_count for it in parse(text_of(repo, "MEMORY.md"), "").entries}[
        "f"
    ] == 7


def test_a_rebase_of_edits_to_one_body_leaves_the_last_of_each_side(repo: Project) -> None:
    branches(repo, "MEMORY.md", lambda text: change(text, "a", body="Theirs, which is long."))
    for body in ("Second.", "The third and longest of ours.", "Last."):
        repo.write("MEMORY.md", change(text_of(repo, "MEMORY.md"), "a", body=body))
        repo.commit(body)
    repo.git("rebase", "-q", "one")
    bodies = [
        it.body for it in parse(text_of(repo, "MEMORY.md"), "").entries if it.id not in "bcdef"
    ]
    assert sorted(bodies[:2]) == ["Last.", "Theirs, which is long."]
    assert "Second." not in bodies and "The third and longest of ours." not in bodies


def test_a_cherry_pick_and_a_revert(repo: Project) -> None:
    branches(repo, "MEMORY.md")
    repo.git("cherry-pick", "one")
    check(text_of(repo, "MEMORY.md"))
    repo.git("revert", "--no-edit", "HEAD")
    found = {it.id: it for it in parse(text_of(repo, "MEMORY.md"), "").entries}
    assert found["a"].reinforcement_count == 2 and "d" in found and "one" not in found


def test_a_stash_pop(repo: Project) -> None:
    branches(repo, "MEMORY.md")
    repo.git("checkout", "-q", "main")
    repo.write("MEMORY.md", side_one(BASE))
    repo.git("stash", "-q")
    repo.git("merge", "-q", "--ff-only", "two")
    repo.git("stash", "pop", "-q")
    check(text_of(repo, "MEMORY.md"))


def test_both_add_the_file(repo: Project) -> None:
    repo.commit()
    for branch in ("one", "two"):
        repo.git("checkout", "-q", "-b", branch, "main")
        repo.write("MEMORY.md", HEAD + entry("a") + entry(branch))
        repo.commit()
    repo.git("merge", "-q", "--no-edit", "one")
    assert text_of(repo, "MEMORY.md") == HEAD + entry("a") + entry("two") + entry("one")


def test_in_a_linked_work_tree(repo: Project, tmp_path: Path) -> None:
    branches(repo, "MEMORY.md")
    repo.git("checkout", "-q", "main")
    linked = tmp_path / "linked tree"
    repo.git("worktree", "add", "-q", str(linked), "two")
    (linked / "sub").mkdir()
    repo.git("merge", "-q", "--no-edit", "one", cwd=linked / "sub")
    check((linked / "MEMORY.md").read_text())
    assert repo.git("status", "--porcelain", cwd=linked) == ""


def test_branches_that_crossed_each_other(repo: Project) -> None:
    """Two merge bases: git merges those first, with the same driver."""
    branches(repo, "MEMORY.md")
    repo.git("branch", "crossed", "one")
    repo.git("merge", "-q", "--no-edit", "one")
    repo.git("checkout", "-q", "crossed")
    repo.git("merge", "-q", "--no-edit", "two~0^{commit}^1")
    for branch in ("crossed", "two"):
        repo.git("checkout", "-q", branch)
        text = change(text_of(repo, "MEMORY.md"), "f", reinforcement_count=4)
        repo.write("MEMORY.md", text + entry(f"late-{branch}"))
        repo.commit()
    repo.git("merge", "-q", "--no-edit", "crossed")
    found = {it.id: it for it in parse(text_of(repo, "MEMORY.md"), "").entries}
    assert found["f"].reinforcement_count == 7 and found["a"].reinforcement_count == 4
    assert {"one", "two", "late-two", "late-crossed", derived_id("b", "An edit.")} <= set(found)


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


def test_prose_changed_in_different_places_is_clean(repo: Project) -> None:
    long = "".join(f"Line {i}.\n\n" for i in range(9))
    branches(
        repo,
        "MEMORY.md",
        lambda text: side_one(text.replace(HEAD, HEAD + long)),
        lambda text: side_two(text.replace("# Memory", "# Our memory")),
    )
    repo.git("merge", "-q", "--no-edit", "one")
    text = text_of(repo, "MEMORY.md")
    assert text.startswith("# Our memory\n\nWhat we know.\n\n" + long)
    check(HEAD + text[len("# Our memory\n\nWhat we know.\n\n" + long) :])


def test_an_edit_next_to_another_of_prose_alone_is_as_without_us(repo: Project) -> None:
    branches(repo, "notes.md", lambda _: "1\n2\nours\n4\n", lambda _: "1\n2\ntheirs\n4\n")
    fails(repo, "merge", "one")
    assert (
        text_of(repo, "notes.md")
        == "1\n2\n<<<<<<< ours\ntheirs\n=======\nours\n>>>>>>> theirs\n4\n"
    )


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


def test_a_binary_side_is_a_conflict_that_keeps_ours(repo: Project) -> None:
    branches(repo, "MEMORY.md", lambda _: "\0\1binary", lambda _: "other\0")
    fails(repo, "merge", "one")
    assert text_of(repo, "MEMORY.md") == "other\0"
    assert repo.git("status", "--porcelain") == "UU MEMORY.md\n"


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


def test_a_file_that_is_not_there_is_an_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = files(tmp_path, b"", b"", b"")
    Path(given[1]).unlink()
    assert merge_driver.main(given) > 128
    assert "Traceback" not in capfd.readouterr().err


def test_without_its_files_it_says_how_it_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    assert merge_driver.main(["a"]) == 2
    assert "%O %A %B %P" in capsys.readouterr().err
    assert merge_driver.main(["--help"]) == 0
    assert "%O %A %B %P" in capsys.readouterr().out


def test_the_size_of_the_marks_is_gits(tmp_path: Path) -> None:
    texts = [BASE, BASE.replace("What", "1"), BASE.replace("What", "2")]
    given = files(tmp_path, *(text.encode() for text in texts))
    assert merge_driver.main([*given, "MEMORY.md", "11"]) == 1
    assert f"\n{'<' * 11} ours\n1 we know.\n{'=' * 11}\n2 we" in Path(given[1]).read_text()


def test_the_mode_stays_and_nothing_is_left(tmp_path: Path) -> None:
    given = files(tmp_path, BASE.encode(), side_one(BASE).encode(), side_two(BASE).encode())
    Path(given[1]).chmod(0o640)
    assert merge_driver.main([*given, "MEMORY.md"]) == 0
    check(Path(given[1]).read_text())
    assert Path(given[1]).stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "ours", "theirs"]


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
