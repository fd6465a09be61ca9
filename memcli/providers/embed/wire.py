"""How each provider behind a URL is spoken to: its key, its URL, its wire format."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from memcli.errors import UsageError
from memcli.project.config import Config
from memcli.text.matching import table

OPENAI = "https://api.openai.com/v1"
OLLAMA = "http://127.0.0.1:11434"
GEMINI = "https://generativelanguage.googleapis.com/v1beta"
GEMINI_DIMENSIONS = 768  # 3072 make a cache four times as big for a third of a point
_KNOWN = json.loads(table("providers/embed/models.json"))
"""The usual model of a provider; what a model wants before a query and before a
document."""


class ApiKey(NamedTuple):
    """A secret with the name of its variable, which alone is shown."""

    variable: str
    secret: str
    header: str = "authorization"

    def __repr__(self) -> str:
        return f"ApiKey({self.variable})"

    def headers(self) -> dict[str, str]:
        """The header that carries the secret; none without one."""
        scheme = "Bearer " if self.header == "authorization" else ""
        return {self.header: scheme + self.secret} if self.secret else {}


class Wire(NamedTuple):
    """How one provider is spoken to; `rows` may raise anything on an odd reply."""

    provider: str
    model: str
    url: str
    key: ApiKey
    body: Callable[
        [Sequence[str], bool], Mapping[str, Any]
    ]  # of texts; whether they are a query
    rows: Callable[[Any], Sequence[Any]]
    dimensions: int = 0
    most_texts: int = 128
    most_bytes: int = 100_000
    longest: int = 8_000  # bytes of one text, never fewer than its tokens
    hint_missing: str = "check embed_model and embed_url"
    hint_down: str = "check the network and embed_url"


def make_wire(config: Config, environ: Mapping[str, str]) -> Wire:
    """The wire of a provider. A base URL that is not OpenAI's own is part of the
    model's name."""
    name = config.embedder
    dimensions = config.embed_dimensions
    model = config.embed_model or _KNOWN["usual"].get(name, "")
    if name == "gemini":
        return _gemini(model.removeprefix("models/"), config, environ)
    base = _base(name, config.embed_url, environ)
    if not model:
        raise UsageError(
            "embedder = openai-compatible needs a model", "set embed_model"
        )
    key = ApiKey("OLLAMA_HOST" if name == "ollama" else "MEM_EMBED_KEY", "")
    if name == "openai":
        key = _read_key(environ, "OPENAI_API_KEY")
    elif name == "openai-compatible" and environ.get("MEM_EMBED_KEY", "").strip():
        key = _read_key(environ, "MEM_EMBED_KEY")
    fixed: dict[str, Any] = {"model": model, "encoding_format": "float"}
    fixed |= {"dimensions": dimensions} if dimensions else {}
    wire = Wire(
        provider=name,
        model=model
        if name == "ollama" or base == OPENAI
        else f"{model} at {shown(base)}",
        url=_add_path(base, "embeddings"),
        key=key,
        body=lambda texts, query: {
            **fixed,
            "input": [prefix_of(model, query) + t for t in texts],
        },
        rows=_by_index,
        dimensions=dimensions,
    )
    if name == "ollama":
        pull = f"ollama pull {model}"
        start = "ollama serve"
        return wire._replace(
            most_texts=32, longest=6_000, hint_missing=pull, hint_down=start
        )
    return wire._replace(most_texts=256) if name == "openai" else wire


def _by_index(reply: Any) -> list[Any]:
    """The vectors of `{"data": [{"index", "embedding"}]}`. Raises ValueError on odd
    indices."""
    items = reply["data"]
    order = {
        item.get("index", number): item["embedding"]
        for number, item in enumerate(items)
    }
    if sorted(order) != list(range(len(items))):
        raise ValueError("indices")
    return [order[number] for number in range(len(items))]


def _gemini(model: str, config: Config, environ: Mapping[str, str]) -> Wire:
    dimensions = config.embed_dimensions or GEMINI_DIMENSIONS
    path = f"models/{quote(model, safe='')}:batchEmbedContents"

    def request(text: str, query: bool) -> dict[str, Any]:
        prefix = prefix_of(model, query)
        task = "RETRIEVAL_QUERY" if query else "RETRIEVAL_DOCUMENT"
        return {
            "model": f"models/{model}",
            "content": {"parts": [{"text": prefix + text}]},
            "outputDimensionality": dimensions,
            # The models that want a prefix ignore the type of the task.
            **({} if prefix else {"taskType": task}),
        }

    return Wire(
        provider="gemini", model=model, url=_add_path(parse_url(config.embed_url or GEMINI, "embed_url"), path),
        # In a header, not in the URL: a URL is logged.
        key=_read_key(environ, "GEMINI_API_KEY", "GOOGLE_API_KEY", header="x-goog-api-key"),
        body=lambda texts, query: {"requests": [request(text, query) for text in texts]},
        rows=lambda reply: [item["values"] for item in reply["embeddings"]],
        dimensions=dimensions, most_texts=100, longest=6_000,
    )  # fmt: skip


def _base(name: str, url: str, environ: Mapping[str, str]) -> str:
    if name == "ollama":
        host = environ.get("OLLAMA_HOST", "").strip()
        base = (
            parse_url(url, "embed_url") if url else parse_host(host) if host else OLLAMA
        )
        return _add_path(base, "v1")
    if name == "openai-compatible" and not url:
        hint = "set embed_url, e.g. http://host:8080/v1"
        raise UsageError("embedder = openai-compatible needs a URL", hint)
    own = environ.get("OPENAI_BASE_URL", "").strip() or OPENAI
    return parse_url(url, "embed_url") if url else parse_url(own, "OPENAI_BASE_URL")


def _read_key(
    environ: Mapping[str, str], *variables: str, header: str = "authorization"
) -> ApiKey:
    for variable in variables:
        if secret := environ.get(variable, "").strip():
            if re.fullmatch(r"[!-~]+", secret):
                return ApiKey(variable, secret, header)
            what = f"{variable} is no key: it has blanks or other characters"
            raise UsageError(what, f"set {variable}")
    names = " or ".join(variables)
    hint = f"set {names}, or --set embedder=none"
    raise UsageError(f"no key of the embedder: {names} is not set", hint)


def parse_url(text: str, origin: str) -> str:
    """An http(s) URL without fragment and last slash. Raises UsageError that names the
    origin."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        usable = (
            parts.scheme in ("http", "https")
            and parts.hostname
            and (parts.port or 1) > 0
        )
    except ValueError:
        usable = False
    if not usable or not re.fullmatch(r"[!-~]+", text):
        hint = f"write {origin} as http://host:port/path or https://…"
        raise UsageError(f"{origin} is no URL", hint)
    return urlunsplit(
        (parts.scheme, parts.netloc, parts.path.rstrip("/"), parts.query, "")
    )


def parse_host(text: str) -> str:
    """The URL of OLLAMA_HOST: `host`, `:port`, `host:port`, a URL; one to listen on is
    here."""
    has_scheme = "://" in text
    given = (
        text
        if has_scheme
        else f"http://{'127.0.0.1' if text.startswith(':') else ''}{text}"
    )
    parts = urlsplit(parse_url(given, "OLLAMA_HOST"))
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(
        parts.hostname or "", parts.hostname or ""
    )
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else "" if has_scheme else ":11434"
    user = "".join(parts.netloc.rpartition("@")[:2])
    return parts._replace(netloc=f"{user}{host}{port}").geturl()


def _add_path(url: str, path: str) -> str:
    parts = urlsplit(url)
    whole = parts.path if parts.path.endswith(f"/{path}") else f"{parts.path}/{path}"
    return urlunsplit(parts._replace(path=whole))


def shown(url: str) -> str:
    """The URL as it may be printed or stored: without user, password and query."""
    parts = urlsplit(url)
    return urlunsplit(
        (parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")
    )


def prefix_of(model: str, query: bool) -> str:
    """What a model wants before a query or a document; "" for one that is not known to
    want it."""
    name = model.lower().rpartition("/")[2]
    known = next(
        (own for part, own in _KNOWN["before"].items() if part in name), ("", "")
    )
    return str(known[0 if query else 1])
