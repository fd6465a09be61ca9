"""What could reach a hook on its standard input, and what must come of it whatever that
was."""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import NamedTuple

from tests.fuzz.hostile import CHARACTERS, SEEDS, TOKENS, mutated

EVENTS = ("prompt", "pre-tool", "pre-compact")
"""What can be called in this process; the others start workers."""
ENDS_IN = 30.0  # seconds after which a process hangs: ten times what a hook has
_FIELDS = """session_id conversation_id cwd workspace_roots transcript_path source prompt
    user_prompt tool_name tool_input agent_id hook_event_name""".split()
_INPUTS = "command file_path path notebook_path pattern edits content".split()
_ODD = (
    None,
    True,
    0,
    -1,
    10**400,
    1.5,
    "",
    " ",
    "\0",
    "\ud800",
    "\udcff\U0010ffff",
    "\x1b]0;x\x07",
    "~",
    "~nobody/x",
    "/",
    "/\ud800",
    "../..",
    "/dev/zero",
    "/dev/stdin",
    "/proc/self/mem",
    "/x" * 5_000,
    "x" * 100_000,
    "clock " * 20_000,
    "git push; " * 9_000,
    [],
    [[]],
    ["\0"],
    ["\ud800"],
    {},
    {"a": [{}]},
)
_DEEP = 100_000


class Ended(NamedTuple):
    """How a process ended, and after how many seconds."""

    code: int
    out: bytes
    err: bytes
    seconds: float


def good(root):
    return {
        "session_id": "s",
        "transcript_path": None,
        "cwd": str(root),
        "source": "startup",
        "prompt": "checkout tests fail at midnight",
        "tool_name": "Bash",
        "tool_input": {"command": "git push"},
    }


def payloads(root):
    for field in _FIELDS:
        yield _json({key: value for key, value in good(root).items() if key != field})
        yield from (_json({**good(root), field: value}) for value in _ODD)
    for name in _INPUTS:
        yield from (
            _json({**good(root), "tool_input": {name: value}}) for value in _ODD
        )
    whole = _json(good(root))
    yield from (b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbf" + whole, whole[:-1], whole * 2)
    yield from (
        whole + b"\0",
        b"[]",
        b"1",
        b"NaN",
        b"1" * 9_999,
        b'"' + b"\\u0000" * 9_999,
    )
    yield from (whole.replace(b"s", b"\xff"), whole[::-1])
    deep = (b"[", b'{"a":', b'{"cwd":[', b'{"tool_input":{"command":')
    yield from (opens * _DEEP for opens in deep)
    yield whole.replace(b'"git push"', b"[" * 900 + b"]" * 900)


def drawn(root, dice):
    values = (*_ODD, *CHARACTERS, *TOKENS)
    while True:
        said = good(root)
        for field in dice.choices(_FIELDS, k=dice.randint(1, 4)):
            said[field] = dice.choice(values)
        if dice.random() < 0.3:
            said["tool_input"] = {dice.choice(_INPUTS): dice.choice(values)}
        if dice.random() < 0.7:
            yield _json(said)
        else:
            text = json.dumps(said) if dice.random() < 0.5 else dice.choice(SEEDS)
            yield mutated(text, dice).encode("utf-8", "surrogatepass")


def _json(said):
    return json.dumps(said).encode()


def checked(out, err, *, code, event=""):
    assert (code, err) == (0, b""), (code, err)
    if not out:
        return
    said = json.loads(out.decode("ascii"))["hookSpecificOutput"]
    assert (
        set(said) == {"hookEventName", "additionalContext"}
        and len(said["additionalContext"]) < 10_000
    )
    assert event not in ("pre-compact", "session-end")


FEEDS = {
    "closed": "<&-",
    "zeros without end": "< /dev/zero",
    "no streams at all": "<&- >&- 2>&-",
    "a folder that is gone": "< {said}",
}
"""What the shell makes of the streams of a hook; `{said}` is a file with a good
call."""


def through_shell(feed, event, root, folder):
    said = folder / "said"
    gone = folder / "gone"
    said.write_bytes(_json(good(root)))
    gone.mkdir(exist_ok=True)
    leave = f"cd {gone}; rmdir {gone}; " if feed == "a folder that is gone" else ""
    line = f'{leave}exec "$0" -m memcli hook {event} {FEEDS[feed].format(said=said)}'
    return _ended(["sh", "-c", line, sys.executable], subprocess.DEVNULL, folder)


def endlessly(piece, pause, event, folder):
    read, write = os.pipe()

    def feed():
        with suppress(BrokenPipeError):
            while True:
                os.write(write, piece)
                time.sleep(pause)

    threading.Thread(target=feed, daemon=True).start()
    try:
        return _ended([sys.executable, "-m", "memcli", "hook", event], read, folder)
    finally:
        os.close(read)


def _ended(arguments, stdin, folder):
    started = time.monotonic()
    process = subprocess.run(
        arguments,
        stdin=stdin,
        capture_output=True,
        cwd=folder,
        timeout=ENDS_IN,
        check=False,
    )  # type: ignore[call-overload]
    return Ended(
        process.returncode, process.stdout, process.stderr, time.monotonic() - started
    )
