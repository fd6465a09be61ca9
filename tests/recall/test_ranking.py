"""Ranking: relevance x prominence x level x kind, near-duplicates, diversity."""

import datetime
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.index.fusion import phrase_shares
from memcli.index.search import Match
from memcli.memory.values import LEVEL_WEIGHTS
from memcli.memory.words import overlap
from memcli.project.config import Config
from memcli.recall import ranking
from memcli.recall.ranking import (
    RankedItem,
    diversify,
    weigh,
    words,
)
from memcli.similarity.claims import claim
from memcli.similarity.duplicates import near_duplicate

SEED = Config(growth="linear", prominence_weight=1.0)


def item(name="a", **values):
    base = RankedItem(
        id=name,
        text=f"text of {name}",
        kind="",
        level="global",
        place=(name, 0),
        importance=0.5,
        reinforced=0,
        age=0,
        surprise=0.0,
        stability=None,
    )
    return base._replace(**values)  # type: ignore[arg-type]


def score(of, config=SEED, relevance=1.0):
    return weigh([of], {of.id: Match(relevance)}, config)[0].score


def alike(a, b):
    return near_duplicate(claim(a), claim(b))


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"importance": 0.9}, 0.9),
        ({"age": 365}, 0.05),
        ({"reinforced": 5}, 3.0),
        ({"age": 30}, 0.3969),
    ],
)
def test_the_golden_prominences_reach_the_score(values, wanted):
    """With linear growth and w = 1 a score is importance × decay × (1 + n)."""
    assert score(item(**values)) == pytest.approx(wanted, abs=5e-5)


@pytest.mark.parametrize("level", LEVEL_WEIGHTS)
def test_levels_weigh(level):
    """The score is multiplied by the weight of the level."""
    assert score(item(level=level)) == pytest.approx(0.5 * LEVEL_WEIGHTS[level])


def test_the_exponent_softens_prominence():
    """w = 0 ranks by relevance alone, w = 0.3 takes prominence to that power."""
    assert score(item(age=400), SEED._replace(prominence_weight=0)) == 1.0
    assert score(item(), SEED._replace(prominence_weight=0.3)) == pytest.approx(
        0.5**0.3
    )


def test_importance_can_be_left_out():
    """With use_importance = false, fsrs and no growth a score is retrievability
    alone."""
    rule = SEED._replace(decay="fsrs", growth="none", use_importance=False)
    assert score(item(age=7), rule) == pytest.approx(0.8083, abs=5e-5)
    surprised = item(age=30, surprise=1.0, importance=0.1)
    assert score(surprised, rule) > score(item(age=30), rule)


@given(st.permutations(range(8)))
def test_ties_go_by_place(order):
    """What has the same score stands in the order of the tree, however it was found."""
    items = [item(f"e{i}", place=(f"f{i // 3}.md", i % 3)) for i in order]
    actual = weigh(items, {one.id: Match(1.0) for one in items}, SEED)
    assert [hit.item.id for hit in actual] == [f"e{i}" for i in range(8)]


def ranked(*texts):
    items = [
        item(f"e{number}", text=text, place=("f", number))
        for number, text in enumerate(texts)
    ]
    return weigh(
        items,
        {one.id: Match(1.0 - number / 100) for number, one in enumerate(items)},
        SEED,
    )


LONG = "Always run the migration with a lock timeout of three seconds before the deploy begins on friday"


def test_near_duplicates_collapse_into_the_best():
    """The lower hit that says the same is named in `duplicates` and not shown."""
    actual = diversify(
        ranked(LONG, "something else", LONG + "."), limit=10, weight=1.0, alike=alike
    )
    assert [(hit.item.id, hit.duplicates) for hit in actual] == [
        ("e0", ("e2",)),
        ("e1", ()),
    ]


def test_a_repository_does_not_hide_the_persons_own():
    """What one word makes another text stands beside it, whichever ranks higher; the
    same text is told once."""
    own, other = ranked(LONG, LONG + ".")
    theirs = other._replace(item=other.item._replace(level="project"))
    for hits in ((own, theirs), (theirs, own)):
        assert len(diversify(hits, limit=10, weight=1.0, alike=alike)) == 2
    same = theirs._replace(item=theirs.item._replace(text=LONG))
    assert len(diversify((own, same), limit=10, weight=1.0, alike=alike)) == 1


def test_mmr_prefers_what_is_unlike_the_hits_above():
    """With a low lambda a different hit overtakes one that repeats the words of the
    first."""
    texts = ("alpha beta gamma delta", "alpha beta gamma epsilon", "one two three four")
    for weight, second in ((0.5, "e2"), (1.0, "e1")):
        found = diversify(ranked(*texts), limit=2, weight=weight, alike=alike)
        assert [hit.item.id for hit in found] == ["e0", second]


def test_unrelated_bodies_do_not_overlap():
    """Jaccard is over the words of bodies alone: 0 for unrelated ones, 1 for the same
    (W6)."""
    assert overlap(words("lock timeout"), words("stripe webhook")) == 0.0
    assert overlap(words("Lock, timeout!"), words("timeout lock")) == 1.0
    assert overlap(frozenset(), frozenset()) == 0.0


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("the lock-timeout is short", 1.0),
        ("lock\ntimeout", 1.0),
        ("deadlock timeouts", 0.0),
        ("timeout lock", 0.0),
        ("", 0.0),
    ],
)
def test_a_phrase_is_found_whatever_joins_its_words(text, share):
    """Whole words in a row make a phrase; hyphens and line ends between them do not
    matter."""
    assert [*phrase_shares([text], ["lock timeout"])] == [share]


def test_age_comes_from_the_first_date_there_is():
    """last_reinforced, created_at, the date of the entry, else 30 days; the future is
    0."""
    now = datetime.date(2026, 11, 21)
    values = {"reinforced": "2026-11-20", "created": "2026-11-11", "date": "2026-01-01"}
    assert ranking.age_of(values, now) == 1
    assert ranking.age_of({**values, "reinforced": ""}, now) == 10
    assert ranking.age_of({"date": "2027-01-01"}, now) == 0
    assert ranking.age_of({}, now) == 30


def test_the_order_of_the_input_does_not_matter():
    """Shuffled candidates give the same hits."""
    hits = ranked(
        *(f"word{number % 5} common text number{number}" for number in range(30))
    )
    wanted = [h.item.id for h in diversify(hits, limit=10, weight=0.7, alike=alike)]
    items = [hit.item for hit in hits]
    relevance = {hit.item.id: Match(hit.relevance) for hit in hits}
    random.Random(1).shuffle(items)
    again = diversify(weigh(items, relevance, SEED), limit=10, weight=0.7, alike=alike)
    assert [h.item.id for h in again] == wanted


def test_an_own_match_stands_before_a_better_one_that_is_only_lent():
    """Neighbours raise a weak match, they do not make one."""
    matches = {
        "lent": Match(1.0, lent=1.0),
        "own": Match(0.2, lexical=1.0, own=True),
        "near": Match(0.1, cosine=0.4, own=True),
    }
    hits = weigh(
        [item(name) for name in matches], matches, SEED._replace(prominence_weight=0.04)
    )
    assert [hit.item.id for hit in hits] == ["own", "near", "lent"]
    assert hits[2].score > hits[0].score
    picked = diversify(hits, limit=3, weight=0.5, alike=lambda a, b: False)
    assert [hit.item.id for hit in picked] == ["own", "near", "lent"]
