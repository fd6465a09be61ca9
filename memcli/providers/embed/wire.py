"""How a provider behind a URL is spoken to: its key, its URL, its wire format. Nothing is sent here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from memcli.errors import UsageError


class Key:
    """A secret with the name of its variable, which alone is shown."""

    def __init__(self, variable: str, secret: str, header: str = "authorization") -> None:
        self.variable = variable
        self.secret = secret
        self.header = header

    def __repr__(self) -> str:
        return f"Key({self.variable})"

    def headers(self) -> dict[str, str]:
        """The header that carries the secret; none without one."""
        scheme = "Bearer " if self.header == "authorization" else ""
        return {self.header: scheme + self.secret} if self.secret else {}


class Wire(NamedTuple):
    """How one provider is spoken to. `rows` gives the vectors of a reply in the order of the texts,
    and may raise anything that a reply of another shape makes it raise.
    """

    provider: str
    url: str
    key: Key
    body: Callable[[Sequence[str], bool], Mapping[str, Any]]
    rows: Callable[[Any], Sequence[Any]]
    dimensions: int = 0
    most_texts: int = 128
    most_bytes: int = 100_000
    longest: int = 8_000
    """Bytes of one text. A byte is at least a token, so a limit in tokens always holds."""
    hint_missing: str = "check embed_model and embed_url"
    hint_down: str = "check the network and embed_url"


def read_key(environ: Mapping[str, str], *variables: str, header: str = "authorization") -> Key:
    """The first of the variables that is set. Raises UsageError that names them, never a value."""
    names = " or ".join(variables)
    for variable in variables:
        secret = environ.get(variable, "").strip()
        if secret and not re.fullmatch(r"[!-~]+", secret):
            raise UsageError(
                f"{variable} is no key: it has blanks or other characters", f"set {variable}"
            )
        if secret:
            return Key(variable, secret, header)
    raise UsageError(
        f"no key of the embedder: {names} is not set", f"set {names}, or --set embedder=none"
    )


def parse_url(text: str, origin: str) -> str:
    """An http(s) URL without its fragment and last slash. Raises UsageError that names the origin."""
    try:
        parts = urlsplit(text.strip())
        usable = (
            parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        )
    except ValueError:
        usable = False
    if not usable or not re.fullmatch(r"[!-~]+", text.strip()):
        raise UsageError(
            f"{origin} is no URL", f"write {origin} as http://host:port/path or https://…"
        )
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), parts.query, ""))


def add_path(url: str, path: str) -> str:
    """The URL with `/path` after its own path, unless that ends so; a query stays where it was."""
    parts = urlsplit(url)
    whole = parts.path if parts.path.endswith(f"/{path}") else f"{parts.path}/{path}"
    return urlunsplit(parts._replace(path=whole))


def shown(url: str) -> str:
    """The URL as it may be printed or stored: without user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def prefix_of(model: str, query: bool) -> str:
    """What a model wants before a query or a document; "" for one that is not known to want it."""
    name = model.lower().rpartition("/")[2]
    for part, of_query, of_document in _PREFIXES:
        if part in name:
            return of_query if query else of_document
    return ""


_SENTENCE: Final = "Represent this sentence for searching relevant passages: "
_TASK, _TITLE = "task: search result | query: ", "title: none | text: "
_PREFIXES: Final = (
    ("nomic-embed", "search_query: ", "search_document: "),
    ("embeddinggemma", _TASK, _TITLE),
    ("gemini-embedding-2", _TASK, _TITLE),
    ("mxbai-embed", _SENTENCE, ""),
    ("arctic-embed", _SENTENCE, ""),
    ("multilingual-e5", "query: ", "passage: "),
)
