"""Embedders and language models, each one method wide."""

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
PACKING = "gzip"
"""How a reply may be packed."""
GZIP = 31
"""What zlib calls that, with the largest window."""


def within(seconds: float | None, work: Callable[[], T]) -> T:
    """The result of `work`, or TimeoutError after so many seconds; the work is then
    left running."""
    from concurrent.futures import Future
    from threading import Thread

    finished: Future[T] = Future()

    def run() -> None:
        try:
            finished.set_result(work())
        except BaseException as error:  # raised where the result is asked for
            finished.set_exception(error)

    Thread(target=run, daemon=True).start()
    return finished.result(timeout=seconds if seconds is None else max(seconds, 0.0))


def bounded(pieces: Iterable[bytes], limit: int, packing: str | None) -> bytes:
    """All pieces of a reply as one, unpacked. Raises ValueError, with what is wrong
    with the reply: more than so many bytes (it may not end), or packed otherwise than
    asked for.

    It is unpacked here: a client unpacks a piece of it as a whole, however much that
    makes."""
    from zlib import decompressobj, error

    if packing not in (None, "identity", PACKING):
        raise ValueError(f"is packed as {packing[:20]!r}, which was not asked for")
    unpacker = decompressobj(GZIP) if packing == PACKING else None
    data = bytearray()
    try:
        for piece in pieces:
            room = limit + 1 - len(data)
            data += unpacker.decompress(piece, room) if unpacker else piece
            if len(data) > limit:
                raise ValueError("is too large")
    except error:
        raise ValueError(f"is not packed as {PACKING}, as it says") from None
    return bytes(data)
