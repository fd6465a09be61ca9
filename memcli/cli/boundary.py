"""What a command line is given, and how its failures end: a line, a hint, a code. No
Typer."""

import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from memcli.errors import MemError, RefusedError, UsageError
from memcli.storage import files
from memcli.views.text import Unread, say

T = TypeVar("T")
Parser = Callable[
    [Any], Any
]  # an option's text to its value; a UsageError says what is allowed
MOST_BYTES = 64 << 10  # the longest text of an entry that is taken without a word


def guarded(work: Callable[[], Any]) -> int:
    """Run one command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):  # UTF-8 whatever the locale says
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(encoding="utf-8", errors="replace")
    try:
        result = work()
        if sys.stdout is not None:
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except (
        Unread,
        BrokenPipeError,
        SystemExit,
    ):  # Typer exits when it cannot print its help
        silence()
        return 141
    except KeyboardInterrupt:
        silence()
        return 130
    except Exception as error:
        return failed(error)


def failed(error: Exception) -> int:
    """Say what went wrong and return the exit code it owns."""
    if isinstance(error, MemError):
        return fail(error.code, error.what, error.hint)
    if isinstance(error, OSError):
        silence()  # what could not be printed is not tried again
        name = f" ({error.filename})" if error.filename else ""
        what = f"{(error.strerror or str(error)).lower()}{name}"
        return fail(RefusedError.code, what, "mem doctor")
    if os.environ.get("MEM_DEBUG"):
        sys.excepthook(type(error), error, error.__traceback__)
    what = f"internal error: {type(error).__name__}: {error}"
    return fail(
        MemError.code, what, "please report it; MEM_DEBUG=1 shows where it happened"
    )


def fail(code: int, what: str, hint: str) -> int:
    """Say an error and the next command; return the exit code."""
    say(f"mem: {what}")
    say(f"hint: {hint}" if hint else "")
    return code


def silence() -> None:
    """Keep the interpreter from complaining about a stdout it cannot write to while it
    exits."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        return
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def key(option: str) -> Parser:
    """The parser of an option that sets the configuration key of the same name."""
    from memcli.project.keys import KEYS

    return checked(option, KEYS[option.removeprefix("--").replace("-", "_")])


def checked(option: str, check: Parser) -> Parser:
    """The parser of an option whose value a check makes, or says what is allowed."""

    def parse(value: Any) -> Any:
        try:
            return check(value)
        except ValueError as error:
            raise UsageError(f"{option} {value}: cannot be used", str(error)) from None

    return parse


def read_words(words: Sequence[str]) -> str:
    """The words of a command line, or standard input for a lone `-`, as text whatever
    they are."""
    if list(words) == ["-"]:
        return read_stdin().decode("utf-8", "replace")
    text = " ".join(words)
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)


def read_entry(words: Sequence[str], *, allow_long: bool = False) -> str:
    """The text of an entry: words, or standard input for a lone `-`, which must be
    text."""
    piped = list(words) == ["-"]
    data = read_stdin() if piped else read_words(words).encode()
    try:
        text = data.decode()
        at = data.find(0) if piped else -1
        why = "is no text: it has a NUL byte"
    except UnicodeDecodeError as error:
        at = error.start
        why = "is not UTF-8 text"
    if at >= 0:
        raise UsageError(f"standard input {why} (byte {at})", "give UTF-8 text")
    if len(data) > MOST_BYTES and not allow_long:
        what = f"the text has {len(data):,} bytes, more than a memory is worth"
        raise RefusedError(what, f"say it in {MOST_BYTES:,} bytes, or --allow-long")
    return text


def read_stdin() -> bytes:
    """All of standard input."""
    if sys.stdin is None:
        raise UsageError(
            "- reads standard input, which is closed", "name a file, or give the text"
        )
    read = (
        sys.stdin.buffer.read1
        if hasattr(sys.stdin.buffer, "read1")
        else sys.stdin.buffer.read
    )
    return b"".join(iter(lambda: read(1 << 16), b""))  # Ctrl-C gets in between


def opened_file(path: str, read: Callable[[Any], T]) -> T:
    """What `read` makes of a file that was named, or of standard input for `-`."""
    try:
        return read(io.BytesIO(read_stdin()) if path == "-" else path)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        hint = "name a file, or - for standard input"
        raise UsageError(f"{path}: cannot be read: {why}", hint) from None


def read_file(path: str) -> str:
    """A file that was named on the command line, or standard input for `-`."""
    if path == "-":
        return read_words(["-"])
    return opened_file(path, lambda name: files.read_file(name).data).decode(
        "utf-8", "replace"
    )
