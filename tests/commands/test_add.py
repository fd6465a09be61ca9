"""mem add: one entry at the end of a level's MEMORY.md."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from memcli.memory.parser import parse
from memcli.memory.values import Entry
from tests.conftest import TODAY, Project

KEY = "AKIA" + "Z7Q2M4X6B8N1V3C5"


def entries(path: Path) -> tuple[Entry, ...]:
    return tuple(parse(path.read_bytes().decode(), str(path)).entries)


def last(project: Project, name: str = "MEMORY.md") -> Entry:
    return entries(project.root / name)[-1]


def test_a_first_entry_creates_the_file(project: Project) -> None:
    """Without MEMORY.md it is made; the first line is the title, the rest the body, dated today."""
    got = project.mem("add", "Freeze time in cart tests\nUse freeze_time in the fixture.")
    assert (got.code, got.err) == (0, "")
    entry = last(project)
    assert re.fullmatch(
        rf"added to MEMORY.md:{entry.line}: Freeze time in cart tests \(id {entry.id[:8]}\)\n",
        got.out,
    )
    assert entry.body == f"## [{TODAY}] Freeze time in cart tests\nUse freeze_time in the fixture."
    assert (entry.type, entry.domain, entry.importance, entry.phase, entry.status) == (
        "declarative",
        "task",
        0.5,
        "unknown",
        "active",
    )
    assert entry.created_at == TODAY and entry.reinforcement_count == 0
    assert (
        project.mem("recall", "freeze time", "--ranked").out.count("Freeze time in cart tests") == 1
    )


def test_every_option_is_written(project: Project) -> None:
    """Tags, paths, commands, importance, priority, type, steps, outcome and title arrive in the
    entry.
    """
    project.mem(
        "add", "Body of it", "--title", "A title", "--tag", "a,b", "--tag", "c",
        "--path", "src/**/*.py", "--path", "*.sql",
        "--command", "git push*", "--importance", "0.7", "--priority", "high", "--type", "procedural",
        "--kind", "workflow", "--step", "do one", "--step", "do two", "--outcome", "success",
    )  # fmt: skip
    entry = last(project)
    assert entry.body == f"## [{TODAY}] A title\nBody of it\n1. do one\n2. do two"
    assert entry.extra["tags"] == ["a", "b", "c"] and entry.extra["paths"] == [
        "src/**/*.py",
        "*.sql",
    ]
    assert (entry.extra["commands"], entry.extra["outcome"]) == (["git push*"], "success")
    assert (entry.title, entry.type, entry.priority, entry.importance) == (
        "A title",
        "procedural",
        "high",
        0.85,
    )


def test_levels_have_their_files(project: Project) -> None:
    """Each level writes to its own MEMORY.md; a task to its worktree where there is one."""
    for folder in ("tasks/plain", "tasks/tree/worktree"):
        (project.root / ".mem/jobs/j" / folder).mkdir(parents=True)
    for args, name in (
        ([], "MEMORY.md"),
        (["--level", "job", "--job", "j"], ".mem/jobs/j/MEMORY.md"),
        (["--level", "task", "--job", "j", "--task", "plain"], ".mem/jobs/j/tasks/plain/MEMORY.md"),
        (["--job", "j", "--task", "tree"], ".mem/jobs/j/tasks/tree/worktree/MEMORY.md"),
    ):
        got = project.mem("add", f"Text {name}", *args)
        assert got.code == 0, got.err
        assert last(project, name).title == f"Text {name}"
    assert project.mem("add", "Everywhere", "--level", "global").out.startswith(
        "added to ~/MEMORY.md"
    )
    assert entries(project.home / "MEMORY.md")[0].title == "Everywhere"
    inside = project.mem(
        "add", "From inside", "--level", "team", cwd=project.root / ".mem/jobs/j/tasks/plain"
    )
    assert inside.out.startswith("added to MEMORY.md")
    outside = project.mem(
        "add", "Upwards, to the project", cwd=project.root / ".mem/jobs/j/tasks/plain"
    )
    assert outside.out.startswith("added to ../../../../../MEMORY.md")


@pytest.mark.parametrize(
    "args",
    [
        ["--level", "job"], ["--job", "nope"], ["--level", "task", "--job", "j"],
        ["--job", "j", "--task", "nope"],
        ["--job", "../.."], ["--job", "j", "--task", "../../.."], ["--job", "/etc"], ["--job", "."],
        ["--level", "moon"], ["--kind", "moon"], ["--type", "moon"], ["--priority", "moon"],
        ["--importance", "1.5"], ["--importance", "nan"], ["--importance", "x"],
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(project: Project, args: list[str]) -> None:
    """Unknown places and values are exit 2 with a hint, and nothing is written anywhere."""
    (project.root / ".mem/jobs/j/tasks").mkdir(parents=True)
    got = project.mem("add", "Text", *args)
    assert got.code == 2
    assert re.fullmatch(r"mem: .+\nhint: .+\n", got.err)
    assert not list(project.root.rglob("MEMORY.md"))


def test_text_comes_from_stdin(project: Project) -> None:
    """`-` reads standard input, with CRLF; what is no text is refused with its place."""
    project.mem("add", "-", input="Title here\r\nBody é line\r\n".encode())
    assert last(project).body == f"## [{TODAY}] Title here\nBody é line"
    for data, why in ((b"a\nb \xff", "is not UTF-8 text (line 2, byte 4)"), (b"a\0", "NUL byte")):
        got = project.mem("add", "-", input=data)
        assert got.code == 2 and why in got.err and len(entries(project.root / "MEMORY.md")) == 1


def test_a_long_text_wants_a_word(project: Project) -> None:
    """64 KB are taken; more is refused without --allow-long."""
    words = "word " * 14_000
    assert project.mem("add", "-", input=words).code == 5
    assert not (project.root / "MEMORY.md").exists()
    assert project.mem("add", "-", "--allow-long", input=words).code == 0
    assert project.mem("add", "-", input="x" * (64 << 10)).code == 0


@pytest.mark.parametrize(
    "option", ["", "--title", "--tag", "--step", "--path", "--command", "--outcome"]
)
def test_a_secret_is_refused_and_not_shown(project: Project, option: str) -> None:
    """Exit 5 wherever the secret stands; nothing is written, and it is printed nowhere."""
    got = project.mem("add", *([f"the key is {KEY}"] if not option else ["Text", option, KEY]))
    assert got.code == 5
    assert KEY not in got.out + got.err and "secret" in got.err
    assert not (project.root / "MEMORY.md").exists()


def test_what_is_known_is_reinforced(project: Project) -> None:
    """A near-duplicate gets one count and today's date, and the answer says so."""
    text = (
        "Set a lock timeout of three seconds before each migration of a large table in production"
    )
    project.write(
        "MEMORY.md", project.entry(text, "Because others queue behind it.", created_at="2026-01-01")
    )
    got = project.mem("add", text + "\nBecause others queue behind it.")
    assert got.out.startswith(f"known already, reinforced: {text} (MEMORY.md:")
    [entry] = entries(project.root / "MEMORY.md")
    assert (entry.reinforcement_count, entry.last_reinforced, entry.created_at) == (
        1,
        TODAY,
        "2026-01-01",
    )


@pytest.mark.parametrize("before", [None, "", "no newline", "# Head\n\ntext\n", "a\r\nb\r\n"])
def test_dry_run_is_a_diff_that_git_takes(project: Project, before: str | None) -> None:
    """--dry-run prints a diff for git apply and writes nothing; applied, it is what add writes."""
    if before is not None:
        project.write("MEMORY.md", before)
    got = project.shell("add", "Title\nwith --- body", "--dry-run")
    path = project.root / "MEMORY.md"
    assert got.code == 0
    assert path.exists() == (before is not None) and (
        not path.exists() or path.read_bytes().decode() == before
    )
    raw = subprocess.run(
        [sys.executable, "-m", "memcli", "add", "Title\nwith --- body", "-n"],
        cwd=project.root,
        capture_output=True,
        check=True,
    ).stdout
    subprocess.run(["git", "apply", "--check"], input=raw, cwd=project.root, check=True)
    subprocess.run(["git", "apply"], input=raw, cwd=project.root, check=True)
    assert last(project).title == "Title"


def test_twenty_adds_at_once_are_all_there(project: Project) -> None:
    """Twenty processes at once lose nothing; one that waited too long says so and tries again."""
    words = (
        "apple brick cloud delta eagle flame grape house igloo jewel"
        " koala lemon mango night ocean piano quilt river storm tiger"
    ).split()
    texts = {word: f"{word} {word[::-1]} {i}" for i, word in enumerate(words)}
    running = {
        text: subprocess.Popen(
            [sys.executable, "-m", "memcli", "add", text],
            cwd=project.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for text in texts.values()
    }
    for text, process in running.items():
        out, _ = process.communicate()
        assert process.returncode == 5 or out.startswith(b"added to")
        assert process.returncode == 0 or project.mem("add", text).code == 0
    found = sorted(entry.title.split()[0] for entry in entries(project.root / "MEMORY.md"))
    assert found == sorted(words)
    assert not [path for path in project.root.iterdir() if "mem-tmp" in path.name]
