"""The error tree: each class owns an exit code, and the command line keeps to it."""

import sqlite3

import pytest

from memcli import errors
from memcli.commands import recall
from memcli.errors import MemError

CODES = {
    "MemError": 70,
    "UsageError": 2,
    "DataError": 3,
    "ProviderError": 4,
    "RefusedError": 5,
}


def tree(cls=MemError):
    yield cls
    for sub in cls.__subclasses__():
        yield from tree(sub)


@pytest.mark.parametrize("cls", [c for c in tree() if c.__module__ == errors.__name__])
def test_every_error_ends_with_its_code_and_two_lines(cls, project, monkeypatch):
    """Each class is printed as `mem: what` and `hint: how`, and exits with its own
    code."""
    assert cls.code == CODES[cls.__name__]
    error = cls("what\x1b[31m it was (a.md:3)", "do this")
    monkeypatch.setattr(recall, "recall", _raising(error))
    result = project.mem("recall", "x")
    assert (result.code, result.out, result.err) == (
        cls.code,
        "",
        "mem: what it was (a.md:3)\nhint: do this\n",
    )


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ValueError("boom"), 70, "internal error: ValueError: boom"),
        (sqlite3.OperationalError("odd"), 70, "internal error: OperationalError: odd"),
        (RecursionError("deep"), 70, "RecursionError"),
        (PermissionError(13, "Permission denied", "a/b"), 5, "permission denied (a/b)"),
        (OSError(28, "No space left on device"), 5, "no space left on device"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_other_failures_have_codes_too(error, code, words, project, monkeypatch):
    """A bug is 70, the system's refusal 5, Ctrl-C 130; none shows a traceback."""
    monkeypatch.setattr(recall, "recall", _raising(error))
    result = project.ends(code, "recall", "x")
    assert words in result.err
    assert "Traceback" not in result.err


def test_a_bug_shows_where_it_happened_when_asked(project, monkeypatch):
    """MEM_DEBUG=1 adds the traceback; the code is 70 all the same."""
    monkeypatch.setattr(recall, "recall", _raising(ValueError("boom")))
    result = project.ends(70, "recall", "x", env={"MEM_DEBUG": "1"})
    assert "Traceback" in result.err and "ValueError: boom" in result.err


def _raising(error):
    def work(*args, **options):
        raise error

    return work


def test_the_table_names_every_class():
    """No class is missing in the table above."""
    defined = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert defined == set(CODES)
