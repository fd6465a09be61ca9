"""Embedders, one method wide; arithmetic on vectors as signed bytes of a unit vector
times 127."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from operator import mul
from pathlib import Path
from struct import unpack
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]


LOCAL_TABLE = "l2_supercat_256.safetensors"
"""The table of word vectors in the package of the extra `local`."""


def local_package() -> Path | None:
    """The folder of that package on the import path; it is not imported: that would
    load numpy."""
    paths = (Path(folder, "wordllama") for folder in sys.path)
    return next(
        (path for path in paths if (path / "weights" / LOCAL_TABLE).is_file()), None
    )


class Embedder(Protocol):
    """What turns texts into vectors; `provider` and `model` tell apart what cannot be
    compared."""

    provider: str
    model: str

    def embed(
        self,
        texts: Sequence[str],
        *,
        query: bool = False,
        deadline: float | None = None,
    ) -> Matrix:
        """One row for each text: float32 (n, dim), finite, none all zero, NOT
        normalised. `query`: what is looked for; `deadline`: seconds for the whole call.
        Raises ProviderError."""
        ...


K = TypeVar("K")

SCALE = 127
DIM = 256  # the dimension of static word vectors, and of the sums of them
FULL = float(SCALE * SCALE)  # the product of a vector with itself
_POSITIVE = bytes(ord("1") if 0 < value < 128 else ord("0") for value in range(256))
"""A signed byte as the digit of its sign bit."""
_RAISED = bytes(value ^ 128 for value in range(256))  # a signed byte plus 128


def quantise(values: Sequence[float]) -> bytes:
    """`values` (numbers, of any length) as a unit vector in signed bytes; zeros stay
    so."""
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

    All at once: a dimension of them is one number, 32 bits for each, times that of the
    query."""
    width = len(query)
    data = b"".join(vectors.values()).translate(_RAISED)
    lanes = bytearray(4 * len(vectors))
    more = less = 0  # what the values above 0 of the query give, and those below
    own = unpack(f"{width}b", query)
    for at, value in enumerate(own):
        lanes[::4] = data[at::width]
        column = int.from_bytes(lanes, "little")
        more, less = (
            (more + value * column, less)
            if value > 0
            else (more, less - value * column)
        )
    sums = (
        unpack(f"<{len(vectors)}I", n.to_bytes(len(lanes), "little"))
        for n in (more, less)
    )
    raised = 128 * sum(own)
    return {
        key: (a - b - raised) / FULL for key, a, b in zip(vectors, *sums, strict=True)
    }


def distances(query: int, bits: bytes, width: int) -> list[int]:
    """The Hamming distance of `query` to each of the bit strings of `width` bytes in
    `bits`."""
    rows = unpack(f"{width}s" * (len(bits) // width), bits)
    return list(map(int.bit_count, map(query.__xor__, map(int.from_bytes, rows))))


def nearest(distance: Mapping[K, float], most: int) -> list[K]:
    """The `most` keys with the smallest distance, and all that tie with the last of
    them."""
    if len(distance) <= most:
        return list(distance)
    last = nsmallest(most, distance.values())[-1]
    return [key for key, own in distance.items() if own <= last]


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
