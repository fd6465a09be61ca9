"""What mem forget took away comes back by no later reading of what still has it."""

import pytest

from memcli.memory.tombstones import Forgotten, fold, mark_of
from memcli.storage.files import state_dir
from memcli.storage.journal import unpacked
from tests.commands.talk import held

RULE = "Always use xyzzyplugh from now on in this project, never npm."
TALK = [
    ("user", RULE),
    ("assistant", "ok, xyzzyplugh edited"),
    ("user", "Thanks, and how is the weather in the other hall?"),
    ("assistant", "fine"),
]
LATER = [("user", "Use port 9090 in the invoices from now on."), ("assistant", "done")]


@pytest.fixture
def talk(project):
    """A session of Claude Code, its file, and a commit that says the same."""
    project.git("commit", "--allow-empty", "-qm", RULE, "--date=2026-03-01")
    path = project.home / ".claude/projects/x/sess.jsonl"
    held(path, "sess", project.root, TALK, day="2026-03-04")
    return path


def words(project):
    """The files of ours that have the words, state and history included."""
    places = [project.root.rglob("*.md"), state_dir().rglob("*")]
    files = [path for place in places for path in place if path.is_file()]
    return [path.name for path in files if b"xyzzyplugh" in path.read_bytes()]


@pytest.mark.parametrize("history", ["true", "false"])
@pytest.mark.parametrize("reading", [("extract",), ("extract", "--again"), ("index",)])
def test_no_later_reading_brings_it_back(project, talk, reading, history):
    """By a transcript read again, one that has grown, or a record made anew; what was
    said beside it is still read."""
    setting = {"MEM_HISTORY": history}
    project.ok("extract", str(talk), env=setting)
    rule = project.entries()[0].id
    said = project.ok("forget", rule, env=setting).out
    assert ("--replace-message" in said) == (history == "true")
    for grown in (TALK, TALK + LATER):
        held(talk, "sess", project.root, grown, day="2026-03-04")
        named = ["--history"] if reading[0] == "index" else [str(talk)]
        project.mem(*reading, *named, env=setting)
        found = project.mem("recall", "xyzzyplugh port 9090 invoices", env=setting).out
        assert words(project) == []
        assert "xyzzyplugh" not in found
    assert "9090" in found or (history, reading[0]) == ("false", "index")


def test_what_was_never_read_is_known_too(project, talk):
    """The words are known by themselves, whatever session says them."""
    project.ok("add", RULE)
    project.ok("forget", project.entries()[0].id)
    project.ok("extract", str(talk))
    project.ok("index", "--history")
    assert words(project) == []


def test_what_is_forgotten_everywhere_leaves_every_history(project, talk):
    """A global entry leaves the history of all, also where none is kept by now; and
    undo, whose records of other entries say the same."""
    project.ok("extract", str(talk))
    episode = project.entries("tasks/episodes.md")[0].id
    project.ok("retire", episode)
    project.ok("restore", episode)
    project.write("MEMORY.md", "")
    project.ok("add", RULE, "--level", "global")
    name = project.listed("--level", "global")[0]["id"]
    project.ok("forget", name, env={"MEM_HISTORY": "false"})
    assert words(project) == []
    undone = [unpacked(path) for path in state_dir().glob("undo/*/*.json")]
    assert undone and "xyzzyplugh" not in repr(undone)


@pytest.mark.parametrize("letter", ["а", "a\u0307", "a\ufe0f", "ａ", "a\u200b"])
def test_what_only_looks_different_is_known(project, letter):
    """A word of look-alikes alone, too, where the text is in Latin letters."""
    project.ok("add", "Always restart a worker after a schema migration")
    project.ok("retire", project.entries()[0].id, "--because", "no queue")
    again = "Always restart a worker after a schema migration".replace("a", letter)
    assert "taken back" in project.mem("add", again).err
    assert "Привет" in fold("Привет").title()


def test_an_index_that_was_moved_aside_goes_too(project):
    project.ok("add", RULE)
    project.ok("index")
    index = project.root / ".memory.db"
    index.write_bytes(index.read_bytes().replace(b"SQLite", b"SQLote", 1))
    project.mem("index")
    assert list(project.root.glob(".memory.db.aside-*"))
    project.ok("forget", project.entries()[0].id)
    assert not list(project.root.glob(".memory.db.aside-*"))


def test_marks_know_a_line_within_a_text_and_have_no_words():
    """Of short lines the whole; what is said on a later day counts anew."""
    marks = [
        mark_of(line, "salt")
        for line in (RULE, "Use tabs", "请始终使用四个空格缩进代码")
    ]
    gone = Forgotten(("salt", mark, "2026-03-04") for mark in marks)
    assert gone.is_said(f"Well:\nALWAYS use  XYZZYPLUGH{RULE[21:]} Please.")
    assert gone.is_said("好的，请始终使用四个空格缩进代码。")
    assert gone.is_said("ok\nuse tabs!")
    assert not gone.is_said("we use tabs here")
    assert not gone.is_said("Always use xyzzyplugh from now on")
    assert gone.is_said(RULE, "2026-03-05T23:00:00Z")
    assert not gone.is_said(RULE, "2026-03-06T00:00:00Z")
    assert gone.day_of(RULE.upper()) == "2026-03-04"
    assert "xyzzy" not in "".join(marks)
