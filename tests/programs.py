"""Programs of this folder: the parameters of a function are the options of its command
line."""

import functools
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
