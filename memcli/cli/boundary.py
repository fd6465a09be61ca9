"""Read the arguments of a command line; report a failure as a line, a hint and an exit
code. Without Typer."""

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from memcli.errors import MemError, RefusedError, UsageError
from memcli.storage import files
from memcli.user_folders import advice
from memcli.views.text import (
    Unprinted,
    Unread,
    flush_answer,
    how_to_begin,
    in_one_line,
    say,
)

if TYPE_CHECKING:
    from memcli.app import App
    from memcli.memory.values import Problem
    from memcli.project.roots import PassedOver

T = TypeVar("T")
# turns an option's text into its value; its UsageError says what is allowed
Parser = Callable[[Any], Any]
NOTHING_THEN = "mem: nothing was remembered at that time"


def guarded(work: Callable[[], Any]) -> int:
    """Run one command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):  # always UTF-8, whatever the locale says
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(encoding="utf-8", errors="replace")
    try:
        result = work()
        flush_answer()
        return result if isinstance(result, int) else 0
    except (Unread, BrokenPipeError, SystemExit):
        silence()  # Typer exits when it cannot print its help
        return 141
    except KeyboardInterrupt:
        silence()
        return 130
    except Exception as error:
        return failed(error)


def failed(error: Exception) -> int:
    """Print an error and return its exit code."""
    if isinstance(error, MemError):
        return fail(error.code, error.what, error.hint)
    if isinstance(error, Unprinted):
        silence()
        what = f"the answer cannot be printed: {error}"
        hint = "print it elsewhere: what was written stands"
        return fail(RefusedError.code, what, hint)
    if isinstance(error, OSError):
        silence()  # do not try to print again what could not be printed
        if error.filename == "git":
            what = f"git cannot be run: {files.why(error)}"
            return fail(RefusedError.code, what, "install git, or put it on PATH")
        place = str(error.filename or "")
        name = f" ({place})" if place else ""
        hint = advice(place) if isinstance(error, PermissionError) else ""
        what = f"{files.why(error)}{name}"
        return fail(RefusedError.code, what, hint or "mem doctor")
    if isinstance(error, UnicodeEncodeError) and any(map(_is_bytes, sys.argv)):
        what = "an argument is not UTF-8, so no entry can match it"
        return fail(UsageError.code, what, "mem list shows ids")
    if os.environ.get("MEM_DEBUG"):
        sys.excepthook(type(error), error, error.__traceback__)
    what = f"internal error: {type(error).__name__}: {error}"
    hint = "please report it; MEM_DEBUG=1 shows where it happened"
    return fail(MemError.code, what, hint)


def _is_bytes(argument: str) -> bool:
    """Whether an argument holds bytes that are not UTF-8."""
    return any("\udc80" <= char <= "\udcff" for char in argument)


def fail(code: int, what: str, hint: str) -> int:
    """Print an error and the command to try next; return the exit code."""
    say(f"mem: {in_one_line(what)}")
    say(f"hint: {hint}" if hint else "")
    return code


def beginning(mem: "App", problems: "Iterable[Problem]") -> str:
    """How to begin, where there is no memory yet."""
    from memcli.project.record import record_of

    if _passed_over(mem):
        return ""  # `say_passed_over` says why
    has_history = record_of(mem.project) is not None
    rooted = mem.project.root is not None
    return how_to_begin(problems, rooted=rooted, history=has_history)


def name_unmatched(mem: "App", patterns: Iterable[str]) -> None:
    """Report files and globs that match nothing in the project."""
    from memcli.project.globs import unmatched

    root = str(mem.project.root or mem.project.cwd)
    below = (pattern.removeprefix(f"{root}/") for pattern in patterns)
    for pattern in unmatched(root, below):
        say(f"mem: path {pattern}: no such file", quiet=mem.options.quiet)


def say_notes(mem: "App") -> None:
    """Print what was noted during the run, each note once whichever tier it comes
    from."""
    for note in dict.fromkeys(mem.notes):
        say(f"mem: {note}", quiet=mem.options.quiet)


def say_passed_over(mem: "App") -> None:
    """Name the repository around the working directory that is not read, and what
    mends that."""
    if repository := _passed_over(mem):
        what = f"mem: {repository.reason}: no memory of it is read"
        say(f"{what}\nhint: {repository.advice}", quiet=mem.options.quiet)


def _passed_over(mem: "App") -> "PassedOver | None":
    if mem.project.root is not None:
        return None
    from memcli.project.roots import passed_over

    return passed_over(mem.project.cwd)


def silence() -> None:
    """Keep the interpreter quiet about a closed stdout while it exits."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        return
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def key(option: str) -> Parser:
    """The parser of an option that sets the configuration key of the same name."""
    from memcli.project.keys import KEYS

    name = option.removeprefix("--").replace("-", "_")
    return checked(option, KEYS[name].check)


def checked(option: str, check: Parser) -> Parser:
    """The parser of an option whose value `check` converts; its error says what is
    allowed."""

    def parse(value: Any) -> Any:
        try:
            return check(value)
        except ValueError as error:
            raise UsageError(
                f"{option} {value}: not a valid value", str(error)
            ) from None

    return parse


def read_words(words: Sequence[str]) -> str:
    """The words of a command line, or standard input for a lone `-`; invalid UTF-8 is
    replaced."""
    if list(words) == ["-"]:
        return read_stdin().decode("utf-8", "replace")
    text = " ".join(words)
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)


def read_entry(words: Sequence[str]) -> str:
    """The text of an entry: words, or standard input for a lone `-`, which must be
    valid text."""
    piped = list(words) == ["-"]
    return _decoded(read_stdin()) if piped else read_words(words)


def _decoded(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        what = f"standard input is not UTF-8 text (byte {error.start})"
        raise UsageError(what, "give UTF-8 text") from None
    if "\0" in text:
        what = f"standard input is not text: it has a NUL byte (byte {data.find(0)})"
        raise UsageError(what, "give UTF-8 text")
    return text


def read_stdin() -> bytes:
    """All of standard input."""
    if sys.stdin is None:
        raise UsageError(
            "- reads standard input, but it is closed",
            "name a file, or give the text as an argument",
        )
    stream = sys.stdin.buffer
    read = getattr(stream, "read1", stream.read)
    return b"".join(iter(lambda: read(1 << 16), b""))  # lets Ctrl-C interrupt


def opened_file(path: str, read: Callable[[Any], T]) -> T:
    """What `read` returns for a named file, or for standard input with `-`."""
    try:
        return read(io.BytesIO(read_stdin()) if path == "-" else path)
    except OSError as error:
        what = f"{path}: cannot be read: {files.why(error)}"
        raise UsageError(what, "name a file, or - for standard input") from None


def read_file(path: str) -> str:
    """The contents of a file named on the command line, or of standard input for
    `-`."""
    if path == "-":
        return read_words(["-"])
    data = opened_file(path, lambda name: files.read_file(name).data)
    return data.decode("utf-8", "replace")
