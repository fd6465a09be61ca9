"""Each rule of the merge, in both directions; then random changes on each side against
a model."""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memcli.compaction.merge import Asked, Unmergeable, merge
from memcli.memory import front_matter
from memcli.memory.changes import EntryChange, edited, render_entry
from memcli.memory.grammar import derived_id
from memcli.memory.parser import parse

Turn = Callable[[list[str]], Iterable[str]]
CORE = {
    "type": "procedural",
    "status": "active",
    "reinforcement_count": 3,
    "created_at": "2026-02-10",
}
VALUES = json.loads(Path(__file__).with_name("values.json").read_text("utf-8"))
"""Key, base, ours, theirs, merged: one key, changed on both sides or on one."""
GUARDS, LISTS = json.loads(Path(__file__).with_name("sides.json").read_text("utf-8"))
"""A guard and the entry beside it; then how the other side changes it, and what it is
after a merge as far as that is another. Lists are as in `VALUES`."""
DIRECTIONS = pytest.mark.parametrize(
    "turned", [list, reversed], ids=["ours-theirs", "theirs-ours"]
)


def entry(id="a", body="The body.", **values):
    keys = {"id": id, **CORE, **values}
    return (
        render_entry(
            {key: value for key, value in keys.items() if value is not None}, body
        )
        + "\n"
    )


def no_prose(base, ours, theirs):
    raise AssertionError("the prose was changed on one side at most")


def both_lines(base, ours, theirs):
    """Stands for git, which the tests of the command use: every line of both."""
    return "".join(dict.fromkeys((ours + theirs).splitlines(keepends=True))), 0


def merged(base, ours, theirs, *, path="MEMORY.md"):
    return merge(base, ours, theirs, path=path, asked=Asked(no_prose))[0]


def raw(file, found):
    block = re.split(r"(?m)^---[ \t]*\r?$\n?", file.text[found.start : found.end])[1]
    return front_matter.read(block).values


def facts(text):
    """What a text says, by id, whatever the order of entries and of list items."""
    file = parse(text, "MEMORY.md")
    assert len({entry.id for entry in file.entries}) == len(file.entries), (
        "an id stands twice"
    )
    return {
        entry.id: (
            {
                key: sorted(value) if isinstance(value, list) else value
                for key, value in raw(file, entry).items()
            },
            entry.body.replace("\r\n", "\n"),
        )
        for entry in file.entries
    }


@DIRECTIONS
@pytest.mark.parametrize(("key", "base", "ours", "theirs", "wanted"), VALUES)
def test_a_value_is_merged_by_its_kind(key, base, ours, theirs, wanted, turned):
    sides = [entry(**{key: ours, "mine": "1"}), entry(**{key: theirs, "other": "2"})]
    values, _ = facts(merged(entry(**{key: base}), *turned(sides)))["a"]
    assert values.get(key) == wanted
    assert type(values.get(key)) is type(wanted)
    assert (values["mine"], values["other"]) == ("1", "2")


@DIRECTIONS
@pytest.mark.parametrize("note", [None, "1"])
@pytest.mark.parametrize(("theirs", "wanted"), GUARDS[1:])
def test_the_stricter_guard_stays(theirs, wanted, note, turned):
    """Whether the other side changed this entry or another one; what is retired is
    retired."""
    guard, other = GUARDS[0]
    ours = entry(**guard, note=note) + other
    sides = turned([ours, entry(**{**guard, **theirs})])
    values, _ = facts(merged(entry(**guard), *sides))["a"]
    assert {key: values.get(key) for key in {**guard, **wanted}} == {**guard, **wanted}


@DIRECTIONS
@pytest.mark.parametrize(("key", "base", "ours", "theirs", "wanted"), LISTS)
def test_lists_unite(key, base, ours, theirs, wanted, turned):
    sides = [entry(**{key: ours}), entry(**{key: theirs, "other": "2"})]
    values, _ = facts(merged(entry(**{key: base}), *turned(sides)))["a"]
    assert values[key] == wanted


def test_a_united_list_begins_with_ours():
    text = merged(entry(), entry(tags=["z", "b"]), entry(tags=["a", "b"]))
    assert "tags: [z, b, a]\n" in text


@DIRECTIONS
def test_a_text_comes_from_the_side_that_was_reinforced_later(turned):
    sides = [
        entry(source="a", last_reinforced="2026-05-02"),
        entry(source="b", last_reinforced="2026-05-01"),
    ]
    values, _ = facts(merged(entry(), *turned(sides)))["a"]
    assert values["source"] == "a"


@DIRECTIONS
def test_the_reason_goes_with_the_status(turned):
    retired = {"status": "retired", "retired_because": "stage design"}
    cases = [
        ({}, retired, {"reinforcement_count": 4}, "stage design"),
        ({}, retired, {**retired, "retired_because": "by hand"}, "stage design"),
        (retired, {}, {**retired, "retired_because": "by hand"}, None),
        ({"status": None}, {**retired}, {"retired_because": "zzz"}, "stage design"),
    ]
    for base, ours, theirs, because in cases:
        sides = [entry(**ours), entry(**theirs)]
        values, _ = facts(merged(entry(**base), *turned(sides)))["a"]
        assert values.get("retired_because") == because


@DIRECTIONS
def test_of_two_edited_bodies_the_longer_keeps_the_id_and_the_other_gets_its_own(
    turned,
):
    sides = [
        entry(body="Long and edited.", tags=["l"]),
        entry(body="Edited.", tags=["s"], contradicts=["z"]),
    ]
    entries = facts(merged(entry(), *turned(sides)))
    other = derived_id("a", "Edited.")
    assert list(entries) == ["a", other]
    assert entries["a"][1] == "Long and edited." and entries["a"][0]["tags"] == [
        "l",
        "s",
    ]
    assert entries["a"][0]["contradicts"] == ["z"]
    assert entries[other][1] == "Edited." and entries[other][0]["contradicts"] == [
        "a",
        "z",
    ]
    assert entries[other][0]["tags"] == ["s"]


@DIRECTIONS
def test_a_body_that_became_empty_or_came_to_be(turned):
    bare = "---\nid: a\ntype: procedural\n---"
    for base, ours, theirs, body in [
        (
            bare + "\n\nOld.\n",
            bare,
            bare.replace("l\n", "l\ntags: [x]\n") + "\n\nOld.\n",
            "",
        ),
        (bare, bare + "\nNew.\n", bare.replace("l\n", "l\ntags: [x]\n"), "New."),
    ]:
        found = facts(merged(base, *turned([ours, theirs])))
        assert found == {"a": ({"id": "a", "type": "procedural", "tags": ["x"]}, body)}


def test_new_entries_of_both_sides_stay_theirs_at_the_end():
    text = merged(
        entry("a"),
        entry("x") + entry("a") + entry("y"),
        entry("p") + entry("a") + entry("q"),
    )
    assert text == "".join(map(entry, "xaypq"))


@DIRECTIONS
def test_entries_without_an_id_are_known_by_their_text(turned):
    one, two, three, four = (entry(None, f"Body {number}.") for number in range(4))
    sides = [one + three + entry("a"), one + two + one + four]
    text = merged(one + two, *turned(sides))
    found = sorted(re.findall(r"Body \d|id: a", text))
    assert found == ["Body 0", "Body 0", "Body 2", "Body 3", "id: a"]


@DIRECTIONS
def test_an_archive_holds_each_wording_of_an_entry_once(turned):
    """As it last left, with the reason of then; whatever is archived on two branches,
    and what such a merge left twice before."""

    def gone(day, body="Old.", because="stale"):
        values = {"archived_at": f"2026-03-0{day}", "archived_because": because}
        return entry("a", body, **values)

    first = gone(2, "Other.")
    sides = [
        first + gone(3) + gone(1),
        first + gone(4, because="retired") + gone(2, "Else."),
    ]
    text = merged(first, *turned(sides), path="docs/MEMORY.archive.md")
    blocks = [gone(4, because="retired"), gone(2, "Else.")]
    assert text == first + "".join(blocks)


def test_comments_order_and_quoting_survive():
    base = "# M\n\n---\n# made by hand\ntype: 'directive'  # a rule\nid: \"a\"\ntags:\n  - x\n---\nBody.\n"
    ours = base.replace("Body.", "Our body.").replace("  - x", "  - x\n  - y # why")
    theirs = base.replace("id: ", "importance: .9\nid: ") + "\n" + entry("b")
    assert merged(base, ours, theirs) == (
        "# M\n\n---\n# made by hand\ntype: 'directive'  # a rule\nid: \"a\"\ntags:\n  - x\n  - y # why\n"
        "importance: 0.9\n---\nOur body.\n\n" + entry("b")
    )


def test_comments_that_differ_are_left_to_git():
    with pytest.raises(Unmergeable, match="comments"):
        merged(
            entry(),
            entry().replace("type:", "# 1\ntype:"),
            entry().replace("type:", "# 2\ntype:"),
        )


@DIRECTIONS
def test_nested_values_of_one_side_survive(turned):
    nested = entry(importance=0.9).replace("type:", "deep:\n  er: [1, {x: y}]\ntype:")
    sides = [entry(reinforcement_count=9), nested]
    values, _ = facts(merged(entry(), *turned(sides)))["a"]
    assert (
        values["deep"] == {"er": [1, {"x": "y"}]} and values["reinforcement_count"] == 9
    )


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_line_ends_and_bom_stay(eol, bom):
    texts = [
        entry("a"),
        entry("a", tags=["x"]) + entry("b"),
        entry("a", "Edited.", importance=0.9) + entry("c"),
    ]
    plain = merged(*texts)
    assert merged(
        *(bom + text.replace("\n", eol) for text in texts)
    ) == bom + plain.replace("\n", eol)


def test_line_ends_that_one_side_converted_are_converted():
    base = entry("a")
    text = merged(base, base.replace("\n", "\r\n"), base + entry("b"))
    assert text == (base + entry("b")).replace("\n", "\r\n")
    assert merged(base, base + entry("b"), base.replace("\n", "\r\n")) == text


def test_mixed_line_ends_are_left_where_the_files_agree():
    base = entry("a", "One.\nTwo.").replace("One.\n", "One.\r\n") + entry("b")
    assert merged(base, base + entry("c"), entry("d") + base) == base + entry(
        "c"
    ) + entry("d")


def test_a_missing_last_line_end_does_not_glue_entries_together():
    base = "# M\n\n" + entry("a").rstrip()
    text = merged(
        base, base + "\n\n" + entry("b").rstrip(), base + "\n\n" + entry("c").rstrip()
    )
    assert text == "# M\n\n" + entry("a") + entry("b") + entry("c").rstrip()


@pytest.mark.parametrize(
    "text", ["", "# M\n", entry() + entry(), "---\nid: [\n---\n\n"]
)
def test_a_side_that_changed_nothing_leaves_the_other_to_the_byte(text):
    other = "\ufeffAny\r\ntext.\n\n" + text
    assert merged(text, text, other) == other
    assert merged(text, other, text) == other
    assert merged(text, other, other) == other


def test_what_would_not_read_back_is_left_to_git():
    """An open fence swallows a following entry without an id."""
    with pytest.raises(Unmergeable, match="read back"):
        merged(
            entry("a"),
            entry("a").replace("The body.", "```\nopen"),
            entry("a") + entry(None, "New."),
        )


OPERATIONS = (
    "append reinforce reinforce success retire edit set unset remove same".split()
)
KEYS = "importance tags title unknown last_reinforced paths priority phase".split()
BODIES = (
    "Short.", "A longer body, edited.", "Two\n\nparagraphs.", "日本語 — ünïcode ✓", "A rule:\n\n***\n\nbelow",
    "```sh\n---\nid: fenced\n---\n```", "# Heading\n\n- item\n- item", "", "Trailing  ", "key: value",
)  # fmt: skip
operations = st.lists(
    st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 30), st.integers(0, 9)),
    max_size=30,
)


class World(NamedTuple):
    """A base and the form in which it is written."""

    entries: int
    eol: str = "\n"
    bom: str = ""
    head: str = ""
    ending: bool = True

    def text(self):
        blocks = [
            entry(f"base-{number}", f"Base body {number}.")
            for number in range(self.entries)
        ]
        text = self.head + "".join(
            block.replace("type:", "# note\ntype:", number % 2)
            for number, block in enumerate(blocks)
        )
        text = text if self.ending else text.rstrip("\n")
        return self.bom + text.replace("\n", self.eol)


worlds = st.builds(
    World,
    st.integers(0, 8),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
    st.sampled_from(["", "# Memory\n\n", "Prose\n\n---\n\nmore\n\n\n"]),
    st.booleans(),
)


def value_of(key, seed):
    return {
        "importance": round(0.1 * seed, 1),
        "tags": [f"t{seed}", f"t{seed % 3}x"],
        "title": f"Title: {seed} 'quoted' # {seed}",
        "unknown": seed if seed % 2 else f"text {seed}",
        "last_reinforced": f"2026-03-{10 + seed}",
        "paths": [f"src/{seed}/**", "a, b"],
        "priority": ("high", "low")[seed % 2],
        "phase": ("design", "review", "planning")[seed % 3],
    }[key]


def changed(text, name, plan, eol):
    """`text` after the operations, each made by splices as any writer of mem would."""
    for step, (action, place, seed) in enumerate(plan):
        file = parse(text, "MEMORY.md")
        if action in ("append", "same") or not file.entries:
            id = f"same-{seed}" if action == "same" else f"{name}-{step}"
            if id not in {found.id for found in file.entries}:
                values = {"id": id, **CORE, "reinforcement_count": 1}
                new = render_entry(values, BODIES[seed], eol)
                text = edited(file, [EntryChange(text=new)]).text
            continue
        at = place % len(file.entries)
        text = edited(file, [operation(file.entries[at], at, action, seed, name)]).text
    return text


def operation(entry, at, action, seed, name):
    key = KEYS[seed % len(KEYS)]
    count = entry.extra.get("success_count", 0)
    stronger = {"reinforcement_count": entry.reinforcement_count + 1}
    return {
        "reinforce": EntryChange(
            at, {**stronger, "last_reinforced": f"2026-04-{10 + seed}"}
        ),
        "success": EntryChange(at, {"success_count": count + 1}),
        "retire": EntryChange(
            at, {"status": "retired", "retired_because": f"by {name}"}
        ),
        "edit": EntryChange(
            at, body=BODIES[seed] + (name if seed % 2 and BODIES[seed] else "")
        ),
        "set": EntryChange(at, {key: value_of(key, seed)}),
        "unset": EntryChange(at, {key: None}),
        "remove": EntryChange(at, remove=True),
    }[action]


def segments(text):
    file = parse(text, "MEMORY.md")
    return {
        found.id: file.text[found.start : found.end].rstrip("\r\n ")
        for found in file.entries
    }


@pytest.mark.long
@settings(max_examples=250, deadline=None)
@given(worlds, operations, operations)
@example(
    World(1),
    [("edit", 0, 0)],
    [("edit", 0, 1), ("reinforce", 0, 0)],
)
@example(
    World(2, "\r\n", "\ufeff", ending=False),
    [("remove", 0, 0)],
    [("reinforce", 0, 0), ("append", 0, 5)],
)
@example(
    World(0),
    [("append", 0, 0), ("retire", 0, 0), ("same", 0, 0)],
    [("append", 0, 0), ("retire", 0, 0), ("same", 0, 0)],
)
def test_two_branches_with_thirty_changes_each(world, plan_a, plan_b):
    base = world.text()
    a = changed(base, "a", plan_a, world.eol)
    b = changed(base, "b", plan_b, world.eol)
    if a == b or not any(segments(text) for text in (base, a, b)):
        return  # git does not ask about equal sides, and merges prose alone
    text, mirrored = (
        merge(base, *pair, path="MEMORY.md", asked=Asked(both_lines))[0]
        for pair in [(a, b), (b, a)]
    )
    assert facts(text) == facts(mirrored)
    check_entries(base, a, b, text)
    assert {problem.message for problem in parse(text, "").problems} <= {
        problem.message for side in (a, b) for problem in parse(side, "").problems
    }
    assert text.startswith(world.bom) and text.count("\ufeff") == len(world.bom)
    if "\n" in base:
        assert text.count("\r\n") == (text.count("\n") if world.eol == "\r\n" else 0)
    assert (
        merged(base, a, a) == a
        and merged(base, a, base) == a
        and merged(base, base, b) == b
    )
    again = merge(base, text, b, path="MEMORY.md", asked=Asked(both_lines))[0]
    assert set(facts(text)) <= set(facts(again))


def taken_back_and_written_anew(name):
    """A side that has retired an entry, and then has written its words once more."""
    plan = [("append", 0, 0), ("retire", 0, 0), ("same", 0, 0)]
    return changed("", name, plan, "\n")


def test_what_both_sides_wrote_anew_after_taking_it_back_stays_live():
    """Each side knows its own tombstone, so neither refuses the entry of both; and
    which side is ours makes no difference."""
    sides = (taken_back_and_written_anew("a"), taken_back_and_written_anew("b"))
    for ours, theirs in (sides, sides[::-1]):
        values, _ = facts(merged("", ours, theirs))["same-0"]
        assert values["status"] == "active"
        assert "retired_because" not in values


def check_entries(base, a, b, text):
    """No entry lost, none that nobody wrote, counts add up, no body lost."""
    old = segments(base)
    mine = segments(a)
    other = segments(b)
    kept = {
        id
        for id in {*mine, *other}
        if (id in mine and id in other)
        or (mine.get(id) or other.get(id)) != old.get(id)
    }
    before = facts(base)
    ours = facts(a)
    theirs = facts(b)
    merged_entries = facts(text)
    copies = {
        derived_id(id, side[id][1])
        for id in kept
        for side in (ours, theirs)
        if id in side
    }
    assert kept <= set(merged_entries) <= kept | copies
    for id in kept & set(mine) & set(other):
        check_one(id, before.get(id), ours[id], theirs[id], merged_entries)


def check_one(id, old, mine, other, merged_entries):
    values, body = merged_entries[id]
    for key in ("reinforcement_count", "success_count"):
        counts = [side[0].get(key, 0) for side in (mine, other)]
        start = old[0].get(key, 0) if old else min(counts)
        assert values.get(key, 0) == max(0, sum(counts) - start)
    bodies = {
        side[1] for side in (mine, other) if old is None or side[1] != old[1]
    } or {mine[1]}
    rest = bodies - {body}
    assert body in bodies and len(body) == max(map(len, bodies))
    for lost in rest:
        copy = merged_entries[derived_id(id, lost)]
        assert copy[1] == lost and id in copy[0]["contradicts"]
    if "retired" in (mine[0]["status"], other[0]["status"]):
        assert values["status"] == "retired" or (old and old[0]["status"] == "retired")


@DIRECTIONS
def test_a_side_that_was_emptied_has_no_say_in_how_the_file_ends(turned):
    """What the other side changed stays; what it left alone goes with the rest."""
    base = entry("a") + entry("b")
    changed = entry("a", body="Another body.") + entry("b")
    text = merged(base, *turned(["", changed]))
    assert (
        facts(text).keys() == {"a"} and "Another body." in text and text.endswith("\n")
    )


@DIRECTIONS
def test_mappings_that_both_sides_added_are_left_to_git(turned):
    """Neither front matter can take the other's mapping in one line: better a conflict
    than a loss."""
    sides = [
        entry("a").replace("\nstatus:", f"\n{key}: {{n: {number}}}\nstatus:")
        for number, key in enumerate("xy")
    ]
    with pytest.raises(Unmergeable, match="cannot be spliced"):
        merged(entry("a"), *turned(sides))


@DIRECTIONS
def test_a_key_that_cannot_be_written_stays_where_its_author_put_it(turned):
    """The other side's count is spliced in there."""
    odd = entry("a").replace("\nstatus:", '\n"k: v": 1\nstatus:')
    sides = [entry("a", reinforcement_count=5), odd]
    text = merged(entry("a"), *turned(sides))
    assert '"k: v": 1' in text and facts(text)["a"][0]["reinforcement_count"] == 5


def test_prose_below_an_entry_is_merged_and_stays_when_the_entry_goes():
    """Both sides' bullets are kept, once each; a body brings its own digest."""
    a = render_entry({"id": "a"}, "## A\nx")
    b = render_entry({"id": "b"}, "## B\ny")
    base = f"# Top\n\n{a}\n- one\n\n{b}"

    def merged(ours, theirs):
        return merge(base, ours, theirs, path="m", asked=Asked(both_lines))[0]

    both = merged(
        base.replace("- one", "- one\n- two"), base.replace("- one", "- one\n- three")
    )
    assert [both.count(bullet) for bullet in ("- one", "- two", "- three")] == [1, 1, 1]
    gone = edited(parse(base, "m"), [EntryChange(0, remove=True)]).text
    assert merged(gone, base.replace("## B", "## Be")).count("- one") == 1
    assert "- new" in merged(gone, base.replace("- one", "- one\n- new"))
    longer = edited(parse(base, "m"), [EntryChange(0, body="## A\nlonger")]).text
    other = edited(parse(base, "m"), [EntryChange(0, body="## A\nz")]).text
    entries = parse(merged(longer, other), "m").entries
    assert [entry.touched for entry in entries] == [False, False, False]
    assert {entry.body for entry in entries} == {"## A\nlonger", "## A\nz", "## B\ny"}
