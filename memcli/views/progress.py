"""Progress of long work: a bar on a terminal, one line at the end elsewhere."""

import sys
import threading
import time

from memcli.views.text import columns, say

SHOWN_AFTER = 0.5
EVERY = 0.2
WORTH_A_WORD = 10.0
"""Seconds before the bar is drawn, between two redraws, and of work worth a line in a
pipe."""


class Progress:
    """A progress bar on stderr, drawn by a thread, with count, total and time; removed
    at the end. Without a total, or past it, the bar only moves."""

    def __init__(self, name: str, *, quiet: bool = False) -> None:
        self._name = name
        self._quiet = quiet
        self._what = ""
        self._done = 0
        self._total = 0
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

    def count(self, noun: str, done: int, total: int = 0) -> None:
        """Report how much of something is done; leave out the total if it is not
        known."""
        self._what = noun
        self._done = done
        self._total = total

    def _counted(self) -> str:
        if not self._what:
            return ""
        total = f"/{self._total:,}" if self._total else ""
        return f"{self._what} {self._done:,}{total}"

    def _draw(self) -> None:
        if self._ended.wait(SHOWN_AFTER):
            return  # short work needs no bar, and does not import what draws it
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        bar = Bar(
            TextColumn("mem {task.description}"),
            BarColumn(),
            TextColumn("{task.fields[counted]} {task.fields[seconds]} s"),
            console=Console(stderr=True),
            transient=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with bar:
            task = bar.add_task(self._name, total=None, counted="", seconds=0)
            while not self._ended.wait(EVERY):
                is_under_way = self._done < self._total
                bar.tasks[0].total = self._total if is_under_way else None
                bar.update(
                    task,
                    completed=self._done,
                    counted=self._counted(),
                    seconds=int(time.monotonic() - self._begun),
                    refresh=True,
                )
