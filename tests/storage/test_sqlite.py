"""All or nothing, and of one moment: on a real index file with two connections."""

import sqlite3

import pytest

from memcli.storage.files import snapshot, transaction


@pytest.fixture
def pair(tmp_path):
    first, other = (
        sqlite3.connect(tmp_path / "a.db", isolation_level=None, timeout=0.1)
        for _ in range(2)
    )
    first.execute("PRAGMA journal_mode = WAL")
    first.execute("CREATE TABLE t (x)")
    return first, other


def count(db):
    return int(db.execute("SELECT count(*) FROM t").fetchone()[0])


def test_what_fails_is_not_written(pair):
    """An error inside takes back what was written before it, and the connection can be
    used again."""
    laptop, other = pair
    with pytest.raises(ZeroDivisionError), transaction(laptop):
        laptop.execute("INSERT INTO t VALUES (1)")
        raise ZeroDivisionError
    assert count(other) == 0
    with transaction(laptop):
        laptop.execute("INSERT INTO t VALUES (1)")
    assert count(other) == 1


def test_other_writers_are_kept_out_from_the_beginning(pair):
    """Not only from the first write on: what is read inside cannot turn stale."""
    laptop, other = pair
    with transaction(laptop), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("INSERT INTO t VALUES (1)")


def test_a_snapshot_is_of_one_moment(pair):
    """What others write while it is open is seen after it, and they need not wait for
    it."""
    laptop, other = pair
    with snapshot(laptop):
        assert count(laptop) == 0
        other.execute("INSERT INTO t VALUES (1)")
        assert count(laptop) == 0
    assert count(laptop) == 1
