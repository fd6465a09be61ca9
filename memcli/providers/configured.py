"""The embedder and the language models that the configuration names, made on first
use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from memcli.errors import UsageError
from memcli.project.config import Config, user_file

if TYPE_CHECKING:
    from memcli.project.context import Project
    from memcli.providers.embed import Embedder
    from memcli.providers.llm import Model, Provider
    from memcli.providers.llm.ledger import Call, Ledger


class Providers:
    """The providers of one run. Call `close` at its end."""

    def __init__(
        self,
        project: Project,
        spent: Callable[[], tuple[float, int]],
        note: Callable[[Call], None],
    ) -> None:
        self._project = project
        self._spent = spent
        self._note = note
        self._models: list[Model] = []

    @cached_property
    def embedder(self) -> Embedder | None:
        """What makes vectors, None for none. Raises UsageError if a key or folder is
        missing."""
        return make_embedder(self._project.config, self._project.environ)

    @cached_property
    def model(self) -> Model | None:
        """The language model that the user has enabled, None for none."""
        return self.model_of(self._project.config.llm)

    def model_of(self, name: str) -> Model | None:
        """The language model of that name, for a run that asked for it."""
        from memcli.providers.llm.ledger import Ledger

        named = self._project.config._replace(llm=name)
        model = make_model(
            named, self._project.environ, Ledger(self._spent, self._note)
        )
        if model is not None:
            self._models.append(model)
        return model

    def require_model(self, purpose: str) -> Model:
        """The enabled model. Raises UsageError that says how to enable one for
        `purpose`."""
        if self.model is None:
            path = user_file(self._project.home, self._project.environ)
            hint = f'write llm = "anthropic" into {path}, or --set llm=anthropic for this run'
            raise UsageError(
                f"{purpose} needs a language model, and none is enabled", hint
            )
        return self.model

    def close(self) -> None:
        """Close the connections and processes that were opened."""
        made: Any
        for made in (*self._models, self.__dict__.get("embedder")):
            if hasattr(made, "close"):
                made.close()


def make_embedder(config: Config, environ: Mapping[str, str]) -> Embedder | None:
    """The embedder of the configuration, None for none. Raises UsageError if something
    is missing."""
    name = config.embedder
    if name == "none":
        return None
    if name in ("auto", "local"):
        from memcli.providers.embed.local import Local

        return Local()
    from memcli.providers.embed.http import HttpEmbedder
    from memcli.providers.embed.wire import make_wire

    return HttpEmbedder(make_wire(config, environ))


def make_model(
    config: Config, environ: Mapping[str, str], ledger: Ledger
) -> Model | None:
    """The model that `config.llm` names, None for "none". Raises UsageError if
    something is missing."""
    from memcli.providers.llm import Scripted
    from memcli.providers.llm.anthropic import Anthropic
    from memcli.providers.llm.command import Claude, Codex
    from memcli.providers.llm.ledger import Guarded

    providers: Mapping[str, Callable[..., Provider]] = {
        "claude": Claude,
        "codex": Codex,
    }
    if config.llm == "none":
        return None
    if config.llm == "scripted":
        providers = {"scripted": lambda model, environ: Scripted(config.llm_replies)}
    made = providers.get(config.llm, Anthropic)(config.model, environ)
    limits = {
        key: getattr(config, key) for key in ("max_cost", "max_cost_day", "max_calls")
    }
    return Guarded(made, limits, ledger)
