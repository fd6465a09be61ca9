"""Speed as ratios in one run: cold `mem recall` against plain SQLite, index against a plain FTS5
build.

    python -m tests.bench.speed [--sizes 1000,10000,100000] [--runs 15] [--layout many|one]
    [--vectors]
        [--json]

Entries are generated from a fixed seed with a Zipf vocabulary. "many" puts 200 entries into each
file, "one" a single one. The floor of a recall is a fresh Python that imports sqlite3 and asks one
FTS5 query of the same terms over the same texts; that of an index is a plain FTS5 build of them.
Those figures are of words alone; `--vectors` compares the local embedder with words alone instead.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from memcli.memory.editor import render_entry

PER_FILE = 200
QUERY = "why does the payment webhook retry time out after the database migration"
TOPICS = "payment webhook retry time database migration cart cache queue index deploy token flaky test".split()
FLOOR = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
found = db.execute("SELECT rowid, rank FROM t WHERE t MATCH ? ORDER BY rank LIMIT 10", (sys.argv[2],))
for row in found.fetchall():
    print(row, db.execute("SELECT body FROM t WHERE rowid = ?", (row[0],)).fetchone()[0][:80])
"""


def texts(count: int) -> Iterator[tuple[str, str]]:
    """(title, body) of `count` entries: words by Zipf's law, some topic words among them."""
    dice = random.Random(7)
    syllables = [
        a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "in")
    ]
    words = ["".join(dice.choices(syllables, k=dice.randint(2, 4))) for _ in range(20_000)]
    weights = [1 / (i + 10) for i in range(len(words))]
    drawn = iter(dice.choices(words, weights, k=count * 50))
    for _ in range(count):
        body = [next(drawn) for _ in range(40)]
        for place in dice.sample(range(40), 4):
            body[place] = dice.choice(TOPICS)
        yield " ".join(next(drawn) for _ in range(5)), " ".join(body)


def write_tree(root: Path, count: int, per_file: int) -> None:
    """`count` entries in files of `per_file` below `root/tasks`, and a small MEMORY.md."""
    (root / "tasks").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "MEMORY.md").write_text("# Memory\n\nNotes of a service.\n", encoding="utf-8")
    dice = random.Random(11)
    batch: list[str] = []
    for i, (title, body) in enumerate(texts(count)):
        values = {
            "id": f"{i:08x}-0000-4000-8000-{i:012x}",
            "type": dice.choice(("declarative", "procedural", "directive", "corrective")),
            "domain": "task",
            "importance": round(dice.uniform(0.3, 0.95), 2),
            "phase": "implementation",
            "status": "active",
            "reinforcement_count": dice.randint(0, 8),
            "last_reinforced": f"2026-{dice.randint(1, 10):02d}-{dice.randint(1, 28):02d}",
            "created_at": "2026-01-10",
        }
        batch.append(render_entry(values, f"## [2026-01-10] {title}\n**Context:** {body}."))
        if len(batch) == per_file or i == count - 1:
            (root / "tasks" / f"t{i // per_file:06d}.md").write_text(
                "\n".join(batch), encoding="utf-8"
            )
            batch = []


def plain_index(path: Path, count: int) -> float:
    """Seconds of a plain FTS5 build of the same texts."""
    rows = list(texts(count))
    started = time.perf_counter()
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(title, body, tokenize = 'porter unicode61')")
    with db:
        db.executemany("INSERT INTO t VALUES (?, ?)", rows)
    db.close()
    return time.perf_counter() - started


def timed(command: Sequence[str], environ: dict[str, str], cwd: Path) -> float:
    started = time.perf_counter()
    done = subprocess.run(command, env=environ, cwd=cwd, capture_output=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{command}: exit {done.returncode}\n{done.stderr.decode()}")
    return seconds


def interleaved(runs: int, *jobs: Callable[[], float]) -> list[float]:
    """The median of each job, run in turns so that a noisy machine is noisy for all."""
    seconds: list[list[float]] = [[] for _ in jobs]
    for _ in range(runs):
        for job, took in zip(jobs, seconds, strict=True):
            took.append(job())
    return [statistics.median(took) for took in seconds]


def peak_memory(command: Sequence[str], environ: dict[str, str], cwd: Path) -> float:
    """Peak resident memory of a child in MB, read by a parent of its own."""
    code = (
        "import resource, subprocess, sys;"
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        env=environ,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout) / (1024 if sys.platform != "darwin" else 1024 * 1024)


def surroundings(folder: str, **more: str) -> dict[str, str]:
    """The environment of a run: everything of the user's lies in `folder`."""
    own = {"PATH": os.environ["PATH"], "HOME": folder, "MEM_HOME": folder, "MEM_NOW": "2026-11-01"}
    return {**own, **more}


def size_of(root: Path) -> float:
    """The size of an index in MB."""
    return round(sum(path.stat().st_size for path in root.glob(".memory.db*")) / 1e6, 1)


class Arm:
    """One of two trees with the same entries, and an embedder."""

    def __init__(self, folder: str, count: int, per_file: int, embedder: str) -> None:
        self.root = Path(folder) / embedder
        write_tree(self.root, count, per_file)
        cache = str(Path(folder) / "cache")
        self.environ = surroundings(folder, MEM_EMBEDDER=embedder, XDG_CACHE_HOME=cache)
        self.edited = self.root / "tasks" / "t000000.md"
        self.edits = 0

    def mem(self, *args: str) -> float:
        return timed([sys.executable, "-m", "memcli", *args], self.environ, self.root)

    def recall(self) -> float:
        return self.mem("recall", QUERY)

    def edit(self) -> float:
        self.edits += 1
        text = self.edited.read_text(encoding="utf-8")
        self.edited.write_text(
            text.replace("**Context:** ", f"**Context:** n{self.edits} ", 1), "utf-8"
        )
        return self.recall()

    def peak(self, *args: str) -> float:
        return round(
            peak_memory([sys.executable, "-m", "memcli", *args], self.environ, self.root), 1
        )


def compare(count: int, runs: int, per_file: int) -> dict[str, Any]:
    """Hybrid recall against words alone, in turns; the table of word vectors is made before."""
    with tempfile.TemporaryDirectory() as folder:
        lexical, hybrid = (Arm(folder, count, per_file, name) for name in ("none", "local"))
        warm = Arm(str(Path(folder) / "warm"), 1, 1, "local")
        warm.environ = {**hybrid.environ}
        table = warm.mem("index", "-q")
        index = [arm.mem("index", "-q") for arm in (lexical, hybrid)]
        words, near, words_edit, near_edit = interleaved(
            runs, lexical.recall, hybrid.recall, lexical.edit, hybrid.edit
        )
        return {
            "entries": count,
            "table s": round(table, 2),
            "lexical recall ms": round(words * 1000, 1),
            "hybrid recall ms": round(near * 1000, 1),
            "hybrid / lexical": round(near / words, 2),
            "lexical edit+recall ms": round(words_edit * 1000, 1),
            "hybrid edit+recall ms": round(near_edit * 1000, 1),
            "edit: hybrid / lexical": round(near_edit / words_edit, 2),
            "lexical index s": round(index[0], 2),
            "hybrid index s": round(index[1], 2),
            "lexical db MB": size_of(lexical.root),
            "hybrid db MB": size_of(hybrid.root),
            "lexical recall peak MB": lexical.peak("recall", QUERY),
            "hybrid recall peak MB": hybrid.peak("recall", QUERY),
            "hybrid rebuild peak MB": hybrid.peak("index", "-q", "--rebuild"),
        }


def measure(count: int, runs: int, per_file: int) -> dict[str, Any]:
    """All figures of one size, of words alone."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        root = base / "root"
        write_tree(root, count, per_file)
        environ = surroundings(folder, MEM_EMBEDDER="none")
        mem = [sys.executable, "-m", "memcli"]
        floor_index = plain_index(base / "plain.db", count)
        index = timed([*mem, "index", "-q"], environ, root)
        no_op = timed([*mem, "index", "-q"], environ, root)
        terms = " OR ".join(f'"{word}"' for word in QUERY.split() if len(word) > 3)
        floor_command = [sys.executable, "-c", FLOOR, str(base / "plain.db"), terms]
        edited = root / "tasks" / "t000000.md"
        number = iter(range(10**6))

        def edit() -> float:
            text = edited.read_text(encoding="utf-8")
            edited.write_text(
                text.replace("**Context:** ", f"**Context:** n{next(number)} ", 1), encoding="utf-8"
            )
            return timed([*mem, "recall", QUERY], environ, root)

        recall, floor, after_edit = interleaved(
            runs,
            lambda: timed([*mem, "recall", QUERY], environ, root),
            lambda: timed(floor_command, environ, root),
            edit,
        )
        return {
            "entries": count,
            "files": -(-count // per_file) + 1,
            "recall ms": round(recall * 1000, 1),
            "floor ms": round(floor * 1000, 1),
            "recall / floor": round(recall / floor, 2),
            "edit+recall / recall": round(after_edit / recall, 2),
            "index s": round(index, 2),
            "plain s": round(floor_index, 2),
            "index / plain": round(index / floor_index, 2),
            "no-op index ms": round(no_op * 1000, 1),
            "peak MB": round(peak_memory([*mem, "recall", QUERY], environ, root), 1),
            "db MB": size_of(root),
        }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--layout", choices=("many", "one"), default="many")
    parser.add_argument("--vectors", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    per_file = PER_FILE if given.layout == "many" else 1
    work = compare if given.vectors else measure
    rows = [work(int(size), given.runs, per_file) for size in given.sizes.split(",")]
    if given.json:
        print(json.dumps(rows, indent=2))
        return 0
    for key in rows[0]:
        print(f"{key:<24}" + "".join(f"{row[key]:>12}" for row in rows))
    return 0


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
