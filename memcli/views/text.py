"""Print text: answers on stdout, messages on stderr; folded and styled on a
terminal."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO
from unicodedata import combining, east_asian_width

from memcli.errors import DataError, RefusedError
from memcli.memory.words import count as count
from memcli.text.controls import for_display, for_pipe
from memcli.text.secrets import redact_secrets

if TYPE_CHECKING:
    from memcli.memory.values import Patch, Problem

MOST_LINES = 40
"""The most lines that are printed; the rest is only counted (--json has them all)."""
NARROWEST = 20
USUAL = 80
TITLE = 30
"""The least width of a layout, the width of a terminal that does not tell it, and the
least width of a table's title: other columns are dropped before it gets narrower."""
_STYLES = {"dim": 2, "bold": 1, "red": 31, "green": 32, "yellow": 33, "cyan": 36}
_STYLE = r"\x1b\[[0-9;]*m"
_HANG = r"\s*(?:(?:[-*+=<>]|\d{1,3}[.)]|mem:|hint:|next:|note:)\s+)?"
_FENCE = r"\s*(```|~~~)"
_WIDE = "\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6"
_CLOSING = "、。，．：；？！）］｝」』】〉》〕ー々"
# A line may break at blanks, and around a wide character unless the next line would
# begin with a comma. Compiled only when a line is too long for a terminal.
_PIECE = rf" +|[{_WIDE}][{_CLOSING}]*|(?:(?![{_WIDE}])[^ ])+[{_CLOSING}]*"


class Unread(Exception):
    """The reader of stdout has gone. Typer would turn a BrokenPipeError into exit code
    1."""


class Unprinted(Exception):
    """The answer could not be printed, and why."""


def flush_answer() -> None:
    """Hand what was printed to the system. Raises BrokenPipeError and Unprinted."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unprinted(error.strerror) from None


def say(text: str, *, quiet: bool = False) -> None:
    """Print a message on stderr; a closed stderr is no reason to stop."""
    if text and not quiet and sys.stderr is not None:
        lines = fold_text(for_display(text), columns(sys.stderr), hanging=2)
        with suppress(BrokenPipeError):
            # if both go to one file or pipe, the answer comes before the messages
            flush_answer()
        with suppress(BrokenPipeError):
            print("\n".join(lines), file=sys.stderr)


def put(text: str, end: str = "\n") -> None:
    """Print the answer on stdout."""
    if text and sys.stdout is not None:
        try:
            print(text, end=end)
        except BrokenPipeError:
            raise Unread from None
        except OSError as error:
            raise Unprinted(error.strerror) from None


def safe(text: str) -> str:
    """A text answer that is safe to print: without secrets; in a pipe also without
    orders and harness tags."""
    return redact_secrets(text) if columns(sys.stdout) else for_pipe(text)


def put_diff(patches: "Iterable[Patch]", root: str) -> bool:
    """Print patches as a diff for `git apply`, secrets redacted; False when there are
    none."""
    whole = diff(patches, root)
    text = redact_secrets(whole)
    if text != whole:
        say("mem: secrets are redacted in this diff, so git apply may refuse it")
    put(for_display(text) if columns(sys.stdout) else text)
    return bool(text)


def diff(patches: "Iterable[Patch]", root: str) -> str:
    """All patches as one diff that `git apply` takes at the root."""
    from memcli.memory.diff import unified_diff

    parts = []
    for patch in patches:
        inside = root and os.path.commonpath((patch.path, root)) == root
        name = os.path.relpath(patch.path, root) if inside else patch.path.lstrip("/")
        parts.append(unified_diff(patch, name))
    return "".join(parts).rstrip("\n")


def count_problems(problems: "Sequence[Problem]", *, quiet: bool) -> None:
    """Print how many problems the memory files have, and the first that keeps something
    from being read."""
    if problems:
        message = f"{count(len(problems), 'problem')} in the memory files"
        if unread := [
            problem for problem in problems if problem.severity == "unreadable"
        ]:
            message += f" ({unread[0]})"
        say(f"mem: {in_one_line(message)}: mem doctor", quiet=quiet)


def how_to_begin(
    problems: "Iterable[Problem]", *, rooted: bool = True, history: bool = False
) -> str:
    """Print how to begin if there is no memory at all; `rooted`: in a project,
    `history`: it has history."""
    if any(problem.severity == "unreadable" for problem in problems):
        return ""
    level = "" if rooted else " --level global"
    begin = [f'Begin with: mem add{level} "what you learned"']
    if rooted and not history:
        begin.append("search commits and chats: mem index --history")
    return f"mem: there is no memory here yet. {', or '.join(begin)}"


def name_problems(
    problems: "Sequence[Problem]", hint: str = "hint: mem doctor", *, done: bool = True
) -> int:
    """Print each problem on a line and return the exit code for unusable data, or that
    of a refusal if conflicts kept everything from being `done`."""
    if not problems:
        return 0
    severities = {problem.severity for problem in problems}
    lines = [in_one_line(str(problem)) for problem in problems]
    if hint and severities != {"defaulted"}:
        lines.append(hint)
    say("\n".join(lines))
    is_refused = severities == {"conflict"} and not done
    return RefusedError.code if is_refused else DataError.code


def first(lines: Sequence[str]) -> list[str]:
    """The first lines, and a line that counts the rest."""
    left_out = len(lines) - MOST_LINES
    if left_out <= 0:
        return list(lines)
    return [*lines[:MOST_LINES], f"... and {left_out} more (--json lists all)"]


def joined_counts(*counts: tuple[int, str]) -> str:
    """`3 sent, 1 removed`: the numbers that are not 0, each with what it counts."""
    return ", ".join(f"{number} {what}" for number, what in counts if number)


def in_one_line(text: str) -> str:
    """A text in one line: the name of a file may contain line breaks."""
    return for_display(text).replace("\n", " ")


def place(path: str, line: int = 0) -> str:
    """A file name made safe to print; every view uses this, since a name may contain
    line breaks, secrets and tags."""
    return safe(in_one_line(f"{path}:{line}" if line else path))


def values_text(values: Mapping[str, Any]) -> list[str]:
    """`key: value` lines, aligned."""
    width = max(map(len, values), default=0) + 1
    lines = []
    for name, value in values.items():
        text = for_display(f"{name + ':':<{width}} {value}")
        lines += hung(redact_secrets(text), width + 1)
    return lines


def columns(stream: TextIO | None) -> int:
    """The width of the terminal `stream` (COLUMNS overrides it); 0 if it is not a
    terminal."""
    if stream is None or not stream.isatty():
        return 0
    try:
        width = (
            int(os.environ.get("COLUMNS") or 0)
            or os.get_terminal_size(stream.fileno()).columns
        )
    except (ValueError, OSError):
        width = 0
    return max(NARROWEST, width or USUAL)


def styled(text: str, style: str) -> str:
    """`text` dim, bold or coloured, if stdout may be coloured (NO_COLOR, TERM=dumb)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not columns(sys.stdout):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def cells(text: str) -> int:
    """The columns that a line takes: styles take none, Chinese, Japanese, Korean and
    emoji two."""
    text = re.sub(_STYLE, "", text) if "\x1b" in text else text
    if text.isascii():
        return len(text)
    return sum(map(_character_cells, text))


def _character_cells(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def fold(line: str, width: int, hang: int = 0) -> list[str]:
    """`line` folded between words at `width` columns; all lines but the first are
    indented by `hang`."""
    line = line.expandtabs(4) if width else line
    if not width or cells(line) <= width:
        return [line]
    hang = min(hang, width // 2)
    lines = []
    current = ""
    used = 0
    blanks = ""
    for piece in re.findall(_PIECE, line):
        size = cells(piece)
        if piece.isspace():
            blanks += piece
            continue
        if used + len(blanks) + size > width and current.strip():
            lines.append(current)
            current = ""
            used = 0
            blanks = " " * min(hang, max(2, width - size))
        current += blanks + piece
        used += len(blanks) + size
        blanks = ""
    return [*lines, current]


def fold_text(
    text: str, width: int, *, indent: int = 0, hanging: int = 0
) -> Iterator[str]:
    """Lines indented by `indent` columns and folded below the first word of their
    item; fenced code is left as it is."""
    fence = ""  # the fence that opened the current code block
    for line in text.split("\n"):
        indented = " " * indent + line if line else ""
        found = re.match(_FENCE, line)
        mark = found[1] if found else ""
        if mark or fence:
            yield indented
            ends = mark == fence
            fence = "" if ends else fence or mark
        else:
            yield from fold(indented, width, _hang(indented, hanging))


def _hang(line: str, hanging: int) -> int:
    """The column where the text of a list item begins, or `hanging` columns after the
    indent of a line."""
    found = re.match(_HANG, line)
    end = found.end() if found else 0
    return end if line[:end].strip() else end + hanging


def folded(lines: Iterable[str], *, indent: int = 0, more: int = 0) -> list[str]:
    """`lines` indented by `indent` columns; on a terminal folded at words, the rest
    indented by `more` columns."""
    width = columns(sys.stdout)
    parts: list[str] = []
    for line in lines:
        parts += fold_text(line, width, indent=indent, hanging=more)
    return parts


def hung(line: str, hang: int) -> list[str]:
    """`line`, on a terminal folded at words; all but its first line are indented by
    `hang` columns."""
    return fold(line, columns(sys.stdout), hang)


def table(
    rows: Sequence[Sequence[str]], heads: Sequence[str], spare: Sequence[str] = ()
) -> str:
    """A table; a narrow terminal leaves out the columns `spare`. In a pipe, rows with
    tabs and no header."""
    shown = [
        [redact_secrets(" ".join(for_display(cell).split())) for cell in row]
        for row in rows
    ]
    width = columns(sys.stdout)
    if width and shown:
        return _drawn(shown, heads, spare, width)
    return "\n".join("\t".join(row) for row in shown)


def _drawn(
    rows: Sequence[Sequence[str]],
    heads: Sequence[str],
    spare: Sequence[str],
    width: int,
) -> str:
    """The table for a terminal of that width."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    widths = _fitting(rows, heads, spare, width)
    coloured = bool(styled("", "bold"))
    drawn = Table(box=None, pad_edge=False, header_style="bold" if coloured else "")
    for name, size in widths.items():
        drawn.add_column(name, overflow="fold", width=size)
    for row in rows:
        named = dict(zip(heads, row, strict=True))
        texts = {name: Text(_cut(named[name], size)) for name, size in widths.items()}
        if "title" in widths and "where" in named.keys() - widths.keys():
            place = _cut(named["where"], widths["title"])
            texts["title"].append(f"\n{place}", style="dim" if coloured else "")
        drawn.add_row(*texts.values())
    console = Console(highlight=False, width=width)
    with console.capture() as capture:
        console.print(drawn)
    return "\n".join(map(str.rstrip, capture.get().rstrip("\n").split("\n")))


def _cut(text: str, width: int) -> str:
    """Lines of at most `width` columns. Words that are too long are cut, paths after a
    slash."""
    lines = []
    for part in fold(text, width):
        remainder = part
        while cells(remainder) > width:
            most = width if remainder.isascii() else max(1, width // 2)
            end = remainder.rfind("/", 0, most) + 1 or most
            lines.append(remainder[:end])
            remainder = remainder[end:]
        lines.append(remainder)
    return "\n".join(lines)


def _fitting(
    rows: Sequence[Sequence[str]],
    heads: Sequence[str],
    spare: Sequence[str],
    width: int,
) -> dict[str, int]:
    """The columns that fit, with their widths; the title takes what is left."""
    values = zip(heads, zip(*rows, strict=True), strict=True)
    widths = {head: max(map(cells, (head, *column))) for head, column in values}
    title = widths.get("title", 0)
    least = min(title, TITLE) if title else -2
    for name in spare:
        if _room_for_title(widths, width) < least:
            del widths[name]
    if title:
        room = _room_for_title(widths, width)
        # a place without a column is shown below the title
        is_below = "where" in heads and "where" not in widths
        widths["title"] = max(1, room if is_below else min(title, room))
    return widths


def _room_for_title(widths: Mapping[str, int], width: int) -> int:
    return width - sum(size + 2 for name, size in widths.items() if name != "title")
