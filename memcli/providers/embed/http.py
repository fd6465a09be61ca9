"""What the providers behind a URL have in common: batches, retries, the deadline, and checks of
replies.

A provider is a `Wire`: how a batch becomes a request and a reply becomes rows. HTTP is spoken by
the client that the Anthropic SDK brings. Keys and secrets leave in headers alone, never in an error
text.
"""

from __future__ import annotations

import importlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from memcli.errors import ProviderError
from memcli.providers.embed.wire import Wire, shown
from memcli.text.controls import strip_controls, strip_private
from memcli.text.secrets import redact_secrets

if TYPE_CHECKING:
    from memcli.providers.embed import Matrix

TRIES: Final = 5
PAUSE: Final = 0.5  # seconds before the second try; doubled for each further one
LONGEST_PAUSE: Final = 60.0
REQUEST: Final = (
    120.0  # seconds for one request without a deadline: a local server loads its model first
)
BIGGEST_REPLY: Final = 64_000_000
SHORTEST: Final = 250  # bytes of a text that is not shortened any more
BLANK: Final = "-"  # providers refuse an empty text

_TOO_LONG = re.compile(
    r"context (?:length|window|size)|max\w*[^.]{0,40}\btokens?\b|too (?:long|large|many tokens)"
    r"|token limit|input length|less than \d+ tokens",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"insufficient_quota|billing_(?:hard_limit|not_active)|credit balance|PerDay")
_BAD_KEY = re.compile(r"API_KEY_INVALID|API key not valid|API key expired", re.IGNORECASE)


class _TooLongError(Exception):
    """A text is over the limit of the model."""


class _Passing(NamedTuple):
    """A failure that may pass, and what the server said about when."""

    error: ProviderError
    wait: float | None = None


class HttpEmbedder:
    """An embedder behind a URL; see `memcli.providers.embed.Embedder` for what it guarantees."""

    def __init__(self, wire: Wire, model: str) -> None:
        self.wire = wire
        self.provider = wire.provider
        self.model = f"{model}@{wire.dimensions}" if wire.dimensions else model

    def embed(
        self, texts: Sequence[str], *, query: bool = False, deadline: float | None = None
    ) -> Matrix:
        """One row for each text. The deadline holds even where a name look-up or a body drips."""
        if not texts:
            return join_rows([], self.wire)
        until = None if deadline is None else time.monotonic() + deadline
        if until is None:
            return self._embed(texts, query, until)
        return _within(until, lambda: self._embed(texts, query, until), _slow(self.wire))

    def _embed(self, texts: Sequence[str], query: bool, until: float | None) -> Matrix:
        parts = []
        with _client(self.wire) as client:
            for batch in split_batches([_clean(text) for text in texts], self.wire):
                parts.append(_embed_batch(client, self.wire, batch, query, until))
        return join_rows(parts, self.wire)


def _clean(text: str) -> str:
    return redact_secrets(strip_private(strip_controls(text))).strip() or BLANK


def shorten(text: str, limit: int) -> str:
    """At most `limit` bytes of the text, cut at the end of a word where there is one in its last
    half.
    """
    data = text.encode("utf-8")
    if len(data) <= limit:
        return text
    cut = data[:limit].decode("utf-8", "ignore")
    if not text[len(cut)].isspace():
        words = cut.rsplit(None, 1)[0]
        cut = words if len(words) * 2 >= len(cut) else cut
    return cut.rstrip()


def split_batches(texts: Sequence[str], wire: Wire) -> Iterator[list[str]]:
    """The texts, shortened to the limit, in as few requests as the provider takes."""
    batch: list[str] = []
    size = 0
    for text in (shorten(text, wire.longest) for text in texts):
        length = len(text.encode("utf-8"))
        if batch and (len(batch) == wire.most_texts or size + length > wire.most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch


def _embed_batch(
    client: Any, wire: Wire, texts: list[str], query: bool, until: float | None
) -> Matrix:
    """The vectors of one batch; a text too long for the model is halved until it fits."""
    while True:
        try:
            reply = _ask(client, wire, wire.body(texts, query), until)
        except _TooLongError as error:
            limit = max(len(text.encode("utf-8")) for text in texts) // 2
            if limit < SHORTEST:
                raise _failed(wire, f"a text is too long: {error}", wire.hint_missing) from None
            texts = [shorten(text, limit) for text in texts]
        else:
            return read_rows(wire, reply, len(texts))


def _ask(client: Any, wire: Wire, body: Mapping[str, Any], until: float | None) -> Any:
    """The JSON of the reply. What may pass is tried again while there are tries and time."""
    content = json.dumps(body, separators=(",", ":")).encode()
    for number in range(TRIES):
        got = _try(client, wire, content, until)
        if not isinstance(got, _Passing):
            return got
        wait = PAUSE * 2**number if got.wait is None else got.wait
        if number + 1 == TRIES or wait > min(LONGEST_PAUSE, _left(until)):
            break
        time.sleep(wait)
    raise got.error


def _try(client: Any, wire: Wire, content: bytes, until: float | None) -> Any:
    """The JSON of a good reply, or a failure that may pass. Raises what will not."""
    http = _library()
    try:
        status, headers, data = _post(client, wire, content, until)
    except http.TimeoutException:
        raise _slow(wire) from None
    except http.TransportError as error:
        failed = _failed(wire, f"no connection ({_reason(wire, error)})", wire.hint_down)
        if isinstance(error, http.ConnectError) and _is_near(wire.url):
            raise failed from None
        return _Passing(failed)
    except (http.HTTPError, http.InvalidURL) as error:
        raise _failed(wire, f"no usable reply ({_reason(wire, error)})", wire.hint_down) from None
    reply = _parse(data)
    if status == 200 and reply is not None:
        return reply
    return _refusal(wire, status, headers, reply)


def _post(
    client: Any, wire: Wire, content: bytes, until: float | None
) -> tuple[int, Mapping[str, str], bytes]:
    limit = min(REQUEST, _left(until))
    if limit <= 0:
        raise _slow(wire)
    end = time.monotonic() + limit
    data = bytearray()
    with client.stream("POST", wire.url, content=content, timeout=limit) as response:
        for piece in response.iter_bytes():
            data += piece
            if len(data) > BIGGEST_REPLY:
                raise _failed(wire, "the reply is too big", wire.hint_missing)
            if time.monotonic() > end:
                raise _slow(wire)
        return response.status_code, response.headers, bytes(data)


def _parse(data: bytes) -> Any:
    """The JSON value; None for what is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _refusal(wire: Wire, status: int, headers: Mapping[str, str], reply: Any) -> _Passing:
    """A refusal that may pass. Raises one that will not."""
    said = message_of(wire, reply)
    detail = f": {said}" if said else ""
    whole = json.dumps(reply)
    if status == 401 or (status == 400 and _BAD_KEY.search(whole)):
        raise _failed(wire, f"the key is refused (HTTP {status})", f"check {wire.key.variable}")
    if status == 403:
        raise _failed(wire, f"access is refused (HTTP 403){detail}", f"check {wire.key.variable}")
    if status == 402 or (status == 429 and _QUOTA.search(whole)):
        hint = f"see the plan behind {wire.key.variable}, or choose another embedder"
        raise _failed(wire, f"the quota is used up (HTTP {status}){detail}", hint)
    if status in (400, 413, 422, 500) and _TOO_LONG.search(said):
        raise _TooLongError(said)
    if status == 200:
        raise _failed(wire, "the reply is no JSON", wire.hint_missing)
    if status in (408, 409, 425, 429) or status >= 500:
        error = _failed(wire, f"HTTP {status}{detail}", "try again later")
        return _Passing(error, _wait_of(headers, reply))
    hint = (
        wire.hint_missing if status == 404 else "check embed_model, embed_dimensions and embed_url"
    )
    raise _failed(wire, f"HTTP {status}{detail}", hint)


def _wait_of(headers: Mapping[str, str], reply: Any) -> float | None:
    """Seconds that the server asks to wait, from its headers or Google's RetryInfo."""
    milliseconds, seconds = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    if re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", milliseconds):
        return float(milliseconds) / 1000
    if re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", seconds):
        return float(seconds)
    if seconds:
        return _until_date(seconds)
    delay = re.search(r'"retryDelay": "(\d{1,9}(?:\.\d{1,9})?)s"', json.dumps(reply))
    return float(delay[1]) if delay else None


def _until_date(text: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def message_of(wire: Wire, reply: Any) -> str:
    """What the provider said in an error reply: one short line without secrets; "" for nothing."""
    if isinstance(reply, list) and reply:
        reply = reply[0]
    for name in ("error", "detail", "message"):
        if isinstance(reply, dict) and name in reply:
            found = reply[name]
            return (
                message_of(wire, found)
                if isinstance(found, (dict, list))
                else _line(wire, str(found))
            )
    return _line(wire, reply) if isinstance(reply, str) else ""


def _line(wire: Wire, text: str) -> str:
    text = text[:5_000]
    for secret in (wire.key.secret, urlsplit(wire.url).password):
        text = text.replace(secret, "[key]") if secret else text
    text = " ".join(strip_controls(redact_secrets(text)).split())
    return text if len(text) <= 200 else text[:199] + "…"


def _reason(wire: Wire, error: Exception) -> str:
    return _line(wire, str(error)) or type(error).__name__


def _failed(wire: Wire, what: str, hint: str) -> ProviderError:
    return ProviderError(f"{wire.provider} embeddings: {what} ({shown(wire.url)})", hint)


def _slow(wire: Wire) -> ProviderError:
    return _failed(wire, "no answer in time", wire.hint_down)


# --- what comes back


def read_rows(wire: Wire, reply: Any, count: int) -> Matrix:
    """The vectors of one reply, float32 (count, dim). Raises ProviderError unless there is one for
    each text, all of one dimension (the one that was asked for), of finite numbers, none all zero.
    """
    import numpy as np

    try:
        rows = list(wire.rows(reply))
        table = np.array(rows) if all(isinstance(row, list) for row in rows) else None
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError):
        rows, table = [], None
    if table is None:
        raise _failed(wire, "the reply holds no vectors of one dimension", wire.hint_missing)
    if len(rows) != count:
        raise _failed(wire, f"{len(rows)} vectors for {count} texts", wire.hint_missing)
    if table.ndim != 2 or not table.shape[1] or table.dtype.kind not in "fiu":
        raise _failed(wire, "a vector is no list of numbers", wire.hint_missing)
    _check_dimension(wire, table.shape[1])
    with np.errstate(over="ignore", under="ignore"):
        vectors = table.astype(np.float32)
    wrong = fault_of(vectors)
    if wrong:
        raise _failed(wire, wrong, wire.hint_missing)
    return vectors


def fault_of(vectors: Matrix) -> str:
    """Why these vectors cannot be used; "" when they can."""
    import numpy as np

    if not np.isfinite(vectors).all():
        return "a vector has NaN or an infinite number"
    return "" if vectors.any(axis=1).all() else "a vector is all zero"


def _check_dimension(wire: Wire, found: int) -> None:
    if wire.dimensions and found != wire.dimensions:
        what = f"vectors of dimension {found}, not {wire.dimensions} as asked for"
        raise _failed(wire, what, "set embed_dimensions to what the model can, or to 0")


def join_rows(parts: Sequence[Matrix], wire: Wire) -> Matrix:
    """The vectors of all batches as one matrix; (0, 0) for none."""
    import numpy as np

    if not parts:
        return np.zeros((0, 0), np.float32)
    if len({part.shape[1] for part in parts}) > 1:
        raise _failed(wire, "vectors of several dimensions", wire.hint_missing)
    return np.concatenate(parts)


# --- the client


def _library() -> Any:
    """The HTTP client of the Anthropic SDK: httpx2, or httpx before its version 2."""
    try:
        import httpx2
    except ImportError:
        return importlib.import_module("httpx")
    return httpx2


def _client(wire: Wire) -> Any:
    """A client for this URL. It follows no redirect, so that a key goes nowhere else."""
    headers = {"content-type": "application/json", **wire.key.headers()}
    # Loading certificates takes longer than a local answer; a proxy cannot reach this machine.
    verify = wire.url.startswith("https:")
    try:
        return _library().Client(headers=headers, verify=verify, trust_env=not _is_near(wire.url))
    except (OSError, ValueError, ImportError) as error:
        what = f"the HTTP client cannot start ({_reason(wire, error)})"
        raise _failed(wire, what, "check the proxy and SSL variables of the environment") from None


def _is_near(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.")


def _left(until: float | None) -> float:
    return REQUEST if until is None else until - time.monotonic()


def _within(until: float, work: Callable[[], Matrix], late: ProviderError) -> Matrix:
    """The result of the work, or `late` as soon as the time is up: what still runs is left behind.

    The client's own limits are for one read each, and none is for looking a name up.
    """
    from threading import Thread

    done: list[Matrix | BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:
            done.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(0.0, _left(until)))
    result = done[0] if done else late
    if isinstance(result, BaseException):
        raise result
    return result
