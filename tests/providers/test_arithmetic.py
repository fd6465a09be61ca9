"""Arithmetic on vectors of signed bytes."""

import math
import random
from array import array
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.memory import arithmetic
from memcli.memory.arithmetic import DIM
from memcli.providers.embed import local

floats = st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=8, max_size=64)


def values(data):
    return list(array("b", data))


@given(floats)
def test_a_quantised_vector_has_the_same_direction(numbers):
    """Its bytes are within a half of the unit vector times 127; a vector of zeros stays
    one."""
    length = math.sqrt(sum(value * value for value in numbers))
    actual = values(arithmetic.quantise(numbers))
    wanted = [value / length * 127 if length else 0.0 for value in numbers]
    assert all(abs(a - b) <= 0.5 + 1e-6 for a, b in zip(actual, wanted, strict=True))


signed = st.binary(min_size=arithmetic.DIM, max_size=arithmetic.DIM)


@given(st.lists(st.tuples(st.integers(0, 1023), signed), min_size=1, max_size=9))
def test_a_sum_in_lanes_is_the_weighted_sum(parts):
    """However negative the values are: the same length, the same bytes but for a half
    that is rounded."""
    length, vector = arithmetic.unlaned(sum(arithmetic.lanes(*part) for part in parts))
    wanted = arithmetic.weighted_sum(parts)
    assert length == pytest.approx(math.hypot(*wanted))
    for got, value in zip(values(vector), wanted, strict=True):
        exact = value / length * 127 if length else 0.0
        assert abs(got - exact) <= 0.5 + 1e-6


@pytest.mark.parametrize("value", [-128, -127, 127])
def test_a_lane_holds_the_longest_text_of_the_heaviest_words(value):
    """MOST_SUMMED words of the greatest weight, all values as far from 0 as can be."""
    heaviest = arithmetic.lanes(local.MOST_WEIGHT, bytes([value & 255]) * DIM)
    length, vector = arithmetic.unlaned(heaviest * arithmetic.MOST_SUMMED)
    whole = arithmetic.MOST_SUMMED * local.MOST_WEIGHT
    assert length == pytest.approx(whole * abs(value) * math.sqrt(DIM))
    assert values(vector) == [round(math.copysign(127 / math.sqrt(DIM), value))] * DIM


@given(floats, st.binary(min_size=64, max_size=64))
def test_what_is_no_unit_vector_hardly_moves_the_cosines_of_its_neighbours(
    numbers, stray
):
    """Its own cosine may be anything, by a damaged index; that of the row beside it is
    off by what one lane carries into the next."""
    query = arithmetic.quantise([*numbers, *[0.0] * (64 - len(numbers))])
    alone = arithmetic.cosines(query, {"after": query})["after"]
    rows = {"before": query, "stray": stray, "after": query}
    found = arithmetic.cosines(query, rows)
    assert found["before"] == alone
    assert found["after"] == pytest.approx(alone, abs=0.01)


@pytest.mark.parametrize("least", [0.8, 0.95])
@pytest.mark.parametrize(("together", "crowded"), [(1024, 8), (7, 8), (7, 1000)])
def test_what_is_alike_is_found_as_by_looking_at_all(
    monkeypatch, together, crowded, least
):
    """Sign bits leave out nothing that is near, among rows near and far, in one block
    or in many, whether blocks are computed whole or not."""
    monkeypatch.setattr(arithmetic, "TOGETHER", together)
    monkeypatch.setattr(arithmetic, "CROWDED", crowded)
    dice = random.Random(1)
    centres = [[dice.gauss(0, 1) for _ in range(256)] for _ in range(20)]
    rows = [
        arithmetic.quantise([value + dice.gauss(0, spread) for value in centre])
        for centre in centres
        for spread in (0.0, 0.2, 0.4, 0.6, 0.8)
    ]
    later_of = defaultdict(dict)
    for place, later in arithmetic.alike(rows, least):
        later_of[place] |= later
    for place in range(len(rows)):
        close = close_to(rows, place, least)
        later = {other: near for other, near in close.items() if other > place}
        assert later_of[place] == later
        wanted = {place} if close else set()
        assert arithmetic.has_alike(rows, [place], least) == wanted
    assert sum(map(len, later_of.values())) > 10


def close_to(rows, place, least):
    """The other rows whose cosine is at least that, by looking at all."""
    cosines = arithmetic.cosines(rows[place], dict(enumerate(rows)))
    return {
        other: cosine
        for other, cosine in cosines.items()
        if other != place and cosine >= least
    }


@given(st.dictionaries(st.integers(), st.integers(0, 9)), st.integers(1, 5))
def test_the_nearest_are_the_same_however_things_are_numbered(distance, most):
    """As many as asked for and all that tie with the last of them, so that no number
    decides."""
    actual = set(arithmetic.nearest(distance, most))
    assert len(actual) >= min(most, len(distance))
    farther = distance.keys() - actual
    if actual and farther:
        last = max(distance[key] for key in actual)
        assert last < min(distance[key] for key in farther)
        assert sum(distance[key] < last for key in actual) < most
