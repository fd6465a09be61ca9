"""What hooks cost, and what they bring up unasked.

    python -m tests.bench.hook FOLDER... [--set KEY=VALUE]... [--every N]
    python -m tests.bench.hook --speed [--entries 10000] [--runs 30] [--set KEY=VALUE]...

With folders (as `tests.bench.retrieval` reads them): the share of the prompts in
tests/data/unrelated_prompts.txt that inject anything, against each memory and against docs/example,
and the points of recall@5 that are lost to the threshold, over a grid of `inject_min`. With
--speed: cold hooks as a multiple of `python -c "import sqlite3"`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from memcli.hooks.events import HookApp

from memcli.app import App, Options
from memcli.commands.recall import recall
from memcli.hooks import events
from memcli.recall.answer import RecallRequest
from tests.bench.retrieval import build, load
from tests.bench.speed import QUERY, interleaved, write_tree

DATA = Path(__file__).parent.parent / "data" / "unrelated_prompts.txt"
EXAMPLE = Path(__file__).parent.parent.parent / "docs" / "example"
GRID = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)


def unrelated() -> list[str]:
    """The prompts that are about nothing in any memory."""
    return [line for line in DATA.read_text(encoding="utf-8").splitlines() if line]


# --- what is brought up


def opened(root: Path, home: Path, sets: Sequence[str]) -> HookApp:
    environ = {"MEM_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    app = HookApp(Options(str(root), tuple(sets)), environ, root)
    with App(Options(str(root), tuple(sets)), environ, root) as whole:
        whole.refresh()  # with vectors, which a hook does not make
    return app


def at(app: HookApp, least: float) -> None:
    app.__dict__["config"] = app.project.config._replace(inject_min=least)


def injected(app: HookApp, least: float) -> int:
    """How many of the unrelated prompts inject anything."""
    at(app, least)
    return sum(bool(events._worthy(app, prompt)) for prompt in unrelated())


Group = tuple[HookApp, list[dict[str, Any]]]


def memories(
    folders: Sequence[Path], base: Path, sets: Sequence[str]
) -> Iterator[tuple[str, list[Group]]]:
    """(name, its groups as (app, questions)) of each memory."""
    home = base / "home"
    home.mkdir()
    for folder in folders:
        data = load(folder)
        roots = build(data.docs, base / folder.name)
        yield (
            folder.name,
            [
                (
                    opened(root, home, sets),
                    [
                        q
                        for q in data.queries
                        if q["group"] == group and q.get("category") != "adversarial"
                    ],
                )
                for group, root in roots.items()
            ],
        )
    shutil.copytree(EXAMPLE, base / "example")
    yield "example", [(opened(base / "example" / "shop", base / "example" / "home", sets), [])]


def lost(app: HookApp, questions: Sequence[dict[str, Any]], grid: Sequence[float]) -> list[float]:
    """Sum over the questions of recall@5 without a threshold less recall@5 with each."""
    sums = [0.0] * len(grid)
    for question in questions:
        text, relevant = str(question["query"]), set(question["relevant"])
        hits = recall(app, RecallRequest(text, ranked_only=True, refresh=False)).hits
        whole = len(relevant & {hit.id for hit in hits[:5]}) / len(relevant)
        for i, least in enumerate(grid):
            at(app, least)
            shown = {hit.id for hit in events._worthy(app, text)[:5]}
            sums[i] += whole - len(relevant & shown) / len(relevant)
    return sums


def quality(folders: Sequence[Path], sets: Sequence[str], every: int) -> None:
    print(f"{'memory':<14}{'':<26}" + "".join(f"{least:>8}" for least in GRID))
    with tempfile.TemporaryDirectory() as base:
        for name, groups in memories(folders, Path(base), sets):
            prompts = len(groups) * len(unrelated())
            shares = [
                100 * sum(injected(app, least) for app, _ in groups) / prompts for least in GRID
            ]
            print(
                f"{name:<14}{'unrelated that inject, %':<26}"
                + "".join(f"{s:>8.1f}" for s in shares)
            )
            asked = [(app, questions[::every]) for app, questions in groups]
            count = sum(len(questions) for _, questions in asked)
            if count:
                sums = [lost(app, questions, GRID) for app, questions in asked]
                points = [100 * sum(each) / count for each in zip(*sums, strict=True)]
                print(
                    f"{'':<14}{'recall@5 lost, points':<26}" + "".join(f"{p:>8.2f}" for p in points)
                )
            for app, _ in groups:
                app.__exit__()


# --- what it costs


def speed(entries: int, runs: int, sets: Sequence[str]) -> None:
    """Cold hooks in turns with the floor; each call is of a session of its own."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        root = base / "root"
        write_tree(root, entries, 200)
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "MEM_HOME": folder,
            "MEM_NOW": "2026-11-01",
        }
        environ |= {
            f"MEM_{key.upper()}": value for key, _, value in (item.partition("=") for item in sets)
        }
        script = Path(sys.executable).with_name("mem")  # what hooks call where it is installed
        mem = [str(script)] if script.exists() else [sys.executable, "-m", "memcli"]
        subprocess.run([*mem, "index", "-q"], env=environ, cwd=root, check=True)
        number = iter(range(10**6))

        def hook(verb: str, **values: object) -> float:
            said = {
                "session_id": f"s{next(number)}",
                "transcript_path": None,
                "cwd": str(root),
                **values,
            }
            started = time.perf_counter()
            subprocess.run([*mem, "hook", verb], input=json.dumps(said).encode(), env=environ, cwd=folder,
                           stdout=subprocess.PIPE, check=True)  # fmt: skip
            seconds = time.perf_counter() - started
            _rest(root)  # what goes on behind it is not what is measured
            return seconds

        def floor() -> float:
            started = time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", "import sqlite3"], env=environ, cwd=folder, check=True
            )
            return time.perf_counter() - started

        jobs = {
            'python -c "import sqlite3"': floor,
            "prompt about memory": lambda: hook("prompt", prompt=QUERY),
            "prompt about nothing": lambda: hook("prompt", prompt="thanks, run the tests again"),
            "session-start": lambda: hook("session-start", source="startup"),
            "pre-tool, command": lambda: hook("pre-tool", tool_input={"command": "git push"}),
            "pre-tool, file": lambda: hook("pre-tool", tool_input={"file_path": "src/a.py"}),
            "session-end": lambda: hook("session-end", reason="other"),
        }
        medians = interleaved(runs, *jobs.values())
        for name, seconds in zip(jobs, medians, strict=True):
            print(f"{name:<28}{seconds * 1000:>9.1f} ms{seconds / medians[0]:>8.2f}")
        seconds, busy = large_end(base, environ, root)
        note = "" if busy else "  (nothing went on behind it)"
        print(f"{'session-end, 100 MB':<28}{seconds * 1000:>9.1f} ms{note}")


def large_end(base: Path, environ: dict[str, str], root: Path) -> tuple[float, bool]:
    """How long the end of a session takes whose transcript has 100 MB; whether the worker was still
    at it.
    """
    line = {
        "type": "user",
        "sessionId": "big",
        "cwd": str(root),
        "timestamp": "2026-10-30T10:00:00Z",
    }
    path = base / "big.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for i in range(25_000):
            message = {"role": "user", "content": f"Look at part {i}: " + "some words of it " * 230}
            file.write(json.dumps({**line, "uuid": f"u{i}", "message": message}) + "\n")
    said = {"session_id": "big", "transcript_path": str(path), "cwd": str(root), "reason": "other"}
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "memcli", "hook", "session-end"], input=json.dumps(said).encode(),
                   env=environ, cwd=base, check=True)  # fmt: skip
    seconds = time.perf_counter() - started
    busy = _is_working(root)
    _rest(root)
    return seconds, busy


def _is_working(root: Path) -> bool:
    wanted = f"hook\0worker\0{root}\0".encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if wanted in path.read_bytes():
                return True
        except OSError:
            continue
    return False


def _rest(root: Path) -> None:
    while _is_working(root):
        time.sleep(0.02)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--set", action="append", default=[], dest="sets")
    parser.add_argument("--every", type=int, default=1, help="every n-th question alone")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=30)
    given = parser.parse_args(arguments)
    if given.speed:
        speed(given.entries, given.runs, given.sets)
    else:
        quality(given.folders, given.sets, given.every)
    return 0


if __name__ == "__main__":
    sys.exit(main())
