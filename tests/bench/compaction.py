"""Compaction as a ratio in one run: cold `mem compact` against `mem index --rebuild` on the same
files.

python -m tests.bench.compaction [--entries 10000] [--runs 5]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench.speed import PER_FILE, interleaved, timed, write_tree


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        write_tree(root, given.entries, PER_FILE)
        environ = {
            "PATH": os.environ["PATH"], "HOME": folder, "MEM_HOME": folder, "MEM_NOW": "2026-11-01",
        }  # fmt: skip
        mem = [sys.executable, "-m", "memcli"]
        timed([*mem, "index", "-q"], environ, root)
        index, compact = interleaved(
            given.runs,
            lambda: timed([*mem, "index", "--rebuild", "-q"], environ, root),
            lambda: timed([*mem, "compact", "-q"], environ, root),
        )
    print(
        f"{given.entries} entries: index {index:.2f} s, compact {compact:.2f} s, ratio {compact / index:.2f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
