"""What of an entry is indexed, and when its rows are others."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.index.refresh import rows, searchable
from memcli.memory.parser import parse
from memcli.memory.words import OVERLAP, SIZE, join

KEYS = "kind: pitfall\ntags: [time, cart]\nimportance: 0.8\ncreated_at: '2026-02-10'\n"


def read(keys=KEYS, body="## Freeze time\nIn cart tests."):
    (found,) = parse(f"---\nid: a\n{keys}---\n{body}\n", "x").entries
    return found


def metadata(row):
    return json.loads(row.metadata, parse_constant=lambda name: pytest.fail(name))


def placeless(entry, *, live=True):
    return [row._replace(offset=0, line=0) for row in rows(entry, live=live)]


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1),
    st.integers(1, 6000),
)
@settings(max_examples=100, deadline=None)
def test_parts_join_back_exactly(seed, size):
    """Windows of 1,600 characters overlap by 320 and together are the text, whatever
    its length."""
    body = (seed * (size // len(seed) + 1))[:size].strip() or "x"
    entry = read()._replace(body=body)
    found = rows(entry, live=True)
    assert join([row.text for row in found]) == body
    assert [row.part for row in found] == list(range(len(found)))
    assert all(len(row.text) <= SIZE for row in found)
    assert all(len(row.text) > OVERLAP for row in found[1:])


def test_row_of_an_entry():
    """Title, body, tags and date stand in columns of their own."""
    (row,) = rows(read(), live=True)
    assert (row.entry, row.part, row.offset, row.line, row.live) == ("a", 0, 0, 8, 1)
    assert (row.type, row.kind, row.date) == ("corrective", "pitfall", "2026-02-10")
    assert (row.title, row.text, row.tags) == (
        "Freeze time",
        "## Freeze time\nIn cart tests.",
        "time cart",
    )


def test_front_matter_words_are_not_searchable():
    """Only title, body and tags are texts of the search; values go to the metadata."""
    (row,) = rows(read(KEYS + "session_task: zebra\nphase: review\n"), live=True)
    searched = f"{row.title} {row.text} {row.tags} {row.parts}"
    assert not any(
        word in searched for word in ("zebra", "review", "pitfall", "corrective")
    )
    assert metadata(row)["session_task"] == "zebra"


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_detail_of_an_episode_is_kept_but_not_searched(eol):
    """It goes to the metadata; in another kind the heading is a heading."""
    body = f"What happened.{eol}{eol}### Detail  {eol}Zebra crossing."
    episode = read("kind: episode\n", body)
    fact = read("kind: fact\n", body)
    assert searchable(episode) == ("What happened.", "Zebra crossing.")
    assert searchable(fact) == (body, "")
    (row,) = rows(episode, live=True)
    assert "Zebra" not in row.text + row.parts + row.title
    assert metadata(row)["detail"] == "Zebra crossing."


@pytest.mark.parametrize(
    "changed",
    [
        read(KEYS.replace("pitfall", "decision") + "type: corrective\npriority: high\n"),
        read(KEYS.replace("0.8", "0.7")),
        read(KEYS.replace("cart]", "basket]")),
        read(KEYS.replace("02-10", "02-11")),
        *(read(f"{KEYS}{line}\n") for line in (
            "type: directive", "status: retired", "status: compacted", "phase: review",
            "domain: task", "reinforcement_count: 1", "last_reinforced: 2026-03-01",
            "priority: critical", "paths: ['tests/**']", "surprise: 0.9", "embed: false",
            "title: Other",
        )),
        read(body="## Freeze time\nIn all tests."),
        read()._replace(id="b"),
        read()._replace(type="directive"),
        read()._replace(kind=""),
    ],
)  # fmt: skip
def test_a_row_is_another_with_what_is_searched_or_weighed(changed):
    """A row that is known is not written again, so that every value must count."""
    assert placeless(changed) != placeless(read()) != placeless(read(), live=False)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (".nan", None),
        ("-.inf", None),
        ("[.inf, 1]", [None, 1]),
        ("2026-03-01", "2026-03-01"),
        ("{a: {b: [x]}}", {"a": {"b": ["x"]}}),
        ('"a\\0b\\u2028"', "a b\u2028"),
        ("0x" + "f" * 5000, "0x" + "f" * 5000),
    ],
)
def test_metadata_is_json(written, value):
    """NaN and infinity are null, dates text, control characters blanks."""
    (row,) = rows(read(KEYS + f"outcome: {written}\n"), live=True)
    assert metadata(row)["outcome"] == value


def test_control_characters_and_surrogates_are_cleaned():
    """What SQLite and its tokenizer cannot take becomes a blank, also in ids, titles
    and values."""
    bad = "a\x00b\ud800c\x7f"
    entry = read()._replace(
        id=bad, title=bad, body=bad, extra={"tags": [bad], "source": bad}
    )
    (row,) = rows(entry, live=True)
    assert (row.entry, row.title, row.text, row.tags) == ("a b c ",) * 4
    assert metadata(row)["source"] == "a b c "
    row.metadata.encode()
