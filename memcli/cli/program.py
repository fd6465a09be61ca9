"""The program `mem`: its commands by group, its help, and how one line runs."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from memcli import __version__
from memcli.cli.boundary import guarded
from memcli.cli.options import COMMANDS, HELP, Verb, rows_of
from memcli.errors import UsageError
from memcli.views.text import columns, fold, put

GROUPS = {
    "Everyday": "recall add edit show list retire restore undo told why log forget".split(),
    "Maintenance": "extract reinforce compact retire-stage health doctor diff".split(),
    "Setting up": "init index import export completion help".split(),
    "Plumbing": "hook merge-driver mcp".split(),
}
MODULES = {"Everyday": "daily", "Maintenance": "upkeep"}  # of the other groups it is setup
ABOUT = "Find, learn, strengthen and compact what a repository's MEMORY.md files know."
NARROWEST, WIDEST = 52, 100  # columns that help is written for, unless a terminal is narrower
SCREEN, LEFT = 24, 26  # so many lines and, on the left, columns a page of help has at most


def commands() -> list[str]:
    """The names of all commands, in the order of the help."""
    return [name for names in GROUPS.values() for name in names]


def find(name: str) -> Verb:
    """The command of that name. Raises UsageError."""
    for group, names in GROUPS.items():
        if name in names:
            import_module(
                "memcli.cli." + ("fast" if name == "recall" else MODULES.get(group, "setup"))
            )
            return COMMANDS[name]
    raise UsageError(f"{name}: no such command", "mem help")


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""

    def work() -> int:
        name, *rest = arguments or ["--help"]
        if name in ("-V", "--version"):
            put(f"mem {__version__}")
        elif name in ("-h", "--help"):
            put(program_help())
        elif name.startswith("-"):
            raise UsageError(f"option {name} not recognized", "mem --help")
        elif (given := (found := find(name)).read(rest)) is None:
            put(command_help(found))
        else:
            return found.run(given)
        return 0 if arguments else UsageError.code

    return guarded(work)


# --- help: every page of it fits 24 lines of 80 columns; `mem help` says all


def program_help(*, whole: bool = False) -> str:
    """The commands by group: what is for every day with what it does."""
    lines = ["Usage: mem COMMAND [OPTIONS]", "", *_folded(ABOUT), ""]
    for title, names in GROUPS.items():
        if whole or title == "Everyday":
            lines += [f"{title}:", *_table([(name, short(find(name))) for name in names]), ""]
        else:
            lines += _folded(f"{title}: {' '.join(names)}")
    more = "mem help explains every command, mem COMMAND --help one; mem --version"
    return "\n".join(lines[:-1] if whole else [*lines, "", *_folded(more)])


def command_help(one: Verb, *, whole: bool = False) -> str:
    """What a command takes; a `whole` page explains the options that commands share, too."""
    rows = (*one.rows, *rows_of(HELP))
    below = _table([(row.left, row.help) for row in rows if whole or not row.panel])
    for title in dict.fromkeys(row.panel for row in rows if row.panel and not whole):
        named = "; ".join(row.left for row in rows if row.panel == title)
        below += _folded(f"  {title}: {named}", 2)
    parts = about(one)
    while len(page := [usage(one), "", *_parted(parts), *below]) > SCREEN and len(parts) > 1:
        parts = parts[:1]
    return "\n".join(page)


def usage(one: Verb) -> str:
    """How a line of the command looks."""
    words = (row.left for row in one.rows if not row.names)
    return " ".join(("Usage: mem", one.name, "[OPTIONS]", *words))


def about(one: Verb) -> list[str]:
    """The paragraphs of what a command does."""
    return [" ".join(part.split()) for part in (one.work.__doc__ or "").split("\n\n")]


def short(one: Verb) -> str:
    """Its first sentence."""
    return about(one)[0].split(". ")[0].rstrip(".") + "."


def _parted(parts: Sequence[str]) -> list[str]:
    return [line for part in parts for line in (*_folded(f"  {part}", 2), "")]


def _folded(text: str, hang: int = 0) -> list[str]:
    told = columns(sys.stdout) or int(os.environ.get("COLUMNS") or 80)
    return fold(text, told if told < NARROWEST else min(WIDEST, told) - 1, hang)


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    lines, left = list[str](), min(LEFT, max((len(name) for name, _ in rows), default=0)) + 4
    for name, text in rows:
        wide = len(name) > left - 4
        lines += [f"  {name}"] * wide
        lines += _folded(f"  {'' if wide else name:<{left - 2}}{text}", left)
    return lines
