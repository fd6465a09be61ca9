"""What can be wrong with a shared index."""

import pytest

from tests.postgres.conftest import found, push
from tests.postgres.server import Server

COMMANDS = (("index", "--shared"), ("recall", "--shared", "zebra"))


@pytest.fixture
def ready(project):
    """A committed project without a memory that a recall could fall back on once it is
    pushed."""
    project.remembers("Herds", "zebra")
    project.commit()
    return project


def says(project, code, *words, env=None):
    """A push ends with `code`, one line and one hint."""
    result = project.mem("index", "--shared", "-q", env=env)
    lines = result.err.strip().split("\n")
    assert result.code == code and len(lines) == 2 and lines[1].startswith("hint: "), (
        result
    )
    for word in words:
        assert word in result.err, result.err
    asked = project.mem("recall", "--shared", "zebra", env=env)
    assert asked.code == (2 if code == 2 else 0) and words[0] in asked.err, asked
    assert "Traceback" not in result.err + asked.err
    for secret in ("hush", Server.password, "s3cr", "%2Ft"):
        assert secret not in result.err + asked.err


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:hush@host/db",
        "host=localhost password=hush",
        "postgresql://me:hush@[::1/db",
        "postgresql://me:hush@host:port/db",
        "postgresql://me:hush@host/db?nonsense=hush",
        "hush",
    ],
)
def test_a_wrong_url_is_a_usage_error(ready, url):
    """Exit 2, and nothing of the URL is printed: there may be a password anywhere in
    it."""
    says(ready, 2, "no PostgreSQL URL", env={"MEM_STORE_URL": url})


def test_the_repository_cannot_name_a_server(ready):
    """The URL comes from the user alone: in the project file it is refused with its
    line."""
    ready.write(".mem.toml", 'store_url = "postgresql://evil:hush@host/db"\n')
    for command in COMMANDS:
        result = ready.mem(*command)
        assert (result.code, ".mem.toml:1" in result.err, "hush" in result.err) == (
            2,
            True,
            False,
        )


def test_a_wrong_password(ready, shared):
    """Exit 4 with the place for the password, which is not printed."""
    url = shared.url.replace("s3cr%2Ft%40pw", "hush")
    says(ready, 4, "does not take the password", "PGPASS", env={"MEM_STORE_URL": url})


def test_no_tables_yet(ready, shared):
    """A database without the tables: a recall names the push that makes them; that push
    says so."""
    shared.do("DROP SCHEMA mem CASCADE")
    result = ready.mem("recall", "--shared", "zebra")
    assert "no shared index yet" in result.err and "mem index --shared" in result.err
    ready.commit()
    pushed = ready.ok("index", "--shared")
    assert "created the tables" in pushed.out + pushed.err
    assert found(ready, "zebra") == ["Herds"]
    push(ready)


@pytest.mark.parametrize(
    ("number", "words"), [(0, "no shared index yet"), (9999, "newer")]
)
def test_another_version_of_the_tables(ready, shared, number, words):
    """Tables of another version are neither read nor written."""
    shared.do(f"UPDATE mem.version SET version = {number}")
    before = shared.dump()
    if number:
        says(ready, 4, words)
    else:
        ready.ends(4, "index", "--shared")
    assert shared.dump() == before


def test_tables_that_cannot_be_made_leave_nothing(ready, shared, monkeypatch):
    """All tables or none: a role that may not make them changes nothing and is told
    so."""
    shared.do("DROP SCHEMA mem CASCADE", "CREATE ROLE weak LOGIN PASSWORD 'pw'")
    try:
        monkeypatch.setenv(
            "MEM_STORE_URL", shared.server.url(shared.name, "weak", "pw")
        )
        ready.commit()
        result = ready.mem("index", "--shared")
        assert (result.code, "may not" in result.err) == (4, True), result.err
        # Half-way: something of the same name is in the way of the last table.
        shared.do("CREATE SCHEMA mem", "CREATE TABLE mem.files ()")
        monkeypatch.setenv("MEM_STORE_URL", shared.url)
        result = ready.mem("index", "--shared")
        assert result.code == 4 and "Traceback" not in result.err, result.err
        tables = shared.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'mem'")
        assert tables == [("files",)]
    finally:
        shared.do("DROP ROLE weak")
