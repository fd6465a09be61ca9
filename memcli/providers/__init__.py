"""Embedders and language models, each one method wide."""

from collections.abc import Callable, Iterable
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


def bounded(pieces: Iterable[bytes], most: int) -> bytes | None:
    """All pieces as one; None where that is more than so many bytes: it may not end."""
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > most:
            return None
    return bytes(data)
