"""Embeddings of an Ollama server (`/api/embed`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from memcli.providers.embed.http import HttpEmbedder, Key, Wire, add_path, parse_url, prefix_of

URL: Final = "http://127.0.0.1:11434"
MODEL: Final = "nomic-embed-text"


def make_ollama(
    *, model: str, url: str, dimensions: int, environ: Mapping[str, str]
) -> HttpEmbedder:
    """Ollama at `url`, else at OLLAMA_HOST in any of the forms that Ollama reads; no key is needed."""
    model = model or MODEL
    host = environ.get("OLLAMA_HOST", "").strip()
    base = parse_url(url, "embed_url") if url else parse_host(host) if host else URL
    wire = Wire(
        "ollama",
        add_path(base, "api/embed"),
        Key("OLLAMA_HOST", ""),
        body=lambda texts, query: _body(model, dimensions, texts, query),
        rows=lambda reply: reply["embeddings"],
        dimensions=dimensions,
        most_texts=32,
        longest=6_000,
        hint_missing=f"ollama pull {model}",
        hint_down="ollama serve",
    )
    return HttpEmbedder(wire, model)


def parse_host(text: str) -> str:
    """The URL of OLLAMA_HOST: `host`, `:port`, `host:port` or a URL; an address to listen on is
    here.
    """
    has_scheme = "://" in text
    given = text if has_scheme else f"http://{'127.0.0.1' if text.startswith(':') else ''}{text}"
    url = parse_url(given, "OLLAMA_HOST")
    parts = urlsplit(url)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(parts.hostname or "", parts.hostname or "")
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else "" if has_scheme else ":11434"
    user = parts.netloc.rpartition("@")[:2]
    return parts._replace(netloc=f"{''.join(user)}{host}{port}").geturl()


def _body(model: str, dimensions: int, texts: Sequence[str], query: bool) -> dict[str, Any]:
    prefix = prefix_of(model, query)
    size = {"dimensions": dimensions} if dimensions else {}
    return {"model": model, "input": [prefix + text for text in texts], "truncate": True, **size}
