"""An HTTP server on loopback that speaks the wire formats of the providers."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

from tests import loopback
from tests.loopback import Handler

DIM = 4


class Asked(NamedTuple):
    """One request as it came: the path with its query, the headers in small letters,
    the JSON body."""

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


def vector_of(text):
    """The vector that the server makes of a text: of four numbers, never zero."""
    return [float(len(text)), float(ord(text[0])), float(ord(text[-1])), 0.5]


def lists(vectors):
    """What an embedder made, as lists."""
    return [list(row) for row in vectors]


def openai(body):
    """OpenAI's reply; its items come in reverse, as the index and not the place
    counts. Google's vectors have the dimension that was asked for."""
    is_google = body["model"].startswith("gemini")
    more = [0.0] * (body["dimensions"] - DIM) if is_google else []
    items = [
        {"index": number, "embedding": vector_of(text) + more}
        for number, text in enumerate(body["input"])
    ]
    return {"object": "list", "data": items[::-1], "model": body["model"]}


class Server:
    """The answers to give before vectors, first to last, and what was asked."""

    def __init__(self, speak):
        self.url = ""
        self.speak = speak
        self.answers: list[Answer | Callable[[Any], Answer]] = []
        self.asked: list[Asked] = []
        self.stop = threading.Event()

    def next_answer(self, asked):
        self.asked.append(asked)
        if not self.answers:
            return Answer(body=self.speak(asked.body))
        answer = self.answers.pop(0)
        return answer if isinstance(answer, Answer) else answer(asked.body)

    @property
    def bodies(self):
        return [asked.body for asked in self.asked]


class _Handler(Handler):
    talks: Server

    def do_POST(self):
        headers, data = self.given()
        answer = self.talks.next_answer(Asked(self.path, headers, json.loads(data)))
        if answer is HANG:
            self._hang()
        elif answer is DRIP:
            self._drip()
        elif answer is CLOSE:
            self._close()
        else:
            body = answer.body
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send(body, answer.status, **answer.headers)

    def _hang(self):
        self.talks.stop.wait(20)
        self._close()

    def _drip(self):
        self.send_response(200)
        self.send_header("content-length", "100000")
        self.end_headers()
        while not self.talks.stop.wait(0.01):
            self.wfile.write(b" ")
        self._close()

    def _close(self):
        self.close_connection = True
        # A reset, as of a process that dies.
        self.connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        self.connection.close()


@contextmanager
def serving(speak=openai):
    """A server on a free port of loopback; what still hangs is let go at the end."""
    server = Server(speak)
    before = set(threading.enumerate())
    with loopback.serving(type("_", (_Handler,), {"talks": server})) as server.url:
        try:
            yield server
        finally:
            server.stop.set()
    for left in set(threading.enumerate()) - before:
        left.join(10)
