"""The program `mem`: its commands by group, its help, and how one line runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer

from memcli import __version__
from memcli.cli import options
from memcli.cli.boundary import fail, guarded
from memcli.cli.help import Command, Program
from memcli.errors import UsageError
from memcli.views.terminal import columns
from memcli.views.text import put

GROUPS = {
    "Everyday": ("daily", "recall add edit show list retire restore undo told forget"),
    "Maintenance": ("upkeep", "extract reinforce compact retire-stage health doctor diff"),
    "Setting up": ("setup", "init index import export completion help"),
    "Plumbing": ("plumbing", "hook merge-driver mcp"),
}
"""The commands as `mem --help` lists them, and the module of each group."""
LEAST_HELP = 52
"""Help is written for this width at least, unless it is told another."""


def _root(version: bool = options.flag("--version", "Print the version.", "-V")) -> None:
    if version:
        print(f"mem {__version__}")
        raise typer.Exit()


def program(name: str = "") -> Any:
    """The program, with the one command that is asked for when there is such a one: to build them
    all costs more than a recall.
    """
    wanted = {name} if name in commands() else set(commands())
    app = typer.Typer(
        name="mem",
        cls=Program,
        help="Find, learn, strengthen and compact what a repository's MEMORY.md files know.",
        rich_markup_mode=None,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(invoke_without_command=True)(_root)
    for module, names in GROUPS.values():
        chosen = [each for each in names.split() if each in wanted]
        if chosen:
            import_module(f"memcli.cli.{module}")
        for each in chosen:
            made = options.COMMANDS[each]
            app.command(each, cls=Command, **made.settings)(options.callback(made))
    made_app: Any = typer.main.get_command(app)
    made_app.groups = {title: names.split() for title, (_, names) in GROUPS.items()}
    return made_app


def commands() -> Sequence[str]:
    """The names of all commands, in the order of the help."""
    return [name for _, names in GROUPS.values() for name in names.split()]


def write_help(name: str = "") -> str:
    """The whole of the help: of all commands what they do, of one all that it takes."""
    made = program(name)
    ctx = typer.Context(made, info_name="mem", **made.context_settings)
    page = ctx.make_formatter()
    if not name:
        made.write(page, len(GROUPS))
    else:
        one = made.commands[name]
        one.write(typer.Context(one, info_name=name, parent=ctx), page, one.help, whole=True)
    return str(page.getvalue()).rstrip("\n")


_ClickException: Any = typer.BadParameter.__mro__[2]


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""

    def work() -> Any:
        made = program(*arguments[:1])
        width = columns(sys.stdout)
        if 0 < width < LEAST_HELP:
            made.context_settings = {**made.context_settings, "terminal_width": width - 1}
        try:
            return made.main(list(arguments), prog_name="mem", standalone_mode=False)
        except _ClickException as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                put(error.format_message())
                return UsageError.code
            named = [name for name in arguments[:1] if name in commands()]
            text = error.format_message().rstrip(".")
            hint = " ".join(["mem", *named, "--help"])
            return fail(UsageError.code, text[:1].lower() + text[1:], hint)
        except typer.Abort:
            raise KeyboardInterrupt from None

    return guarded(work)
