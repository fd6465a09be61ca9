"""What matches in its own text comes first, whatever it borrowed."""

from __future__ import annotations

from memcli.memory.prominence import Rule
from memcli.recall.ranking import Match, RankedItem, Weights, diversify, weigh

PLAIN = Weights(Rule(), 0.04, {}, {})


def item(name: str) -> RankedItem:
    return RankedItem(
        name, f"text of {name}", "fact", "project", ("MEMORY.md", name), 0.5, 0, 0, 0.0, None
    )


def test_an_own_match_stands_before_a_better_one_that_is_only_lent() -> None:
    """Neighbours raise a weak match, they do not make one."""
    matches = {
        "lent": Match(1.0, lent=1.0),
        "own": Match(0.2, lexical=1.0),
        "near": Match(0.1, cosine=0.4),
    }
    hits = weigh([item(name) for name in matches], matches, PLAIN)
    assert [hit.item.id for hit in hits] == ["own", "near", "lent"]
    assert hits[2].score > hits[0].score
    picked = diversify(hits, limit=3, weight=0.5, alike=lambda a, b: False)
    assert [hit.item.id for hit in picked] == ["own", "near", "lent"]


def test_what_ties_goes_by_its_place() -> None:
    """Never by the order in which it was found."""
    matches = {name: Match(0.5, lexical=1.0) for name in "cab"}
    hits = weigh([item(name) for name in matches], matches, PLAIN)
    assert [hit.item.id for hit in hits] == ["a", "b", "c"]
