"""Lines for a terminal: folded at words, as wide as it is; what goes to a pipe stays as
it is."""

import fcntl
import io
import os
import pty
import re
import struct
import sys
import termios

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.views import text as terminal
from tests.terminal import read_terminal

STYLES = re.compile(r"\x1b\[[0-9;]*m")
LINES = st.text(st.sampled_from("ab cd  é日本、。「」\U0001f600\u0301"), max_size=60)


def on_tty(arguments, cwd, width, **env):
    """The lines that mem prints on a terminal of that width, stderr with them."""
    command = [sys.executable, "-m", "memcli", *arguments]
    return read_terminal(command, cwd, width=width, env=env).split("\n")


@given(LINES, st.integers(4, 30), st.integers(0, 8))
def test_folding_loses_nothing_but_blanks(line, width, hang):
    """Every character stays in its order, and only a line without a break is wider than
    the terminal."""
    lines = terminal.fold(line, width, hang)
    assert "".join("".join(lines).split()) == "".join(line.split())
    for part in lines:
        assert (
            terminal.cells(part.rstrip()) <= width
            or len(re.findall(terminal._PIECE, part.strip())) == 1
        )


def test_list_items_hang_below_their_first_word_and_code_stays():
    """`- `, `1. `, `hint: `; fenced lines may be copied, so they are not folded."""
    text = "- one two three\n10. one two three\nplain words here\n```\ncode code code\n```\nhint: a b c d e f"
    assert list(terminal.fold_text(text, 12)) == [
        "- one two",
        "  three",
        "10. one two",
        "    three",
        "plain words",
        "here",
        "```",
        "code code code",
        "```",
        "hint: a b c",
        "      d e f",
    ]
    assert list(terminal.fold_text("plain words here", 12, hanging=2)) == [
        "plain words",
        "  here",
    ]


def test_the_width_is_the_terminals(monkeypatch):
    """No terminal is 0; COLUMNS has the last word; nonsense and no answer are 80;
    nothing is below 20."""
    assert terminal.columns(None) == terminal.columns(io.StringIO()) == 0
    main, side = pty.openpty()
    with os.fdopen(main), os.fdopen(side, "w") as stream:
        for columns, width in ((None, 80), ("x", 80), ("50", 50), ("3", 20)):
            monkeypatch.delenv("COLUMNS", raising=False)
            if columns is not None:
                monkeypatch.setenv("COLUMNS", columns)
            assert terminal.columns(stream) == width
        monkeypatch.delenv("COLUMNS")
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 61, 0, 0))
        assert terminal.columns(stream) == 61


@pytest.fixture
def shop(project):
    """Long titles, long bodies, a list, a wide script, a deep path; part of it not
    committed."""
    project.git("init", "-q")
    project.commit("empty")
    body = (
        "**Context:** The suite was red now and then, always a little before midnight and never on a laptop."
        "\n\n- Freeze the clock in the fixture, for the whole module and not for single tests of it.\n"
        "数据导出给仓库的文件必须带标记，否则表格软件会把中文显示成乱码，而且没有人会注意到。\n"
    )
    title = "Freeze the clock of the cart fixture before anything is compared with it"
    project.remembers(title, body, id="9f9f9f9f-0000-4000-8000-00000000000a")
    job = ".mem/jobs/checkout-rewrite/tasks/idempotent-payments"
    project.write(
        f"{job}/MEMORY.md", project.entry("The clock of the job stands still", body)
    )
    return project


LINES = """recall clock of the cart fixture|list|show 9f9f9f9f|diff|health|health --history|doctor|compact --check
recall --limit 0 x|recal|--help""".replace("\n", "|").split("|")
WHY = "the fixture was removed together with all the tests that used it"
COMMANDS = [*map(str.split, LINES), ["retire", "9f9f9f9f", "--because", WHY]]


@pytest.mark.parametrize("width", [80, 60, 40])
@pytest.mark.parametrize("colour", ["", "1"])
def test_every_answer_fits_the_terminal(shop, width, colour):
    """No line is wider, but for a word that alone is; no colour with NO_COLOR."""
    env = {"NO_COLOR": "1"} if colour else {"NO_COLOR": ""}
    for arguments in COMMANDS if width == 40 else COMMANDS[:5]:
        lines = on_tty(arguments, shop.root, width, **env)
        assert len(lines) > 1, arguments
        assert not colour or "\x1b" not in "".join(lines), arguments
        for line in lines:
            words = STYLES.sub("", line).split()
            assert terminal.cells(line) <= width or len(words) == 1, (arguments, line)
