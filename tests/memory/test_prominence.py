"""Decay, growth and FSRS-6; the golden numbers of docs and the `fsrs` package as
oracle."""

import datetime
import math
from datetime import timedelta

import pytest
from fsrs import Card, Rating, Scheduler, State
from hypothesis import given
from hypothesis import strategies as st

from memcli.memory import prominence as p

NOW = datetime.date(2026, 3, 1)
ORACLE = Scheduler(enable_fuzzing=False)
T0 = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
RATINGS = {
    "again": Rating.Again,
    "hard": Rating.Hard,
    "good": Rating.Good,
    "easy": Rating.Easy,
}


def oracle_card(stability, difficulty):
    return Card(
        state=State.Review,
        stability=stability,
        difficulty=difficulty,
        last_review=T0,
        due=T0,
    )


def oracle_review(stability, difficulty, days, rating):
    card = oracle_card(stability, difficulty)
    after, _ = ORACLE.review_card(card, RATINGS[rating], T0 + timedelta(days=days))
    assert after.stability is not None
    assert after.difficulty is not None
    return min(after.stability, p.STABILITY_RANGE[1]), after.difficulty


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (0, 1),
        (1, 0.9923),
        (7, 0.9475),
        (30, 0.7937),
        (90, 0.5),
        (180, 0.25),
        (365, 0.1),
        (1e9, 0.1),
    ],
)
def test_half_life_decay_has_the_golden_values(age, expected):
    assert p.half_life_decay(age) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (-3, 1),
        (1, 0.9468),
        (7, 0.8083),
        (30, 0.6675),
        (90, 0.5678),
        (180, 0.5113),
        (365, 0.4589),
    ],
)
def test_retrievability_has_the_golden_values(age, expected):
    assert p.retrievability(age, 2.3065) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("surprise", "expected"),
    [
        (0, 2.3065),
        (0.2, 2.5372),
        (0.6, 2.9985),
        (0.9, 3.3444),
        (1, 3.4598),
        (7, 3.4598),
        (-1, 2.3065),
    ],
)
def test_initial_stability_grows_with_surprise(surprise, expected):
    # .2 and .9 lie half-way between two roundings
    assert p.initial_stability(surprise) == pytest.approx(expected, abs=6e-5)


@given(
    st.floats(0.001, 36500),
    st.floats(1, 10),
    st.integers(0, 40_000),
    st.sampled_from(sorted(RATINGS)),
)
def test_review_and_retrievability_agree_with_the_fsrs_package_everywhere(
    stability, difficulty, days, rating
):
    then = T0 + timedelta(days=days)
    remembered = ORACLE.get_card_retrievability(
        oracle_card(stability, difficulty), then
    )
    assert p.retrievability(days, stability) == pytest.approx(remembered, rel=1e-9)
    expected = oracle_review(stability, difficulty, days, rating)
    assert p.review(stability, difficulty, days, rating) == pytest.approx(
        expected, rel=1e-9
    )


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("linear", [1, 2, 4, 8]),
        ("log", [1, 1.125, 1.25, 1.375]),
        ("none", [1, 1, 1, 1]),
    ],
)
def test_growth_has_the_golden_values(mode, expected):
    assert [p.growth(n, mode) for n in (0, 1, 3, 7)] == expected
    assert p.growth(-4, mode) == 1.0


@pytest.mark.parametrize(
    ("reinforced", "created", "date", "expected"),
    [
        ("2026-02-27", "2026-01-01", "2025-01-01", 2),
        ("", "2026-02-19", "2025-01-01", 10),
        ("", "", "2026-02-28", 1),
        ("", "", "", 30),
        ("soon", "2026-02-30", "last week", 30),
        ("2026-02-27T23:59:59+09:00", "", "", 2),
        ("2031-01-01", "2026-01-01", "", 0),
        ("0001-01-01", "", "", 739675),
    ],
)
def test_age_takes_the_first_usable_date(reinforced, created, date, expected):
    assert p.age_days(reinforced, created, date, NOW) == expected


@pytest.mark.parametrize(
    ("kind", "rule", "expected"),
    [
        ("policy", p.Rule(), 1.0),
        ("architecture", p.Rule(decay="fsrs"), 1.0),
        ("policy", p.Rule(half_life_by_kind={"policy": 180}), 0.5),
        ("fact", p.Rule(half_life_by_kind={"fact": math.inf}), 1.0),
        ("fact", p.Rule(decay="linear", half_life_by_kind={"fact": 180}), 0.5),
        ("fact", p.Rule(half_life_by_kind={"pitfall": 1}), 0.25),
        ("fact", p.Rule(half_life=60), 0.125),
        ("fact", p.Rule(decay="linear"), 0.1),
        ("fact", p.Rule(decay="none", half_life_by_kind={"fact": 1}), 1.0),
    ],
)
def test_decay_follows_rule_and_kind(kind, rule, expected):
    assert p.prominence(1.0, kind, 180, 0, rule).decay == pytest.approx(expected)


def test_fsrs_decay_uses_the_stored_stability_else_the_surprise():
    rule = p.Rule(decay="fsrs")
    assert p.prominence(1, "fact", 30, 0, rule).decay == pytest.approx(0.6675, abs=5e-5)
    assert p.prominence(1, "fact", 30, 0, rule, stability=30).decay == pytest.approx(
        0.9
    )
    assert p.prominence(
        1, "fact", 30, 0, rule, p.initial_stability(1)
    ).decay == p.retrievability(30, 3.45975)
