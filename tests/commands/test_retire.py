"""mem retire, mem restore, mem undo: out of recall, and back."""

import pytest

from memcli.memory.parser import parse
from memcli.storage import journal
from memcli.storage.files import state_dir


def test_retire_and_restore_give_the_file_back(project):
    """Retired with a reason, found no more; restored, the file is as it was."""
    text = project.entry("Zebra", "zebra", id="z1") + project.entry(
        "Lion", "lion", id="l1"
    )
    path = project.memory(text)
    project.ok("retire", "z1", "--because", "the zoo closed")
    entry = parse(path.read_text(), "x").entries[0]
    assert (entry.status, entry.extra["retired_because"]) == (
        "retired",
        "the zoo closed",
    )
    project.ends(1, "recall", "zebra", "--ranked", "--check")
    project.ok("restore", "z")
    assert path.read_text() == text


def test_restore_brings_an_archived_entry_back_into_its_file(project):
    """The archive keeps it and says that it was restored; the entry is live again,
    without the archive's keys."""
    text = project.entry("Zebra", "zebra", id="z1", status="retired")
    path = project.write("tasks/zoo.md", text + project.entry(id="b1"))
    project.mem("compact")
    archive = project.read("tasks/zoo.archive.md")
    project.ok("restore", "z1")
    entry = next(e for e in parse(path.read_text(), "x").entries if e.id == "z1")
    assert entry.status == "active"
    assert not [key for key in entry.extra if key.startswith("archived")]
    restored = archive.replace("because: retired", "because: restored")
    assert project.read("tasks/zoo.archive.md") == restored
    project.ok("recall", "zebra", "--ranked", "--check")


def test_what_stands_again_is_not_restored_beside_itself(project):
    """Retired or archived, unless that is asked for."""
    text = ("add", "Rebuild the auth\nAfter the schema changed.", "--again")
    for step in ("list", "compact"):
        project.mem(*text)
        old = project.listed()[0]["id"]
        project.mem("retire", old)
        project.mem(step)
        project.ok(*text)
        refused = project.ends(5, "restore", old)
        assert "Rebuild the auth says the same (MEMORY.md:" in refused.err
        assert len(project.listed()) == 1
        project.ok("restore", old, "--again")
        assert len(project.listed()) == 2
        project.memory()


def test_unknown_and_ambiguous_ids_are_usage_errors(project):
    """Exit 2, nothing written, the candidates named."""
    path = project.memory(project.entry(id="abc1"), project.entry(id="abc2"))
    before = path.read_bytes()
    project.ends(2, "retire", "nope")
    both = project.ends(2, "retire", "abc")
    assert "abc1, abc2" in both.err
    project.ends(2, "retire", "abc1", "nope")
    assert path.read_bytes() == before


def test_undo_leaves_what_was_written_by_hand_beside_it(project):
    """Above, below and in the archive; where mem's own text was touched, it refuses."""
    path = project.memory(before := project.entry(id="z1") + "# Head\n\nBy hand.\n")
    project.mem("add", "Lesson\nOne line.")
    path.write_text(f"Top.\n\n{path.read_text()}\nBelow.\n")
    project.ok("undo")
    assert path.read_text() == f"Top.\n\n{before}\nBelow.\n"
    path.write_text("# Head\n")
    project.mem("add", "A zebra\nzebra")
    project.mem("retire", parse(path.read_text(), "x").entries[0].id)
    retired = path.read_text()
    project.mem("compact")
    path.write_text(f"{path.read_text()}\nMore.\n")
    archive = project.root / "MEMORY.archive.md"
    archive.write_text(f"{archive.read_text()}\nNoted.\n")
    assert "\n+zebra" in project.mem("undo", "--dry-run").out
    project.ok("undo")
    assert (path.read_text(), archive.read_text()) == (
        f"{retired}\nMore.\n",
        "\nNoted.\n",
    )
    touched = [
        retired.replace(*each) for each in (("retired", "active"), ("zebra", "lion"))
    ]
    for text in (
        *touched,
        retired * 2,
        retired.replace("zebra", "zebra\nand more"),
        "",
    ):
        path.write_text(text)
        project.ends(5, "undo")
        assert path.read_text() == text


def test_undo_goes_on_before_a_write_that_is_left(project):
    """That one stays as somebody edited it."""
    project.mem("add", "Zebras sleep")
    project.mem("add", "Lions sleep")
    edited = project.read().replace("Lions sleep", "Lions hunt")
    project.memory(edited)
    refused = project.ends(5, "undo")
    assert "hint: mem retire" in refused.err and "--skip" in refused.err
    dry = project.ok("undo", "--skip", "--dry-run")
    assert dry.out.startswith("would leave as it is: add of ")
    assert "nothing would change" not in dry.err
    left = project.ok("undo", "--skip")
    assert left.out.startswith("left as it is: add of ")
    assert left.out.endswith("mem undo now undoes the write before it, add\n")
    assert project.read() == edited
    project.ok("undo")
    assert "Zebras" not in project.read() and "Lions hunt" in project.read()
    project.ends(1, "undo", "--skip")
    project.mem("add", "Herons stand")
    (project.root / "MEMORY.md").unlink()
    gone = project.ends(5, "undo")
    assert "the file is gone" in gone.err and "git restore" in gone.err


def test_undo_takes_back_the_last_write_and_then_the_one_before(project):
    """Each undo goes one write back; without one left it says so and exits 1."""
    path = project.remembers(id="a1")
    states = [path.read_bytes()]
    project.mem("reinforce", "a1")
    states.append(path.read_bytes())
    project.mem("retire", "a1")
    shown = project.mem("undo", "--dry-run")
    assert "-status: retired" in shown.out
    assert path.read_bytes() not in states
    last = project.ok("undo")
    assert path.read_bytes() == states[1]
    assert last.out.startswith("undid retire of ")
    assert last.out.endswith(
        ": MEMORY.md\n  Entry 1 (id a1): as it was before\n"
        "another mem undo undoes the write before it, reinforce\n"
    )
    first = project.ok("undo")
    assert "  Entry 1 (id a1): reinforced 0 times, as before" in first.out
    assert path.read_bytes() == states[0]
    assert "before it" not in first.out
    nothing = project.ends(1, "undo")
    assert "nothing to undo" in nothing.out


def test_undo_goes_past_what_was_forgotten(project):
    """It says so once; what is older is taken back without the words, and a write that
    came later before it."""
    project.mem("init")
    begun = project.memory_file.read_bytes()
    project.mem("add", "Keep the lights on at night")
    project.mem("add", "The zebra crossing is painted on Mondays", "--kind", "fact")
    zebra = next(row["id"] for row in project.listed() if "zebra" in row["title"])
    project.ok("forget", zebra)
    stands = project.memory_file.read_bytes()
    project.mem("add", "Deploys go out on Tuesdays")
    project.ok("undo")
    assert project.memory_file.read_bytes() == stands
    refused = project.ends(5, "undo")
    assert "mem forget of" in refused.err and "another mem undo" in refused.err
    assert project.memory_file.read_bytes() == stands
    while project.read().encode() != begun:
        project.ok("undo")
        assert "zebra" not in project.read()


def test_undo_of_another_root_has_no_forgotten_words_either(project, world, tmp_path):
    """A global entry is written in one repository and forgotten in another."""
    other = tmp_path / "other"
    project.git("init", "-q", str(other))
    project.mem("add", "--level", "global", "Zanzibar quokkas sleep", cwd=other)
    found = project.listed()
    record = next(state_dir().joinpath("undo").rglob("*.json"))
    killed = record.with_name(f".{record.name}.mem-tmp-999999999-0")
    killed.write_bytes(record.read_bytes())
    project.ok("forget", found[0]["id"])
    assert not killed.exists()
    with_words = [
        path
        for path in state_dir().rglob("*")
        if path.is_file() and b"quokka" in _texts(path).lower()
    ]
    assert not with_words
    project.mem("undo", cwd=other)
    texts = [path.read_text() for path in (world / "home").rglob("MEMORY.md")]
    assert "quokka" not in "".join(texts).lower()


def _texts(path):
    """A file of the state folder, what is packed in an undo record unpacked."""
    if path.parent.parent.name != "undo":
        return path.read_bytes()
    steps = journal.unpacked(path).steps
    return b"".join((step.before or b"") + (step.after or b"") for step in steps)


def test_undo_of_nothing_clears_the_note_of_a_killed_one(project):
    """An undo that was killed at its very end had done all but that."""
    project.mem("add", "The queue holds a million jobs.")
    project.ok("undo")
    lock = state_dir() / "write.lock"
    lock.write_text('{"pid": 1, "verb": "undo", "since": "2026-11-21"}')
    project.ends(1, "undo")
    assert lock.read_text() == ""


def test_a_reason_that_is_a_secret_is_not_written(project):
    project.remembers("Herd", "zebra herds")
    before = project.data()
    entry = project.entries()[0].id
    project.ends(5, "retire", entry, "--because", "the key was ghp_" + "a1B2" * 9)
    assert project.data() == before


@pytest.mark.parametrize("status", ["active", "retired"])
def test_a_restore_brings_back_no_other_entry_that_took_the_id(project, status):
    """Somebody wrote something else under the id of an archived entry."""
    same = {"id": "a" * 8}
    project.memory(project.entry("Zebra one", "Zebras graze.", **same))
    project.ok("retire", "a" * 8)
    project.ok("compact")
    another = project.entry(
        "Another thing", "Pelicans fish at dawn.", status=status, **same
    )
    project.memory(another)
    before = project.read("MEMORY.archive.md")
    refused = project.ends(5, "restore", "a" * 8)
    assert "Zebra one" in refused.err and "Another thing" in refused.err
    assert project.read("MEMORY.archive.md") == before
    other = project.read().replace(f"id: {'a' * 8}\n", "")
    project.write("MEMORY.md", other)
    assert "restored Zebra one" in project.ok("restore", "a" * 8).out
    assert "Pelicans" in project.read() and "Zebras graze" in project.read()
