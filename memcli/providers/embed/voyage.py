"""Voyage's embeddings: OpenAI's shape of reply, with an input type of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from memcli.providers.embed.http import HttpEmbedder, Wire, add_path, parse_url, read_key
from memcli.providers.embed.openai import read_data

URL: Final = "https://api.voyageai.com/v1"
MODEL: Final = "voyage-4"


def make_voyage(
    *, model: str, url: str, dimensions: int, environ: Mapping[str, str]
) -> HttpEmbedder:
    """Voyage with the key of VOYAGE_API_KEY; `url` replaces the base, up to and with /v1."""
    model = model or MODEL
    wire = Wire(
        "voyage",
        add_path(parse_url(url or URL, "embed_url"), "embeddings"),
        read_key(environ, "VOYAGE_API_KEY"),
        body=lambda texts, query: _body(model, dimensions, texts, query),
        rows=read_data,
        dimensions=dimensions,
        longest=16_000,
    )
    return HttpEmbedder(wire, model)


def _body(model: str, dimensions: int, texts: Sequence[str], query: bool) -> dict[str, Any]:
    size = {"output_dimension": dimensions} if dimensions else {}
    kind = "query" if query else "document"
    return {"model": model, "input": list(texts), "input_type": kind, "truncation": True, **size}
