"""The program `mem`: its commands by group, its help, and how a command line runs."""

import re
import shlex
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import typer
import typer.core

from memcli import __version__
from memcli.cli import options
from memcli.cli.boundary import fail, guarded
from memcli.cli.fast import NUMBERS
from memcli.errors import UsageError
from memcli.project.keys import KEYS
from memcli.views.text import columns, put, say

GROUPS = {
    "Everyday": "recall add edit show list browse retire restore undo told why log forget",
    "Learning": "extract inbox keep drop eval",
    "Upkeep": "reinforce compact retire-stage health doctor",
    "Guarding": "guard",
    "Exchange": "sync import export diff",
    "Setup": "init index completion help",
    "Plumbing": "hook merge-driver mcp",
}
"""The commands as `mem --help` lists them. Each group has a module of its name here,
with the signatures, and one in `views`, with the texts."""
LEAST_HELP = 52  # the least width that help is written for


def _root(
    version: bool = options.flag("--version", "Print the version.", "-V"),
) -> None:
    if version:
        print(f"mem {__version__}")
        raise typer.Exit()


def program(name: str = "") -> Any:
    """The program with only the command asked for: building all commands costs more
    than a recall."""
    commands_wanted = {name} if name in commands() else set(commands())
    app = typer.Typer(
        name="mem",
        cls=ProgramHelp,
        help="Find, learn, strengthen and compact what a repository's MEMORY.md files know.",
        rich_markup_mode=None,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": 100,
        },
    )
    app.callback(invoke_without_command=True)(_root)
    for title, names in GROUPS.items():
        for each in filter(commands_wanted.__contains__, names.split()):
            import_module(f"memcli.cli.{title.lower()}")
            made_command = options.COMMANDS[each]
            app.command(each, cls=CommandHelp, **made_command.settings)(
                options.callback(made_command)
            )
    return typer.main.get_command(app)


def commands() -> Sequence[str]:
    """The names of all commands, in the order of the help."""
    return " ".join(GROUPS.values()).split()


def write_help(name: str = "") -> str:
    """Write the full help: what every command does, or everything that one command
    takes."""
    whole_program = program(name)
    context = typer.Context(
        whole_program, info_name="mem", **whole_program.context_settings
    )
    page = context.make_formatter()
    if not name:
        whole_program.write(page, len(GROUPS))
    else:
        made_command = whole_program.commands[name]
        made_command.write(
            typer.Context(made_command, info_name=name, parent=context),
            page,
            made_command.help,
            whole=True,
        )
    return str(page.getvalue()).rstrip("\n")


_ClickException: Any = typer.BadParameter.__mro__[2]


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""

    def work() -> Any:
        program_made = program(*arguments[:1])
        width = columns(sys.stdout)
        if 0 < width < LEAST_HELP:
            program_made.context_settings = {
                **program_made.context_settings,
                "terminal_width": width - 1,
            }
        try:
            return program_made.main(
                list(arguments), prog_name="mem", standalone_mode=False
            )
        except _ClickException as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                put(error.format_message())
                return UsageError.code
            if line := _renewed(error, arguments):
                return run(line)
            return fail(UsageError.code, *_explained(error, arguments))
        except typer.Abort:
            raise KeyboardInterrupt from None

    return guarded(work)


def _renewed(error: Any, arguments: Sequence[str]) -> list[str]:
    """The line with an option of an earlier version rewritten, with a note about it;
    empty if the line failed for another reason."""
    from memcli.cli import spellings

    option = getattr(error, "option_name", "")
    form = spellings.earlier(arguments[0], option)
    if not form:
        return []
    quiet = bool({"-q", "--quiet"} & set(arguments))
    say(f"mem: {option} is now written {form.format('VALUE')}", quiet=quiet)
    return spellings.rewritten(arguments, option, form)


def _explained(error: Any, arguments: Sequence[str]) -> tuple[str, str]:
    """What is wrong with a command line, and a hint with the nearest option."""
    from memcli.cli import spellings

    first, *rest = arguments
    option = getattr(error, "option_name", "")
    command = next(filter(commands().__contains__, arguments), "")
    if meant := spellings.MEANT.get(first) or _in_small(first, rest):
        return f"no such command {first!r}", meant
    if option and command not in ("", first):
        what = f"{option}: put options after the command"
        others = (word for word in arguments if word != command)
        return what, shlex.join(["mem", command, *others])
    if now := _as_now(command, option):
        return f"no such option: {option}", now
    if command and (text := next(filter(_is_text, arguments), "")):
        what = f"put -- before a text that begins with {text[0]}"
        return what, f"mem {command} -- {shlex.quote(text)}"
    if command == "undo" and not option:
        what = f"{shlex.join(rest)}: mem undo takes back the last write only"
        return what, "of one entry: mem retire ID, mem restore ID or mem log ID"
    near = getattr(error, "possibilities", ())
    text = _unknown(option, near) if option and near else error.format_message()
    return text[:1].lower() + text[1:].rstrip("."), _help(error, command, option, first)


def _in_small(first: str, rest: Sequence[str]) -> str:
    """The line whose command is in capitals, with it in small letters; "" for
    another."""
    is_capital = first not in commands() and first.lower() in commands()
    return shlex.join(["mem", first.lower(), *rest]) if is_capital else ""


def _as_now(command: str, option: str) -> str:
    """What stands for an option that a command had, or that is a key of the
    configuration; "" for another, and for a key that is an option where it is read."""
    from memcli.cli import spellings

    if moved := spellings.MOVED.get(command, {}).get(option):
        return f"it is now {moved}"
    key = option.removeprefix("--").replace("-", "_")
    is_key = command and key in KEYS and option not in NUMBERS
    return f"mem {command} --set {key}=VALUE" if is_key else ""


def _help(error: Any, command: str, option: str, first: str) -> str:
    """The command that shows help, or the one with --json where that replaces the
    option."""
    if option == "--format" and "--json" in _options(error):
        return f"mem {command} --json"
    return f"mem {command} --help" if command == first else "mem --help"


def _is_text(word: str) -> bool:
    return re.match(r"-[^=]* ", word) is not None


def _options(error: Any) -> set[str]:
    """The option names of the command that an error is about."""
    return {name for parameter in error.ctx.command.params for name in parameter.opts}


def _unknown(option: str, near: Sequence[str]) -> str:
    """The message that an option does not exist, with the nearest one that does."""
    by_word = {name.lstrip("-"): name for name in near}
    first = get_close_matches(option.lstrip("-"), by_word, n=1)
    meant = f" (did you mean {by_word[first[0]]}?)" if first else ""
    return f"no such option: {option}{meant}"


SCREEN = 24  # the most lines of a help page; a longer one is shortened
HELP = "-h, --help"


class ProgramHelp(typer.core.TyperGroup):
    """`mem`, whose help lists the commands by group and explains the everyday ones."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the groups of commands, and where to read more."""
        self.write(formatter, detailed=1)
        more = "mem help explains every command, mem COMMAND --help one; mem --version"
        formatter.write_paragraph()
        formatter.write_text(more)

    def write(self, formatter: Any, detailed: int) -> None:
        """The page; it says what each command does in the first `detailed` groups."""
        formatter.write("Usage: mem COMMAND [OPTIONS]\n\n")
        formatter.write_text(self.help)
        groups = list(GROUPS.items())
        for title, names in groups[:detailed]:
            rows = [
                (name, self.commands[name].get_short_help_str(200))
                for name in names.split()
            ]
            with formatter.section(title):
                formatter.write_dl(rows)
        if groups[detailed:]:
            formatter.write("\n")
        for title, names in groups[detailed:]:
            formatter.write_text(f"{title}: {names}")


class CommandHelp(typer.core.TyperCommand):
    """A command; the help has a line for each of its own options and only names shared
    ones."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. Raises UsageError for an option with an empty value."""
        rest = super().parse_args(ctx, args)
        for parameter in self.get_params(ctx):
            value = ctx.params.get(parameter.name)
            values = value if isinstance(value, (list, tuple)) else [value]
            is_given = ctx.get_parameter_source(parameter.name).name == "COMMANDLINE"
            is_empty = any(
                isinstance(each, str) and not each.strip() for each in values
            )
            if parameter.param_type_name == "option" and is_given and is_empty:
                option = max(parameter.opts, key=len)
                raise UsageError(
                    f"{option} is empty", "give it a value, or leave it out"
                )
        return list(rest)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of a command so that it fits one screen: the long description
        is cut first."""
        help = (self.help or "").strip()
        page = self._page(ctx, help)
        if page.rstrip("\n").count("\n") >= SCREEN:
            page = self._page(ctx, help.split("\n\n")[0])
        formatter.write(page)

    def _page(self, ctx: Any, text: str) -> str:
        formatter = ctx.make_formatter()
        self.write(ctx, formatter, text)
        return str(formatter.getvalue())

    def write(
        self, ctx: Any, formatter: Any, text: str, *, whole: bool = False
    ) -> None:
        """The page; a `whole` one also explains the shared options."""
        rows = []
        panels: dict[str, list[str]] = {}
        for parameter in self.get_params(ctx):
            left, right = record(parameter, ctx)
            panel = getattr(parameter, "rich_help_panel", None)
            if left == HELP:
                panel = options.ALWAYS
            if panel and not whole:
                panels.setdefault(panel, []).append(left)
            else:
                rows.append((left, right))
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)
            formatter.write_paragraph()
            if rows:
                formatter.write_dl(rows, col_max=26)
            for title, names in panels.items():
                formatter.write_text(f"{title}: {'; '.join(names)}")


def record(parameter: Any, ctx: Any) -> tuple[str, str]:
    """The left and right column of a parameter in the help."""
    help = parameter.help or ""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.make_metavar(ctx)), help
    names = sorted((*parameter.opts, *parameter.secondary_opts), key=len)
    left = ", ".join(names)
    if not parameter.is_flag:
        left += f" {parameter.metavar or parameter.type.name.upper()}"
    return left, help
