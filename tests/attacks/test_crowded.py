"""A repository that writes much: what the person wrote is told all the same."""

import pytest

from memcli.recall.budget import in_turns

OWN = "Never deploy zebra on Friday, the team is away."
MANY = 70  # more than are weighed at all


@pytest.fixture
def crowded(project):
    """A rule of the person's, and a repository that presses more than it."""
    project.ok("add", "--level", "global", "--kind", "policy", OWN)
    project.memory(
        *(
            project.entry(
                f"Policy number {number} on topic {number * 37}",
                "Words " * 60,
                type="directive",
                kind="policy",
                importance=1.0,
                priority="critical",
                reinforcement_count=500,
                created_at="2026-11-30",
            )
            for number in range(MANY)
        )
    )
    project.ok("index")
    return project


def test_no_repository_crowds_out_the_rules_of_the_home_folder(crowded):
    """Neither at a start, nor a sub-agent's, nor in an answer about something else."""
    for event in ("session-start", "subagent-start"):
        assert OWN in crowded.hook(event, source="startup").out
    answer = crowded.ok("recall", "fix the invoice export").out
    assert OWN in answer and "Policy number" in answer


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("abcA", "Aabc"),
        ("abcdefAB", "AabBcdef"),
        ("aAbcdBef", "AabBcdef"),
        ("ABCDab", "ABCDab"),
        ("aABCb", "AaBCb"),
        ("abc", "abc"),
        ("", ""),
    ],
)
def test_a_third_of_what_stands_is_the_person_s(given, expected):
    """Order is kept, but where fewer than a third of a beginning would be their own."""
    assert "".join(in_turns(given, {"A", "B", "C", "D"})) == expected
