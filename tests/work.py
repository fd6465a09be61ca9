"""How much work something is, told so that a slow machine gives the same answer."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

# A hundred times what the longest of these needs on a slow machine.
ENDLESS = 60.0


def calls(action: Callable[[], object]) -> int:
    """How many functions, of Python and of C, are called while an action runs."""
    count = 0

    def note(frame: FrameType, event: str, argument: object):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


@contextmanager
def ends() -> Iterator[None]:
    """Fails when the block takes a minute of CPU: what grows with the square of such
    a text takes many, what grows with its length a fraction of a second."""
    started = time.process_time()
    yield
    spent = time.process_time() - started
    assert spent < ENDLESS, f"{spent:.0f} s of CPU"
