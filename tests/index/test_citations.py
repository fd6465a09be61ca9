"""Lines of code that entries rest on."""

import re

import pytest

from memcli.index.citations import (
    Citation,
    parse_citation,
    renewed,
    stands,
    with_sketch,
)
from tests.index.test_targets import states

CODE = "".join(
    f"def step_{i}(cart):\n    return cart.total({i})\n\n\n" for i in range(20)
)


def cited(project):
    """The id of an entry that rests on five functions."""
    project.write("src/cart.py", CODE)
    project.commit("start")
    result = project.mem(
        *(
            "add",
            "Totals are added in order",
            "--rests-on",
            "src/cart.py:9-28",
            "--json",
        )
    )
    project.commit("noted")
    return str(result.json["id"])


def test_a_place_that_changed_much_is_marked_until_confirmed(project):
    """Not by lines above it, nor by a small change; with the commit that did it."""
    name = cited(project)
    project.write("src/cart.py", "import os\n\n" + CODE.replace("total(3)", "sum(3)"))
    project.commit("a little")
    assert states(project) == {}
    lines = CODE.splitlines(keepends=True)
    project.write("src/cart.py", "".join([*lines[:8], "pass\n", *lines[28:]]))
    project.commit("much")
    commit = project.git("rev-parse", "--short", "HEAD").strip()
    project.write(
        "src/cart.py", "".join([*lines[:8], "pass\n", *lines[28:], "x = 1\n"])
    )
    project.commit("later")
    said = f"what it rests on changed in {commit} (src/cart.py:9-28)"
    assert states(project) == {"Totals are added in order": said}
    project.mem("index")
    hit = project.mem("recall", "how are totals added", "--json").hits[0]
    assert hit["gone"] == said
    assert said in project.mem("recall", "how are totals added").out
    doctor = project.mem("doctor", "--stale").out
    assert f"mem edit {name[:8]} --confirm" in doctor
    project.ok("edit", name, "--confirm")
    assert states(project) == {}


def test_confirming_follows_lines_that_moved(project):
    name = cited(project)
    project.write("src/cart.py", "# new\n" * 10 + CODE)
    project.commit("moved down")
    project.mem("edit", name, "--confirm")
    text = project.read()
    assert re.search(r"src/cart\.py:(17-36|18-37|19-38|20-39)#", text)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("src/cart.py", "is not a place in a file"),
        ("src/cart.py:0-3", "is not a place in a file"),
        ("src/cart.py:9-3", "line 3 stands before line 9"),
        ("src/cart.py:1-999999", "has more than 2,000 lines"),
        ("src/cart.py:500", "has no such line"),
        ("src/cart.py:3-4", "no word of two letters"),
        ("short.py:1", "no word of two letters"),
        ("short.py:2", "has no such line (1 line)"),
        ("src/none.py:1-2", "src/none.py"),
        ("../out.py:1-2", "../out.py"),
    ],
)
def test_a_place_that_is_none_is_refused(project, place, said):
    project.write("src/cart.py", CODE)
    project.write("short.py", "x\n")
    result = project.ends(2, "add", "Note", "--rests-on", place)
    assert said in result.err and "hint:" in result.err
    assert not project.has("MEMORY.md")


@pytest.mark.unit
def test_a_citation_is_written_and_read():
    made = with_sketch(Citation("a b.py", 1, 2), "one two\nthree four\n")
    assert made is not None
    assert parse_citation(str(made)) == made and stands(made, "x\n  three four")
    assert not stands(made, "five") and renewed(made, "") is None
    for text in ("a.py:1-2#zz", "a.py", "a.py:1-9999999", "a\nb.py:1"):
        assert parse_citation(text) is None
