"""A memory file is never lost, read the same way everywhere, and changed by splices
alone."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memcli.errors import DataError
from memcli.memory.changes import EntryChange, edited, render_entry
from memcli.memory.entry_values import read_values
from memcli.memory.grammar import body_digest, eol_of
from memcli.memory.parser import parse, sections
from memcli.memory.values import Problem
from tests.memory import SAMPLES
from tests.work import calls, ends

WORDS = "Freeze the clock.|تجميد الساعة|冻结时钟|🧊 emoji|a\x00b|a\u2028b|a\x85b|---x|===".split(
    "|"
)
ODD = "|||  |\t|---|---|--- |---\t|----| ---|***|\ufeff|\x0c".split("|")
FENCES = [
    "```",
    "```python",
    "````",
    "~~~",
    "~~~ text",
    "```a`b",
    "   ```",
    "    ```",
    "```\t",
]
HEADS = [
    "# One",
    "## Two ##",
    "### Detail",
    "#no",
    "## [2026-02-10] Dated",
    "####### seven",
]
PAIRS = (
    "id: a|type: corrective|title: Jekyll|importance: high|id: [|- id: a|id:\tb".split(
        "|"
    )
)
LINES = st.one_of(
    *map(st.sampled_from, (WORDS, ODD, FENCES, HEADS, PAIRS)), st.text(max_size=12)
)
IDS = st.sampled_from(["a", "b", "c-3", "9b0cf731-e1db-469a-aed5-d03c53ac17f3"])
BLOCKS = st.one_of(
    st.lists(LINES, max_size=8),
    st.builds(
        lambda name, body: ["", "---", f"id: {name}", "importance: 0.5", "---", *body],
        IDS,
        st.lists(LINES),
    ),
    st.builds(lambda name: ["", "---", f"id: {name}", "broken: [", "---", "text"], IDS),
    st.builds(
        lambda name: ["```markdown", "", "---", f"id: {name}", "---", "example", "```"],
        IDS,
    ),
    st.builds(
        lambda name: ["", "---", f"{{id: {name}, type: corrective}}", "---", "flow"],
        IDS,
    ),
)


@st.composite
def texts(draw):
    """A memory file of real and damaged entries, fences, rules, headings and prose."""
    lines = [line for block in draw(st.lists(BLOCKS, max_size=6)) for line in block]
    eol = draw(st.sampled_from(["\n", "\n", "\r\n", "\r", ""]))
    ends = st.sampled_from(["\n", "\r\n", "\r"])
    text = "".join(line + (eol or draw(ends)) for line in lines)
    if draw(st.booleans()):
        text = text.rstrip("\r\n")
    return draw(st.sampled_from(["", "", "\ufeff"])) + text


def entry(name, body="Body.", keys="type: corrective\n"):
    return f"---\nid: {name}\n{keys}---\n{body}\n\n"


def ids(file):
    return [entry.id for entry in file.entries]


def essence(entry):
    return (entry.stated_id, *entry[1:13], entry.extra)


def with_eol(text, eol):
    return text.replace("\n", eol)


@pytest.mark.long
@given(st.one_of(texts(), st.text()))
@settings(max_examples=250, deadline=None)
def test_segments_joined_are_the_file(text):
    """No character is lost or doubled, and nothing that can be typed makes the reader
    fail."""
    file = parse(text, "x")
    assert "".join(text[s.start : s.end] for s in file.segments) == text
    starts = [segment.start for segment in file.segments if segment.kind == "entry"]
    assert starts == [entry.start for entry in file.entries]
    prose = [s for s in file.segments if s.kind == "prose"]
    at = 0
    for section in sections(file):  # one after the other inside the prose
        assert at <= section.start < section.end
        assert any(s.start <= section.start and section.end <= s.end for s in prose)
        assert section.body in text[section.start : section.end]
        at = section.end


@given(texts())
@settings(max_examples=200, deadline=None)
def test_line_is_where_the_body_begins(text):
    """`line` counts CRLF, LF and a lone CR as one line end each, in entries and in
    sections."""
    file = parse(text, "x")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for item in [*file.entries, *sections(file)]:
        if item.body:
            first = item.body.replace("\r\n", "\n").replace("\r", "\n").split("\n")[0]
            assert first in lines[item.line - 1]


@given(texts(), st.sampled_from(["\n", "\r\n", "\r"]))
@settings(max_examples=200, deadline=None)
def test_line_ends_do_not_change_the_meaning(text, eol):
    """A checkout with other line ends has the same entries and the same problems on the
    same lines."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    plain_file = parse(plain, "x")
    other_file = parse(with_eol(plain, eol), "x")
    assert [entry[1:12] for entry in plain_file.entries] == [
        entry[1:12] for entry in other_file.entries
    ]
    bodies = [
        (entry.line, entry.body.replace(eol, "\n")) for entry in other_file.entries
    ]
    assert [(entry.line, entry.body) for entry in plain_file.entries] == bodies
    assert plain_file.problems == other_file.problems
    assert [section.line for section in sections(plain_file)] == [
        section.line for section in sections(other_file)
    ]


@pytest.mark.parametrize(
    "rule",
    [
        "One.\n---\nid: z\n---\nTwo.",
        "One.\n\n---\n\nTwo.",
        "One.\n\n ---\nid: z\n ---\nTwo.",
        "One.\n\n---",
        "```yaml\nid: z\n---\nid: y\n---\n```",
        "```markdown\n\n---\nid: z\ntype: corrective\n---\nExample.\n```\n\nAfter.",
        "````\n```\n\n---\nid: z\n---\n````",
        "```\nnever closed",
        "One.\n\n---\nname: testing\ndescription: how\ntype: feedback\n---\nA topic of Claude.",
        "One.\n\n---\n- id: z\n---\nTwo.",
        "One.\n\n---\n---\nTwo.",
    ],
)
def test_what_opens_no_entry_is_body(rule):
    """Rules, fenced examples and foreign front matter stay in the body, word for
    word."""
    file = parse(entry("a", rule) + entry("b"), "x")
    assert [(e.id, e.body) for e in file.entries] == [("a", rule), ("b", "Body.")]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff",
        "# Notes\n\nAll prose.\n",
        "---",
        "---\n---\n",
        "- [Testing](testing.md) — freeze the clock\n- [Git](git.md) — never push to main\n",
        "---\nname: testing\ndescription: how we test\ntype: feedback\n---\n\n# Testing\nFreeze the clock.\n",
        "---\nname: x\nmetadata:\n  type: project\n---\nText.\n",
        "---\nlayout: post\ntitle: Hello\n---\nText.\n",
        "---\n- id: a\n---\n",
    ],
)
def test_files_that_are_all_prose(text):
    """A memory index of Claude Code, its topic files and Jekyll pages are prose without
    a problem."""
    file = parse(text, "x")
    assert (file.entries, file.problems) == ((), ())


@pytest.mark.parametrize(
    "block",
    [
        "id: a",
        "{id: a, type: corrective}",
        '"id": a',
        "type: directive",
        "phase: x\nstatus: active\ndomain: team",
        "first.key: 1\nid: a",
        "# remark\n\nid: a",
        "&anchor {id: a}",
        "tags:\n- x\nid: a",
    ],
)
def test_what_is_an_entry(block):
    """An id, one of the four types or three known keys make a mapping an entry, in any
    YAML style."""
    assert len(parse(f"---\n{block}\n---\nBody.\n", "x").entries) == 1


def test_fenced_example_before_another_fence():
    """An example is told from a forgotten fence by whether the fences behind it pair
    up."""
    example = "```md\n\n---\nid: z\n---\nExample.\n```\n\n```py\ncode\n```"
    file = parse(entry("a", example) + entry("b", "```\nx\n```"), "x")
    assert [(e.id, e.body) for e in file.entries] == [
        ("a", example),
        ("b", "```\nx\n```"),
    ]
    assert file.problems == ()


@pytest.mark.parametrize("fence", ["```", "~~~~", "```python"])
def test_fence_that_is_not_closed_ends_at_the_next_id(fence):
    """The forgotten fence swallows no entry, and the problem names its line."""
    file = parse(
        entry("a", f"Text.\n{fence}\ncode")
        + entry("b", "```\nx = 1\n```")
        + entry("c"),
        "x.md",
    )
    assert ids(file) == ["a", "b", "c"]
    assert file.problems == (
        Problem("x.md", 6, "code fence is not closed before the next entry"),
    )


@pytest.mark.parametrize(
    ("block", "line", "why"),
    [
        ("id: b\nref: *a", 7 + 3, "aliases are not read"),
        (
            "id: b\nrun: !!python/object/apply:os.system [ls]",
            7 + 3,
            "tags are not read",
        ),
        ("id: b\nx: " + "[" * 500, 7 + 3, "nested deeper than 16"),
        ("id: b\nx: 1\n  y: [", 7 + 4, "not valid YAML"),
        ("id: b\n" + "x: 'y'\n" * 140_000, 7 + 1, "longer than 65536"),
    ],
)
def test_damaged_front_matter_is_named_and_kept_apart(block, line, why):
    """A block meant as an entry that cannot be read costs its neighbours nothing."""
    file = parse(entry("a") + f"---\n{block}\n---\nLost?\n\n" + entry("c"), "m.md")
    assert [(e.id, e.body) for e in file.entries] == [("a", "Body."), ("c", "Body.")]
    (problem,) = file.problems
    assert (problem.path, problem.severity) == ("m.md", "unreadable")
    assert why in problem.message
    assert problem.line in (line - 1, line)
    assert any("Lost?" in section.body for section in sections(file))


@pytest.mark.parametrize("value", ["[0.5", "'0.5", "{a: 1"])
def test_an_entry_of_one_line_is_found_although_a_value_is_broken(value):
    """Its heading is its text, by which it is titled; its front matter is no text. The
    line that is named is that of the value, and every byte stays in a segment."""
    text = f"# Memory\n\n---\nid: a\nimportance: {value}\nphase: unknown\n---\n"
    text += "## [2026-11-02] The parser is recursive\n\n" + entry("b")
    file = parse(text, "x")
    assert [problem.line for problem in file.problems] == [5]
    (unit,) = sections(file)
    assert unit.title == "The parser is recursive"
    assert unit.date == "2026-11-02"
    assert unit.line == 8
    assert (
        "".join(text[segment.start : segment.end] for segment in file.segments) == text
    )


def test_entry_that_is_not_closed_does_not_swallow_the_next():
    """What ought to have closed the damaged block opens the next entry."""
    text = "---\nid: a\ntype: corrective\nBody without its line.\n\n" + entry("b")
    file = parse(text, "x")
    assert ids(file) == ["b"]
    assert [(problem.severity, problem.line) for problem in file.problems] == [
        ("unreadable", 1)
    ]


def test_front_matter_that_is_never_closed_is_named():
    """At the end of a file it is prose of its own, not body of the entry above."""
    file = parse(entry("a") + "---\nid: b\nText\n", "x")
    assert [(e.id, e.body) for e in file.entries] == [("a", "Body.")]
    why = "front matter is not closed by a line of ---"
    assert file.problems == (
        Problem(path="x", line=7, message=why, severity="unreadable"),
    )


def test_missing_keys_are_defaulted():
    """Procedural, team, 0.5, unknown, active, 0: without a problem."""
    file = parse("---\nid: a\n---\nBody.\n", "x")
    assert file.entries[0][:11] == (
        *("a", "procedural", "team", 0.5, "unknown", "active", 0, "", "", "", "normal"),
    )
    assert file.problems == ()


@pytest.mark.parametrize(
    ("key", "value", "default", "message"), SAMPLES["cannot be used"]
)
def test_values_that_cannot_be_used(key, value, default, message):
    """The entry counts with the default; the problem names file, line, key and what
    stands in."""
    file = parse(f"---\nid: a\nsome_{key}: 1\n{key}: {value}\n---\nBody.\n", "m.md")
    (found,) = file.entries
    (problem,) = file.problems
    assert getattr(found, key) == default
    assert problem[:2] == ("m.md", 4)
    assert problem.severity == "defaulted"
    assert problem.message.startswith(f"{key}: ")
    assert message in problem.message
    assert len(problem.message) < 200


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("importance", "'0.7'", 0.7),
        ("reinforcement_count", "3.0", 3),
        ("created_at", "2026-03-01T10:00:00Z", "2026-03-01"),
        ("last_reinforced", "''", ""),
        ("id", "12", "12"),
    ],
)
def test_values_that_are_written_otherwise(key, value, read):
    """Quoted numbers, unquoted dates and time stamps are understood without a
    problem."""
    file = parse(f"---\ntype: corrective\n{key}: {value}\n---\nBody.\n", "x")
    assert (getattr(file.entries[0], key), file.problems) == (read, ())


@pytest.mark.parametrize(
    ("kind", "type_", "priority"),
    [
        ("policy", "directive", "critical"),
        ("preference", "directive", "medium"),
        ("workflow", "procedural", "high"),
        ("pitfall", "corrective", "high"),
        ("architecture", "declarative", "high"),
        ("decision", "declarative", "medium"),
        ("fact", "declarative", "normal"),
        ("episode", "declarative", "normal"),
    ],
)
def test_kind_sets_type_and_priority(kind, type_, priority):
    """Only where none is written, and a default priority lifts no importance."""
    values, _ = read_values({"kind": kind})
    assert (values["type"], values["priority"], values["importance"]) == (
        type_,
        priority,
        0.5,
    )
    values, _ = read_values({"kind": kind, "type": "procedural", "priority": "normal"})
    assert (values["type"], values["priority"]) == ("procedural", "normal")


@pytest.mark.parametrize(
    ("priority", "floor"),
    [
        ("pin", 0.8),
        ("high", 0.85),
        ("critical", 0.9),
        ("permanent", 0.95),
        ("medium", 0.1),
    ],
)
def test_written_priority_floors_importance(priority, floor):
    """An importance above the floor stays."""
    assert (
        read_values({"priority": priority, "importance": 0.1})[0]["importance"] == floor
    )
    assert (
        read_values({"priority": priority, "importance": 0.99})[0]["importance"] == 0.99
    )


def test_optional_keys():
    """Lists are lists of text however written, numbers are checked, unknown keys are
    kept."""
    written = {
        "tags": "a, b",
        "paths": ["x", 3, None, {}],
        "supports": "id-1",
        "stability": "2.5",
    }
    written |= {
        "difficulty": -1,
        "surprise": [2],
        "success_count": "2",
        "mine": {"deep": [1]},
        "outcome": None,
    }
    values, faults = read_values(written)
    wanted = {
        "tags": ["a", "b"],
        "paths": ["x", "3"],
        "supports": ["id-1"],
        "stability": 2.5,
    }
    assert values["extra"] == {**wanted, "success_count": 2, "mine": {"deep": [1]}}
    assert sorted(key for key, _ in faults) == ["difficulty", "surprise"]


@pytest.mark.parametrize(
    ("body", "title", "date"),
    [
        ("## [2026-02-10] Freeze time", "Freeze time", "2026-02-10"),
        ("## [2026-02-31] Freeze time", "Freeze time", "2025-01-02"),
        ("Prefer `ruff`.\n\nMore.", "Prefer `ruff`.", "2025-01-02"),
        ("- **Prefer** ruff.", "Prefer ruff.", "2025-01-02"),
        ("Lead.\n\n### Learn C#\nx", "Learn C#", "2025-01-02"),
        ("## Closed ##\nx", "Closed", "2025-01-02"),
        ("Install:\n```sh\n# not a title\n```", "Install:", "2025-01-02"),
        ("What happened.\n\n### Detail\nAll of it.", "What happened.", "2025-01-02"),
        ("##\nx", "", "2025-01-02"),
        ("x" * 300, "x" * 119 + "…", "2025-01-02"),
    ],
)
def test_titles_and_dates_of_entries(body, title, date):
    """The first heading outside code is the title, else the first line; its date beats
    the path's."""
    (found,) = parse(entry("a", body), "notes/2025-01-02.md").entries
    assert (found.title, found.date) == (title, date)


def test_sections_have_the_heading_path_as_title():
    """A deeper heading hangs under the last higher one; text before the first heading
    stands alone."""
    text = "Lead.\n\n# A\none\n### B\ntwo\n## C ##\nthree\n# D\n## E\nfour\n"
    found = [(section.title, section.line) for section in sections(parse(text, "x"))]
    assert found == [("Lead.", 1), ("A", 3), ("A > B", 5), ("A > C", 7), ("D > E", 10)]


def test_ids_of_sections_are_stable():
    """An id survives a change elsewhere, and equal sections differ by their order."""
    before = sections(parse("# A\nsame\n# A\nsame\n# B\nx\n", "m"))
    after = sections(parse("Lead.\n\n# A\nsame\n# New\ny\n# A\nsame\n# B\nx\n", "m"))
    kept = [s.id for s in after if s.title in ("A", "B")]
    assert kept == [s.id for s in before]
    assert len(set(kept)) == 3
    assert not any(s.written or s.identified for s in after)


FILES = {
    "empty": "",
    "bom": "\ufeff",
    "no last line end": "# Prose",
    "crlf": "# Prose\r\n\r\ntext\r\n",
    "cr": "# Prose\rtext",
    "rule at the end": "text\n\n---",
    "open fence": entry("a", "```\nopen"),
    "damaged block": entry("a") + "---\nid: [\n",
    "bom and crlf": "\ufeff" + entry("a").replace("\n", "\r\n"),
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_appending_an_entry(text):
    """Every byte of the file stays in front, and the entry comes after a blank line."""
    eol = eol_of(text)
    new = render_entry(
        {"id": "new", "type": "directive", "tags": ["x"]}, "One.\n\n---\n\nTwo.", eol
    )
    before = parse(text, "x")
    after = edited(before, [EntryChange(text=new)])
    assert after.text.startswith(text)
    assert after.text.endswith(new)
    assert after.text[len(text) : -len(new)] in ("", eol, eol * 2)
    assert ids(after) == [*ids(before), "new"]
    assert after.entries[-1].body == with_eol("One.\n\n***\n\nTwo.", eol)


def test_removing_several_entries_and_changing_another():
    """Changes of one file are made together."""
    file = parse(
        "# P\n\n" + "".join(entry(name) for name in "abcd") + "---\nid: [\n---\n", "x"
    )
    gone = [EntryChange(2, remove=True), EntryChange(0, remove=True)]
    after = edited(file, [*gone, EntryChange(3, {"id": "e"}, body="New.")])
    new = entry("e", "New.").replace(
        "---\nNew.", f"written: '{body_digest('New.')}'\n---\nNew."
    )
    assert after.text == "# P\n\n" + entry("b") + new + "---\nid: [\n---\n"


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_changing_values_keeps_every_other_byte(eol):
    """Order, remarks, quotes, unknown keys, BOM, line ends and a missing last line end
    survive."""
    text = "\ufeff# é\n\n---\n# why\nmine: {x: 1}\nid:   'a' # id\nstatus: active\nimportance: 0.50\n--- \n\nB."
    file = parse(with_eol(text, eol), "x")
    values = {"importance": 0.8, "status": "retired", "retired_because": "by hand"}
    after = edited(file, [EntryChange(0, values)])
    wanted = text.replace("0.50\n", "0.8\nretired_because: by hand\n").replace(
        "active", "retired"
    )
    assert after.text == with_eol(wanted, eol)
    values = {"retired_because": None, "status": "active", "importance": 0.5}
    back = edited(after, [EntryChange(0, values)])
    assert back.text == with_eol(text.replace("0.50", "0.5"), eol)


@pytest.mark.parametrize("tail", ["", "\n", "\n\n\n", "\r\n \r\n"])
@pytest.mark.parametrize("old", ["Old.", "## T\n\nOld.\n```\n---\n```", ""])
def test_replacing_a_body(old, tail):
    """The blanks around a body are not part of it and stay."""
    text = f"---\nid: a\n---\n\n{old}{tail}"
    after = edited(parse(text, "x"), [EntryChange(0, body="New\n---\nid: z\n---")])
    assert after.entries[0].body == "New\n***\nid: z\n***"
    head = f"id: a\nwritten: '{body_digest(after.entries[0].body)}'\n---\n"
    assert after.text.startswith("---\n" + head)
    if old:
        wanted = text.replace(old, "New\n***\nid: z\n***")
        assert after.text == wanted.replace("id: a\n---\n", head, 1)


@pytest.mark.long
@given(texts(), st.one_of(texts(), st.text()))
@settings(max_examples=250, deadline=None)
def test_an_appended_body_never_becomes_another_entry(text, body):
    """Any text may be a body: the file has exactly one more entry, or the change is
    refused."""
    before = parse(text, "x")
    new = render_entry({"id": "new", "type": "corrective"}, body, eol_of(text))
    try:
        after = edited(before, [EntryChange(text=new)])
    except DataError:
        return
    assert [essence(e) for e in after.entries[:-1]] == [
        essence(e) for e in before.entries
    ]
    assert after.entries[-1].id == "new"
    assert after.text.startswith(text)


VALUES = st.dictionaries(
    st.sampled_from(
        ["id", "importance", "status", "last_reinforced", "tags", "title", "mine"]
    ),
    st.one_of(
        st.none(),
        st.sampled_from(
            "active|2026-03-01|it's|a: b|x, y|é ✓|two\nlines||yes".split("|")
        ),
        st.floats(0, 1),
        st.integers(0, 5),
        st.lists(st.sampled_from(["a", "b c", "d, e", "*"]), max_size=3),
    ),
    max_size=3,
)


@pytest.mark.long
@given(texts(), st.data())
@settings(max_examples=200, deadline=None)
def test_a_planned_edit_changes_what_it_says_and_no_byte_more(text, data):
    """Outside the touched entry every byte stays; inside, every value that was not
    named."""
    before = parse(text, "x")
    assume(before.entries)
    at = data.draw(st.integers(0, len(before.entries) - 1))
    remove = data.draw(st.integers(0, 4)) == 0
    change = EntryChange(
        at=at,
        values=data.draw(VALUES),
        body=data.draw(st.one_of(st.none(), st.text(max_size=9))),
        remove=remove,
    )
    try:
        after = edited(before, [change])
    except DataError:
        return
    old = before.entries[at]
    assert after.text.startswith(text[: old.start])
    assert after.text.endswith(text[old.end :])
    others = [essence(entry) for entry in after.entries]
    if not remove:
        del others[at]
        check_unnamed(old, after.entries[at], change)
    assert others == [
        essence(e) for number, e in enumerate(before.entries) if number != at
    ]


def check_unnamed(old, new, change):
    """What the change did not name is as it was."""
    named = {*change.values}
    if change.body is None:
        assert new.body == old.body
    else:
        named.add("written")
    kept, was = (
        {key: value for key, value in entry.extra.items() if key not in named}
        for entry in (new, old)
    )
    assert kept == was


ADVERSARIES = {
    "open fences": lambda n: "```x\n~~~y\n" * n,
    "open fences between entries": lambda n: "".join(
        f"\n---\nid: {i}\n---\n```x\n~~~\n````\n" for i in range(n)
    ),
    "examples in fences": lambda n: "```\n\n---\nid: a\n---\n```\n" * n,
    "dangling rules": lambda n: "x\n\n---\nid: [\n" * n,
    "bare rules": lambda n: "\n---\n" * n,
    "backticks": lambda n: "`" * (20 * n) + "\n",
    "growing backticks": lambda n: "".join("`" * (3 + i % 40) + "\n" for i in range(n)),
    "blanks in a heading": lambda n: "# " + " " * (20 * n) + "x\n",
    "marks in a heading": lambda n: "# " + "# " * (10 * n) + "x\n",
    "blanks behind a rule": lambda n: "---" + " " * (20 * n) + "x\n",
    "remark": lambda n: "---\n#" + "a" * (20 * n) + "\n---\n",
    "brackets": lambda n: "\n---\nid: " + "[" * 1000 + "\n---\n" * (n // 100),
    "items": lambda n: "\n---\nid: [" + "a," * 1000 + "!]\n---\n" * (n // 100),
    "words": lambda n: "\n---\nid: " + "a " * 1000 + "!\n---\n" * (n // 100),
    "many keys": lambda n: "---\nid: a\n" + "key:\n" * n + "---\n",
    "equal sections": lambda n: "# a\nb\n" * n,
    "lone carriage returns": lambda n: "\r---\rid: a\r---\rb\r" * n,
    "copies of the last id": lambda n: "".join(
        f"\n---\nid: {min(i, n)}\n---\nb{i}\n" for i in range(2 * n)
    ),
    "copies of the id of a long entry": lambda n: (
        "---\nid: a\n---\n"
        + "".join(f"w{i} " for i in range(20 * n))
        + "".join(f"\n\n---\nid: a\n---\nb{i}\n" for i in range(n))
    ),
    "faults": lambda n: "\n---\nid: a\ntype: x\nimportance: y\n---\nb\n" * n,
}


@pytest.mark.long
@pytest.mark.parametrize("name", ADVERSARIES)
def test_reading_is_linear(name):
    """Four times the text takes about four times the work, whatever it is made of."""

    def cost(size):
        text = ADVERSARIES[name](size)
        return calls(lambda: sections(parse(text, "x")))

    assert cost(2000) < 6 * cost(500) + 1000
    with ends():  # calls do not tell what a pattern does
        sections(parse(ADVERSARIES[name](8000), "x"))


def test_derived_ids_are_those_of_every_release():
    """Archives, relations and other machines name entries by them: path, place and
    words make them."""
    file = parse("# Notes\n\n- one\n\n---\ntype: corrective\n---\nBody.\n", "MEMORY.md")
    assert ids(file) == ["d2e97154-b7ef-5fde-a3ae-35c5e5a5cbf0"]
    assert [section.id for section in sections(file)] == [
        "3dfa355a-9dea-598a-9f17-3ad5b91ffcc6"
    ]


def test_appending_behind_an_open_block_is_refused():
    """What is appended would close it: another entry than the one that was planned."""
    with pytest.raises(DataError, match="does not read back"):
        edited(
            parse("---\nid: b", "x"),
            [EntryChange(text=render_entry({"id": "new"}, "Body."))],
        )


def test_changing_many_entries_of_a_file_is_linear():
    """Four times the entries take about four times the work."""

    def cost(size):
        file = parse(
            "".join(entry(str(number), f"Body {number}.") for number in range(size)),
            "x",
        )
        changes = [
            EntryChange(number, {"importance": 0.8}, "New.") for number in range(size)
        ]
        after = edited(file, changes)
        assert [found.body for found in after.entries] == ["New."] * size
        return calls(lambda: edited(file, changes))

    assert cost(500) < 6 * cost(125)


@pytest.mark.parametrize("end", ["---\n## One\nBody.\n", ""])
def test_torn_front_matter_is_told_from_what_cannot_be_read(end):
    """A blank line before the fault does not make a block that is closed one that is
    not."""
    text = f"---\nid: 1111\ntype: declarative\n\ntags: [a, b\ndomain: team\n{end}"
    nxt = "\n---\nid: 2222\ntype: declarative\n---\n## Two\nBody.\n"
    (problem,) = [
        p for p in parse(text + nxt, "M").problems if p.severity == "unreadable"
    ]
    assert ("not closed" in problem.message) == (not end), problem


@pytest.mark.parametrize("month", ["ſept", "Aprİl", "aprıl", "Brumaire"])
def test_letters_that_only_look_like_a_month_are_no_date(month):
    """Without regard to case these match a name of the table, in which they are not."""
    file = parse(f"---\nid: a\n---\n## Release of 5 {month} 2026\nText.\n", "MEMORY.md")
    assert file.entries[0].date == ""
