"""Embedders and language models, each one method wide."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float | None, work: Callable[[], T]) -> T:
    """What `work` gives, or TimeoutError after so many seconds: what still runs is left behind."""
    from queue import Empty, SimpleQueue
    from threading import Thread

    done: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()

    def run() -> None:
        try:
            done.put((work(), None))
        except BaseException as error:  # goes on where it was asked for
            done.put((None, error))

    Thread(target=run, daemon=True).start()
    try:
        result, error = done.get(timeout=seconds if seconds is None else max(seconds, 0.0))
    except Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]
