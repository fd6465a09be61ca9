"""What the providers behind a URL have in common: batches, retries, the deadline, checked replies.

HTTP is spoken by the client that the Anthropic SDK brings. Keys and secrets leave in headers alone,
never in an error text.
"""

from __future__ import annotations

import importlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from memcli.errors import ProviderError
from memcli.providers.embed.wire import Wire, shown
from memcli.providers.retry import seconds_of
from memcli.text.controls import strip_controls, strip_private
from memcli.text.secrets import redact_secrets

if TYPE_CHECKING:
    from memcli.providers.embed import Matrix

TRIES: Final = 5
PAUSE: Final = 0.5
"""Seconds before the second try; doubled for each further one."""
LONGEST_PAUSE: Final = 60.0
REQUEST: Final = 120.0
"""Seconds for one request without a deadline: a local server loads its model first."""
BIGGEST_REPLY: Final = 64_000_000
SHORTEST: Final = 250
"""Bytes of a text that is not shortened any more."""
BLANK: Final = "-"
"""Sent for an empty text, which providers refuse."""

_TOO_LONG = re.compile(
    r"context (?:length|window|size)|max\w*[^.]{0,40}\btokens?\b|too (?:long|large|many tokens)"
    r"|token limit|input length|less than \d+ tokens",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"insufficient_quota|billing_(?:hard_limit|not_active)|credit balance|PerDay")
_BAD_KEY = re.compile(r"API_KEY_INVALID|API key not valid|API key expired", re.IGNORECASE)


class _TooLongError(Exception):
    """A text is over the limit of the model."""


class _PassingError(Exception):
    """A failure that may pass, with the seconds that the server asks to wait, if it does."""

    def __init__(self, error: ProviderError, wait: float | None = None) -> None:
        super().__init__(error)
        self.error = error
        self.wait = wait


class HttpEmbedder:
    """An embedder behind a URL; see `memcli.providers.embed.Embedder` for what it guarantees."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.provider = wire.provider
        self.model = f"{wire.model}@{wire.dimensions}" if wire.dimensions else wire.model

    def embed(
        self, texts: Sequence[str], *, query: bool = False, deadline: float | None = None
    ) -> Matrix:
        """One row for each text. The deadline holds even where a name look-up or a body drips."""
        import numpy as np

        if not texts:
            return np.zeros((0, 0), np.float32)
        if deadline is None:
            return self._embed(texts, query, None)
        return self._within(texts, query, time.monotonic() + deadline)

    def _within(self, texts: Sequence[str], query: bool, until: float) -> Matrix:
        """The vectors, or an error as soon as the time is up: what still runs is left behind.

        The client's own limits are for one read each, and none is for looking a name up.
        """
        from threading import Thread

        done: list[Matrix | BaseException] = []

        def run() -> None:
            try:
                done.append(self._embed(texts, query, until))
            except BaseException as error:
                done.append(error)

        thread = Thread(target=run, daemon=True)
        thread.start()
        thread.join(max(0.0, until - time.monotonic()))
        result = done[0] if done else self._slow()
        if isinstance(result, BaseException):
            raise result
        return result

    def _embed(self, texts: Sequence[str], query: bool, until: float | None) -> Matrix:
        import numpy as np

        clean = [redact_secrets(strip_private(strip_controls(t))).strip() or BLANK for t in texts]
        with self._client() as client:
            parts = [self._batch(client, batch, query, until) for batch in self._batches(clean)]
        if len({part.shape[1] for part in parts}) > 1:
            raise self._failed("vectors of several dimensions")
        return np.concatenate(parts)

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """The texts, shortened to the limit, in as few requests as the provider takes."""
        batch: list[str] = []
        size = 0
        for text in (shorten(text, self.wire.longest) for text in texts):
            length = len(text.encode("utf-8"))
            full = len(batch) == self.wire.most_texts or size + length > self.wire.most_bytes
            if batch and full:
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += length
        yield batch

    def _batch(self, client: Any, texts: list[str], query: bool, until: float | None) -> Matrix:
        """The vectors of one batch; a text too long for the model is halved until it fits."""
        while True:
            try:
                reply = self._ask(client, self.wire.body(texts, query), until)
                return self._rows(reply, len(texts))
            except _TooLongError as error:
                limit = max(len(text.encode("utf-8")) for text in texts) // 2
                if limit < SHORTEST:
                    raise self._failed(f"a text is too long: {error}") from None
                texts = [shorten(text, limit) for text in texts]

    def _ask(self, client: Any, body: Mapping[str, Any], until: float | None) -> Any:
        """The JSON of the reply. What may pass is tried again while there are tries and time."""
        content = json.dumps(body, separators=(",", ":")).encode()
        for number in range(TRIES):
            try:
                return self._try(client, content, until)
            except _PassingError as failure:
                wait = PAUSE * 2**number if failure.wait is None else failure.wait
                if number + 1 == TRIES or wait > min(LONGEST_PAUSE, _left(until)):
                    raise failure.error from None
                time.sleep(wait)
        raise AssertionError("the last try ends")

    def _try(self, client: Any, content: bytes, until: float | None) -> Any:
        """The JSON of a good reply. Raises what will not pass, and _PassingError for what may."""
        http, wire = _library(), self.wire
        try:
            status, headers, data = self._post(client, content, until)
        except http.TimeoutException:
            raise self._slow() from None
        except http.TransportError as error:
            failed = self._failed(f"no connection ({self._reason(error)})", wire.hint_down)
            if isinstance(error, http.ConnectError) and _is_near(wire.url):
                raise failed from None
            raise _PassingError(failed) from None
        except (http.HTTPError, http.InvalidURL) as error:
            what = f"no usable reply ({self._reason(error)})"
            raise self._failed(what, wire.hint_down) from None
        try:
            reply = json.loads(data)
        except (ValueError, RecursionError):
            reply = None
        if status == 200 and reply is not None:
            return reply
        raise self._refusal(status, headers, reply)

    def _post(
        self, client: Any, content: bytes, until: float | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        limit = min(REQUEST, _left(until))
        if limit <= 0:
            raise self._slow()
        end = time.monotonic() + limit
        data = bytearray()
        with client.stream("POST", self.wire.url, content=content, timeout=limit) as response:
            for piece in response.iter_bytes():
                data += piece
                if len(data) > BIGGEST_REPLY:
                    raise self._failed("the reply is too big")
                if time.monotonic() > end:
                    raise self._slow()
            return response.status_code, response.headers, bytes(data)

    def _refusal(self, status: int, headers: Mapping[str, str], reply: Any) -> Exception:
        """What a refusal raises."""
        said, whole, variable = self._said(reply), json.dumps(reply), self.wire.key.variable
        detail = f"(HTTP {status}): {said}" if said else f"(HTTP {status})"
        if status == 401 or (status == 400 and _BAD_KEY.search(whole)):
            return self._failed(f"the key is refused (HTTP {status})", f"check {variable}")
        if status == 403:
            return self._failed(f"access is refused {detail}", f"check {variable}")
        if status == 402 or (status == 429 and _QUOTA.search(whole)):
            hint = f"see the plan behind {variable}, or choose another embedder"
            return self._failed(f"the quota is used up {detail}", hint)
        if status in (400, 413, 422, 500) and _TOO_LONG.search(said):
            return _TooLongError(said)
        if status == 200:
            return self._failed("the reply is no JSON")
        what = f"HTTP {status}: {said}" if said else f"HTTP {status}"
        if status in (408, 409, 425, 429) or status >= 500:
            google = re.search(r'"retryDelay": "(\d{1,9}(?:\.\d{1,9})?)s"', whole)
            wait = float(google[1]) if google else seconds_of(headers)
            return _PassingError(self._failed(what, "try again later"), wait)
        settings = "check embed_model, embed_dimensions and embed_url"
        return self._failed(what, "" if status == 404 else settings)

    def _said(self, reply: Any) -> str:
        """What the provider said in an error reply: a short line without secrets; "" for
        nothing.
        """
        if isinstance(reply, list) and reply:
            return self._said(reply[0])
        if isinstance(reply, dict):
            names = (name for name in ("error", "detail", "message") if name in reply)
            return self._said(reply.get(next(names, "")))
        return self._line(str(reply or ""))

    def _line(self, text: str) -> str:
        text = text[:5_000]
        for secret in (self.wire.key.secret, urlsplit(self.wire.url).password):
            text = text.replace(secret, "[key]") if secret else text
        text = " ".join(strip_controls(redact_secrets(text)).split())
        return text if len(text) <= 200 else text[:199] + "…"

    def _reason(self, error: Exception) -> str:
        return self._line(str(error)) or type(error).__name__

    def _failed(self, what: str, hint: str = "") -> ProviderError:
        where = f"{self.provider} embeddings: {what} ({shown(self.wire.url)})"
        return ProviderError(where, hint or self.wire.hint_missing)

    def _slow(self) -> ProviderError:
        return self._failed("no answer in time", self.wire.hint_down)

    def _rows(self, reply: Any, count: int) -> Matrix:
        """The vectors of one reply, float32 (count, dim). Raises ProviderError unless there is one
        for each text, all of the dimension that was asked for, of finite numbers, none all zero.
        """
        import numpy as np

        try:
            rows = list(self.wire.rows(reply))
            table = np.array(rows) if all(isinstance(row, list) for row in rows) else None
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError):
            table = None
        if table is None:
            raise self._failed("the reply holds no vectors of one dimension")
        if len(table) != count:
            raise self._failed(f"{len(table)} vectors for {count} texts")
        if table.ndim != 2 or not table.shape[1] or table.dtype.kind not in "fiu":
            raise self._failed("a vector is no list of numbers")
        asked, made = self.wire.dimensions, table.shape[1]
        if asked and made != asked:
            hint = "set embed_dimensions to what the model can, or to 0"
            raise self._failed(f"vectors of dimension {made}, not {asked} as asked for", hint)
        with np.errstate(over="ignore", under="ignore"):
            vectors = table.astype(np.float32)
        if wrong := fault_of(vectors):
            raise self._failed(wrong)
        return vectors

    def _client(self) -> Any:
        """A client for this URL. It follows no redirect, so that a key goes nowhere else."""
        url = self.wire.url
        headers = {"content-type": "application/json", **self.wire.key.headers()}
        # Loading certificates takes longer than a local answer; a proxy cannot reach this machine.
        options = {"verify": url.startswith("https:"), "trust_env": not _is_near(url)}
        try:
            return _library().Client(headers=headers, **options)
        except (OSError, ValueError, ImportError) as error:
            what = f"the HTTP client cannot start ({self._reason(error)})"
            hint = "check the proxy and SSL variables of the environment"
            raise self._failed(what, hint) from None


def fault_of(vectors: Matrix) -> str:
    """Why these vectors cannot be used; "" when they can."""
    import numpy as np

    if not np.isfinite(vectors).all():
        return "a vector has NaN or an infinite number"
    return "" if vectors.any(axis=1).all() else "a vector is all zero"


def shorten(text: str, limit: int) -> str:
    """At most `limit` bytes of the text, cut at a word's end where its last half has one."""
    data = text.encode("utf-8")
    if len(data) <= limit:
        return text
    cut = data[:limit].decode("utf-8", "ignore")
    if not text[len(cut)].isspace():
        words = cut.rsplit(None, 1)[0]
        cut = words if len(words) * 2 >= len(cut) else cut
    return cut.rstrip()


def _library() -> Any:
    """The HTTP client of the Anthropic SDK: httpx2, or httpx before its version 2."""
    try:
        import httpx2
    except ImportError:
        return importlib.import_module("httpx")
    return httpx2


def _is_near(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _left(until: float | None) -> float:
    return REQUEST if until is None else until - time.monotonic()
