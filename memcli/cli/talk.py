"""What every command line shares beside its signature: talk, input, and the one error boundary.

It knows nothing of Typer, so that a plain recall can do without.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from memcli.app import App, Options
from memcli.errors import BugError, MemError, RefusedError, UsageError
from memcli.index.view import Filters
from memcli.memory.values import Problem

HOW_TO_BEGIN = (
    'mem: there is no memory here yet. Begin with: mem add "what you learned"'
    " (outside of a repository: --level global)"
)


def options(
    root: str,
    sets: Sequence[str] | None,
    quiet: bool,
    json: bool,
    tasks: Sequence[str] | None = None,
) -> Options:
    return Options(root, tuple(sets or ()), quiet, json, tuple(tasks or ()))


def filters_of(**given: Any) -> Filters:
    """Filters from options: absent lists become empty."""
    values: dict[str, Any] = {
        key: value if isinstance(value, (str, bool)) else tuple(value or ())
        for key, value in given.items()
    }
    return Filters(**values)


def choice(option: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise UsageError(f"{option} {value}: not known", f"one of {', '.join(allowed)}")


# --- numbers

Parser = Callable[[Any], Any]
"An option's text to its value; a UsageError says what is allowed."


def key(option: str) -> Parser:
    """The parser of an option that sets the configuration key of the same name."""
    from memcli.project.config import KEYS

    return _parser(option, KEYS[option.removeprefix("--").replace("-", "_")].check)


def whole(option: str, low: int, high: int | None = None) -> Parser:
    """The parser of an option that takes a whole number of that range."""
    return _parser(
        option, lambda value: _within(int(value), low, high), _allowed("a whole number", low, high)
    )


def number(option: str, low: float, high: float) -> Parser:
    """The parser of an option that takes a number of that range."""
    return _parser(
        option, lambda value: _within(float(value), low, high), _allowed("a number", low, high)
    )


def _parser(option: str, check: Parser, allowed: str = "") -> Parser:
    def parse(value: Any) -> Any:
        try:
            return check(value)
        except ValueError as error:
            raise UsageError(f"{option} {value}: cannot be used", allowed or str(error)) from None

    return parse


def _within(value: Any, low: float, high: float | None) -> Any:
    if not low <= value or (high is not None and not value <= high):
        raise ValueError
    return value


def _allowed(kind: str, low: float, high: float | None) -> str:
    return f"{kind} from {low}" + (f" to {high}" if high is not None else "")


# --- talk


def say(text: str, *, quiet: bool = False) -> None:
    """Talk, on stderr. Nobody listening is no reason to stop."""
    if text and not quiet and sys.stderr is not None:
        from memcli.text.controls import for_display
        from memcli.views.terminal import columns, fold_text

        with suppress(BrokenPipeError):
            print(
                "\n".join(fold_text(for_display(text), columns(sys.stderr), more=2)),
                file=sys.stderr,
            )


def put(text: str) -> None:
    """The answer, on stdout."""
    if text and sys.stdout is not None:
        try:
            print(text)
        except BrokenPipeError:
            raise Unread from None


def put_bytes(data: bytes) -> None:
    sys.stdout.flush()
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise Unread from None


class Unread(Exception):
    """Whoever reads stdout has gone. (Typer would make an exit code 1 of a BrokenPipeError.)"""


def say_notes(app: App) -> None:
    for note in app.notes:
        say(f"mem: {note}", quiet=app.options.quiet)


def count_problems(problems: Sequence[Problem], *, quiet: bool) -> None:
    if problems:
        what = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        say(f"mem: {what} in the memory files: mem doctor", quiet=quiet)


def progress(app: App) -> Any:
    """A progress line on stderr for long work, on a terminal only."""
    total = len(app.listing.files)
    if app.options.quiet or total < 200 or not sys.stderr.isatty():
        return lambda done: None

    def show(done: int) -> None:
        if done % 50 == 0 or done == total:
            print(
                f"\rindexing {done}/{total} files",
                end="\n" if done == total else "",
                file=sys.stderr,
            )

    return show


def embedding_progress(app: App) -> Any:
    """The same for vectors, which a provider may take minutes for."""
    if app.options.quiet or not sys.stderr.isatty():
        return lambda done, total: None

    def show(done: int, total: int) -> None:
        if total >= 1000 or not app.embeds_here:
            print(
                f"\rembedding {done}/{total} chunks",
                end="\n" if done == total else "",
                file=sys.stderr,
            )

    return show


def read_text(words: Sequence[str]) -> str:
    """The words of a command line, or standard input for a lone `-`; undecodable bytes become
    U+FFFD.
    """
    if list(words) == ["-"]:
        return read_stdin()
    return re.sub("[\ud800-\udfff]", "\ufffd", " ".join(words))


def read_stdin() -> str:
    if sys.stdin is None:
        raise UsageError("- reads standard input, which is closed", "give the text as an argument")
    read = sys.stdin.buffer.read1 if hasattr(sys.stdin.buffer, "read1") else sys.stdin.buffer.read
    return b"".join(iter(lambda: read(1 << 16), b"")).decode(
        "utf-8", "replace"
    )  # Ctrl-C gets in between


# --- the error boundary


def guarded(work: Callable[[], Any]) -> int:
    """Run one command line and return its exit code. Says every failure; never a traceback."""
    prepare_streams()
    try:
        result = work()
        if sys.stdout is not None:
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except (Unread, BrokenPipeError, SystemExit):  # Typer exits when it cannot print its help
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
        return fail(RefusedError.code, _os_error(error), "mem doctor")
    if os.environ.get("MEM_DEBUG"):
        import traceback

        traceback.print_exception(error)
    what = f"internal error: {type(error).__name__}: {error}"
    return fail(BugError.code, what, "please report it; MEM_DEBUG=1 shows where it happened")


def prepare_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


def fail(code: int, what: str, hint: str) -> int:
    say(f"mem: {what}")
    if hint:
        say(f"hint: {hint}")
    return code


def _os_error(error: OSError) -> str:
    name = f" ({error.filename})" if error.filename else ""
    return f"{(error.strerror or str(error)).lower()}{name}"


def silence() -> None:
    """Keep the interpreter from complaining about a stdout it cannot write to while it exits."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        return
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
