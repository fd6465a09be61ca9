"""Embedders behind a URL all speak OpenAI's format: a table of presets says where, with
which key and within which limits."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from memcli.errors import UsageError
from memcli.project.config import Config
from memcli.text.matching import table

_PREFIXES = json.loads(table("providers/embed/prefixes.json"))
"""The prefix that a model needs before a query and before a document."""


LISTENING = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""For an address to listen on, the address to ask."""


class Preset(NamedTuple):
    """The usual values of a provider; the configuration may change them."""

    url: str
    model: str = ""
    url_variable: str = ""
    keys: tuple[str, ...] = ()  # variables, the first that is set counts
    needs_key: bool = True
    dimensions: int = 0
    most_texts: int = 128
    longest: int = 8_000


PRESETS = {
    "openai": Preset(
        url="https://api.openai.com/v1",
        url_variable="OPENAI_BASE_URL",
        model="text-embedding-3-small",
        keys=("OPENAI_API_KEY",),
        most_texts=256,
    ),
    "gemini": Preset(
        url="https://generativelanguage.googleapis.com/v1beta/openai",
        model="gemini-embedding-001",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        dimensions=768,  # 3072 make a cache four times as big for a third of a point
        most_texts=100,
        longest=6_000,
    ),
    "ollama": Preset(
        url="http://127.0.0.1:11434/v1",
        url_variable="OLLAMA_HOST",
        model="nomic-embed-text",
        needs_key=False,
        most_texts=32,
        longest=6_000,
    ),
    "openai-compatible": Preset(url="", keys=("MEM_EMBED_KEY",), needs_key=False),
}


class ApiKey(NamedTuple):
    """A secret with the name of its variable; only the name is shown."""

    variable: str
    secret: str

    def __repr__(self) -> str:
        return f"ApiKey({self.variable})"

    def headers(self) -> dict[str, str]:
        """The header with the secret; none if there is no secret."""
        return {"authorization": f"Bearer {self.secret}"} if self.secret else {}


class Wire(NamedTuple):
    """How to talk to one provider."""

    provider: str
    model: str
    url: str
    key: ApiKey
    fixed: Mapping[str, Any]  # what each request says beside its texts
    dimensions: int = 0
    most_texts: int = 128
    most_bytes: int = 100_000
    longest: int = 8_000  # bytes of one text, never fewer than its tokens
    hint_missing: str = "check embed_model and embed_url"
    hint_down: str = "check the network and embed_url"

    def body(self, texts: Sequence[str], query: bool) -> dict[str, Any]:
        """The body of a request for these texts."""
        prefix = prefix_of(self.fixed["model"], query)
        return {**self.fixed, "input": [prefix + text for text in texts]}

    def rows(self, reply: Any) -> list[Any]:
        """The vectors of `{"data": [{"index", "embedding"}]}`. May raise anything for
        an odd reply."""
        items = reply["data"]
        order = {
            item.get("index", number): item["embedding"]
            for number, item in enumerate(items)
        }
        if sorted(order) != list(range(len(items))):
            raise ValueError("indices")
        return [order[number] for number in range(len(items))]


def make_wire(config: Config, environ: Mapping[str, str]) -> Wire:
    """The wire of a provider. A base URL other than the preset's becomes part of the
    model's name, except for the user's own server."""
    name = config.embedder
    preset = PRESETS[name]
    base = _base(name, preset, config.embed_url, environ)
    model = (config.embed_model or preset.model).removeprefix("models/")
    if not model:
        message = "embedder = openai-compatible needs a model"
        raise UsageError(message, "set embed_model")
    dimensions = config.embed_dimensions or preset.dimensions
    fixed = {"model": model, "encoding_format": "float"}
    is_usual = name == "ollama" or base == preset.url
    wire = Wire(
        provider=name,
        model=model if is_usual else f"{model} at {shown(base)}",
        url=_add_path(base, "embeddings"),
        key=_key(preset, environ),
        fixed=fixed | ({"dimensions": dimensions} if dimensions else {}),
        dimensions=dimensions,
        most_texts=preset.most_texts,
        longest=preset.longest,
    )
    if name == "ollama":
        pull = f"ollama pull {model}"
        return wire._replace(hint_missing=pull, hint_down="ollama serve")
    return wire


def _base(name: str, preset: Preset, url: str, environ: Mapping[str, str]) -> str:
    address = environ.get(preset.url_variable, "").strip()
    if name == "ollama":
        host = parse_host(address) if address else preset.url
        return _add_path(parse_url(url, "embed_url") if url else host, "v1")
    if url:
        return parse_url(url, "embed_url")
    if not preset.url:
        hint = "set embed_url, e.g. http://host:8080/v1"
        raise UsageError(f"embedder = {name} needs a URL", hint)
    return parse_url(address, preset.url_variable) if address else preset.url


def _key(preset: Preset, environ: Mapping[str, str]) -> ApiKey:
    for variable in preset.keys:
        if secret := environ.get(variable, "").strip():
            if re.fullmatch(r"[!-~]+", secret):
                return ApiKey(variable=variable, secret=secret)
            reason = "it has blanks or other invalid characters"
            raise UsageError(f"{variable} is not a key: {reason}", f"set {variable}")
    if not preset.needs_key:
        return ApiKey(variable=(preset.keys or (preset.url_variable,))[0], secret="")
    names = " or ".join(preset.keys)
    hint = f"set {names}, or --set embedder=none"
    raise UsageError(f"no key for the embedder: {names} is not set", hint)


def parse_url(text: str, origin: str) -> str:
    """An http(s) URL without fragment and last slash. Raises UsageError that names the
    origin."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        is_web = parts.scheme in ("http", "https")
        has_port = parts.port is None or parts.port >= 0  # else it raises
        usable = is_web and bool(parts.hostname) and has_port
    except ValueError:
        usable = False
    if not usable or not re.fullmatch(r"[!-~]+", text):
        hint = f"write {origin} as http://host:port/path or https://…"
        raise UsageError(f"{origin} is not a URL", hint)
    return urlunsplit(
        (parts.scheme, parts.netloc, parts.path.rstrip("/"), parts.query, "")
    )


def parse_host(text: str) -> str:
    """The URL of OLLAMA_HOST: `host`, `:port`, `host:port`, a URL; one to listen on is
    here."""
    has_scheme = "://" in text
    address = text
    if not has_scheme:
        host = "127.0.0.1" if text.startswith(":") else ""
        address = f"http://{host}{text}"
    parts = urlsplit(parse_url(address, "OLLAMA_HOST"))
    name = parts.hostname or ""
    host = LISTENING.get(name, name)
    if ":" in host:
        host = f"[{host}]"
    port = ""
    if parts.port:
        port = f":{parts.port}"
    elif not has_scheme:
        port = ":11434"
    user, sign, _ = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user}{sign}{host}{port}").geturl()


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
    wanted = (pair for part, pair in _PREFIXES.items() if part in name)
    before_query, before_document = next(wanted, ("", ""))
    return str(before_query if query else before_document)
