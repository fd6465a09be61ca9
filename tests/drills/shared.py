"""The shared index in its long form, against a real server.

    python -m tests.drills.shared [--seconds 60] [--workers 20]

Pushers and readers at once while the server is killed and started again; afterwards
every project is exactly one of the states that were pushed."""

import os
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

from memcli.app import App, Options
from memcli.commands.recall import recall
from memcli.errors import ProviderError, RefusedError, UsageError
from memcli.postgres.push import push
from memcli.recall.answer import RecallRequest
from tests.bench import retrieval
from tests.postgres.server import Server
from tests.programs import finished, run

FIRST = "2026-01-01T00:00:00Z"


def commit(root, message="All of it"):
    """Commit everything in `root`, which becomes a repository first.

    Its first commit says its name: equal files committed in the same second would be
    one project."""
    git = [
        "git",
        "-c",
        "user.name=T",
        "-c",
        "user.email=t@e.org",
        "-c",
        "init.defaultBranch=main",
    ]
    if not (root / ".git").exists():
        finished(*git, "init", "-q", cwd=root)
        (root / ".git" / "info" / "exclude").write_text(".memory.db*\n")
        env = {**os.environ, "GIT_AUTHOR_DATE": FIRST, "GIT_COMMITTER_DATE": FIRST}
        first = [*git, "commit", "-q", "--allow-empty", "-m", root.name]
        finished(*first, cwd=root, env=env)
    finished(*git, "add", "-A", cwd=root)
    finished(*git, "commit", "-q", "--allow-empty", "-m", message, cwd=root)


class Outcome(NamedTuple):
    """What pushers and readers met; `failures` is what must not happen."""

    pushes: int
    reads: int
    refused: int
    kills: int
    failures: tuple[str, ...]


def chaos(server, seconds, workers, entries=30, kills=3):
    url = server.database("chaos")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "home").mkdir()
        environ = {
            **os.environ,
            "MEM_HOME": str(folder / "home"),
            "XDG_CONFIG_HOME": place,
            "MEM_STORE_URL": url,
            "MEM_EMBEDDER": "none",
        }
        run = _Run(folder, environ, entries, time.monotonic() + seconds)
        run.start(workers)
        for _ in range(kills):
            time.sleep(seconds / (kills + 1))
            server.kill()
            time.sleep(min(0.5, seconds / 20))
            server.start(fsync="on")
        run.join()
        for number in range(max(workers // 2, 1)):  # two pushers share a project
            run.settle(number)
        _check_counts(url, run.failures)
        return Outcome(
            run.pushes, run.reads, run.refused, kills, tuple(run.failures[:20])
        )


class _Run:
    """The threads of one chaos drill. State `i` of a project: all of its entries say
    `state-i`."""

    def __init__(self, folder, environ, entries, until):
        self.folder = folder
        self.environ = environ
        self.entries = entries
        self.until = until
        self.pushes = self.reads = self.refused = 0
        self.failures: list[str] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def start(self, workers):
        for number in range(max(workers // 2, 1)):
            root = self.folder / f"p{number}"
            self._write(root, 0)
            clone = self.folder / f"p{number}-clone"
            finished("git", "clone", "-q", str(root), str(clone))
            self._app(root).__exit__(None, None, None)
            for place in (root, clone):
                self._threads.append(
                    threading.Thread(target=self._push_all, args=(place,))
                )
            for _ in range(2):
                self._threads.append(
                    threading.Thread(target=self._read_all, args=(f"p{number}",))
                )
        for thread in self._threads:
            thread.start()

    def join(self):
        for thread in self._threads:
            thread.join()

    def _app(self, root):
        options = Options(
            str(root), ("limit=1000", "max_tokens=0", "mmr_lambda=1", "context=0")
        )
        return App(options, self.environ, root)

    def _write(self, root, state):
        root.mkdir(exist_ok=True)
        some = []
        for number in range(self.entries):
            text = f"common number-{number} xstate{state}x {'long ' * (number % 9)}"
            some.append(
                retrieval.entry(
                    {"id": f"{number}", "title": f"entry {number}", "text": text}
                )
            )
        (root / "MEMORY.md").write_text("\n".join(some[::2]))
        (root / "tasks").mkdir(exist_ok=True)
        (root / "tasks" / "t.md").write_text("\n".join(some[1::2]))
        commit(root, f"state {state}")

    def _push_all(self, root):
        state = 1 + 1_000_000 * root.name.endswith("-clone")
        while time.monotonic() < self.until:
            self._write(root, state)
            self._push(root)
            state += 1

    def _push(self, root):
        app = self._app(root)
        try:
            app.refresh()
            push(app)
            self.pushes += 1
            return True
        except (ProviderError, RefusedError):
            self.refused += 1
            time.sleep(0.05)
        except Exception as error:
            self._fail(f"push: {type(error).__name__}: {error}")
        finally:
            app.__exit__(None, None, None)
        return False

    def _fail(self, what):
        with self._lock:
            self.failures.append(what)

    def _read_all(self, name):
        while time.monotonic() < self.until:
            self._read(name)

    def _read(self, name):
        app = self._app(self.folder / "home")
        try:
            asked = RecallRequest(
                "common", ranked_only=True, shared=True, projects=(name,)
            )
            report = recall(app, asked)
            self.reads += 1
            words = {word for hit in report.hits for word in hit.text.split()}
            states = {word for word in words if word.startswith("xstate")}
            if len(states) != 1 or len(report.hits) != self.entries:
                self._fail(
                    f"read of {name}: {len(report.hits)} entries of {sorted(states)}"
                )
            return states
        except (ProviderError, UsageError) as error:
            self.refused += 1  # away, or not pushed yet
            if (
                isinstance(error, UsageError)
                and "not in the shared index" not in error.what
            ):
                self._fail(f"read: {error}")
            time.sleep(0.05)
        except Exception as error:
            self._fail(f"read: {type(error).__name__}: {error}")
        finally:
            app.__exit__(None, None, None)
        return set()

    def settle(self, number):
        root = self.folder / f"p{number}"
        self._write(root, 7_000_000 + number)
        if not self._push(root):
            self._fail(f"{root.name}: no push after the storm")
        if self._read(root.name) != {f"xstate{7_000_000 + number}x"}:
            self._fail(f"{root.name}: the last push is not what is read")


def _check_counts(url, failures):
    import psycopg

    with psycopg.connect(url) as connection:
        for what, statement in CHECKS.items():
            odd = connection.execute(statement).fetchall()
            if odd:
                failures.append(f"{what}: {odd[:3]}")


CHECKS = {
    "chunks": "SELECT p.project FROM mem.projects p LEFT JOIN mem.chunks c USING (project) GROUP BY p.project"
    " HAVING p.chunks <> count(c.id)",
    "parts": "SELECT c.project, c.id FROM mem.chunks c LEFT JOIN mem.files f USING (project, file)"
    " WHERE NOT coalesce(c.head = ANY (f.heads), false)",
    "heads": "SELECT f.path FROM mem.files f WHERE f.heads <> coalesce((SELECT array_agg(h.h ORDER BY h.i)"
    " FROM unnest(f.heads) WITH ORDINALITY h(h, i)"
    " JOIN mem.chunks c ON c.project = f.project AND c.id = h.h), '{}')",
}
"""What is counted is what there is: statements that find rows where it is not."""


def main(*, seconds: float = 60, workers: int = 20) -> int:
    server = Server()
    try:
        server.start(fsync="on")
        outcome = chaos(server, seconds, workers)
        print(outcome)
        return 1 if outcome.failures else 0
    finally:
        server.stop()


if __name__ == "__main__":
    run(main)
