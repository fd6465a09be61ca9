"""The sources of the word vectors: each pinned, read and named in the notices."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.bench.vectors.mine import READERS
from tests.bench.vectors.pack import MARK, packed, read_table, write
from tests.bench.vectors.sources import ACROSS, SOURCES, TRAIN, USES, use_of

NOTICES = Path(__file__).parents[2] / "docs" / "notices.md"
PINNED = {
    "debian": r"[\w.+-]+=\S+",
    "source": r"[\w.+-]+=\S+",
    "pypi": r"[\w.-]+==\S+",
    "npm": r"@?[\w./-]+@\S+",
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_is_pinned_and_has_readers_and_one_use(name):
    source = SOURCES[name]
    packages = [
        (kind, package) for kind in PINNED for package in source.get(kind, "").split()
    ]
    assert packages
    for kind, package in packages:
        assert re.fullmatch(PINNED[kind], package)
    assert set(source["reader"].split()) <= READERS.keys()
    assert use_of(name) in USES


@pytest.mark.parametrize("name", SOURCES)
def test_the_notices_name_a_source_with_its_packages_and_licence(name):
    source = SOURCES[name]
    lines = NOTICES.read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith(f"| {name} |")]
    packages = " ".join(source.get(kind, "") for kind in PINNED).strip()
    assert packages in row or f": {len(packages.split())} packages, see " in row
    assert f"| {source['licence']} |" in row
    is_counted = re.search(r"\| [\d,]+ \|$", row) is not None
    assert is_counted == (use_of(name) in (TRAIN, ACROSS))


def test_rows_that_did_not_move_are_packed_as_they_were(tmp_path):
    rng = np.random.default_rng(1)
    pieces = [f"{MARK}{letter}" for letter in "abcdefgh"]
    before = [
        (piece, 40, bytes(rng.integers(1, 256, 128).tolist())) for piece in pieces
    ]
    write(before, tmp_path / "before.sqlite")
    names, table = read_table(tmp_path / "before.sqlite")
    assert names == pieces
    moved = np.zeros(len(pieces) + 1, bool)
    moved[[2, -1]] = True
    table = np.vstack([table, table[:1] + table[1:2]])
    table[2] *= -1
    trained = tmp_path / "trained.npz"
    counts = np.ones(len(table))
    np.savez(trained, table=table, pieces=[*pieces, "z"], counts=counts, moved=moved)

    rows = packed(trained, before)

    stayed = [row for row in before if row[0] != pieces[2]]
    assert [row for row in rows if row in before] == stayed
    write(rows, tmp_path / "after.sqlite")
    again = dict(zip(*read_table(tmp_path / "after.sqlite"), strict=True))
    same = np.array([again["z"] @ (table[0] + table[1]), again[pieces[2]] @ table[2]])
    assert (same > 0).all()
