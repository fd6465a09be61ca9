"""Google's Gemini embeddings (`batchEmbedContents`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from memcli.providers.embed.http import HttpEmbedder
from memcli.providers.embed.wire import Wire, add_path, parse_url, prefix_of, read_key

URL: Final = "https://generativelanguage.googleapis.com/v1beta"
MODEL: Final = "gemini-embedding-001"
DIMENSIONS: Final = (
    768  # the model's own 3072 make a cache four times as big for a third of a point
)


def make_gemini(
    *, model: str, url: str, dimensions: int, environ: Mapping[str, str]
) -> HttpEmbedder:
    """Gemini with the key of GEMINI_API_KEY or GOOGLE_API_KEY; `url` replaces the base, with
    /v1beta.
    """
    model = (model or MODEL).removeprefix("models/")
    dimensions = dimensions or DIMENSIONS
    base = parse_url(url or URL, "embed_url")
    wire = Wire(
        "gemini",
        add_path(base, f"models/{quote(model, safe='')}:batchEmbedContents"),
        # In a header, not in the URL: a URL is logged.
        read_key(environ, "GEMINI_API_KEY", "GOOGLE_API_KEY", header="x-goog-api-key"),
        body=lambda texts, query: {
            "requests": [_request(model, dimensions, text, query) for text in texts]
        },
        rows=lambda reply: [item["values"] for item in reply["embeddings"]],
        dimensions=dimensions,
        most_texts=100,
        longest=6_000,
    )
    return HttpEmbedder(wire, model)


def _request(model: str, dimensions: int, text: str, query: bool) -> dict[str, Any]:
    task = "RETRIEVAL_QUERY" if query else "RETRIEVAL_DOCUMENT"
    prefix = prefix_of(model, query)
    return {
        "model": f"models/{model}",
        "content": {"parts": [{"text": prefix + text}]},
        "outputDimensionality": dimensions,
        # The models that want a prefix ignore the type of the task.
        **({} if prefix else {"taskType": task}),
    }
