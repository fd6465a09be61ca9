"""The measurement of scale: what it says of its figures. It is run by hand
(docs/benchmarks.md)."""

import os
import sys
from pathlib import Path

from tests.bench import speed


def test_memory_is_that_of_the_command_not_of_who_measures():
    """A child of a large process counts as large; the measured one is a grandchild."""
    held = bytearray(os.urandom(1) * 200_000_000)
    small = speed.cost(
        [sys.executable, "-S", "-c", "pass"], dict(os.environ), Path.cwd()
    )
    large = speed.cost(
        [sys.executable, "-S", "-c", "bytearray(b'x' * 90_000_000)"], {}, Path.cwd()
    )
    assert len(held) == 200_000_000
    assert small.memory < 60 and large.memory > 90 and small.seconds > 0
