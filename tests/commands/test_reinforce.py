"""mem reinforce: once per session, never lost, FSRS by hand."""

import json
import sqlite3

import pytest

from memcli.memory.parser import parse
from memcli.storage.files import state_dir


def entry_of(project, entry_id, name="MEMORY.md"):
    entries = parse(project.read(name), name).entries
    return next(entry for entry in entries if entry.id == entry_id)


def counts(project, ids):
    return [entry_of(project, entry_id).reinforcement_count for entry_id in ids]


def test_ids_gain_one_and_todays_date_and_nothing_else_changes(project):
    """As something to remember, the date alone; the rest of the file stays byte for byte."""
    used = project.entry(id="a", reinforcement_count=3, last_reinforced="2026-01-01")
    text = used + project.entry(id="b")
    path = project.memory(text)
    wanted = text.replace("2026-01-01", "2026-11-21")
    project.ok("reinforce", "a=remember")
    assert path.read_text() == wanted
    path.write_text(text)
    project.ok("reinforce", "a")
    assert path.read_text() == wanted.replace("count: 3", "count: 4")


def test_a_run_that_was_killed_before_it_remembered_counts_once(project):
    """The state file knows nothing: the write's own note tells the next run."""
    project.memory(project.entry(id="a"), project.entry(id="b"))
    project.ok("reinforce", "a", "--session", "s1")
    with sqlite3.connect(state_dir() / "state.db") as db:
        assert db.execute("DELETE FROM reinforced").rowcount == 1
    db.close()
    assert "already" in project.mem("reinforce", "a", "b", "--session", "s1").out
    assert counts(project, "ab") == [1, 1]
    project.ok("reinforce", "a", "--session", "s2")
    assert counts(project, "a") == [2]


def test_a_session_reinforces_what_it_was_shown(project):
    """The recall log gives the ranked hits of the session, and of no other."""
    zebra = project.entry("Zebra", "zebra stripes", id="z")
    project.memory(zebra + project.entry("Lion", "lion mane", id="l"))
    project.mem("recall", "zebra", "--session", "s1")
    project.ok("reinforce", "--session", "s1")
    assert counts(project, "zl") == [1, 0]
    assert "nothing to reinforce" in project.mem("reinforce", "--session", "other").out


def test_retired_entries_are_left_and_survivors_count_for_what_was_merged(project):
    """Also when the merged original is in the archive."""
    gone = project.entry(id="g", archived_because="merged")
    project.write("MEMORY.archive.md", gone)
    survivor = project.entry(id="s", merged_from=["g"])
    project.memory(project.entry(id="r", status="retired") + survivor)
    result = project.ok("reinforce", "r", "g", "s")
    assert "1 retired" in result.out
    assert counts(project, "rs") == [0, 1]


def test_ids_that_are_typed_must_be_known(project):
    """Their beginning is enough if it is one entry's; in a list unknown ones are passed
    over."""
    project.memory(project.entry(id="abcd1234-x"), project.entry(id="abef"))
    project.ok("reinforce", "abcd")
    project.ends(2, "reinforce", "ab")
    typed = project.ends(3, "reinforce", "nope", "abcd")
    assert "nope" in typed.err
    listed = "\n".join(
        line.split("\t")[0] for line in project.mem("list").out.splitlines()
    )
    result = project.ok("reinforce", "-", input=f"{listed}\n\nnope\n")
    assert "1 unknown" in result.out
    assert entry_of(project, "abcd1234-x").reinforcement_count == 3


def test_aligned_strengthens_what_the_session_says_and_weakens_the_rest(project):
    """30 % of the words of four letters or more; below it one less, never under 0."""
    project.memory(
        project.entry("Used", "Freeze clock inside cart tests", id="u"),
        project.entry(
            "Ignored", "Terraform state locking bucket", id="i", reinforcement_count=1
        ),
        project.entry("Zero", "Playwright selector payment button", id="z"),
    )
    shown = "<recalled-memory>Terraform state locking bucket</recalled-memory>"
    said = [{"type": "text", "text": "I froze the clock: cart tests pass"}]
    messages = [
        {"role": "assistant", "content": said},
        {"role": "user", "content": shown},
    ]
    lines = "".join(json.dumps({"message": message}) + "\n" for message in messages)
    path = project.write("~/t.jsonl", lines)
    project.ok("reinforce", "u", "i", "z", "--session", str(path))
    assert counts(project, "uiz") == [1, 0, 0]


@pytest.mark.parametrize(
    ("rating", "stability", "count"),
    [
        ("again", 0.7179, 0),
        ("hard", 13.796, 1),
        ("good", 21.411, 1),
        ("easy", 38.088, 1),
    ],
)
def test_ratings_follow_fsrs(project, rating, stability, count):
    """A review on day 7 gives the golden stabilities; the second one of a day is
    none."""
    project.remembers(id="a", created_at="2026-11-14")
    project.ok("reinforce", f"a={rating}")
    entry = entry_of(project, "a")
    assert entry.extra["stability"] == pytest.approx(stability, rel=1e-3)
    assert (entry.reinforcement_count, entry.last_reinforced) == (count, "2026-11-21")
    before = project.data()
    project.ok("reinforce", "a=easy")
    assert project.data() == before


def test_what_cannot_be_asked_for_is_a_usage_error(project):
    """Exit 2 with the allowed values; successes are counted on workflows alone, never
    below 0."""
    project.memory(project.entry(id="w", kind="workflow"), project.entry(id="a"))
    bad = project.ends(2, "reinforce", "a=great")
    assert "again, hard, good, easy" in bad.err
    for args in (
        "",
        "a --set reinforce_mode=guess",
        "a --set reinforce_mode=aligned",
        "a=worked",
    ):
        project.ends(2, "reinforce", *args.split())
    for verdict, count in (("worked", 1), ("failed", 0), ("failed", 0)):
        project.mem("reinforce", f"w={verdict}")
        assert entry_of(project, "w").extra["success_count"] == count


def test_dry_run_writes_and_remembers_nothing(project):
    """The diff is printed; the session can still be counted."""
    project.remembers(id="a")
    shown = project.mem("reinforce", "a", "--session", "s", "--dry-run")
    assert "+reinforcement_count: 1" in shown.out
    assert counts(project, "a") == [0]
    project.mem("reinforce", "a", "--session", "s")
    assert counts(project, "a") == [1]


def test_a_conflicted_file_is_named_and_left_and_the_rest_is_done(project):
    """Conflict markers: exit 3, that file untouched, other files written; add and
    retire, which write nothing else, refuse (exit 5)."""
    conflict = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
    bad = project.write("tasks/bad.md", project.entry("Bad", id="bad1") + conflict)
    project.remembers("Good", id="good1")
    before = bad.read_bytes()
    result = project.ends(3, "reinforce", "bad1", "good1")
    assert "tasks/bad.md:" in result.err
    assert "conflict markers" in result.err
    assert entry_of(project, "good1").reinforcement_count == 1
    project.ends(5, "retire", "bad1")
    project.memory(project.entry("Good", id="good1") + conflict)
    project.ends(5, "add", "Something else entirely")
    assert bad.read_bytes() == before


def test_without_a_session_every_call_counts_with_one_only_the_first(project):
    """Once per session and id, also after the index was deleted."""
    project.remembers(id="a")
    for _ in range(2):
        project.ok("reinforce", "a")
    for _ in range(3):
        project.ok("reinforce", "a", "--session", "s1")
        project.index_file.unlink()
    assert counts(project, "a") == [3]
    assert "already" in project.mem("reinforce", "a", "--session", "s1").out
