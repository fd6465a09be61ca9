"""Texts of a session are clean before anything looks at them."""

import pytest

from memcli.sessions import speakers
from memcli.sessions.model import Session, Turn
from memcli.text.controls import clean_text

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def cleaned(turn):
    return speakers.clean_session(
        Session(id="s", format="claude", name="x", turns=(turn,))
    ).turns[0]


def test_credentials_leave_text_input_and_names():
    """In texts, nested input, keys with secret names, ids and file names."""
    given = {"a": [{"b": f"curl {TOKEN}"}], "password": "hunter2-Kq9", "n": 3}
    turn = cleaned(
        Turn(
            role="assistant",
            text=f"use {TOKEN}",
            origin="assistant",
            key=TOKEN,
            input=given,
        )
    )
    assert (
        TOKEN not in repr(turn)
        and "hunter2-Kq9" not in repr(turn)
        and turn.input["n"] == 3
    )
    session = speakers.clean_session(
        Session(id=TOKEN, format="claude", name=f"{TOKEN}.jsonl", turns=())
    )
    assert TOKEN not in repr(session)


@pytest.mark.parametrize("kind", ["ses", "msg", "prt"])
def test_what_opencode_calls_its_sessions_and_turns_is_no_credential(kind):
    """Else all of its sessions are one; beside a word for a token it is one."""
    name = f"{kind}_39b9a333bffeQNXMK6bSZru9Uq"
    assert speakers.key_of(name) == name
    assert name not in clean_text(f"token: {name}")
    assert name not in clean_text(f"see {name}4Xk")


def test_what_an_editor_wraps_around_words_is_not_said():
    """The request alone is a person's, and a notice of a task is nobody's."""
    context = "# Context from my IDE setup:\n\n## Open tabs:\n- app.py: app.py\n\n"
    stamp = "<timestamp>Saturday, Jun 6, 2026, 7:29 PM (UTC+2)</timestamp>\n"
    query = "<user_query>\nNever mock the queue.\n</user_query>"
    asked = [
        f"{context}## My request for Codex:\nNever mock the queue.\n",
        f"{stamp}{query}",
        query,
    ]
    assert {speakers.human(text) for text in asked} == {"Never mock the queue."}
    notice = f"{stamp}<system_notification>\nA task ended.\n</system_notification>"
    assert speakers.human(f"{notice}\n<user_query>Tell the user.</user_query>") == ""


def test_a_cut_leaves_no_half_of_a_credential():
    """A long text is cut at blanks: what is left of a token at the cut goes as a
    whole."""
    pieces = [TOKEN[start : start + 12] for start in range(len(TOKEN) - 12)]
    for shift in range(60):
        before = "w " * 975 + "x" * shift
        between = "w " * 1500
        after = "w " * 480
        text = f"{before} {TOKEN} {between}{TOKEN} {after}"
        kept = clean_text(speakers.clean(text, speakers.RESULT))
        assert not any(piece in kept for piece in pieces)
        assert "characters cut" in kept


def test_a_long_session_is_cleaned_to_its_end():
    """Turns are looked at in groups of 200: each is there once, in order, none is
    passed over."""
    turns = [
        Turn(role="user", text=f"turn {number}", origin="user", key=f"@{number}")
        for number in range(450)
    ]
    for number in (0, 210, 449):
        turns[number] = turns[number]._replace(text=f"turn {number} {TOKEN}")
    session = Session(id="s", format="claude", name="x", turns=tuple(turns))
    after = speakers.clean_session(session).turns
    assert [turn.key for turn in after] == [turn.key for turn in turns]
    assert TOKEN not in repr(after)
    assert after[100] == turns[100]
    assert after[449].text.startswith("turn 449")


@pytest.mark.parametrize(
    "text",
    [
        '<file path="notes.md">\nAlways use evil.\n</file>\nNever mock the queue.',
        "<file>\nA log.\n</file>\nAlways use evil.\n</file>\nNever mock the queue.",
        "<attached_files>\n<file>evil</file>\n</attached_files>\nNever mock the queue.",
        "[Pasted text #1 +2 lines]\nevil\nevil\nevil\nNever mock the queue.",
        "[Pasted Text: 2 lines]\nevil\nevil\nNever mock the queue.",
        "[Pasted Content 10 chars]\nevil evil!\nNever mock the queue.",
        "[Pasted text #1 +1 lines] evil\nevil\nNever mock the queue.",
        "[Pasted text #1 +20 lines] Never mock the queue.",
        "Never mock the queue.\n[Pasted text #1]\nevil\n\nevil",
        'Never mock the queue. <document index="1">evil',
        '<channel source="x">\nAlways use evil.\n</channel>\nNever mock the queue.',
        "<mcp-resource>evil\n</mcp-resource>\nNever mock the queue.",
        "<x:y>\nevil </x:y>\nAlways use evil.\n</x:y>\nNever mock the queue.",
    ],
)
def test_what_was_handed_over_is_not_said(text):
    """Neither what stands in tags of attachments nor behind a placeholder of a paste is
    the person's; what stands beside it is."""
    assert speakers.human(text).strip() == "Never mock the queue."


def test_a_tag_that_is_a_word_takes_nothing_along():
    """ "<file>" within a sentence begins no block."""
    text = "Run cp <file> to <dir>. Never mock the queue."
    assert speakers.human(text) == text
    text = "<div> is broken here.\nNever mock the <b>queue</b>."
    assert speakers.human(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Caveat: The messages below were generated by the user while running local"
        " commands.\nNever answer them.",
        "<command-name>/x</command-name>\n<command-args></command-args>\nNever use it.",
        "<user_action>\n<results>\nNever use eval.\n",
        "User initiated a review task. Never use eval.",
    ],
)
def test_what_a_harness_hands_over_is_nobodys_word(text):
    """Though its block is empty, open or told in words."""
    assert speakers.human(text).strip() == ""


def test_a_summary_that_another_model_left_is_nobodys_word():
    """Codex hands it on in a person's turn."""
    text = "Another language model started to solve this problem and produced a summary: never mock"
    assert speakers.human(text).strip() == ""
