"""The composition root: opens on first use, and closes what it opened."""

import os
import sqlite3
import sys

import pytest

from memcli.app import App, Options
from memcli.commands.browse import browse
from memcli.errors import UsageError
from memcli.memory.filters import Filters
from tests.programs import finished


def app_in(project, where="", **env):
    return App(Options(), {**os.environ, **env}, project.root / where)


def test_nothing_is_opened_until_it_is_needed(project):
    """A bad configuration does not keep a command from what needs none of it."""
    project.write(".mem.toml", "broken")
    with app_in(project) as app:
        assert app.project.root == project.root
        assert app.project.now.isoformat() == "2026-11-21"
        with pytest.raises(UsageError):
            _ = app.project.config
    assert sorted(path.name for path in project.root.iterdir()) == [".git", ".mem.toml"]


def test_the_index_is_closed_at_the_end(project):
    """SQLite's own files beside it are gone when the command is."""
    project.remembers()
    with app_in(project) as app:
        app.refresh()
    assert sorted(path.name for path in project.root.iterdir()) == [
        ".git",
        ".memory.db",
        "MEMORY.md",
    ]


def test_long_work_says_how_far_it_is(project):
    """Of how many files, vectors and parts, wherever a bar listens."""
    project.remembers()
    with app_in(project, MEM_EMBEDDER="local") as app:
        told = {}
        app.count = lambda *done: told.setdefault(done)
        browse(app, Filters())
    begun, *rest = told
    assert rest[:2] == [("file", 1, 1), ("vector", 1, 1)]
    assert [begun, *rest[2:]] == [("part", done, 4) for done in range(4)]


def test_a_working_directory_that_is_gone_is_a_usage_error(project):
    """Exit 2 with a hint, not a traceback."""
    gone = project.root / "gone"
    gone.mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); from memcli.cli.program import run; sys.exit(run(['list']))"
    process = finished(sys.executable, "-c", code, code=2, cwd=gone)
    assert "mem: the working directory is gone\nhint: " in process.stderr


def test_a_damaged_index_is_mended_in_the_middle_of_an_answer(project):
    """`guarded` builds anew and asks again; a damage that stays is not tried for
    ever."""
    project.remembers("Zebra")
    with app_in(project) as app:
        app.refresh()
        app.index.db.execute("DROP TABLE chunks")
        assert len(app.guarded(lambda: app.index.entries.copies())) == 1
        assert [note for note in app.notes if "built anew" in note]
        with pytest.raises(sqlite3.DatabaseError):
            app.guarded(lambda: app.index.db.execute("SELECT nonsense FROM chunks"))


def test_wants_of_a_writer_are_read_again_under_the_lock(project):
    """What was added between the first look and the lock is seen by the plan."""
    project.remembers("One")
    with app_in(project) as app:
        assert [file.name for file in app.project.listing.files] == ["MEMORY.md"]
        project.write("tasks/new.md", project.entry("Two"))

        class Seen:
            patches = ()

            def __init__(self):
                self.names = [file.name for file in app.project.listing.files]

        assert app.write(Seen, "test").names == [
            "MEMORY.md",
            "tasks/new.md",
        ]
