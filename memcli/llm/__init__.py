"""Language models: one method wide, chosen by name, off until the user's own configuration says so."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from memcli.errors import UsageError


class Model(Protocol):
    """What a language model does here."""

    def complete(self, system: str, prompt: str) -> str:
        """The reply to one prompt. Raises ProviderError."""
        ...


def make_model(name: str, replies: str = "") -> Model | None:
    """The model of that name; None for "none"."""
    if name == "none":
        return None
    if name == "scripted":
        from memcli.llm.scripted import Scripted

        return Scripted(Path(replies))
    raise UsageError(f"llm = {name!r}: unknown model", "one of none, scripted")
