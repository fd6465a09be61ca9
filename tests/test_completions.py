"""completions/ offers what the program has, no more and no less."""

import contextlib
import os
import re
import shutil
import sys

import pytest

from memcli.project.keys import KEYS
from tests.docs import generate
from tests.programs import finished

FOLDER = generate.ROOT / "completions"
BASH, ZSH, FISH = (FOLDER / name for name in ("mem.bash", "_mem", "mem.fish"))
PROGRAM = generate.program()


@pytest.mark.parametrize("path", list(generate.scripts()), ids=lambda path: path.name)
def test_script_is_up_to_date(path):
    """The script in the repository is what the program yields today."""
    assert path.read_text(encoding="utf-8") == generate.scripts()[path], (
        generate.REGENERATE
    )


def tab(*words, env=None):
    """What bash offers for the last of `words`, the completion loaded into a real
    shell."""
    typed = " ".join(f"'{word}'" for word in words)
    code = (
        f"source '{BASH}' && complete -p mem >/dev/null && COMP_WORDS=({typed})"
        f" && COMP_CWORD={len(words) - 1} && _mem && printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    process = finished("bash", "--norc", "-c", code, env=env)
    return set(process.stdout.split())


def test_bash_completes_a_command():
    """`mem rec<tab>` is recall; `mem <tab>` offers every command."""
    assert tab("mem", "rec") == {"recall"}
    assert tab("mem", "re") == {c.name for c in PROGRAM if c.name.startswith("re")}
    assert tab("mem", "") >= {c.name for c in PROGRAM}


@pytest.mark.parametrize("command", PROGRAM, ids=lambda c: c.name)
def test_bash_offers_exactly_the_options(command):
    """`mem <command> -<tab>` is every name of every option."""
    assert tab("mem", command.name, "-") == names(command)


def test_bash_offers_values():
    """A value is completed after a blank and after `=`; free text is left alone."""
    assert tab("mem", "recall", "--kind", "p") == {"policy", "pitfall", "preference"}
    assert tab("mem", "recall", "--level", "=", "pro") == {"project"}
    assert tab("mem", "recall", "--level", "=") == {"global", "project", "job", "task"}
    assert tab("mem", "list", "--tag", "") == set()
    assert "decay=" in tab("mem", "recall", "--set", "de")


def test_bash_offers_ids(project):
    """Of entries, and after keep and drop of proposals; what a file writes as an id
    is a word like any other."""
    odd = "-touch"
    project.memory(
        project.entry("Herd", id="9f9f9f9f-x"), project.entry("Cart", id="aaaa0000-x")
    )
    project.write("bin/mem", f'#!/bin/sh\nexec {sys.executable} -m memcli "$@"\n')
    (project.root / "bin/mem").chmod(0o755)
    environ = {**os.environ, "PATH": f"{project.root}/bin:{os.environ['PATH']}"}
    environ["MEM_HOME"] = str(project.home)
    with contextlib.chdir(project.root):
        assert tab("mem", "show", "", env=environ) == {"9f9f9f9f", "aaaa0000"}
        assert tab("mem", "retire", "9", env=environ) == {"9f9f9f9f"}
        assert tab("mem", "keep", "", env=environ) == set()
        project.remembers("Odd", id=odd)
        assert tab("mem", "show", "", env=environ) <= {odd}
        assert "--raw" in tab("mem", "show", "--", env=environ)


def names(command):
    return {name for option in command.options for name in option.names}


@pytest.mark.parametrize(("shell", "path"), [("zsh", ZSH), ("fish", FISH)])
def test_shell_accepts_the_script(shell, path):
    """`-n` finds no fault, where that shell is installed."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    finished(shell, "-n", str(path))


def limited():
    for command in PROGRAM:
        for option in command.options:
            if option.values and (
                option.takes != "KEY=VALUE" or command.name == "recall"
            ):
                yield command, option


@pytest.mark.parametrize(
    ("command", "option"),
    list(limited()),
    ids=lambda each: getattr(each, "name", "") or each.names[0],
)
def test_offered_values_are_those_the_program_takes(command, option, project):
    """A wrong value is refused, exit 2, with a hint that lists exactly what is offered;
    of a configuration key the nearest three."""
    project.remembers()
    arguments = ["x"] if command.arguments else []
    wrong = "nonsense=1" if option.takes == "KEY=VALUE" else "nonsense"
    result = project.mem(command.name, *arguments, option.names[0], wrong)
    hint = result.err.partition("hint: ")[2]
    assert result.code == 2, result.err
    listed = re.split(r", ", re.sub(r"^one of ", "", hint.strip()).partition(" (")[0])
    if option.takes == "KEY=VALUE":
        listed = KEYS
        assert sum(f"'{key}'" in hint for key in KEYS) == 3, hint
    assert {value.rstrip("=") for value in option.values} == set(listed), hint
