"""Embedders and language models, each one method wide."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float | None, work: Callable[[], T]) -> T:
    """What `work` gives, or TimeoutError after so many seconds: what still runs is left
    behind."""
    from concurrent.futures import Future
    from threading import Thread

    finished: Future[T] = Future()

    def run() -> None:
        try:
            finished.set_result(work())
        except BaseException as error:  # goes on where it was asked for
            finished.set_exception(error)

    Thread(target=run, daemon=True).start()
    return finished.result(timeout=seconds if seconds is None else max(seconds, 0.0))
