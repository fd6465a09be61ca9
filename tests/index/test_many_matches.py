"""When the words of a task stand nearly everywhere, not every match is scored."""

import random
from itertools import combinations

import pytest

COMMON = "queue worker cache token ledger".split()
FOURS = [" ".join(words) for words in combinations(COMMON, 4)]


def entry(name, text, kind="procedural"):
    return f"---\nid: {name}\ntype: {kind}\ncreated_at: 2026-11-01\n---\n## About {name}\n{text}\n\n"


@pytest.fixture
def many(project):
    """1,300 entries with four of five common words, 250 with one: more than are
    scored."""
    dice = random.Random(7)
    filler = ["".join(dice.choices("bcdfghklmnprstvz", k=6)) for _ in range(400)]
    rows = [
        entry(f"e{number}", f"{FOURS[number % 5]} {' '.join(dice.sample(filler, 8))}")
        for number in range(1300)
    ]
    rows += [
        entry(f"w{number}", f"{COMMON[number % 5]} {' '.join(dice.sample(filler, 8))}")
        for number in range(250)
    ]
    rows.insert(
        700, entry("all", f"{' '.join(COMMON)} {' '.join(dice.sample(filler, 8))}")
    )
    rows.insert(
        900, entry("rare", f"zeppelin {COMMON[0]} {' '.join(dice.sample(filler, 8))}")
    )
    for number, word in enumerate(COMMON[:3]):
        rows.insert(
            300 * number,
            entry(
                f"rule{number}",
                f"{word} {' '.join(dice.sample(filler, 8))}",
                "directive",
            ),
        )
    project.memory(*rows)
    return project


def found(project, *words):
    result = project.ok("recall", "--json", "--ranked", "--max-tokens", "0", *words)
    return [hit["id"] for hit in result.hits]


def test_the_best_of_very_many_matches_is_found(many):
    """What covers most of the task; a rare word outweighs the common ones."""
    assert found(many, "--limit", "1", *COMMON) == ["all"]
    assert found(many, "--limit", "1", "zeppelin", *COMMON) == ["rare"]
    assert sorted(found(many, "--type", "directive", *COMMON)) == [
        "rule0",
        "rule1",
        "rule2",
    ]
