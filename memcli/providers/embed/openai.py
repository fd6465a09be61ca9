"""OpenAI's embeddings, and every server that speaks its wire format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from memcli.errors import UsageError
from memcli.providers.embed.http import (
    HttpEmbedder,
    Key,
    Wire,
    add_path,
    parse_url,
    prefix_of,
    read_key,
    shown,
)

URL: Final = "https://api.openai.com/v1"
MODEL: Final = "text-embedding-3-small"


def make_openai(
    name: str, *, model: str, url: str, dimensions: int, environ: Mapping[str, str]
) -> HttpEmbedder:
    """`openai` (key needed) or `openai-compatible` (URL and model needed, key where the server
    wants one).

    A base URL that is not OpenAI's own is part of the model's name in the cache: the same name may
    stand for another model there.
    """
    compatible = name == "openai-compatible"
    base = _base(url, environ, compatible)
    if compatible and not model:
        raise UsageError("embedder = openai-compatible needs a model", "set embed_model")
    key = _optional_key(environ) if compatible else read_key(environ, "OPENAI_API_KEY")
    model = model or MODEL
    wire = Wire(
        name,
        add_path(base, "embeddings"),
        key,
        body=lambda texts, query: _body(model, dimensions, texts, query),
        rows=read_data,
        dimensions=dimensions,
        most_texts=128 if compatible else 256,
    )
    return HttpEmbedder(wire, model if base == URL else f"{model} at {shown(base)}")


def _base(url: str, environ: Mapping[str, str], compatible: bool) -> str:
    if url:
        return parse_url(url, "embed_url")
    if compatible:
        raise UsageError(
            "embedder = openai-compatible needs a URL", "set embed_url, e.g. http://host:8080/v1"
        )
    own = environ.get("OPENAI_BASE_URL", "").strip()
    return parse_url(own, "OPENAI_BASE_URL") if own else URL


def _optional_key(environ: Mapping[str, str]) -> Key:
    set_key = environ.get("MEM_EMBED_KEY", "").strip()
    return read_key(environ, "MEM_EMBED_KEY") if set_key else Key("MEM_EMBED_KEY", "")


def _body(model: str, dimensions: int, texts: Sequence[str], query: bool) -> dict[str, Any]:
    prefix = prefix_of(model, query)
    size = {"dimensions": dimensions} if dimensions else {}
    return {
        "model": model,
        "input": [prefix + text for text in texts],
        "encoding_format": "float",
        **size,
    }


def read_data(reply: Any) -> list[Any]:
    """The vectors of `{"data": [{"index", "embedding"}]}` by index. Raises ValueError on odd
    indices.
    """
    items = reply["data"]
    order = {item.get("index", number): item["embedding"] for number, item in enumerate(items)}
    if sorted(order) != list(range(len(items))):
        raise ValueError("indices")
    return [order[number] for number in range(len(items))]
