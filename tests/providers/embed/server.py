"""An HTTP server on loopback that speaks the wire formats of the providers."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple

DIM = 4


class Asked(NamedTuple):
    """One request as it came: the path with its query, the headers in small letters, the JSON body."""

    path: str
    headers: dict[str, str]
    body: Any


class Answer(NamedTuple):
    """What to send instead of vectors. `body` may be bytes, or a value for JSON."""

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = MappingProxyType({})


HANG = Answer(-1)
"""Accept the request and never answer."""
DRIP = Answer(-2)
"""Answer with a body that comes a byte at a time and never ends."""
CLOSE = Answer(-3)
"""Close the connection without an answer."""


def vector_of(text: str) -> list[float]:
    """The vector that the server makes of a text: of four numbers, never zero."""
    return [float(len(text)), float(ord(text[0])), float(ord(text[-1])), 0.5]


def openai(body: Any) -> Any:
    """OpenAI's reply; its items come in reverse, as the index and not the place counts."""
    items = [{"index": i, "embedding": vector_of(text)} for i, text in enumerate(body["input"])]
    return {"object": "list", "data": items[::-1], "model": body["model"]}


def gemini(body: Any) -> Any:
    """Gemini's reply to batchEmbedContents; vectors have the dimension that was asked for."""
    made = []
    for request in body["requests"]:
        vector = vector_of(request["content"]["parts"][0]["text"])
        made.append({"values": vector + [0.0] * (request["outputDimensionality"] - DIM)})
    return {"embeddings": made}


class Server:
    """The answers to give before vectors, first to last, and what was asked."""

    def __init__(self, port: int, speak: Callable[[Any], Any]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.speak = speak
        self.answers: list[Answer | Callable[[Any], Answer]] = []
        self.asked: list[Asked] = []
        self.stop = threading.Event()

    def next_answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        if not self.answers:
            return Answer(body=self.speak(asked.body))
        answer = self.answers.pop(0)
        return answer if isinstance(answer, Answer) else answer(asked.body)

    @property
    def bodies(self) -> Sequence[Any]:
        return [asked.body for asked in self.asked]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    talks: Server

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.talks.next_answer(Asked(self.path, headers, json.loads(data)))
        if answer is HANG:
            self._hang()
        elif answer is DRIP:
            self._drip()
        elif answer is CLOSE:
            self._close()
        else:
            self._send(answer)

    def _send(self, answer: Answer) -> None:
        raw = isinstance(answer.body, bytes)
        body = answer.body if raw else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in {"content-length": str(len(body)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _hang(self) -> None:
        self.talks.stop.wait(20)
        self._close()

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "100000")
        self.end_headers()
        while not self.talks.stop.wait(0.01):
            self.wfile.write(b" ")
        self._close()

    def _close(self) -> None:
        self.close_connection = True
        # A reset, as of a process that dies.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves early is what some tests are about."""


@contextmanager
def serving(speak: Callable[[Any], Any] = openai) -> Iterator[Server]:
    """A server on a free port of loopback; what still hangs is let go at the end."""
    handler = type("Handler", (_Handler,), {})
    http = _Quiet(("127.0.0.1", 0), handler)
    handler.talks = server = Server(http.server_address[1], speak)  # type: ignore[attr-defined]
    before = set(threading.enumerate())
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.stop.set()
        http.shutdown()
        thread.join()
        http.server_close()
        for left in set(threading.enumerate()) - before:
            left.join(10)
