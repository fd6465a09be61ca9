"""Whatever the bytes: documented errors only, bounded memory, linear time."""

import contextlib
import io
import json
import os
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import DataError
from memcli.sessions import gather, speakers
from memcli.sessions.reader import FORMATS, read_all
from tests.bench.speed import cost
from tests.bench.transcripts import write_session
from tests.sessions import read, said

WORDS = st.just("\ud800") | st.sampled_from(
    """
    type message role content text payload uuid sessionId session_id id name input tool_use_id is_error output
    arguments call_id messages sender toolCalls timestamp cwd toolUseResult $rewindTo $set projectHash parts
    result num_turns user assistant tool system tool_use tool_result event_msg response_item session_meta
    user_message function_call function_call_output thread_rolled_back gemini session.start user.message
    <private> tool.execution_complete <system-reminder>
    """.split()
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | WORDS
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6)
    ),
    max_leaves=30,
)


def fed(data, format=""):
    """Read; only what is documented may be raised, and what comes out can be written
    down."""
    with contextlib.suppress(DataError):
        for session in read_all(io.BytesIO(data), format=format):
            for turn in session.turns:
                "\0".join(value for value in turn if isinstance(value, str)).encode()
                json.dumps(turn.input).encode()
            assert session.end >= 0


@pytest.mark.long
@settings(max_examples=60)
@given(
    st.lists(st.dictionaries(WORDS, VALUES), max_size=6),
    st.sampled_from(["", *FORMATS]),
)
def test_no_json_makes_a_reader_raise(records, format):
    """Any shape under any known key, in any format."""
    if format != "opencode":
        fed("\n".join(map(json.dumps, records)).encode(), format)
        fed(json.dumps(records).encode(), format)


@pytest.mark.long
@pytest.mark.parametrize(
    "piece",
    "<system-reminder>|</system-reminder>|<private>|<private></private>|<recalled-memory>|<a-|<|```\n"
    "|**User:** |[Request interrupted by user|# AGENTS.md instructions for |exit code: | |\n> ".split(
        "|"
    ),
)
def test_reading_is_linear(piece):
    """200,000 openings that are never closed: were each looked for to the end, it would
    take hours."""
    text = piece * 200_000
    assert len(speakers.human(text)) < sum(speakers.SAID) + 100
    assert len(speakers.clean(text)) < sum(speakers.SAID) + 100
    assert not speakers.failed(text)
    fed(text.encode(), "text")


def test_a_deep_or_huge_record_is_counted_and_passed_over(tmp_path):
    """A line that cannot be parsed with a bounded effort does not end the reading."""
    path = tmp_path / "s.jsonl"
    begun = '{"type":"user","sessionId":"s",'
    with path.open("w") as file:
        file.write(f'{begun}"message":' + "[" * 100_000 + "\n")
        file.write(f'{begun}"x":"' + "y y" * 7_000_000 + '"}\n')
        file.write(f'{begun}"uuid":"u","message":{{"content":"still here"}}}}\n')
    session = read(path)
    assert [turn.text for turn in session.turns] == [
        "still here"
    ] and session.skipped == 2


ODD = (
    "NaN",
    "[-Infinity]",
    '"\\ud800"',
    "1e999",
    "9" * 40,
    '{"a":1,"a":[2]}',
    "[" * 300 + "]" * 300,
)


@pytest.mark.parametrize(
    "text", [*ODD, "01", "[1,]", '"\x01"', "{'a':1}", "\ufeff[]", "[" * 9999]
)
def test_a_line_is_read_as_json_reads_it(text):
    """What the faster reader refuses, too: the same value, or none."""
    try:
        value = repr(json.loads(text.encode()))
    except (ValueError, RecursionError):
        value = repr(text.encode())
    assert repr(gather.decoded(text.encode())) == value


def test_a_session_beyond_the_budget_keeps_the_persons_words(monkeypatch):
    """Tool results shrink, then go; errors stay longer; how many turns went is said."""
    monkeypatch.setattr(gather, "BUDGET", 400_000)
    into = gather.Gather()
    for number in range(250):
        place = gather.TurnPlace(number, number, key=f"k{number}")
        into.said("user", f"wish {number}", place)
        into.called("Bash", {"command": "x" * 900}, place.nth("call"))
        into.result("Bash", "y" * 2900, place.nth("result"), error=number == 0)
    session = into.sessions()[0]
    assert said(session) == [f"wish {number}" for number in range(250)]
    assert session.cut > 0 and any(turn.error for turn in session.turns)
    assert sum(len(turn.text) for turn in session.turns) < 400_000


@pytest.mark.process
def test_memory_does_not_grow_with_the_file(tmp_path):
    """60 MB, with one line of 30 MB in it, are read in under 130 MB by a process of its
    own."""
    path = tmp_path / "s.jsonl"
    write_session(path, 30_000_000)
    with path.open("ab") as file:
        file.write(
            b'{"type":"user","sessionId":"s","message":{"content":"'
            + b"z" * 30_000_000
            + b'"}}\n'
        )
        file.write(b'{"type":"user","sessionId":"s","message":{"content":"the end"}}\n')
    code = (
        "import sys; from memcli.sessions.reader import read_all; read_all(sys.argv[1])"
    )
    assert (
        cost([sys.executable, "-c", code, str(path)], os.environ, tmp_path).memory < 130
    )
    session = read(path)
    assert (session.skipped, session.turns[-1].text) == (1, "the end")
