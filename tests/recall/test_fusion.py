"""How signals of relevance become one, and what entries that stand together lend each
other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.index import fusion
from memcli.index.fusion import (
    Signals,
    lend,
    linear,
    reciprocal_rank,
    scale,
    titles,
)
from memcli.memory.words import stem

scores = st.dictionaries(st.integers(0, 30), st.floats(1e-6, 1e6), min_size=1)


@given(st.dictionaries(st.text(min_size=1), st.floats(1e-6, 1e6), min_size=1))
def test_relevance_is_scaled_to_the_best_and_is_never_zero(
    found,
):
    """The best has 1.0, every other its share of it (W11: min-max made the last one
    0)."""
    scaled = scale(found)
    assert max(scaled.values()) == 1.0
    assert all(value > 0 for value in scaled.values())
    assert sorted(scaled, key=scaled.__getitem__) == sorted(
        found, key=found.__getitem__
    )


def test_the_golden_numbers_of_linear_fusion():
    """Cosine .6 and BM25 .5, both scaled to their best, make .57."""
    assert linear(Signals({1: 10.0, 2: 5.0}, {1: 0.9, 2: 0.54})) == pytest.approx(
        {1: 1.0, 2: 0.57}
    )


def test_the_golden_numbers_of_reciprocal_rank_fusion():
    """First in one lane, first in both, first and tenth."""
    near = ({}, {1: 0.5}, {number: number / 20 for number in range(1, 11)})
    found = [reciprocal_rank(Signals({1: 3.0}, cosine))[1] for cosine in near]
    assert found == pytest.approx([0.016393, 0.032787, 0.030679], abs=5e-7)


def test_equal_scores_have_equal_ranks():
    """Which of two equals was read first does not matter; what has a negative cosine
    has no rank."""
    actual = reciprocal_rank(Signals({1: 2.0, 2: 2.0, 3: 1.0}, {4: -0.1}))
    assert actual == {1: 1 / 61, 2: 1 / 61, 3: 1 / 63}


@given(scores, scores)
def test_every_fusion_ranks_all_candidates_and_nothing_else(words, near):
    """Both lanes bring candidates, and the best of both lanes at once is never
    beaten."""
    top = 99
    words = {**words, top: 2e6}
    near = {**near, top: 2e6}
    for name in ("linear", "rrf", "blend"):
        actual = fusion.FUSIONS[name](Signals(words, near))
        assert actual.keys() == words.keys() | near.keys()
        assert max(actual, key=actual.__getitem__) == top


@pytest.mark.parametrize(
    ("title", "share"),
    [
        ("Lock timeouts", 1.0),
        ("The locking of carts", 0.5),
        ("Colours", 0.0),
        ("The", 0.0),
    ],
)
def test_a_title_counts_as_far_as_the_task_names_it(title, share):
    """By stems, without stop words; a title without words counts nothing."""
    assert titles("why does the lock timeout fail", [("a", title)]) == {"a": share}


def test_stems_keep_three_letters():
    """Forms of one word meet; short words stay whole."""
    assert stem("Locking") == stem("locks") == stem("locked") == "lock"
    short = ["bed", "sing", "is", "es"]
    assert [*map(stem, short)] == short


def test_neighbours_lend_by_the_square_of_their_relevance():
    """A strong neighbour lends, next to it or one farther away; a weak one next to
    nothing."""
    own = {"a": 1.0, "b": 0.1, "c": 0.1}
    named = {"b": 1.0, "c": 1.0}
    actual = lend(own, {"a": [("b", 1), ("c", 2)]}, named)
    assert actual["a"] == 1.0
    assert actual["b"] - 0.1 == pytest.approx(1.0)
    assert actual["c"] == actual["b"]
    weak = lend({"a": 0.1, "b": 0.1}, {"a": [("b", 1)]}, named)
    assert weak["b"] - 0.1 == pytest.approx((actual["b"] - 0.1) / 100)


def test_only_a_named_title_takes_what_is_lent():
    """As far as the task names it."""
    own = {"a": 1.0, "b": 0.1}
    beside = {"a": [("b", 1)]}
    none, half, named = (lend(own, beside, {"b": share})["b"] for share in (0, 0.5, 1))
    assert named - none == pytest.approx(2 * (half - none)) and none == 0.1


@given(st.dictionaries(st.text(max_size=2), st.floats(0, 1), min_size=1))
def test_nothing_loses_by_context_and_no_order_matters(own):
    """Lending only adds, and without weight it adds nothing, whatever the order of the
    input."""
    keys = list(own)
    beside = {key: [(keys[number - 1], 1)] for number, key in enumerate(keys) if number}
    named = dict.fromkeys(own, 0.5)
    actual = lend(own, beside, named)
    assert all(actual[key] >= own[key] for key in own)
    assert actual == lend(
        dict(reversed(own.items())), dict(reversed(beside.items())), named
    )
    assert lend(own, beside, {}) == own
