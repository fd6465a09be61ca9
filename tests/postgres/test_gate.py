"""Which words of a task bring candidates from the server."""

import pytest

from memcli.postgres.tokens import GATE, Term, gate

MILLION = 1_000_000


def term(text: str) -> Term:
    return Term(text, tuple(text.removesuffix("*").split()), text.endswith("*"))


def made(bound: dict[str, int], total: int = MILLION) -> list[str]:
    """The alternatives of the gate of a task with these words, in how many chunks each
    stands."""
    return gate([term(text) for text in bound], bound, total).split(" | ")


@pytest.mark.parametrize(
    ("bound", "total", "expected"),
    [
        ({"a": 3, "b": 4000}, GATE, ["('a')", "('b')"]),
        ({"a": 3, "b": 40, "c": 900_000}, MILLION, ["('a')", "('b')"]),
        ({"a": 2000, "b": 600, "c": 90_000}, MILLION, ["('b')", "('a')"]),
        ({"a": 4000, "b": 2400, "c": 90_000}, MILLION, ["('b')"]),
        ({"a": 20_000, "b": 30_000}, MILLION, ["('a') & ('b')"]),
        ({"a": 400_000}, MILLION, ["('a')"]),
        ({"a": 400_000, "b": 500_000}, MILLION, ["('a') & ('b')"]),
        ({"a b": 7}, MILLION, ["('a' <-> 'b')"]),
        ({"a*": 7, "c": 9}, MILLION, ["('a':*)", "('c')"]),
    ],
    ids=str,
)
def test_what_brings_candidates(
    bound: dict[str, int], total: int, expected: list[str]
) -> None:
    """All words of a small index."""
    assert made(bound, total) == expected
