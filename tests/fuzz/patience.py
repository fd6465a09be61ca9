"""How long a reader of a hostile text may take."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

PATIENCE: Final = 60


class Hangs(Exception):
    """A reader did not come back."""


@contextmanager
def patience(seconds: int = PATIENCE) -> Iterator[None]:
    def give_up(number: int, frame: FrameType | None):
        raise Hangs(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
