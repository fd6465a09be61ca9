"""Embedders behind a URL: batches, retries, a deadline, checked replies."""

import importlib
import json
import math
import re
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from memcli.errors import ProviderError
from memcli.providers import PACKING, bounded, within
from memcli.providers.embed import Matrix
from memcli.providers.embed.wire import Wire, shown
from memcli.text.controls import clean_text, for_pipe
from memcli.text.matching import verbose

TRIES = 5
PAUSE = 0.5  # seconds before the second try; doubled for each further one
LONGEST_PAUSE = 60.0
REQUEST_SECONDS = 120.0  # for one request: a local server loads its model first
BIGGEST_REPLY = 64_000_000
MOST_NUMBERS = 8_192
"""A vector has no more numbers: no model that is offered makes half as many."""
NUMBER_BYTES = 25
"""So many bytes a number takes in a reply: sixteen digits, a comma, blanks."""
FRAME = 1_000_000
"""Bytes of a reply beside its numbers, so also of one that says what is wrong."""
SHORTEST = 250  # bytes; a text is not made shorter than that
BLANK = "-"  # sent for an empty text, which providers refuse
_PASSING = frozenset((0, 408, 409, 425, 429))
_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
_Answer = tuple[int, Mapping[str, str], Any]
"""(status, headers, reply) of what came back; status 0: the connection was lost."""


@verbose(ignore_case=True)
def _too_long() -> str:
    """How servers say that a text has too many tokens."""
    return r"""
        context[ ](?: length | window | size )
      | max\w* [^.]{0,40} \b tokens? \b
      | too[ ](?: long | large | many[ ]tokens )
      | token[ ]limit | input[ ]length | less[ ]than[ ]\d+[ ]tokens
    """


@verbose
def _out_of_quota() -> str:
    """How servers say that the quota is used up, so that waiting does not help."""
    return r"""
        insufficient_quota | billing_(?: hard_limit | not_active )
      | credit[ ]balance | PerDay
    """


class _Question(NamedTuple):
    """What is sent, and how many numbers may come back."""

    content: bytes
    numbers: int

    @property
    def most(self) -> int:
        """Bytes of the reply."""
        return min(BIGGEST_REPLY, FRAME + NUMBER_BYTES * self.numbers)


class _TooLongError(Exception):
    """A text exceeds the limit of the model."""


class HttpEmbedder:
    """An embedder behind a URL (see `memcli.providers.embed.Embedder`)."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.provider = wire.provider
        self.model = (
            f"{wire.model}@{wire.dimensions}" if wire.dimensions else wire.model
        )

    def embed(
        self,
        texts: Sequence[str],
        *,
        query: bool = False,
        deadline: float | None = None,
    ) -> Matrix:
        """One row for each text. The deadline also holds for a slow name look-up or a
        body that drips."""
        if not texts:
            return []
        until = time.monotonic() + deadline if deadline is not None else float("inf")
        clean = [clean_text(text).strip() or BLANK for text in texts]
        rows = []
        try:
            with self._client() as client:
                for batch in self._batches(clean):
                    rows += self._batch(client, batch, query, until)
        except RecursionError:
            raise self._failed("the reply is nested too deep") from None
        if len({len(row) for row in rows}) > 1:
            raise self._failed("vectors with different dimensions")
        return rows

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        size = 0
        for text in (shorten(text, self.wire.longest) for text in texts):
            length = len(text.encode("utf-8"))
            too_many = len(batch) == self.wire.most_texts
            if batch and (too_many or size + length > self.wire.most_bytes):
                yield batch
                batch = []
                size = 0
            batch.append(text)
            size += length
        yield batch

    def _batch(
        self, client: Any, texts: list[str], query: bool, until: float
    ) -> Matrix:
        while True:
            body = self.wire.body(texts, query)
            question = _Question(
                content=json.dumps(body, separators=(",", ":")).encode(),
                numbers=MOST_NUMBERS * len(texts),
            )
            try:
                return self._rows(self._ask(client, question, until), len(texts))
            except _TooLongError as error:
                limit = max(len(text.encode("utf-8")) for text in texts) // 2
                if limit < SHORTEST:
                    raise self._failed(f"a text is too long: {error}") from None
                texts = [shorten(text, limit) for text in texts]

    def _ask(self, client: Any, question: _Question, until: float) -> Any:
        """The reply to a request, tried again where that may help. Raises
        ProviderError."""
        for number in range(TRIES):
            status, headers, reply = self._answer(client, question, until)
            if status == 200 and reply is not None:
                return reply
            message = self._said(reply)
            if status in (400, 413, 422, 500) and _too_long().search(message):
                raise _TooLongError(message)
            spent = _is_spent(status, reply)
            seconds = PAUSE * 2**number
            retry_after = headers.get("retry-after", "")
            if re.fullmatch(_NUMBER, retry_after):
                seconds = float(retry_after)
            has_time = seconds <= min(LONGEST_PAUSE, until - time.monotonic())
            may_pass = _may_pass(status) and not spent
            if not (may_pass and has_time and number + 1 < TRIES):
                raise self._refused(status, message, spent=spent)
            time.sleep(seconds)
        raise AssertionError("the last try ends")

    def _answer(self, client: Any, question: _Question, until: float) -> _Answer:
        limit = min(REQUEST_SECONDS, until - time.monotonic())
        try:  # the client has no limit for looking a name up
            return within(limit, partial(self._post, client, question, limit))
        except TimeoutError:
            raise self._failed("no answer in time", self.wire.hint_down) from None

    def _post(self, client: Any, question: _Question, limit: float) -> _Answer:
        http = _library()
        try:
            with client.stream(
                "POST", self.wire.url, content=question.content, timeout=limit
            ) as response:
                data = bounded(
                    response.iter_raw(),
                    question.most,
                    response.headers.get("content-encoding"),
                )
        except http.TimeoutException:
            raise TimeoutError from None
        except ValueError as error:
            raise self._failed(f"the reply {self._line(str(error))}") from None
        except (http.HTTPError, http.InvalidURL) as error:
            message = (
                f"no connection ({self._line(str(error)) or type(error).__name__})"
            )
            if isinstance(
                error, (http.ReadError, http.WriteError, http.RemoteProtocolError)
            ):
                return 0, {}, message
            raise self._failed(message, self.wire.hint_down) from None
        # Each comma is an object in memory that is larger than what is read.
        if data.count(b",") > question.numbers + FRAME // NUMBER_BYTES:
            raise self._failed("the reply is too large")
        reply = None
        with suppress(ValueError, RecursionError):
            reply = json.loads(data)
        return response.status_code, response.headers, reply

    def _refused(self, status: int, reason: str, *, spent: bool) -> ProviderError:
        variable = self.wire.key.variable
        message = f"HTTP {status}: {reason}" if reason else f"HTTP {status}"
        hint = ""
        if status == 0:
            message = reason
            hint = self.wire.hint_down
        elif status == 200:
            message = "the reply is not JSON"
        elif status in (401, 403):
            message = f"the key is refused ({message})"
            hint = f"check {variable}"
        elif spent:
            hint = f"check the plan of {variable}, or choose another embedder"
            message = f"the quota is used up ({message})"
        elif _may_pass(status):
            hint = "try again later"
        elif status != 404:
            hint = "check embed_model, embed_dimensions and embed_url"
        return self._failed(message, hint)

    def _said(self, reply: Any) -> str:
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
        text = " ".join(for_pipe(text).split())
        return text if len(text) <= 200 else text[:199] + "…"

    def _failed(self, what: str, hint: str = "") -> ProviderError:
        where = f"{self.provider} embeddings: {what} ({shown(self.wire.url)})"
        return ProviderError(where, hint or self.wire.hint_missing)

    def _rows(self, reply: Any, count: int) -> Matrix:
        """The vectors of a reply to `count` texts. Raises ProviderError if they cannot
        be used."""
        rows = []
        with suppress(
            KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError
        ):
            rows = list(self.wire.rows(reply))
        if len(rows) != count or not _are_alike(rows):
            raise self._failed(
                f"the reply does not have {count} vectors of one dimension"
            )
        if not rows[0] or not all(map(_is_numeric, rows)):
            raise self._failed("a vector is not a list of numbers")
        dimensions_asked = self.wire.dimensions
        dimensions_made = len(rows[0])
        if dimensions_asked and dimensions_made != dimensions_asked:
            hint = "set embed_dimensions to one the model supports, or to 0"
            raise self._failed(
                f"vectors of dimension {dimensions_made}, not {dimensions_asked} as asked for",
                hint,
            )
        try:
            vectors = [array("f", row) for row in rows]
        except OverflowError:
            raise self._failed("a vector has NaN or an infinite number") from None
        if wrong := fault_of(vectors):
            raise self._failed(wrong)
        return vectors

    def _client(self) -> Any:
        """A client for this URL. It follows no redirects, so that a key goes nowhere
        else."""
        url = self.wire.url
        headers = {
            "content-type": "application/json",
            "accept-encoding": PACKING,
            **self.wire.key.headers(),
        }
        host = urlsplit(url).hostname or ""
        near = host in ("localhost", "::1") or host.startswith("127.")
        # Loading certificates takes longer than a local answer; a proxy cannot reach
        # this machine.
        options = {"verify": url.startswith("https:"), "trust_env": not near}
        try:
            return _library().Client(headers=headers, **options)
        except (OSError, ValueError, ImportError) as error:
            message = f"the HTTP client cannot start ({self._line(str(error))})"
            hint = "check the proxy and SSL variables of the environment"
            raise self._failed(message, hint) from None


def _may_pass(status: int) -> bool:
    """Whether a failure may be over in a moment."""
    return status in _PASSING or status >= 500


def _is_spent(status: int, reply: Any) -> bool:
    """Whether the quota is used up, so that waiting does not help."""
    if status == 429:
        return _out_of_quota().search(json.dumps(reply)) is not None
    return status == 402


def _are_alike(rows: list[Any]) -> bool:
    """Whether all rows are lists of the same length."""
    if not all(isinstance(row, list) for row in rows):
        return False
    return len({len(row) for row in rows}) <= 1


def _is_numeric(row: list[Any]) -> bool:
    return all(type(number) in (int, float) for number in row)


def fault_of(vectors: Matrix) -> str:
    """Why these vectors cannot be used; "" if they can."""
    if not all(math.isfinite(value) for row in vectors for value in row):
        return "a vector has NaN or an infinite number"
    return "" if all(map(any, vectors)) else "a vector is all zero"


def shorten(text: str, limit: int) -> str:
    """At most `limit` bytes of the text."""
    return text.encode("utf-8")[:limit].decode("utf-8", "ignore")


def _library() -> Any:
    try:
        import httpx2
    except ImportError:
        return importlib.import_module("httpx")
    return httpx2
