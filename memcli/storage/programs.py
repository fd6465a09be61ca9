"""The one way in which a program is run for what it says: so long, so much of it, and
with so much memory."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Thread
from typing import IO, NamedTuple

from memcli.storage.files import kill_group

MOST_SAID = 256 << 20
"""Bytes that a program may say before it is ended."""
AFTER_END = 5.0
"""Seconds in which what was said is read to its end, once a program was ended."""
PIECE = 1 << 16
HURRY = 3.0
"""Seconds that git gets in a folder where it took all of its time before."""


@cache
def slow_folders() -> set[Path]:
    """Where git took all of its time, as at a pipe that nobody writes."""
    return set()


class Program(NamedTuple):
    """What is run, where, with which environment and input; `keep` are descriptors that
    stay open in it."""

    command: Sequence[str]
    folder: Path | str
    environ: Mapping[str, str]
    given: bytes = b""
    keep: Sequence[int] = ()


class Limits(NamedTuple):
    """How long a program may run, how much it may say, and how many bytes of data it
    may hold (0 for any number). `whole`: what it has started ends with it."""

    seconds: float
    most: int = MOST_SAID
    memory: int = 0
    whole: bool = False


class Ended(NamedTuple):
    """What a program said. `stopped` is what it had too much of ("time", "words"), ""
    where it ended by itself."""

    code: int
    output: bytes
    errors: bytes
    stopped: str = ""


class _Said(Thread):
    """Reads what a program says; ends it when that is too much."""

    def __init__(self, stream: IO[bytes], limit: int, end: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.data = bytearray()
        self.is_too_much = False
        self._stream = stream
        self._most = limit
        self._end = end

    def run(self) -> None:
        with suppress(OSError, ValueError):
            while piece := self._stream.read(PIECE):
                self.data += piece
                if len(self.data) > self._most:
                    self.is_too_much = True
                    self._end()
                    return


def run(
    program: Program,
    limits: Limits,
    started: Callable[[int], None] = lambda pid: None,
) -> Ended:
    """Run a program to its end, or until it has had enough. Raises OSError or
    ValueError where it cannot be started. `started` is told its number."""
    process = subprocess.Popen(
        program.command,
        cwd=program.folder,
        env=program.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # so that a stream can be closed while it is read
        pass_fds=program.keep,
        start_new_session=limits.whole,
    )

    def end() -> None:
        with suppress(ProcessLookupError, PermissionError):
            if limits.whole:
                kill_group(process.pid)
            else:
                process.kill()

    assert process.stdin
    assert process.stdout
    assert process.stderr
    output = _Said(process.stdout, limits.most, end)
    errors = _Said(process.stderr, limits.most, end)
    giving = _helper(_give, process.stdin, program.given)
    helpers = [output, errors, giving]
    if limits.whole:
        helpers.append(_helper(_end_all, process.pid, end))
    try:
        started(process.pid)
        _bound(process.pid, limits.memory)
        for helper in helpers:
            helper.start()
        output.join(limits.seconds)
    except BaseException:
        end()
        raise
    stopped = "" if _has_ended(process, output, limits, end) else "time"
    for helper in helpers:
        helper.join(AFTER_END)
    for stream in (process.stdin, process.stdout, process.stderr):
        with suppress(OSError):
            stream.close()
    if output.is_too_much or errors.is_too_much:
        stopped = "words"
    return Ended(
        code=process.returncode,
        output=bytes(output.data),
        errors=bytes(errors.data),
        stopped=stopped,
    )


def _has_ended(
    process: subprocess.Popen[bytes],
    output: Thread,
    limits: Limits,
    end: Callable[[], None],
) -> bool:
    """Whether a program has ended by itself; else it is ended."""
    is_late = output.is_alive()
    if is_late:
        end()
    try:
        process.wait(AFTER_END if is_late else limits.seconds)
    except subprocess.TimeoutExpired:  # it says no more, and goes on
        end()
        process.wait()
        return False
    return not is_late


def _helper(work: Callable[..., None], *given: object) -> Thread:
    return Thread(target=work, args=given, daemon=True)


def _give(stream: IO[bytes], content: bytes) -> None:
    """Write all of a program's input; it may not want it."""
    with suppress(OSError, ValueError):
        rest = memoryview(content)
        while rest:
            rest = rest[stream.write(rest) :]
    with suppress(OSError):
        stream.close()


def _end_all(pid: int, end: Callable[[], None]) -> None:
    """End what a program has started as soon as it has ended itself: it may hold what
    we read from open. The number stays its own until then."""
    if hasattr(os, "waitid"):
        with suppress(OSError):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        end()


def _bound(pid: int, memory: int) -> None:
    """Bound the data that a process may hold, where the system can: what is mapped from
    files, as git maps its packs, does not count."""
    if not memory:
        return
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource  # not on Windows

        resource.prlimit(pid, resource.RLIMIT_DATA, (memory, memory))
