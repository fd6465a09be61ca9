"""The packages of sources.toml, and what each is for."""

import hashlib
import tomllib
from pathlib import Path

SOURCES = tomllib.loads(Path(__file__).with_name("sources.toml").read_text())
TRAIN = "train"
ACROSS = "across"
CHOOSE = "choose"
SCORE = "score"
USES = (TRAIN, ACROSS, CHOOSE, SCORE)
"""What a package is for: English and all other languages are trained on some, the other
languages alone on more; variants are chosen by the third, and what was chosen is scored
once on the last. No package is for two."""


def use_of(source):
    return SOURCES[source].get("use", TRAIN)


def is_trained(record, uses):
    """Whether the record is of a package for one of these uses, and not of the one
    document in so many that the table has never seen."""
    source = record["source"]
    every = int(SOURCES[source].get("left_out", "0"))
    return use_of(source) in uses and not one_in(every, record["document"])


def one_in(every, name):
    """Whether a name is among the one in so many that its digest chooses; 0: none."""
    number = int(hashlib.sha256(name.encode()).hexdigest(), 16)
    return every > 0 and number % every == 0
