"""Cold hooks as multiples of `python -c "import sqlite3"`, by the processor and by the clock.

python -m tests.bench.hook [--entries 10000] [--runs 15] [--embedders none,local]
    [--mem PROGRAM]...
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.corpus import QUERY, write_tree
from tests.bench.speed import Arm, Cost, cost, in_turns, warm

CALLS: Mapping[str, Mapping[str, Any]] = {
    "prompt about memory": {"verb": "prompt", "prompt": QUERY},
    "prompt about nothing": {"verb": "prompt", "prompt": "thanks, run the tests again"},
    "session-start": {"verb": "session-start", "source": "startup"},
    "pre-tool, command": {
        "verb": "pre-tool", "tool_name": "Bash", "tool_input": {"command": "git push"},
    },
    "pre-tool, file": {
        "verb": "pre-tool", "tool_name": "Edit", "tool_input": {"file_path": "src/a.py"},
    },
    "session-end": {"verb": "session-end", "reason": "other"},
}  # fmt: skip


def speed(entries: int, runs: int, arms: Sequence[Arm]) -> None:
    """Cold hooks in turns with the floor; each call is of a session of its own."""
    with tempfile.TemporaryDirectory(prefix="mem-hook-") as name:
        folder = Path(name)
        root = folder / "root"
        write_tree(root, entries)
        warm(arms, folder)
        number = iter(range(10**6))

        def hook(arm: Arm, verb: str, **values: object) -> Callable[[], Cost]:
            environ = arm.environ(folder)

            def call() -> Cost:
                said = {"session_id": f"s{next(number)}", "cwd": str(root), **values}
                took = cost([*arm.command, "hook", verb], environ, root, json.dumps(said).encode())
                _rest(root)  # what goes on behind it is not what is measured
                return took

            return call

        for arm in arms:
            cost([*arm.command, "index", "-q"], arm.environ(folder), root)
        environ = arms[0].environ(folder)
        floor = [sys.executable, "-c", "import sqlite3"]
        jobs = {(None, "floor"): lambda: cost(floor, environ, root)}
        jobs |= {(arm, name): hook(arm, **call) for name, call in CALLS.items() for arm in arms}
        costs = in_turns(runs, jobs)
        least = costs[None, "floor"]
        for (arm, name), took in costs.items():
            who = f"{arm.program or 'mem'}, {arm.embedder}" if arm else ""
            print(
                f"{name:<22}{who:<32}{1000 * took.worked:>8.1f} ms{took.worked / least.worked:>7.2f}"
                f"{1000 * took.seconds:>9.1f} ms of the clock{took.memory:>8.1f} MB"
            )


def _rest(root: Path) -> None:
    """Wait for the worker that goes on in the background."""
    wanted = f"hook\0worker\0{root}\0".encode()
    while any(wanted in _read(path) for path in Path("/proc").glob("[0-9]*/cmdline")):
        time.sleep(0.02)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--embedders", default="none,local")
    parser.add_argument("--mem", action="append", default=[], metavar="PROGRAM")
    given = parser.parse_args(arguments)
    names = given.embedders.split(",")
    speed(
        given.entries, given.runs, [Arm(prog, name) for name in names for prog in ("", *given.mem)]
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
