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
from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.cli.program import commands, program
from tests.conftest import Project, Result

PACKAGE = Path(__file__).parents[2] / "memcli"
PAGE = (Path(__file__).parents[1] / "data" / "hints.txt").read_text()
SCENES = [
    scene for scene in PAGE.split("\n\n") if not scene.startswith("# not at a shell")
]
ELSEWHERE = re.compile(r"postgres/|providers/(embed/(http|wire)|llm/)|history/record")
"""Hints that only a server, a model or another version of mem can provoke: tests of
their own."""
SPOKEN = re.compile(r"(?<![\w./:-])mem ([a-z][a-z-]*)((?: --?[a-z][\w-]*)*)")
TALK = set(
    "already by calls can did does has is itself itself's for must of on or neither recalls running shows starts that twice will wires"
    " without writes wrote was under".split()
)
"""Words that follow the program's name where it is spoken of."""


def templates(node: ast.AST) -> Iterator[str]:
    """The texts that an expression can be, with ~ for what is put into them."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            yield "".join(
                v.value if isinstance(v, ast.Constant) else "~" for v in values
            )  # type: ignore[misc]
        case ast.IfExp(body=one, orelse=other):
            yield from (*templates(one), *templates(other))
        case ast.BoolOp(values=values):
            yield from (text for value in values for text in templates(value))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            ends = list(templates(right)) or ["~"]
            yield from (begin + end for begin in templates(left) for end in ends)


def hints() -> Iterator[tuple[str, str]]:
    """(module, text) of every hint: of errors and of rows of mem doctor."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            found: list[ast.AST] = []
            match node:
                case ast.Call(func=func, args=args, keywords=words):
                    at = {"Check": 3, "document.row": 3}.get(
                        name := ast.unparse(func), 1
                    )
                    if name.endswith("Error") or at == 3:
                        found += args[at : at + 1]
                    found += [word.value for word in words if word.arg == "hint"]
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                    "hint" in name.lower()
                ):
                    found.append(value)
            for text in {text for each in found for text in templates(each)} - {""}:
                yield path.relative_to(PACKAGE).as_posix(), text


def as_pattern(text: str) -> str:
    return ".*".join(map(re.escape, text.split("~")))


def shell(line: str, folder: Path) -> Result:
    bash = ["bash", "-o", "pipefail", "-c", line]
    done = subprocess.run(bash, cwd=folder, capture_output=True, text=True, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.mark.process
@pytest.mark.parametrize(
    "scene", SCENES, ids=lambda scene: scene.splitlines()[0].lstrip("# ")
)
def test_a_hint_is_followed(scene: str, project: Project) -> None:
    """What it says to type is typed, and works."""
    project.write(
        "MEMORY.md",
        "".join(
            project.entry(title, f"{title} thing.", id=id, kind="fact")
            for title, id in (("First", "aaaa1111"), ("Second", "bbbb2222"))
        ),
    )
    seen = ""
    told = list[str]()
    for line in scene.splitlines():
        if line.startswith(">"):
            assert re.search(as_pattern(line[2:]), seen) is not None, f"{line}\n{seen}"
            told += [
                each[0].strip()
                for each in SPOKEN.finditer(line)
                if each[1] in commands()
            ]
        elif not line.startswith("#"):
            words = line.removeprefix("! ")
            if words.startswith("mem ") and not re.search(r"[|<>&;$*]", words):
                got = project.mem(*shlex.split(words)[1:])
            else:
                got = shell(words, project.root)
            seen = " ".join(f"{got.out}\n{got.err}".split())
            assert line.startswith("! ") or got.code == 0, f"{line}\n{seen}"
            assert got.code in (2, 3, 4, 5) or "\nhint: " not in got.err, (
                f"{got.code}: {line}"
            )
            told = [] if not told else [each for each in told if each not in words]
    assert not told, f"told and not followed: {told}"


@pytest.mark.unit
def test_every_hint_is_walked() -> None:
    """A new one needs a scene."""
    walked = [line[2:] for line in PAGE.splitlines() if line[:2] in ("> ", "- ")]
    missing = [
        f"{module}: {text}"
        for module, text in hints()
        if not ELSEWHERE.match(module)
        and not any(re.fullmatch(as_pattern(text), line) for line in walked)
    ]
    assert not missing, "\n".join(missing)


@pytest.mark.unit
def test_every_command_line_that_is_told_exists() -> None:
    """Advice of health, words of the installer and what hooks say, too."""
    made = program()
    seen = 0
    known = {
        name: {each for param in made.commands[name].params for each in param.opts}
        for name in commands()
    }
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            for text in templates(node) if id(node) not in docs else ():
                for told in SPOKEN.finditer(text):
                    if told[1] not in TALK:
                        seen += 1
                        assert told[1] in known, f"{path}: {told[0]}"
                        asked = set(re.findall("--[a-z][a-z-]*", told[2])) - {"--help"}
                        assert asked <= known[told[1]], f"{path}: {told[0]}"
    assert seen > 100
