"""The help: every page of it fits 24 lines of 80 columns; `mem help` says all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer.core

SCREEN = 24
"""So many lines a page has at most; what would be longer says less."""


class Program(typer.core.TyperGroup):
    """`mem`, whose help lists its commands by group: what is for every day with what it does."""

    groups: Mapping[str, Sequence[str]] = {}

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.write(formatter, detailed=1)
        more = "mem help explains every command, mem COMMAND --help one; mem --version"
        formatter.write_paragraph()
        formatter.write_text(more)

    def write(self, formatter: Any, detailed: int) -> None:
        """The page, with what each command does in the first `detailed` groups."""
        formatter.write("Usage: mem COMMAND [OPTIONS]\n\n")
        formatter.write_text(self.help)
        for at, (title, names) in enumerate(self.groups.items()):
            if at < detailed:
                with formatter.section(title):
                    rows = [(name, self.commands[name].get_short_help_str(200)) for name in names]
                    formatter.write_dl(rows)
            else:
                formatter.write("\n" if at == detailed else "")
                formatter.write_text(f"{title}: {' '.join(names)}")


class Command(typer.core.TyperCommand):
    """A command, whose own options have a line each; those it shares are only named."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        paragraphs = (self.help or "").strip().split("\n\n")
        for text in ("\n\n".join(paragraphs), paragraphs[0]):
            page = ctx.make_formatter()
            self.write(ctx, page, text)
            if page.getvalue().rstrip("\n").count("\n") < SCREEN:
                break
        formatter.write(page.getvalue())

    def write(self, ctx: Any, formatter: Any, text: str, *, whole: bool = False) -> None:
        """The page; a `whole` one explains the options that commands share, too."""
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)
        rows: list[tuple[str, str]] = []
        panels: dict[str, list[str]] = {}
        for param in self.get_params(ctx):
            left, right = record(param, ctx)
            panel = getattr(param, "rich_help_panel", None) or ("Always" if left == HELP else "")
            if panel and not whole:
                panels.setdefault(panel, []).append(left)
            else:
                rows.append((left, right))
        formatter.write_paragraph()
        with formatter.indentation():
            if rows:
                formatter.write_dl(rows, col_max=26)
            for title, names in panels.items():
                formatter.write_text(f"{title}: {'; '.join(names)}")


HELP = "-h, --help"


def record(param: Any, ctx: Any) -> tuple[str, str]:
    """What stands left and right of a parameter in the help."""
    if param.param_type_name == "argument":
        return str(param.metavar or param.make_metavar(ctx)), param.help or ""
    names = ", ".join(sorted((*param.opts, *param.secondary_opts), key=len))
    takes = "" if param.is_flag else f" {param.metavar or param.type.name.upper()}"
    return names + takes, param.help or ""
