"""Texts and terms as the server's full text takes them."""

import random

import pytest

from memcli.postgres.words import LONGEST, as_query, gate, searched


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("src/utils/dates.py, snake_case", "src utils dates py snake case"),
        ("Überraschung naïve", "uberraschung naive"),
        ("it's 'quoted' & | ! <-> :*", "it s quoted"),
        ("한국어 購物車", "한국어 購物車"),
        ("x" * (LONGEST + 1), ""),
    ],
)
def test_words_have_blanks_between(text, words):
    """Lower-case, without accents; what is no letter or digit parts words."""
    assert searched(text) == words


@pytest.mark.parametrize(
    ("term", "query"),
    [
        ("token", "token"),
        ("utils dates", "utils <-> dates"),
        ("begin*", "begin:*"),
        ("log | protocol* | 日 志", "log | protocol:* | 日 <-> 志"),
        ("'); DROP", "drop"),
        ("&*", ""),
    ],
)
def test_a_term_as_a_query(term, query):
    """Words in a row, beginnings, any of some; nothing of it is syntax."""
    assert as_query(term) == query


@pytest.mark.parametrize(
    ("counts", "most", "expected"),
    [
        ({"a": 3, "b": 4000}, 5000, "(a) | (b)"),
        ({"a": 4000, "b": 40, "c": 900_000}, 5000, "(b) | (a)"),
        ({"a": 4000, "b": 2400, "c": 90_000}, 5000, "(b)"),
        ({"a": 400_000, "b": 500_000}, 5000, "(a)"),
        ({"a <-> b": 7}, 5000, "(a <-> b)"),
    ],
)
def test_what_brings_candidates(counts, most, expected):
    """The rarest words, so many as are not in too many chunks; one at least."""
    assert gate(counts, most) == expected


def test_the_server_sees_the_same_words(shared):
    """Whatever the words are made of, the server finds each in its text, alone and
    behind another."""
    dice = random.Random(1)
    letters = "abcdefexyz0123456789éßщ購のตั한"
    with shared.connect() as connection:
        for _ in range(300):
            text = " ".join(
                "".join(dice.choices(letters, k=dice.randint(1, 9))) for _ in range(5)
            )
            words = searched(text)
            for term in (*words.split(), " ".join(words.split()[1:3])):
                query = as_query(term)
                row = connection.execute(
                    "SELECT to_tsvector('mem.words', %s::text)"
                    " @@ to_tsquery('mem.words', %s::text)",
                    (words, query),
                ).fetchone()
                assert row == (True,), (words, query)
