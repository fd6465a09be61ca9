"""How far long work is: on a terminal as it goes, from its first second; elsewhere at
its end."""

import sys
import threading
import time

from memcli.views.text import columns, say

SHOWN_AFTER = 0.5
EVERY = 0.2
WORTH_A_WORD = 10.0
"""Seconds: before the line is drawn, between two drawings, and of work that is told in
a pipe."""


class Progress:
    """A line on stderr, drawn by a thread: what is done and for how long; gone at the
    end."""

    def __init__(self, name: str, *, quiet: bool = False) -> None:
        self._name = name
        self._quiet = quiet
        self._what = ""
        self._begun = 0.0
        self._ended = threading.Event()
        self._drawer: threading.Thread | None = None

    def __enter__(self) -> "Progress":
        self._begun = time.monotonic()
        self._drawer = None
        self._ended.clear()
        if not self._quiet and columns(sys.stderr):
            self._drawer = threading.Thread(target=self._draw, daemon=True)
            self._drawer.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._ended.set()
        took = time.monotonic() - self._begun
        if self._drawer is not None:
            self._drawer.join()
        elif kind is None and took >= WORTH_A_WORD:
            say(f"mem: {self._name} took {took:.0f} s", quiet=self._quiet)

    def count(self, what: str, done: int, total: int = 0) -> None:
        """Say how much of something is done."""
        self._what = f" {what} {done:,}"
        if total:
            self._what += f"/{total:,}"

    def _draw(self) -> None:
        wait = SHOWN_AFTER
        width = 0
        while not self._ended.wait(wait):
            wait = EVERY
            took = time.monotonic() - self._begun
            line = f"mem {self._name}:{self._what} {took:.0f} s"
            width = max(width, len(line))
            _print(f"\r{line:<{width}}")
        if width:
            _print(f"\r{'':<{width}}\r")


def _print(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)
