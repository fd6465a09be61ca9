"""OpenAI's embeddings, and every server that speaks its wire format: Ollama and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from memcli.errors import UsageError
from memcli.providers.embed.http import HttpEmbedder
from memcli.providers.embed.wire import (
    Key,
    Wire,
    add_path,
    parse_url,
    prefix_of,
    read_key,
    shown,
)

URL: Final = "https://api.openai.com/v1"
OLLAMA: Final = "http://127.0.0.1:11434"
MODELS: Final = {"openai": "text-embedding-3-small", "ollama": "nomic-embed-text"}
"""The model of a provider that has a default one."""


def make_openai(
    name: str, *, model: str, url: str, dimensions: int, environ: Mapping[str, str]
) -> HttpEmbedder:
    """`openai` (key needed), `ollama` (OLLAMA_HOST, no key) or `openai-compatible` (URL and model
    needed, key where the server wants one).

    A base URL that is not OpenAI's own is part of the model's name in the cache: the same name may
    stand for another model there.
    """
    base = _base(name, url, environ)
    model = model or MODELS.get(name, "")
    if not model:
        raise UsageError("embedder = openai-compatible needs a model", "set embed_model")
    wire = Wire(
        name,
        add_path(base, "embeddings"),
        _key(name, environ),
        body=lambda texts, query: _body(model, dimensions, texts, query),
        rows=read_data,
        dimensions=dimensions,
        most_texts={"openai": 256, "ollama": 32}.get(name, 128),
    )
    if name == "ollama":
        missing = f"ollama pull {model}"
        wire = wire._replace(longest=6_000, hint_missing=missing, hint_down="ollama serve")
    return HttpEmbedder(
        wire, model if name == "ollama" or base == URL else f"{model} at {shown(base)}"
    )


def _base(name: str, url: str, environ: Mapping[str, str]) -> str:
    if name == "ollama":
        host = environ.get("OLLAMA_HOST", "").strip()
        base = parse_url(url, "embed_url") if url else parse_host(host) if host else OLLAMA
        return add_path(base, "v1")
    if url:
        return parse_url(url, "embed_url")
    if name == "openai-compatible":
        hint = "set embed_url, e.g. http://host:8080/v1"
        raise UsageError("embedder = openai-compatible needs a URL", hint)
    own = environ.get("OPENAI_BASE_URL", "").strip()
    return parse_url(own, "OPENAI_BASE_URL") if own else URL


def _key(name: str, environ: Mapping[str, str]) -> Key:
    if name == "openai":
        return read_key(environ, "OPENAI_API_KEY")
    variable = "OLLAMA_HOST" if name == "ollama" else "MEM_EMBED_KEY"
    optional = name != "ollama" and environ.get(variable, "").strip()
    return read_key(environ, variable) if optional else Key(variable, "")


def parse_host(text: str) -> str:
    """The URL of OLLAMA_HOST: `host`, `:port`, `host:port` or a URL; an address to listen on is
    here.
    """
    has_scheme = "://" in text
    given = text if has_scheme else f"http://{'127.0.0.1' if text.startswith(':') else ''}{text}"
    parts = urlsplit(parse_url(given, "OLLAMA_HOST"))
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(parts.hostname or "", parts.hostname or "")
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else "" if has_scheme else ":11434"
    user = parts.netloc.rpartition("@")[:2]
    return parts._replace(netloc=f"{''.join(user)}{host}{port}").geturl()


def _body(model: str, dimensions: int, texts: Sequence[str], query: bool) -> dict[str, Any]:
    prefix = prefix_of(model, query)
    size = {"dimensions": dimensions} if dimensions else {}
    given = [prefix + text for text in texts]
    return {"model": model, "input": given, "encoding_format": "float", **size}


def read_data(reply: Any) -> list[Any]:
    """The vectors of `{"data": [{"index", "embedding"}]}` by index. Raises ValueError on odd
    indices.
    """
    items = reply["data"]
    order = {item.get("index", number): item["embedding"] for number, item in enumerate(items)}
    if sorted(order) != list(range(len(items))):
        raise ValueError("indices")
    return [order[number] for number in range(len(items))]
