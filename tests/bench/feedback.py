"""The feedback test: what prominence costs when everything that is shown gets stronger.

    python -m tests.bench.feedback FOLDER... [--sessions 50] [--set KEY=VALUE]...

Folders as in `tests.bench.retrieval`. Every document becomes an entry with an age, a
count and an importance by chance; every fifth is new. In each session, a day each, a
few questions of one half of the set are recalled and all that is shown is reinforced.
Then the questions of the other half are asked, and compared with the same history under
relevance alone."""

import datetime
import random
import tempfile
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer

from memcli.app import App, Options
from memcli.commands.recall import recall
from memcli.memory.changes import render_entry
from memcli.recall.answer import RecallRequest
from tests.bench.retrieval import load, measures
from tests.programs import run

EACH = 5  # questions of a session
FIRST = datetime.date(2026, 1, 1)
PURE = ("growth=none", "decay=none", "use_importance=false")
SETTINGS = (
    ("growth=log", "prominence_weight=0.04"),
    ("growth=log", "prominence_weight=0.3"),
    ("growth=linear", "prominence_weight=1"),
)


def played(data, sets, sessions, seed=1):
    """recall@5 of each question that is new after the sessions; the same draws for all
    settings."""
    groups = sorted({doc["group"] for doc in data.docs})
    results = (_played(data, group, sets, sessions, seed) for group in groups)
    return [recall for group in results for recall in group]


def _played(data, group, sets, sessions, seed):
    """The same of one group: half of its questions are asked in the sessions."""
    rng = random.Random(f"{seed} {group}")
    docs = [doc for doc in data.docs if doc["group"] == group]
    asked = [row for row in data.queries if row["group"] == group]
    rows = [row for row in asked if row.get("category") != "adversarial"]
    rng.shuffle(rows)
    half = len(rows) // 2
    known = rows[:half]
    new = rows[half:]
    entries = {
        str(doc["id"]): _entry(doc, rng, fresh=number % 5 == 0)
        for number, doc in enumerate(docs)
    }
    with tempfile.TemporaryDirectory() as folder:
        for day in range(sessions):
            today = FIRST + _days(day)
            some = rng.sample(known, min(EACH, len(known)))
            shown = _shown(Path(folder), docs, entries, some, today, sets)
            for entry in set(chain.from_iterable(shown)):
                entries[entry]["reinforcement_count"] += 1
                entries[entry]["last_reinforced"] = str(today)
        today = FIRST + _days(sessions)
        last = _shown(Path(folder), docs, entries, new, today, sets)
    for ids, row in zip(last, new, strict=True):
        yield measures(ids, set(row["relevant"]))["recall@5"]


def _days(number):
    return datetime.timedelta(days=number)


def _entry(doc, rng, *, fresh):
    age = rng.randint(0, 400)
    count = rng.randint(0, 30)
    importance = rng.uniform(0.3, 0.95)
    written = FIRST - _days(0 if fresh else age)
    return {
        "id": doc["id"],
        "type": "declarative",
        "domain": "task",
        "importance": round(importance, 2),
        "reinforcement_count": 0 if fresh else count,
        "last_reinforced": str(written),
    }


def _shown(root, docs, entries, rows, today, sets):
    """What each question shows on a day, by the real recall over a real memory file."""
    texts = (
        render_entry(entries[d["id"]], f"## {d['title']}\n{d['text']}") for d in docs
    )
    (root / "MEMORY.md").write_text("\n".join(texts), encoding="utf-8")
    environ = {
        "MEM_HOME": f"{root}/home",
        "XDG_CONFIG_HOME": str(root),
        "MEM_NOW": str(today),
    }
    with App(Options(str(root), ("max_tokens=0", *sets)), environ, root) as app:
        requests = (RecallRequest(row["query"], ranked_only=True) for row in rows)
        return [
            [str(hit.id) for hit in recall(app, request).hits] for request in requests
        ]


def main(
    folders: list[Path],
    *,
    sessions: int = 50,
    sets: Annotated[list[str], typer.Option("--set")] = (),
):
    """Play sessions on folders of questions, under settings such as embedder=none."""
    for folder in folders:
        data = load(folder)
        pure = fmean(played(data, (*sets, *PURE), sessions))
        print(f"{folder.name}: relevance alone {100 * pure:.1f} recall@5")
        for setting in SETTINGS:
            after = fmean(played(data, (*sets, *setting), sessions))
            print(f"  {' '.join(setting)}: {100 * (after - pure):+.1f}", flush=True)


if __name__ == "__main__":
    run(main)
