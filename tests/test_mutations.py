"""The drill that breaks the package tells a test that notices from one that does
not."""

from pathlib import Path

import pytest

from tests.drills.mutations import Mutation, broken, copied, main, outcome, table

CODE = "def is_adult(age):\n    return age >= 18\n"
TEST = "import memcli.age\n\ndef test_it():\n    assert memcli.age.is_adult({}) and not memcli.age.is_adult(3)\n"
SHY = "age >= 18"


@pytest.fixture
def source(tmp_path):
    """A package of one function; a test that looks at its boundary, one that does
    not."""
    for name, text in {
        "pyproject.toml": "",
        "memcli/__init__.py": "",
        "memcli/age.py": CODE,
        "tests/test_sharp.py": TEST.format(18),
        "tests/test_blunt.py": TEST.format(40),
        "tests/test_broken.py": "def test_it():\n    assert False\n",
        ".git/config": "",
    }.items():
        path = tmp_path / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "source"


def off_by_one(*tests):
    return Mutation("eighteen is too young", SHY, "age > 18", tests)


@pytest.mark.parametrize(("mutation", "found"), [
    (off_by_one("test_sharp.py"), ("caught", "test_sharp.py::test_it")),
    (off_by_one("test_blunt.py"), ("survived", "")),
    (off_by_one("test_broken.py", "test_sharp.py"), ("caught", "test_sharp.py::test_it")),
    (Mutation("gone", "no such text", "", ["test_sharp.py"]), ("void", "its text stands there 0 times")),
    (Mutation("no Python", SHY, "(", ["test_sharp.py"]), ("void", "the tests do not run (2)")),
])  # fmt: skip
def test_a_mutation_is_caught_by_a_test_that_fails_for_it_alone(
    source, tmp_path, mutation, found
):
    """One that fails anyway has noticed nothing; what does not load proves nothing."""
    house = copied(source, tmp_path / "house")
    assert outcome(house, mutation, set()) == found
    assert (house / "memcli/age.py").read_text() == CODE and not (
        house / ".git"
    ).exists()


def test_the_exit_status_tells_of_survivors(source, capsys):
    """0 when all are caught; the source is not touched."""
    assert broken([off_by_one("test_sharp.py")], source) == 0
    assert broken([off_by_one("test_blunt.py")], source) == 1
    assert "0 caught, 1 survived, 0 void" in capsys.readouterr().out
    assert main(["nothing like it"]) == 0
    assert (source / "memcli/age.py").read_text() == CODE


def test_every_mistake_can_be_made():
    """The text of each row stands once in the package, and its tests are there."""
    package = Path(__file__).parents[1] / "memcli"
    every = "\n".join(path.read_text("utf-8") for path in package.rglob("*.py"))
    assert [row.what for row in table() if every.count(row.old) != 1] == []
    named = {Path(__file__).parent / test for row in table() for test in row.tests}
    assert [str(path) for path in named if not path.exists()] == []
