"""Codex rollouts: words once, tools with their exit codes, forks, archives."""

import io

from tests.sessions import FIXTURES, read, said


def test_words_that_come_twice_are_read_once():
    """Of person and agent, in order; developer messages and context of the harness are
    neither."""
    session = read(FIXTURES / "codex.jsonl")
    own = [turn for turn in session.turns if turn.origin in ("user", "assistant")]
    assert [turn.text for turn in own if not turn.tool] == [
        "bump the retry limit",
        "RETRY is now 9.",
        "not 9 but 5, we agreed on that",
        "RETRY is now 5.",
        "always keep tests",
    ]
    assert "sandbox" not in str(session.turns)


def test_tools_come_from_items_with_decoded_arguments_and_exit_codes():
    """Non-zero in the metadata is an error; so is a status line; zero is none."""
    turns = [turn for turn in read(FIXTURES / "codex.jsonl").turns if turn.tool]
    assert [(t.role, t.tool, t.error) for t in turns] == [
        ("assistant", "shell", False),
        ("tool", "shell", True),
        ("assistant", "exec_command", False),
        ("tool", "exec_command", False),
        ("assistant", "apply_patch", False),
        ("tool", "apply_patch", False),
        ("assistant", "web_search", False),
    ]
    assert (
        turns[0].input == {"command": ["rg", "retry"]}
        and turns[1].text == "rg: regex error"
    )
    assert turns[4].input["input"].startswith("*** Begin Patch")


def test_a_fork_is_read_from_where_it_parts():
    """What it copied was read in the session it came from."""
    seen = set()
    read(FIXTURES / "codex.jsonl", seen=seen)
    fork = read(FIXTURES / "codex-fork.jsonl", seen=seen)
    assert said(fork) == ["in the fork: use exponential backoff"]


def test_two_sessions_that_begin_alike_are_two():
    """Equal words are copies only in a fork."""
    seen = set()
    text = (FIXTURES / "codex.jsonl").read_bytes()
    other = text.replace(b"000000000001", b"000000000077").replace(b'"c', b'"d')
    first = read(io.BytesIO(text), seen=seen)
    second = read(io.BytesIO(other), seen=seen)
    assert len(said(first)) == len(said(second)) == 3
