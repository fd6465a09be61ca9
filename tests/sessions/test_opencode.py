"""OpenCode's database: read as it is, never made, never written."""

import json
import sqlite3

import pytest

from memcli.sessions.reader import read_all
from tests.sessions import position_of, said

SHOP = "/home/ana/shop"
OTHER = "/home/ana/other"


def add(db, session, number, role, *parts):
    message = f"msg_{session}_{number}"
    row = message, session, 1772618400000 + 1000 * number, json.dumps({"role": role})
    db.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
    for index, part in enumerate(parts):
        data = part if isinstance(part, str) else json.dumps(part)
        row = f"prt_{message}_{index}", message, session, data
        db.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)


def text(words, **more):
    return {"type": "text", "text": words, **more}


@pytest.fixture
def path(tmp_path):
    """A database in WAL mode with three sessions, one of them a sub-agent's, one of
    another folder."""
    path = tmp_path / "opencode.db"
    db = sqlite3.connect(path)
    db.executescript("""
        PRAGMA journal_mode = WAL;
        CREATE TABLE session (id TEXT, project_id TEXT, parent_id TEXT, directory TEXT, time_created INT);
        CREATE TABLE message (id TEXT, session_id TEXT, time_created INT, data TEXT);
        CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
    """)
    rows = [
        ("ses_1", None, SHOP, 1),
        ("ses_2", "ses_1", SHOP, 2),
        ("ses_3", None, OTHER, 3),
    ]
    db.executemany("INSERT INTO session VALUES (?, 'p', ?, ?, ?)", rows)
    state = {"status": "error", "input": {"command": "npm ci"}, "error": "npm ERR!"}
    tool = {"type": "tool", "tool": "bash", "callID": "c", "state": state}
    read_along = text("Called the Read tool: always", synthetic=True)
    add(db, "ses_1", 1, "user", text("why is CI red?"), read_along)
    answer = text("The lockfile is stale.")
    add(db, "ses_1", 2, "assistant", {"type": "step-start"}, answer, tool, "{broken")
    add(
        db,
        "ses_1",
        3,
        "user",
        text("use pnpm here, not npm"),
        text("hidden", ignored=True),
    )
    add(db, "ses_2", 0, "user", text("always squash"))
    add(db, "ses_2", 1, "assistant", text("sub-agent"))
    add(db, "ses_3", 1, "user", text("another project"))
    db.commit()
    db.close()
    return path


def test_a_session_of_the_database(path):
    """Words, tools and errors; synthetic and ignored texts are nobody's; broken JSON is
    counted."""
    session = read_all(path)[0]
    assert (session.format, session.id, session.cwd) == ("opencode", "ses_1", SHOP)
    assert (
        said(session) == ["why is CI red?", "use pnpm here, not npm"]
        and session.skipped == 1
    )
    failed = next(turn for turn in session.turns if turn.error)
    assert (failed.tool, failed.text, failed.origin) == (
        "bash",
        "npm ERR!",
        "tool:bash",
    )
    assert next(turn for turn in session.turns if turn.tool).input == {
        "command": "npm ci"
    }
    assert session.started == "2026-03-04T10:00:01Z"


def test_sessions_are_chosen_by_folder(path):
    """At or below."""
    assert [session.id for session in read_all(path, folders=["/home/ana/shop"])] == [
        "ses_1",
        "ses_2",
    ]
    assert len(read_all(path)) == 3


def test_it_is_not_written(path):
    """The bytes stay."""
    before = path.read_bytes()
    read_all(path)
    assert path.read_bytes() == before


def test_a_grown_database_is_read_on(path):
    """What was added to a session follows what was read; a change in the log alone is
    seen as one."""
    first = read_all(path)[-1]
    db = sqlite3.connect(path)
    add(db, "ses_3", 4, "user", text("and commit the lockfile"))
    db.commit()
    again = read_all(path, start=position_of(first))[-1]
    db.close()
    assert [turn.text for turn in again.turns] == ["and commit the lockfile"]
    assert (again.size, again.mtime) != (first.size, first.mtime)
