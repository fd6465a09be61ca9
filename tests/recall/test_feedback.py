"""The feedback benchmark on a small made-up set: it ranks as recall does, and shows the loop it
measures.
"""

import datetime
import os
import random
from pathlib import Path

import pytest

pytest.importorskip("numpy")

from memcli.app import App, Options
from memcli.commands.recall import recall
from memcli.memory.changes import render_entry
from memcli.recall.answer import RecallRequest
from tests.bench import feedback
from tests.bench.feedback import PURE, TODAY, Histories, Plan, Question, Setting
from tests.bench.retrieval import Set

SUBJECTS = ("cart", "invoice", "login", "search", "mailer", "queue", "report", "upload")
WORDS = "cache retry timeout lock index token batch schema header limit".split()
RUNAWAY = Setting("linear", 1.0)


@pytest.fixture(scope="module")
def data() -> Set:
    """Eighty documents of one store with words of their own, and forty questions that many could
    answer.
    """
    rng = random.Random(7)
    docs = []
    for i in range(80):
        words = " ".join(rng.choices(WORDS, k=6))
        text = f"{SUBJECTS[i % 8]} {words} own{i} only{i} mark{i}"
        docs.append({"group": "g", "id": f"d{i}", "title": f"Lesson {i}", "text": text, "date": ""})
    texts = [(i, docs[i]["text"].rsplit(" ", 2)[0]) for i in range(0, 80, 2)]
    rows = [{"group": "g", "query": text, "relevant": [f"d{i}"]} for i, text in texts]
    queries = [{**row, "category": ""} for row in rows]
    lie = {"group": "g", "query": "cart cache", "relevant": ["d0"], "category": "adversarial"}
    return Set("small", docs, [*queries, lie])


@pytest.fixture(scope="module")
def groups(data: Set) -> dict[str, list[Question]]:
    return feedback.asked(data, ("embedder=none",))


def plan(groups: dict[str, list[Question]], *, fresh: float = 0.0) -> Plan:
    return feedback.draw(groups, sessions=12, each=4, seed=1, fresh=fresh)


@pytest.mark.parametrize(
    "setting", [PURE, TODAY, RUNAWAY, Setting("log", 0.5, "none", importance=False)]
)
def test_it_ranks_as_recall_does(
    setting: Setting, groups: dict[str, list[Question]], data: Set, tmp_path: Path
) -> None:
    """The memory after the sessions, written to a file, gives the same ten hits in the same order."""
    drawn = plan(groups)
    memory = feedback.play(drawn, setting)
    strength = memory.strength(12)
    keys = sorted({hit.key for row in groups["g"] for hit in row.found})
    now = datetime.date.fromisoformat(os.environ["MEM_NOW"])
    entries = []
    for doc in data.docs:
        number = keys.index(("g", doc["id"]))
        age = datetime.timedelta(days=int(12 - memory.since[number]))
        values = {
            "id": doc["id"], "type": "declarative", "domain": "task",
            "importance": float(drawn.importance[number]),
            "reinforcement_count": int(memory.reinforced[number]),
            "last_reinforced": str(now - age),
        }  # fmt: skip
        entries.append(render_entry(values, f"## {doc['title']}\n{doc['text']}"))
    (tmp_path / "MEMORY.md").write_text("\n".join(entries), encoding="utf-8")
    sets = (
        "embedder=none", "max_tokens=0", "mmr_lambda=1", f"growth={setting.growth}",
        f"decay={setting.decay}", f"use_importance={str(setting.importance).lower()}",
        f"prominence_weight={setting.exponent}",
    )  # fmt: skip
    with App(Options(str(tmp_path), sets), dict(os.environ), tmp_path) as app:
        for question, row in zip(groups["g"], data.queries, strict=False):
            asked = feedback.numbered(question, {key: i for i, key in enumerate(keys)})
            order = feedback.ranked(asked, strength)[: feedback.SHOWN]
            report = recall(app, RecallRequest(row["query"], ranked_only=True))
            assert [keys[i][1] for i in asked.at[order]] == [hit.id for hit in report.hits]


def test_what_is_written_late_is_unseen_till_then(groups: dict[str, list[Question]]) -> None:
    """A fresh entry is shown in no session, and on the last day it is new."""
    drawn = plan(groups, fresh=0.25)
    memory = feedback.play(drawn, TODAY)
    assert drawn.late.sum() == 20
    assert not memory.reinforced[drawn.late].any()
    assert not memory.strength(11)[drawn.late].any()
    assert memory.strength(12)[drawn.late].all()


def test_the_loop_shows(groups: dict[str, list[Question]]) -> None:
    """Relevance alone loses nothing to itself; linear growth at full weight loses, fresh entries
    most.
    """
    histories = Histories(groups, sessions=12, each=4, seeds=2)
    assert histories.outcome(PURE) == (0, 0, 0)
    runaway, mild = histories.outcome(RUNAWAY), histories.outcome(Setting("log", 0.05))
    assert runaway.recall < mild.recall - 5
    assert runaway.fresh < mild.fresh - 5
