"""When the words of a task stand nearly everywhere, not every match is scored."""

import random
from itertools import combinations

import pytest

COMMON = "queue worker cache token ledger".split()
FOURS = [" ".join(words) for words in combinations(COMMON, 4)]


def entry(name, text, kind):
    return f"---\nid: {name}\ntype: {kind}\ncreated_at: 2026-11-01\n---\n## About {name}\n{text}\n\n"


@pytest.fixture
def many(project):
    """1,300 entries with four of five common words, 250 with one: more than are
    scored."""
    dice = random.Random(7)
    filler = ["".join(dice.choices("bcdfghklmnprstvz", k=6)) for _ in range(400)]

    def row(name, words, kind="procedural"):
        return entry(name, f"{words} {' '.join(dice.sample(filler, 8))}", kind)

    rows = [row(f"e{number}", FOURS[number % 5]) for number in range(1300)]
    rows += [row(f"w{number}", COMMON[number % 5]) for number in range(250)]
    rows.insert(700, row("all", " ".join(COMMON)))
    rows.insert(900, row("rare", f"zeppelin {COMMON[0]}"))
    for number, word in enumerate(COMMON[:3]):
        rows.insert(300 * number, row(f"rule{number}", word, "directive"))
    project.memory(*rows)
    return project


def found(project, *words):
    result = project.ok("recall", "--json", "--ranked", "--max-tokens", "0", *words)
    return [hit["id"] for hit in result.hits]


def test_the_best_of_very_many_matches_is_found(many):
    """What covers most of the task; a rare word outweighs the common ones."""
    assert found(many, "--limit", "1", *COMMON) == ["all"]
    assert found(many, "--limit", "1", "zeppelin", *COMMON) == ["rare"]
    rules = found(many, "--type", "directive", *COMMON)
    assert {*rules} == {"rule0", "rule1", "rule2"}
