"""The shared index in its long form, against a real server.

    python -m tests.drills.shared quality FOLDER...
    python -m tests.drills.shared chaos [--seconds 60] [--workers 20]

quality: every group of a question set is a project; recall@10 of the local and of the shared
recall. chaos: pushers and readers at once while the server is killed and started again; afterwards
every project is exactly one of the states that were pushed.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from memcli.app import App, Options
from memcli.commands.recall import recall
from memcli.errors import ProviderError, RefusedError, UsageError
from memcli.memory.parser import parse
from memcli.memory.values import Place
from memcli.postgres import link, writer
from memcli.postgres.push import literal, push
from memcli.postgres.tokens import Tokenizer
from memcli.postgres.writer import Identity, key_of
from memcli.providers.embed import DIM
from memcli.recall.answer import RecallRequest
from tests.bench import retrieval
from tests.postgres.server import Server

FIRST = "2026-01-01T00:00:00Z"


def commit(root: Path, message: str = "All of it") -> None:
    """Commit everything in `root`, which becomes a repository first.

    Its first commit says its name: equal files committed in the same second would be one project.
    """
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@e.org", "-c", "init.defaultBranch=main"]
    if not (root / ".git").exists():
        subprocess.run([*git, "init", "-q"], cwd=root, check=True)
        (root / ".git" / "info" / "exclude").write_text(".memory.db*\n")
        env = {**os.environ, "GIT_AUTHOR_DATE": FIRST, "GIT_COMMITTER_DATE": FIRST}
        first = [*git, "commit", "-q", "--allow-empty", "-m", root.name]
        subprocess.run(first, cwd=root, check=True, env=env)
    subprocess.run([*git, "add", "-A"], cwd=root, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", message], cwd=root, check=True)


def quality(server: Server, folder: Path, sets: Sequence[str] = ()) -> dict[str, Any]:
    link.PATIENCE = 60.0  # what is measured is what is found, on however busy a machine
    data = retrieval.load(folder)
    url = server.database("quality")
    local, shared, same, modes = [], [], [], set()
    with tempfile.TemporaryDirectory() as place:
        apps = _apps(data, Path(place), url, sets)
        for question in data.queries:
            app = apps[question["group"]]
            request = RecallRequest(question["query"], ranked_only=True, refresh=False)
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
    roots = retrieval.build(data.docs, folder / "groups")
    (folder / "home").mkdir()
    apps = {}
    for name, root in roots.items():
        commit(root)
        environ = {
            **os.environ, "MEM_HOME": str(folder / "home"), "XDG_CONFIG_HOME": str(folder),
            "MEM_STORE_URL": url,
        }  # fmt: skip
        app = apps[name] = App(Options(str(root), ("max_tokens=0", *sets)), environ, root)
        app.refresh()
        push(app)
    return apps


OWNER = "postgres"
"""Whoever fills a server, and the team of what it pushes."""
VOCABULARY = 30_000
TASK_WORDS = 7


def words(dice: random.Random, number: int) -> str:
    return " ".join(f"w{int(VOCABULARY ** dice.random())}" for _ in range(number))


def texts(seed: int, entries: int) -> list[str]:
    dice = random.Random(seed)
    return [
        retrieval.entry(
            {"id": f"e{seed}-{i}", "title": words(dice, 6), "text": words(dice, dice.randint(15, 60)),
             "date": f"2026-{dice.randint(1, 11):02}-15"}
        )
        for i in range(entries)
    ]  # fmt: skip


def load(url: str, projects: int, entries: int, model: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "DROP INDEX mem.chunks_words, mem.chunks_entry, mem.chunks_file, mem.terms_term"
        )
        with closing(Tokenizer()) as tokenizer:
            for number in range(projects):
                _load_project(connection, tokenizer, number, entries, model)
        for statement in INDEXES:
            connection.execute(statement)
        link.index_vectors(connection, model, DIM)
        connection.execute("VACUUM ANALYZE")


INDEXES = (
    "CREATE INDEX chunks_words ON mem.chunks USING gin (words)",
    "CREATE INDEX chunks_entry ON mem.chunks (project, entry)",
    "CREATE INDEX chunks_file ON mem.chunks (project, file)",
    "CREATE INDEX terms_term ON mem.terms (term) INCLUDE (project, team, n)",
)


def _load_project(
    connection: Any, tokenizer: Tokenizer, number: int, entries: int, model: str
) -> None:
    import numpy as np

    key = key_of(f"{number:040x}", ".")
    name, url = f"acme/project-{number}", "git@github.com:acme/x.git"
    identity = Identity(key, name, f"{number:040x}", ".", "c" * 40, url)
    memory = parse("\n".join(texts(number, entries)), "MEMORY.md")
    sent = writer.chunks(memory, "MEMORY.md", live=True)
    found = tokenizer.words(writer.searched(sent), (f"=t:{OWNER}", f"=p:{key}"))
    where = Place("project", "memory")
    file = writer.FileChange(writer.number("MEMORY.md"), "MEMORY.md", "h", where, sent)
    vectors = np.random.default_rng(number).integers(-60, 60, (len(sent), DIM), dtype=np.int8)
    new = [
        writer.NewChunk(file, own, its, literal(vector.tobytes()))
        for own, its, vector in zip(sent, found, vectors, strict=True)
    ]
    facts = writer.Facts(OWNER, identity.commit, identity.remote, identity.name, model, DIM)
    change = writer.Change(facts, [file], (), new, (), anew=False, archived=False)
    writer.write(connection, identity, 0, change)


class Outcome(NamedTuple):
    """What pushers and readers met; `failures` is what must not happen."""

    pushes: int
    reads: int
    refused: int
    kills: int
    failures: tuple[str, ...]


def chaos(
    server: Server, seconds: float, workers: int, entries: int = 30, kills: int = 3
) -> Outcome:
    url = server.database("chaos")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "home").mkdir()
        environ = {
            **os.environ, "MEM_HOME": str(folder / "home"), "XDG_CONFIG_HOME": place, "MEM_STORE_URL": url,
            "MEM_EMBEDDER": "none",
        }  # fmt: skip
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
        return Outcome(run.pushes, run.reads, run.refused, kills, tuple(run.failures[:20]))


class _Run:
    """The threads of one chaos drill. State `i` of a project: all of its entries say `state-i`."""

    def __init__(
        self, folder: Path, environ: Mapping[str, str], entries: int, until: float
    ) -> None:
        self.folder, self.environ, self.entries, self.until = folder, environ, entries, until
        self.pushes = self.reads = self.refused = 0
        self.failures: list[str] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def start(self, workers: int) -> None:
        for number in range(max(workers // 2, 1)):
            root = self.folder / f"p{number}"
            self._write(root, 0)
            clone = self.folder / f"p{number}-clone"
            subprocess.run(["git", "clone", "-q", str(root), str(clone)], check=True)
            self._app(root).__exit__()
            for place in (root, clone):
                self._threads.append(threading.Thread(target=self._push_all, args=(place,)))
            for _ in range(2):
                self._threads.append(threading.Thread(target=self._read_all, args=(f"p{number}",)))
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _app(self, root: Path) -> App:
        options = Options(str(root), ("limit=1000", "max_tokens=0", "mmr_lambda=1", "context=0"))
        return App(options, self.environ, root)

    def _write(self, root: Path, state: int) -> None:
        root.mkdir(exist_ok=True)
        some = []
        for i in range(self.entries):
            text = f"common number-{i} xstate{state}x {'long ' * (i % 9)}"
            some.append(retrieval.entry({"id": f"{i}", "title": f"entry {i}", "text": text}))
        (root / "MEMORY.md").write_text("\n".join(some[::2]))
        (root / "tasks").mkdir(exist_ok=True)
        (root / "tasks" / "t.md").write_text("\n".join(some[1::2]))
        commit(root, f"state {state}")

    def _push_all(self, root: Path) -> None:
        state = 1 + 1_000_000 * root.name.endswith("-clone")
        while time.monotonic() < self.until:
            self._write(root, state)
            self._push(root)
            state += 1

    def _push(self, root: Path) -> bool:
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
            app.__exit__()
        return False

    def _fail(self, what: str) -> None:
        with self._lock:
            self.failures.append(what)

    def _read_all(self, name: str) -> None:
        while time.monotonic() < self.until:
            self._read(name)

    def _read(self, name: str) -> set[str]:
        app = self._app(self.folder / "home")
        try:
            asked = RecallRequest("common", ranked_only=True, shared=True, projects=(name,))
            report = recall(app, asked)
            self.reads += 1
            words = {word for hit in report.hits for word in hit.text.split()}
            states = {word for word in words if word.startswith("xstate")}
            if len(states) != 1 or len(report.hits) != self.entries:
                self._fail(f"read of {name}: {len(report.hits)} entries of {sorted(states)}")
            return states
        except (ProviderError, UsageError) as error:
            self.refused += 1  # away, or not pushed yet
            if isinstance(error, UsageError) and "not in the shared index" not in error.what:
                self._fail(f"read: {error}")
            time.sleep(0.05)
        except Exception as error:
            self._fail(f"read: {type(error).__name__}: {error}")
        finally:
            app.__exit__()
        return set()

    def settle(self, number: int) -> None:
        root = self.folder / f"p{number}"
        self._write(root, 7_000_000 + number)
        if not self._push(root):
            self._fail(f"{root.name}: no push after the storm")
        if self._read(root.name) != {f"xstate{7_000_000 + number}x"}:
            self._fail(f"{root.name}: the last push is not what is read")


def _check_counts(url: str, failures: list[str]) -> None:
    import psycopg

    with psycopg.connect(url) as connection:
        for what, statement in CHECKS.items():
            odd = connection.execute(statement).fetchall()
            if odd:
                failures.append(f"{what}: {odd[:3]}")


CHECKS = {
    "terms": "SELECT project, term, sum(n) FROM (SELECT project, term, n FROM mem.terms UNION ALL"
    " SELECT project, t, -1 FROM mem.chunks, unnest(tsvector_to_array(words)) t WHERE t !~ '^=') x"
    " GROUP BY 1, 2 HAVING sum(n) <> 0",
    "chunks": "SELECT p.project FROM mem.projects p LEFT JOIN mem.chunks c USING (project) GROUP BY p.project"
    " HAVING (p.chunks, p.length) <> (count(c.id), coalesce(sum(c.length), 0))",
    "heads": "SELECT f.path FROM mem.files f WHERE f.heads <> coalesce((SELECT array_agg(h.h ORDER BY h.i)"
    " FROM unnest(f.heads) WITH ORDINALITY h(h, i)"
    " JOIN mem.chunks c ON c.project = f.project AND c.id = h.h), '{}')",
}
"""What is counted is what there is: statements that find rows where it is not."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("quality", "chaos"))
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--set", action="append", default=[], dest="sets")
    given = parser.parse_args(arguments)
    server = Server()
    try:
        server.start(fsync="on" if given.what == "chaos" else "off")
        if given.what == "quality":
            for folder in given.folders:
                print(quality(server, folder, given.sets), flush=True)
            return 0
        outcome = chaos(server, given.seconds, given.workers)
        print(outcome)
        return 1 if outcome.failures else 0
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(main())
