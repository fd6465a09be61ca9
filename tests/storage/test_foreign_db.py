"""Databases of other programs: whatever is in them, reading ends."""

import sqlite3
from contextlib import closing

import pytest

from memcli.errors import DataError
from memcli.sessions.reader import read_all
from memcli.storage import sqlite

OPENCODE = """
    CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, time_created INT);
    CREATE TABLE message (id TEXT, session_id TEXT, time_created INT, data TEXT);
    CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
"""
ENDLESS = "CREATE VIEW {0} AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT {1} FROM n"
VIEWS = {
    "session": "id, NULL AS parent_id, '/' AS directory, id AS time_created",
    "message": "'m' AS id, 's' AS session_id, id AS time_created, '{}' AS data",
    "part": "id, 'm' AS message_id, 's' AS session_id, '{}' AS data",
}


def made(path, script):
    """A database that a script makes."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"PRAGMA page_size = 512; {script}")
    return path


def _nested(path, table, depth=12):
    """Let each page of a table name the next one many times: more rows than anybody can
    count."""
    with closing(sqlite3.connect(path)) as db:
        (root,) = db.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
        ).fetchone()
    data = bytearray(path.read_bytes())
    pages = len(data) // 512
    leaf = data[(root - 1) * 512 : root * 512]
    levels = [_interior(pages + 1 + number) for number in range(depth)]
    data[(root - 1) * 512 : root * 512] = levels[0]
    for page in (*levels[1:], leaf):
        data += page
    data[28:32] = (len(data) // 512).to_bytes(4, "big")
    path.write_bytes(data)
    return path


def _interior(child):
    """A page of a table's tree that names one child forty times."""
    cells = [child.to_bytes(4, "big") + bytes([number + 1]) for number in range(40)]
    starts = [512 - 5 * (number + 1) for number in range(40)]
    head = (
        b"\x05\0\0"
        + len(cells).to_bytes(2, "big")
        + starts[-1].to_bytes(2, "big")
        + b"\0"
    )
    page = (
        head
        + child.to_bytes(4, "big")
        + b"".join(start.to_bytes(2, "big") for start in starts)
    )
    return page.ljust(starts[-1], b"\0") + b"".join(reversed(cells))


@pytest.mark.parametrize("table", VIEWS)
def test_a_view_without_an_end_is_no_table(tmp_path, table):
    """A view in the place of a table is refused before it is read."""
    path = made(tmp_path / "x.db", OPENCODE)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"DROP TABLE {table}")
        db.execute(ENDLESS.format(table, VIEWS[table]))
        db.commit()
    with pytest.raises(DataError, match=f"no table of {table}"):
        read_all(path)


def test_a_tree_that_bites_its_tail_is_given_up(tmp_path):
    """A damaged file of a few kilobytes that seems to hold 40 to the 12th rows is an
    error in words."""
    script = f"{OPENCODE} INSERT INTO session VALUES ('s', NULL, '/', 1);"
    path = made(tmp_path / "x.db", script)
    assert read_all(path) is not None
    with pytest.raises(DataError, match=r"takes too long|more rows than"):
        read_all(_nested(path, "session"))


def test_the_budget_is_for_the_whole_database(tmp_path, monkeypatch):
    """Many quick questions that add up to the square of what is there are given up,
    too."""
    rows = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)"
    )
    sessions = f"INSERT INTO session {rows} SELECT 's' || i, NULL, '/', i FROM n;"
    messages = (
        f"INSERT INTO message {rows} SELECT 'm' || i, 's' || i, i, '{{}}' FROM n;"
    )
    path = made(tmp_path / "x.db", OPENCODE + sessions + messages)
    assert len(read_all(path)) == 400
    monkeypatch.setattr(sqlite, "MOST_STEPS", 300_000)
    monkeypatch.setattr(sqlite, "STEPS_PER_BYTE", 0)
    with pytest.raises(DataError, match="reading it takes too long"):
        read_all(path)


def test_a_value_that_is_made_on_reading_is_not_too_long(tmp_path):
    """A column that computes 60 MB for a row of a few bytes is refused."""
    huge = "directory TEXT AS (hex(zeroblob(30000000)))"
    row = "INSERT INTO session (id, time_created) VALUES ('s', 1);"
    path = made(tmp_path / "x.db", OPENCODE.replace("directory TEXT", huge) + row)
    with pytest.raises(DataError, match="too big"):
        read_all(path)
