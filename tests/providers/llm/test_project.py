"""A language model in a project."""

import pytest

from memcli.storage.files import state_dir
from memcli.storage.state import State
from tests.providers.llm.server import Step, serve

ON = ("--set", "llm=anthropic")
STAGE = ("retire-stage", "--check")


@pytest.fixture
def api(monkeypatch, project):
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    with serve() as api:
        for name, value in api.environ.items():
            monkeypatch.setenv(name, value)
        project.remembers("Zebra")
        project.write("INTENT.md", "A shop sells things.")
        yield api


def test_the_stage_is_asked_of_the_real_sdk(project, api):
    """Rules cannot tell it, the model can; nothing is asked when the user has not
    enabled one."""
    api.answer = lambda body: "I would say: review."
    assert project.mem(*STAGE).out.strip() == "unknown" and not api.seen
    assert project.mem(*STAGE, *ON).out.strip() == "review"
    assert api.seen[0].body["model"] == "claude-haiku-4-5"
    project.mem(*STAGE, *ON, "--set", "model=claude-sonnet-5")
    assert api.seen[1].body["model"] == "claude-sonnet-5"


def test_the_ledger_is_shown_by_health(project, api):
    """Calls, tokens and cost of the last 30 days, of this project."""
    before = project.mem("health", "--json").json["llm"]
    assert before["calls"] == 0 and before["days"] == 30
    assert "LLM" not in project.mem("health").out
    project.mem(*STAGE, *ON)
    project.mem(*STAGE, *ON)
    ledger = project.mem("health", "--json").json["llm"]
    assert ledger["calls"] == 2 and ledger["input"] == api.total("input_tokens") > 0
    assert ledger["cost"] == pytest.approx(
        (ledger["input"] + 5 * ledger["output"]) / 1e6
    )
    tokens = ledger["input"] + ledger["output"]
    assert (
        f"LLM, 30 days: 2 calls, {tokens} tokens, 0.00 USD" in project.mem("health").out
    )
    later = project.mem("health", "--json", env={"MEM_NOW": "2026-12-21"}).json["llm"]
    assert later["calls"] == 0


def test_a_day_has_a_limit_over_all_projects(project, api):
    """What another project spent today counts; tomorrow is another day."""
    other = State(state_dir(), "other")
    other.note("ledger", [("2026-11-21", "x", "anthropic", "m", 1, 0, 0, 1, 1.99)])
    other.close()
    found = project.mem("retire-stage", *ON)
    assert (
        "max_cost_day is 2 USD, 1.9900 are spent" in found.out + found.err
        and not api.seen
    )
    project.mem(*STAGE, *ON, env={"MEM_NOW": "2026-11-22"})
    assert len(api.seen) == 1


def test_doctor_asks_only_when_told(project, api):
    """A key is INFO; --online asks once: PASS, or FAIL and exit 1."""

    def rows(*args):
        report = project.mem("doctor", "--json", *args).json
        return {
            row["status"]: row["detail"]
            for row in report["checks"]
            if row["name"] == "llm"
        }

    assert set(rows(*ON)) == {"INFO"} and not api.seen
    assert rows("--online")["INFO"].startswith("llm = none") and not api.seen
    assert rows("--online", *ON)["PASS"] == "llm = anthropic answers"
    assert len(api.seen) == 1
    api.steps.append(Step(401))
    assert "401" in rows("--online", *ON)["FAIL"]
    project.ends(1, "doctor", "--online", *ON, env={"ANTHROPIC_API_KEY": ""})
    assert "sk-test" not in project.mem("doctor", "--online", *ON).out
