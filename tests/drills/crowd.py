"""Many processes at once on one repository: nothing is lost, nobody waits for ever,
nothing is left.

    python -m tests.drills.crowd [--processes 20] [--seconds 60] [--seed 1] [--embedder
    none|local]

Most of the processes work in the main work tree: each runs one command after the other,
drawn from index, recall, add, reinforce, compact and extract; one of them commits what
there is. Every fifth has a work tree of its own on a branch of its own, where it adds
and reinforces, commits, and merges main with the merge driver. In the end all branches
are merged, and:

- every text that was accepted is in a file or an archive;
- every entry has the count it began with and one for each reinforcement that was
  accepted, no more,
  no less;
- no command printed a traceback or that a database is locked, or took longer than a
  minute;
- there is no temporary file, no journal, no note of a lock, no process;
- the index, brought up to date, equals one built from nothing."""

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from memcli.errors import RefusedError
from memcli.memory.parser import parse
from tests.commands.talk import held
from tests.drills import forge
from tests.drills.crash import (
    World,
    entry_of,
    litter,
    memory,
    unlike_a_rebuild,
)
from tests.programs import run

LONGEST = 60.0  # seconds after which a command is taken to hang
COUNTED = 8  # entries that are reinforced
SUBJECTS = "invoice parser cache ledger router mailer scanner tenant".split()
WORK = (
    ("recall",) * 4
    + ("reinforce",) * 4
    + ("add",) * 3
    + ("index", "compact", "extract")
)


class Done(NamedTuple):
    """One command of one process: how it ended, what it was to keep."""

    verb: str
    code: int
    what: str
    seconds: float
    said: str


def build(root):
    told = "The {} of the shop must be restarted by hand on day {}."
    named = enumerate(SUBJECTS[:COUNTED])
    counted = [entry_of(f"counted-{i}", told.format(name, i + 3)) for i, name in named]
    (root / "MEMORY.md").write_text("\n".join(counted), encoding="utf-8")
    for i, subject in enumerate(SUBJECTS):
        folder = root / ".mem/jobs" / f"j{i}"
        folder.mkdir(parents=True)
        body = f"Before a release the {subject} team rebuilds every table of job {i} and tells support of it."
        entries = [
            entry_of(f"j{i}-a", body),
            entry_of(f"j{i}-b", body.replace("rebuilds", "always rebuilds")),
            entry_of(
                f"j{i}-old", f"What was true of {subject} once.", status="retired"
            ),
        ]
        (folder / "MEMORY.md").write_text("\n".join(entries), encoding="utf-8")


class Worker:
    """Runs commands in one work tree and writes a line about each into its log."""

    def __init__(self, world, number, seed, tree):
        self.world = world
        self.number = number
        self.tree = tree
        self.dice = random.Random(seed * 1000 + number)
        self.turn = 0
        self.log = world.base / f"log-{number}"
        self.said = world.base / f"said-{number}"

    def work(self, until):
        alone = self.tree != self.world.root
        while time.time() < until:
            self.turn += 1
            if alone:
                self._branch()
            elif self.number == 0 and self.turn % 6 == 0:
                self._commit("main")
            else:
                self._one(self.dice.choice(WORK))

    def _one(self, verb):
        word = f"w{self.number}x{self.turn}"
        if verb == "reinforce":
            entry = f"counted-{self.dice.randrange(COUNTED)}"
            session = (
                ("--session", word) if self.turn % 2 else ()
            )  # a new one each time: it counts
            self._run(verb, ("reinforce", entry, *session, "-q"), entry)
        elif verb == "add":
            self._run(verb, ("add", f"{word} {self._prose()}", "-q"), word)
        elif verb == "recall":
            session = ("--session", f"s{self.number}") if self.turn % 3 else ()
            self._run(verb, ("recall", self._prose(), *session), "")
        elif verb == "extract":
            self._run(
                verb, ("extract", "--engine", "rules", "-q", self._session(word)), word
            )
        else:
            self._run(verb, (verb, "-q"), "")

    def _branch(self):
        self._one("reinforce")
        self._one("add")
        self._commit(self.tree.name)
        self._git("merge", "merge", "-q", "--no-edit", "main")

    def _commit(self, message):
        self._git("stage", "add", "-A")
        if self._git("staged", "diff", "--cached", "--quiet", ok=(0, 1)):
            self._git("commit", "commit", "-q", "-m", message)

    def _prose(self):
        syllables = "ba de fi go lu mar nen pol ris tov".split()
        return " ".join("".join(self.dice.choices(syllables, k=3)) for _ in range(9))

    def _session(self, word):
        wish = f"No, don't use print there. Always use the logger named {word}, never print."
        said = (
            ("user", f"Write the {word} module."),
            ("assistant", "I wrote it."),
            ("user", wish),
        )
        path = self.world.home / "sessions" / f"{word}.jsonl"
        return str(held(path, word, self.tree, said))

    def _run(self, verb, arguments, what):
        started = time.monotonic()
        code = patient(forge.start(arguments, self.tree, self.world.environ, self.said))
        said = self.said.read_text(encoding="utf-8", errors="replace")
        told = said if code or _is_bad(said) else ""
        self._note(Done(verb, code, what, time.monotonic() - started, told))

    def _git(self, verb, *arguments, ok=(0,)):
        started = time.monotonic()
        done = self.world.git(*arguments, check=False, cwd=self.tree)
        code = 0 if done.returncode in ok else done.returncode
        said = done.stderr + done.stdout if code or _is_bad(done.stderr) else ""
        self._note(Done(f"git {verb}", code, "", time.monotonic() - started, said))
        return done.returncode

    def _note(self, done):
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done) + "\n")


def patient(pid):
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        actual, status = os.waitpid(pid, os.WNOHANG)
        if actual:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    return forge.ended(pid)


def _is_bad(said):
    return "Traceback" in said or "locked" in said


def _begin(world, processes):
    world.root.mkdir(parents=True)
    world.home.mkdir()
    build(world.root)
    world.git("init", "-q", "-b", "main", "--template=")
    if world.mem("init", "-q") or world.mem("index", "-q"):
        raise SystemExit(world.said.read_text(encoding="utf-8"))
    world.git("add", "-A")
    world.git("commit", "-qm", "All of it")
    trees = [world.root] * processes
    for number in range(4, processes, 5):
        trees[number] = world.root.parent / f"branch-{number}"
        world.git("worktree", "add", "-q", str(trees[number]), "-b", trees[number].name)
    return trees


def _forked(worker, until):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        worker.work(until)
        code = 0
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        os._exit(code)


def _lines(log):
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else ()


def _merged(world, trees):
    for tree in (world.root, *trees):
        world.git("add", "-A", cwd=tree)
        world.git("commit", "-q", "--allow-empty", "-m", "The end", cwd=tree)
    failures = []
    for tree in trees:
        done = world.git("merge", "-q", "--no-edit", tree.name, check=False)
        if done.returncode or _is_bad(done.stderr):
            said = (done.stdout + done.stderr)[-300:]
            failures.append(f"git merge {tree.name}: {done.returncode} {said}")
    return failures


def judged(done):
    return [
        f"{each.verb}: exit {each.code} after {each.seconds:.1f} s: {each.said[-300:]}"
        for each in done
        if _is_bad(each.said) or each.code not in (0, RefusedError.code)
    ]


def missing(root, done):
    held = " ".join(path.read_text(encoding="utf-8") for path in root.rglob("*.md"))
    words = set(held.replace(".", " ").replace(",", " ").split())
    return [
        f"{each.verb}: {each.what} is in no file"
        for each in done
        if each.verb in ("add", "extract") and not each.code and each.what not in words
    ]


def miscounted(root, done):
    wanted = Counter({f"counted-{number}": 1 for number in range(COUNTED)})
    wanted.update(
        each.what for each in done if each.verb == "reinforce" and not each.code
    )
    path = root / "MEMORY.md"
    parsed = parse(path.read_text(encoding="utf-8"), path.name)
    counts = {entry.id: entry.reinforcement_count for entry in parsed.entries}
    return [
        f"{name}: counts {counts.get(name, 'nothing')}, not {count}"
        for name, count in sorted(wanted.items())
        if counts.get(name) != count
    ]


def crowded(world, processes, seconds, seed):
    """What so many processes did at once, and what is wrong after it."""
    trees = _begin(world, processes)
    workers = [Worker(world, number, seed, tree) for number, tree in enumerate(trees)]
    until = time.time() + seconds
    pids = [_forked(worker, until) for worker in workers]
    ends = [forge.ended(pid) for pid in pids]
    failures = [
        f"process {number} ended with {code}"
        for number, code in enumerate(ends)
        if code
    ]
    lines = chain.from_iterable(_lines(worker.log) for worker in workers)
    done = [Done(*json.loads(line)) for line in lines]
    failures += _merged(world, [tree for tree in trees if tree != world.root])
    failures += judged(done)
    failures += missing(world.root, done)
    failures += miscounted(world.root, done)
    failures += litter(world)
    failures += unlike_a_rebuild(world)
    return done, failures


def summary(done):
    verbs = Counter(each.verb for each in done)
    ran = ", ".join(f"{count} {verb}" for verb, count in sorted(verbs.items()))
    longest = max((each.seconds for each in done), default=0.0)
    refused = sum(each.code == RefusedError.code for each in done)
    return f"{ran}; the longest took {longest:.1f} s, {refused} were told to wait"


def main(
    processes: int = 20, seconds: float = 60, seed: int = 1, embedder: str = "none"
) -> int:
    forge.load()
    with tempfile.TemporaryDirectory(prefix="mem-crowd-", dir=memory()) as folder:
        world = World(Path(folder))
        world.environ["MEM_EMBEDDER"] = embedder
        done, failures = crowded(world, processes, seconds, seed)
    print(
        f"{processes} processes, {seconds:g} s, embedder {embedder}:"
        f" {summary(done)}; {len(failures)} failures"
    )
    print("\n".join(failures[:40]))
    return 1 if failures else 0


if __name__ == "__main__":
    run(main)
