"""Tables: drawn by rich on a terminal, tab-separated in a pipe. Nothing else imports rich."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from memcli.text.controls import for_display
from memcli.text.secrets import redact_each
from memcli.views import terminal
from memcli.views.text import coloured

if TYPE_CHECKING:
    from rich.text import Text

TITLE = 30
"""The least width of a table's title; other columns go before it gets narrower."""


def table(rows: Sequence[Sequence[str]], heads: Sequence[str], spare: Sequence[str] = ()) -> str:
    """A table; in a pipe a row a line without heads, tabs between its cells.

    Where the terminal is narrow, the columns `spare` are left out in turn; where goes below the
    title.
    """
    cells = iter(redact_each([" ".join(for_display(cell).split()) for row in rows for cell in row]))
    rows = [[next(cells) for _ in row] for row in rows]
    width = terminal.columns(sys.stdout)
    if not (width and rows):
        return "\n".join("\t".join(row) for row in rows)
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=width)
    widths = _fitting(rows, heads, spare, width)
    drawn = Table(box=None, pad_edge=False, header_style="bold" if coloured(sys.stdout) else "")
    for name, column in widths.items():
        drawn.add_column(name, overflow="fold", width=column)
    for row in rows:
        drawn.add_row(*_cells(dict(zip(heads, row, strict=True)), widths))
    with console.capture() as capture:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in capture.get().rstrip("\n").split("\n"))


def _cells(row: Mapping[str, str], widths: Mapping[str, int]) -> Iterator[Text]:
    """The cells of a row; below a title its place, when that has no column."""
    from rich.text import Text

    for name, width in widths.items():
        cell = Text("\n".join(terminal.fold(row[name], width)))
        if name == "title" and "where" not in widths:
            place = "\n".join(terminal.fold_path(row["where"], width))
            cell.append("\n" + place, style="dim" * coloured(sys.stdout))
        yield cell


def _fitting(
    rows: Sequence[Sequence[str]], heads: Sequence[str], spare: Sequence[str], width: int
) -> dict[str, int]:
    """The columns that are shown and their widths: a title gets what the others leave."""
    columns = zip(heads, zip(*rows, strict=True), strict=True)
    widths = {head: max(map(terminal.cells, (head, *cells))) for head, cells in columns}
    least = min(widths.get("title", 0), TITLE)

    def room() -> int:
        others = sum(size + 2 for name, size in widths.items() if name != "title")
        return width - others + (least == 0) * 2

    for name in spare:
        if room() < least:
            del widths[name]
    if "title" in widths:
        widths["title"] = max(1, min(widths["title"], room()) if "where" in widths else room())
    return widths
