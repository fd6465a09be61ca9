"""A play of sixty sessions over four stages in one repository, through the installed
commands, hooks and git: what is for good must stand at its end, and nothing that is
not.

    python -m tests.drills.play [--sessions 60] [--keep FOLDER]

In each session a person works with an agent; the hooks are called as Claude Code calls
them, the worker that the end of a session starts is waited for. Twenty lasting lessons
are said or added along the way, twenty idle turns are planted between them. The stage
moves on in INTENT.md three times. Every fifth session two branches compact and are
merged by the merge driver, as CI and a colleague would.

At the end at least 17 of the 20 lessons are live (85 % of those of a shorter play), no
idle turn is kept, and no wording of an entry stands twice in an archive."""

import datetime
import json
import os
import sqlite3
import sys
import tempfile
import time
import uuid
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from memcli.memory.parser import parse
from memcli.memory.values import ARCHIVE
from tests.commands.talk import held
from tests.programs import finished, run

STAGES = ("specification", "design", "implementation", "review")
ENOUGH = 0.85
PATIENCE = 60.0  # seconds for the worker of one session


class Lesson(NamedTuple):
    """What is said (or, with a kind, added), and the words by which it is known."""

    text: str
    words: str
    kind: str = ""


LESSONS = (
    Lesson("Never log the proxy password, not even in debug builds.", "proxy password"),
    Lesson(
        "Never add a permission without asking the owner.", "permission owner", "policy"
    ),
    Lesson("Every migration must be reversible.", "migration reversible"),
    Lesson(
        "The importer writes to a queue, the worker reads it.",
        "importer queue",
        "architecture",
    ),
    Lesson("Always run the linter before you commit in this project.", "linter commit"),
    Lesson("Bump the version, build, then tag the release.", "version tag", "workflow"),
    Lesson(
        "From now on write commit messages in the imperative mood.", "imperative mood"
    ),
    Lesson("Remember that the staging database is reset every night.", "staging night"),
    Lesson(
        "We chose SQLite because the file can be mailed to support.",
        "SQLite support",
        "decision",
    ),
    Lesson("In this project dates are always stored in UTC.", "dates UTC"),
    Lesson(
        "Never edit the generated files by hand, change the template.",
        "generated template",
    ),
    Lesson(
        "The emulator needs four gigabytes, or it stops without a word.",
        "emulator gigabytes",
        "pitfall",
    ),
    Lesson("Always use pnpm in this repository, never npm.", "pnpm npm"),
    Lesson("API errors must never contain the text of a query.", "errors query"),
    Lesson("The tax office accepts PDF/A only.", "tax office", "fact"),
    Lesson("Remember that the printer port is 9100 in every branch.", "printer 9100"),
    Lesson(
        "Every public function must have a test with a real file.", "public function"
    ),
    Lesson(
        "Answers to customers go through the outbox, never directly.",
        "customers outbox",
        "policy",
    ),
    Lesson("Never use floats for money in this project.", "floats money"),
    Lesson("Always ask before you delete a branch on the server.", "delete branch"),
)
IDLE = (
    "Ok thanks, never mind.",
    "I never got that email.",
    "You never run the tests!",
    "Why does the emulator always ask me for the pin?",
    "Use the staging db instead of prod for this run.",
    "Print the result to stdout instead of a file.",
    "I always forget how this works.",
    "That never worked, did it?",
    "Must have been the cache.",
    "We should be done by Friday.",
    "It always takes this long, sadly.",
    "Never seen that before.",
    "Can you always see my screen?",
    "For today just skip the slow tests.",
    "No, I meant the other button.",
    "Should I restart it?",
    "I need a coffee, go on without me.",
    "Actually, let me look at it first.",
    "Don't bother with the docs this time.",
    "I prefer this one of the two screenshots.",
)


class Stage:
    """The repository of the play, and the world around it."""

    def __init__(self, folder):
        self.folder = folder
        self.root = folder / "repo"
        self.home = folder / "home"
        self.sessions = self.home / ".claude/projects/repo"
        for path in (self.root, self.sessions):
            path.mkdir(parents=True)
        kept = {k: v for k, v in os.environ.items() if k[:4] not in ("MEM_", "GIT_")}
        folders = {
            f"XDG_{n}_HOME": str(folder / n.lower())
            for n in ("CONFIG", "STATE", "CACHE", "DATA")
        }
        binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environ = {
            **kept,
            **folders,
            "HOME": str(self.home),
            "MEM_HOME": str(self.home),
            "PATH": binaries,
            "MEM_EMBEDDER": "none",
            "MEM_HOOK_SECONDS": "600",
        }
        self.day = datetime.date(2026, 3, 2)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Play")
        self.git("config", "user.email", "play@example.org")
        self.mem("init", "--claude", "--git")

    def run(self, *command, input=""):
        """Run a program in the repository. Raises AssertionError when it fails."""
        environ = {**self.environ, "MEM_NOW": self.day.isoformat()}
        done = finished(*command, cwd=self.root, env=environ, input=input, timeout=120)
        return done.stdout

    def git(self, *words):
        return self.run("git", *words)

    def mem(self, *words, input=""):
        return self.run(sys.executable, "-m", "memcli", *words, input=input)

    def commit(self, message):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def hook(self, event, session, **values):
        path = self.sessions / f"{session}.jsonl"
        said = {
            "session_id": session,
            "transcript_path": str(path),
            "cwd": str(self.root),
            **values,
        }
        self.mem("hook", event, "--harness", "claude", input=json.dumps(said))

    def settle(self):
        """Wait until no session waits to be learned from."""
        state = self.folder / "state/mem/state.db"
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with closing(sqlite3.connect(state, timeout=10)) as db:
                if not db.execute("SELECT count(*) FROM spool").fetchone()[0]:
                    return
            time.sleep(0.05)
        raise AssertionError("a session was not learned from in time")

    def entries(self, *, archived):
        """Each entry of the memory files, or of the archives, with its file."""
        return [
            (path, entry)
            for path in sorted(self.root.rglob("*.md"))
            if path.name.endswith(ARCHIVE) == archived
            for entry in parse(path.read_text(), path.name).entries
        ]


def session(stage, number, said):
    """One session of a person and an agent, as its hooks see it."""
    name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"play {number}"))
    path = stage.sessions / f"{name}.jsonl"
    path.touch()
    stage.hook("session-start", name, source="startup")
    part = ("checkout", "importer", "mailer", "ledger")[number % 4]
    task = f"Look at the {part}, it fails in case {number}."
    stage.hook("prompt", name, prompt=task)
    rows = []
    for text in (task, *said):
        rows += [("user", text), ("assistant", f"I looked at the {part} and go on.")]
    held(path, name, stage.root, rows, day=stage.day)
    stage.hook("session-end", name, reason="other")
    stage.settle()
    stage.commit(f"Session {number}")


def branches(stage, number):
    """A colleague's branch and main are compacted, then merged."""
    stage.git("checkout", "-q", "-b", f"colleague-{number}")
    stage.mem("compact", "--due")
    stage.commit("Compacted by a colleague")
    stage.git("checkout", "-q", "main")
    stage.mem("compact", "--due")
    stage.mem("add", f"Note {number} of main about nothing that matters later.")
    stage.commit("Compacted on main")
    stage.git("merge", "-q", "--no-edit", f"colleague-{number}")


def play(stage, sessions):
    """All sessions in order; the lessons that were said or added."""
    taught = []
    for number in range(sessions):
        stage.day += datetime.timedelta(days=1)
        each_stage = max(1, sessions // len(STAGES))
        if number % each_stage == 0:
            word = STAGES[min(number * len(STAGES) // sessions, len(STAGES) - 1)]
            (stage.root / "INTENT.md").write_text(f"# Intent\n\nStage: {word}\n")
        said = []
        if number % 3 == 0 and number // 3 < len(LESSONS):
            lesson = LESSONS[number // 3]
            taught.append(lesson)
            if lesson.kind:
                stage.mem("add", "--kind", lesson.kind, lesson.text)
            else:
                said.append(lesson.text)
        if number % 3 == 1 and number // 3 < len(IDLE):
            said.append(IDLE[number // 3])
        session(stage, number, said)
        if number % 5 == 4:
            branches(stage, number)
    stage.mem("compact", "--due")
    return taught


def faults(stage, taught):
    """What is wrong at the end, a line each."""
    texts = [
        entry.body.lower()
        for _, entry in stage.entries(archived=False)
        if entry.status != "retired" and entry.kind != "episode"
    ]
    lost = [lesson.text for lesson in taught if not _is_live(lesson, texts)]
    whole = "\0".join(texts)
    kept = [idle for idle in IDLE if idle.lower().strip(".!?") in whole]
    twice = _archived_twice(stage)
    alive = len(taught) - len(lost)
    print(
        f"{alive} of {len(taught)} lessons live, {len(kept)} idle turns"
        f" kept, {len(twice)} archive blocks twice, {len(texts)} live entries"
    )
    for text in lost:
        print(f"  not live: {text}")
    wrong = [f"kept: {text}" for text in kept]
    wrong += [f"twice: {text}" for text in twice]
    if alive < ENOUGH * len(taught):
        wrong.append(f"{len(lost)} lessons of {len(taught)} are not live")
    return wrong


def _is_live(lesson, texts):
    """Whether one of the texts has all words of the lesson."""
    words = lesson.words.lower().split()
    return any(all(word in text for word in words) for text in texts)


def _archived_twice(stage):
    """The blocks that an archive holds more than once."""
    blocks = Counter(
        (path.name, entry.id, entry.body)
        for path, entry in stage.entries(archived=True)
    )
    return [f"{name}: {key}" for (name, key, _), count in blocks.items() if count > 1]


def main(sessions: int = 60, keep: Path | None = None) -> int:
    """Play in a folder that is left, or in one that goes."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mem-play-") as folder:
        stage = Stage(keep or Path(folder))
        wrong = faults(stage, play(stage, sessions))
    for line in wrong:
        print(f"  {line}")
    print(
        f"{sessions} sessions in {time.monotonic() - began:.0f} s, {len(wrong)} failures"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    run(main)
