"""The sources of the word vectors: each pinned, read and named in the notices."""

import re
from pathlib import Path

import pytest

from tests.bench.vectors.mine import READERS
from tests.bench.vectors.sources import SOURCES, TRAIN, TRIED, USES, use_of

NOTICES = Path(__file__).parents[2] / "docs" / "notices.md"
PINNED = {"debian": r"[\w.+-]+=\S+", "pypi": r"[\w.-]+==\S+", "npm": r"@?[\w./-]+@\S+"}


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_is_pinned_and_has_readers_and_one_use(name: str) -> None:
    source = SOURCES[name]
    packages = [
        (kind, package) for kind in PINNED for package in source.get(kind, "").split()
    ]
    assert packages
    for kind, package in packages:
        assert re.fullmatch(PINNED[kind], package)
    assert set(source["reader"].split()) <= READERS.keys()
    assert use_of(name) in USES


@pytest.mark.parametrize("name", [n for n in SOURCES if use_of(n) != TRIED])
def test_the_notices_name_a_source_with_its_packages_and_licence(name: str) -> None:
    source = SOURCES[name]
    lines = NOTICES.read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith(f"| {name} |")]
    packages = " ".join(source.get(kind, "") for kind in PINNED).strip()
    assert packages in row or f": {len(packages.split())} packages, see " in row
    assert f"| {source['licence']} |" in row
    is_counted = re.search(r"\| [\d,]+ \|$", row) is not None
    assert is_counted == (use_of(name) == TRAIN)
