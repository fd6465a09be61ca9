"""What cold commands and hooks cost, beside plain SQLite and other versions of `mem`,
in turns.

    python -m tests.bench.speed [--sizes 1000,10000,100000] [--layout many|one|prose]
    [--runs 9]
        [--embedders none,local] [--mem PROGRAM]... [--cpu] [--hooks]

The entries are those of `tests.bench.corpus`. Floors: a fresh Python that asks one FTS5
query of the same words over the same texts, one that imports sqlite3, one that looks at
every file, and a plain FTS5 build. Milliseconds are of the clock, with `--cpu` of the
processor, which other work on the machine changes less. With `--hooks` the hooks are
measured, each call in a session of its own."""

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from memcli.errors import one_of
from tests.bench.corpus import LAYOUTS, QUERY, texts, write_tree
from tests.programs import run

K = TypeVar("K")
MEM = (sys.executable, "-m", "memcli")
QUERY_PLAIN = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
found = db.execute("SELECT rowid, rank FROM t WHERE t MATCH ? ORDER BY rank LIMIT 10", (sys.argv[2],))
for row in found.fetchall():
    print(row, db.execute("SELECT body FROM t WHERE rowid = ?", (row[0],)).fetchone()[0][:80])
"""
SCAN = "import os\nfor entry in os.scandir('tasks'): entry.stat()"
MEASURED = """
import json, resource, subprocess, sys, time
started = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
seconds = time.perf_counter() - started
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([seconds, used.ru_utime + used.ru_stime, used.ru_maxrss]))
sys.exit(code)
"""


COMMANDS = {
    "no change": ("index", "-q"),
    "recall": ("recall", QUERY),
    "ranked": ("recall", "--ranked", QUERY),
}
FLOORS = {"index": "plain build", "no change": "look at files"}
FLOORS |= dict.fromkeys(("recall", "ranked", "edit and recall"), "plain query")
HOOKS = {
    "prompt about memory": {"verb": "prompt", "prompt": QUERY},
    "prompt about nothing": {"verb": "prompt", "prompt": "thanks, run the tests again"},
    "session-start": {"verb": "session-start", "source": "startup"},
    "pre-tool, command": {
        "verb": "pre-tool",
        "tool_name": "Bash",
        "tool_input": {"command": "git push"},
    },
    "pre-tool, file": {
        "verb": "pre-tool",
        "tool_name": "Edit",
        "tool_input": {"file_path": "src/a.py"},
    },
    "session-end": {"verb": "session-end", "reason": "other"},
}


class Cost(NamedTuple):
    """What a command took: seconds by the clock, of the processor, and its peak memory
    in MB."""

    seconds: float
    worked: float
    memory: float


class Arm(NamedTuple):
    """A program and an embedder that are measured."""

    program: str
    embedder: str

    @property
    def command(self):
        return [self.program] if self.program else MEM

    def environ(self, folder):
        """Everything of the user's lies in `folder`, index and state of each arm
        apart."""
        own = folder / f"{self.program.replace('/', '_')}-{self.embedder}"
        own.mkdir(exist_ok=True)
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "MEM_HOME": str(folder),
            "MEM_NOW": "2026-11-01",
            "MEM_EMBEDDER": self.embedder,
            "MEM_DB": str(own / "memory.db"),
            "XDG_STATE_HOME": str(own / "state"),
            "XDG_CACHE_HOME": str(own / "cache"),
        }


def cost(command, environ, cwd, given=b""):
    """Run a command below a small process: the memory of a child counts what its parent
    had."""
    measured = [sys.executable, "-S", "-c", MEASURED, *command]
    process = subprocess.run(
        measured, env=environ, cwd=cwd, input=given, capture_output=True, check=False
    )
    if process.returncode:
        raise SystemExit(
            f"{command}: exit {process.returncode}\n{process.stderr.decode()}"
        )
    seconds, worked, memory = json.loads(process.stdout)
    return Cost(
        seconds, worked, memory / (1024 if sys.platform != "darwin" else 1024 * 1024)
    )


def in_turns(runs, jobs):
    """The median cost of each job, run in turns so that a noisy machine is noisy for
    all."""
    rounds = [[job() for job in jobs.values()] for _ in range(runs)]
    columns = zip(*rounds, strict=True)
    return {
        name: Cost(*map(statistics.median, zip(*own, strict=True)))
        for name, own in zip(jobs, columns, strict=True)
    }


def plain_index(path, count):
    """What a plain FTS5 build of the same texts costs."""
    rows = list(texts(count))
    started = time.perf_counter()
    worked = time.process_time()
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(
        "CREATE VIRTUAL TABLE t USING fts5(title, body, tokenize = 'porter unicode61')"
    )
    with db:
        db.executemany("INSERT INTO t VALUES (?, ?)", rows)
    db.close()
    return Cost(time.perf_counter() - started, time.process_time() - worked, 0)


def warm(arms, folder):
    """Make the table of word vectors, which is made once for all repositories of a
    user."""
    (folder / "warm").mkdir()
    (folder / "warm" / "MEMORY.md").write_text(
        "# Memory\n\nA first word.\n", encoding="utf-8"
    )
    for arm in arms:
        environ = {**arm.environ(folder), "MEM_DB": str(folder / "warm" / "memory.db")}
        cost([*arm.command, "index", "-q"], environ, folder / "warm")
        for left in (folder / "warm").glob("memory.db*"):
            left.unlink()


def measure(count, layout, arms, runs, *, hooks):
    """What floors (of no arm) and the commands of each arm cost, for one tree."""
    with tempfile.TemporaryDirectory(
        prefix="mem-speed-", ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        root = folder / "root"
        plain = folder / "plain.db"
        write_tree(root, count, layout)
        warm(arms, folder)
        terms = " OR ".join(f'"{word}"' for word in QUERY.split() if len(word) > 3)
        found = {(None, "plain build"): plain_index(plain, count)}
        environ = {arm: arm.environ(folder) for arm in arms}

        def of(arm, *arguments, given=b""):
            return cost([*arm.command, *arguments], environ[arm], root, given)

        def python(code, *arguments):
            return lambda: cost(
                [sys.executable, "-c", code, *arguments], environ[arms[0]], root
            )

        found |= {(arm, "index"): of(arm, "index", "-q") for arm in arms}
        jobs = {(None, "import sqlite3"): python("import sqlite3")}
        if hooks:
            number = iter(range(10**6))
            jobs |= {
                (arm, name): partial(hook, of, arm, root, number, call)
                for name, call in HOOKS.items()
                for arm in arms
            }
            return found | in_turns(runs, jobs)
        jobs[None, "plain query"] = python(QUERY_PLAIN, str(plain), terms)
        jobs[None, "look at files"] = python(SCAN)
        jobs |= {
            (arm, name): partial(of, arm, *given)
            for name, given in COMMANDS.items()
            for arm in arms
        }
        return found | in_turns(runs, jobs) | _edits(root, runs, arms, of)


def hook(of, arm, root, number, call):
    """What a hook costs, without the worker that it leaves behind."""
    said = {"session_id": f"s{next(number)}", "cwd": str(root), **call}
    took = of(arm, "hook", said.pop("verb"), given=json.dumps(said).encode())
    wanted = f"hook\0worker\0{root}\0".encode()
    while any(wanted in _read(path) for path in Path("/proc").glob("[0-9]*/cmdline")):
        time.sleep(0.02)
    return took


def _read(path):
    with suppress(OSError):
        return path.read_bytes()
    return b""


def _edits(root, runs, arms, of):
    """Change one entry, then let each arm answer; in turns."""
    path = root / "tasks" / "t000000.md"
    text = path.read_text(encoding="utf-8")
    number = iter(range(runs))

    def edited(arm):
        if arm == arms[0]:
            path.write_text(f"{text.rstrip()} n{next(number)}\n", encoding="utf-8")
        return of(arm, "recall", QUERY)

    return in_turns(
        runs, {(arm, "edit and recall"): partial(edited, arm) for arm in arms}
    )


def table(costs, *, cpu):
    """Floors, then each arm: milliseconds and the ratio to the floor."""

    def time_of(cost):
        return cost.worked if cpu else cost.seconds

    lines = []
    for (arm, name), took in sorted(
        costs.items(), key=lambda row: row[0][0] or Arm("", "")
    ):
        who = f"{arm.program or 'mem'}, {arm.embedder}" if arm else ""
        floor = FLOORS.get(name, "")
        floor = floor or ("import sqlite3" if arm else "")
        times = time_of(took) / max(time_of(costs[None, floor]), 1e-6) if floor else 1.0
        lines.append(
            f"  {who:<12}{name:<22}{1000 * time_of(took):>10.1f} ms{times:>8.2f} x {floor:<14}"
            f"{took.memory:>7.1f} MB"
        )
    return lines


def main(
    *,
    sizes: str = "1000,10000,100000",
    runs: int = 9,
    layout: str = "many",
    embedders: str = "none,local",
    mem: list[str] = (),
    cpu: bool = False,
    hooks: bool = False,
):
    one_of("--layout", layout, LAYOUTS)
    arms = [
        Arm(program, name) for name in embedders.split(",") for program in ("", *mem)
    ]
    for size in map(int, sizes.split(",")):
        print(f"{size:,} entries, {layout}", flush=True)
        costs = measure(size, layout, arms, runs, hooks=hooks)
        print("\n".join(table(costs, cpu=cpu)), flush=True)


if __name__ == "__main__":
    run(main)
