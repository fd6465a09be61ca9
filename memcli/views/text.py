"""Words on the two streams: answers on stdout, talk on stderr, folded and styled on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from memcli.text.controls import for_display
from memcli.text.secrets import redact_secrets
from memcli.views import terminal

if TYPE_CHECKING:
    from memcli.memory.values import Patch, Problem

HOW_TO_BEGIN = (
    'mem: there is no memory here yet. Begin with: mem add "what you learned"'
    " (outside of a repository: --level global)"
)
MOST_LINES = 40
"""So many lines are told one by one; of more, the rest is only counted (--json has them all)."""
_STYLES = {"dim": 2, "bold": 1, "red": 31, "green": 32, "yellow": 33, "cyan": 36}


class Unread(Exception):
    """Whoever reads stdout has gone. (Typer would make an exit code 1 of a BrokenPipeError.)"""


def say(text: str, *, quiet: bool = False) -> None:
    """Talk, on stderr. Nobody listening is no reason to stop."""
    if text and not quiet and sys.stderr is not None:
        lines = terminal.fold_text(for_display(text), terminal.columns(sys.stderr), more=2)
        with suppress(BrokenPipeError):
            if sys.stdout is not None:
                sys.stdout.flush()  # in one file or pipe the answer stands before the talk about it
        with suppress(BrokenPipeError):
            print("\n".join(lines), file=sys.stderr)


def put(text: str) -> None:
    """The answer, on stdout."""
    if text and sys.stdout is not None:
        try:
            print(text)
        except BrokenPipeError:
            raise Unread from None


def put_bytes(data: bytes) -> None:
    """The answer, byte for byte."""
    sys.stdout.flush()
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise Unread from None


def put_diff(patches: Iterable[Patch], root: str) -> bool:
    """Print patches as one diff for `git apply`; on a terminal without what that would obey.

    Secrets are redacted, and it is said that such a diff does not apply. False when there is
    nothing to print.
    """
    whole = diff(patches, root)
    text = redact_secrets(whole)
    if text != whole:
        say("mem: secrets are redacted in this diff, so git apply may refuse it")
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    put(for_display(text) if on_terminal else text)
    return bool(text)


def diff(patches: Iterable[Patch], root: str) -> str:
    """All patches as one diff that `git apply` takes at the root."""
    from memcli.memory.diff import unified_diff

    def name(path: str) -> str:
        inside = root and os.path.commonpath((path, root)) == root
        return os.path.relpath(path, root) if inside else path.lstrip("/")

    return "".join(unified_diff(patch, name(patch.path)) for patch in patches).rstrip("\n")


def count_problems(problems: Sequence[Problem], *, quiet: bool) -> None:
    """Say how many problems the memory files have."""
    if problems:
        say(f"mem: {count(len(problems), 'problem')} in the memory files: mem doctor", quiet=quiet)


def problem_lines(problems: Iterable[Problem]) -> list[str]:
    """One line a problem: `path:line: what`."""
    return [in_one_line(f"{p.path}:{p.line}: {p.message}") for p in problems]


# --- words


def count(number: int, one: str, many: str = "") -> str:
    """`1 file`, `2 files`, `3 entries`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def first(lines: Sequence[str]) -> list[str]:
    """The first lines, and how many more there are."""
    if len(lines) <= MOST_LINES:
        return list(lines)
    return [*lines[:MOST_LINES], f"... and {len(lines) - MOST_LINES} more (--json lists all)"]


def in_one_line(text: str) -> str:
    """A file's name may hold line ends: they would make lines of their own."""
    return for_display(text).replace("\n", " ")


def values_text(values: Mapping[str, Any]) -> list[str]:
    """`key: value` lines, aligned."""
    width = max(map(len, values), default=0)
    rows = (
        redact_secrets(for_display(f"{key + ':':<{width + 1}} {value}"))
        for key, value in values.items()
    )
    return [line for row in rows for line in hung(row, width + 2)]


# --- terminals


def coloured(stream: TextIO | None) -> bool:
    """Whether `stream` is a terminal that may be coloured (NO_COLOR, TERM=dumb)."""
    if stream is None:
        return False
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str) -> str:
    """`text` dim, bold or in a colour, when stdout may be coloured."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if coloured(sys.stdout) else text


def folded(lines: Iterable[str], *, indent: int = 0, more: int = 0) -> list[str]:
    """`lines`, `indent` columns in; on a terminal folded at words, the rest `more` columns in."""
    width = terminal.columns(sys.stdout)
    return [
        part for line in lines for part in terminal.fold_text(line, width, indent=indent, more=more)
    ]


def hung(line: str, hang: int) -> list[str]:
    """`line`, on a terminal folded at words, all but its first line `hang` columns in."""
    return terminal.fold(line, terminal.columns(sys.stdout), hang)
