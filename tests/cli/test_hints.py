"""What the program tells people to do is done here, word for word, and works.

`tests/data/hints.txt` has a scene for each hint: what provokes it (`!`), the hint (`>`,
where `~` is any text), and lines that follow it. Each line but a provoking one must
succeed, and a command that the hint spells out must be among them. A hint that no scene
walks is a failure, unless it is listed (`-`) among those that a shell cannot
provoke."""

import ast
import re
import shlex
import subprocess
from itertools import product
from pathlib import Path

import pytest

from memcli.cli.program import commands, program
from tests.conftest import Result

PACKAGE = Path(__file__).parents[2] / "memcli"
PAGE = (Path(__file__).parents[1] / "data" / "hints.txt").read_text()
SCENES = [
    scene for scene in PAGE.split("\n\n") if not scene.startswith("# not at a shell")
]
ELSEWHERE = re.compile(r"postgres/|providers/(embed/(http|wire)|llm/)|index/record")
"""Hints that only a server, a model or another version of mem can provoke: tests of
their own."""
SPOKEN = re.compile(r"(?<![\w./:-])mem ([a-z][a-z-]*)((?: --?[a-z][\w-]*)*)")
TALK = set(
    "already by calls can did does has is left itself itself's for must of on or neither recalls running shows starts that twice will wires"
    " without writes wrote was under".split()
)
"""Words that follow the program's name where it is spoken of."""


def templates(node):
    """The texts that an expression can be, with ~ for what is put into them."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            yield "".join(map(as_written, values))
        case ast.IfExp(body=one, orelse=other):
            yield from (*templates(one), *templates(other))
        case ast.BoolOp(values=values):
            for value in values:
                yield from templates(value)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            pairs = product(templates(left), list(templates(right)) or ["~"])
            yield from map("".join, pairs)


def as_written(part):
    """A part of a text with what is put into it: ~ where only a run knows."""
    return str(part.value) if isinstance(part, ast.Constant) else "~"


def hints():
    """(module, text) of every hint: of errors and of rows of mem doctor."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        if "hint" not in text and "Error(" not in text and "Check(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            texts = set()
            for expression in hint_expressions(node):
                texts.update(templates(expression))
            for text in texts - {""}:
                yield path.relative_to(PACKAGE).as_posix(), text


def hint_expressions(node):
    """What a call or an assignment gives as a hint."""
    match node:
        case ast.Call(func=func, args=args, keywords=words):
            name = ast.unparse(func)
            place = {"Check": 3, "document.row": 3}.get(name, 1)
            if name.endswith("Error") or place == 3:
                yield from args[place : place + 1]
            yield from (word.value for word in words if word.arg == "hint")
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            if "hint" in name.lower():
                yield value


def as_pattern(text):
    return ".*".join(map(re.escape, text.split("~")))


def shell(line, folder):
    bash = ["bash", "-o", "pipefail", "-c", line]
    process = subprocess.run(
        bash, cwd=folder, capture_output=True, text=True, check=False
    )
    return Result(process.returncode, process.stdout, process.stderr)


@pytest.mark.process
@pytest.mark.parametrize(
    "scene", SCENES, ids=lambda scene: scene.splitlines()[0].lstrip("# ")
)
def test_a_hint_is_followed(scene, project):
    """What it says to type is typed, and works."""
    project.memory(
        *(
            project.entry(title, f"{title} thing.", id=id, kind="fact")
            for title, id in (("First", "aaaa1111"), ("Second", "bbbb2222"))
        )
    )
    seen = ""
    told = list[str]()
    for line in scene.splitlines():
        if line.startswith(">"):
            assert re.search(as_pattern(line[2:]), seen) is not None, f"{line}\n{seen}"
            spoken = SPOKEN.finditer(line)
            told += [each[0].strip() for each in spoken if each[1] in commands()]
        elif not line.startswith("#"):
            words = line.removeprefix("! ")
            actual = typed(words, project)
            seen = " ".join(f"{actual.out}\n{actual.err}".split())
            may_fail = line.startswith("! ")
            assert may_fail or actual.code == 0, f"{line}\n{seen}"
            may_hint = actual.code in (2, 3, 4, 5)
            assert may_hint or "\nhint: " not in actual.err, f"{actual.code}: {line}"
            told = [each for each in told if each not in words]
    assert not told, f"told and not followed: {told}"


def typed(words, project):
    """How a line of a scene ends: a plain one of mem in this process."""
    if words.startswith("mem ") and not re.search(r"[|<>&;$*]", words):
        return project.mem(*shlex.split(words)[1:])
    return shell(words, project.root)


@pytest.mark.unit
def test_every_hint_is_walked():
    """A new one needs a scene."""
    walked = "\n".join(
        line[2:] for line in PAGE.splitlines() if line[:2] in ("> ", "- ")
    )
    missing = [
        f"{module}: {text}"
        for module, text in hints()
        if not ELSEWHERE.match(module)
        and not re.search(f"(?m)^{as_pattern(text)}$", walked)
    ]
    assert not missing, "\n".join(missing)


@pytest.mark.unit
def test_every_command_line_that_is_told_exists():
    """Advice of health, words of the installer and what hooks say, too."""
    made = program()
    seen = 0
    known = {
        name: {each for param in made.commands[name].params for each in param.opts}
        for name in commands()
    }
    for path in sorted(PACKAGE.rglob("*.py")):
        for told in spoken_lines(path):
            seen += 1
            assert told[1] in known, f"{path}: {told[0]}"
            asked = set(re.findall("--[a-z][a-z-]*", told[2])) - {"--help"}
            assert asked <= known[told[1]], f"{path}: {told[0]}"
    assert seen > 100


def spoken_lines(path):
    """The command lines in the texts of a module, docstrings left out."""
    text = path.read_text()
    if not SPOKEN.search(text):
        return
    tree = ast.parse(text)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in docs:
            continue
        for text in templates(node):
            found = SPOKEN.finditer(text)
            yield from (told for told in found if told[1] not in TALK)
