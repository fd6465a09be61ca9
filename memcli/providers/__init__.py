"""Embedders and language models, each one method wide; those of the configuration."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from memcli.errors import UsageError
from memcli.project.config import user_file

if TYPE_CHECKING:
    from memcli.project.context import Project
    from memcli.providers.embed import Embedder
    from memcli.providers.llm import Model
    from memcli.providers.llm.ledger import Call

T = TypeVar("T")


class Providers:
    """What a run may ask. Use `close` when it is done."""

    def __init__(
        self, project: Project, spent: Callable[[], tuple[float, int]], note: Callable[[Call], None]
    ) -> None:
        self._project = project
        self._spent = spent
        self._note = note
        self._models: list[Model] = []

    @cached_property
    def embedder(self) -> Embedder | None:
        """What makes vectors, None without one. Raises UsageError for a missing key or folder."""
        from memcli.providers.embed import make_embedder

        return make_embedder(self._project.config, self._project.environ)

    @property
    def embeds_here(self) -> bool:
        """Whether vectors are made in this process, so that a refresh may make them."""
        return self._project.config.embedder in ("auto", "local") and self.embedder is not None

    def without_embedder(self) -> None:
        """Ask the embedder no more in this run: it cannot work."""
        self.__dict__["embedder"] = None

    @cached_property
    def model(self) -> Model | None:
        """The language model that the user has enabled, None without one."""
        return self.model_of(self._project.config.llm)

    def model_of(self, name: str) -> Model | None:
        """The language model of that name: for a run in which the user has asked for it."""
        from memcli.providers.llm import make_model
        from memcli.providers.llm.ledger import Ledger

        named = self._project.config._replace(llm=name)
        model = make_model(named, self._project.environ, Ledger(self._spent, self._note))
        self._models += [model] if model is not None else []
        return model

    def require_model(self, what: str) -> Model:
        """The enabled model. Raises UsageError that says how to enable one for `what`."""
        if self.model is None:
            path = user_file(self._project.home, self._project.environ)
            hint = f'write llm = "anthropic" (or "claude") into {path}'
            hint += ", or --set llm=anthropic for this run"
            raise UsageError(f"{what} needs a language model, and none is enabled", hint)
        return self.model

    def close(self) -> None:
        one: Any
        for one in (*self._models, self.__dict__.get("embedder")):
            if hasattr(one, "close"):
                one.close()


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
