"""Arithmetic on vectors as signed bytes of a unit vector times 127."""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from operator import mul
from struct import unpack
from typing import TypeVar

K = TypeVar("K")

SCALE = 127
DIM = 256  # the dimension of static word vectors, and of the sums of them
LANE = 4  # bytes of a value in a sum
MOST_SUMMED = 16_000  # words of the greatest weight whose sum a lane holds
ABOVE = LANE * DIM  # the byte above the last value
WIDE = 8  # bytes of a value while it is scaled
BITS = 40  # of a fraction; the byte above them is a value
_ONES = int.from_bytes((b"\1" + bytes(WIDE - 1)) * DIM, "little")
SPREADS = 4
"""Standard deviations by which sign bits may mislead: of 150,000 pairs with a cosine of
0.8 none differed by more than 2.5."""
TOGETHER = 512  # rows in a block
CROWDED = 8  # the whole block is computed if one row in so many is near
FULL = float(SCALE * SCALE)  # the product of a vector with itself
HALF = 1 << 15  # how many of the numbers that 16 bits hold are below 0
_POSITIVE = bytes(ord("1") if 0 < value < 128 else ord("0") for value in range(256))
"""A signed byte as the digit of its sign bit."""
_RAISED = bytes(value ^ 128 for value in range(256))  # a signed byte plus 128


def quantise(values: Sequence[float]) -> bytes:
    """Scale numbers, of any length, to a unit vector in signed bytes; zeros stay
    zeros."""
    length = math.sqrt(sum(map(mul, values, values)))
    if not length:
        return bytes(len(values))
    return array("b", [round(value * SCALE / length) for value in values]).tobytes()


def signs(vector: bytes) -> bytes:
    """One bit a dimension, set where the value is above 0, the first in the lowest
    bit."""
    bits = int(vector[::-1].translate(_POSITIVE), 2) if vector else 0
    return bits.to_bytes((len(vector) + 7) // 8, "little")


def cosines(query: bytes, vectors: Mapping[K, bytes]) -> dict[K, float]:
    """The cosine of `query` with each vector of `quantise`, to about a hundredth.

    All at once: a dimension of them is one number, 16 bits for each, times that of the
    query."""
    return cosines_of_each([query], vectors)[0]


def cosines_of_each(
    queries: Iterable[bytes], vectors: Mapping[K, bytes]
) -> list[dict[K, float]]:
    """The same of each query with each vector."""
    columns = _columns(list(vectors.values()))
    rows = (_cosines(query, columns, len(vectors)) for query in queries)
    return [dict(zip(vectors, row, strict=True)) for row in rows]


def _columns(rows: Sequence[bytes]) -> list[int]:
    """Each dimension as one number: the sum of its values, each row's 16 bits above that
    of the row before it."""
    data = b"".join(rows).translate(_RAISED)
    width = len(rows[0]) if rows else 0
    raised = 128 * _ones(len(rows))
    spread = bytearray(2 * len(rows))
    columns = []
    for dimension in range(width):
        spread[::2] = data[dimension::width]
        columns.append(int.from_bytes(spread, "little") - raised)
    return columns


def _ones(count: int) -> int:
    """1 for each of so many rows."""
    return int.from_bytes(b"\1\0" * count, "little")


def _cosines(query: bytes, columns: Sequence[int], count: int) -> list[float]:
    """The cosine of `query` with each of `count` vectors."""
    products = _products(query, columns, count)
    return [(product - HALF) / FULL for product in products]


def _products(query: bytes, columns: Sequence[int], count: int) -> Sequence[int]:
    """The product of `query` with each of `count` vectors, and HALF."""
    total = sum(map(mul, unpack(f"{len(query)}b", query), columns))
    # A product of unit vectors fits into 16 bits; other vectors have no cosine.
    above_zero = (total + _ones(count) * HALF) & ((1 << 16 * count) - 1)
    return unpack(f"<{count}H", above_zero.to_bytes(2 * count, "little"))


def distances(query: int, bits: bytes, width: int) -> list[int]:
    """The Hamming distance of `query` to each of the bit strings of `width` bytes in
    `bits`."""
    rows = unpack(f"{width}s" * (len(bits) // width), bits)
    return list(map(int.bit_count, map(query.__xor__, map(int.from_bytes, rows))))


def nearest(distance: Mapping[K, float], limit: int) -> list[K]:
    """The `limit` keys with the smallest distance, and all that tie with the last of
    them."""
    if len(distance) <= limit:
        return list(distance)
    last = nsmallest(limit, distance.values())[-1]
    return [key for key, distance_of_key in distance.items() if distance_of_key <= last]


def lanes(weight: int, vector: bytes) -> int:
    """A weighted vector as one number, 32 bits for each value raised by 128 and, above
    them, the weight: the sum of up to MOST_SUMMED such numbers is that of vectors and
    weights."""
    spread = bytearray(ABOVE + 1)
    spread[:ABOVE:LANE] = vector.translate(_RAISED)
    spread[ABOVE] = 1
    return int.from_bytes(spread, "little") * weight


def unlaned(total: int) -> tuple[float, bytes]:
    """(length, unit vector in signed bytes) of a sum of `lanes`. All values are scaled
    at once: the value, rounded, is one byte in each wide lane of a product."""
    data = total.to_bytes(ABOVE + WIDE, "little")
    *sums, weight = unpack(f"<{DIM}IQ", data)
    raised = 128 * weight
    length = math.dist(sums, (raised,) * DIM)
    if not length:
        return 0.0, bytes(DIM)
    wide = bytearray(WIDE * DIM)
    for place in range(LANE):
        wide[place::WIDE] = data[place:ABOVE:LANE]
    factor = round(SCALE * (1 << BITS) / length)
    half = 1 << (BITS - 1)
    positive = 1 << (BITS + 8)  # beyond the byte that is read, so that no lane borrows
    offset = half + positive - raised * factor
    scaled = int.from_bytes(wide, "little") * factor + _ONES * offset
    return length, scaled.to_bytes(WIDE * DIM, "little")[BITS // 8 :: WIDE]


def alike(
    rows: Sequence[bytes], least: float
) -> Iterator[tuple[int, dict[int, float]]]:
    """Each row (by its place) with the later rows whose cosine is at least `least`,
    above 0.5: one block of later rows at a time, each pair once. Rows that differ in
    too many sign bits are skipped."""
    bits = [int.from_bytes(signs(row)) for row in rows]
    most_bits = _most_bits(rows, least)
    enough = HALF + least * FULL
    for start in range(0, len(rows), TOGETHER):
        block = rows[start : start + TOGETHER]
        columns = _columns(block)
        end = start + len(block)
        for place in range(end):
            nearby = _near_in_bits(
                bits, place, range(max(start, place + 1), end), most_bits
            )
            if not nearby:
                continue
            if len(nearby) * CROWDED < len(block):
                few = [rows[other] for other in nearby]
                products = _products(rows[place], _columns(few), len(few))
            else:
                of_block = _products(rows[place], columns, len(block))
                products = [of_block[other - start] for other in nearby]
            pairs = zip(nearby, products, strict=True)
            close = {
                other: (product - HALF) / FULL
                for other, product in pairs
                if product >= enough
            }
            if close:
                yield place, close


def _near_in_bits(
    bits: Sequence[int], place: int, others: range, most_bits: float
) -> list[int]:
    """The others that differ from the row at a place in at most so many sign bits."""
    differing = map(bits[place].__xor__, bits[others.start : others.stop])
    apart = zip(others, map(int.bit_count, differing), strict=True)
    return [other for other, distance in apart if distance <= most_bits]


def has_alike(rows: Sequence[bytes], places: Iterable[int], least: float) -> set[int]:
    """The places whose row is alike to another row (see `alike`)."""
    bits = [int.from_bytes(signs(row)) for row in rows]
    most_bits = _most_bits(rows, least)

    def reaches(place: int, others: Iterable[int]) -> bool:
        near = cosines(rows[place], {other: rows[other] for other in others})
        return max(near.values(), default=0.0) >= least

    def is_alike(place: int) -> bool:
        """Whether one is alike: the nearest by its bits is looked at first."""
        apart = list(map(int.bit_count, map(bits[place].__xor__, bits)))
        apart[place] = len(rows[place]) + 1  # farther than any other
        shortest = min(apart)
        if shortest > most_bits:
            return False
        close = (other for other, distance in enumerate(apart) if distance <= most_bits)
        return reaches(place, [apart.index(shortest)]) or reaches(place, close)

    return set(filter(is_alike, places))


def _most_bits(rows: Sequence[bytes], least: float) -> float:
    """The most sign bits in which two vectors with a cosine of `least` differ."""
    width = len(rows[0]) if rows else 0
    share = math.acos(least) / math.pi  # of the bits, where directions are random
    return width * share + SPREADS * math.sqrt(width * share * (1 - share))


def weighted_sum(parts: Iterable[tuple[float, bytes]]) -> list[float]:
    """The sum of (weight, vector) pairs, at least one; exact when the weights are whole
    numbers."""
    total: list[float] = []
    for weight, vector in parts:
        values = memoryview(vector).cast("b")
        if total:
            total = [
                have + weight * more for have, more in zip(total, values, strict=True)
            ]
        else:
            total = [weight * value for value in values]
    return total
