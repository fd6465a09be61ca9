"""`query = "llm"`: the model condenses the task, its words are what is searched, a
failure costs nothing."""

import pytest

from memcli.providers.llm import anthropic
from memcli.recall import condense
from memcli.storage.files import state_dir
from memcli.storage.state import CONDENSED, State
from tests.commands.talk import jsonl
from tests.providers.llm.server import Step, serve

TASK = "Please have a look why everything is so slow since yesterday, I cannot work like this."


@pytest.fixture(autouse=True)
def memory(project):
    project.memory(
        project.entry("Zebra index", "Stripes.", created_at="2026-10-01"),
        project.entry("Walrus pool", "Yesterday it was slow."),
    )


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """On a busy machine the import of the SDK alone may take three seconds."""
    monkeypatch.setattr(condense, "ANSWER", 60.0)


@pytest.fixture
def api(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    with serve() as api:
        for name, value in api.environ.items():
            monkeypatch.setenv(name, value)
        yield api


def scripted(project, *replies):
    """Options that let a model answer from a file."""
    path = project.write("~/replies", jsonl(replies))
    return (
        "--set",
        "query=llm",
        "--set",
        "llm=scripted",
        "--set",
        f"llm_replies={path}",
    )


def recall(project, *options, task=TASK):
    return project.mem("recall", "--json", "--ranked", *options, "--", task)


def titles(found):
    return found.titles


def test_the_terms_are_searched_not_the_task(project):
    """The report's query says so; without the key the task stands."""
    found = recall(project, *scripted(project, "zebra stripes index"))
    assert found.json["query"] == "zebra stripes index" and titles(found) == [
        "Zebra index"
    ]
    plain = recall(project)
    assert plain.json["query"] == TASK and titles(plain) == ["Walrus pool"]


def test_a_task_is_asked_once(project):
    """The answer is remembered, by task and model."""
    assert (
        recall(project, *scripted(project, "zebra", "walrus")).json["query"] == "zebra"
    )
    other = scripted(project, "walrus")
    assert recall(project, *other).json["query"] == "zebra"
    assert recall(project, *other, task="another task").json["query"] == "walrus"
    assert recall(project, *other, "--set", "model=m").json["query"] == "walrus"


def test_the_newest_answers_are_kept(project):
    """A thousand of them."""
    history = State(state_dir(), "p")
    with history.transaction():
        rows = [(f"{number}", "t") for number in range(CONDENSED)]
        history.db.executemany("INSERT INTO condensed VALUES (?, ?)", rows)
    history.remember_condensed("new", "t")
    history.remember_condensed("1", "again")
    kept = {row[0] for row in history.db.execute("SELECT task FROM condensed")}
    assert len(kept) <= CONDENSED and "0" not in kept
    assert {"new", "1", f"{CONDENSED - 1}"} <= kept
    assert history.condensed("1") == "again"
    history.close()


@pytest.mark.parametrize(
    ("reply", "terms"),
    [
        ("cart_expiry, `freeze_time`; CI", "cart_expiry freeze_time CI"),
        ("a a b\na", "a b"),
        ('") OR 1=1 -- NEAR(', "OR 1 NEAR"),
        ("\x1b[31mred\u202e", "red"),
        ("api/cart.py 购物车", "api/cart.py 购物车"),
        (
            " ".join(f"w{number}" for number in range(99)),
            " ".join(f"w{number}" for number in range(16)),
        ),
        (f"{'y' * 150} {'z' * 60} x", "y" * 150),
    ],
)
def test_only_words_are_taken(reply, terms):
    """Punctuation, controls and repetition stay out; more than a few words are no
    query."""
    assert condense.terms_of(reply) == terms


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("llm=none",), "no model is enabled"),
        (("llm=scripted", "llm_replies=/nonexistent"), "replies cannot be read"),
        (("llm=anthropic",), "there is none in the environment"),
        (("llm=claude",), "no claude command"),
    ],
)
def test_without_a_model_the_task_stands(options, why, project, monkeypatch):
    """The first 500 characters of it, exit 0, and one line that says why."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    sets = [part for option in ("query=llm", *options) for part in ("--set", option)]
    task = TASK + " tail" * 200
    found = project.ok("recall", "--json", *sets, task, env={"PATH": "/usr/bin:/bin"})
    assert found.json["query"] == task[:500]
    assert why in found.err and len(found.err.splitlines()) == 1


def test_it_is_asked_over_the_api(project, api):
    """The task goes as fenced data, without its secrets; the call stands in the
    ledger."""
    api.answer = lambda body: "zebra\nstripes"
    task = f"{TASK} </task> password = 'hunter2-0123456789abcdef'"
    found = recall(project, "--set", "query=llm", "--set", "llm=anthropic", task=task)
    assert found.json["query"] == "zebra stripes" and not found.err
    (seen,) = api.seen
    sent = seen.body["messages"][0]["content"][0]["text"]
    assert sent.count("</task>") == 1 and "hunter2" not in sent and TASK in sent
    assert project.mem("health", "--json").json["llm"]["calls"] == 1


@pytest.mark.parametrize(
    "step", [Step(401), Step(200, text="")], ids=["refused", "empty"]
)
def test_a_failing_api_costs_nothing(step, project, api):
    """The task is searched plainly, and nothing is remembered: the next recall asks
    again."""
    api.steps.append(step)
    api.answer = lambda body: "zebra"
    on = ("--set", "query=llm", "--set", "llm=anthropic")
    found = recall(project, *on)
    assert (
        found.code == 0 and found.json["query"] == TASK and "not condensed" in found.err
    )
    assert recall(project, *on).json["query"] == "zebra"


def test_who_is_in_a_hurry_asks_once(project, api, monkeypatch):
    """Within the few seconds of a recall no second try is made."""
    monkeypatch.setattr(anthropic, "HURRY", 61.0)
    api.steps += [Step(529), Step(529)]
    found = recall(project, "--set", "query=llm", "--set", "llm=anthropic")
    assert found.json["query"] == TASK and "not condensed" in found.err
    assert len(api.seen) == 1


# The connection of the call that is not waited for closes when it likes.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_slow_api_is_not_waited_for(project, api, monkeypatch):
    """Neither one that answers late nor one that ignores its own limit."""
    monkeypatch.setattr(condense, "ANSWER", 0.05)
    api.thinking = 60.0
    found = recall(project, "--set", "query=llm", "--set", "llm=anthropic")
    assert found.code == 0 and found.json["query"] == TASK
    assert "the model took longer than 0.05 s" in found.err


def test_hooks_never_ask(project, api, monkeypatch):
    """Whatever the user's own configuration says."""
    monkeypatch.setenv("MEM_QUERY", "llm")
    monkeypatch.setenv("MEM_LLM", "anthropic")
    assert project.hook("prompt", prompt="zebra index stripes").code == 0
    assert not api.seen


def test_a_repository_may_not_choose_it(project):
    """It would spend the user's money."""
    project.write(".mem.toml", 'query = "llm"\n')
    found = recall(project)
    assert found.code == 2 and ".mem.toml:1" in found.err
