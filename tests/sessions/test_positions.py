"""A session that grows is read on from where reading stopped."""

import json

import pytest

from tests.sessions import FIXTURES, position_of, read

GROWING = [
    f"{name}.jsonl" for name in "claude stream copilot cursor chat codex".split()
]


@pytest.mark.parametrize("name", GROWING)
def test_two_readings_give_what_one_gives(name, tmp_path):
    """Cut at every line: each turn is in one of them, and as in one go."""
    data = (FIXTURES / name).read_bytes()
    lines = data.splitlines(keepends=True)
    whole = read(FIXTURES / name)
    path = tmp_path / name
    for number in range(1, len(lines)):
        path.write_bytes(b"".join(lines[:number]))
        first = read(path)
        path.write_bytes(data)
        second = read(path, start=position_of(first))
        assert second.cwd == whole.cwd and second.end == whole.end == len(data)
        if name == "codex.jsonl":
            continue  # what is rolled back later was read before
        loose = [turn for turn in second.turns if turn not in whole.turns]
        # An answer that is spread over lines is two turns then.
        assert all("Then with UTC" in turn.text for turn in loose)
        assert len(first.turns) + len(second.turns) - len(whole.turns) in (
            0,
            bool(loose),
        )


def test_a_torn_last_line_waits_for_its_end(tmp_path):
    """The position stays before it; nothing is counted as broken; later it is read
    once."""
    path = tmp_path / "s.jsonl"
    data = (FIXTURES / "claude.jsonl").read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    for torn in (last + 1, last + 60, len(data) - 2):
        path.write_bytes(data[:torn])
        first = read(path)
        assert first.end == last and first.skipped == 2
        path.write_bytes(data)
        second = read(path, start=position_of(first))
        assert [turn.text[:9] for turn in second.turns] == [
            "In pytest"
        ] and second.end == len(data)
        assert second.id == first.id and second.turns[0].line == data.count(b"\n")


def test_another_file_under_the_name_is_read_from_the_start(tmp_path):
    """Shrunk, or with another first line."""
    path = tmp_path / "s.jsonl"
    data = (FIXTURES / "claude.jsonl").read_bytes()
    path.write_bytes(data)
    start = position_of(read(path))
    turns = read(path).turns
    path.write_bytes(data[: data.find(b"\n", 3000) + 1])
    assert read(path, start=start).turns == read(path).turns != ()
    path.write_bytes(b'{"type":"summary","summary":"other","leafUuid":"x"}\n' + data)
    assert len(read(path, start=start).turns) == len(turns)
    path.write_bytes(data)
    assert read(path, start=start).turns == ()


def test_a_document_that_was_written_anew_gives_what_is_new(tmp_path):
    """Gemini rewrites its file after each message."""
    document = json.loads((FIXTURES / "gemini.json").read_text())
    path = tmp_path / "g.json"
    path.write_text(json.dumps({**document, "messages": document["messages"][:3]}))
    first = read(path)
    path.write_text(json.dumps(document))
    assert [turn.text for turn in read(path, start=position_of(first)).turns] == [
        "don't use npm, we are on pnpm"
    ]
