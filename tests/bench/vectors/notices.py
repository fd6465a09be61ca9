"""Print the table of docs/notices.md:
`python -m tests.bench.vectors.notices COUNTED.json LEARNED.json TABLE`.

`COUNTED.json` has the pairs that English and all other languages were trained on,
`LEARNED.json` those that the other languages learned from alone."""

import hashlib
import json
import sys
from pathlib import Path

from tests.bench.vectors.sources import (
    ACROSS,
    CHOOSE,
    SCORE,
    SOURCES,
    TRAIN,
    use_of,
)

SAID = {CHOOSE: "for choosing alone", SCORE: "for scoring alone"}
MANY = 12  # packages that are not named in a row


def main():
    """A row for each source, and the checksum of the table that ships."""
    counted, learned, table = map(Path, sys.argv[1:])
    pairs = {TRAIN: json.loads(counted.read_text())}
    pairs[ACROSS] = json.loads(learned.read_text())
    print("| source | packages with their versions | licence | pairs |")
    print("| --- | --- | --- | --: |")
    for name, source in SOURCES.items():
        use = use_of(name)
        where = next(
            kind for kind in ("debian", "source", "pypi", "npm") if kind in source
        )
        packages = source[where]
        if (count := len(packages.split())) > MANY:
            packages = f"{count} packages, see `tests/bench/vectors/sources.toml`"
        said = SAID[use] if use in SAID else f"{pairs[use][name]:,}"
        row = (name, f"{where}: {packages}", source["licence"], said)
        print(f"| {' | '.join(row)} |")
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    print(f"\nSHA-256 of `{table.name}`: `{digest}`.")


if __name__ == "__main__":
    main()
