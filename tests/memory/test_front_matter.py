"""Front matter: the fast path says what YAML says, and a splice changes one value
alone."""

import re

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memcli.memory import front_matter
from memcli.memory.diff import apply_edits
from memcli.memory.front_matter import Malformed, as_written, plan_values, read, render
from tests.memory import SAMPLES

KEYS = [
    "id",
    "type",
    "importance",
    "tags",
    "created_at",
    "title",
    "x-y",
    "_z",
    "on",
    "k" * 120,
]
SCALARS = st.sampled_from(
    r"""corrective 0 007 0.80 1. 1e5 3 -3 12_apples 2026-03-01 yes NO null ~ y a,b it's http://x 12:30 'it''s'
    'single' "double" "a\nb" '' "" [a,b] [] [a,] [,] [yes,a] [1,2] {a:b} | >- &a *a @x 0x1F 1_000 .nan -.inf é
    9b0cf731-e1db-469a-aed5-d03c53ac17f3 12345678-1234-1234-1234-123456789012 999999999999999999999""".split()
    + "|12 apples|a, b|a (b) c|a -|a #b|a # b|# only|'a' b|'é ✓ 记'|[ ]|['a b', \"c\"]|[a b]|{a: b}".split(
        "|"
    )
    + [
        "'a\x85b'",
        "'a\u2028b'",
        "a\x00b",
        "'a\x07'",
        "'tab\there'",
        "[a\tb]",
        "&a b",
        "!!str x",
    ]
)
LINE = st.one_of(
    st.builds(
        "{}{}:{}{}{}".format,
        st.sampled_from(["", "", "", " ", "'"]),
        st.sampled_from(KEYS),
        st.sampled_from([" ", " ", " ", "", "\t", "  ", " \t"]),
        SCALARS,
        st.sampled_from(["", "", "", " ", "\t", " # why", "\t# why", "#no", " #\x7f"]),
    ),
    st.builds("{}- {}".format, st.sampled_from(["", "  ", "  ", "   ", "\t"]), SCALARS),
    st.sampled_from(
        "| |\t|# remark|  # remark é|#\x00|...|free text|- - a|-|  -".split("|")
    ),
)
BLOCK = st.builds(
    lambda lines, eol, last: eol.join(lines) + (eol if last else ""),
    st.lists(LINE, max_size=7),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.booleans(),
)


class AllText(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's own reading, with dates as text."""


AllText.yaml_implicit_resolvers = {
    first: [
        (tag, regexp) for tag, regexp in resolvers if not tag.endswith(":timestamp")
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def changed(block, eol="\n", **changes):
    return apply_edits(block, plan_values(block, changes, eol))


@pytest.mark.long
@given(BLOCK)
@settings(max_examples=1500, deadline=None)
def test_fast_path_says_what_yaml_says(block):
    """Where the line reader answers at all, its answer is that of the YAML reader."""
    fast = front_matter._read_lines(block)
    if fast:
        slow = front_matter._read_yaml(block).values
        assert fast == slow
        assert list(map(type, fast.values())) == list(map(type, slow.values()))


@given(
    st.dictionaries(
        st.sampled_from(["id", "type", "tags"]), st.text(max_size=30), min_size=1
    )
)
@settings(deadline=None)
def test_any_text_survives_being_rendered(values):
    """A rendered value reads back as itself, whatever its characters (surrogates have
    no bytes)."""
    block = render(values).removeprefix("---\n").removesuffix("---\n")
    assert read(block).values == values


def test_typical_blocks_take_the_fast_path():
    """Quoted values, flow and block lists, remarks and CRLF need no YAML reader."""
    block = "id: a-1\ntags: [x, 'y z']  # why\n# own line\npaths:\n  - 'tests/**'\n  - a.py\nempty:\n"
    fast = front_matter._read_lines(block.replace("\n", "\r\n"))
    assert fast is not None
    paths = {"paths": ["tests/**", "a.py"], "empty": None}
    assert fast == {"id": "a-1", "tags": ["x", "y z"], **paths}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("2026-03-01 10:00:00", "2026-03-01 10:00:00"),
        ("0x1F", 31),
        ("007", "007"),
        ("12:30:45", "12:30:45"),
        ("-.inf", float("-inf")),
        ("Yes", True),
        ("~", None),
        ("0x" + "f" * 5000, "0x" + "f" * 5000),
        ("|\n  one\n  two", "one\ntwo\n"),
    ],
)
def test_yaml_values(line, value):
    """Dates and clock times stay text, and so do numbers too long to print."""
    assert read(f"key: {line}\n").values["key"] == value


@pytest.mark.parametrize(
    ("block", "why", "offset"),
    [
        ("id: a\nb: *id\n", "aliases", 9),
        ("id: a\nb: !!python/object:os.system x\n", "tags", 9),
        ("just text\n", "not a mapping", 0),
        ("id: a\nb: [c\n", "not valid YAML", 9),
        ("é: ü\nb: 'open\n", "not valid YAML", 8),
        ("id: \ud800\n", "not valid YAML", 0),
        ("id: " + "[" * 500, "nested deeper", 19),
        ("id: a\n" + "x: 'y'\n" * 10_000, "longer than", 0),
    ],
)
def test_refused_blocks(block, why, offset):
    """What is not a plain mapping is refused with the reason and, where YAML knows it,
    the place."""
    with pytest.raises(Malformed, match=why) as caught:
        front_matter._read_yaml(block)
    assert caught.value.offset == offset or why == "nested deeper"


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize(("line", "key", "value", "after"), SAMPLES["one value"])
def test_setting_one_value(eol, line, key, value, after):
    """The characters of the value alone change: quotes, blanks, remarks and line ends
    around stay."""
    if after is None:
        after = line + "{eol}  - c"
    lead = "# é lead{eol}first: 'ü'{eol}{eol}"
    tail = "{eol}# tail{eol}last:   x {eol}"
    block, wanted = (
        (lead + text + tail).replace("{eol}", eol) for text in (line, after)
    )
    assert changed(block, eol, **{key: value}) == wanted
    assert read(wanted).values[key] == as_written(value)


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "line",
    [
        "k: v # why",
        "k:",
        "k: |{eol}  a{eol}  b",
        "k:{eol}- a{eol}- b",
        "k: [a,{eol}  b]",
        "'k': x{eol}  y",
    ],
)
def test_removing_a_key(eol, line):
    """A key goes with its lines; the remark under it, which may speak of the next key,
    stays."""
    block = f"a: 1{eol}{line}{eol}# of z{eol}z: 2{eol}".replace("{eol}", eol)
    assert changed(block, eol, k=None) == f"a: 1{eol}# of z{eol}z: 2{eol}"


def test_a_key_that_stands_twice():
    """It is removed everywhere, or the earlier value came to light; it is set where it
    counts."""
    assert changed("k: 1\na: x\nk: 2\n", k=None) == "a: x\n"
    assert changed("k: 1\na: x\nk: 2\n", k=3) == "k: 1\na: x\nk: 3\n"


@pytest.mark.parametrize(
    ("block", "changes", "after"),
    [
        ("{id: a, type: corrective}\n", {"id": "b"}, "{id: b, type: corrective}\n"),
        ("{id: a, type: corrective}\n", {"type": None}, "{id: a}\n"),
        ("{b: 1, id: a, c: 2}\n", {"b": None, "c": None, "n": 3}, "{id: a, n: 3}\n"),
        ("{id: a, t: x}\n", {"t": "x, y"}, "{id: a, t: 'x, y'}\n"),
        ("{id: a,}\n", {"n": 1}, "{id: a, n: 1,}\n"),
        (
            "{id: a, # why\n t: x\n}\n",
            {"t": "z", "n": 1},
            "{id: a, # why\n t: z, n: 1\n}\n",
        ),
        ("{id: a, flag}\n", {"flag": 1}, "{id: a, flag: 1}\n"),
    ],
)
def test_flow_style_front_matter(block, changes, after):
    """A block in braces is changed within its braces."""
    assert changed(block, **changes) == after
    assert read(after).values == {
        key: value
        for key, value in {**read(block).values, **changes}.items()
        if value is not None
    }


def test_new_keys_come_last_in_their_order():
    """A new key is a line of its own at the end, indented as the others, with the
    file's line end."""
    assert (
        changed("id: a\r\n", "\r\n", n=1, m="x: y") == "id: a\r\nn: 1\r\nm: 'x: y'\r\n"
    )
    assert changed("  id: a\n  # end\n", n=1) == "  id: a\n  # end\n  n: 1\n"
    assert changed("id: a", n=1) == "id: a\nn: 1\n"


@given(
    BLOCK,
    st.sampled_from(["id", "type", "tags", "fresh"]),
    st.one_of(st.none(), SCALARS, st.integers(0, 9)),
)
@settings(max_examples=300, deadline=None)
def test_a_splice_leaves_every_other_value(block, key, value):
    """Whatever block can be read: after one change it says the same of every other
    key."""
    block += (
        "" if block.endswith("\n") else "\n"
    )  # as every block between two delimiters
    assume(
        not re.search(r"[\"'\]}]#no", block)
    )  # a remark to libyaml; a plain value would join it
    try:
        before = read(block).values
        after = changed(block, "\r\n" if "\r\n" in block else "\n", **{key: value})
        actual = read(after).values if after.strip() else {}
    except Malformed:
        return
    before.pop(key, None)
    got_value = actual.pop(key, None)
    assert repr((sorted(actual.items()), got_value)) == repr(
        (sorted(before.items()), value)
    )


def test_sixteen_levels_are_read_and_one_more_is_not():
    """The bound is a bound: the block itself is the first level."""
    deep = front_matter.MAX_DEPTH - 1
    assert front_matter.read(f"x: {'[' * deep}1{']' * deep}\n").values
    with pytest.raises(front_matter.Malformed, match="nested deeper"):
        front_matter.read(f"x: {'[' * (deep + 1)}1{']' * (deep + 1)}\n")
