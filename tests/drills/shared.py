"""The shared index in its long form, against a real server.

    python -m tests.drills.shared quality FOLDER...
    python -m tests.drills.shared speed [--projects 1000] [--entries 1000]
    python -m tests.drills.shared chaos [--seconds 60] [--workers 20]

quality: every group of a question set is a project; recall@10 of the local and of the shared recall.
speed: the median of `mem recall --shared` over many projects against a local recall in one of them, and
of a push after one edit in a project of ten times as many entries against a local re-index.
chaos: pushers and readers at once while the server is killed and started again; afterwards every
project is exactly one of the states that were pushed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from memcli.app import App, Options
from memcli.commands.push import push
from memcli.commands.recall import Request, recall
from tests.bench import retrieval
from tests.shared.server import Server


def commit(root: Path, message: str = "All of it") -> None:
    """Commit everything in `root`, which becomes a repository first."""
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@e.org", "-c", "init.defaultBranch=main"]
    if not (root / ".git").exists():
        subprocess.run([*git, "init", "-q"], cwd=root, check=True)
        (root / ".git" / "info" / "exclude").write_text(".memory.db*\n")
    subprocess.run([*git, "add", "-A"], cwd=root, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", message], cwd=root, check=True)


# --- quality


def quality(server: Server, folder: Path, sets: Sequence[str] = ()) -> dict[str, Any]:
    """recall@10 in percent of both recalls on a question set, and how many of the first ten are the same."""
    data = retrieval.load(folder)
    url = server.database("quality")
    local, shared, same, modes = [], [], [], set()
    with tempfile.TemporaryDirectory() as place:
        apps = _apps(data, Path(place), url, sets)
        for question in data.queries:
            app = apps[question["group"]]
            request = Request(question["query"], ranked_only=True, refresh=False)
            own = recall(app, request)
            other = recall(app, request._replace(shared=True, projects=(question["group"],)))
            assert not app.notes, app.notes
            modes.add((own.mode, other.mode))
            if question.get("category") == "adversarial":
                continue
            ids = [[str(hit.id) for hit in report.hits[:10]] for report in (own, other)]
            relevant = set(question["relevant"])
            local.append(retrieval.measures(ids[0], relevant)["recall@10"])
            shared.append(retrieval.measures(ids[1], relevant)["recall@10"])
            same.append(len(set(ids[0]) & set(ids[1])) / max(len(ids[0]), len(ids[1]), 1))
        for app in apps.values():
            app.__exit__()
    return {
        "set": data.name, "modes": sorted(modes), "questions": len(local),
        "local": _percent(local), "shared": _percent(shared), "same": _percent(same),
    }  # fmt: skip


def _percent(values: Sequence[float]) -> float:
    return round(100 * sum(values) / max(len(values), 1), 2)


def _apps(data: retrieval.Set, folder: Path, url: str, sets: Sequence[str]) -> dict[str, App]:
    """A repository for each group, indexed and pushed."""
    roots = retrieval.build(data.docs, folder / "groups")
    (folder / "home").mkdir()
    apps = {}
    for name, root in roots.items():
        commit(root)
        environ = {
            **os.environ, "MEM_HOME": str(folder / "home"), "XDG_CONFIG_HOME": str(folder), "MEM_STORE_URL": url,
        }  # fmt: skip
        app = apps[name] = App(Options(str(root), ("max_tokens=0", *sets)), environ, root)
        app.refresh()
        push(app)
    return apps


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("quality", "speed", "chaos"))
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--projects", type=int, default=1000)
    parser.add_argument("--entries", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--set", action="append", default=[], dest="sets")
    given = parser.parse_args(arguments)
    server = Server()
    try:
        server.start()
        if given.what == "quality":
            for folder in given.folders:
                print(quality(server, folder, given.sets), flush=True)
        elif given.what == "speed":
            print(speed(server, given.projects, given.entries))
        else:
            outcome = chaos(server, given.seconds, given.workers)
            print(outcome)
            return 1 if outcome.failures else 0
    finally:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
