"""What a commit costs the next check of names, in a repository of many files:
python -m tests.bench.commit_cost [--files N] [--entries N] [--rounds N].

CPU of this process and of git, in milliseconds: of a check right after a commit, less
that of a check without one, in the same run. The least of the rounds counts, as others
may use the machine."""

import os
import random
import subprocess
import tempfile
from pathlib import Path

from memcli.app import App, Options
from memcli.index import anchors
from tests.programs import run

KINDS = (
    "See `{path}`.",
    "Call `{name}()` first.",
    "Run `npm run step-{number}`.",
    "Run `make goal-{number}`.",
    "The cases lie in `{folder}/`.",
    "We build with Node 20.",
)


def cpu():
    """Seconds of CPU of this process and of all it waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def git(top, *words):
    """Run git there."""
    who = "-c", "user.name=x", "-c", "user.email=x@example.com"
    run = ["git", "-C", str(top), *who, *words]
    subprocess.run(run, check=True, capture_output=True)


def path_of(number):
    """The path of a file of the repository."""
    return f"src/part_{number % 200:03}/unit_{number:05}.py"


def build(top, files, entries):
    """A repository with so many files of code and so many entries that name them."""
    git(top, "init", "-q")
    for number in range(files):
        path = top / path_of(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        body = "\n".join(f"    step = {row} * {number}" for row in range(30))
        path.write_text(f"def call_unit_{number}():\n{body}\n")
    steps = ", ".join(f'"step-{number}": "x"' for number in range(entries))
    (top / "package.json").write_text(
        f'{{"engines": {{"node": ">=20"}}, "scripts": {{{steps}}}}}'
    )
    goals = "".join(f"goal-{number}:\n\ttrue\n" for number in range(entries))
    (top / "Makefile").write_text(goals)
    notes = []
    some = random.Random(3).sample(range(files), entries)
    for place, number in enumerate(some):
        path = path_of(number)
        text = KINDS[place % len(KINDS)].format(
            path=path,
            folder=path.rpartition("/")[0],
            name=f"call_unit_{number}",
            number=place,
        )
        notes.append(f"---\nid: n{place}\ntype: procedural\n---\n## N{place}\n{text}\n")
    (top / "MEMORY.md").write_text("\n".join(notes))
    git(top, "add", "-A")
    git(top, "commit", "-qm", "start")


def checked(top, again):
    """The CPU of a check, and what it found."""
    app = App(Options(root=str(top)), dict(os.environ), top)
    app.refresh(embed=False)
    before = cpu()
    for _ in range(again):
        found = anchors.update(app.index, top, app.count)
    return 1000 * (cpu() - before) / again, found


def main(files: int = 20_000, entries: int = 300, rounds: int = 5):
    """Build, commit and check."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        build(top, files, entries)
        first, found = checked(top, 1)
        print(f"first check: {first:.0f} ms, {found}")
        with_commit = []
        without = []
        for number in range(rounds):
            path = top / path_of(number)
            path.write_text(path.read_text() + f"ROUND = {number}\n")
            git(top, "commit", "-qam", f"round {number}")
            with_commit.append(checked(top, 1)[0])
            without.append(checked(top, 1)[0])
        more = min(with_commit) - min(without)
        print(
            f"after a commit {min(with_commit):.0f} ms, without {min(without):.0f} ms"
        )
        print(
            f"more after a commit: {more:.0f} ms of CPU; load {os.getloadavg()[0]:.1f}"
        )


if __name__ == "__main__":
    run(main)
