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
WORDS = (
    "cache",
    "retry",
    "timeout",
    "lock",
    "index",
    "token",
    "batch",
    "schema",
    "header",
    "limit",
)
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
    queries = [
        {
            "group": "g",
            "query": f"{docs[i]['text'].rsplit(' ', 2)[0]}",
            "relevant": [f"d{i}"],
            "category": "",
        }
        for i in range(0, 80, 2)
    ]
    lie = {"group": "g", "query": "cart cache", "relevant": ["d0"], "category": "adversarial"}
    return Set("small", docs, [*queries, lie])


@pytest.fixture(scope="module")
def groups(data: Set) -> dict[str, list[Question]]:
    return feedback.asked(data, ("embedder=none",))


def plan(groups: dict[str, list[Question]], *, fresh: float = 0.0) -> Plan:
    return feedback.draw(groups, sessions=12, each=4, seed=1, fresh=fresh)


def test_relevance_is_asked_once_for_every_question_with_an_answer(
    groups: dict[str, list[Question]],
) -> None:
    """Adversarial questions are left out; what is found comes best first, far beyond the ten shown."""
    assert {group: len(rows) for group, rows in groups.items()} == {"g": 40}
    for row in groups["g"]:
        relevance = [round(hit.relevance, 12) for hit in row.found]
        assert relevance == sorted(relevance, reverse=True)
        assert relevance[0] == 1.0
        assert len(relevance) > 2 * feedback.SHOWN


def test_half_of_the_questions_is_never_part_of_a_session(
    groups: dict[str, list[Question]],
) -> None:
    """What is asked at the end is new."""
    drawn = plan(groups)
    trained = {question.relevant for day in drawn.sessions for question in day}
    assert len(drawn.last) == 20
    assert trained.isdisjoint(question.relevant for question in drawn.last)


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


def test_a_session_strengthens_what_it_shows_once(groups: dict[str, list[Question]]) -> None:
    """Ten for each question, each counted once however many questions show it, and young again."""
    drawn = plan(groups)
    memory = feedback.Memory(drawn, PURE)
    memory.session([drawn.last[0], drawn.last[0]], 5)
    changed = memory.reinforced != drawn.reinforced
    assert changed.sum() == feedback.SHOWN
    assert set(memory.reinforced[changed] - drawn.reinforced[changed]) == {1}
    assert set(memory.since[changed]) == {5}


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


def test_the_command_prints_a_row_for_each_setting(
    data: Set, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One folder, few sessions: the pure figures, then the table."""
    import json

    for name, rows in (("docs", data.docs), ("queries", data.queries)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    assert feedback.main([str(tmp_path), "--sessions", "2", "--seeds", "1"]) == 0
    out = capsys.readouterr().out
    assert f"{tmp_path.name}: 20 new questions, relevance alone" in out
    assert sum(line.startswith("| l") for line in out.splitlines()) == 2 * len(feedback.EXPONENTS)
