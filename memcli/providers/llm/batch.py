"""Many questions at once: the cache warmed first, a few at a time, one deadline over all."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Hashable, Sequence

from memcli.errors import ProviderError
from memcli.providers.llm import TIMEOUT, Ask, Model, Reply

GRACE = 2.0
"""Seconds after the deadline in which a provider may still say itself that it was late."""


def ask_all(
    model: Model, asks: Sequence[Ask], *, workers: int = 4, deadline: float = TIMEOUT
) -> list[Reply | ProviderError]:
    """The reply to each question, or why there is none; in order. One that fails stops no other.

    Of questions that share a prefix the first is asked alone: the cache holds a prefix only once
    its first reply has begun, so that all that were sent together would pay for it.
    """
    until = time.monotonic() + deadline
    first = _leaders(asks)
    rest = [at for at in range(len(asks)) if at not in first]
    found = _round(model, asks, first, workers, until)
    found.update(_round(model, asks, rest, workers, until))
    return [found.get(at) or _late(deadline) for at in range(len(asks))]


def _leaders(asks: Sequence[Ask]) -> list[int]:
    """The first of each group that shares a prefix."""
    keys = [_prefix(ask) for ask in asks]
    many = {key for key, count in Counter(keys).items() if count > 1 and key is not None}
    return sorted(keys.index(key) for key in many)


def _prefix(ask: Ask) -> Hashable:
    return (ask.system, str(ask.schema), ask.shared) if ask.shared else None


def _round(
    model: Model, asks: Sequence[Ask], which: Sequence[int], workers: int, until: float
) -> dict[int, Reply | ProviderError]:
    """Ask some of the questions, `workers` at a time, and wait for them no longer than to the
    deadline.

    The threads are daemons: one that hangs in spite of its timeout must not keep the program from
    ending.
    """
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, Reply | Exception]] = queue.SimpleQueue()
    for at in which:
        todo.put(at)

    def work() -> None:
        while True:
            try:
                at = todo.get_nowait()
            except queue.Empty:
                return
            done.put((at, _asked(model, asks[at], until)))

    for _ in range(min(workers, len(which))):
        threading.Thread(target=work, daemon=True).start()
    found: dict[int, Reply | ProviderError] = {}
    while len(found) < len(which):
        try:
            at, answer = done.get(timeout=max(0.0, until + GRACE - time.monotonic()))
        except queue.Empty:
            break
        if isinstance(answer, Exception) and not isinstance(answer, ProviderError):
            raise answer
        found[at] = answer
    return found


def _asked(model: Model, ask: Ask, until: float) -> Reply | Exception:
    left = until - time.monotonic()
    if left <= 0:
        return ProviderError(
            "not asked: the time for all questions is over", "run again to ask the rest"
        )
    try:
        return model.ask(ask._replace(timeout=min(ask.timeout, left)))
    except Exception as error:
        return error


def _late(deadline: float) -> ProviderError:
    return ProviderError(f"there was no reply within {deadline:g} s", "run again to ask the rest")
