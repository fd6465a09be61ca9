"""Patterns that stand beside the code that uses them."""

import re

import pytest

from memcli.text import matching
from memcli.text.matching import Literals, verbose

pytestmark = pytest.mark.unit


def test_a_pattern_is_compiled_when_it_is_first_called_and_once():
    calls = []

    @verbose
    def broken():
        """Not a pattern."""
        calls.append(1)
        return r"( a" if len(calls) == 1 else r"a b  # and a comment"

    assert calls == []
    with pytest.raises(re.error):
        broken()
    assert broken().fullmatch("ab")
    assert broken() is broken()
    assert len(calls) == 2
    assert broken.__doc__ == "Not a pattern."


def test_what_is_known_is_found_when_memory_is_emptied(monkeypatch):
    """Words are remembered up to a bound; it is reached within any text."""
    monkeypatch.setattr(matching, "MOST_WORDS", 2)
    sought = Literals(["token"], ["pass"])
    assert sought.within("my token") == {"token"}
    for number in range(9):
        text = f"my token a{number} b{number} c{number} Password"
        assert sought.within(text) == {"token", "pass"}


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ({"ignore_case": True}, "ONE"),
        ({"lines": True}, "zero\none\nthree"),
        ({"lines": True, "ignore_case": True}, "zero\nONE\nthree"),
    ],
)
def test_flags_are_named(flags, text):
    @verbose(**flags)
    def word():
        return r"^ one $"

    @verbose
    def bare():
        return r"^ one $"

    assert word().search(text)
    assert not bare().search(text)


def test_a_dot_may_be_a_line_end():
    @verbose(dot_all=True)
    def any_three():
        return r"a . b"

    assert any_three().search("a\nb")
