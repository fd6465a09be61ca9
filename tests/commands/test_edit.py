"""`mem edit`: an entry or a section of prose changed in place, and nothing beside
it."""

import re
from pathlib import Path

import pytest


@pytest.fixture
def copies(world):
    """Where copies for the editor lie; none is left there."""
    yield world / "tmp"
    assert not list((world / "tmp").glob("mem-edit-*"))


def edited(project, script, *arguments):
    """`mem edit` with an editor that runs a shell script on the copy, `$1`."""
    path = project.root.parent / "editor.sh"
    path.write_text(script)
    env = {"EDITOR": f"sh {path}", "VISUAL": ""}
    return project.mem("edit", *arguments, env=env)


def filled(project):
    text = (
        "# Notes\n\nBy hand.\n\n"
        + project.entry("First", "One thing.  # kept", id="aaaa1111")
        + project.entry("Second", "Another.", id="bbbb2222", importance=0.5)
    )
    project.memory(text)
    return text


def test_what_the_editor_changed_is_spliced_back(project, copies):
    """One entry's words; every other byte stays; undo takes it back. A backup of the
    editor is gone with the copy."""
    text = filled(project)
    done = edited(
        project, 'cp "$1" "$1~"; sed -i "s/Another/Quite another/" "$1"\n', "bbbb"
    )
    assert done.code == 0 and "body" in done.out, (done.out, done.err)
    after = project.read()
    assert "Quite another." in after
    assert after.startswith(text[: text.index("id: bbbb2222")])
    project.ok("undo")
    assert project.read() == text


def test_what_is_added_in_the_editor_belongs_to_the_entry(project, copies):
    """Not what a person wrote below it in the file."""
    project.ok("add", "Alpha\nBody.")
    project.write("MEMORY.md", project.read() + "\nBy hand.\n")
    (alpha,) = re.findall("^id: (.*)$", project.read(), re.MULTILINE)
    done = edited(project, 'printf "\\nSecond paragraph.\\n" >> "$1"\n', alpha)
    assert "body" in done.out, (done.out, done.err)
    shown = project.ok("show", alpha).out
    assert "Second paragraph." in shown and "By hand." not in shown
    assert project.read().endswith("\nSecond paragraph.\n\nBy hand.\n")


def test_an_editor_that_changes_nothing_writes_nothing(project, copies):
    """Exit 0, and no copy is left, nor of one that cannot be run."""
    text = filled(project)
    project.ends(2, "edit", "aaaa", env={"EDITOR": "/no/such", "VISUAL": ""})
    project.ends(2, "edit", "", "--title", "x")
    done = edited(project, "exit 0\n", "aaaa")
    assert done.code == 0
    assert "no change to" in done.out
    assert project.read() == text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("s/^importance: .*/importance: lots/", "importance: 'lots' is no number;"),
        ("s/^status: .*/status: nonsense/", "status: 'nonsense' is none of"),
        ("s/^created_at: .*/created_at: soon/", "created_at: 'soon' is no date"),
        ("s/^domain: .*/domain: foo/", "domain: 'foo' is none of"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(project, change, said):
    """It would be read back as the default; nothing is written."""
    filled(project)
    # another entry that has it already makes it no better
    project.write("MEMORY.md", project.read() + project.entry("Zoo", importance="lots"))
    text = project.read()
    refused = edited(project, f'sed -i "{change}" "$1"\n', "aaaa")
    assert refused.code == 3 and said in refused.err, refused.err
    assert project.read() == text


def test_another_spelling_of_a_value_is_a_change(project, copies):
    """The file is not as it was."""
    filled(project)
    done = edited(project, 'sed -i "s/^importance: 0.5/&0/" "$1"\n', "aaaa")
    assert done.out.endswith(": front matter\n")


def test_a_copy_is_kept_when_the_original_changed(project):
    """So it is when the text is no entry any more, or holds a secret: exit 5 or 3, the
    copy named."""
    filled(project)
    path = project.memory_file
    script = (
        f'sed -i "s/One thing/Yours/" "$1"\nsed -i "s/One thing/Theirs/" "{path}"\n'
    )
    done = edited(project, script, "aaaa")
    assert done.code == 5 and "changed while you edited it" in done.err, done.err
    kept = Path(done.err.split("kept in ")[1].strip())
    assert "Yours" in kept.read_text()
    assert "Theirs" in path.read_text()
    for script in ('echo no entry > "$1"\n', 'sed -i "s/^id: .*/id: other/" "$1"\n'):
        before = path.read_text()
        done = edited(project, script, "aaaa")
        assert done.code in (3, 5)
        assert "kept in" in done.err
        assert path.read_text() == before


def test_options_change_values_without_an_editor(project):
    """Title, text, a path, kind and importance, by splice; --dry-run shows the diff."""
    text = filled(project)
    options = (
        "--title",
        "Better",
        "--body",
        "Clearer words.",
        "--path",
        "src/*.py",
        "--kind",
        "decision",
        "--importance",
        "0.9",
    )
    assert "+importance: 0.9" in project.mem("edit", "bbbb", *options, "--dry-run").out
    assert project.read() == text
    project.ok("edit", "bbbb", *options)
    shown = project.mem("show", "bbbb2222").out
    for words in ("Better", "Clearer words.", "src/*.py", "decision", "0.9"):
        assert words in shown, shown
    project.ends(2, "edit", "bbbb", "--kind", "nonsense")
    for away in ("", "../x.py", "/etc/passwd", "~/x", "!x", str(project.home / "x")):
        project.ends(2, "edit", "bbbb", "--path", away)
        project.ends(2, "add", "Else", "--path", away)
    assert project.mem("edit", "bbbb", "--title", "Best").out.endswith("): title\n")
    assert project.mem("edit", "bbbb", "--path", "!src/*.py").out.endswith("): paths\n")
    project.ok("edit", "bbbb", "--tag", "a,b", "--command", "git push *")
    project.ok("edit", "bbbb", "--tag", "!a")
    entry = project.entries()[1]
    assert (entry.extra["tags"], entry.extra["commands"]) == (["b"], ["git push *"])
    project.ends(2, "edit", "bbbb", "--command", "!make")


def test_a_confirmed_entry_says_what_changed(project):
    """Its date alone, and nothing the second time."""
    project.memory(project.entry("Old", last_reinforced="2025-01-01", id="cccc3333"))
    for changed in (["last_reinforced"], []):
        done = project.ok("edit", "cccc", "--confirm", "--json")
        assert done.json["changed"] == changed


def test_a_kind_brings_its_type_and_importance(project):
    """But for those that a person chose."""
    project.ok("add", "Plain")
    project.ok("add", "Chosen of old", "--type", "procedural", "--importance", "0.7")
    for entry in project.entries():
        project.ok("edit", entry.id, "--kind", "policy")
    values = [(entry.type, entry.importance) for entry in project.entries()]
    assert values == [("directive", 0.95), ("procedural", 0.7)]


@pytest.mark.parametrize("option", ["--title", "--body"])
def test_nothing_is_no_title_and_no_text(project, option):
    """An empty one is refused by name, from stdin too, and no editor is asked for."""
    text = filled(project)
    for given, stdin in (("", b""), ("  ", b""), ("-", b"\n")):
        if (option, given) == ("--title", "-"):
            continue  # a title of its own
        result = project.ends(2, "edit", "bbbb", option, given, input=stdin)
        assert result.err.startswith(f"mem: {option} is empty\nhint: give ")
    assert project.read() == text


def test_prose_is_edited_as_it_stands(project):
    """A section has an id, too; values it has none."""
    filled(project)
    listed = [line for line in project.mem("list").out.splitlines() if "Notes" in line]
    name = listed[0].split()[0]
    done = edited(project, 'sed -i "s/By hand/By my hand/" "$1"\n', name)
    assert done.code == 0, done.err
    assert "By my hand." in project.read()
    project.ok("show", done.out.split("id ")[1][:8])
