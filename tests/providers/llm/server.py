"""The Messages API on loopback: real HTTP, its checks, its errors, its counting of
tokens."""

import contextlib
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tests.loopback import Handler, serving

KEY = "sk-test"
FORBIDDEN = {"maxLength", "minLength", "maxItems", "minimum", "maximum", "pattern"}
"""Schema keywords that structured output does not take."""
ERRORS = {401: "authentication_error", 404: "not_found_error", 529: "overloaded_error"}


class Step(NamedTuple):
    """How one request is answered: `raw` instead of a message, after `delay`
    seconds."""

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

    def __init__(self):
        self.steps: deque[Step] = deque()
        self.answer: Callable[[Mapping[str, Any]], str] = lambda body: "yes"
        self.seen: list[Seen] = []
        """What was answered, in order."""
        # seconds until a reply begins
        self.url = ""
        self.thinking = 0.0
        self.closing = threading.Event()
        self._cache: set[str] = set()
        self._lock = threading.Lock()

    @property
    def environ(self):
        """What a client needs in its environment."""
        return {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.url,
            "NO_PROXY": "127.0.0.1",
        }

    def total(self, name):
        """The sum of one count over all answers."""
        return sum(seen.usage[name] for seen in self.seen if seen.usage)

    def handle(self, body, headers):
        with self._lock:
            step = self.steps.popleft() if self.steps else Step()
        usage = None
        fault = _fault(body, headers) if step.status == 200 and step.raw is None else ""
        status = (401 if fault == "key" else 400) if fault else step.status
        known = set(self._cache)
        self.closing.wait(step.delay or self.thinking)
        if step.raw is not None:
            answer = step.raw
        elif status != 200:
            answer = error(status, fault or "as told")
        else:
            text = step.text if step.text is not None else self.answer(body)
            usage = self._usage(body, text, known)
            answer = message(body, text, step.stop, usage)
        with self._lock:
            self.seen.append(Seen(body, headers, usage))
        return status, step.headers, answer

    def _usage(self, body, text, known):
        """Blocks with a mark are written to the cache, and read from it the next
        time."""
        blocks = list(_blocks(body))
        marked = {block for block, mark in blocks if mark}
        with self._lock:
            self._cache |= marked
        read = sum(tokens(block) for block in marked & known)
        written = sum(tokens(block) for block in marked - known)
        return {
            "input_tokens": sum(tokens(block) for block, _ in blocks) - read - written,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": tokens(text),
        }


def _blocks(body):
    """The prompt as the API lays it out: schema and system text, messages; with the
    marks."""
    if "output_config" in body:
        yield json.dumps(body["output_config"]), False
    for block in body.get("system", []):
        yield block["text"], "cache_control" in block
    for turn in body["messages"]:
        for block in turn["content"]:
            yield turn["role"] + block["text"], "cache_control" in block


def _fault(body, headers):
    """What the API would refuse, "" for nothing."""
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    if KEY not in (headers.get("x-api-key"), bearer):
        return "key"
    if "anthropic-version" not in headers:
        return "headers"
    for name in ("model", "max_tokens", "messages"):
        if not body.get(name):
            return f"{name}: field required"
    if any(
        not block["text"].strip()
        for turn in body["messages"]
        for block in turn["content"]
    ):
        return "text content blocks must be non-empty"
    if found := FORBIDDEN & set(_keys(body.get("output_config", {}))):
        return f"output_config: {found} not supported"
    return ""


def _keys(value):
    for key, item in value.items() if isinstance(value, dict) else ():
        yield key
        yield from _keys(item)


def tokens(text):
    """How this server counts: four characters are a token."""
    return -(-len(text) // 4)


def message(body, text, stop, usage):
    content = [{"type": "text", "text": text}] if text else []
    head = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
    }
    tail = {
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }
    return json.dumps({**head, **tail}).encode()


def error(status, text):
    found = {"type": ERRORS.get(status, "api_error"), "message": text}
    return json.dumps({"type": "error", "error": found, "request_id": "req_1"}).encode()


@contextlib.contextmanager
def serve():
    """A running server; `Api.url` is where."""
    api = Api()

    class Answering(Handler):
        def do_POST(self):
            headers, data = self.given()
            status, more, answer = api.handle(json.loads(data), headers)
            self.send(answer, status, **more)

    with serving(Answering) as api.url:
        try:
            yield api
        finally:
            api.closing.set()
