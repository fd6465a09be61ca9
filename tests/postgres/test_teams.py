"""A reader of one team never sees a row of another."""

import psycopg
import pytest

from tests.postgres.conftest import TABLES, found, push


@pytest.fixture
def teams(project, shared, other, monkeypatch):
    """Projects of team a (`project`) and team b, with the same words; readers and
    pushers of both."""
    shared.do(
        "CREATE ROLE team_a NOLOGIN",
        "CREATE ROLE team_b NOLOGIN",
        *(
            f"CREATE ROLE {role}_{team} LOGIN PASSWORD 'pw' IN ROLE team_{team}"
            for team in "ab"
            for role in ("reader", "pusher")
        ),
        "CREATE ROLE nobodys LOGIN PASSWORD 'pw'",
        "GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA mem"
        " TO pusher_a, pusher_b",
    )
    second = other("second")
    for repository, team in ((project, "a"), (second, "b")):
        repository.memory(
            repository.entry(
                f"Of {team}",
                f"zebra {team}secretof",
                id=f"id-{team}",
                tags=["x"],
                paths=["src/**"],
                kind="pitfall",
            )
        )
        repository.write(
            "MEMORY.archive.md",
            repository.entry(
                f"Old of {team}", f"zebra {team}secretof", id=f"old-{team}"
            ),
        )
        monkeypatch.setenv(
            "MEM_STORE_URL", shared.server.url(shared.name, f"pusher_{team}", "pw")
        )
        monkeypatch.setenv("MEM_STORE_TEAM", f"team_{team}")
        push(repository, "--archived")
    monkeypatch.setenv(
        "MEM_STORE_URL", shared.server.url(shared.name, "reader_a", "pw")
    )
    yield project
    shared.do(f"DROP OWNED BY {', '.join(ROLES)}", f"DROP ROLE {', '.join(ROLES)}")


ROLES = "reader_a pusher_a reader_b pusher_b nobodys team_a team_b".split()


@pytest.mark.parametrize(
    "filters",
    [
        [],
        ["--archived"],
        ["--level", "project"],
        ["--type", "procedural"],
        ["--kind", "pitfall"],
        ["--tag", "x"],
        ["--store", "archive"],
        ["--path", "src/a"],
        ["--since", "2020-01-01"],
        ["--until", "2030-01-01"],
        ["--ranked"],
        ["--set", "fusion=bm25"],
        ["--set", "limit=1000"],
    ],
    ids=" ".join,
)
def test_no_filter_shows_another_team(vectors, teams, filters):
    """The reader of team a finds its own under every filter, and nothing of team b."""
    for task in ("zebra", "bsecretof zebra", "=t:team_b zebra"):
        titles = found(teams, task, *filters)
        assert titles and not [title for title in titles if title.endswith("of b")], (
            task
        )
    assert found(teams, "bsecretof", *filters, "--set", "fusion=bm25") == []


def test_rows_of_another_team_are_hidden_from_sql(teams, shared):
    """Every table shows the reader its team's rows alone, counted, joined or asked for
    by key."""
    for table in TABLES:
        assert (
            shared.rows(f"SELECT count(*) FROM mem.{table} WHERE team = 'team_b'")[0][0]
            > 0
        )
        assert shared.rows(
            f"SELECT DISTINCT team FROM mem.{table}", role="reader_a"
        ) == [("team_a",)]
        assert (
            shared.rows(
                f"SELECT * FROM mem.{table} WHERE team <> 'team_a'", role="reader_a"
            )
            == []
        )
        assert shared.rows(f"SELECT * FROM mem.{table}", role="nobodys") == []


@pytest.mark.parametrize("chunks", [2, 1_000_000], ids=["few", "many"])
def test_the_searches_on_the_server_know_the_reader(teams, shared, chunks):
    """Called directly, with any filter and for any project, they show the team's own
    rows alone."""
    shared.do(f"UPDATE mem.projects SET chunks = {chunks}")
    [(theirs,)] = shared.rows(
        "SELECT project::text FROM mem.projects WHERE team = 'team_b'"
    )
    vector = "vector = '[1,2,3]'::mem.halfvec"
    shared.do(f"UPDATE mem.chunks SET model = 'm', dim = 3, {vector}")
    everything = '{"store": ["memory", "archive", "proxy", "institutional"]}'
    only = f'{{"store": ["memory", "archive"], "project": ["{theirs}"]}}'
    lexical = (
        "SELECT project::text FROM mem.lexical('zebra', '{zebra}', '{1}', 99, 99, %s)"
    )
    nearest = "SELECT project::text FROM mem.nearest('[1,2,3]', 'm', 3, 99, %s)"
    standing = (
        "SELECT project::text FROM mem.standing(ARRAY[%s::uuid], '{id-b,old-b}', %s)"
    )
    for role in ("reader_a", "nobodys", "reader_b"):
        for filters in (everything, only):
            for statement, values in (
                (lexical, (filters,)),
                (nearest, (filters,)),
                (standing, (theirs, filters)),
            ):
                seen = {row[0] for row in shared.rows(statement, *values, role=role)}
                assert (theirs in seen) == (role == "reader_b"), (
                    role,
                    statement,
                    filters,
                )
    assert shared.rows("SELECT mem.teams()", role="nobodys") == [([],)]
    counts = "SELECT mem.counts('{bsecretof}', 99, %s)"
    for role, count in (("reader_a", 0), ("nobodys", 0), ("reader_b", 2)):
        for filters in ("{}", f'{{"project": ["{theirs}"]}}'):
            assert shared.rows(counts, filters, role=role) == [([count],)], role


@pytest.mark.parametrize("chunks", [2, 1_000_000], ids=["few", "many"])
def test_a_model_name_is_no_sql(teams, shared, chunks):
    """What a reader hands to the searches that run with the owner's rights is a
    value."""
    shared.do(f"UPDATE mem.projects SET chunks = {chunks}")
    nearest = "SELECT * FROM mem.nearest('[1]', %s, 1, 9, '{\"store\": [\"memory\"]}')"
    for model in ("x' OR true --", "x'; DELETE FROM mem.chunks; --", "%s", "$1"):
        assert shared.rows(nearest, model, role="reader_a") == []
    lexical = (
        "SELECT * FROM mem.lexical(%s, ARRAY[%s], '{1}', 9, 9,"
        ' \'{"store": ["memory"]}\')'
    )
    counts = "SELECT mem.counts(ARRAY[%s], 9, '{}')"
    for word in ("'", "a') IS NOT NULL OR true --", "%s $1 %I"):
        quoted = "'" + word.replace("'", "''") + "'"
        assert shared.rows(lexical, quoted, quoted, role="reader_a") == []
        assert shared.rows(counts, quoted, role="reader_a") == [([0],)]


def test_the_role_that_was_set_counts(teams, shared):
    """Who may read both teams and takes the role of one sees that one."""
    shared.do("CREATE ROLE member LOGIN PASSWORD 'pw' IN ROLE team_a, team_b")
    try:
        with shared.connect("member") as connection:
            connection.execute("SET ROLE team_b")
            assert connection.execute("SELECT mem.teams()").fetchall() == [
                (["team_b"],)
            ]
            seen = connection.execute("SELECT DISTINCT team FROM mem.chunks").fetchall()
            assert seen == [("team_b",)]
        with shared.connect("reader_a") as connection:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SET ROLE team_b")
            with pytest.raises(psycopg.Error):
                connection.execute("SELECT set_config('role', 'team_b', false)")
    finally:
        shared.do("DROP ROLE member")


def test_readers_do_not_write(teams, shared):
    """A reader may change nothing; a pusher nothing of another team, nor give rows away
    to it."""
    for role in ("reader_a", "pusher_a"):
        with shared.connect(role) as connection:
            for table in TABLES:
                update = f"UPDATE mem.{table} SET team = 'team_b'"
                delete = f"DELETE FROM mem.{table}"
                for statement in (update, delete) if role == "reader_a" else (update,):
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        connection.execute(statement)
        assert shared.rows("SELECT count(*) FROM mem.chunks WHERE team = 'team_b'") == [
            (2,)
        ]


def test_a_push_for_another_team_is_refused(teams, shared, monkeypatch):
    """Who is in team b alone cannot push for a team it is not in."""
    before = shared.dump()
    teams.remembers("Taken over", "okapi")
    teams.commit()
    monkeypatch.setenv(
        "MEM_STORE_URL", shared.server.url(shared.name, "pusher_b", "pw")
    )
    for team in ("team_a", "no_such_team"):
        monkeypatch.setenv("MEM_STORE_TEAM", team)
        result = teams.mem("index", "--shared")
        assert (result.code, "may not" in result.err) == (4, True), result.err
    assert shared.dump() == before


def test_no_team_bars_another_from_its_own_project(teams, shared, monkeypatch):
    """Team b pushes a clone of the project of team a, and tries to take the place of
    its rows: team a pushes and finds its own as before."""
    shared.do("DELETE FROM mem.projects WHERE team = 'team_a'")
    as_pusher_b = shared.server.url(shared.name, "pusher_b", "pw")
    as_pusher_a = shared.server.url(shared.name, "pusher_a", "pw")
    monkeypatch.setenv("MEM_STORE_URL", as_pusher_b)
    monkeypatch.setenv("MEM_STORE_TEAM", "team_b")
    push(teams)
    monkeypatch.setenv("MEM_STORE_URL", as_pusher_a)
    monkeypatch.setenv("MEM_STORE_TEAM", "team_a")
    push(teams)
    [(key,)] = shared.rows(
        "SELECT project::text FROM mem.projects WHERE team = 'team_a'"
    )
    forged = (
        "INSERT INTO mem.files SELECT %s, 1, 'team_b', path, hash, level, store, job,"
        " task, of, heads, lines FROM mem.files LIMIT 1",
        "UPDATE mem.files SET project = %s",
        "UPDATE mem.chunks SET project = %s",
        "UPDATE mem.projects SET project = %s",
    )
    with shared.connect("pusher_b") as connection:
        for statement in forged:
            with pytest.raises(psycopg.errors.IntegrityError):
                connection.execute(statement, (key,))
    teams.remembers("Of a", "okapi")
    push(teams)
    assert found(teams, "okapi") == ["Of a"]
    monkeypatch.setenv("MEM_STORE_URL", as_pusher_b)
    assert found(teams, "okapi") == []
    assert set(found(teams, "zebra")) == {"Of a", "Of b"}
    shared.check()


def test_a_project_of_two_teams(teams, shared, monkeypatch):
    """Whoever is in both is told of the other team's, which stays as it was; without
    a team, a push of what several teams have is refused."""
    monkeypatch.setenv("MEM_STORE_URL", shared.url)
    monkeypatch.setenv("MEM_STORE_TEAM", "team_b")
    before = shared.rows("SELECT * FROM mem.chunks WHERE team = 'team_a' ORDER BY id")
    result = teams.ok("index", "--shared")
    assert "team_a has this project, too" in result.err, result.err
    after = shared.rows("SELECT * FROM mem.chunks WHERE team = 'team_a' ORDER BY id")
    assert after == before
    monkeypatch.delenv("MEM_STORE_TEAM")
    result = teams.mem("index", "--shared")
    assert (result.code, "team_a, team_b" in result.err) == (2, True), result.err
