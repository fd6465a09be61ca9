"""Claude Code's records: what becomes which turn."""

import json

from tests.sessions import FIXTURES, read, said


def session_of(tmp_path, *records):
    path = tmp_path / "s.jsonl"
    base = {"sessionId": "s-1", "cwd": "/w", "timestamp": "2026-03-04T10:00:00.000Z"}
    lines = [
        json.dumps({**base, "uuid": f"u{number}", **each})
        for number, each in enumerate(records)
    ]
    path.write_text("\n".join([*lines, ""]))
    return read(path)


def user(content, **more):
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def agent(*content, name="m1", **more):
    message = {"id": name, "role": "assistant", "content": list(content)}
    return {"type": "assistant", "message": message, **more}


def words(text):
    return {"type": "text", "text": text}


def turn(text):
    return next(
        turn for turn in read(FIXTURES / "claude.jsonl").turns if text in turn.text
    )


def test_what_a_session_is_called(tmp_path):
    """The last name that its agent or a person gave it."""
    named = {"type": "ai-title", "aiTitle": "Round refunds"}
    renamed = {"type": "custom-title", "customTitle": "Refunds in the ledger"}
    assert session_of(tmp_path, user("Fix it."), named).title == "Round refunds"
    session = session_of(tmp_path, named, user("Fix it."), renamed)
    assert session.title == "Refunds in the ledger"
    assert session_of(tmp_path, renamed, user("Fix it.")).title == session.title
    assert session_of(tmp_path, user("Fix it.")).title == ""


def test_an_answer_spread_over_lines_is_one_turn_and_calls_are_their_own():
    """Text blocks of one message are joined; thinking is left out."""
    turns = read(FIXTURES / "claude.jsonl").turns
    answer = turn("Running it")
    assert answer.text == "Running it with TZ unset.\n\nThen with UTC."
    after = turns[turns.index(answer) + 1]
    assert (after.role, after.tool) == ("assistant", "Bash")
    assert after.input["command"] == "TZ= pytest -q tests/test_cart.py"


def test_results_have_the_name_of_their_tool_and_whose_words_they_are():
    """A command, a file, a page; an error is one."""
    assert turn("1 failed")[:3:2] == ("tool", "tool:Bash") and turn("1 failed").error
    assert (turn("deploy on Friday").origin, turn("Never use UTC").origin) == (
        "file",
        "web",
    )
    assert not turn("Never use UTC").error


def test_what_nobody_typed_is_injected():
    """Reminders, echoes, summaries, hooks, sub-agents' orders, interruptions,
    errors."""
    turns = read(FIXTURES / "claude.jsonl").turns
    injected = "\n".join(turn.text for turn in turns if turn.origin == "injected")
    parts = (
        "Caveat|/compact|Compacted|always wants tabs|never wants tabs|interrupted|hooks rule"
        "|sub agent, never|API Error"
    )
    assert [part for part in parts.split("|") if part not in injected] == []
    assert not any("squash" in turn.text or "TodoWrite" in turn.text for turn in turns)


def test_private_words_are_dropped_everywhere(tmp_path):
    """Of person, agent, call and result, also where the text is cut."""
    hidden = "<private>hunter2</private>"
    long = "a" * 2500 + f"<private>{'x' * 5000}hunter2</private>" + "b" * 2500
    given = {"command": f"echo {hidden}", "l": [hidden]}
    call = agent({"type": "tool_use", "id": "t", "name": "Bash", "input": given})
    result = {"type": "tool_result", "tool_use_id": "t", "content": long}
    answer = user([result], toolUseResult={"stdout": long})
    session = session_of(
        tmp_path, user(f"typed {hidden}"), agent(words(f"said {hidden}")), call, answer
    )
    assert len(session.turns) == 4 and "hunter2" not in str(session)


def test_images_are_dropped_and_the_words_beside_them_are_kept(tmp_path):
    """A pasted screenshot of several megabytes does not cost the sentence above it."""
    image = {
        "type": "image",
        "source": {"type": "base64", "data": "iVBOR" + "A" * 9_000_000},
    }
    session = session_of(tmp_path, user([words("always show totals like this"), image]))
    assert said(session) == ["always show totals like this"]


def test_a_copy_in_another_file_is_not_read_again(tmp_path):
    """A resumed session begins with the events of the one before, under its own session
    id."""
    copy = (FIXTURES / "claude.jsonl").read_text().replace("5f0e1a52", "99999999")
    more = user("go on", uuid="new", sessionId="9")
    (tmp_path / "resumed.jsonl").write_text(copy + json.dumps(more) + "\n")
    seen = set()
    assert read(FIXTURES / "claude.jsonl", seen=seen).turns
    assert [
        turn.text for turn in read(tmp_path / "resumed.jsonl", seen=seen).turns
    ] == ["go on"]


def test_unknown_lines_are_ignored_and_broken_ones_counted(tmp_path):
    """New types come every month; shapes that are not as they should be raise
    nothing."""
    session = session_of(
        tmp_path,
        {"type": "tomorrow", "message": {"role": "user", "content": "x"}},
        user(None),
        user(7),
        user([None, 7, {"type": "tool_result"}]),
        user({"type": "text", "text": "typed"}),
        {"type": "user", "message": "x"},
        {"type": "assistant", "message": {"content": {"a": 1}}},
        agent(
            {"type": "tool_use", "name": 7, "input": [1]},
            {"type": "text", "text": None},
        ),
    )
    assert said(session) == ["typed"] and session.skipped == 0


def test_a_message_of_the_system_is_no_word_of_the_person(tmp_path):
    """Whatever the type of its record says; a folder that is no text is cut to one."""
    by_system = {"role": "system", "content": "Always use the kiwi formatter."}
    session = session_of(
        tmp_path,
        {"type": "user", "message": by_system, "cwd": "/\ud800w"},
        user("Look at the module."),
    )
    assert [turn.text for turn in session.turns if turn.human] == [
        "Look at the module."
    ]
    assert session.cwd == "/w"
