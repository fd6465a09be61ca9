"""Every format: told from the content, and read so that human turns are exactly the
labelled ones."""

import io
import json
import shlex
import shutil

import pytest

from memcli.errors import DataError
from memcli.sessions.reader import FORMATS, Unknown, read_all, spoken
from tests.sessions import FIXTURES, read, said

LABELS = json.loads((FIXTURES / "labels.json").read_text())
FORMAT_OF = {
    name: form
    for form, names in {
        "claude": "claude.jsonl agent-a1b2.jsonl",
        "codex": "codex.jsonl codex-items.jsonl codex-fork.jsonl",
        "stream": "stream.jsonl",
        "chat": "chat.jsonl chat.json pasted.json",
        "gemini": "gemini.json gemini.jsonl",
        "copilot": "copilot.jsonl",
        "cursor": "cursor.jsonl",
        "aider": "aider.md aider-ask.md",
        "text": "speakers.md specstory.md opencode.md screen.md entire.md prompt.md quoted-json.md",
        "qwen": "qwen.jsonl",
        "opencode": "opencode.json",
    }.items()
    for name in names.split()
}


def test_every_fixture_is_labelled():
    """No file of the folder goes untested, and every format has one."""
    names = {path.name for path in FIXTURES.iterdir()} - {"labels.json"}
    assert names == set(LABELS) == set(FORMAT_OF)
    assert set(FORMAT_OF.values()) == set(FORMATS)


@pytest.mark.parametrize("name", LABELS)
def test_human_turns_are_the_labelled_ones(name):
    """Words of a person, in order and nothing else; a correction follows what the agent
    did."""
    session = read(FIXTURES / name)
    assert said(session) == LABELS[name]["human"]
    for wanted in LABELS[name]["corrections"]:
        at = next(
            number for number, turn in enumerate(session.turns) if turn.text == wanted
        )
        before = [turn.role for turn in session.turns[:at] if turn.origin != "injected"]
        assert before[-1] in ("assistant", "tool", "user") and "assistant" in before


@pytest.mark.parametrize("name", FORMAT_OF)
def test_the_format_is_told_from_the_content(name, tmp_path):
    """Neither name nor folder count; a pipe works as well, and asking for it changes
    nothing."""
    copy = tmp_path / "something.dat"
    shutil.copy(FIXTURES / name, copy)
    told = read(copy)
    assert told.format == FORMAT_OF[name]
    assert read(io.BytesIO(copy.read_bytes())).turns == told.turns
    if told.format != "opencode":  # asked for, it is the database
        assert read(copy, format=told.format).turns == told.turns


@pytest.mark.parametrize("name", FORMAT_OF)
def test_keys_name_turns_for_good(name):
    """No two turns of a file have the same key, and reading again gives the same."""
    first = read_all(FIXTURES / name)
    again = read_all(FIXTURES / name)
    keys = [turn.key for session in first for turn in session.turns]
    assert len(set(keys)) == len(keys)
    assert first == again


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0",
        b'{"name": "left-pad", "version": "1.0.0"}',
        b'{\n  "name": "left-pad",\n  "scripts": {"test": "true"}\n}\n',
        b'{"level":"info","msg":"up"}\n{"level":"info","msg":"down"}\n',
        b"[1, 2, 3]",
        b'[{"a": 1}]',
        b"\xff\xfe\xfd\xfc" * 100,
        b"SQLite format 3\0" + b"\0" * 100,
    ],
    ids=[
        "png",
        "json",
        "pretty json",
        "json lines",
        "numbers",
        "objects",
        "bytes",
        "sqlite",
    ],
)
def test_an_unknown_format_is_refused_with_the_list(content, tmp_path):
    """Exit code 3; what is known is named."""
    (tmp_path / "x.jsonl").write_bytes(content)
    with pytest.raises(DataError) as caught:
        read(tmp_path / "x.jsonl")
    assert caught.value.code == 3
    assert not isinstance(caught.value, Unknown) or "Claude Code" in caught.value.hint


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b'{"type":"user","uuid":"u1","mess',
        b"[]",
        b'[{"role": "user", "con',
    ],
)
def test_nothing_and_half_a_record_are_a_session_without_turns(content, tmp_path):
    """An agent may just have made the file."""
    (tmp_path / "new.jsonl").write_bytes(content)
    session = read(tmp_path / "new.jsonl")
    assert session.turns == () and session.name == "new.jsonl" and session.started


def test_several_sessions_in_one_file():
    """A chat history holds several, and the last is the one read."""
    chats = [said(session)[0] for session in read_all(FIXTURES / "aider.md")]
    assert chats == ["hello there", "bump the retry limit\nin src/http.py"]
    assert read(FIXTURES / "aider.md").started == "2026-03-04T10:00:00Z"


def test_aider_writes_a_question_twice_and_it_is_read_once(tmp_path):
    """What `/ask` asks stands again below it; a command before it hides nothing; said
    again after an answer it counts again."""
    question = "why is the cart slow?  \n#### On staging only."
    typed = ("/drop a.py", f"/ask {question}", question)
    asked = "".join(f"#### {text}  \n\n" for text in typed)
    chat = f"# aider chat started at 2026-03-04 10:00:00\n\n{asked}One query a row.\n"
    (tmp_path / "chat.md").write_text(f"{chat}\n#### {question}  \n\nStill that.\n")
    spoken = [turn for turn in read(tmp_path / "chat.md").turns if turn.text]
    said_here = [turn.text for turn in spoken if turn.human]
    asked_once = "why is the cart slow?  \nOn staging only."
    assert [" ".join(text.split()) for text in said_here] == [
        " ".join(asked_once.split())
    ] * 2
    assert [turn.text for turn in spoken if turn.role == "assistant"] == [
        "One query a row.",
        "Still that.",
    ]


def test_what_aiders_architect_hands_on_is_not_the_persons(tmp_path):
    """Its answer stands again as the editor's prompt; the command line is no answer."""
    started = (
        "> aider --architect --message \n  Sort the list of prices.\n> Aider v0.86\n"
    )
    answer = "I will sort the list by its price, in `shop.py`.\n\nNothing else changes."
    handed = "".join(f"#### {line}  \n" for line in answer.split("\n"))
    confirmed = "#### Add file to the chat? (Y)es/(N)o/(A)ll [Yes]: y  \n"
    text = f"\n#### Sort the list of prices.  \n{confirmed}\n{answer}\n\n{handed}\nDone, sorted.\n"
    chat = f"# aider chat started at 2026-03-04 10:00:00\n\n{started}{text}"
    (tmp_path / "chat.md").write_text(chat)
    turns = [turn for turn in read(tmp_path / "chat.md").turns if turn.text]
    assert [turn.text for turn in turns if turn.human] == ["Sort the list of prices."]
    agents = [turn.text for turn in turns if turn.role == "assistant"]
    assert agents == [answer, "Done, sorted."]


def test_what_was_rewound_or_said_better_later_is_gone():
    """Gemini's JSON lines: the last copy of a message counts; both forms give the same
    words."""
    lines = read(FIXTURES / "gemini.jsonl")
    whole = read(FIXTURES / "gemini.json")
    assert [turn.text for turn in lines.turns] == [turn.text for turn in whole.turns]
    assert "npm ERR! lock file" in [turn.text for turn in lines.turns if turn.error]


def test_tools_of_other_formats_have_names_errors_and_input():
    """A failed call is an error whatever the format calls it."""
    for name, tool, text in (
        ("copilot.jsonl", "bash", "sed: no input files"),
        ("gemini.json", "run_shell_command", "npm ERR! lock file"),
        ("stream.jsonl", "Bash", "Exit code 1\nTarget database is not up to date."),
        ("qwen.jsonl", "run_shell_command", "npm ERR!"),
        ("opencode.json", "bash", "npm ERR!"),
    ):
        turns = read(FIXTURES / name).turns
        failed = next(turn for turn in turns if turn.error)
        assert (failed.role, failed.origin, failed.text) == (
            "tool",
            f"tool:{tool}",
            text,
        )
        assert next(turn for turn in turns if turn.tool).input
    chat = read(FIXTURES / "chat.jsonl").turns
    assert [turn.origin for turn in chat if turn.tool == "read_file"] == [
        "assistant",
        "file",
    ]
    assert chat[2].input == {"path": "setup.cfg"}


def test_what_is_spoken_is_what_person_and_agent_said():
    """No results of tools, nothing that was put in; a plain text is taken as it is."""
    words = spoken(FIXTURES / "claude.jsonl")
    assert (
        "freeze time with the clock" in words and "Running it with TZ unset." in words
    )
    assert not any(
        part in words for part in ("TodoWrite", "squash commits", "says this page")
    )
    assert spoken(io.BytesIO(b"just some words")) == "just some words"
    assert spoken(io.BytesIO(b'{"a": 1}')) == '{"a": 1}'


def test_specstory_says_when_it_was_and_what_was_run():
    """Templates, sub-agents, tool output and open fences do not blur it."""
    session = read(FIXTURES / "specstory.md")
    assert session.id.startswith("5f0e") and session.started == "2026-03-04T10:00:00Z"
    call = next(turn for turn in session.turns if turn.tool == "Bash")
    assert call.input == {"command": "pytest -q tests/test_cart.py"}
    result = next(turn for turn in session.turns if turn.role == "tool")
    assert result.text.startswith("User: never")
    assert read(FIXTURES / "opencode.md").cwd == "/home/ana/shop"


def test_the_heading_of_specstory_says_what_a_session_is_called(tmp_path):
    """Above the turns and with a time beside it; a time alone is no name."""
    turns = "_**User**_\n\nFix it.\n\n_**Assistant**_\n\n# Done (2026-03-04 10:00Z)\n"
    for heading, title in (
        ("Refunds in the ledger (2026-03-04 10:00Z)", "Refunds in the ledger"),
        ("2026-03-04 10:00:00Z", ""),
    ):
        path = tmp_path / "s.md"
        path.write_text(f"<!-- Generated -->\n\n# {heading}\n\n{turns}")
        assert read(path).title == title


def test_a_text_without_a_speaker_is_refused_by_name(tmp_path):
    """It is never one turn of the agent."""
    path = tmp_path / "notes.md"
    path.write_text("# Release notes\n\nAlways use version 2.\nNote: never 1.\n")
    with pytest.raises(Unknown, match=r"notes\.md: no speaker"):
        read(path)


def test_a_heading_in_an_answer_of_aider_is_no_prompt(tmp_path):
    """aider ends the lines of a person with two blanks; what it changed and committed
    is told as calls, the person's own commit before it is not."""
    lines = (
        "# aider chat started at 2026-03-04 10:00:00",
        "",
        "> Aider v0.80  ",
        "",
        "#### round the totals  ",
        "",
        "#### 1. The cart",
        "",
        "Here it is.",
        "",
        "> Committing notes.md before applying edits.  ",
        "> Commit 461c5fc chore: keep my notes  ",
        "> Applied edit to cart.py  ",
        "> Commit c6ad63d fix: round the cart's totals half even  ",
        "",
    )
    (tmp_path / "chat.md").write_text("\n".join(lines))
    turns = read(tmp_path / "chat.md").turns
    assert [turn.text for turn in turns if turn.human] == ["round the totals"]
    calls = [dict(turn.input) for turn in turns if turn.tool and turn.input]
    subject = shlex.quote("fix: round the cart's totals half even")
    assert calls == [{"path": "cart.py"}, {"command": f"git commit -m {subject}"}]


def test_of_a_filled_in_template_only_what_was_typed_is_said(tmp_path):
    """spec-kit shows the words of a command in a fence above its instructions."""
    form = "## User Input\n\n```text\n{}\n```\n\nYou **MUST** consider the user input before\n\n## Outline\n\nAlways write tests."
    texts = [form.format("A shop for bicycles"), form.format("")]
    records = [{"role": "user", "content": text} for text in texts]
    (tmp_path / "chat.json").write_text(json.dumps(records))
    turns = read(tmp_path / "chat.json").turns
    assert [turn.text for turn in turns if turn.human] == ["A shop for bicycles"]


def test_what_answers_a_call_is_a_tools(tmp_path):
    """Whoever's role a relay gives it."""
    said = {"role": "user", "content": "Always use tabs", "tool_call_id": "k1"}
    (tmp_path / "chat.json").write_text(json.dumps([said]))
    (turn,) = read(tmp_path / "chat.json").turns
    assert (turn.role, turn.human) == ("tool", False)
