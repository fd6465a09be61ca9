"""Replies from a file."""

import json

import pytest

from memcli.errors import ProviderError
from memcli.project.config import Config
from memcli.providers.configured import make_model
from memcli.providers.llm import Ask
from memcli.providers.llm.ledger import Ledger


def scripted(folder, *lines, calls=None):
    path = folder / "replies.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    note = (calls if calls is not None else []).append
    model = make_model(
        Config(llm="scripted", llm_replies=str(path)),
        {},
        Ledger(lambda: (0.0, 0), note),
    )
    assert model is not None
    return model


def test_lines_answer_in_turn_and_the_last_one_stays(tmp_path):
    """Strings as they are, other values as JSON text."""
    model = scripted(tmp_path, "one", {"a": [1]}, ["é"])
    said = [model.ask(Ask("s", "p")).text for _ in range(4)]
    assert said == ["one", '{"a": [1]}', '["é"]', '["é"]']


def test_a_line_may_be_for_one_scope(tmp_path):
    """By a text in the purpose or the prompt; the others take the plain lines."""
    model = scripted(
        tmp_path,
        "plain",
        {"match": "team", "reply": {"n": 1}},
        {"match": "team", "reply": "two"},
        {"match": "task", "error": "it is down"},
    )
    assert model.ask(Ask("s", "p", purpose="team")).text == '{"n": 1}'
    assert model.ask(Ask("s", "about the team")).text == "two"
    assert model.ask(Ask("s", "p", purpose="team")).text == "two"
    assert model.ask(Ask("s", "p", purpose="session")).text == "plain"
    with pytest.raises(ProviderError, match="it is down"):
        model.ask(Ask("s", "p", purpose="task"))


def test_no_reply_is_an_error(tmp_path):
    """A file that is for other scopes only."""
    with pytest.raises(ProviderError, match="no reply for job"):
        scripted(tmp_path, {"match": "x", "reply": ""}).ask(
            Ask("s", "p", purpose="job")
        )


def test_it_is_held_to_the_same_rules(tmp_path):
    """The ledger knows its calls, at no cost; a reply that is not as asked is
    refused."""
    calls = []
    model = scripted(tmp_path, {"a": 1}, calls=calls)
    with pytest.raises(ProviderError, match="no array"):
        model.ask(Ask("s", "p", schema={"type": "array"}, purpose="x"))
    assert [(call.purpose, call.provider, call.cost) for call in calls] == [
        ("x", "scripted", 0.0)
    ]


def test_a_file_that_cannot_be_read(tmp_path):
    """It says which key names it."""
    config = Config(llm="scripted", llm_replies=str(tmp_path / "missing"))
    with pytest.raises(ProviderError, match="cannot be read"):
        make_model(config, {}, Ledger(lambda: (0.0, 0), print))
