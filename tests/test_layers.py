"""The layers of the house: who may import whom, and the one place where each library is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "memcli"

# A module imports what stands in a row above its own; within a row only to the left.
ROWS = """
    model session errors levels words
    patch front_matter memory_file
    section settings_json hook_script chunk query prominence vector blend bm25 rank redact guard
    claim_words claims overlap differences similar contradictions
    rule_words rules episodes scopes prompts cleaning block
    merge metrics page document hostile checks
    adopt compaction consolidate stage learn notes places handout triggers
    config tree transaction workspace history embed relations vectors source scope store
    git harness foreign_db transcript importers llm
    semantic engines shared
    app asking condense
    doctor
    search showing layers
    commands
    session_end
    occasions background git_hook
    screen render
    talk
    answer api mcp_server hook
    cli
    __main__
""".split("\n")
ORDER = {name: i for i, name in enumerate(name for row in ROWS for name in row.split())}
PURE = {name for row in ROWS[:8] for name in row.split()}

# Library -> the only modules that import it; "x/*" is everything below x.
USED_IN = {
    "sqlite3": {
        "transaction",
        "relations",
        "vectors",
        "store",
        "history",
        "app",
        "embed/local",
        "foreign_db",
        "shared/tokens",
        "shared/lexicon",
    },
    "subprocess": {"git", "background", "llm/claude"},
    "yaml": {"front_matter"},
    "frontmatter": {"front_matter"},
    "typer": {"cli"},
    "psycopg": {"shared/*"},
    "sqlalchemy": {"shared/schema"},
    "alembic": {"shared/schema", "shared/migrations/v0001", "shared/migrations/v0002"},
    "rich": {"render"},
    "tomllib": {"config"},
    "platformdirs": {"history"},
    "pathspec": {"scope"},
    "anthropic": {"llm/*"},
    "mcp": {"mcp_server"},
    "httpx2": {"embed/http"},
    "onnxruntime": {"embed/onnx"},
    "tokenizers": {"embed/onnx"},
}
IMPURE = {"os", "sqlite3", "subprocess", "pathlib", "time", "random", "socket", "tempfile", "shutil"}

MODULES = sorted(path.relative_to(PACKAGE).with_suffix("").as_posix() for path in PACKAGE.rglob("*.py"))


def imports(module: str) -> Iterator[tuple[str, bool]]:
    """(dotted name, whether it is ours) of every import in a module, wherever it stands in it."""
    tree = ast.parse((PACKAGE / f"{module}.py").read_text())
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            deep = (
                node.module == "memcli" or (PACKAGE.parent / (node.module or "").replace(".", "/")).is_dir()
            )
            names = [f"{node.module}.{a.name}" if deep else node.module or "" for a in node.names]
        for name in names:
            yield name.removeprefix("memcli."), name.startswith("memcli")


def row(module: str) -> str:
    return module.split("/")[0].split(".")[0]


@pytest.mark.parametrize("module", [name for name in MODULES if name != "__init__"])
def test_imports_point_upward(module: str) -> None:
    """A module stands in the table and imports only what stands above or left of it."""
    assert row(module) in ORDER, f"{module} has no row"
    for name, ours in imports(module):
        if not ours or name in ("__version__", "memcli"):
            continue
        inside = row(name) == row(module) and row(name) not in ("commands",)
        above = ORDER.get(row(name), len(ORDER)) < ORDER[row(module)]
        assert inside or above, f"{module} imports {name}"


@pytest.mark.parametrize("module", MODULES)
def test_each_library_has_one_answer(module: str) -> None:
    """Where do we use X? In the modules of the table, nowhere else."""
    for name, ours in imports(module):
        places = {module, f"{row(module)}/*"}
        library = name.split(".")[0]
        assert ours or library not in USED_IN or places & USED_IN[library], f"{module} imports {name}"


@pytest.mark.parametrize("module", [name for name in MODULES if row(name) in PURE])
def test_pure_modules_reach_nothing_outside(module: str) -> None:
    """Values and pure modules import neither files, processes, clocks nor randomness."""
    assert not {name.split(".")[0] for name, ours in imports(module) if not ours} & IMPURE
