"""A long session, always the same."""

import json
import random

SESSION = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
_WORDS = (
    "the cart test fails because clock zone order total price retry client server schema index query cache "
    "module import return value error expected received build deploy queue worker signal branch merge review"
).split()
_CODE = (
    "def total(self, items: list[Item]) -> Decimal:",
    "    return sum((item.price * item.count for item in items), Decimal(0))",
    '    <div className="cart">{items.map((item) => <Row key={item.id} {...item} />)}</div>',
    "FAILED tests/test_cart.py::test_total - AssertionError: assert 12 == 13",
    "    if (order != null && order.isOpen()) { queue.push(order); }",
    'src/shop/http.py:112:        raise RetryError("too many attempts") from error',
    "        größe = berechne(größe)  # 尺寸",
)
RESULTS = (2, 5, 20, 60, 200)
"""Lines of the results of tools."""


def write_session(path, size):
    """A Claude Code session of about `size` bytes, always the same."""
    written = 0
    with path.open("wb") as file:
        for record in _records(random.Random(4)):
            data = (
                json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
                + b"\n"
            )
            file.write(data)
            written += len(data)
            if written >= size:
                break


def _records(chance):
    """Rounds of a prompt, some steps of the agent with tools and their results, and
    lines between."""

    def prose(count):
        return " ".join(chance.choices(_WORDS, k=count))

    def code(count):
        return "\n".join(chance.choices(_CODE, k=count))

    number = 0
    while True:
        number += 1
        yield _line("user", number, 0, {"role": "user", "content": prose(30)})
        for step in range(1, 12):
            tool = f"toolu_{number}_{step}"
            if step % 3 == 1:
                yield _answer(number, step, {"type": "text", "text": prose(60)})
            given = {"command": prose(8), "old_string": code(4), "new_string": code(5)}
            name = chance.choice(("Bash", "Read", "Edit", "Grep"))
            used = {"type": "tool_use", "id": tool, "name": name, "input": given}
            yield _answer(number, step, used)
            output = code(chance.choice(RESULTS))
            result = {
                "type": "tool_result",
                "tool_use_id": tool,
                "content": output,
                "is_error": step == 7,
            }
            copy = {
                "stdout": output,
                "stderr": "",
                "interrupted": False,
                "isImage": False,
            }
            message = {"role": "user", "content": [result]}
            yield _line("user", number, step, message, toolUseResult=copy)
            if step % 4 == 0:
                data = {"type": "hook", "text": prose(40)}
                yield {"type": "progress", "sessionId": SESSION, "data": data}
        backups = {f"src/{index}.py": {"version": 1} for index in range(30)}
        snapshot = {"trackedFileBackups": backups}
        yield {"type": "file-history-snapshot", "messageId": "m", "snapshot": snapshot}


def _line(kind, number, step, message, **more):
    return {
        "parentUuid": f"{number:08d}-0000-4000-8000-{step:012d}",
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ana/shop",
        "sessionId": SESSION,
        "version": "2.1.200",
        "gitBranch": "fix/cart",
        "type": kind,
        "message": message,
        "uuid": f"{number:08d}-{kind[0]}000-4000-8000-{step:06d}{len(str(message)) % 1000000:06d}",
        "timestamp": f"2026-03-04T{number // 60 % 24:02d}:{number % 60:02d}:{step:02d}.000Z",
        **more,
    }


def _answer(number, step, block):
    usage = {"input_tokens": 4, "cache_read_input_tokens": 51234, "output_tokens": 210}
    message = {
        "id": f"msg_{number}_{step}",
        "type": "message",
        "role": "assistant",
        "content": [block],
        "usage": usage,
    }
    return _line("assistant", number, step, message, requestId=f"req_{number}")
