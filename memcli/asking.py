"""How a command asks the language model that the user has enabled: all replies or an error."""

from __future__ import annotations

from collections.abc import Sequence

from memcli.app import App
from memcli.errors import ProviderError, UsageError
from memcli.project.config import user_file
from memcli.providers.llm import Ask, Model


def require(app: App, what: str) -> Model:
    """The model that the user has enabled. Raises UsageError that says how to enable one for
    `what`.
    """
    model = app.model
    if model is None:
        path = user_file(app.home, app.environ)
        raise UsageError(
            f"{what} needs a language model, and none is enabled",
            f'write llm = "anthropic" (or "claude") into {path}, or --set llm=anthropic for this run',
        )
    return model


def answers(model: Model, asks: Sequence[Ask]) -> list[str]:
    """The text of the reply to each question, in order. Raises ProviderError when one has none.

    Call it while no lock is held and no transaction is open: it may take minutes.
    """
    if not asks:
        return []
    from memcli.providers.llm.batch import ask_all

    texts = []
    for reply in ask_all(model, asks):
        if isinstance(reply, ProviderError):
            raise reply
        texts.append(reply.text)
    return texts
