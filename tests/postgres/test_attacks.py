"""What others create in the database is never called by the searches."""

from contextlib import suppress
from itertools import product

import psycopg
import pytest

from tests.postgres.conftest import found, push

OPERATORS = {
    "<=>": ("halfvec, halfvec", "halfvec, vector", "vector, vector"),
    "<#>": ("halfvec, halfvec", "vector, vector"),
    "@@": ("tsvector, tsquery", "tsquery, tsvector"),
    "&&": ("tsquery, tsquery", "tsquery, text"),
    "||": ("tsvector, tsvector", "text, text", "name, text"),
    "->": ("jsonb, text", "json, text"),
    "->>": ("jsonb, text",),
    "?": ("jsonb, text", "jsonb, name"),
    "=": ("text, text", "text, name", "uuid, uuid", "bigint, bigint"),
    "<>": ("text, text", "text, name"),
    ">=": ("text, text",),
    "<=": ("text, text",),
    # Without an exact one, PostgreSQL casts the operands: an exact one would be taken.
    "*": ("double precision, integer", "numeric, integer", "numeric, bigint"),
    "^": ("double precision, integer",),
    "<": ("double precision, numeric", "numeric, bigint"),
    ">": ("integer, bigint",),
}
FUNCTIONS = (
    "pg_has_role(name, oid, text)",
    "pg_has_role(oid, text)",
    "to_regrole(text)",
    "quote_ident(text)",
    "current_setting(text)",
    "unnest(text[])",
    "format(text, text, integer, text, integer, integer)",
    "replace(text, text, text)",
    "vector_dims(halfvec)",
    "halfvec(halfvec, integer, boolean)",
)
TYPES = "uuid tsquery jsonb int text bigint name float8".split()


def traps(schema, vector):
    """Statements that make operators, functions and types under the names that a
    search may use; who is caught by one is written down."""
    yield f"CREATE TABLE {schema}.caught (who text, what text)"
    yield f"GRANT INSERT ON {schema}.caught TO PUBLIC"
    number = 0
    for name, operands in OPERATORS.items():
        for pair in operands:
            number += 1
            left, right = (
                f"{vector}.{machine}" if machine in ("halfvec", "vector") else machine
                for machine in pair.split(", ")
            )
            returned = (
                "boolean" if name in ("@@", "?", "=", "<>", "<", ">") else "float8"
            )
            trap = f"{schema}.trap_{number}"
            yield (
                f"CREATE FUNCTION {trap}({left}, {right}) RETURNS {returned} LANGUAGE"
                f" plpgsql AS $$ BEGIN INSERT INTO {schema}.caught VALUES"
                f" (current_user, $m${name} {pair}$m$); RETURN NULL; END $$"
            )
            yield (
                f"CREATE OPERATOR {schema}.{name}"
                f" (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = {trap})"
            )
    for signature in FUNCTIONS:
        written = signature.replace("halfvec", f"{vector}.halfvec", 2)
        if signature.startswith("halfvec"):
            written = f"halfvec{written.removeprefix(f'{vector}.halfvec')}"
        yield (
            f"CREATE FUNCTION {schema}.{written} RETURNS text LANGUAGE plpgsql AS"
            f" $$ BEGIN INSERT INTO {schema}.caught VALUES (current_user,"
            f" $m${signature}$m$); RETURN NULL; END $$"
        )
    for name in TYPES:
        yield f"CREATE DOMAIN {schema}.{name} AS pg_catalog.text CHECK (false)"


def set_traps(shared, attacker, vector):
    """Set all traps in `public`; pgvector may have an operator of the same types there
    already."""
    with shared.connect(attacker) as connection:
        for statement in traps("public", vector):
            with suppress(psycopg.errors.DuplicateFunction):
                connection.execute(statement)


@pytest.fixture
def attacker(shared):
    """A role that may create in `public`, as a database of old lets everybody."""
    shared.do("CREATE ROLE attacker LOGIN PASSWORD 'pw'")
    yield "attacker"
    shared.do("DROP OWNED BY attacker CASCADE", "DROP ROLE attacker")


def anew(shared, *statements):
    """A database before the first push, and what its administrator did there."""
    shared.do("DROP SCHEMA mem CASCADE", *statements)


@pytest.mark.parametrize("vector", ["mem", "public", '"odd; name"'])
@pytest.mark.parametrize("first", ["attacker", "owner"])
def test_nothing_made_beside_the_index_is_called(
    vectors, project, shared, attacker, first, vector
):
    """Operators, functions and types of an attacker, made before the tables or after
    them, first in the path of everybody: neither a push nor a search calls one."""
    anew(shared, "GRANT CREATE ON SCHEMA public TO attacker")
    place = vector
    if vector != "mem":
        shared.do(f"CREATE SCHEMA IF NOT EXISTS {vector}")
        shared.do(f"CREATE EXTENSION vector SCHEMA {vector}")
    elif first == "attacker":
        shared.do("CREATE SCHEMA mem")
        shared.do("CREATE EXTENSION vector SCHEMA mem")
    project.remembers("Herds", "zebra", paths=["src/*"])
    if first == "owner":
        push(project)
    shared.do(f"GRANT USAGE ON SCHEMA {vector} TO attacker")
    shared.do(f"ALTER DATABASE {shared.name} SET search_path = public, pg_catalog")
    set_traps(shared, attacker, place)
    push(project)
    for filters in ((), ("--path", "src/a"), ("--project", "repo", "--tag", "x")):
        found(project, "zebra crossing", *filters)
    assert found(project, "zebra crossing") == ["Herds"]
    with shared.connect() as connection:
        connection.execute("SET search_path = public, pg_catalog")
        for few, filters in product(
            (1, 1_000_000), ('{"store": ["memory"], "path": true}', "{}")
        ):
            connection.execute("UPDATE mem.projects SET chunks = %s", (few,))
            near = f"[{','.join(['1'] * 256)}]"
            connection.execute(
                "SELECT * FROM mem.nearest(%s, 'local/wordllama-256', 256, 9, %s)",
                (near, filters),
            )
            connection.execute(
                "SELECT * FROM mem.lexical('zebra', '{zebra}', '{1}', 9, 9, %s)",
                (filters,),
            )
            connection.execute("SELECT mem.counts('{zebra}', 9, %s)", (filters,))
            connection.execute("SELECT mem.teams()")
    assert shared.rows("SELECT * FROM public.caught") == []


def test_the_traps_catch(shared, attacker):
    """The traps work: a bare operator in the path of a session runs as who calls."""
    shared.do("GRANT CREATE ON SCHEMA public TO attacker")
    set_traps(shared, attacker, "mem")
    with shared.connect() as connection:
        connection.execute("SET search_path = public, mem, pg_catalog")
        connection.execute("SELECT '[1]'::halfvec <=> '[1]'::halfvec")
        connection.execute("SELECT to_tsvector('a') @@ to_tsquery('a')")
    caught = shared.rows("SELECT * FROM public.caught")
    assert ("postgres", "<=> halfvec, halfvec") in caught
    assert ("postgres", "@@ tsvector, tsquery") in caught


@pytest.mark.parametrize("schema", ["public", "mem"])
def test_tables_are_not_made_where_everybody_may_create(project, shared, schema):
    """Beside pgvector, or in the schema of the tables: refused, with the command that
    helps, and nothing is made."""
    anew(
        shared,
        f"CREATE SCHEMA IF NOT EXISTS {schema}",
        f"GRANT CREATE ON SCHEMA {schema} TO PUBLIC",
        f"CREATE EXTENSION vector SCHEMA {schema}",
    )
    project.remembers("Herds", "zebra")
    project.commit()
    result = project.ends(5, "index", "--shared")
    assert f"everybody may create in the schema {schema}" in result.err
    assert f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC" in result.err
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'mem'"
    assert shared.rows(tables) == []
    shared.do(f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC")
    push(project)
    assert found(project, "zebra") == ["Herds"]


def test_tables_are_not_made_in_the_schema_of_another(project, shared, monkeypatch):
    """Whoever owns the schema could take the tables away and put others there."""
    shared.do("CREATE ROLE landlord LOGIN", "CREATE ROLE tenant LOGIN PASSWORD 'pw'")
    try:
        anew(
            shared,
            "CREATE SCHEMA mem AUTHORIZATION landlord",
            "CREATE EXTENSION vector SCHEMA mem",
            "GRANT ALL ON SCHEMA mem TO tenant",
            f"GRANT CREATE ON DATABASE {shared.name} TO tenant",
        )
        as_tenant = shared.server.url(shared.name, "tenant", "pw")
        monkeypatch.setenv("MEM_STORE_URL", as_tenant)
        project.remembers("Herds", "zebra")
        project.commit()
        result = project.mem("index", "--shared")
        assert (result.code, "of another role" in result.err) == (5, True), result
    finally:
        shared.do(
            "DROP OWNED BY tenant, landlord CASCADE", "DROP ROLE tenant, landlord"
        )


def test_a_row_that_would_keep_others_from_an_index_is_refused(project, shared):
    """A vector has the dimension that its row says."""
    project.remembers("Herds", "zebra")
    push(project)
    with pytest.raises(psycopg.errors.CheckViolation):
        shared.do("UPDATE mem.chunks SET model = 'm', dim = 3, vector = '[1,2]'")


HOSTILE = (
    "metadata = '[]'",
    'metadata = \'{"importance": "x", "count": [], "promoted_to": 5}\'',
    'metadata = \'{"importance": 1e300, "surprise": {}, "stability": ""}\'',
    'metadata = \'{"paths": 7, "created": [1], "date": {}, "tags": "x"}\'',
    'metadata = metadata || \'{"created": "9999-99-99", "session_id": 5}\'',
    "vector = (vector::text::mem.vector * array_fill(9, ARRAY[256])::mem.vector)"
    "::mem.halfvec",
    "vector = (vector::text::mem.vector * array_fill(0.7, ARRAY[256])::mem.vector)"
    "::mem.halfvec",
    "entry = E'\\x1b[31m' || entry",
    "part = -1",
    "head = 5",
    "kind = E'\\x1b[31m'",
    "date = 'yesterday', begins = '', ends = ''",
    "around = 'x'",
    "model = 'local/wordllama-256', dim = 1, vector = '[1]'",
)
HOSTILE_FILES = (
    "level = 'x'",
    "store = 'x', of = 'y'",
    "heads = '{}'",
    "lines = '{}'",
    "path = E'../../\\x1b[31m'",
)


@pytest.mark.parametrize(
    "change",
    [
        *(f"chunks SET {change}" for change in HOSTILE),
        *(f"files SET {change}" for change in HOSTILE_FILES),
    ],
)
def test_rows_that_no_push_wrote_do_not_end_a_recall(vectors, project, shared, change):
    """Who may push for a team may write anything into its rows: what cannot be is
    passed over, and nothing of it reaches a terminal."""
    entries = [
        project.entry(f"Herds {number}", f"zebra crossing {number}")
        for number in range(3)
    ]
    project.memory(*entries)
    push(project)
    shared.do("SET search_path = mem, pg_catalog", f"UPDATE mem.{change}")
    for options in ((), ("--explain",), ("--path", "src/a"), ("--json",)):
        result = project.ok("recall", "--shared", *options, "zebra crossing")
        assert "\x1b" not in result.out + result.err
