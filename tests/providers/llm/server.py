"""The Messages API on loopback: real HTTP, its checks, its errors, its counting of cached tokens."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

KEY = "sk-test"
MINIMUM = {"haiku-4-5": 4096, "opus-4-5": 4096, "sonnet-4-6": 1024}
"""Tokens below which a prefix is not cached."""
FIVE_MINUTES = 300.0
FORBIDDEN = {"maxLength", "minLength", "maxItems", "minimum", "maximum", "pattern"}
"""Schema keywords that structured output does not take."""
ERRORS = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large",
    429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
}  # fmt: skip


class Step(NamedTuple):
    """How one request is answered: `raw` instead of a message, after `delay` seconds."""

    status: int = 200
    headers: Mapping[str, str] = {}
    text: str | None = None
    stop: str = "end_turn"
    raw: bytes | None = None
    delay: float = 0.0


class Seen(NamedTuple):
    """A request that came in, and the usage of its answer (None for an error)."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    usage: Mapping[str, int] | None


class Api:
    """What the server does: takes `steps` first, then answers with `answer(body)`."""

    def __init__(self) -> None:
        self.steps: deque[Step] = deque()
        self.answer: Callable[[Mapping[str, Any]], str] = lambda body: "yes"
        self.seen: list[Seen] = []
        """What was answered, in order."""
        self.arrived = 0
        self.now = 0.0
        """Seconds on the clock of the cache."""
        self.thinking = 0.0
        """Seconds until a reply begins; only then its prefix is in the cache."""
        self.most_at_once = 0
        self.url = ""
        self.closing = threading.Event()
        self._at_once = 0
        self._cache: dict[str, float] = {}
        self._lock = threading.Lock()

    @property
    def environ(self) -> dict[str, str]:
        """What a client needs in its environment."""
        return {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": self.url, "NO_PROXY": "127.0.0.1"}

    def total(self, name: str) -> int:
        """The sum of one count over all answers."""
        return sum(seen.usage[name] for seen in self.seen if seen.usage)

    @property
    def paid(self) -> int:
        """Input tokens that were not read from the cache."""
        return self.total("input_tokens") + self.total("cache_creation_input_tokens")

    def handle(self, body: Any, headers: Mapping[str, str]) -> tuple[int, Mapping[str, str], bytes]:
        with self._lock:
            self._at_once += 1
            self.arrived += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            step = self.steps.popleft() if self.steps else Step()
        usage: dict[str, int] | None = None
        fault = _fault(body, headers) if step.status == 200 and step.raw is None else ""
        cached = set() if fault else self._cached()
        self.closing.wait(step.delay or self.thinking)
        if fault:
            status, answer = (
                (401 if fault == "key" else 400),
                error(401 if fault == "key" else 400, fault),
            )
        elif step.raw is not None:
            status, answer = step.status, step.raw
        elif step.status != 200:
            status, answer = step.status, error(step.status, "as told")
        else:
            text = step.text if step.text is not None else self.answer(body)
            usage = self._usage(body, text, cached)
            status, answer = 200, message(body, text, step.stop, usage)
        with self._lock:
            self._at_once -= 1
            self.seen.append(Seen(body, headers, usage))
        return status, step.headers, answer

    def _cached(self) -> set[str]:
        """The prefixes in the cache: each five minutes from its last use."""
        with self._lock:
            return {name for name, used in self._cache.items() if used + FIVE_MINUTES > self.now}

    def _usage(self, body: Mapping[str, Any], text: str, cached: set[str]) -> dict[str, int]:
        """The longest cached prefix that ends at a mark is read, the rest up to the last mark
        written.
        """
        blocks = list(_blocks(body))
        marks = [at for at, (_, marked) in enumerate(blocks, 1) if marked]
        counts = [0]
        for block, _ in blocks:
            counts.append(counts[-1] + tokens(block))
        least = next((least for name, least in MINIMUM.items() if name in body["model"]), 4096)
        marks = [at for at in marks if counts[at] >= least]
        names = {at: _digest(body, blocks[:at]) for at in marks}
        read = max((counts[at] for at in marks if names[at] in cached), default=0)
        written = max(counts[marks[-1]] - read, 0) if marks else 0
        with self._lock:
            self._cache.update(dict.fromkeys(names.values(), self.now))
        return {
            "input_tokens": counts[-1] - read - written,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": tokens(text),
        }


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """The prompt as the API lays it out: tools, schema and system text, messages; with the marks."""
    for tool in body.get("tools", ()):
        yield json.dumps(tool), "cache_control" in tool
    if "output_config" in body:
        yield json.dumps(body["output_config"]), False
    system = body.get("system", [])
    for block in [{"text": system}] if isinstance(system, str) else system:
        yield block["text"], "cache_control" in block
    for turn in body["messages"]:
        content = turn["content"]
        for block in [{"text": content}] if isinstance(content, str) else content:
            yield turn["role"] + block["text"], "cache_control" in block


def _digest(body: Mapping[str, Any], blocks: list[tuple[str, bool]]) -> str:
    return hashlib.sha256(
        json.dumps([body["model"], *(text for text, _ in blocks)]).encode()
    ).hexdigest()


def _fault(body: Any, headers: Mapping[str, str]) -> str:
    """What the API would refuse, "" for nothing."""
    if KEY not in (
        headers.get("x-api-key"),
        headers.get("authorization", "").removeprefix("Bearer "),
    ):
        return "key"
    if "anthropic-version" not in headers or "application/json" not in headers.get(
        "content-type", ""
    ):
        return "headers"
    for name in ("model", "max_tokens", "messages"):
        if not body.get(name):
            return f"{name}: field required"
    if any(not block["text"].strip() for turn in body["messages"] for block in turn["content"]):
        return "text content blocks must be non-empty"
    if sum(marked for _, marked in _blocks(body)) > 4:
        return "a maximum of 4 blocks with cache_control may be provided"
    if found := FORBIDDEN & set(_keys(body.get("output_config", {}))):
        return f"output_config: {found} not supported"
    return ""


def _keys(value: Any) -> Iterator[str]:
    for key, item in value.items() if isinstance(value, dict) else ():
        yield key
        yield from _keys(item)


def tokens(text: str) -> int:
    """How this server counts: four characters are a token."""
    return -(-len(text) // 4)


def message(body: Mapping[str, Any], text: str, stop: str, usage: Mapping[str, int]) -> bytes:
    content = [{"type": "text", "text": text}] if text else []
    values = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": content,
        "stop_reason": stop, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    return json.dumps(values).encode()


def error(status: int, text: str) -> bytes:
    found = {"type": ERRORS.get(status, "api_error"), "message": text}
    return json.dumps({"type": "error", "error": found, "request_id": "req_1"}).encode()


@contextlib.contextmanager
def serve() -> Iterator[Api]:
    """A running server; `Api.url` is where."""
    api = Api()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            if self.path != "/v1/messages":
                status, more, answer = 404, {}, error(404, self.path)
            else:
                status, more, answer = api.handle(json.loads(data), headers)
            with contextlib.suppress(OSError):  # the client may be gone
                self.send_response(status)
                for name, value in {"content-type": "application/json", **more}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        def log_message(self, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 64

    server = Server(("127.0.0.1", 0), Handler)
    api.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield api
    finally:
        api.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
