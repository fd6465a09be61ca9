"""The layers of the house: who may import whom, how large a room may be, where each
library is used."""

import ast
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "memcli"

# A package imports what stands in a row below its own, and nothing else of ours but
# `errors`.
ROWS = """
    __main__
    cli
    api hooks views
    commands
    diagnostics exchange
    postgres
    guard
    recall extraction compaction install
    asking
    app
    history
    index sessions
    bans providers similarity
    project
    storage
    memory
    text
    errors named user_folders
""".split("\n")
ORDER = {
    name: depth
    for depth, row in enumerate(r for r in ROWS if r.strip())
    for name in row.split()
}
PURE = {"text", "memory", "similarity"}
TABLES = "text/matching"  # it reads the data files of the package, for all of them

# Library -> the only modules that import it; "x/*" is everything below x.
USED_IN = {
    "sqlite3": {
        "storage/*",
        "index/*",
        "history/*",
        "app",
        "providers/embed/local",
        "postgres/source",
    },
    "subprocess": {
        "cli/pager",
        "commands/edit",
        "commands/sync",
        "storage/programs",
        "hooks/worker",
    },
    "yaml": {"memory/front_matter"},
    "frontmatter": {"memory/front_matter"},
    "typer": {"cli/*"},
    "psycopg": {"postgres/*"},
    "rich": {"views/*"},
    "tomllib": {
        "bans/suggest",
        "cli/spellings",
        "index/manifests",
        "project/config",
        "install/harness",
        "extraction/scopes",
        "compaction/*",
    },
    "platformdirs": {"user_folders"},
    "anthropic": {"providers/*"},
    "jiter": {"sessions/gather"},
    "mcp": {"cli/mcp"},
    "httpx2": {"providers/embed/http"},
}
IMPURE = set("os sqlite3 subprocess pathlib time random socket tempfile shutil".split())

MODULES = sorted(
    p.relative_to(PACKAGE).with_suffix("").as_posix() for p in PACKAGE.rglob("*.py")
)
TREES = {name: ast.parse((PACKAGE / f"{name}.py").read_text()) for name in MODULES}


@cache
def imports(module):
    """(dotted name, whether it is ours) of every import in a module, wherever it stands
    in it."""
    return list(_imports(module))


def _imports(module):
    for node in ast.walk(TREES[module]):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            base = node.module or ""
            deep = (
                base == "memcli" or (PACKAGE.parent / base.replace(".", "/")).is_dir()
            )
            names = [f"{base}.{a.name}" if deep else base for a in node.names]
        for name in names:
            yield name.removeprefix("memcli."), name.split(".")[0] == "memcli"


def package(module):
    return module.replace(".", "/").split("/")[0]


@pytest.mark.unit
def test_imports_point_down():
    """A package stands in the table and imports only what stands in a row below it."""
    for module in MODULES:
        if module == "__init__":
            continue
        mine = package(module)
        assert mine in ORDER, f"{module} has no row"
        for name, ours in imports(module):
            other = package(name)
            if not ours or name in ("__version__", "memcli") or other == mine:
                continue
            assert ORDER.get(other, -1) > ORDER[mine], f"{module} imports {name}"


@pytest.mark.unit
def test_each_library_has_one_answer():
    """Where do we use X? In the modules of the table, nowhere else."""
    for module in MODULES:
        places = {module, f"{package(module)}/*"}
        for name, ours in imports(module):
            library = name.split(".")[0]
            assert ours or library not in USED_IN or places & USED_IN[library], (
                f"{module}: {name}"
            )


@pytest.mark.unit
def test_pure_modules_reach_nothing_outside():
    """Values and pure modules import neither files, processes, clocks nor
    randomness."""
    pure = [name for name in MODULES if package(name) in PURE and name != TABLES]
    assert pure
    for module in pure:
        foreign = {name.split(".")[0] for name, ours in imports(module) if not ours}
        assert not foreign & IMPURE, module


@pytest.mark.unit
def test_no_cycles_inside_a_package():
    """Modules of one package import each other in one direction only."""
    arrows = {}
    for module in MODULES:
        mine = module.removesuffix("/__init__")
        for name, ours in imports(module):
            path = name.replace(".", "/")
            if (
                ours
                and package(path) == package(module)
                and path != mine
                and "/" in path
            ):
                arrows.setdefault(mine, set()).add(path)
    state = {}

    def visit(node, way):
        assert state.get(node) != 1, f"cycle: {' -> '.join((*way, node))}"
        if node not in state:
            state[node] = 1
            for other in sorted(arrows.get(node, ())):
                visit(other, (*way, node))
            state[node] = 2

    for module in sorted(arrows):
        visit(module, ())
