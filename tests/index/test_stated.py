"""Values of manifests that entries state."""

from contextlib import suppress

import pytest

from memcli.index import manifests
from memcli.index.stated import KEYS, StatedValue, agrees, parse_statement, statements
from tests.index.test_targets import states

MANIFESTS = {
    "package.json": '{"engines": {"node": ">=20 <23", "vscode": "^1.90.0"},'
    ' "packageManager": "pnpm@9.4.0+sha512.ab"}',
    "pyproject.toml": '[project]\nrequires-python = ">=3.11"\n',
    "go.mod": "module x\n\ngo 1.22.3\n",
    "Cargo.toml": '[package]\nname = "x"\nrust-version = "1.75"\n',
    "app/build.gradle.kts": "android {\n  compileSdk = 35\n  minSdkVersion(28)\n}\n",
    "Dockerfile": "FROM --platform=linux/amd64 docker.io/library/nginx:1.27-alpine\n",
    "compose.yaml": "services:\n  db:\n    image: postgres:16.2\n    ports:\n"
    '      - "9090:5432"\n',
}
AGREES = (
    *("Use Node 20.", "We run Node.js 22 in CI", "Node >= 20 is needed", "node v20.11"),
    *("pnpm 9 only", "VS Code 1.90", "Python 3.11 or newer", "At least Python 3.11"),
    *("Python 3.12", "Go 1.22", "go version 1.22.3", "MSRV is 1.75", "Rust 1.75"),
    *("minimum SDK is 28", "minSdkVersion 28", "compile SDK: 35", "Postgres 16"),
    *("PostgreSQL 16.2", "nginx 1.27", "listens on port 9090", "port 5432 inside"),
    *("VS Code 1.95", "pnpm@9.4.0", "`postgres:16-alpine`", "Python (3.11+)"),
    "**Node.js**: 20.x",
)
DIFFERS = {
    "Use Node 18.": "says Node 18, package.json says >=20 <23",
    "Built with Node 8": "says Node 8, package.json says >=20 <23",
    "Node 18+ is needed": "says Node 18+, package.json says >=20 <23",
    "We pin pnpm 8.": "says pnpm 8, package.json says 9.4.0",
    "Needs VS Code 1.80": "says VS Code 1.80+, package.json says ^1.90.0",
    "Python 3.9 or newer": "says Python 3.9+, pyproject.toml says >=3.11",
    "Code must run on Python 3.10.": "says Python 3.10, pyproject.toml says >=3.11",
    "Go 1.21": "says Go 1.21, go.mod says 1.22.3",
    "The MSRV is 1.70": "says Rust 1.70, Cargo.toml says 1.75",
    "The minimum SDK is 26.": "says minSdk 26, app/build.gradle.kts says 28",
    "compileSdk = 34": "says compileSdk 34, app/build.gradle.kts says 35",
    "Postgres 14 in production": "says Postgres 14, compose.yaml says 16.2",
    "nginx 1.25": "says Nginx 1.25, Dockerfile says 1.27-alpine",
    "**Node.js**: 16.x": "says Node 16, package.json says >=20 <23",
    "Node.js (v16+)": "says Node 16+, package.json says >=20 <23",
    "`postgres:14-alpine`": "says Postgres 14, compose.yaml says 16.2",
    "The minimum nginx image version is 1.25": "says Nginx 1.25+, Dockerfile says 1.27-alpine",
    "Minimum SDK: API 21": "says minSdk 21, app/build.gradle.kts says 28",
}
SILENT = (
    *("Since Node 18 fetch is there.", "Upgraded from pnpm 8 to 9.", "node 3 is down"),
    *(
        "Node 16 → 20",
        "python 2 is not supported",
        "Go 2 the shop",
        "Ruby 3.2",
        "port 1",
    ),
    *("For packages with Python 3.9+", "If you use Node 16, upgrade.", "On Node 16?"),
    *("`x install --python=python3.9`", "`y` says `cow 2, Python 3.9.1`", "python3.8"),
    *("Since 0.4 it uses modules built into Go 1.11.",),
    *(
        "Node 10 shipped with workers.",
        "It was unflagged in Node 11.7.0 behind a flag.",
    ),
    *("`1.32.x` lasts until September. (MSRV 1.63)", "This release needs Node 12."),
    *("It was measured on Linux with Node 16.",),
    *("Postgres: 5432", "nginx: 80", "Postgres (16 connections)", "a Postgres 16-way"),
    *("redis 7", "Unlike Python 3.9, this works.", "Deno 2", "postgres-14 is a host"),
)


@pytest.fixture
def stated(project):
    """What doctor says of each sentence."""
    for name, text in MANIFESTS.items():
        project.write(name, text)
    lines = [*AGREES, *DIFFERS, *SILENT]
    entries = (
        project.entry(f"E{number}", line, id=f"e{number}")
        for number, line in enumerate(lines)
    )
    project.memory(*entries)
    project.commit("start")
    found = states(project)
    return {line: found.get(f"E{number}", "") for number, line in enumerate(lines)}


def test_a_value_that_the_manifest_contradicts_is_named(stated):
    """With what the manifest says; what agrees, or speaks of another time, is not."""
    assert {line: said for line, said in stated.items() if said} == DIFFERS


def test_it_is_marked_until_they_agree_again(project):
    project.write("package.json", '{"engines": {"node": "18"}}')
    project.write("compose.yaml", 'services:\n  web:\n    ports: \n      - "8080:80"\n')
    note = project.entry("Runtime", "We build with Node 18 on port 8080.", id="n1")
    project.memory(note)
    project.commit("start")
    project.mem("index")
    asked = "recall", "what do we build with", "--json"
    assert "gone" not in project.mem(*asked).hits[0]
    project.write("package.json", '{"engines": {"node": "22"}}')
    project.write("compose.yaml", 'services:\n  web:\n    ports: \n      - "9090:80"\n')
    project.commit("newer")
    commit = project.git("rev-parse", "--short", "HEAD").strip()
    project.mem("index")
    assert project.mem(*asked).hits[0]["gone"] == ("says Node 18, package.json says 22")
    assert f"names port 8080, gone since {commit}" in states(project)["Runtime"]
    project.write("package.json", '{"engines": {"node": "^18"}}')
    project.write("compose.yaml", 'services:\n  web:\n    ports: \n      - "8080:80"\n')
    project.commit("back")
    assert states(project) == {}


def test_a_manifest_of_a_test_case_does_not_speak_for_the_project(project):
    """Unless no other manifest says anything of the key."""
    project.write("package.json", '{"engines": {"node": ">=20"}}')
    project.write("web/package.json", '{"engines": {"node": "20"}}')
    project.write("tests/old/package.json", '{"engines": {"node": ">=8"}}')
    project.write("tests/old/go.mod", "go 1.22\n")
    notes = (project.entry(text, text) for text in ("Node 12", "Node 20", "Go 1.22"))
    project.memory(*notes)
    project.commit("start")
    assert states(project) == {"Node 12": "says Node 12, package.json says >=20"}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("stated", "given", "verdict"),
    [
        ("Node 18", ">=18", True),
        ("Node 20", ">=18", True),
        ("Node 20+", ">=18", False),
        ("Node 16", ">=18", False),
        ("Node 18", "^16 || ^18", True),
        ("Node 17", "^16 || ^18", False),
        ("Node 24", ">=18 <23", False),
        ("Node 18", "lts/*", None),
        ("Node 18", "18-alpine", True),
        ("Go 1.2", "1.22", False),
        ("Python 3.10", "~=3.10", True),
        ("Python 3.11", "3.11.*", True),
        ("Python 3.13", "~=3.10", True),
        ("pnpm 9.4", "^9.0.0", True),
        ("pnpm 10", "^9.0.0", False),
        ("Rust 0.9", "^0.8.1", False),
        ("npm 9.1.4", "~9.1.2", True),
        ("npm 9.2", "~9.1.2", False),
        ("Node 23", ">=18.0.0 <23.0.0", False),
        ("Node 20", ">=18 <20.5", True),
    ],
)
def test_ranges(stated, given, verdict):
    assert agrees(parse_statement(stated), given) is verdict


@pytest.mark.unit
@pytest.mark.parametrize(
    ("key", "name", "text", "values"),
    [
        ("Python", "setup.py", "setup(python_requires='>=3.9')", [">=3.9"]),
        ("Go", "go.mod", "go 1.22.0\n\ntoolchain go1.22.5\n", ["1.22.0", "1.22.5"]),
        ("Node", "Dockerfile", "ARG V=20\nFROM node:${V}-slim AS x", ["20-slim"]),
        ("Node", ".tool-versions", "python 3.12\nnodejs 20.1.0\n", ["20.1.0"]),
    ],
)
def test_what_manifests_say(key, name, text, values):
    assert list(KEYS[key].sources[name](text)) == values


@pytest.mark.unit
def test_ports_of_a_compose_file_in_all_forms():
    """What stands in quotes, in one line, as a range, as a default, in long form."""
    text = """
    ports: ["8080:80", '127.0.0.1:9229:9230']
    ports:
      - 4000-4001:5000-5001
      - "${PORT:-3000}:3001/tcp" # web
      - "${BOTH:-127.0.0.1:3002:3003}"
      - target: 6379
        published: "6380"
"""
    ports = "8080 80 9229 9230 4000 4001 5000 5001 3000 3001 3002 3003 6379 6380"
    assert list(manifests.ports(text)) == ports.split()


@pytest.mark.unit
def test_a_statement_is_written_and_read():
    for each in (StatedValue("VS Code", "1.80", least=True), StatedValue("Node", "18")):
        assert parse_statement(str(each)) == each


@pytest.mark.unit
def test_long_prose_is_read_in_one_pass():
    """A hostile text costs no more than its length."""
    assert list(statements("node " * 50_000 + "min " * 50_000)) == []


@pytest.mark.unit
@pytest.mark.parametrize(
    "text", ["\n" * 300_000, "minSdk" + " " * 300_000, "FROM " * 60_000]
)
def test_a_hostile_manifest_is_read_in_one_pass(text):
    """A reader that walks from each of many empty lines to the last takes minutes."""
    for key in KEYS.values():
        for read in key.sources.values():
            with suppress(ValueError):
                assert len(list(read(text))) < 2
