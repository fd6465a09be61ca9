"""mem show: one entry, whole."""

import re

import pytest

A = "aaaaaaaa-0000-4000-8000-000000000001"
B = "aaaaaaaa-0000-4000-8000-000000000002"
C = "cccccccc-0000-4000-8000-000000000003"


@pytest.fixture
def filled(project):
    project.memory(
        project.entry(
            "First",
            "Body of it.",
            id=A,
            kind="pitfall",
            tags=["x"],
            paths=["src/*"],
            session_id="s9",
            supports=[C],
            merged_from=["old1"],
            reinforcement_count=2,
        ),
        project.entry("Second", "Other.", id=B),
        project.entry("Third", "Third body.", id=C),
    )
    return project


def test_everything_is_shown(filled):
    """Values, provenance, relations both ways, standing and text."""
    out = filled.mem("show", A).out
    for part in (
        A,
        "MEMORY.md:",
        "pitfall, procedural",
        "session_id",
        "s9",
        "merged_from",
        "old1",
        "src/*",
        "score",
        "Body of it.",
    ):
        assert part in out, part
    assert f"supports {C[:8]}" in out
    assert f"{A[:8]} supports this" in filled.mem("show", C).out


def test_what_the_code_has_outrun_is_said(project):
    """With the commit and the new name, as recall says it; not of what stands."""
    project.write("src/totals.py", "RATE = 19\n")
    project.write("src/cart.py", "SIZE = 3\n")
    project.memory(
        project.entry("Totals", "Rounded in `src/totals.py`, once.", id=A),
        project.entry("Cart", "Sized in `src/cart.py`, once.", id=B),
    )
    project.commit("Totals")
    project.mem("index")
    project.moves("src/totals.py", "src/invoice.py")
    project.mem("index")
    said = re.search(
        r"names src/totals.py, gone since \w+, now src/invoice.py",
        project.mem("show", A).out,
    )
    assert said is not None, project.mem("show", A).out
    assert project.mem("show", A, "--json").json["gone"] == said[0]
    assert project.mem("show", B, "--json").json["gone"] == ""
    assert "gone" not in project.mem("show", B).out


def test_the_proxy_store_is_private(filled):
    """An entry about the person is shown only with --proxy."""
    filled.write(
        "proxy.md",
        filled.entry(
            "Manner", "Short answers.", id="eeeeeeee-0000-4000-8000-000000000009"
        ),
    )
    filled.ends(2, "show", "eeee")
    assert filled.mem("show", "eeee", "--proxy").out.startswith("Manner\n")


def test_raw_shows_bytes(project):
    """--raw prints the segment byte for byte; without it nothing gets through that a
    terminal obeys."""
    text = project.entry("Ti\x1b[31mtle", "bo\x07dy \u202e \u00e9", id=A).replace(
        "\n", "\r\n"
    )
    project.memory(text)
    assert project.shell("show", A, "--raw").out == text
    shown = project.mem("show", A)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", shown.out)
    assert "Title" in shown.out
    assert "body" in shown.out


def test_prose_can_be_shown(project):
    """A section of prose has an id too; list shows it, show takes it."""
    project.memory("# Notes\n\n## Herd\nThe zebra sleeps.\n")
    [row] = project.listed()
    result = project.mem("show", row["id"][:8])
    assert "The zebra sleeps." in result.out
    assert "Notes > Herd" in result.out


def test_what_an_entry_rests_on_is_shown(project):
    """By its place; the age of what has no date is called unknown."""
    project.write("cart.py", "total = price * amount\n")
    project.ok("add", "Totals are in cents", "--rests-on", "cart.py:1")
    assert "rests on: cart.py:1" in project.mem("show", project.listed()[0]["id"]).out
    project.memory("# Loose\n\nA text of no date.\n")
    assert "age:      unknown" in project.mem("show", project.listed()[0]["id"]).out


def test_the_hint_for_an_unknown_id_names_the_handle_of_a_commit(project):
    project.ok("add", "Zebras sleep", "--title", "Zebras")
    assert "a commit is c:2ed84f5" in project.ends(2, "show", "2ed84f5").err
