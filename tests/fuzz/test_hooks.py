"""Hooks are called by programs nobody here wrote."""

import json
import random
from itertools import islice

import pytest

from memcli.hooks import calls, protocol
from memcli.storage.files import LOG, state_dir
from tests.fuzz import hooks


@pytest.fixture
def shop(project, monkeypatch):
    monkeypatch.setattr(protocol, "SECONDS", 600.0)
    keys = {"type": "corrective", "commands": ["git push*"], "paths": ["src/*.py"]}
    own = project.entry("Clock", "Checkout tests fail at midnight.", id="clock", **keys)
    project.memory(own)
    project.mem("index")
    return project


def _all_answered(shop, payloads):
    for number, data in enumerate(payloads):
        event = hooks.EVENTS[number % len(hooks.EVENTS)]
        result = shop.mem("hook", event, input=data)
        hooks.checked(
            result.out.encode(), result.err.encode(), code=result.code, event=event
        )
    log = state_dir() / LOG
    said = log.read_text(encoding="utf-8") if log.exists() else ""
    assert [line for line in said.splitlines() if "Error" in line] == []


def test_odd_calls_are_answered_or_not(shop):
    """A field that is missing, of another type, huge, deep or a device: nothing goes
    wrong inside."""
    _all_answered(shop, islice(hooks.payloads(shop.root), 0, None, 5))


def test_damaged_calls_are_answered_or_not(shop):
    """Several odd fields at once, and calls with pieces cut out or replaced."""
    _all_answered(shop, islice(hooks.drawn(shop.root, random.Random(3)), 120))


@pytest.mark.parametrize(
    "feed",
    ["closed", "zeros without end", "no streams at all", "a folder that is gone"],
)
def test_odd_streams_end_in_silence(shop, tmp_path, feed):
    """A real process whose input is closed or endless, or whose folder is gone, ends
    with success."""
    done = hooks.through_shell(feed, "prompt", shop.root, tmp_path)
    hooks.checked(done.out, done.err, code=done.code)


def test_input_that_never_ends_is_not_waited_for(shop, tmp_path, monkeypatch):
    """Neither drops nor a flood of what could be calls keep a process from its end."""
    monkeypatch.delenv("MEM_HOOK_SECONDS")
    for piece, pause in ((b"{", 0.05), (b'{"a": 1}', 0.0)):
        done = hooks.endlessly(piece, pause, "prompt", tmp_path)
        assert (done.code, done.out, done.err) == (0, b"", b"")


@pytest.mark.parametrize("name", ["/a\0b", "relative", ""])
def test_what_no_file_is_called_is_no_path(name):
    """A folder like that makes a call that says nothing; a transcript like that is
    none."""
    assert (
        calls.parse_payload(json.dumps({"session_id": "s", "cwd": name}).encode())
        is None
    )
    call = {"session_id": "s", "cwd": "/", "transcript_path": name}
    said = calls.parse_payload(json.dumps(call).encode())
    assert said is not None and said.transcript == ""


@pytest.mark.parametrize(
    "error", [RuntimeError("broken"), KeyboardInterrupt(), MemoryError()]
)
def test_whatever_breaks_is_no_business_of_the_agent(monkeypatch, capsys, error):
    """Success and silence; the log says what it was."""

    def broken(*_):
        raise error

    monkeypatch.setattr(protocol, "_served", broken)
    assert protocol.main(["prompt"]) == 0 and capsys.readouterr() == ("", "")
    assert type(error).__name__ in (state_dir() / LOG).read_text("utf-8")
