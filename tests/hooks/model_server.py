"""A language model on loopback that says what a test wrote down, in the words of two
wires.

Anthropic's Messages and OpenAI's Responses, both streamed. Every request is kept, so
that a test can see what an agent put before its model."""

import json
import threading
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests import loopback
from tests.loopback import Handler


class Call(NamedTuple):
    """A tool that the model asks for."""

    name: str
    input: dict[str, Any]


class Model:
    """The replies that are left, one a request of the agent's main loop, and what was
    asked.

    A sub-agent, whose first message contains "SUB", gets "Done."."""

    def __init__(self):
        self.replies: list[str | Call] = []
        self.asked: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def reply(self, body):
        with self._lock:
            self.asked.append(body)
            if not body.get("tools"):
                return "Done."
            text = json.dumps(body.get("messages") or body.get("input") or [])
            sub = '"SUB' in text and '"MAIN' not in text
            return self.replies.pop(0) if self.replies and not sub else "Done."

    def said(self, number=-1):
        """All that one request of the main loop put before the model."""
        asked = [body for body in self.asked if body.get("tools")]
        return json.dumps(asked[number], ensure_ascii=False)


@contextmanager
def serving():
    """The model, and the address where it answers."""
    model = Model()

    class Answering(Handler):
        def do_GET(self):
            self.send(b'{"data": [], "models": []}')

        do_HEAD = do_GET

        def do_POST(self):
            body = json.loads(self.given()[1] or b"{}")
            stream = {"content-type": "text/event-stream"}
            if "count_tokens" in self.path:
                self.send(b'{"input_tokens": 10}')
            elif self.path.startswith("/v1/messages"):
                self.send(_messages(model.reply(body)).encode(), **stream)
            elif self.path.startswith("/v1/responses"):
                self.send(_responses(model.reply(body)).encode(), **stream)
            else:
                self.send(b"{}")

    with loopback.serving(Answering) as url:
        yield model, url


def _events(events):
    return "".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events
    )


def _messages(reply):
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {
        "id": f"msg_{id(reply)}", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    if isinstance(reply, str):
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": reply}
    else:
        block = {
            "type": "tool_use",
            "id": f"toolu_{id(reply)}",
            "name": reply.name,
            "input": {},
        }
        delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.input)}
    reason = "end_turn" if isinstance(reply, str) else "tool_use"
    return _events([
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ])  # fmt: skip


def _responses(reply):
    item = {"id": "item_1", "status": "completed"}
    if isinstance(reply, str):
        content = {"type": "output_text", "text": reply, "annotations": []}
        item |= {"type": "message", "role": "assistant", "content": [content]}
    else:
        namespace, _, name = reply.name.rpartition(".")
        item |= {"type": "function_call", "call_id": f"call_{id(reply)}", "name": name}
        item |= {"namespace": namespace} if namespace else {}
        item["arguments"] = json.dumps(reply.input)
    usage = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}
    usage["input_tokens_details"] = {"cached_tokens": 0}
    usage["output_tokens_details"] = {"reasoning_tokens": 0}
    return _events([
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "usage": usage, "output": []}},
    ])  # fmt: skip
