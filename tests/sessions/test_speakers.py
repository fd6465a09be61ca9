"""Texts of a session are clean before anything looks at them."""

from memcli.sessions import speakers
from memcli.sessions.model import Session, Turn

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def cleaned(turn: Turn) -> Turn:
    return speakers.clean_session(
        Session(id="s", format="claude", name="x", turns=(turn,))
    ).turns[0]


def test_credentials_leave_text_input_and_names() -> None:
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


def test_a_cut_leaves_no_half_of_a_credential() -> None:
    """A long text is cut at blanks: what is left of a token at the cut goes as a
    whole."""
    for shift in range(60):
        text = (
            "w " * 975
            + "x" * shift
            + f" {TOKEN} "
            + "w " * 1500
            + f"{TOKEN} "
            + "w " * 480
        )
        kept = speakers.clean_text(speakers.clean(text, speakers.RESULT))
        assert not any(TOKEN[i : i + 12] in kept for i in range(len(TOKEN) - 12))
        assert "characters cut" in kept


def test_a_long_session_is_cleaned_to_its_end() -> None:
    """Turns are looked at in groups of 200: each is there once, in order, none is
    passed over."""
    texts = [f"turn {i}" + f" {TOKEN}" * (i in (0, 210, 449)) for i in range(450)]
    turns = [
        Turn(role="user", text=text, origin="user", key=f"@{i}")
        for i, text in enumerate(texts)
    ]
    found = speakers.clean_session(
        Session(id="s", format="claude", name="x", turns=tuple(turns))
    ).turns
    assert [turn.key for turn in found] == [
        turn.key for turn in turns
    ] and TOKEN not in repr(found)
    assert found[100] == turns[100] and found[449].text.startswith("turn 449")
