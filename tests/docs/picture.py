"""The picture of the README: a session as a terminal shows it, drawn from what the
program prints.

    python -m tests.docs.picture

writes docs/session.svg."""

import sys
import tempfile
from html import escape
from pathlib import Path

from memcli.views.text import fold_text
from tests.docs import console

PICTURE = console.ROOT / "docs" / "session.svg"
WIDTH = 92
LINE = 18
LETTER = 8.0
COMMANDS = (
    'mem recall --ranked --limit 1 --format text "why do the cart expiry tests fail around midnight"',
    "cat > talk.md <<'END'\n"
    "User: The invoice export is broken since the upgrade. Please fix it.\n"
    "Assistant: I will run the tests first.\n"
    "User: No, do not run the whole suite, run only tests/invoice.\n"
    "END",
    "mem extract talk.md",
    "mem recall --ranked --limit 1 --format text 'which tests do I run for invoices'",
)


def session(folder: Path) -> list[str]:
    """The commands and what they print, in a copy of the example, folded to the
    picture's width."""
    environ = {
        **console.world(folder),
        "MEM_HOME": str(folder / "docs" / "example" / "home"),
    }
    shop = folder / "docs" / "example" / "shop"
    lines = []
    for command, seen in zip(
        COMMANDS, console.run(COMMANDS, shop, environ), strict=True
    ):
        first, *more = command.split("\n")
        lines += [f"$ {first}", *(f"> {line}" for line in more), *seen.split("\n"), ""]
    return [part for line in lines for part in fold_text(line, WIDTH, more=4)]


def draw(lines: list[str]) -> str:
    """The lines as an SVG: a dark window, commands in another colour."""
    while lines and not lines[-1]:
        lines.pop()
    width = WIDTH * LETTER + 40
    height = len(lines) * LINE + 40
    rows = [
        f'<text x="20" y="{34 + at * LINE}"{_style(line)}>{escape(line)}</text>'
        for at, line in enumerate(lines)
        if line
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}"'
            ' font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13"'
            ' xml:space="preserve" fill="#d7dae0" role="img" aria-label="A session with mem">',
            f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#1b1f27"/>',
            *rows,
            "</svg>\n",
        ]
    )


def _style(line: str) -> str:
    if line.startswith(("$ ", "> ")):
        return ' fill="#7ee2a8"'
    return ' font-weight="bold"' if line.startswith((" 1. ", "For this task")) else ""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        PICTURE.write_text(draw(session(Path(folder))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
