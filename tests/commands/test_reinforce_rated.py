"""mem reinforce, mode rated: a language model rates what a session was shown, FSRS does
the rest."""

import json

import pytest

from memcli.compaction.reinforce import ReinforceRequest, reinforce
from memcli.memory.parser import parse
from memcli.memory.prominence import INITIAL_DIFFICULTY, initial_stability, review
from memcli.providers.llm import Ask, Reply


def entry_of(project, entry_id):
    entries = parse(project.read(), "MEMORY.md").entries
    return next(entry for entry in entries if entry.id == entry_id)


def ratings(**said):
    return {"ratings": [{"id": i, "rating": rating} for i, rating in said.items()]}


def rated(project, *args, replies=(), env=None):
    """Run mode rated with these replies; without any, a run that asks fails."""
    lines = [
        json.dumps({"match": "reinforce", "reply": json.dumps(reply)})
        for reply in replies
    ]
    path = project.write("~/replies.jsonl", "\n".join(lines))
    log = project.write(
        "~/s.jsonl",
        json.dumps({"role": "user", "content": "We froze the clock."}),
    )
    sets = (
        "--set",
        "llm=scripted",
        "--set",
        f"llm_replies={path}",
        "--set",
        "reinforce_mode=rated",
    )
    return project.mem("reinforce", "--session", str(log), *sets, *args, env=env)


def memory(project, **values):
    project.memory(
        *(
            project.entry(
                f"Title {i}", f"Body {i}.", id=i, created_at="2026-11-11", **values
            )
            for i in "abcd"
        )
    )


def test_each_entry_is_rated_by_fsrs(project):
    """Stability and difficulty as after a review; `again` counts as no
    reinforcement."""
    memory(project)
    reply = ratings(a="again", b="hard", c="good", d="easy")
    done = rated(project, "a", "b", "c", "d", replies=[reply])
    assert done.code == 0
    assert "rated 4 entries" in done.out
    for entry_id, rating in zip("abcd", ("again", "hard", "good", "easy"), strict=True):
        entry = entry_of(project, entry_id)
        stability, difficulty = review(
            initial_stability(), INITIAL_DIFFICULTY, 10, rating
        )
        assert entry.extra["stability"] == pytest.approx(stability, abs=1e-4)
        assert entry.extra["difficulty"] == pytest.approx(difficulty, abs=1e-4)
        assert entry.reinforcement_count == (rating != "again")
        assert entry.last_reinforced == "2026-11-21"


class Meddler:
    """A model in whose time a person edits an entry and another command writes."""

    def __init__(self, project):
        self.project = project
        self.asked: list[Ask] = []

    def ask(self, ask):
        self.asked.append(ask)
        path = self.project.memory_file
        path.write_text(path.read_text().replace("Body a.", "Body of a person."))
        assert self.project.mem("reinforce", "c", "--session", "other").code == 0
        return Reply(json.dumps(ratings(a="easy", b="easy")))

    def close(self):
        pass


def test_nothing_is_locked_while_the_model_answers(project):
    """Others write, and what they wrote stays; a secret of the session is not shown."""
    memory(project)
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    with project.app() as app:
        model = app.providers.__dict__["model"] = Meddler(project)
        asked = ReinforceRequest(
            ids=("a", "b"), session="s", mode="rated", spoken=f"We used {token}."
        )
        report = reinforce(app, asked)
    assert report.rated == ("a", "b")
    assert entry_of(project, "c").reinforcement_count == 1
    assert "Body of a person." in entry_of(project, "a").body
    (ask,) = model.asked
    assert token not in ask.shared
    assert "We used" in ask.shared
    assert '"id": "b"' in ask.prompt
