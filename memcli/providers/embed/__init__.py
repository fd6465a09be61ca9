"""Embedders, one method wide."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Protocol

Matrix = list["array[float]"]
"""One row of float32 (typecode "f") for each text, all of the same dimension."""


class Embedder(Protocol):
    """What turns texts into vectors; vectors of another `provider` or `model` cannot be
    compared."""

    provider: str
    model: str

    def embed(
        self,
        texts: Sequence[str],
        *,
        query: bool = False,
        deadline: float | None = None,
    ) -> Matrix:
        """One row for each text, finite, none all zero, NOT normalised. `query`: the
        texts are looked for; `deadline`: seconds for the whole call. Raises
        ProviderError."""
        ...


def name_of(embedder: Embedder) -> str:
    """The name of its vectors; those of two names cannot be compared."""
    return f"{embedder.provider}/{embedder.model}"
