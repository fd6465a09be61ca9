"""What hooks cost, and what they bring up unasked.

    python -m tests.bench.hook FOLDER... [--set KEY=VALUE]... [--every N]
    python -m tests.bench.hook --speed [--entries 10000] [--runs 15] [--embedders none,local]
        [--mem PROGRAM]...

With folders (as `tests.bench.retrieval` reads them): the share of the prompts in
tests/data/unrelated_prompts.txt that inject anything, against each memory and against docs/example,
and the points of recall@5 that are lost to the threshold, over a grid of `inject_min`. With
--speed: cold hooks as multiples of `python -c "import sqlite3"`, by the processor and by the clock.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memcli.app import App, Options
from memcli.commands.recall import recall
from memcli.hooks.hook_app import HookApp
from memcli.recall.answer import RecallRequest, told
from tests.bench.corpus import QUERY, write_tree
from tests.bench.retrieval import build, load
from tests.bench.speed import Arm, Cost, cost, in_turns, warm

DATA = Path(__file__).parent.parent / "data" / "unrelated_prompts.txt"
EXAMPLE = Path(__file__).parent.parent.parent / "docs" / "example"
GRID = (0.0, 0.2, 0.3, 0.38, 0.45, 0.55)
Group = tuple[HookApp, list[dict[str, Any]]]


# --- what is brought up


def opened(root: Path, home: Path, sets: Sequence[str]) -> HookApp:
    environ = {"MEM_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    with App(Options(str(root), tuple(sets)), environ, root) as whole:
        whole.refresh()  # with vectors, which a hook does not make
    return HookApp(Options(str(root), tuple(sets)), environ, root)


def told_at(app: HookApp, least: float, prompt: str) -> list[str]:
    """The entries that a prompt brings up with this threshold."""
    app.project.__dict__["config"] = app.project.config._replace(inject_min=least)
    found = told(app.project, app.index, lambda: app.providers.embedder, app.notes, prompt)
    return [item.key for item in found]


def memories(
    folders: Sequence[Path], base: Path, sets: Sequence[str]
) -> Iterator[tuple[str, list[Group]]]:
    """(name, its groups as (app, questions)) of each memory."""
    home = base / "home"
    home.mkdir()
    for folder in folders:
        data = load(folder)
        groups = []
        for group, root in build(data.docs, base / folder.name).items():
            own = [q for q in data.queries if q["group"] == group]
            true = [q for q in own if q.get("category") != "adversarial"]
            groups.append((opened(root, home, sets), true))
        yield folder.name, groups
    shutil.copytree(EXAMPLE, base / "example")
    yield "example", [(opened(base / "example" / "shop", base / "example" / "home", sets), [])]


def lost(app: HookApp, question: Mapping[str, Any]) -> list[float]:
    """recall@5 without a threshold less recall@5 with each."""
    text, relevant = str(question["query"]), set(question["relevant"])
    hits = recall(app, RecallRequest(text, ranked_only=True, refresh=False)).hits
    shown = [[hit.id for hit in hits[:5]], *(told_at(app, least, text)[:5] for least in GRID)]
    whole, *rest = (len(relevant.intersection(own)) / len(relevant) for own in shown)
    return [whole - share for share in rest]


def quality(folders: Sequence[Path], sets: Sequence[str], every: int) -> None:
    prompts = [line for line in DATA.read_text(encoding="utf-8").splitlines() if line]
    print(f"{'inject_min':<40}" + "".join(f"{least:>8}" for least in GRID))
    with tempfile.TemporaryDirectory() as base:
        for name, groups in memories(folders, Path(base), sets):
            injected = [
                [bool(told_at(app, least, prompt)) for least in GRID]
                for app, _ in groups
                for prompt in prompts
            ]
            print(_line(name, "unrelated that inject, %", injected))
            missed = [lost(app, q) for app, own in groups for q in own[::every]]
            if missed:
                print(_line("", "recall@5 lost, points", missed))
            for app, _ in groups:
                app.__exit__()


def _line(name: str, what: str, rows: Sequence[Sequence[float]]) -> str:
    means = [100 * sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return f"{name:<14}{what:<26}" + "".join(f"{mean:>8.2f}" for mean in means)


# --- what it costs

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
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--set", action="append", default=[], dest="sets")
    parser.add_argument("--every", type=int, default=1, help="every n-th question alone")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--embedders", default="none,local")
    parser.add_argument("--mem", action="append", default=[], metavar="PROGRAM")
    given = parser.parse_args(arguments)
    if given.speed:
        names = given.embedders.split(",")
        arms = [Arm(program, name) for name in names for program in ("", *given.mem)]
        speed(given.entries, given.runs, arms)
    else:
        quality(given.folders, given.sets, given.every)
    return 0


if __name__ == "__main__":
    sys.exit(main())
