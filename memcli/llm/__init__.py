"""Language models: one method wide, chosen by name, off until the user's own configuration says so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from memcli.errors import UsageError


class Ask(NamedTuple):
    """One question. `shared` is what several questions have in common (a transcript): it comes first
    and is cached by the provider; `prompt` comes after it. `schema` is the JSON schema of the reply.
    """

    system: str
    prompt: str
    shared: str = ""
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 4000
    purpose: str = ""
    """A word for the ledger: the scope or the verb that asks."""


class Usage(NamedTuple):
    """Tokens of one call, as the provider counted them."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0


class Reply(NamedTuple):
    """The text of a reply (JSON text when a schema was asked for) and what it cost."""

    text: str
    usage: Usage = Usage()


class Model(Protocol):
    """What a language model does here."""

    def ask(self, ask: Ask) -> Reply:
        """The reply to one question. Raises ProviderError. May be called from several threads."""
        ...

    def complete(self, system: str, prompt: str) -> str:
        """The text of the reply to a plain prompt."""
        ...


def make_model(name: str, replies: str = "") -> Model | None:
    """The model of that name; None for "none"."""
    if name == "none":
        return None
    if name == "scripted":
        from memcli.llm.scripted import Scripted

        return Scripted(Path(replies))
    raise UsageError(f"llm = {name!r}: unknown model", "one of none, scripted")
