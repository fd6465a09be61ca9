"""The state file: private, per project, and never in the way."""

import os
import sqlite3
import stat

import pytest

from memcli.storage import files, state
from memcli.storage.state import State

DAY = "2026-11-21"


def shown(*ids):
    return [(entry, "ranked", number, 0.5) for number, entry in enumerate(ids, 1)]


def test_what_was_shown_is_read_back_in_order_and_once(tmp_path):
    """By session; an id that was shown again keeps its first place."""
    log = State(tmp_path, "p")
    log.log_recall("s", shown("b", "a"), DAY)
    log.log_recall("s", [("a", "workflows", 1, None), *shown("c")], DAY)
    log.log_recall("other", shown("x"), DAY)
    assert log.recalled("s") == ["b", "a", "c"]
    assert log.recalled("unknown") == []
    log.close()


def test_projects_and_worktrees_do_not_see_each_other(project):
    """Keyed by git common directory and root: one file for all, each its own rows."""
    project.remembers("Zebra", id="z" * 8)
    project.commit()
    project.git("worktree", "add", "-q", "../linked")
    for folder in (project.root, project.root.parent / "linked"):
        assert project.mem("recall", "zebra", "--session", "s", cwd=folder).err == ""
    db = sqlite3.connect(files.state_dir() / "state.db")
    keys = [
        row[0] for row in db.execute("SELECT DISTINCT project FROM recalls ORDER BY 1")
    ]
    db.close()
    tops = (project.root.parent / "linked", project.root)
    assert set(keys) == {f"{project.root}/.git\0{top}" for top in tops}


def test_the_state_file_is_private(tmp_path):
    """0600 in a 0700 folder, whatever the umask."""
    old = os.umask(0)
    try:
        state = State(tmp_path / "mem", "p")
        state.recalled("s")
        state.close()
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "mem/state.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "mem").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "kind", ["noise", "folder", "no folder", "wrong tables", "locked"]
)
def test_a_state_file_in_trouble_costs_a_note_not_the_answer(
    project, kind, monkeypatch
):
    """Recall answers, says that the log was skipped, and leaves the file as it was."""
    project.remembers("Zebra", "Stripes.")
    path = files.state_dir() / "state.db"
    lock = None
    path.parent.parent.mkdir(parents=True)
    if kind == "no folder":
        path.parent.write_text("in the way")
    else:
        path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
    elif kind == "noise":
        path.write_text("noise " * 1000)
    elif kind != "no folder":
        lock = sqlite3.connect(path, isolation_level=None)
        lock.execute("CREATE TABLE recalls (project, session)")
        if kind == "locked":
            lock.execute("DROP TABLE recalls")
            lock.execute("BEGIN EXCLUSIVE")
            monkeypatch.setattr(state, "LOG_WAIT", 0.05)
    before = path.read_bytes() if path.is_file() else b""
    result = project.mem("recall", "zebra", "--session", "s")
    assert (result.code, "Zebra" in result.out) == (0, True)
    assert result.err.startswith("mem: the recall log was skipped: ")
    assert len(result.err.splitlines()) == 1
    if lock is not None:
        lock.close()
    elif path.is_file():
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    "session",
    ["a'b\"; DROP TABLE recalls; --", "\udcff\udcfe", "\ud800", "x" * 100000, "斑马"],
)
def test_any_session_name_can_be_logged(project, session):
    """Whatever an agent calls its session."""
    project.remembers("Zebra", id="z" * 8)
    result = project.mem("recall", "zebra", "--session", session)
    assert (result.code, result.err) == (0, "")
    log = State(files.state_dir(), f"{project.root}/.git\0{project.root}")
    assert log.recalled(session) == ["z" * 8]
    log.close()


def test_answers_that_cannot_all_be_kept_are_not_kept(tmp_path):
    """One that SQLite refuses takes the others back: half of a lesson is asked for
    again."""
    history = State(tmp_path, "p")
    with pytest.raises(Exception, match="NOT NULL"), history.transaction():
        history.note(
            "health",
            [("2026-11-20", 1.0, 1, 1, "{}"), ("2026-11-21", None, 1, 1, "{}")],
        )
    assert history.snapshots() == []
    history.close()
