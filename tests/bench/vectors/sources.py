"""The packages of sources.toml, and what each is for."""

import hashlib
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

SOURCES: Final[dict[str, dict[str, str]]] = tomllib.loads(
    Path(__file__).with_name("sources.toml").read_text()
)
TRAIN: Final = "train"
ACROSS: Final = "across"
CHOOSE: Final = "choose"
SCORE: Final = "score"
USES: Final = (TRAIN, ACROSS, CHOOSE, SCORE)
"""What a package is for: English and all other languages are trained on some, the other
languages alone on more; variants are chosen by the third, and what was chosen is scored
once on the last. No package is for two."""


def use_of(source: str) -> str:
    return SOURCES[source].get("use", TRAIN)


def is_trained(record: dict[str, Any], uses: Collection[str]) -> bool:
    """Whether the record is of a package for one of these uses, and not of the one
    document in so many that the table has never seen."""
    source = record["source"]
    every = int(SOURCES[source].get("left_out", "0"))
    return use_of(source) in uses and not one_in(every, record["document"])


def one_in(every: int, name: str) -> bool:
    """Whether a name is among the one in so many that its digest chooses; 0: none."""
    number = int(hashlib.sha256(name.encode()).hexdigest(), 16)
    return every > 0 and number % every == 0
