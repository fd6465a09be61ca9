"""Quantise a trained table to 4 bits a value:
`python -m tests.bench.vectors.pack TABLE.npz OUT.sqlite [BEFORE.sqlite]`.

A table that was packed already (`.sqlite`) is written anew as it is. Of one that was
trained on a packed table, `BEFORE`, the rows that did not move are those of before.
"""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np

from memcli.memory.arithmetic import SCALE
from memcli.providers.embed.local import (
    DIM,
    LONGEST_PIECE,
    MARK,
    MODEL,
    MOST_WEIGHT,
    ZERO,
    digest_of,
    unpacked,
)

STEPS = (0.25, 0.29, 0.33, 0.37, 0.41)  # of a row's standard deviation
GREATEST = 7  # a value is -7 to 7 steps
HEAVIEST = 99.9  # the percentile of a piece's length that has the greatest weight

LIGHT = 10  # the percentile of a piece's length that training hardly moved


def quantised(table):
    """(whole steps of each value, length of a step of each row) with the least
    error."""
    deviation = np.maximum(table.std(axis=1, keepdims=True), 1e-9)
    best = np.full(len(table), np.inf)
    steps = np.zeros(len(table), np.float32)
    values = np.zeros(table.shape, np.int8)
    for share in STEPS:
        step = deviation * share
        rounded = np.clip(np.rint(table / step), -GREATEST, GREATEST)
        error = ((rounded * step - table) ** 2).sum(axis=1)
        better = error < best
        best[better] = error[better]
        steps[better] = step[better, 0]
        values[better] = rounded[better]
    return values, steps


def read_table(path):
    """(pieces, vectors) of a table that was packed; a rare piece is about 1 long."""
    rows = rows_of(path)
    table, scale = unscaled(rows)
    return [piece for piece, _, _ in rows], (table / scale).astype(np.float32)


def unscaled(rows):
    """(weighted vectors, length of a rare piece) of packed rows."""
    weights = np.array([weight for _, weight, _ in rows], np.float32)
    data = b"".join(unpacked(vector) for _, _, vector in rows)
    table = np.frombuffer(data, np.int8).reshape(len(rows), DIM) * weights[:, None]
    return table, float(np.percentile(np.linalg.norm(table, axis=1), LIGHT))


def packed(source, before):
    """The pieces that a text of the training has; those that did not move as they were
    before."""
    with np.load(source) as file:
        data = dict(file)
    moved = data.get("moved", data["counts"] > 0)
    used = [
        place
        for place, (piece, is_used) in enumerate(
            zip(data["pieces"], moved & (data["counts"] > 0), strict=True)
        )
        if is_used and piece != MARK and len(piece) <= LONGEST_PIECE
    ]
    table = data["table"][used].astype(np.float32)
    values, steps = quantised(table)
    if before:
        scale = unscaled(before)[1]
    else:
        heaviest = np.percentile(np.linalg.norm(table, axis=1), HEAVIEST)
        scale = MOST_WEIGHT * SCALE / heaviest
    longest = MOST_WEIGHT * SCALE / np.linalg.norm(values, axis=1)
    weights = np.maximum(np.minimum(np.rint(steps * scale), longest), 1).astype(int)
    nibbles = (values + ZERO).astype(np.uint8)
    vectors = (nibbles[:, : DIM // 2] << 4) | nibbles[:, DIM // 2 :]
    rows = {piece: (weight, vector) for piece, weight, vector in before}
    rows |= {
        str(data["pieces"][place]): (int(weight), vector.tobytes())
        for place, weight, vector in zip(used, weights, vectors, strict=True)
    }
    return [(piece, *row) for piece, row in rows.items()]


def rows_of(table):
    """(piece, weight, vector) of a table that was written."""
    with closing(sqlite3.connect(table)) as db:
        return db.execute("SELECT piece, weight, vector FROM pieces").fetchall()


def write(rows, out):
    """The file that ships: the rows, and beside them what they are."""
    rows = sorted(rows)
    out.unlink(missing_ok=True)
    with closing(sqlite3.connect(out)) as db:
        db.execute("PRAGMA page_size = 4096")
        db.execute("PRAGMA journal_mode = OFF")
        columns = "piece TEXT PRIMARY KEY, weight INTEGER, vector BLOB"
        db.execute(f"CREATE TABLE pieces ({columns}) WITHOUT ROWID")
        db.execute("CREATE TABLE about (model TEXT, digest TEXT, pieces TEXT)")
        db.executemany("INSERT INTO pieces VALUES (?, ?, ?)", rows)
        names = "\n".join(piece for piece, _, _ in rows)
        db.execute(
            "INSERT INTO about VALUES (?, ?, ?)", (MODEL, digest_of(rows), names)
        )
        db.commit()
        db.execute("VACUUM")
    print(f"{len(rows)} pieces, {out.stat().st_size / 1e6:.2f} MB")


def main():
    source, out, *before = map(Path, sys.argv[1:])
    if source.suffix == ".sqlite":
        write(rows_of(source), out)
    else:
        write(packed(source, rows_of(before[0]) if before else []), out)


if __name__ == "__main__":
    main()
