"""How long a reader of a hostile text may take."""

import signal
from contextlib import contextmanager

PATIENCE = 60


class Hangs(Exception):
    """A reader did not come back."""


@contextmanager
def patience(seconds=PATIENCE):
    def give_up(number, frame):
        raise Hangs(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
