"""Kill a writing command at random instants; nothing may be lost, and the next run finishes the work.

    python -m tests.drills.crash [--kills 300] [--files 50] [--seed 1]

The tree is built anew before each kill; the instant is drawn over the measured duration of a whole
run, every second one over its last part, where the writing is. After each kill: every file is the old
or the new one, whatever left a file is in its archive, and a second run gives exactly what an
undisturbed one gives, with no temporary file left.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from memcli.memory_file import parse, render_entry

COMMAND = (sys.executable, "-m", "memcli", "compact", "--promote", "--stale", "-q")
TOPICS = "cart payment search index queue worker cache token deploy schema".split()


class Outcome(NamedTuple):
    """How the kills ended: before anything was written, after all of it, and in between (finished later)."""

    untouched: int
    finished: int
    between: int
    failures: tuple[str, ...]


def build(root: Path, files: int) -> None:
    """`files` memory files, each with duplicates, retired, stale and plain entries."""
    for i in range(files):
        topic = TOPICS[i % len(TOPICS)]
        body = f"The {topic} service number {i} keeps its state in memory until the worker writes it down."
        entries = [
            _entry(f"f{i}-keep", body, importance=0.9),
            _entry(f"f{i}-dup", body.replace("keeps", "always keeps"), importance=0.4),
            _entry(f"f{i}-old", f"Retired words about {topic} {i}.", status="retired"),
            _entry(f"f{i}-a", f"Plain words about {topic} one {i}, nothing else."),
            _entry(f"f{i}-b", f"More {topic} words that stand alone in file {i} of the tree."),
        ]
        folder = root / (".mem/jobs" if i % 3 else "tasks")
        path = folder / f"j{i}" / "MEMORY.md" if i % 3 else folder / f"t{i}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(entries), encoding="utf-8")
    (root / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")


def _entry(entry_id: str, body: str, **values: object) -> str:
    keys = {
        "id": entry_id, "type": "corrective", "domain": "task", "importance": 0.5, "phase": "unknown",
        "status": "active", "reinforcement_count": 1, "created_at": "2026-10-01", **values,
    }  # fmt: skip
    return render_entry(keys, f"## {entry_id}\n{body}")


def snapshot(root: Path) -> dict[str, bytes]:
    """Every memory file below the root by its name."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.md"))}


def check(old: dict[str, bytes], new: dict[str, bytes], now: dict[str, bytes]) -> list[str]:
    """What is wrong after a kill."""
    wrong = []
    for name in old.keys() | new.keys() | now.keys():
        if now.get(name) not in (old.get(name), new.get(name)):
            wrong.append(f"{name} is neither the old nor the new file")
    held = {e.id for name, data in now.items() for e in parse(data.decode(), name).entries}
    ever = {e.id for name, data in old.items() for e in parse(data.decode(), name).entries}
    wrong += [f"{entry} is in no file" for entry in sorted(ever - held)]
    return wrong


def drill(kills: int, files: int, seed: int) -> Outcome:
    """Run the drill; see the module's text."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="mem-drill-") as folder:
        base = Path(folder)
        environ = {
            **os.environ, "HOME": folder, "MEM_HOME": folder, "XDG_STATE_HOME": f"{folder}/state",
            "MEM_NOW": "2026-11-21",
        }  # fmt: skip
        pristine = base / "pristine"
        build(pristine, files)
        old = snapshot(pristine)
        new, duration = _undisturbed(base, pristine, environ)
        counts, failures = [0, 0, 0], []
        for i in range(kills):
            root = base / "root"
            shutil.rmtree(root, ignore_errors=True)
            shutil.rmtree(base / "state", ignore_errors=True)
            shutil.copytree(pristine, root)
            killed = subprocess.Popen(COMMAND, cwd=root, env=environ)
            time.sleep(dice.uniform(duration * 0.6 if i % 2 else 0, duration * 1.1))
            killed.send_signal(signal.SIGKILL)
            killed.wait()
            now = snapshot(root)
            counts[0 if now == old else 1 if now == new else 2] += 1
            failures += [f"kill {i}: {what}" for what in check(old, new, now)]
            subprocess.run(COMMAND, cwd=root, env=environ, check=True)
            if snapshot(root) != new:
                failures.append(f"kill {i}: the next run did not finish the work")
            failures += [f"kill {i}: left {path}" for path in root.rglob(".*.mem-tmp-*")]
        return Outcome(counts[0], counts[1], counts[2], tuple(failures))


def _undisturbed(base: Path, pristine: Path, environ: dict[str, str]) -> tuple[dict[str, bytes], float]:
    """What a whole run makes of the tree, and how long it takes (the median of three)."""
    seconds = []
    for i in range(3):
        whole = base / f"whole{i}"
        shutil.copytree(pristine, whole)
        started = time.perf_counter()
        subprocess.run(COMMAND, cwd=whole, env=environ, check=True)
        seconds.append(time.perf_counter() - started)
    return snapshot(whole), sorted(seconds)[1]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    outcome = drill(given.kills, given.files, given.seed)
    print(
        f"{given.kills} kills over {given.files} files: {outcome.untouched} before the write,"
        f" {outcome.between} inside it, {outcome.finished} after it; {len(outcome.failures)} failures"
    )
    for failure in outcome.failures[:20]:
        print(failure)
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
