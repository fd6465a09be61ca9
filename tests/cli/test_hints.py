"""What the program tells people to type can be typed: its commands and options exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.cli.program import commands, program

PACKAGE = Path(__file__).parents[2] / "memcli"
LINE = re.compile(r"(?<![\w./:-])mem ([a-z][a-z-]*)((?: (?:--?[a-zA-Z][\w-]*|[^\s,;:()`'\"]+))*)")
TALK = set(
    "already by calls can did does has is itself itself's for must of on or recalls running shows starts that twice will wires"
    " without writes wrote was under".split()
)
"""Words that follow the program's name where it is spoken of."""


def texts(tree: ast.AST) -> Iterator[str]:
    """The strings of a module but its docstrings, with X for what is put into them."""
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield "" if id(node) in inside | docs else node.value


def lines() -> Iterator[tuple[str, str, str]]:
    """(module, command, the rest of the line) of every command line that is spelled out."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for text in texts(ast.parse(path.read_text())):
            for found in LINE.finditer(text):
                if found[1] not in TALK:
                    yield path.relative_to(PACKAGE).as_posix(), found[1], found[2]


@pytest.mark.unit
def test_every_command_line_that_is_told_exists() -> None:
    """In hints, rows of doctor, advice of health and what hooks say."""
    made = program()
    known = {
        name: {each for param in made.commands[name].params for each in param.opts}
        for name in commands()
    }
    told = list(lines())
    assert len(told) > 100
    for module, name, rest in told:
        assert name in known, f"{module}: mem {name}{rest}"
        for option in re.findall(r" (--[a-z][a-z-]*)", rest):
            assert option in known[name] | {"--help"}, f"{module}: mem {name}{rest}"
