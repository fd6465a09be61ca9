"""README.md does what it says."""

import re

import pytest

from tests.docs import console, picture

README = (console.ROOT / "README.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.process


def test_readme_console_blocks_show_what_the_program_prints(tmp_path):
    """Every command, run in order in a copy of the example, prints what stands below
    it."""
    assert not (differences := console.compare(README, tmp_path)), "\n\n".join(
        differences
    )


def test_readme_sets_everything_up_with_two_command_lines():
    """One command line ends in a recall, the other in the tests; each makes its own
    environment."""
    lines = set_up()
    assert len(lines) == 2
    assert all(line.startswith("python3 -m venv .venv && ") for line in lines)
    assert "mem recall --root docs/example/shop" in lines[0]
    assert lines[1].endswith("-m pytest -n auto -m ''")


def set_up():
    """The command lines of the page's `sh` blocks."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def test_a_wrong_console_block_is_found_out(tmp_path):
    """The comparison itself can fail, `...` matches any lines, and a shell keeps its
    folder."""
    page = "```console\n$ cd docs/example/shop\n$ ls\nINTENT.md\n...\n$ echo one; echo two\none\nthree\n```\n"
    (difference,) = console.compare(page, tmp_path)
    assert difference.startswith("line 6: $ echo one; echo two")


def test_the_picture_shows_what_the_program_prints(tmp_path):
    """What docs/session.svg shows is what the commands in it print."""
    drawn = picture.draw(picture.session(tmp_path))
    assert picture.PICTURE.read_text(encoding="utf-8") == drawn, (
        "python -m tests.docs.picture"
    )


def test_the_page_is_short():
    """A reader is through within a minute."""
    assert len(README.splitlines()) <= 120
