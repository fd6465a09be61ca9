"""What a dry run of mem extract says, held against the run."""

import os
import random
import shutil
import subprocess

import pytest

from memcli.app import App, Options
from memcli.storage.state import SessionLog
from tests.commands.talk import Talk, in_job, saved, state

SAID = (
    "Never log the proxy password, not even in debug builds.",
    "Always run the linter before you commit in this project.",
    "No, don't use npm in this project. Use pnpm from now on.",
    "I prefer short commit messages in the imperative mood.",
    "Remember that the staging database is reset every night.",
    "Ok thanks, that looks fine.",
)


def session(project, dice, name, cwd):
    talk = Talk(cwd, name)
    for text in dice.sample(SAID, dice.randint(1, 4)):
        talk.user(text).agent("Understood, I will do it like that from here on.")
    if dice.random() < 0.6:
        given = {"file_path": str(cwd / "src/cart.py"), "content": "x = 1"}
        talk.tool("Write", given, "wrote src/cart.py")
    if dice.random() < 0.5:
        talk.tool("Bash", {"command": "pytest -q"}, "ImportError: no cart", error=True)
        talk.agent("The root cause was a missing module; I install it first.")
        talk.tool("Bash", {"command": "pytest -q"}, "4 passed")
    return saved(project, talk, f"{name}.jsonl")


def duplicates(project, dice):
    text = "Run the importer with the flag that skips rows which are there already."
    twins = project.entry("Importer", text) + project.entry("The importer", text)
    project.write("tasks/a.md", twins)


def leavers(project, dice):
    old = {"created_at": "2025-01-01", "importance": 0.1}
    gone = project.entry("Gone", "About the gone.", status="retired")
    rest = "".join(
        project.entry(f"Kept {number}", f"About {number}.") for number in range(6)
    )
    text = gone + project.entry("Old", "About the old.", **old) + rest
    ending = dice.choice(("\n", "\r\n"))
    project.write("tasks/b.md", text.replace("\n", ending).encode())


def stages(project, dice):
    before = dice.choice(("design\n", "unknown\n", ""))
    if before:
        project.write(".current-stage", before)
    project.write("INTENT.md", f"Stage: {dice.choice(('review', 'design', 'lunch'))}\n")
    passing = {"domain": "task", "phase": "design"}
    few = dice.randint(1, 3)  # of eight: the last is over the loss guard
    text = "".join(
        project.entry(f"Stage {number}", f"Of {number}.", **passing)
        for number in range(few)
    )
    rest = "".join(
        project.entry(f"Rest {number}", f"The {number}.") for number in range(8 - few)
    )
    project.write("tasks/c.md", text + rest)


def recurring(project, dice):
    text = "Cart tests need a frozen clock, or they fail around midnight."
    for job in ("one", "two", "three"):
        entry = project.entry("Clock", text, id=f"clock-{job}")
        project.write(f".mem/jobs/{job}/MEMORY.md", entry)


def renamed(project, dice):
    project.write("src/old.py", "def price():\n    return 1\n" * 5)
    entry = project.entry(
        "Prices", "Prices come from `src/old.py`.", paths=["src/old.py"]
    )
    project.write("tasks/d.md", entry)
    project.commit()
    project.git("mv", "src/old.py", "src/new.py")
    project.commit()


def known(project, dice):
    project.memory("# Memory\n\n", project.entry("Log", SAID[0], id="log-1"))
    project.mem("recall", "log the proxy password", "--session", "s-1")


def used(project, dice):
    known(project, dice)
    options = Options(root=str(project.root))
    with (
        App(options, os.environ, project.root) as app,
        app.state() as log,
        log.transaction(),
    ):
        SessionLog(log).wait("s-0", ["log-1"], "2026-11-20")


SCENES = (
    duplicates, leavers, stages, recurring, renamed, known, used,
)  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_a_dry_run_shows_the_run_to_the_byte(project, tmp_path, seed):
    """Every file that the run changes, the stage, uses and compaction included: git
    makes the same of the diff as the run of the tree."""
    dice = random.Random(seed)
    project.commit()
    for scene in dice.sample(SCENES, dice.randint(0, 4)):
        scene(project, dice)
    cwd = in_job(project) if dice.random() < 0.3 else project.root
    paths = [
        session(project, dice, f"s-{number}", cwd)
        for number in range(dice.randint(1, 2))
    ]
    before = state(project)
    shown = project.mem("extract", *paths, "--dry-run")
    assert state(project) == before
    copy = tmp_path / "copy"
    shutil.copytree(project.root, copy, symlinks=True)
    if shown.out.strip():
        subprocess.run(
            ["git", "apply", "-"], cwd=copy, input=shown.out.encode(), check=True
        )
    ran = project.mem("extract", *paths)
    assert ran.code == shown.code
    assert files(copy) == files(project.root)


def files(root):
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git/" not in f"{path}" and ".memory.db" not in path.name
    }
