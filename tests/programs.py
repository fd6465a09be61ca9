"""Programs: how tests run one, and those of this folder, in which the parameters of a
function are the options of its command line."""

import functools
import subprocess
import sys

import typer

from memcli.errors import UsageError


def run(main):
    """Run a program on the command line, and exit with what it returns."""

    @functools.wraps(main)
    def program(**given):
        try:
            sys.exit(main(**given))
        except UsageError as error:
            sys.exit(f"{error.what}: {error.hint}")

    typer.run(program)


def finished(*command, code=0, **how):
    """What a program did that has to end with this code."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    assert done.returncode == code, f"{command}: {done.stdout}{done.stderr}"
    return done
