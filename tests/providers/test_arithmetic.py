"""Arithmetic on vectors of signed bytes."""

import math
from array import array

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memcli.providers import embed as arithmetic
from memcli.providers.embed.local import quantised

whole = st.lists(st.integers(-(10**6), 10**6), min_size=8, max_size=64)
floats = st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=8, max_size=64)


def values(data: bytes) -> list[int]:
    return list(array("b", data))


@given(floats)
def test_a_quantised_vector_has_the_same_direction(numbers: list[float]) -> None:
    """Its bytes are within a half of the unit vector times 127; a vector of zeros stays
    one."""
    length = math.sqrt(sum(value * value for value in numbers))
    got = values(arithmetic.quantise(numbers))
    wanted = [value / length * 127 if length else 0.0 for value in numbers]
    assert all(abs(a - b) <= 0.5 + 1e-6 for a, b in zip(got, wanted, strict=True))


@given(st.lists(whole.map(lambda row: row[:8]), min_size=1, max_size=5))
def test_numpy_quantises_to_the_same_bytes(rows: list[list[int]]) -> None:
    """What is computed for many at once and for one alone is the same to the bit."""
    matrix, lengths = quantised(np.array(rows, np.int64))
    assert [row.tobytes() for row in matrix] == [
        arithmetic.quantise(row) for row in rows
    ]
    assert lengths.tolist() == [
        math.sqrt(sum(value * value for value in row)) for row in rows
    ]


@given(st.dictionaries(st.integers(), st.integers(0, 9)), st.integers(1, 5))
def test_the_nearest_are_the_same_however_things_are_numbered(
    distance: dict[int, int], most: int
) -> None:
    """As many as asked for and all that tie with the last of them, so that no number
    decides."""
    got = set(arithmetic.nearest(distance, most))
    assert len(got) >= min(most, len(distance))
    rest = distance.keys() - got
    if got and rest:
        last = max(distance[key] for key in got)
        assert last < min(distance[key] for key in rest)
        assert sum(distance[key] < last for key in got) < most
