"""What took longest, each beside a floor that is measured in the same run.

    python -m tests.bench.speed_rows [ROW...] [--scale 1.0] [--runs 3] [--large]

Seconds are of the processor, of a command and all that it starts; `wall` names those of
the clock. `--scale .1` takes a tenth of every size, to see that it runs; with `--large`
growth is measured up to 100,000 entries."""

import json
import math
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from memcli.errors import one_of
from tests.bench import commit_cost, speed, transcripts
from tests.bench.corpus import QUERY, texts, write_tree
from tests.loopback import Handler, serving
from tests.programs import finished, run

WORDS = speed.Arm("", "none")
VECTORS = speed.Arm("", "local")
MEGABYTE = 1_000_000
COMMITS = 2_000
FILES = 20_000
READ_JSON = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"
TRACED = ("newfstatat", "fdatasync", "fsync")


class Given(NamedTuple):
    """How large everything is, beside what the figures are of, and how often it is
    measured."""

    scale: float
    runs: int
    large: bool = False

    def sized(self, count):
        return max(round(count * self.scale), 1)


class World:
    """A repository, and a user with nothing in the home but it."""

    def __init__(self, folder, arm):
        self.root = folder / "root"
        self.home = folder
        self.arm = arm
        self.environ = arm.environ(folder)

    def cost(self, *arguments, given=b""):
        """What a command of `mem` takes there."""
        command = [*self.arm.command, *arguments]
        return speed.cost(command, self.environ, self.root, given)

    def python(self, code, *arguments):
        """What a program takes there."""
        command = [sys.executable, "-c", code, *arguments]
        return speed.cost(command, self.environ, self.root)


@contextmanager
def world(arm=WORDS, entries=0):
    """A world with so many entries, or with an empty folder."""
    with tempfile.TemporaryDirectory(
        prefix="mem-rows-", ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        if entries:
            write_tree(folder / "root", entries)
        else:
            (folder / "root").mkdir()
            commit_cost.git(folder / "root", "init", "-q")
        yield World(folder, arm)


def calls(given):
    """System calls of a prompt's hook, and of those before its answer the ones that wait
    for the disk."""
    if shutil.which("strace") is None:
        return {}
    with world(entries=given.sized(5_000)) as here:
        here.cost("index", "-q")
        trace = here.home / "trace"
        for session in ("first", "second"):
            said = {"session_id": session, "cwd": str(here.root), "prompt": QUERY}
            command = [
                "strace",
                "-f",
                "-o",
                str(trace),
                *here.arm.command,
                "hook",
                "prompt",
            ]
            subprocess.run(
                command,
                env=here.environ,
                cwd=here.root,
                input=json.dumps(said).encode(),
                capture_output=True,
                check=True,
            )
        names = re.findall(r"(?m)^\d+ +(\w+)\(", trace.read_text(errors="replace"))
    counted = {name: float(names.count(name)) for name in TRACED}
    return {"all": float(len(names)), **counted}


def indexes(given):
    """A first index beside a plain FTS5 build of the same texts."""
    count = given.sized(10_000)
    found = {}
    for name, arm in (("words", WORDS), ("vectors", VECTORS)):
        with world(arm, count) as here:
            jobs = {
                "plain": partial(_plain, here.home, count),
                "mem": partial(here.cost, "index", "-q", "--rebuild"),
            }
            if arm is VECTORS:
                speed.warm([arm], here.home)
            costs = speed.in_turns(given.runs, jobs)
        found[name] = costs["mem"].worked / costs["plain"].worked
    return found


def _plain(folder, count):
    with tempfile.TemporaryDirectory(dir=folder) as name:
        return speed.plain_index(Path(name) / "plain.db", count)


def browse(given):
    """`mem browse` beside `mem index --rebuild`, by entries."""
    found = {}
    for count in map(given.sized, (2_000, 4_000, 8_000)):
        with world(VECTORS, count) as here:
            speed.warm([VECTORS], here.home)
            here.cost("index", "-q")
            page = str(here.home / "page.html")
            jobs = {
                "rebuild": partial(here.cost, "index", "-q", "--rebuild"),
                "browse": partial(here.cost, "browse", "-q", "--out", page),
            }
            costs = speed.in_turns(given.runs, jobs)
        found[f"{count:,}"] = costs["browse"].worked / costs["rebuild"].worked
    return found


def log(given):
    """`mem log` of an entry in a file with many commits: seconds of the processor, and
    of the clock to its first line."""
    with world() as here:
        top = here.root
        _commits(top, given.sized(COMMITS))
        whole = here.cost("log", "n000")
        command = [*here.arm.command, "log", "n000"]
        started = time.perf_counter()
        with subprocess.Popen(
            command, env=here.environ, cwd=top, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            first = time.perf_counter() - started
            process.stdout.read()
    return {"seconds": whole.worked, "wall to the first line": first}


def _commits(top, count):
    """Commits of a file of a hundred entries, each changes one; by fast-import."""
    dice = random.Random(5)
    bodies = [f"Body {number} as it began." for number in range(100)]
    stream = []
    for number in range(count):
        place = dice.randrange(100)
        bodies[place] = f"Body {place} as of commit {number}."
        text = "\n".join(
            f"---\nid: n{at:03}\ntype: procedural\n---\n## Note {at}\n{body}\n"
            for at, body in enumerate(bodies)
        )
        data = text.encode()
        stream.append(
            b"commit refs/heads/main\n"
            b"committer x <x@example.com> %d +0000\ndata 4\nstep\n"
            b"M 100644 inline MEMORY.md\ndata %d\n%s\n"
            % (1_700_000_000 + 60 * number, len(data), data)
        )
    run = ["git", "-C", str(top)]
    subprocess.run([*run, "fast-import", "--quiet"], input=b"".join(stream), check=True)
    finished(*run, "checkout", "-q", "-f", "main")


def stale(given):
    """`mem doctor --stale` in a repository of many files: the first, the second, and the
    one after all files were renamed in one commit; and what git takes to say the
    renames."""
    with world() as here:
        commit_cost.build(here.root, given.sized(FILES), min(given.sized(2_000), 200))
        checked = partial(here.cost, "doctor", "--stale")
        first = checked().worked
        second = checked().worked
        commit_cost.git(here.root, "mv", "src", "moved")
        commit_cost.git(here.root, "commit", "-qm", "move")
        moved = checked().worked
        again = checked().worked
    return {"first": first, "second": second, "renamed": moved, "then": again}


def ingest(given):
    """History of sessions beside `json.loads` of every line: of talk, and of the output
    of tools."""
    found = {}
    size = given.sized(10 * MEGABYTE)
    for name, write in (("talk", write_talk), ("tools", transcripts.write_session)):
        with world() as here:
            path = _session(here, write, size)
            (here.root / "MEMORY.md").write_text("# Memory\n")
            floor = here.python(READ_JSON, str(path)).worked
            plain = here.cost("index", "-q").worked
            took = here.cost("index", "-q", "--history").worked
            found[name] = (took - plain) / floor
    return found


def extract(given):
    """Learning by rules from one long session, without history, beside `json.loads`."""
    with world() as here:
        path = _session(here, transcripts.write_session, given.sized(50 * MEGABYTE))
        (here.root / "MEMORY.md").write_text("# Memory\n")
        floor = here.python(READ_JSON, str(path)).worked
        arguments = ("--set", "history=false", "--engine", "rules", str(path))
        took = here.cost("extract", "-q", *arguments).worked
    return {"times": took / floor}


def _session(here, write, size):
    """A session of Claude Code that was held in this repository."""
    name = re.sub(r"[^A-Za-z0-9]", "-", str(here.root.resolve()))
    folder = here.home / ".claude/projects" / name
    folder.mkdir(parents=True)
    path = folder / f"{transcripts.SESSION}.jsonl"
    write(path, size)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("/home/ana/shop", str(here.root)), encoding="utf-8")
    return path


def write_talk(path, size):
    """A session of talk: long answers, seven tenths of its bytes, and short questions."""
    bodies = [body for _, body in texts(2_000)]
    dice = random.Random(9)
    written = 0
    number = 0
    with path.open("wb") as file:
        while written < size:
            number += 1
            answer = "\n\n".join(dice.choices(bodies, k=6))
            question = dice.choice(bodies)[:200]
            block = {"type": "text", "text": answer}
            for record in (
                transcripts._line(
                    "user", number, 0, {"role": "user", "content": question}
                ),
                transcripts._answer(number, 1, block),
            ):
                line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
                file.write(line)
                written += len(line)


class _Failing(Handler):
    def do_POST(self):
        self.given()
        self.send(b'{"type": "error", "error": {"message": "overloaded"}}', status=529)


class _Hanging(Handler):
    def do_POST(self):
        time.sleep(20)


def model(given):
    """Seconds of the clock that a recall takes whose model is overloaded or hangs,
    beyond those of one by words."""
    found = {}
    with world(entries=given.sized(1_000)) as here:
        here.cost("index", "-q")
        plain = here.cost("recall", QUERY).seconds
        for name, handler in (("overloaded", _Failing), ("hangs", _Hanging)):
            with serving(handler) as address:
                here.environ |= {
                    "ANTHROPIC_API_KEY": "x",
                    "ANTHROPIC_BASE_URL": address,
                    "MEM_LLM": "anthropic",
                    "MEM_QUERY": "llm",
                }
                took = here.cost("recall", f"{QUERY} {name}").seconds
            found[f"{name}, wall"] = took - plain
    return found


GROWING = {
    "recall": ("recall", QUERY),
    "index, no change": ("index", "-q"),
    "index --rebuild": ("index", "-q", "--rebuild"),
    "list": ("list",),
    "health": ("health",),
    "doctor": ("doctor",),
    "compact --check": ("compact", "--check"),
    "export": ("export", "--target", "json"),
    "browse": ("browse", "-q", "--out", "../page.html"),
}


def growth(given):
    """How the time of each command that walks memory grows with entries: the exponent
    between sizes, less what it takes with one entry."""
    counts = (1_000, 20_000, 100_000) if given.large else (1_000, 20_000)
    sizes = [given.sized(count) for count in counts]
    costs = {name: [] for name in GROWING}
    for size in (1, *sizes):
        with world(entries=size) as here:
            here.cost("index", "-q")
            for name, arguments in GROWING.items():
                print(f"  {size:,}: {name}", file=sys.stderr, flush=True)
                costs[name].append(_allowed(here, arguments))
    return {
        name: _exponents(sizes, [took - least for took in column])
        for name, (least, *column) in costs.items()
    }


def _allowed(here, arguments):
    """What a command takes that may exit with what it found."""
    command = [sys.executable, "-c", TOLERANT, *here.arm.command, *arguments]
    return speed.cost(command, here.environ, here.root).worked


TOLERANT = (
    "import subprocess, sys\nsys.exit(subprocess.run(sys.argv[1:]).returncode > 1)"
)


def _exponents(sizes, column):
    pairs = zip(pairwise(sizes), pairwise(column), strict=True)
    return [
        round(math.log(max(after, 1e-3) / max(before, 1e-3)) / math.log(more / few), 2)
        for (few, more), (before, after) in pairs
    ]


ROWS = {
    "calls": calls,
    "indexes": indexes,
    "browse": browse,
    "log": log,
    "stale": stale,
    "ingest": ingest,
    "extract": extract,
    "model": model,
    "growth": growth,
}


def main(
    rows: Annotated[list[str], typer.Argument()] = (),
    *,
    scale: float = 1.0,
    runs: int = 3,
    large: bool = False,
):
    """Measure rows, or all."""
    for name in rows or ROWS:
        one_of("ROW", name, tuple(ROWS))
        started = time.perf_counter()
        values = ROWS[name](Given(scale, runs, large=large))
        took = time.perf_counter() - started
        print(f"{name} ({took:.0f} s): {json.dumps(values)}", flush=True)


if __name__ == "__main__":
    run(main)
