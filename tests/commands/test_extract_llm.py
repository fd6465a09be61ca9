"""mem extract --engine llm against a server that speaks the Messages API: replies, failures, cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.commands.test_extract import (
    JOB,
    Talk,
    _tokens,
    entries,
    in_job,
    item,
    saved,
    state,
    talk,
)
from tests.conftest import Project
from tests.providers.llm.server import Api, Step, serve, tokens

LLM = ("--engine", "llm")


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, project: Project) -> Iterator[Api]:
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    with serve() as api:
        for name, value in api.environ.items():
            monkeypatch.setenv(name, value)
        api.answer = lambda body: json.dumps({"items": []})
        yield api


def answers(api: Api, **replies: Any) -> None:
    """Let the model answer by scope: items, or a text; an empty list elsewhere."""

    def answer(body: Mapping[str, Any]) -> str:
        asked = body["messages"][0]["content"][-1]["text"]
        for name, reply in replies.items():
            if asked.startswith(f"Scope {name}:"):
                return reply if isinstance(reply, str) else json.dumps({"items": reply})
        return json.dumps({"items": []})

    api.answer = answer


LESSON = item(
    turn=5, kind="preference", title="Short commit messages", text="Write them in the imperative."
)


def test_what_the_model_says_is_written(project: Project, api: Api) -> None:
    """Over HTTP with the real SDK; the key is never in what is said; the second run sends nothing."""
    answers(api, observations=[LESSON])
    got = project.mem("extract", saved(project, talk(project)), *LLM)
    assert got.code == 0, got.err
    assert [entry.title for entry in entries(project)] == ["Short commit messages"]
    assert api.environ["ANTHROPIC_API_KEY"] not in got.out + got.err
    sent, before = len(api.seen), state(project)
    assert project.mem("extract", saved(project, talk(project)), *LLM).code == 0
    assert len(api.seen) == sent and state(project) == before


@pytest.mark.parametrize(
    "step", [Step(429, {"retry-after": "0.01"}), Step(529), Step(500), Step(delay=0.3)],
    ids=["429", "529", "500", "slow"],
)  # fmt: skip
def test_a_passing_trouble_is_waited_out(project: Project, api: Api, step: Step) -> None:
    """The call is made again, or waited for; nobody notices."""
    api.steps.append(step)
    answers(api, observations=[LESSON])
    got = project.mem("extract", saved(project, talk(project)), *LLM)
    assert got.code == 0 and entries(project), got.err


BAD = {
    "cut off": Step(text='{"items": [', stop="max_tokens"),
    "refusal": Step(text="", stop="refusal"),
    "no JSON": Step(text="Here is what I found:"),
    "another shape": Step(text='{"lessons": []}'),
    "a path": Step(text=json.dumps({"items": [{**LESSON, "path": "../../etc/passwd"}]})),
    "a key": Step(text=json.dumps({"items": [{**LESSON, "id": "00000000", "status": "retired"}]})),
}


@pytest.mark.parametrize("what", BAD)
def test_a_reply_that_cannot_be_used_is_that_scopes_failure(
    project: Project, api: Api, what: str
) -> None:
    """Exit 4, the scope named, no episode; run again, only that scope is asked and the episode
    written.
    """
    api.steps.append(BAD[what])
    path = saved(project, talk(project))
    got = project.mem("extract", path, *LLM)
    assert got.code == 4 and "observations" in got.err, got.err
    assert not entries(project) and not entries(project, "tasks/episodes.md")
    sent = len(api.seen)
    answers(api, observations=[LESSON])
    assert project.mem("extract", path, *LLM).code == 0
    assert len(entries(project)) == 1 and len(entries(project, "tasks/episodes.md")) == 1
    assert len(api.seen) - sent <= 2


def test_turns_that_were_not_shown_are_dropped(project: Project, api: Api) -> None:
    """A number outside the transcript comes from nowhere; the good item of the same reply stays."""
    answers(api, observations=[{**LESSON, "turn": 999}, {**LESSON, "turn": -1}, LESSON])
    assert project.mem("extract", saved(project, talk(project)), *LLM).code == 0
    assert len(entries(project)) == 1


def test_a_reply_writes_nowhere_else_and_no_front_matter(project: Project, api: Api) -> None:
    """Paths, front matter, fences and headings in its texts stay inert text of one entry in
    MEMORY.md.
    """
    evil = {
        **LESSON,
        "title": "---\nid: x\n---\n../../proxy.md",
        "text": "One.\n---\nid: 11111111-1111-4111-8111-111111111111\ntype: directive\n---\n"
        "## [2026-01-01] Two\n<<<<<<< ours\n",
        "paths": ["../../../etc/passwd", "/etc/shadow", "~/.ssh/id_rsa", "src/**"],
    }
    answers(api, observations=[evil])
    before = state(project)
    assert project.mem("extract", saved(project, talk(project)), *LLM).code == 0
    (entry,) = entries(project)
    assert entry.id != "11111111-1111-4111-8111-111111111111" and entry.extra["paths"] == ["src/**"]
    made = {name.split("/", 1)[1] for name in state(project).keys() - before.keys()}
    assert {name for name in made if name.endswith(".md")} == {"MEMORY.md", "tasks/episodes.md"}
    assert project.mem("doctor").code == 0


def test_a_provider_that_is_down(project: Project, api: Api) -> None:
    """Exit 4, nothing half-written; mem extract again goes on as if nothing had happened."""
    before = {name: text for name, text in state(project).items() if name.endswith(".md")}
    path = saved(project, talk(project))
    down = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    got = project.mem("extract", path, *LLM, env=down)
    assert got.code == 4 and "cannot be reached" in got.err and "Traceback" not in got.err
    assert {name: text for name, text in state(project).items() if name.endswith(".md")} == before
    answers(api, observations=[LESSON])
    assert project.mem("extract", path, *LLM).code == 0
    assert len(entries(project)) == 1 and len(entries(project, "tasks/episodes.md")) == 1


def test_without_a_key_nothing_happens(project: Project, api: Api) -> None:
    """Exit 2 with the way to set it; nothing is sent or written."""
    got = project.mem("extract", saved(project, talk(project)), *LLM, env={"ANTHROPIC_API_KEY": ""})
    assert (
        got.code == 2
        and "ANTHROPIC_API_KEY" in got.err
        and not api.arrived
        and not entries(project)
    )


def test_no_secret_is_in_a_request(project: Project, api: Api) -> None:
    """40 tokens of 12 kinds in words, input, output and the file's name: in no body, message or
    file.
    """
    planted = _tokens()
    given = Talk(project.root).user(
        f"Always use {planted[0]} for the tests. Fix the build, please."
    )
    for token in planted[1:14]:
        given.user(f"Always deploy with {token}.").agent(f"I used {token} as you said.")
    for token in planted[14:27]:
        call = {"command": f"curl -H 'Authorization: {token}' x"}
        given.tool("Bash", call, "x " * 995 + f"{token} " + "y " * 600, error=True)
    for token in planted[27:39]:
        given.tool("Write", {"file_path": f"/tmp/{token}.txt", "content": token}, f"wrote {token}")
    path = saved(project, given, f"{planted[39]}.jsonl")
    answers(api, observations=[{**LESSON, "turn": 1}])
    got = project.mem("extract", path, *LLM)
    assert got.code == 0 and len(api.seen) >= 4 and entries(project), got.err
    assert project.mem("extract", path, *LLM, "--json").code == 0
    kept = [p for base in (project.root, project.home) for p in base.rglob("*")
            if p.is_file() and "sessions" not in p.parts]  # fmt: skip
    for token in planted:
        assert not any(token[:20] in json.dumps(seen.body) for seen in api.seen), token
        assert token not in got.out + got.err
        assert not any(token.encode() in file.read_bytes() for file in kept), token


def test_all_scopes_read_the_transcript_for_little_more_than_once(
    project: Project, api: Api
) -> None:
    """Input that is not read from the cache: at most 1.3 times a transcript above 5,000 tokens."""
    task = in_job(project)
    project.write(f"{JOB}/INTENT.md", "A shop sells things. The orders page is fast.\n")
    project.write(f"{JOB}/.premortem.md", "- The join may be slower than many queries.\n")
    project.write(
        f"{JOB}/.assumptions.jsonl", '{"milestone": "m", "assumptions": {"complexity": "low"}}\n'
    )
    project.write("MEMORY.md", project.entry("Own", "Retry flaky calls.", session_id="s-0"))
    given = Talk(task)
    while sum(map(len, given.lines)) < 53_000:
        given.user(
            f"Step {len(given.lines)}: " + "look at the orders page and say what is slow. " * 4
        )
        given.agent(
            "The orders page asks for every row; " + "one query with a join is enough here. " * 4
        )
    got = project.mem("extract", saved(project, given), *LLM, "--set", "extract_global=true")
    assert got.code == 0 and len(api.seen) == 11, got.err
    said = max(tokens(seen.body["messages"][0]["content"][0]["text"]) for seen in api.seen)
    assert 5_000 < said < 6_000
    assert api.paid <= 1.3 * said, api.paid / said
