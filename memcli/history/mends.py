"""How a command that failed came to work, as a session shows it: what was done between
its failure and its next success. Pure."""

from collections.abc import Iterator, Sequence
from itertools import chain

from memcli.named import NamedTuple
from memcli.sessions.model import Turn
from memcli.sessions.tools import changed_by, read_by, shell_line
from memcli.text.shell import Words, commands_of

_ERRORS = "error,exception,failed,failure,fatal,cannot,not found,denied".split(",")
_LOOKED_AT = 4_000  # characters of what a command said
_SHORT = 60  # characters of a command that is named among what was done
_DEEDS = 4
"""So many of the last things that were done are named: what mended is near the end."""
AGAIN = "it was run again"

Key = frozenset[Words]


class Mend(NamedTuple):
    """A command, the line of its error, and what was done until it worked."""

    command: str
    error: str
    done: str


def key_of_line(line: str) -> Key:
    """What a shell line runs: its simple commands, their words in any order."""
    runs = (words for words in commands_of(line) if words[0] != "cd")
    return frozenset(tuple(sorted(words)) for words in runs)


def are_same(one: Key, other: Key) -> bool:
    """Whether two lines run the same, one of them perhaps with something beside it."""
    return bool(one and other) and (one <= other or other <= one)


def error_line(text: str) -> str:
    """The line that says what failed, else the first."""
    lines = list(filter(None, map(str.strip, text[:_LOOKED_AT].splitlines())))
    failed = (
        candidate
        for candidate in lines
        if any(word in candidate.lower() for word in _ERRORS)
    )
    return next(chain(failed, lines), "")


class _Failure(NamedTuple):
    """A command that failed, what it runs, and how much had been done by then."""

    command: str
    key: Key
    before: int


def mends(turns: Sequence[Turn]) -> Iterator[Mend]:
    """The commands that failed in these turns and worked later, in order; of failures
    with one error the last."""
    failures = {}  # the last with each error
    deeds: list[str] = []
    for call, error_text in _calls(turns):
        line = shell_line(call.input).strip()
        key = key_of_line(line)
        if error_text is not None:
            failure = _Failure(command=line, key=key, before=len(deeds))
            failures[error_line(error_text)] = failure
            continue
        met = [error for error in failures if are_same(failures[error].key, key)]
        for error in met:
            failure = failures.pop(error)
            done = list(dict.fromkeys(deeds[failure.before :]))[-_DEEDS:]
            yield Mend(
                command=failure.command, error=error, done=", ".join(done) or AGAIN
            )
        if not met:
            deeds += _deeds(call, line)


def _calls(turns: Sequence[Turn]) -> Iterator[tuple[Turn, str | None]]:
    """Each call of a tool with what it said when it failed, None when it went well: of
    that a brief reading keeps no turn. The last turn of all may be a call that was
    never answered."""
    failed = {turn.call: turn.text for turn in turns if turn.error and turn.call}
    for turn in turns[:-1]:
        if turn.role == "assistant" and turn.tool and turn.call:
            yield turn, failed.get(turn.call)


def _deeds(call: Turn, line: str) -> Iterator[str]:
    """What a call did that may mend something: files that it changed, a command that
    does more than to show a file."""
    changed = changed_by(call)
    yield from (f"{name} was changed" for name in changed)
    does_more = len(read_by(call)) < len(commands_of(line))
    if does_more and not changed:
        short = " ".join(line.split())
        short = short if len(short) <= _SHORT else f"{short[: _SHORT - 1]}…"
        yield f"`{short}` was run"
