"""The bar of long work: drawn on a terminal, gone at its end, with a total."""

import sys

import pytest

from tests.programs import finished
from tests.terminal import read_terminal

WORK = """
import sys, time
from memcli.views import progress

with progress.Progress("index") as bar:
    bar.count("commits", 1500, 3000)
    time.sleep(progress.SHOWN_AFTER + 4 * progress.EVERY)
print("rich.progress" in sys.modules)
"""
COMMAND = [sys.executable, "-c", WORK]


@pytest.mark.process
def test_a_bar_has_a_total_and_goes(tmp_path):
    """On a terminal the bar says how much of how much is done; at the end the line is
    free again."""
    text = read_terminal(COMMAND, tmp_path, env={}, width=80, bars=True)
    assert "commits 1,500/3,000" in text
    assert text.endswith("\x1b[2KTrue\n")
    assert read_terminal(COMMAND, tmp_path, env={}, width=80) == "True\n"


@pytest.mark.process
def test_a_pipe_has_no_bar(tmp_path):
    """Where stderr is no terminal nothing is drawn, and what draws is not loaded."""
    process = finished(*COMMAND, cwd=tmp_path)
    assert (process.stdout, process.stderr) == ("False\n", "")
