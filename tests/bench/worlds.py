"""The development sets as questions that can be asked again and again in one process:
each memory store is indexed once, in a folder that is kept."""

import json
import os
import random
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from memcli.app import App, Options
from memcli.history.backfill import exchanges
from memcli.history.record import HistoryRecord
from memcli.memory.docs import Doc
from memcli.sessions.reader import read_all
from tests.bench import retrieval
from tests.commands.talk import jsonl
from tests.programs import finished

FLAT = ("locomo-turns", "locomo-facts", "cosqa", "beam100k")
RULES = (".kept", "copilot-instructions.md", ".cursorrules")


class Question(NamedTuple):
    """A question to a store; `place` is the fold that it belongs to (a repository, a
    dialogue), `right` says of each hit whether it answers, `answers` how many do."""

    of: str
    place: str
    text: str
    right: Callable[[Any], bool]
    answers: int


class Store(NamedTuple):
    """A memory store with its questions: an app over files, or a record of history."""

    app: App | None
    record: HistoryRecord | None
    questions: list[Question]


def rows(path):
    """The records of a file with one JSON value a line."""
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def sampled(found, most, seed):
    """So many of them, always the same."""
    few = len(found) <= most or most == 0
    return list(found) if few else random.Random(seed).sample(list(found), most)


class Worlds:
    """The stores of a folder of sets, kept below `cache`."""

    def __init__(self, sets, cache, embedder):
        self.sets = sets
        self.cache = cache / embedder
        self.cache.mkdir(parents=True, exist_ok=True)
        self.embedder = embedder
        for kind in ("CONFIG", "CACHE", "STATE", "DATA"):
            os.environ[f"XDG_{kind}_HOME"] = str(self.cache / "xdg")
        os.environ["HOME"] = str(self.cache / "home")

    def app(self, root):
        """An app on a root, its index brought up to its files."""
        options = Options(str(root), ("max_tokens=0", f"embedder={self.embedder}"))
        home = self.cache / "home"
        home.mkdir(exist_ok=True)
        environ = {"MEM_HOME": str(home), "MEM_NOW": "2026-08-15T12:00:00Z"}
        app = App(options, environ, root)
        app.refresh()
        return app

    def flat(self, name, most, seed):
        """The stores of a set of documents and questions."""
        data = retrieval.load(self.sets / name)
        root = self.cache / name
        if not root.exists():
            retrieval.build(data.docs, root)
        asked = [
            query for query in data.queries if query.get("category") != "adversarial"
        ]
        groups = defaultdict(list)
        for row in sampled(asked, most, seed):
            relevant = frozenset(row["relevant"])
            groups[row["group"]].append(
                Question(
                    of=name,
                    place=row["group"],
                    text=row["query"],
                    right=lambda hit, relevant=relevant: hit.id in relevant,
                    answers=len(relevant),
                )
            )
        for group, questions in groups.items():
            yield Store(self.app(root / group), None, questions)

    def files(self, most, seed):
        """The memory files of real repositories."""
        folder = self.sets / "memory-files"
        every = [q for q in rows(folder / "questions.jsonl") if q["cls"] == "memory"]
        groups = defaultdict(list)
        for row in sampled(every, most, seed):
            groups[row["repo"]].append(row)
        for repo, asked in groups.items():
            root = self.cache / "memory-files" / repo.replace("/", "+")
            if not root.exists():
                shutil.copytree(folder / "repos" / repo.replace("/", "+"), root)
                os.system(f"chmod -R u+w '{root}'")
                for path in sorted(root.rglob("*.kept")):
                    path.rename(path.with_name(path.name.removesuffix(".kept")))
                finished("git", "init", "-q", cwd=root)
                finished("git", "add", "-A", cwd=root)
            questions = [
                Question(
                    of="memory-files",
                    place=repo,
                    text=row["question"],
                    right=partial(in_place, row),
                    answers=1,
                )
                for row in asked
            ]
            yield Store(self.app(root), None, questions)

    def sessions(self, most, seed):
        """Dialogues, one transcript a session: which one answers."""
        folder = self.sets / "locomo-sessions"
        every = sampled(rows(folder / "questions.jsonl"), most, seed)
        for name in sorted({row["dialogue"] for row in every}):
            path = self.cache / f"{name}.db"
            fresh = not path.exists()
            record = HistoryRecord(sqlite3.connect(path, isolation_level=None), path)
            if fresh:
                for file in sorted((folder / name).glob("*.jsonl")):
                    record.add(_exchanges(rows(file), path.with_suffix(".jsonl")))
                record.settle()
            where = {
                rows(file)[0]["session_id"]: file.stem
                for file in sorted((folder / name).glob("*.jsonl"))
            }
            questions = [
                Question(
                    of="locomo-sessions",
                    place=name,
                    text=row["question"],
                    right=lambda unit, gold=row["gold"], where=where: (
                        where.get(unit) in gold
                    ),
                    answers=1,
                )
                for row in every
                if row["dialogue"] == name
            ]
            yield Store(None, record, questions)

    def decisions(self):
        """Tasks, and the chat or commit that decides each."""
        folder = self.sets / "decisions"
        tasks = rows(folder / "tasks.jsonl")
        for world, source in (
            ("conversation", "conversation"),
            ("amended", "conversation-amended"),
            ("history", "history"),
        ):
            path = self.cache / f"decisions-{world}.db"
            fresh = not path.exists()
            record = HistoryRecord(sqlite3.connect(path, isolation_level=None), path)
            if fresh:
                self._decided(record, folder, world)
            questions = [
                Question(
                    of="decisions",
                    place=task["topic"],
                    text=task["prompt"],
                    right=lambda unit, task=task: (
                        unit in (task.get("chat"), task.get("commit"))
                    ),
                    answers=1,
                )
                for task in tasks
                if task["source"] == source
            ]
            yield Store(None, record, questions)

    def _decided(self, record, folder, world):
        for about in rows(folder / "chats.jsonl"):
            if about["world"] not in ("any", world):
                continue
            chat = json.loads((folder / "chats" / f"{about['id']}.json").read_text())
            turns = [
                {
                    "session_id": about["id"],
                    "role": message["role"],
                    "content": message["text"],
                    "timestamp": f"{about['date'][:10]}T10:{number:02}:00Z",
                }
                for number, message in enumerate(chat["messages"])
            ]
            record.add(_exchanges(turns, self.cache / "chat.jsonl"))
        commits = rows(folder / "host.jsonl")
        commits += rows(folder / "commits.jsonl") if world == "history" else []
        record.add(_commit(row) for row in commits)
        record.settle()


def _commit(row):
    name = row.get("id") or row["hash"]
    text = f"{row['subject']}\n\n{row['body']}".strip()
    return Doc(
        source="commit",
        unit=name,
        turn=0,
        key=f"c:{name}",
        who="a",
        date=row["date"],
        title=row["subject"],
        said=(("person", text),),
    )


def _exchanges(turns, scratch):
    lines = []
    for number, turn in enumerate(turns):
        said = turn["content"]
        if turn["role"] != "user":
            said = [{"type": "text", "text": said}]
        lines.append(
            {
                "type": turn["role"],
                "uuid": f"{turn['session_id']}-{number:04}",
                "sessionId": turn["session_id"],
                "cwd": "/",
                "timestamp": turn["timestamp"],
                "message": {"role": turn["role"], "content": said},
            }
        )
    scratch.write_text(jsonl(lines))
    return list(exchanges(read_all(scratch)[0]))


def in_place(row, hit):
    """Whether a hit is the place that answers: it begins there, or holds the key
    words."""
    if hit.path != row["file"]:
        return False
    low = f"{hit.title}\n{hit.text}".casefold()
    begins = row["line_first"] <= hit.line <= row["line_last"]
    return begins or all(word.casefold() in low for word in row["must"])
