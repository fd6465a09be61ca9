"""How the time of a reader grows with the length of a hostile text."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NamedTuple

from tests.fuzz.hostile import Family
from tests.fuzz.targets import Target, tried

LEAST: Final = 0.05
"""Seconds below which a time says nothing about growth."""
LONGEST: Final = 2_000_000
"""Characters of the longest text."""
WORST: Final = 6.0
"""Four times the text may take so many times as long: 4 is linear, 16 quadratic."""
PATIENCE: Final = 60


class Growth(NamedTuple):
    """Seconds for `size` characters, and how many times as long four times the size took; 0: too
    fast.
    """

    target: str
    family: str
    size: int
    seconds: float
    ratio: float


class Hangs(Exception):
    """A reader did not come back."""


@contextmanager
def patience(seconds: int = PATIENCE) -> Iterator[None]:
    """Raise `Hangs` in whatever takes longer."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise Hangs(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def seconds(target: Target, text: str, times: int = 1) -> float:
    """CPU seconds of the best of so many runs."""
    taken = []
    for _ in range(times):
        started = time.process_time()
        with patience():
            tried(target, text)
        taken.append(time.process_time() - started)
    return min(taken)


def measured(
    target: Target, family: Family, *, size: int = 4_000, longest: int = LONGEST
) -> Growth:
    """Time at n and at 4n, for the first n of `size`, 4 `size`, … whose time says something.

    What seems to grow too fast is measured twice more: a busy machine is no finding.
    """
    now = seconds(target, family.make(size))
    while now < LEAST and 4 * size <= longest:
        size *= 4
        now = seconds(target, family.make(size))
    if now < LEAST:
        return Growth(target.name, family.name, size, now, 0.0)
    ratio = seconds(target, family.make(4 * size)) / now
    if ratio > WORST:
        now = seconds(target, family.make(size), 2)
        ratio = seconds(target, family.make(4 * size), 2) / now
    return Growth(target.name, family.name, size, now, ratio)
