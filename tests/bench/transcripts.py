"""A long session as a ratio in one run: reading it, and the whole of `mem extract --engine rules`,
against `json.loads` over its lines; each in a process of its own, in turn.

python -m tests.bench.transcripts [--size 100] [--runs 5]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

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


def write_session(path: Path, size: int) -> int:
    """A Claude Code session of about `size` bytes, the same for the same size; how many lines it
    has.
    """
    chance = random.Random(4)
    written = lines = 0
    with path.open("wb") as file:
        for record in _records(chance):
            data = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            file.write(data)
            written += len(data)
            lines += 1
            if written >= size:
                return lines
    return lines


def _records(chance: random.Random) -> Iterator[dict[str, Any]]:
    """Rounds of a prompt, some steps of the agent with tools and their results, and the lines
    between.
    """
    number = 0
    while True:
        number += 1
        yield _line("user", number, 0, {"role": "user", "content": _prose(chance, 30)})
        for step in range(1, 12):
            answer, tool = f"msg_{number}_{step}", f"toolu_{number}_{step}"
            if step % 3 == 1:
                yield _answer(number, step, answer, {"type": "text", "text": _prose(chance, 60)})
            name = chance.choice(("Bash", "Read", "Edit", "Grep"))
            given = {
                "command": _prose(chance, 8),
                "old_string": _code(chance, 4),
                "new_string": _code(chance, 5),
            }
            yield _answer(
                number, step, answer, {"type": "tool_use", "id": tool, "name": name, "input": given}
            )
            output = _code(chance, chance.choice((2, 5, 20, 60, 200)))
            result = {
                "type": "tool_result",
                "tool_use_id": tool,
                "content": output,
                "is_error": step == 7,
            }
            copy = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
            message = {"role": "user", "content": [result]}
            yield _line("user", number, step, message, toolUseResult=copy)
            if step % 4 == 0:
                yield {
                    "type": "progress",
                    "sessionId": SESSION,
                    "data": {"type": "hook", "text": _prose(chance, 40)},
                }
        backups = {f"src/{index}.py": {"version": 1} for index in range(30)}
        yield {
            "type": "file-history-snapshot",
            "messageId": "m",
            "snapshot": {"trackedFileBackups": backups},
        }


def _line(
    kind: str, number: int, step: int, message: dict[str, Any], **more: Any
) -> dict[str, Any]:
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


def _answer(number: int, step: int, answer: str, block: dict[str, Any]) -> dict[str, Any]:
    usage = {
        "input_tokens": 4,
        "cache_read_input_tokens": 51234,
        "output_tokens": 210,
        "service_tier": "standard",
    }
    message = {
        "id": answer,
        "type": "message",
        "role": "assistant",
        "content": [block],
        "usage": usage,
    }
    return _line("assistant", number, step, message, requestId=f"req_{number}")


def _prose(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(_WORDS, k=count))


def _code(chance: random.Random, count: int) -> str:
    return "\n".join(chance.choices(_CODE, k=count))


# What each process prints: the seconds of its work and, on Linux, the most memory it had (VmHWM;
# ru_maxrss begins with what the starting process had). Starting Python counts on neither side.
_MEASURED = """
import pathlib, re, resource, sys, time
start = time.perf_counter()
WORK
took = time.perf_counter() - start
status = pathlib.Path("/proc/self/status")
mark = re.search("VmHWM:[^0-9]+([0-9]+)", status.read_text()) if status.exists() else None
unit = 1 if sys.platform == "darwin" else 1024
print(took, int(mark[1]) * 1024 if mark else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
"""
_LOADS = """
import json
start = time.perf_counter()
with open(sys.argv[1], "rb") as file:
    for line in file:
        json.loads(line)
"""
_READ = """
from memcli.sessions.reader import read_all
read_all(sys.argv[1])
"""
_EXTRACT = """
import contextlib, io
from memcli.cli.program import run
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    assert run(["extract", sys.argv[1], "--engine", "rules"]) == 0
"""


def measured(work: str, path: Path, project: Path) -> tuple[float, float]:
    """Seconds and megabytes that a process of its own takes for this work, in a fresh project and
    home.
    """
    with tempfile.TemporaryDirectory(dir=project) as fresh:
        root, home = Path(fresh, "project"), Path(fresh, "home")
        (root / ".git").mkdir(parents=True)
        home.mkdir()
        environ = {
            **os.environ,
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "MEM_ROOT": str(root),
        }
        script = _MEASURED.replace("WORK", work)
        done = subprocess.run(
            [sys.executable, "-c", script, str(path)],
            cwd=root, env=environ, capture_output=True, text=True, check=True,
        )  # fmt: skip
    took, memory = done.stdout.split()
    return float(took), int(memory) / 1e6


def peak(path: Path) -> int:
    """Bytes of memory that a process of its own takes to read the session."""
    return int(measured(_READ, path, path.parent)[1] * 1e6)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=100, help="megabytes")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        lines = write_session(path, given.size * 1_000_000)
        works = (_LOADS, _READ, _EXTRACT)
        rounds = [[measured(work, path, Path(folder)) for work in works] for _ in range(given.runs)]
    (loads, _), (reads, held), (learns, most) = (
        tuple(sorted(column)[len(column) // 2] for column in zip(*each, strict=True))
        for each in zip(*rounds, strict=True)
    )
    print(
        f"{given.size} MB, {lines} lines, median of {given.runs} rounds: json.loads {loads:.2f} s; "
        f"read {reads:.2f} s, {reads / loads:.2f} times, {held:.0f} MB; "
        f"mem extract --engine rules {learns:.2f} s, {learns / loads:.2f} times, {most:.0f} MB"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
